"""Options of IPOPT, tried one by one on a program of one variable before a real one sees them."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from bestiary.generated.errors import suggestion

from .errors import OptimalControlError

ARGUMENTS = {
    "linear_solver": "linear_solver=",
    "max_iter": "iterations=",
    "max_wall_time": "seconds=",
    "max_cpu_time": "seconds=",
    "tol": "tolerance= (of the mesh; the program is solved more accurately by itself)",
}
"""Options that are arguments of ``solve``."""

COMMON = (
    "acceptable_iter", "acceptable_tol", "alpha_for_y", "bound_frac", "bound_push",
    "bound_relax_factor", "compl_inf_tol", "constr_viol_tol", "corrector_type",
    "diverging_iterates_tol", "dual_inf_tol", "expect_infeasible_problem",
    "fixed_variable_treatment", "hessian_approximation", "hsllib", "jac_c_constant",
    "kappa_sigma", "limited_memory_max_history", "linear_scaling_on_demand", "linear_solver",
    "linear_system_scaling", "ma57_pivtol", "max_cpu_time", "max_iter", "max_soc",
    "max_wall_time", "mehrotra_algorithm", "mu_init", "mu_max", "mu_min", "mu_oracle",
    "mu_strategy", "mumps_mem_percent", "mumps_pivtol", "mumps_scaling", "nlp_scaling_method",
    "obj_scaling_factor", "print_level", "print_timing_statistics", "recalc_y",
    "required_infeasibility_reduction",
    "resto_failure_feasibility_threshold", "sb", "slack_bound_frac", "slack_bound_push",
    "start_with_resto", "tol", "warm_start_init_point", "watchdog_shortened_iter_trigger",
)  # fmt: skip
"""Names that misspelt ones are compared with; IPOPT knows more."""


def check_options(options: Any) -> dict[str, Any]:
    """Options in the form that IPOPT takes, each of them tried.

    Parameters
    ----------
    options:
        A mapping from names to numbers or texts, or None.

    Raises
    ------
    OptimalControlError
        Naming the option that is unknown or whose value is not valid.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise OptimalControlError(
            f"solver_options: expected a mapping such as {{'max_soc': 8}}, got {options!r}"
        )
    found: dict[str, Any] = {}
    for name, value in options.items():
        checked = _checked_name(name, value)
        found[checked] = _checked_value(checked, value)
    return found


def _checked_name(name: Any, value: Any) -> str:
    if not isinstance(name, str):
        raise OptimalControlError(f"solver_options: names are texts, got {name!r}")
    if isinstance(value, Mapping):
        raise OptimalControlError(
            f"solver_options: {name!r} holds options of its own; give IPOPT's options directly, "
            f"as solver_options={dict(value)!r}"
        )
    if name.startswith("ipopt."):
        raise OptimalControlError(
            f"solver_options: write {name.removeprefix('ipopt.')!r}, not {name!r}"
        )
    if name in ARGUMENTS:
        raise OptimalControlError(
            f"solver_options: {name!r} is an argument of solve: {ARGUMENTS[name]}"
        )
    return name


def _checked_value(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, np.generic):
        value = value.item()
    tries = [value, float(value)] if isinstance(value, int) else [value]
    if isinstance(value, float) and value.is_integer():
        tries.append(int(value))
    messages = []
    for candidate in tries:
        messages.append(_tried(name, candidate))
        if not messages[-1]:
            return candidate
    raise OptimalControlError(f"solver_options: {messages[0]}")


def _tried(name: str, value: Any) -> str:
    """What IPOPT has against an option; "" if nothing."""
    x = ca.SX.sym("x")
    settings = {"print_level": 0, "sb": "yes", name: value}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            ca.nlpsol(
                "probe", "ipopt", {"x": x, "f": x**2}, {"print_time": False, "ipopt": settings}
            )
        except (RuntimeError, NotImplementedError, TypeError) as error:
            text = str(error)
        else:
            return ""
    if "No such IPOPT option" in text:
        return f"IPOPT has no option {name!r}{suggestion(name, COMMON)}"
    valid = re.findall(r"^\t(\S+) \(", printed.getvalue(), re.M)
    choice = f"; valid: {', '.join(valid)}" if valid else ""
    if "type mismatch" in text or "NotImplementedError" in text or "Wrong number" in text:
        return f"{name!r} cannot be {value!r}: wrong type"
    return f"{value!r} is not a valid value of {name!r}{choice}"
