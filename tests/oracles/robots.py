"""The robots that the oracle tests run on: derived once per process, on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from description import TreeSpec
from mujoco_twin import MujocoTwin
from numeric import Numbers
from pinocchio_twin import PinocchioTwin
from random_trees import SIZES, coupled_tail, random_tree, with_springs_and_dampers
from sea_lion_description import sea_lion_description

from bestiary.modeling import EquationsOfMotion, Model, poincare
from bestiary.modeling.animals import BUILT_IN

TREES = tuple(f"tree{seed}" for seed in range(len(SIZES)))
SEA_LIONS = ("sea_lion_dry", "sea_lion_flooded", "sea_lion_quaternion_dry")
DAMPED = ("tree3_damped", "tree4_damped")
ROBOTS = (*TREES, "coupled_tail", *SEA_LIONS)
TREE_SEEDS = {name: seed for seed, name in enumerate(TREES)}


@dataclass(frozen=True)
class State:
    """A random state: by name for the engines, as arrays in the robot's orders."""

    named: dict[str, float]
    q: list[float]
    p: np.ndarray
    acceleration: np.ndarray
    force: np.ndarray


@dataclass(frozen=True)
class Robot:
    """Description, model, equations and numbers of one robot."""

    spec: TreeSpec
    model: Model
    equations: EquationsOfMotion

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers(self.equations.program, self.values)

    @property
    def values(self) -> dict[str, float]:
        """Parameter values that make the robot the described one."""
        return {**self.equations.values(), **self.spec.overrides}

    @property
    def coordinates(self) -> list[str]:
        return [c.name for c in self.equations.coordinates]

    @property
    def velocities(self) -> list[str]:
        return [v.name for v in self.equations.velocities]

    @cached_property
    def pinocchio(self) -> PinocchioTwin:
        return PinocchioTwin(self.spec, self.coordinates, self.velocities)

    @cached_property
    def mujoco(self) -> MujocoTwin:
        return MujocoTwin(self.spec, self.velocities)

    def state(self, seed: int) -> State:
        q, p = self.spec.random_state(seed)
        rng = np.random.default_rng([7, seed])
        n = len(self.velocities)
        return State(
            q,
            [q[name] for name in self.coordinates],
            np.array([p[name] for name in self.velocities]),
            rng.normal(size=n),
            rng.normal(size=n),
        )

    def states(self, count: int = 3) -> list[State]:
        return [self.state(seed) for seed in range(count)]

    def input_vector(self, force: np.ndarray) -> list[float]:
        """Inputs u that make the generalized forces ``force`` (zero on a passive base)."""
        actuated = [i.velocity for i in self.equations.inputs]
        return [float(force[self.velocities.index(v)]) for v in actuated]

    def actuated(self, force: np.ndarray) -> np.ndarray:
        """``force`` with zeros where there is no actuator."""
        driven = {i.velocity for i in self.equations.inputs}
        return np.array(
            [f if v in driven else 0.0 for v, f in zip(self.velocities, force, strict=True)]
        )


@cache
def robot(name: str) -> Robot:
    """A robot of :data:`ROBOTS` or :data:`DAMPED`."""
    if name == "coupled_tail" or name in DAMPED:
        if name == "coupled_tail":
            spec = coupled_tail()
        else:
            spec = with_springs_and_dampers(random_tree(TREE_SEEDS[name.removesuffix("_damped")]))
        model = spec.model()
        return Robot(spec, model, _derived(name, model))
    if name in TREE_SEEDS:
        spec = random_tree(TREE_SEEDS[name])
        model = spec.model()
    else:
        base = "quaternion" if "quaternion" in name else "euler_zyx"
        spec = sea_lion_description(base, water=name.endswith("flooded"))
        model = BUILT_IN["sea_lion_quaternion" if base == "quaternion" else "sea_lion"].model()
    return Robot(spec, model, _derived(name.removesuffix("_dry").removesuffix("_flooded"), model))


_EQUATIONS: dict[str, EquationsOfMotion] = {}


def _derived(key: str, model: Model) -> EquationsOfMotion:
    if key not in _EQUATIONS:
        _EQUATIONS[key] = poincare(model)
    return _EQUATIONS[key]
