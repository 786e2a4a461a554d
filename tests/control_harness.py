"""Robots for the tests of controllers: derived once a process, compiled with what control needs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from robot_harness import place

from bestiary import generated
from bestiary.build_tools.cache import ObjectCache
from bestiary.build_tools.compiler import compile_module
from bestiary.build_tools.pipeline import emit
from bestiary.modeling import (
    EquationsOfMotion,
    Floating,
    Model,
    Prismatic,
    Revolute,
    add_tracking_controller,
    poincare,
)
from bestiary.modeling.animals.kangaroo_rat import kangaroo_rat_articulated, kangaroo_rat_continuum

NEEDED = (
    "velocity_map rate_map coordinate_rates mass_matrix bias_forces generalized_forces "
    "input_matrix inverse_dynamics forward_dynamics state_rates kinetic_energy potential_energy "
    "momentum contact_forces"
).split()


def bar(model: Model, name: str, parent: str | None, joint: object, **more: object) -> None:
    """A slender body of 0.4 m below its joint."""
    model.body(
        name,
        parent=parent,
        joint=joint,
        mass=0.5,
        com=(0.02, 0, -0.2),
        inertia=(0.007, 0.0075, 0.001),
        **more,
    )


def arm() -> Model:
    """Every joint has an input; spring and damping."""
    model = Model("arm")
    model.body("base", joint=Revolute("turn", "z"), mass=1.0, inertia=(0.01, 0.01, 0.02))
    bar(model, "upper", "base", Revolute("shoulder", "y"))
    bar(model, "lower", "upper", Revolute("elbow", "y"), at=(0, 0, -0.4))
    model.body("rod", parent="lower", at=(0, 0, -0.4), joint=Prismatic("reach", "z"), mass=0.2)
    model.spring("elbow", 2.0, 0.3)
    model.damper("shoulder_rate", 0.1)
    model.actuate("turn_rate", "shoulder_rate", "elbow_rate", "reach_rate")
    add_tracking_controller(model)
    return model


def acrobot() -> Model:
    """The first joint is tracked, the second has the motor."""
    model = Model("acrobot")
    bar(model, "upper", None, Revolute("hang", "y"))
    bar(model, "lower", "upper", Revolute("elbow", "y"), at=(0, 0, -0.4))
    model.actuate("elbow_rate")
    add_tracking_controller(model, "hang")
    return model


def cart_pole() -> Model:
    """The pole is tracked, the cart has the motor."""
    model = Model("cart_pole")
    model.body("cart", joint=Prismatic("travel", "x"), mass=1.0)
    bar(model, "pole", "cart", Revolute("swing", "y"))
    model.damper("swing_rate", 0.02)
    model.actuate("travel_rate")
    add_tracking_controller(model, "swing")
    return model


def triple() -> Model:
    """Two motors of one kind pull one joint: the smallest accelerations are taken."""
    model = Model("triple")
    bar(model, "first", None, Revolute("hang", "y"))
    bar(model, "second", "first", Revolute("knee", "y"), at=(0, 0, -0.4))
    bar(model, "third", "second", Revolute("ankle", "y"), at=(0, 0, -0.4))
    model.actuate("knee_rate", "ankle_rate")
    add_tracking_controller(model, "hang", name="swing_controller")
    return model


def gantry() -> Model:
    """A force and a torque pull a pole with a loose tip; a lift is tracked by its own input."""
    model = Model("gantry")
    model.body("trolley", joint=Prismatic("travel", "x"), mass=1.0)
    model.body("lift", parent="trolley", joint=Prismatic("height", "z"), mass=0.5)
    bar(model, "boom", "lift", Revolute("boom_angle", "y"))
    bar(model, "pole", "boom", Revolute("swing", "y"), at=(0, 0, -0.4))
    bar(model, "tip", "pole", Revolute("loose", "y"), at=(0, 0, -0.4))
    model.spring("loose", 1.0)
    model.actuate("travel_rate", "height_rate", "boom_angle_rate")
    model.force_input("wind", "tip", (1, 0, 0), world_axes=True)
    add_tracking_controller(model, "swing", "height")
    return model


def walker() -> Model:
    """A floating base with two arms, of which one is tracked and the other hangs loose."""
    model = Model("walker")
    model.body("trunk", joint=Floating("quaternion"), mass=2.0, inertia=(0.03, 0.04, 0.02))
    bar(model, "left", "trunk", Revolute("left_arm", "x"), at=(0, 0.1, 0))
    bar(model, "right", "trunk", Revolute("right_arm", "x"), at=(0, -0.1, 0))
    model.actuate("left_arm_rate", "right_arm_rate")
    add_tracking_controller(model, "left_arm", name="left_controller")
    add_tracking_controller(model, name="arm_controller")
    return model


MODELS: dict[str, Callable[[], Model]] = {
    "arm": arm,
    "acrobot": acrobot,
    "cart_pole": cart_pole,
    "triple": triple,
    "gantry": gantry,
    "walker": walker,
    "rat_articulated": lambda: kangaroo_rat_articulated(segments=2, links=2),
    "rat_continuum": lambda: kangaroo_rat_continuum(segments=2),
}
SMALL = ("arm", "acrobot", "cart_pole", "triple", "gantry", "walker")
COMPILED = ("arm", "cart_pole", "gantry", "rat_articulated", "rat_continuum")
RATS = ("rat_articulated", "rat_continuum")
KINDS = {
    "arm": "computed torque",
    "acrobot": "non-collocated",
    "cart_pole": "non-collocated",
    "triple": "non-collocated",
    "gantry": "non-collocated",
    "walker": "collocated",
    "rat_articulated": "collocated",
    "rat_continuum": "collocated",
}


@cache
def equations(name: str) -> EquationsOfMotion:
    """Equations of one of the robots, without the functions of its nodes."""
    full = poincare(MODELS[name]())
    steps = [c.function for c in full.controllers]
    kept = {k: f for k, f in full.program.functions.items() if k in (*NEEDED, *steps)}
    return replace(full, program=replace(full.program, functions=kept))


@cache
def folder(name: str) -> Path:
    """The generated folder of a robot, compiled if it is among ``COMPILED``."""
    path = place() / f"control-{name}"
    work = path / "work"
    work.mkdir(parents=True)
    emission = emit(equations(name))
    for file, text in emission.files.items():
        (path / file).write_text(text, encoding="utf-8")
    if name in COMPILED:
        module = compile_module(
            emission.files, emission.kernels, emission.headers, work, ObjectCache.open()
        )
        shutil.copy(module.path, path / module.path.name)
        stamp = {"module": module.path.name, "compiler": module.compiler, "flags": module.flags}
        (path / "_kernel.stamp.json").write_text(json.dumps({**stamp, "sources": {}}))
    return path


@cache
def robot(name: str, form: str = "compiled") -> generated.Robot:
    """A robot, in compiled form (where it is among ``COMPILED``) or in NumPy form."""
    return generated.load(folder(name), compiled=form == "compiled" and name in COMPILED)
