"""Seeded random trees over every joint type of the toolkit, up to 30 velocities.

Fixed and floating bases, branches, rotated mounts, massless bodies between
massive ones, several lumps a body, permuted orders of q and p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from description import AXES, BodySpec, Element, Lump, NodeSpec, TreeSpec

from bestiary.modeling import (
    Compound,
    Cylindrical,
    Fixed,
    Floating,
    Follower,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)

SIZES = (5, 8, 11, 14, 17, 20, 23, 26, 28, 30)
"""Velocities of the ten standard trees; even seeds have a fixed base."""

SEQUENCES = ("euler_zyx", "euler_xyz", "euler_zxz", "euler_yxz", "euler_yzy")
Made = tuple[object, tuple[Element, ...]]


def _unit(axis: str) -> tuple[float, ...]:
    sign = -1.0 if axis.startswith("-") else 1.0
    return tuple(sign if AXES[k] == axis[-1] else 0.0 for k in range(3))


def _axis(rng: np.random.Generator) -> tuple[object, tuple[float, ...]]:
    """An axis as the toolkit takes it, and as a unit vector: aligned or skew."""
    if rng.random() < 0.5:
        name = str(rng.choice(["x", "y", "z", "-x", "-y", "-z"]))
        return name, _unit(name)
    raw = rng.normal(size=3)
    given = tuple(float(v) for v in raw * rng.uniform(0.5, 3))  # need not be of unit length
    return given, tuple(float(v) for v in raw / np.linalg.norm(raw))


def _single(kind: str, name: str, axis: tuple[float, ...]) -> Element:
    return Element(kind, (name,), (f"{name}_rate",), axis)


def _fixed(name: str, rng: np.random.Generator) -> Made:
    return Fixed(), ()


def _revolute(name: str, rng: np.random.Generator) -> Made:
    given, axis = _axis(rng)
    return Revolute(axis=given), (_single("revolute", name, axis),)


def _prismatic(name: str, rng: np.random.Generator) -> Made:
    given, axis = _axis(rng)
    return Prismatic(axis=given), (_single("prismatic", name, axis),)


def _universal(name: str, rng: np.random.Generator) -> Made:
    (first, a), (second, b) = _axis(rng), _axis(rng)
    return (
        Universal((first, second)),
        (_single("revolute", f"{name}_1", a), _single("revolute", f"{name}_2", b)),
    )


def _cylindrical(name: str, rng: np.random.Generator) -> Made:
    given, axis = _axis(rng)
    return (
        Cylindrical(given),
        (
            _single("revolute", f"{name}_angle", axis),
            _single("prismatic", f"{name}_length", axis),
        ),
    )


def _planar(name: str, rng: np.random.Generator) -> Made:
    k = int(rng.integers(3))
    n, i, j = AXES[k], AXES[(k + 1) % 3], AXES[(k + 2) % 3]
    element = Element(
        "planar",
        (f"{name}_angle", f"{name}_{i}", f"{name}_{j}"),
        (f"{name}_w{n}", f"{name}_v{i}", f"{name}_v{j}"),
        _unit(n),
    )
    return Planar(n), (element,)


def _orientation_names(orientation: str, prefix: str) -> tuple[str, ...]:
    if orientation == "quaternion":
        return tuple(f"{prefix}q{a}" for a in "wxyz")
    if len(set(orientation.removeprefix("euler_"))) == 3:
        return tuple(f"{prefix}{n}" for n in ("roll", "pitch", "yaw"))
    return tuple(f"{prefix}angle{k}" for k in (1, 2, 3))


def _orientation(rng: np.random.Generator) -> str:
    return "quaternion" if rng.random() < 0.5 else str(rng.choice(SEQUENCES))


def _spherical(name: str, rng: np.random.Generator) -> Made:
    orientation = _orientation(rng)
    element = Element(
        "spherical",
        _orientation_names(orientation, f"{name}_"),
        tuple(f"{name}_w{a}" for a in AXES),
        orientation=orientation,
    )
    return Spherical(orientation), (element,)


def floating(name: str, orientation: str) -> Made:
    """A floating joint with names prefixed by the body's."""
    prefix = f"{name}_"
    element = Element(
        "floating",
        (*_orientation_names(orientation, prefix), *(f"{prefix}{a}" for a in AXES)),
        tuple(f"{prefix}{kind}{a}" for kind in "wv" for a in AXES),
        orientation=orientation,
    )
    return Floating(orientation, prefix=prefix), (element,)


def _floating(name: str, rng: np.random.Generator) -> Made:
    return floating(name, _orientation(rng))


def _compound(name: str, rng: np.random.Generator) -> Made:
    joints, elements = [], []
    for number in range(3):
        given, axis = _axis(rng)
        kind = "revolute" if rng.random() < 0.7 else "prismatic"
        coordinate = f"{name}_c{number}"
        joints.append({"revolute": Revolute, "prismatic": Prismatic}[kind](coordinate, given))
        elements.append(_single(kind, coordinate, axis))
    order = [e.coordinates[0] for e in elements]
    order = [order[k] for k in rng.permutation(3)]
    return Compound(tuple(joints), order=tuple(order)), tuple(elements)


MAKERS: dict[str, tuple[int, Callable[[str, np.random.Generator], Made]]] = {
    "fixed": (0, _fixed),
    "revolute": (1, _revolute),
    "prismatic": (1, _prismatic),
    "universal": (2, _universal),
    "cylindrical": (2, _cylindrical),
    "planar": (3, _planar),
    "spherical": (3, _spherical),
    "compound": (3, _compound),
    "floating": (6, _floating),
}
SINGLE_AXIS = ("revolute", "prismatic", "universal", "cylindrical", "compound")


def _lump(rng: np.random.Generator) -> Lump:
    """A lump that some mass distribution has: the inertia of a cloud of points."""
    points = rng.normal(scale=0.15, size=(6, 3))
    masses = rng.uniform(0.05, 0.4, size=6)
    com = masses @ points / masses.sum()
    r = points - com
    full = np.einsum("k,kij->ij", masses, [np.dot(v, v) * np.eye(3) - np.outer(v, v) for v in r])
    six = (full[0, 0], full[1, 1], full[2, 2], full[0, 1], full[0, 2], full[1, 2])
    return Lump(float(masses.sum()), tuple(map(float, com)), tuple(map(float, six)))


def _mount(rng: np.random.Generator) -> tuple[tuple[float, ...], tuple[float, ...]]:
    at = tuple(float(v) for v in rng.normal(scale=0.3, size=3))
    style = rng.random()
    if style < 0.35:
        return at, (0.0, 0.0, 0.0)
    if style < 0.55:
        return at, tuple(float(v) * np.pi / 2 for v in rng.integers(-1, 3, size=3))
    return at, tuple(float(v) for v in rng.uniform(-3, 3, size=3))


def random_tree(seed: int, size: int | None = None, base: str | None = None) -> TreeSpec:
    """A tree of ``size`` quasi-velocities; the same for the same seed everywhere.

    ``base`` is ``"fixed"``, ``"quaternion"`` or an Euler sequence.
    """
    rng = np.random.default_rng([2024, seed])
    size = size if size is not None else SIZES[seed % len(SIZES)]
    if base is None:
        base = "fixed" if seed % 2 == 0 else ("quaternion", "euler_zyx", "euler_xyz")[seed // 2 % 3]
    bodies: list[BodySpec] = []
    wishes = list(rng.permutation([k for k in MAKERS if k not in ("floating", "fixed")]))
    used, count = 0, 0

    def add(kind: str, made: Made, parent: str | None, name: str, massless: bool) -> None:
        at, rpy = _mount(rng)
        lumps = () if massless else tuple(_lump(rng) for _ in range(1 + int(rng.random() < 0.3)))
        bodies.append(BodySpec(name, parent, at, rpy, made[0], made[1], lumps))

    if base != "fixed":
        add("floating", floating("base", base), None, "base", massless=False)
        used = 6
    pending = ""  # a moving massless body that still needs its child
    while used < size or pending:
        name = f"b{count}"
        count += 1
        if pending:
            parent: str | None = pending
        elif not bodies:
            parent = None
        else:
            parent = bodies[int(rng.integers(max(0, len(bodies) - 4), len(bodies)))].name
            while any(b.name == parent and not b.lumps and b.elements for b in bodies):
                parent = bodies[int(rng.integers(len(bodies)))].name
        room = size - used
        fitting = [k for k in MAKERS if 0 < MAKERS[k][0] <= room and (k != "floating" or room >= 9)]
        if pending:
            kind = str(rng.choice(["revolute", "fixed"])) if room else "fixed"
        elif rng.random() < 0.1 and bodies:
            kind = "fixed"
        else:
            wished = [k for k in wishes if k in fitting]
            kind = str(wished[0]) if wished else str(rng.choice(fitting))
            if wished:
                wishes.remove(kind)
        made = MAKERS[kind][1](name, rng)
        massless = kind in SINGLE_AXIS and not pending and rng.random() < 0.25
        if kind == "fixed" and parent is None:
            massless = True
        add(kind, made, parent, name, massless)
        used += MAKERS[kind][0]
        pending = name if massless and kind != "fixed" else ""
    return _finished(seed, tuple(bodies), rng)


def with_springs_and_dampers(spec: TreeSpec, seed: int = 0) -> TreeSpec:
    """The same tree with a spring and a damper on most single-axis joints."""
    rng = np.random.default_rng([17, seed])
    single = [e for e in spec.elements if e.kind in ("revolute", "prismatic")]
    springs = [(e.coordinates[0], *map(float, rng.uniform(0.2, 3, size=2))) for e in single[::2]]
    dampers = [(e.velocities[0], float(rng.uniform(0.1, 1))) for e in single[1:]]
    return replace(spec, name=f"{spec.name}_damped", springs=tuple(springs), dampers=tuple(dampers))


def coupled_tail() -> TreeSpec:
    """A floating body with a tail of two segments, whose links bend alike by followers."""
    rng = np.random.default_rng(5)
    joint, elements = floating("base", "quaternion")
    bodies = [BodySpec("base", None, (0.0,) * 3, (0.0,) * 3, joint, elements, (_lump(rng),))]
    for segment in (1, 2):
        bend, side = f"bend{segment}", f"side{segment}"
        for link in range(3):
            at = tuple(float(v) for v in rng.normal(scale=0.2, size=3))
            rpy = (0.0,) * 3 if link else (0.3, -0.2, 0.5)
            if link == 0:
                joint = Compound((Revolute(bend, "x", ratio=0.5), Revolute(side, "z")))
                bending = replace(_single("revolute", bend, _unit("x")), ratio=0.5)
                elements = (bending, _single("revolute", side, _unit("z")))
            else:
                ratio = 1.0 if link == 1 else -0.75
                joint = Compound((Follower(bend, "x"), Follower(side, "z", ratio)))
                elements = (
                    _follower(bend, _unit("x"), 1.0),
                    _follower(side, _unit("z"), ratio),
                )
            name = f"s{segment}_{link}"
            lumps = (_lump(rng),)
            bodies.append(BodySpec(name, bodies[-1].name, at, rpy, joint, elements, lumps))
    nodes = tuple(NodeSpec(b.name, b.name) for b in bodies)
    return TreeSpec("coupled_tail", tuple(bodies), nodes)


def _follower(name: str, axis: tuple[float, ...], ratio: float) -> Element:
    return Element("revolute", (name,), (f"{name}_rate",), axis, ratio=ratio, follower=True)


def _finished(seed: int, bodies: tuple[BodySpec, ...], rng: np.random.Generator) -> TreeSpec:
    nodes = [NodeSpec(b.name, b.name) for b in bodies]
    for number in range(3):
        body = bodies[int(rng.integers(len(bodies)))]
        at, rpy = _mount(rng)
        nodes.append(NodeSpec(f"tip{number}", body.name, at, rpy))
    spec = TreeSpec(f"tree{seed}", bodies, tuple(nodes), up=str(rng.choice(["z", "-z", "x", "-y"])))
    if seed % 3 == 0:
        return spec
    coordinates = [n for e in spec.elements for n in e.coordinates]
    velocities = [n for e in spec.elements for n in e.velocities]
    blocks = [e.coordinates for e in spec.elements]  # quaternions stay together
    shuffled = [blocks[k] for k in rng.permutation(len(blocks))]
    return (
        replace(
            spec,
            coordinates=tuple(n for block in shuffled for n in block),
            velocities=tuple(velocities[k] for k in rng.permutation(len(velocities))),
        )
        if len(coordinates)
        else spec
    )
