"""Kangaroo rats for the tests: derived once, and written out a second time by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from description import BodySpec, Element, Lump, NodeSpec, TreeSpec
from numeric import Numbers
from random_trees import floating

from bestiary.modeling import EquationsOfMotion, Fixed, Model, poincare
from bestiary.modeling.animals.kangaroo_rat import (
    kangaroo_rat_articulated,
    kangaroo_rat_continuum,
)
from bestiary.modeling.formalisms.inertia_matrix import inertia_matrix

FORMALISMS = {"poincare": poincare, "inertia_matrix": inertia_matrix}
MAKERS = {"articulated": kangaroo_rat_articulated, "continuum": kangaroo_rat_continuum}
Options = tuple[tuple[str, object], ...]

TORSO_MASS, TORSO_AXES = 0.105, (0.030, 0.065, 0.030)
TAIL_MASS, TAIL_LENGTH, TAIL_RADIUS = 0.005, 0.19, 0.0025
TAIL_BASE = (0.0, -0.060, 0.005)


@dataclass(frozen=True)
class Rat:
    """Model, equations and numbers of one rat."""

    model: Model
    equations: EquationsOfMotion

    @property
    def coordinates(self) -> list[str]:
        return [c.name for c in self.equations.coordinates]

    @property
    def velocities(self) -> list[str]:
        return [v.name for v in self.equations.velocities]

    @property
    def tail(self) -> list[int]:
        """Places of the tail's velocities in p."""
        return [k for k, v in enumerate(self.velocities) if v.endswith("_rate")]

    @cached_property
    def numbers(self) -> Numbers:
        return self.with_values()

    def with_values(self, *, interpret: bool = True, **changed: float) -> Numbers:
        values = {**self.equations.values(), **changed}
        return Numbers(self.equations.program, values, interpret=interpret)

    def pose(self, **bending: float) -> np.ndarray:
        """Upright at the origin, with some bending coordinates."""
        q = np.zeros(len(self.coordinates))
        q[0] = 1.0 if self.coordinates[0] == "qw" else 0.0
        for name, value in bending.items():
            q[self.coordinates.index(name)] = value
        return q

    def state(self, seed: int, bending: float = 1.0) -> dict[str, np.ndarray]:
        """A random state; tail coordinates are normal times ``bending``."""
        rng = np.random.default_rng([seed, 23])
        q = rng.normal(size=len(self.coordinates))
        q[-len(self.tail) :] *= bending
        if self.coordinates[0] == "qw":
            q[:4] /= np.linalg.norm(q[:4])
        n = len(self.velocities)
        return {
            "q": q,
            "p": rng.normal(size=n),
            "p_dot": rng.normal(size=n),
            "u": rng.normal(scale=1e-3, size=len(self.tail)),
        }

    def call(self, function: str, at: dict[str, np.ndarray]) -> np.ndarray:
        """A function at a state, first output."""
        inputs = self.equations.program.functions[function].inputs
        return self.numbers(function, **{k: v for k, v in at.items() if k in inputs})


@cache
def rat(kind: str, formalism: str = "poincare", **options: object) -> Rat:
    """A rat: kind ``articulated`` or ``continuum`` and its options."""
    model = MAKERS[kind](**options)
    return Rat(model, FORMALISMS[formalism](model))


def description(
    segments: int, links: int, base: str = "quaternion", *, half: bool = False
) -> TreeSpec:
    """The articulated rat by hand: ellipsoid torso, rods that turn about x, then z."""
    _, (free,) = floating("t", base)
    free = Element(
        "floating",
        tuple(n.removeprefix("t_") for n in free.coordinates),
        tuple(n.removeprefix("t_") for n in free.velocities),
        orientation=base,
    )
    nowhere = (0.0, 0.0, 0.0)
    a, b, c = TORSO_AXES
    torso = Lump(
        TORSO_MASS,
        nowhere,
        (*(TORSO_MASS / 5 * s for s in (b * b + c * c, a * a + c * c, a * a + b * b)), *nowhere),
    )
    bodies = [BodySpec("torso", None, nowhere, nowhere, Fixed(), (free,), (torso,))]
    count = segments * links
    mass, length = TAIL_MASS / count, TAIL_LENGTH / count
    across = mass * (TAIL_RADIUS**2 / 4 + length**2 / 12)
    rod = Lump(mass, (0.0, -length / 2, 0.0), (across, mass * TAIL_RADIUS**2 / 2, across, *nowhere))
    at = TAIL_BASE
    for segment in range(1, segments + 1):
        for link in range(1, links + 1):
            ratio = 0.5 if half and link == 1 else 1.0
            elements = tuple(
                Element(
                    "revolute", (name,), (f"{name}_rate",), axis, ratio=ratio, follower=link > 1
                )
                for name, axis in (
                    (f"alpha_{segment}", (1.0, 0.0, 0.0)),
                    (f"beta_{segment}", (0.0, 0.0, 1.0)),
                )
            )
            name = f"link_{segment}_{link}"
            bodies.append(BodySpec(name, bodies[-1].name, at, nowhere, Fixed(), elements, (rod,)))
            at = (0.0, -length, 0.0)
    ends = tuple(
        NodeSpec(f"segment_{k}_end", f"link_{k}_{links}", (0.0, -length, 0.0))
        for k in range(1, segments + 1)
    )
    return TreeSpec("rat", tuple(bodies), (*(NodeSpec(b.name, b.name) for b in bodies), *ends))
