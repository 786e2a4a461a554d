"""Robots of the tests of flight: rats without contact, and a pair of coaxial bodies."""

from __future__ import annotations

import robot_harness

from bestiary.generated import Robot
from bestiary.modeling import Floating, Model, Revolute
from bestiary.modeling.animals.coaxial_pair import coaxial_pair
from bestiary.modeling.animals.kangaroo_rat import (
    kangaroo_rat_articulated,
    kangaroo_rat_continuum,
)


def acrobat(base: str = "quaternion") -> Model:
    """A body with two hinged arms, one of them damped and on a spring."""
    model = Model(f"acrobat_{base}")
    trunk = model.body("trunk", joint=Floating(base), mass=2.0, inertia=(0.03, 0.02, 0.04))
    model.body(
        "arm", parent=trunk, at=(0.1, 0, 0.1), joint=Revolute("raise", "y"), mass=0.3,
        com=(0.15, 0, 0), inertia=(0.001, 0.004, 0.004),
    )  # fmt: skip
    model.body(
        "leg", parent=trunk, at=(0, 0.05, -0.2), joint=Revolute("step", "x"), mass=0.5,
        com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.002),
    )  # fmt: skip
    model.damper("raise_rate", 0.02)
    model.spring("raise", 0.3)
    model.actuate("raise_rate", "step_rate")
    return model


robot_harness.MODELS.update(
    {
        "coaxial_pair": coaxial_pair,
        "acrobat": acrobat,
        **{f"acrobat_{e}": lambda e=e: acrobat(e) for e in ("euler_zyx", "euler_xyz", "euler_zxz")},
        **{
            f"rat_{m}_{n}": lambda m=m, n=n: kangaroo_rat_articulated(m, n, contact=False)
            for m, n in ((1, 2), (1, 4), (2, 2), (2, 4), (3, 4))
        },
        **{f"arc_rat_{m}": lambda m=m: kangaroo_rat_continuum(m, contact=False) for m in (1, 2, 3)},
    }
)


def robot(name: str, form: str = "compiled") -> Robot:
    """A robot by name; the NumPy form needs no compiler's time."""
    if form == "compiled":
        return robot_harness.robot(name)
    return plain(name)


def plain(name: str) -> Robot:
    """A robot in NumPy form, whose folder is written but not compiled."""
    from bestiary import generated

    folder = robot_harness.place() / f"plain-{name}"
    if not folder.exists():
        robot_harness.write_folder(name, folder, compiled=False)
    return generated.load(folder, compiled=False)
