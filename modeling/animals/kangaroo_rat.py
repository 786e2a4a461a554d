"""The kangaroo rat: a torso on two feet with a serpentine tail, articulated or continuum.

Source: *How a serpentine tail assists agile motions of kangaroo rats: a dynamics
and control approach*, called *the paper* below (abstract and appendices).  The
paper's numbers are not public; sizes are those of *Dipodomys deserti* where the
zoological literature has them and chosen otherwise, as each parameter says.

Frames: y along the body, forward; z up; x to the right.  The legs are not
modelled (d = 6 + 2m in the paper): the feet are points of the torso.  The tail
leaves the torso backwards, along −y.  Segment i bends by two coordinates: the
angles alpha_i (about x) and beta_i (about z) that all its links share, eqs
(A1)–(A14), or the arc's bending (u_i, w_i) = θ (cos φ, sin φ) about x and z.
"""

from __future__ import annotations

import math

from ..continuum.arc import Arc
from ..control import add_tracking_controller
from ..errors import ModelError
from ..joints import Compound, Floating, Follower, Revolute
from ..model import Model
from ..parts import Body
from ..program import Scalar
from ..realised import Joint

MUSEUM = "Dipodomys deserti, Hoffmeister 1986: total 315-360 mm, tail 175-212 mm, foot 50-58 mm"
GENUS = "genus Dipodomys: 35-180 g"
CHOSEN = "chosen"

TORSO_MASS = 0.105
TORSO_SEMI_AXES = (0.030, 0.065, 0.030)  # x, y, z
TAIL_LENGTH, TAIL_MASS, TAIL_RADIUS = 0.19, 0.005, 0.0025
TAIL_BASE = (0.0, -0.060, 0.005)
FOOT = (0.012, -0.010, -0.045)
TOE_FORWARD = 0.05

MAX_LINKS, MAX_FRAMES = 64, 24
LINK_BENDING = 0.6  # rad from link to link about each axis, for planners
HALF_TURN = "beyond half a turn a segment would meet the one before it"
INNER_POINTS = (0.25, 0.5, 0.75)  # named points along each arc


def kangaroo_rat_articulated(
    segments: int = 2,
    links: int = 4,
    base: str = "quaternion",
    half_angle: bool = False,
    contact: bool = True,
) -> Model:
    """The rat with a tail of rigid links.

    Parameters
    ----------
    segments, links:
        Number of segments, and of links in each; all links of a segment turn by
        the same two angles.
    base:
        Orientation of the torso: ``"quaternion"`` or ``"euler_<sequence>"``.
    half_angle:
        Let the first joint of a segment turn by half the angle.  The chain then
        approaches the arc with the square of the number of links instead of
        linearly (in planar bending; in two planes at once it stays linear).
    contact:
        Whether feet and tail may touch the ground; without it the equations of
        flight are shorter.

    The frame of every link is a node in tails of up to 24 links; longer tails have
    those of the segments' ends.

    Raises
    ------
    ModelError
        If a count is not a whole number in its range.
    """
    _whole("segments", segments, 1, 12)
    _whole("links", links, 1, MAX_LINKS)
    model, torso = _torso("kangaroo_rat_articulated", base)
    length = model.parameter("tail_length", TAIL_LENGTH, "m", MUSEUM, "whole tail")
    model.positive.append((length, "tail length"))
    mass = model.parameter("tail_mass", TAIL_MASS, "kg", CHOSEN, "whole tail: a 2.5 mm rod")
    radius = model.parameter("tail_radius", TAIL_RADIUS, "m", CHOSEN, "of the tail")
    count = segments * links
    link_length, link_mass = length / count, mass / count
    across = link_mass * (3 * radius * radius + link_length * link_length) / 12
    along = link_mass * radius * radius / 2
    parent, start = torso, _tail_base(model)
    for segment in range(1, segments + 1):
        for link in range(1, links + 1):
            parent = model.body(
                f"link_{segment}_{link}",
                parent=parent,
                at=start,
                joint=_link_joint(segment, link == 1, half_angle),
                mass=link_mass,
                com=(0, -link_length / 2, 0),
                inertia=(across, along, across),
                frame=count <= MAX_FRAMES,
            )
            start = (0, -link_length, 0)
        model.node(f"segment_{segment}_end", parent, start, description=f"end of segment {segment}")
        for bending in (f"alpha_{segment}", f"beta_{segment}"):
            model.limit(bending, low=-LINK_BENDING, high=LINK_BENDING, refuse=False, reason=CHOSEN)
        model.actuate(f"alpha_{segment}_rate", f"beta_{segment}_rate")
    if contact:
        _ground(model, [f"segment_{k}_end" for k in range(1, segments + 1)])
    add_tracking_controller(model, name="tail_controller")
    return model


def kangaroo_rat_continuum(
    segments: int = 2, base: str = "quaternion", contact: bool = True
) -> Model:
    """The rat with a tail of constant-curvature arcs.

    Parameters
    ----------
    segments:
        Number of arcs.
    base:
        Orientation of the torso: ``"quaternion"`` or ``"euler_<sequence>"``.
    contact:
        Whether feet and tail may touch the ground.
    """
    _whole("segments", segments, 1, 12)
    model, torso = _torso("kangaroo_rat_continuum", base)
    length = model.parameter("tail_length", TAIL_LENGTH, "m", MUSEUM, "whole tail")
    model.positive.append((length, "tail length"))
    mass = model.parameter("tail_mass", TAIL_MASS, "kg", CHOSEN, "whole tail: a 2.5 mm rod")
    parent: Body = torso
    start: tuple[Scalar | int, ...] = _tail_base(model)
    for segment in range(1, segments + 1):
        parent = model.arc(
            f"segment_{segment}_end",
            parent=parent,
            length=length / segments,
            mass=mass / segments,
            names=(f"u_{segment}", f"w_{segment}"),
            at=start,
        )
        for number, fraction in enumerate(INNER_POINTS, start=1):
            point = Arc((f"u_{segment}", f"w_{segment}"), length / segments, fraction, shared=True)
            model.body(
                f"segment_{segment}_point_{number}",
                parent=f"segment_{segment}_end_base",
                joint=point,
            )
        start = (0, 0, 0)
        model.limit(f"u_{segment}", f"w_{segment}", high=math.pi, reason=HALF_TURN)
        model.actuate(f"u_{segment}_rate", f"w_{segment}_rate")
    if contact:
        _ground(model, [f"segment_{k}_end" for k in range(1, segments + 1)])
    add_tracking_controller(model, name="tail_controller")
    return model


def _torso(name: str, base: str) -> tuple[Model, Body]:
    model = Model(
        name,
        up="z",
        gravity=9.81,
        title="Kangaroo rat with a serpentine tail",
        source="How a serpentine tail assists agile motions of kangaroo rats, appendices A and B",
    )
    mass = model.parameter("torso_mass", TORSO_MASS, "kg", GENUS, "torso with head and legs")
    axes = [
        model.parameter(f"torso_{a}", v, "m", CHOSEN, f"semi-axis of the torso ellipsoid along {a}")
        for a, v in zip("xyz", TORSO_SEMI_AXES, strict=True)
    ]
    squares = [a * a for a in axes]
    fifth = mass / 5
    torso = model.body(
        "torso",
        joint=Floating(base),
        mass=mass,
        inertia=(
            fifth * (squares[1] + squares[2]),
            fifth * (squares[0] + squares[2]),
            fifth * (squares[0] + squares[1]),
        ),
    )
    across = model.parameter("foot_x", FOOT[0], "m", CHOSEN, "foot beside the middle plane")
    behind = model.parameter("foot_y", FOOT[1], "m", CHOSEN, "heel")
    below = model.parameter("foot_z", FOOT[2], "m", CHOSEN, "sole")
    toe = model.parameter("toe_forward", TOE_FORWARD, "m", MUSEUM, "toe before the heel")
    for side, sign in (("left", -1), ("right", 1)):
        model.node(f"{side}_heel", torso, (sign * across, behind, below))
        model.node(f"{side}_toe", torso, (sign * across, behind + toe, below))
    return model, torso


def _ground(model: Model, tail_nodes: list[str]) -> None:
    """Feet and tail on the ground: static sink about 0.9 mm on two feet."""
    feet = [f"{side}_{part}" for side in ("left", "right") for part in ("heel", "toe")]
    model.ground_contact(
        *feet,
        *tail_nodes,
        stiffness=model.parameter(
            "contact_stiffness", 2e4, "N m^(-3/2)", CHOSEN, "K of the normal force"
        ),
        damping=model.parameter(
            "contact_damping", 4e3, "N s m^(-3/2)", CHOSEN, "D of the normal force"
        ),
        friction=model.parameter("contact_friction", 0.8, "1", CHOSEN, "Coulomb friction"),
        slip_velocity=model.parameter(
            "contact_slip_velocity", 5e-3, "m/s", CHOSEN, "below it friction is viscous"
        ),
        smoothing=model.parameter(
            "contact_smoothing", 1e-5, "m", CHOSEN, "length over which contact sets in"
        ),
    )


def _tail_base(model: Model) -> tuple[Scalar | int, ...]:
    return (
        0,
        model.parameter("tail_base_y", TAIL_BASE[1], "m", CHOSEN, "where the tail begins"),
        model.parameter("tail_base_z", TAIL_BASE[2], "m", CHOSEN, "where the tail begins"),
    )


def _link_joint(segment: int, first: bool, half_angle: bool) -> Joint:
    alpha, beta = f"alpha_{segment}", f"beta_{segment}"
    ratio = 0.5 if half_angle else 1.0
    if not first:
        return Compound((Follower(alpha, "x"), Follower(beta, "z")))
    return Compound(
        (
            Revolute(alpha, "x", symbol=rf"\alpha_{segment}", ratio=ratio),
            Revolute(beta, "z", symbol=rf"\beta_{segment}", ratio=ratio),
        )
    )


def _whole(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ModelError(
            f"kangaroo rat: {name} must be a whole number from {low} to {high}, got {value!r}"
        )
