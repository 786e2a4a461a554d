"""Robots for the tests of the Python side: built once a process, in a folder of their own."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

from bestiary import generated
from bestiary.build_tools.backends.c import emit_c
from bestiary.build_tools.backends.cython import emit_cython
from bestiary.build_tools.cache import ObjectCache
from bestiary.build_tools.compiler import compile_module
from bestiary.build_tools.manifest import make_manifest, manifest_text
from bestiary.modeling import (
    Compound,
    EquationsOfMotion,
    Floating,
    Model,
    Planar,
    Prismatic,
    Revolute,
    poincare,
)
from bestiary.modeling.animals import BUILT_IN

SMALL = ("crane", "kite")
ROBOTS = (*SMALL, "sea_lion")


def crane() -> Model:
    """Fixed base, inputs of both kinds, spring, damper, variant, a node off its body."""
    model = Model("crane", title='A trolley with a "double" pendulum')
    trolley = model.body("trolley", joint=Prismatic("travel", "x", symbol="s"), mass=2.0)
    arm = model.body(
        "arm",
        parent=trolley,
        joint=Revolute("swing", "y", symbol=r"\alpha", velocity_symbol=r"\dot\alpha"),
        mass=0.5,
        com=(0, 0, -0.4),
        inertia=(0.02, 0.03, 0.01, 0.001, 0, 0),
    )
    model.body(
        "hook",
        parent=arm,
        at=(0, 0, -0.8),
        joint=Compound((Revolute("nod", "x"), Revolute("turn", "z"))),
        mass=0.3,
        com=(0.02, 0, -0.1),
        inertia=(0.001, 0.002, 0.0015),
    )
    model.node("tip", "hook", at=(0, 0, -0.25), orientation=(0.3, 0, 0))
    model.spring("travel", 12.0, 0.1)
    model.damper("swing_rate", 0.2)
    model.actuate("travel_rate", "nod_rate")
    model.force_input("wind", "tip", (1, 0, 0), world_axes=True)
    model.variant("loaded", {"hook_mass": 1.5}, note="with a load")
    return model


def kite() -> Model:
    """Floating base with a quaternion and a planar joint; no inputs."""
    model = Model("kite", up="y")
    body = model.body(
        "body", joint=Floating("quaternion"), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25)
    )
    model.body("slider", parent=body, joint=Planar("z"), mass=0.4, inertia=(0.01, 0.01, 0.015))
    return model


def reed() -> Model:
    """A bending arc on a hinge, with limits that refuse and one that only informs."""
    model = Model("reed")
    stem = model.body("stem", joint=Revolute("swing", "x"), mass=0.2, inertia=(0.01, 0.01, 0.01))
    slide = model.body("slide", parent=stem, joint=Prismatic("reach", "y"), mass=0.1)
    model.arc("blade", parent=slide, length=0.3, mass=0.05, names=("u", "w"))
    model.limit("swing", low=-1.0, high=2.0, reason="the stop of the hinge")
    model.limit("reach", low=0.0)
    model.limit("reach", high=0.1, refuse=False)
    return model


MODELS = {"crane": crane, "kite": kite, "reed": reed}


@cache
def equations(name: str) -> EquationsOfMotion:
    """Equations of one of the robots."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name]() if name in MODELS else BUILT_IN[name].model()
        return poincare(model)


@cache
def place() -> Path:
    """A folder that lasts as long as the process."""
    path = Path(tempfile.mkdtemp(prefix="bestiary-tests-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def write_folder(name: str, folder: Path, compiled: bool = True) -> Path:
    """The generated folder of a robot, written anew."""
    c = emit_c(equations(name))
    files = {
        **c.files,
        **emit_cython(equations(name)),
        "program.json": equations(name).program.to_json(),
        "manifest.json": manifest_text(make_manifest(equations(name), c)),
    }
    folder.mkdir(parents=True)
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    if compiled:
        work = place() / f"work-{name}-{len(list(place().iterdir()))}"
        work.mkdir()
        kernels = c.sources["f64"]
        module = compile_module(files, kernels, (c.header,), work, ObjectCache.open())
        shutil.copy(module.path, folder / module.path.name)
        sources = {
            n: hashlib.sha256(files[n].encode()).hexdigest()
            for n in (*kernels, c.header, "_kernel.pyx")
        }
        stamp = {
            "module": module.path.name,
            "module_sha256": hashlib.sha256(module.path.read_bytes()).hexdigest(),
            "compiler": module.compiler,
            "flags": module.flags,
            "sources": sources,
        }
        (folder / "_kernel.stamp.json").write_text(json.dumps(stamp))
    return folder


@cache
def folder(name: str) -> Path:
    """The compiled generated folder of a robot; not to be changed."""
    return write_folder(name, place() / name)


@cache
def robot(name: str, form: str = "compiled") -> generated.Robot:
    """A robot, in compiled or in NumPy form."""
    return generated.load(folder(name), compiled=form == "compiled")
