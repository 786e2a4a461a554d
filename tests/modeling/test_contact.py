"""Regularized contact: never pulls, never creates energy, slides as Coulomb says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numeric import Numbers
from scipy.integrate import quad, solve_ivp

from bestiary.build_tools.backends.casadi import casadi_function
from bestiary.modeling import Floating, Model, ModelError, poincare
from bestiary.modeling.contact import LAWS
from bestiary.modeling.program import DimensionError
from bestiary.modeling.program.functions import sin

STIFFNESS, FRICTION, SLIP, SMOOTHING = 2e4, 0.8, 5e-3, 1e-5
DAMPING = {"azad_featherstone": 4e3, "hunt_crossley": 4e3}
MASS, GRAVITY = 0.1, 9.81
CORNERS = [(0.03, 0.02, -0.01), (-0.03, -0.02, -0.01), (0.03, -0.02, -0.01), (-0.03, 0.02, -0.01)]


def block(law: str = LAWS[0], ground: str = "plane", corners: int = 1, **changes: object) -> Model:
    """A block with contact at its centre (one corner) or at corners below it."""
    model = Model("block", up=str(changes.pop("up", "z")))
    body = model.body("block", joint=Floating(), mass=MASS, inertia=(1e-4, 2e-4, 1.5e-4))
    names = [f"corner{k}" for k in range(corners)]
    for name, place in zip(names, CORNERS if corners > 1 else [(0, 0, 0)], strict=False):
        model.node(name, body, place)
    wave = model.parameter("wave", 0.2, "m") if ground == "hills" else None
    heights = {
        "plane": None,
        "slope": lambda x, y: 0.5 * x + 0.25 * y,
        "hills": lambda x, y: 0.05 * wave * sin(x / wave) + 0.3 * y,
    }
    constants: dict[str, object] = {
        "stiffness": STIFFNESS,
        "damping": DAMPING.get(law, 1.0),
        "friction": FRICTION,
        "slip_velocity": SLIP,
        "smoothing": SMOOTHING,
    }
    model.ground_contact(*names, law=law, height=heights[ground], **{**constants, **changes})
    return model


@cache
def robot(
    law: str = LAWS[0], ground: str = "plane", corners: int = 1, **changes: object
) -> Numbers:
    equations = poincare(block(law, ground, corners, **changes))
    return Numbers(equations.program, equations.values())


def pressed(of: Numbers, depth: float, velocity=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Force of the ground on an upright block's centre at a depth below the plane."""
    q, p = [1.0, 0, 0, 0, 0, 0, -depth], [0, 0, 0, *velocity]
    return of("contact_forces", q=q, p=p)[0]


depths = st.one_of(st.floats(-2, 0.05), st.floats(-5e-5, 5e-5))
speeds = st.floats(-30, 30)


@pytest.mark.parametrize("law", LAWS)
@given(depth=depths, velocity=st.tuples(speeds, speeds, speeds))
def test_the_ground_never_pulls_and_friction_is_bounded(law, depth, velocity):
    x, y, z = pressed(robot(law), depth, velocity)
    assert z >= 0
    assert np.hypot(x, y) <= FRICTION * z * (1 + 1e-14)
    assert x * velocity[0] + y * velocity[1] <= 0  # friction brakes


@pytest.mark.parametrize("law", LAWS)
@given(depth=st.floats(SMOOTHING, 1e6), velocity=st.tuples(speeds, speeds, speeds))
def test_in_the_air_there_is_no_force_at_all(law, depth, velocity):
    """Not even a small one on a fast node: free flight keeps its momentum exactly."""
    assert not pressed(robot(law), -depth, velocity).any()


@pytest.mark.parametrize("law", LAWS)
def test_below_the_rim_the_force_is_the_law_itself(law):
    for depth in (2e-5, 1e-4, 1e-3, 1e-2):
        for rate in (0.0, 0.3, -0.01):
            factor = 1.0 if law == "azad_featherstone" else depth
            law_force = np.sqrt(depth) * (STIFFNESS * depth + DAMPING[law] * factor * rate)
            force = pressed(robot(law), depth, (0, 0, -rate))[2]
            assert force == pytest.approx(
                max(law_force, 0), rel=1e-5, abs=1e-4 * STIFFNESS * depth**1.5
            )


@pytest.mark.parametrize("law", LAWS)
def test_the_force_grows_with_depth_and_with_speed_of_approach(law):
    of = robot(law)
    elastic = [pressed(of, d)[2] for d in np.linspace(-2e-5, 4e-5, 601)]
    assert np.all(np.diff(elastic) >= 0)
    for depth in (-5e-6, 1e-6, 1e-4, 5e-3):
        forces = [pressed(of, depth, (0, 0, -rate))[2] for rate in np.linspace(-3, 3, 201)]
        assert np.all(np.diff(forces) >= -1e-13 * max(forces))


@pytest.mark.parametrize("law", LAWS)
def test_contact_energy_is_the_work_against_the_elastic_force(law):
    of = robot(law)
    for depth in (-5e-6, 3e-6, 1e-5, 2e-4, 5e-3):
        work, _ = quad(
            lambda z: pressed(of, z)[2], -SMOOTHING, depth, epsabs=0, epsrel=1e-9,
            points=[min(SMOOTHING, depth - 1e-12)] if depth > SMOOTHING else None,
        )  # fmt: skip
        energy = float(of("contact_energy", q=[1.0, 0, 0, 0, 0, 0, -depth]))
        assert energy == pytest.approx(work, rel=1e-7)
    assert float(of("contact_energy", q=[1.0, 0, 0, 0, 0, 0, 1.0])) == 0


def settle(of: Numbers, start: np.ndarray, duration: float, samples: int = 2):
    """States along a motion from ``start`` = (q, p), tightly integrated."""

    def rates(_: float, x: np.ndarray) -> list[float]:
        x = x.tolist()
        return of.flat("state_rates", q=x[:7], p=x[7:])

    path = solve_ivp(
        rates, (0, duration), start, method="LSODA", rtol=1e-9, atol=1e-12,
        t_eval=np.linspace(0, duration, samples), max_step=2e-3,
    )  # fmt: skip
    assert path.success
    return path.y.T


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("corners", [1, 4])
def test_at_rest_the_block_sinks_by_the_closed_form(law, corners):
    """(m g / n K)^(2/3)."""
    sink = (MASS * GRAVITY / (corners * STIFFNESS)) ** (2 / 3)
    damping = 4e3 if law == "azad_featherstone" else 4e6
    of, height = robot(law, corners=corners, damping=damping), 0.0 if corners == 1 else 0.01
    x = settle(of, np.array([1.0, 0, 0, 0, 0, 0, height, *[0.0] * 6]), 2.0)[-1]
    assert height - x[6] == pytest.approx(sink, rel=1e-5)
    forces = of("contact_forces", q=x[:7], p=x[7:])
    assert forces[:, 2].sum() == pytest.approx(MASS * GRAVITY, rel=1e-5)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("ground", ["plane", "hills"])
def test_a_drop_with_bounces_never_gains_energy(law, ground):
    damping = 60.0 if law == "azad_featherstone" else 1e4  # light, so that it bounces
    of = robot(law, ground, 4, damping=damping)
    quaternion = np.array([0.9, 0.2, -0.3, 0.1])
    start = [*(quaternion / np.linalg.norm(quaternion)), 0, 0, 0.15, 3, -2, 1, 0.3, 0.1, 0]
    path = settle(of, np.array(start), 0.8, samples=400)
    energy = np.array(
        [
            float(
                of("kinetic_energy", q=x[:7], p=x[7:])
                + of("potential_energy", q=x[:7])
                + of("contact_energy", q=x[:7])
            )
            for x in path
        ]
    )
    assert np.max(np.diff(energy)) < 2e-8 * np.ptp(energy)
    forces = [np.abs(of("contact_forces", q=x[:7], p=x[7:])).sum() for x in path]
    touching = np.diff((np.array(forces) > 0).astype(int))
    assert np.count_nonzero(touching == 1) >= 2  # it touched down more than once
    assert energy[0] - energy[-1] > 0.01 * MASS * GRAVITY * 0.15


@pytest.mark.parametrize(("friction", "slides"), [(0.55, False), (0.45, True)])
def test_a_block_on_a_slope_slides_if_and_only_if_tan_exceeds_friction(friction, slides):
    """tan of the slope's angle is √(0.5² + 0.25²) = 0.559."""
    tangent = np.hypot(0.5, 0.25)
    friction *= tangent / 0.5
    of = robot(LAWS[0], "slope", 1, friction=friction, damping=4e3)
    x = settle(of, np.array([1.0, 0, 0, 0, 0, 0, 0, *[0.0] * 6]), 1.0)[-1]
    world = of("corner0_velocity", q=x[:7], p=x[7:])[3:]  # the block does not turn
    cosine = 1 / np.hypot(1, tangent)
    if slides:
        expected = GRAVITY * cosine * (tangent - friction) * 1.0
        assert np.linalg.norm(world) == pytest.approx(expected, rel=0.02)
        assert world[0] < 0 > world[1]
        assert world[0] / world[1] == pytest.approx(2.0, rel=1e-6)
    else:  # it creeps, since friction is viscous below the slip velocity
        assert np.linalg.norm(world) < 5 * SLIP
        assert np.linalg.norm(world) == pytest.approx(
            SLIP * tangent / np.sqrt(friction**2 - tangent**2), rel=1e-3
        )


def test_the_force_on_a_slope_stands_normal_to_it():
    of = robot(LAWS[0], "slope")
    normal = np.array([-0.5, -0.25, 1.0]) / np.sqrt(1 + 0.5**2 + 0.25**2)
    force = of("contact_forces", q=[1.0, 0, 0, 0, 0.2, 0.4, 0.195], p=[0.0] * 6)[0]
    assert force / np.linalg.norm(force) == pytest.approx(normal, abs=1e-14)
    depth = 0.005 * normal[2]  # to the tangent plane
    assert np.linalg.norm(force) == pytest.approx(STIFFNESS * depth**1.5, rel=1e-6)


def test_up_may_be_any_axis():
    for up, place, sign in (("-z", 6, -1), ("x", 4, 1), ("-y", 5, -1)):
        of = robot(LAWS[0], up=up)
        q = np.array([1.0, *[0.0] * 6])
        q[place] = -sign * 1e-3
        force = of("contact_forces", q=q, p=[0.0] * 6)[0]
        expected = np.zeros(3)
        expected[place - 4] = sign * STIFFNESS * 1e-3**1.5
        assert force == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_first_and_second_derivatives_are_finite_and_continuous(law):
    """For optimal control: also in the air, at rest, and across the rim."""
    import casadi

    program = poincare(block(law)).program
    values = {p.name: p.default for p in poincare(block(law)).parameters}
    function = casadi_function(program, "generalized_forces", values)
    q, p = casadi.MX.sym("q", 7), casadi.MX.sym("p", 6)
    force = function(q, p)
    slopes = casadi.horzcat(casadi.jacobian(force, q), casadi.jacobian(force, p))
    first = casadi.Function("first", [q, p], [slopes])
    curve = casadi.Function("curve", [q, p], [casadi.jacobian(slopes[5, 6], q)])
    for rate in (0.0, -0.2, 0.2):
        p_now = [0, 0, 0, 0, 0, rate]
        for height in (1e3, 1.0, SMOOTHING, 0.0, -SMOOTHING, -1e-3):
            at = [1.0, 0, 0, 0, 0, 0, height]
            assert np.isfinite(first(at, p_now).full()).all()
            assert np.isfinite(curve(at, p_now).full()).all()
        for edge in (SMOOTHING, -SMOOTHING):
            near = [first([1.0, 0, 0, 0, 0, 0, edge + s * 1e-12], p_now).full() for s in (-1, 1)]
            assert np.max(np.abs(near[1] - near[0])) < 1e-4 * np.max(np.abs(near[0]) + 1)


# -- what is refused ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"law": "hertz"}, "law 'hertz' is not one of azad_featherstone, hunt_crossley"),
        ({"stiffness": float("nan")}, "contact_stiffness must be finite"),
        ({"stiffness": "hard"}, "contact_stiffness must be a number or a parameter"),
    ],
)
def test_bad_contact_is_refused_when_it_is_declared(changes, words):
    with pytest.raises(ModelError, match=words):
        block(**changes)


@pytest.mark.parametrize("value", [0, -1.0])
@pytest.mark.parametrize("name", ["stiffness", "slip_velocity", "smoothing"])
def test_constants_that_must_be_positive_are_refused_when_derived(name, value):
    with pytest.raises(ModelError, match=f"contact {name.replace('_', ' ')} must be positive, got"):
        poincare(block(**{name: value}))


@pytest.mark.parametrize("name", ["damping", "friction"])
def test_negative_damping_and_friction_are_refused(name):
    with pytest.raises(ModelError, match=f"contact {name} must not be negative, got -0.1"):
        poincare(block(**{name: -0.1}))


def test_unknown_nodes_second_grounds_and_wrong_units_are_refused():
    model = Model("block")
    body = model.body("block", joint=Floating(), mass=1.0, inertia=(1, 1, 1))
    constants = {"stiffness": 1.0, "damping": 1.0, "friction": 1.0}
    with pytest.raises(ModelError, match="ground contact: no node sole, toe"):
        model.ground_contact("block", "sole", "toe", **constants)
    with pytest.raises(ModelError, match="no node given"):
        model.ground_contact(**constants)
    stiff = model.parameter("stiff", 1.0, "N/m")
    with pytest.raises(ModelError, match=r"contact_stiffness must be in \[N m\^\(-3/2\)\]"):
        model.ground_contact("block", **{**constants, "stiffness": stiff})
    model.ground_contact("block", **constants)
    with pytest.raises(ModelError, match="declared twice"):
        model.ground_contact("block", **constants)
    assert body.name == "block"


def test_a_height_in_the_wrong_unit_is_refused_where_it_acts():
    model = Model("block")
    model.body("block", joint=Floating(), mass=1.0, inertia=(1, 1, 1))
    tilt: Callable = lambda x, y: x * y  # noqa: E731
    model.ground_contact("block", stiffness=1.0, damping=1.0, friction=1.0, height=tilt)
    with pytest.raises(DimensionError, match="contact of node 'block'"):
        poincare(model)
