"""The sea lion written out a second time: every joint, position and mass by hand.

Only numbers are shared with the model (those of Table 1 and the inferred
geometry); the tree, axes, signs and names are stated here again.
"""

from __future__ import annotations

from description import BodySpec, Element, Lump, NodeSpec, TreeSpec
from random_trees import floating

from bestiary.modeling import Compound, Fixed, Revolute

UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
NOWHERE = (0.0, 0.0, 0.0)

PLATE_FORE = (9e-5, 0.0013, 9e-5 + 0.0013)
PLATE_HIND = (7e-5, 3.94e-4, 7e-5 + 3.94e-4)
WATER = Lump(7.65, (0.0, 0.0, -0.0467), (0.0, 0.21, 0.237, 0.0, 0.0, 0.0))

COORDINATES = (
    "left_fore_roll left_fore_pitch left_fore_yaw right_fore_roll right_fore_pitch right_fore_yaw "
    "left_hind_roll left_hind_yaw right_hind_roll right_hind_yaw "
    "head_pitch head_yaw pelvis_pitch pelvis_yaw"
).split()

DRY = {
    "water_mass": 0.0,
    "water_inertia_x": 0.0,
    "water_inertia_y": 0.0,
    "water_inertia_z": 0.0,
}
NO_BUOYANCY = {f"{part}_volume": 0.0 for part in ("main", "fore", "hind", "head", "pelvis")}


def _hinges(*named_axes: tuple[str, str]) -> tuple[object, tuple[Element, ...]]:
    elements = tuple(
        Element("revolute", (name,), (f"{name}_rate",), UNIT[axis]) for name, axis in named_axes
    )
    return Compound(tuple(Revolute(name, axis) for name, axis in named_axes)), elements


def _body(
    name: str,
    parent: str | None,
    at: tuple[float, float, float],
    joint: tuple[object, tuple[Element, ...]],
    *lumps: tuple[float, float, tuple[float, float, float]],
) -> BodySpec:
    masses = tuple(Lump(m, (x, 0.0, 0.0), (*i, 0.0, 0.0, 0.0)) for m, x, i in lumps)
    return BodySpec(name, parent, at, NOWHERE, joint[0], joint[1], masses)


def sea_lion_description(base: str = "euler_zyx", *, water: bool = False) -> TreeSpec:
    """The ``physical`` sea lion without buoyancy, dry or with the water's mass."""
    _, (free,) = floating("main", base)
    strip = tuple(n.removeprefix("main_") for n in free.coordinates)
    rates = tuple(n.removeprefix("main_") for n in free.velocities)
    free = Element("floating", strip, rates, orientation=base)
    dry = Lump(3.65, (-0.081, 0.0, 0.0), (0.085, 0.37, 0.4, 0.0, 0.0, 0.0))
    masses = (dry, WATER) if water else (dry,)
    main = BodySpec("main", None, NOWHERE, NOWHERE, Fixed(), (free,), masses)
    bodies = [main]
    for side, y in (("left", -1.0), ("right", 1.0)):
        fore = f"{side}_fore"
        bodies += [
            _body(
                f"{side}_shoulder",
                "main",
                (0.105, y * 0.10, -0.005),
                _hinges((f"{fore}_roll", "x")),
            ),
            _body(
                fore,
                f"{side}_shoulder",
                (0.0, y * 0.02, 0.03),
                _hinges((f"{fore}_yaw", "z"), (f"{fore}_pitch", "x")),
                (0.20, -0.2, PLATE_FORE),
            ),
        ]
    bodies.append(
        _body(
            "head",
            "main",
            (0.227, 0.0, 0.0),
            _hinges(("head_pitch", "y"), ("head_yaw", "z")),
            (2.33, 0.1416, (0.014, 0.045, 0.045)),
        )
    )
    bodies.append(
        _body(
            "pelvis",
            "main",
            (-0.405, 0.0, 0.0),
            _hinges(("pelvis_pitch", "y"), ("pelvis_yaw", "z")),
            (1.79, -0.162, (0.011, 0.039, 0.039)),
        )
    )
    for side, y in (("left", -1.0), ("right", 1.0)):
        hind = f"{side}_hind"
        bodies.append(
            _body(
                hind,
                "pelvis",
                (-0.192, y * 0.03, 0.0),
                _hinges((f"{hind}_roll", "x"), (f"{hind}_yaw", "z")),
                (0.14, -0.0925, PLATE_HIND),
            )
        )
    return TreeSpec(
        "sea_lion",
        tuple(bodies),
        tuple(NodeSpec(b.name, b.name) for b in bodies),
        up="-z",
        coordinates=(*strip, *COORDINATES),
        velocities=(*rates, *(f"{n}_rate" for n in COORDINATES)),
        overrides={**({} if water else DRY), **NO_BUOYANCY},
    )
