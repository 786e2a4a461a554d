"""Choosing some of a robot's functions, by name or by group."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from .animals.naming import normal_selection
from .equations import EquationsOfMotion
from .errors import ModelError

GROUPS: Mapping[str, tuple[str, ...]] = {
    "kinematics": ("velocity_map", "rate_map", "coordinate_rates"),
    "matrices": (
        "mass_matrix",
        "coriolis_matrix",
        "force_vector",
        "equations_of_motion",
        "input_matrix",
    ),
    "dynamics": (
        "mass_matrix",
        "bias_forces",
        "inverse_dynamics",
        "generalized_forces",
        "drift_forces",
        "forward_dynamics",
        "state_rates",
    ),
    "totals": ("kinetic_energy", "potential_energy", "center_of_mass", "momentum"),
    "contact": ("contact_forces", "contact_energy"),
}
"""Groups with fixed members; "control" and "nodes" depend on the robot."""

NODE_KINDS = ("pose", "velocity", "jacobian")


def function_groups(equations: EquationsOfMotion) -> dict[str, tuple[str, ...]]:
    """Functions of each group that a robot has; a node's name is a group of its own."""
    functions = equations.program.functions
    groups: dict[str, tuple[str, ...]] = dict(GROUPS)
    groups["control"] = tuple(c.function for c in equations.controllers)
    nodes = {n.name: tuple(f"{n.name}_{k}" for k in NODE_KINDS) for n in equations.nodes}
    groups["nodes"] = tuple(f for names in nodes.values() for f in names)
    groups.update({k: v for k, v in nodes.items() if k not in groups and k not in functions})
    present = {name: tuple(f for f in names if f in functions) for name, names in groups.items()}
    return {name: names for name, names in present.items() if names}


def select_functions(equations: EquationsOfMotion, wanted: Iterable[str]) -> EquationsOfMotion:
    """The equations with the wanted functions alone, and all statements that they need.

    Parameters
    ----------
    equations:
        The derived robot.
    wanted:
        Names of functions, of groups ("kinematics", "matrices", "dynamics", "totals",
        "contact", "control", "nodes") and of nodes; none keeps everything.

    Raises
    ------
    ModelError
        For an unknown name: names the closest and all groups.
    """
    asked = normal_selection(wanted)
    if not asked:
        return equations
    functions, groups = equations.program.functions, function_groups(equations)
    chosen: set[str] = set()
    for name in asked:
        if name not in functions and name not in groups:
            raise ModelError(_unknown(equations, name, groups))
        chosen.update([name] if name in functions else groups[name])
    program = equations.program.restricted(chosen)
    return replace(
        equations,
        program=program,
        controllers=tuple(c for c in equations.controllers if c.function in chosen),
        selection=asked,
        left_out=tuple(f for f in functions if f not in chosen),
    )


def _unknown(equations: EquationsOfMotion, name: str, groups: Mapping[str, tuple[str, ...]]) -> str:
    nodes = {n.name for n in equations.nodes}
    plain = [f for f in equations.program.functions if f not in groups.get("nodes", ())]
    known = [*equations.program.functions, *groups]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    listed = ", ".join(g for g in groups if g not in nodes)
    return (
        f"{equations.name} has no function or group {name!r}{hint}; groups are {listed}; "
        f"functions are {', '.join(plain)}, and {', '.join('_' + k for k in NODE_KINDS)} of each "
        f"node ({', '.join(sorted(nodes))})"
    )
