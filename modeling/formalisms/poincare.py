"""Euler–Poincaré equations of a tree in quasi-velocities.

    q̇ = V(q) p ,      M(q) ṗ + C(q, p) p + F(q) = Q(q, p, u)

after Kwatny and Blankenship (*Nonlinear Control and Analytical Mechanics*,
2000, chapter 5), which the sea-lion paper follows in its eqs (11)–(14).  The
matrices come from one composite sweep (:mod:`.composite`), inverse and forward
dynamics from recursions (:mod:`.recursive`); Kwatny and Blankenship's own
formula with structure constants is kept as the slow twin
(:mod:`.kwatny_blankenship`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..checks import check_model
from ..equations import EquationsOfMotion
from ..model import Model
from ..program import Scalar
from ..tree import KinematicTree
from .assembly import Dynamics, assemble, input_groups
from .composite import mass_and_coriolis
from .recursive import forward_dynamics, inverse_dynamics


def poincare(model: Model) -> EquationsOfMotion:
    """Derive all equations of a model.

    Raises
    ------
    ModelError
        If the model cannot be derived (see :func:`~bestiary.modeling.checks.check_model`).
    DimensionError
        If quantities of unlike dimension meet; the message names the term.
    """
    check_model(model)
    tree = KinematicTree(model)
    with model.builder.context("mass and Coriolis matrix"):
        mass, coriolis = mass_and_coriolis(tree)

    def inverse(accelerations: Sequence[Scalar] | None) -> list[Scalar]:
        return inverse_dynamics(tree, accelerations)

    def forward(forces: Sequence[Scalar]) -> list[Scalar]:
        return forward_dynamics(tree, forces)

    recursion = None if tree.has_shared_velocities else forward
    dynamics = Dynamics(mass, coriolis, inverse, recursion)
    return assemble(model, tree, dynamics, "poincare")


__all__ = ["input_groups", "poincare"]
