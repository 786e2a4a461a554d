"""SEAMOUR, the sea lion robot: seven bodies, twenty degrees of freedom.

Source: "Development of a Numerical Model of a Bio-Inspired Sea Lion Robot"
(open access), called *the paper* below: tree and coordinates from section 2.2,
masses and inertias from Table 1.  Joint positions, centres of mass and the
split of dry and flooded mass are not printed; they are inferred from the mass
matrix of eqs (16)–(19), see ``docs/sea_lion.md``.

Frames: x forward, y to starboard, z down (SNAME); all frames parallel in the
neutral pose.  The left flippers lie at negative y.  A shoulder turns in the
sequence roll (about x), yaw (about z), pitch: the last axis is the flipper's
long axis, which lies along x while the flipper is streamlined.

The two variants share one program.  ``physical`` (the default) takes Table 1
as inertias about centres of mass, with Iz = Ix + Iy for the flat flippers.
``paper`` reproduces the printed matrix: it takes the table as inertias about
the inboard joints and adds a massless carriage with a roll inertia to each
shoulder.
"""

from __future__ import annotations

from ..joints import Compound, Floating, Revolute
from ..model import Model
from ..parts import Body
from ..program import Scalar

TABLE = "Table 1"
INFERRED = "inferred from eqs (16)-(19)"
CHOSEN = "chosen"

WATER_DENSITY = 997.0  # reproduces the added masses of Table 1 with eqs (21)-(25)

# Table 1 [kg, kg m^2]
MAIN_MASS, MAIN_INERTIA = 3.65, (0.085, 0.37, 0.4)
FORE_MASS, FORE_INERTIA = 0.20, (9e-5, 0.0013, 0.0014)
HEAD_MASS, HEAD_INERTIA = 2.33, (0.014, 0.045, 0.045)
PELVIS_MASS, PELVIS_INERTIA = 1.79, (0.011, 0.039, 0.039)
HIND_MASS, HIND_INERTIA = 0.14, (7e-5, 3.94e-4, 4.6e-4)

# Inferred geometry [m]: joints from the parent's frame, centres of mass from the body's frame.
MAIN_COM_X = -0.081
WATER_MASS, WATER_COM_Z, WATER_INERTIA = 7.65, -0.0467, (0.0, 0.21, 0.237)
SHOULDER = (0.105, 0.10, -0.005)
CARRIAGE_TO_FLIPPER = (0.02, 0.03)  # outboard, down
FORE_COM_X = -0.2
HEAD_X, HEAD_COM_X = 0.227, 0.1416
PELVIS_X, PELVIS_COM_X = -0.405, -0.162
HIND_X, HIND_Y, HIND_COM_X = -0.192, 0.03, -0.0925
NOSE_X = 0.28  # twice the distance of the head's centre of mass
FORE_TIP_X, HIND_TIP_X = -0.34, -0.185  # half a span beyond, a whole span from, see docs
BUOYANCY_LIFT = 0.003  # centre of buoyancy above the centre of mass of the main body

# What the printed matrix needs beyond Table 1 [kg m^2].
CARRIAGE_ROLL_INERTIA = 0.0055
FORE_YAW_INERTIA_ABOUT_JOINT = 0.0049
HIND_YAW_INERTIA_ABOUT_JOINT = HIND_INERTIA[1]  # eq (19) shows Iy, not Iz, at (12, 12)

SIDES = (("left", -1), ("right", 1))


def sea_lion(base: str = "euler_zyx") -> Model:
    """The sea lion robot, floating freely in water.

    Parameters
    ----------
    base:
        Orientation of the main body: ``"euler_zyx"`` (roll, pitch, yaw as in the
        paper), another named Euler sequence, or ``"quaternion"``.
    """
    model = Model(
        "sea_lion" if base == "euler_zyx" else f"sea_lion_{base}",
        up="-z",
        gravity=9.81,
        fluid_density=WATER_DENSITY,
        title="SEAMOUR sea lion robot: main body, head, pelvis, two fore and two hind flippers",
        source="Development of a Numerical Model of a Bio-Inspired Sea Lion Robot, eqs (1)-(19)",
    )
    main = _main_body(model, base)
    for number, (side, sign) in enumerate(SIDES, start=2):
        _fore_flipper(model, main, side, sign, number)
    _head(model, main)
    pelvis = _pelvis(model, main)
    for number, (side, sign) in enumerate(SIDES, start=4):
        _hind_flipper(model, pelvis, side, sign, number)
    _order(model)
    model.actuate(*(v.name for v in model.velocities[6:]))
    model.variant("physical", note="Table 1 about centres of mass; Iz = Ix + Iy for the flippers")
    model.variant(
        "paper",
        _paper_values(),
        note="Table 1 about inboard joints, roll carriages: reproduces eqs (16)-(19)",
        impossible_inertia=True,
    )
    return model


def _inertia(
    model: Model, name: str, values: tuple[float, float, float], source: str
) -> tuple[Scalar, Scalar, Scalar]:
    first, second, third = (
        model.parameter(
            f"{name}_inertia_{axis}", value, "kg m^2", source, f"{name}: about its centre of mass"
        )
        for axis, value in zip("xyz", values, strict=True)
    )
    return first, second, third


def _main_body(model: Model, base: str) -> Body:
    angles = {"euler_zyx": (r"\phi_1", r"\theta_1", r"\psi_1")}.get(base)
    quaternion = ("q_w", "q_x", "q_y", "q_z")
    symbols = (*(angles or quaternion), "x", "y", "z") if angles or base == "quaternion" else ()
    main = model.body(
        "main",
        joint=Floating(
            base, symbols=symbols, velocity_symbols=("p_1", "q_1", "r_1", "u", "v", "w")
        ),
        mass=model.parameter("main_mass", MAIN_MASS, "kg", TABLE, "main body without water"),
        com=(
            model.parameter("main_com_x", MAIN_COM_X, "m", INFERRED, "dry main body"),
            0,
            0,
        ),
        inertia=_inertia(model, "main", MAIN_INERTIA, TABLE),
    )
    model.lump(
        main,
        "water",
        model.parameter("water_mass", WATER_MASS, "kg", INFERRED, "water inside the main body"),
        (0, 0, model.parameter("water_com_z", WATER_COM_Z, "m", INFERRED, "flooded water")),
        _inertia(model, "water", WATER_INERTIA, INFERRED),
    )
    total = MAIN_MASS + WATER_MASS
    model.buoyancy(
        main,
        model.parameter("main_volume", total / WATER_DENSITY, "m^3", "neutral buoyancy"),
        (
            model.parameter("main_buoyancy_x", MAIN_MASS * MAIN_COM_X / total, "m", "level trim"),
            0,
            model.parameter(
                "main_buoyancy_z",
                WATER_MASS * WATER_COM_Z / total - BUOYANCY_LIFT,
                "m",
                CHOSEN,
                "3 mm above the centre of mass: a weak righting moment",
            ),
        ),
    )
    return main


def _neutral(model: Model, body: Body, stem: str, mass: float, com: Scalar) -> None:
    """Neutral buoyancy at the centre of mass (section 2.4); both flippers share the volume."""
    name = f"{stem}_volume"
    known = name in model.parameters
    volume = (
        model.builder.symbol("parameters", name, "m^3")
        if known
        else model.parameter(name, mass / WATER_DENSITY, "m^3", "neutral buoyancy")
    )
    model.buoyancy(body, volume, (com, 0, 0))


def _shared(model: Model, name: str, value: float, unit: str, source: str, text: str) -> Scalar:
    """A parameter that the left and the right flipper have in common."""
    if name in model.parameters:
        return model.builder.symbol("parameters", name, unit)
    return model.parameter(name, value, unit, source, text)


def _shared_inertia(
    model: Model, stem: str, values: tuple[float, float, float]
) -> tuple[Scalar, Scalar, Scalar]:
    first, second, third = (
        _shared(
            model,
            f"{stem}_inertia_{axis}",
            value,
            "kg m^2",
            TABLE,
            f"{stem} flipper: about its centre of mass",
        )
        for axis, value in zip("xyz", values, strict=True)
    )
    return first, second, third


def _fore_flipper(model: Model, main: Body, side: str, sign: int, number: int) -> None:
    def shared(name: str, value: float, text: str) -> Scalar:
        return _shared(model, name, value, "m", INFERRED, text)

    carriage = model.body(
        f"{side}_shoulder",
        parent=main,
        at=(
            shared("shoulder_x", SHOULDER[0], "shoulder yaw axis"),
            sign * shared("shoulder_y", SHOULDER[1], "shoulder roll axis, outboard"),
            shared("shoulder_z", SHOULDER[2], "shoulder roll axis, down"),
        ),
        joint=Revolute(
            f"{side}_fore_roll", "x", symbol=rf"\phi_{number}", velocity_symbol=f"p_{number}"
        ),
        inertia=(
            _shared(
                model,
                "carriage_inertia_x",
                0.0,
                "kg m^2",
                CHOSEN,
                "roll inertia of a massless shoulder carriage",
            ),
            0,
            0,
        ),
    )
    com = shared("fore_com_x", FORE_COM_X, "fore flipper, from its yaw axis")
    plate = (*FORE_INERTIA[:2], FORE_INERTIA[0] + FORE_INERTIA[1])
    flipper = model.body(
        f"{side}_fore",
        parent=carriage,
        at=(
            0,
            sign * shared("fore_y", CARRIAGE_TO_FLIPPER[0], "flipper axis outboard of roll axis"),
            shared("fore_z", CARRIAGE_TO_FLIPPER[1], "flipper axis below roll axis"),
        ),
        joint=Compound(
            (
                Revolute(
                    f"{side}_fore_yaw", "z", symbol=rf"\psi_{number}", velocity_symbol=f"r_{number}"
                ),
                Revolute(
                    f"{side}_fore_pitch",
                    "x",
                    symbol=rf"\theta_{number}",
                    velocity_symbol=f"q_{number}",
                    description="twist about the flipper's long axis",
                ),
            )
        ),
        mass=_shared(model, "fore_mass", FORE_MASS, "kg", TABLE, "fore flipper"),
        com=(com, 0, 0),
        inertia=_shared_inertia(model, "fore", plate),
    )
    _neutral(model, flipper, "fore", FORE_MASS, com)
    tip = _shared(
        model, "fore_tip_x", FORE_TIP_X, "m", INFERRED, "fore flipper tip, from its yaw axis"
    )
    model.node(
        f"{side}_fore_tip", flipper, (tip, 0, 0), description=f"tip of the {side} fore flipper"
    )


def _pitch_yaw(name: str, number: int) -> Compound:
    return Compound(
        (
            Revolute(
                f"{name}_pitch", "y", symbol=rf"\theta_{number}", velocity_symbol=f"q_{number}"
            ),
            Revolute(f"{name}_yaw", "z", symbol=rf"\psi_{number}", velocity_symbol=f"r_{number}"),
        )
    )


def _head(model: Model, main: Body) -> None:
    com = model.parameter("head_com_x", HEAD_COM_X, "m", INFERRED, "from the neck joint")
    head = model.body(
        "head",
        parent=main,
        at=(model.parameter("head_x", HEAD_X, "m", INFERRED, "neck joint"), 0, 0),
        joint=_pitch_yaw("head", 6),
        mass=model.parameter("head_mass", HEAD_MASS, "kg", TABLE, "head"),
        com=(com, 0, 0),
        inertia=_inertia(model, "head", HEAD_INERTIA, TABLE),
    )
    _neutral(model, head, "head", HEAD_MASS, com)
    nose = model.parameter("nose_x", NOSE_X, "m", CHOSEN, "nose, from the neck joint")
    model.node("nose", head, (nose, 0, 0), description="tip of the head")


def _pelvis(model: Model, main: Body) -> Body:
    com = model.parameter("pelvis_com_x", PELVIS_COM_X, "m", INFERRED, "from the pelvis joint")
    pelvis = model.body(
        "pelvis",
        parent=main,
        at=(model.parameter("pelvis_x", PELVIS_X, "m", INFERRED, "pelvis joint"), 0, 0),
        joint=_pitch_yaw("pelvis", 7),
        mass=model.parameter("pelvis_mass", PELVIS_MASS, "kg", TABLE, "pelvis"),
        com=(com, 0, 0),
        inertia=_inertia(model, "pelvis", PELVIS_INERTIA, TABLE),
    )
    _neutral(model, pelvis, "pelvis", PELVIS_MASS, com)
    return pelvis


def _hind_flipper(model: Model, pelvis: Body, side: str, sign: int, number: int) -> None:
    def shared(name: str, value: float, source: str, text: str) -> Scalar:
        return _shared(model, name, value, "m", source, text)

    com = shared("hind_com_x", HIND_COM_X, INFERRED, "hind flipper, from its joint")
    plate = (*HIND_INERTIA[:2], HIND_INERTIA[0] + HIND_INERTIA[1])
    flipper = model.body(
        f"{side}_hind",
        parent=pelvis,
        at=(
            shared("hind_x", HIND_X, INFERRED, "hind joint, from the pelvis joint"),
            sign * shared("hind_y", HIND_Y, CHOSEN, "hind joint, outboard"),
            0,
        ),
        joint=Compound(
            (
                Revolute(
                    f"{side}_hind_roll",
                    "x",
                    symbol=rf"\phi_{number}",
                    velocity_symbol=f"p_{number}",
                ),
                Revolute(
                    f"{side}_hind_yaw", "z", symbol=rf"\psi_{number}", velocity_symbol=f"r_{number}"
                ),
            )
        ),
        mass=_shared(model, "hind_mass", HIND_MASS, "kg", TABLE, "hind flipper"),
        com=(com, 0, 0),
        inertia=_shared_inertia(model, "hind", plate),
    )
    _neutral(model, flipper, "hind", HIND_MASS, com)
    tip = shared("hind_tip_x", HIND_TIP_X, INFERRED, "hind flipper tip, from its joint")
    model.node(
        f"{side}_hind_tip", flipper, (tip, 0, 0), description=f"tip of the {side} hind flipper"
    )


JOINT_ORDER = (
    *(f"{side}_fore_{angle}" for side, _ in SIDES for angle in ("roll", "pitch", "yaw")),
    *(f"{side}_hind_{angle}" for side, _ in SIDES for angle in ("roll", "yaw")),
    *(f"{part}_{angle}" for part in ("head", "pelvis") for angle in ("pitch", "yaw")),
)
"""Joint coordinates in the order of eq. (12)."""


def _order(model: Model) -> None:
    coordinates, velocities = model.coordinates, model.velocities
    base_q = [c.name for c in coordinates if c.name not in JOINT_ORDER]
    model.order(
        [*base_q, *JOINT_ORDER],
        [*(v.name for v in velocities[:6]), *(f"{name}_rate" for name in JOINT_ORDER)],
    )


def _about_center(joint_inertia: float, mass: float, com: float) -> float:
    """Inertia about the centre of mass of a body whose joint inertia is given."""
    return joint_inertia - mass * com**2


def _paper_values() -> dict[str, float]:
    head, pelvis, hind = (
        {
            f"{stem}_inertia_{axis}": _about_center(value, mass, com)
            for axis, value in zip("yz", inertia, strict=True)
        }
        for stem, inertia, mass, com in (
            ("head", HEAD_INERTIA[1:], HEAD_MASS, HEAD_COM_X),
            ("pelvis", PELVIS_INERTIA[1:], PELVIS_MASS, PELVIS_COM_X),
            ("hind", (HIND_INERTIA[1], HIND_YAW_INERTIA_ABOUT_JOINT), HIND_MASS, HIND_COM_X),
        )
    )
    fore_yaw = _about_center(FORE_YAW_INERTIA_ABOUT_JOINT, FORE_MASS, FORE_COM_X)
    return {
        **head,
        **pelvis,
        **hind,
        "fore_inertia_z": fore_yaw,
        "carriage_inertia_x": CARRIAGE_ROLL_INERTIA,
    }
