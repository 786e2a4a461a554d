"""IPOPT through CasADi: probed before use, watched while it runs, stopped without loss.

An unavailable linear solver makes IPOPT return NaN without an exception, so each
one is tried on a program of one variable before it gets a real problem.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from bestiary.generated.errors import suggestion

from .errors import OptimalControlError, SolverUnavailableError
from .interruption import Stop
from .nlp import NonlinearProgram
from .progress import LOG, Iterate, Watch
from .status import Status

Array: TypeAlias = np.ndarray

LINEAR_SOLVERS = ("mumps", "spral", "ma27", "ma57", "ma77", "ma86", "ma97", "pardiso", "wsmp")
"""Linear solvers that IPOPT knows; which of them are there depends on the machine."""

_STATUS = {
    "Solve_Succeeded": Status.SOLVED,
    "Solved_To_Acceptable_Level": Status.ACCEPTABLE,
    "Feasible_Point_Found": Status.SOLVED,
    "Infeasible_Problem_Detected": Status.INFEASIBLE,
    "Restoration_Failed": Status.RESTORATION_FAILED,
    "Diverging_Iterates": Status.UNBOUNDED,
    "Maximum_Iterations_Exceeded": Status.ITERATION_LIMIT,
    "Maximum_CpuTime_Exceeded": Status.TIME_LIMIT,
    "Maximum_WallTime_Exceeded": Status.TIME_LIMIT,
    "Search_Direction_Becomes_Too_Small": Status.NO_PROGRESS,
    "Error_In_Step_Computation": Status.NO_PROGRESS,
    "Invalid_Number_Detected": Status.NOT_A_NUMBER,
    "User_Requested_Stop": Status.INTERRUPTED,
    "Not_Enough_Degrees_Of_Freedom": Status.TOO_FEW_FREEDOMS,
}


FIRST_BARRIER = 1e-2
"""Barrier parameter of a cold start: variables, rows and the slopes of the cost are scaled
to about 1, and the cost of one node is much less; IPOPT's own 0.1 walks far around."""

DIVERGED = 1e12
"""Variables beyond this many times their scales count as growing without bound."""


@dataclass
class Outcome:
    """What a solver left behind, in physical units.

    Attributes
    ----------
    x:
        (n,) decision vector: the last iterate, or the best one of an interrupted solve.
    row_multipliers, bound_multipliers:
        (m,), (n,) per unit of the rows and variables.
    history:
        Cost, primal and dual infeasibility, barrier parameter by iteration (scaled).
    """

    status: Status
    message: str
    x: Array
    row_multipliers: Array
    bound_multipliers: Array
    cost: float
    iterations: int
    seconds: float
    setup_seconds: float
    history: dict[str, Array] = field(default_factory=dict)


def status_of(message: str) -> Status:
    """What IPOPT's own word for its end means here."""
    return _STATUS.get(message, Status.FAILED)


@lru_cache(maxsize=32)
def probe(linear_solver: str) -> str | None:
    """Why a linear solver cannot be used here; None if it can."""
    x = ca.SX.sym("x")
    try:
        solver = ca.nlpsol(
            "probe",
            "ipopt",
            {"x": x, "f": (x - 1) ** 2},
            {
                "print_time": False,
                "show_eval_warnings": False,
                "ipopt": {"linear_solver": linear_solver, "print_level": 0, "sb": "yes"},
            },
        )
        found = solver(x0=0.0)
        status = solver.stats()["return_status"]
    except RuntimeError as error:
        return str(error).strip().splitlines()[-1][:200]
    if status != "Solve_Succeeded" or not abs(float(found["x"]) - 1) < 1e-4:
        return f"IPOPT says {status}"
    return None


def check_linear_solver(name: str) -> None:
    """Refuse a linear solver that is unknown or not there.

    Raises
    ------
    SolverUnavailableError
        Saying which ones work on this machine.
    """
    if name not in LINEAR_SOLVERS:
        raise OptimalControlError(
            f"linear_solver: expected one of {', '.join(LINEAR_SOLVERS)}, got {name!r}"
            f"{suggestion(str(name), LINEAR_SOLVERS)}"
        )
    reason = probe(name)
    if reason is not None:
        works = [other for other in LINEAR_SOLVERS[:2] if probe(other) is None]
        raise SolverUnavailableError(
            f"the linear solver {name!r} is not available here ({reason}{_library(name)}); "
            f"available: {', '.join(works) or 'none'}"
        )


def _library(name: str) -> str:
    """What a linear solver needs that does not come with CasADi."""
    if name.startswith("ma"):
        return ", it needs the HSL library libhsl.so, which CasADi does not bring"
    return ", it needs a library that CasADi does not bring"


class _Monitor(ca.Callback):
    """Keeps the best iterate, tells the watcher, and stops when asked."""

    def __init__(
        self,
        program: NonlinearProgram,
        watch: Watch | None,
        stop: Stop,
        lower: Array,
        upper: Array,
    ) -> None:
        super().__init__()
        self._n, self._m, self._np = program.size, program.rows, program.constants
        self._watch, self._stop = watch, stop
        self._lower, self._upper = lower, upper
        self._cost_scale = program.cost_scale
        self._start = time.perf_counter()
        self.count = 0
        self.asked = False
        self.best: tuple[float, float] = (np.inf, np.inf)
        self.best_x: Array | None = None
        self.failure: BaseException | None = None
        self.construct("monitor", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, i: int) -> str:
        return str(ca.nlpsol_out(i))

    def get_name_out(self, _: int) -> str:
        return "ret"

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        size = {"f": 1, "x": self._n, "lam_x": self._n, "g": self._m, "lam_g": self._m}
        return ca.Sparsity.dense(size.get(ca.nlpsol_out(i), self._np), 1)

    def eval(self, arguments: Sequence[ca.DM]) -> list[int]:
        try:
            x, f, g = (np.asarray(a).ravel() for a in arguments[:3])
            outside = np.maximum(self._lower - g, g - self._upper)
            violation = float(np.max(outside, initial=0.0))
            cost = float(f[0]) * self._cost_scale
            # feasible to 1e-6: the cheaper is better; else the less violated is
            rank = (0.0, cost) if violation < 1e-6 else (violation, cost)
            if np.all(np.isfinite(x)) and rank < self.best:
                self.best, self.best_x = rank, x.copy()
            if self._watch is not None:
                told = Iterate(self.count, cost, violation, time.perf_counter() - self._start)
                self.asked |= bool(self._watch(told))
            self.count += 1
            return [1 if self.asked or self._stop.is_set() else 0]
        except BaseException as error:  # CasADi would swallow it
            self.failure = error
            return [1]


def ipopt(
    program: NonlinearProgram,
    p: Array,
    *,
    tolerance: float = 1e-9,
    iterations: int = 1000,
    seconds: float | None = None,
    linear_solver: str = "mumps",
    warm: bool = False,
    row_multipliers: Array | None = None,
    bound_multipliers: Array | None = None,
    options: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Outcome:
    """Solve a program from its guess.

    Parameters
    ----------
    program, p:
        The program, and values of the problem's constants.
    tolerance:
        Of the scaled optimality conditions.
    warm:
        Whether the guess is close to a solution: it is then hardly moved off its bounds.
    row_multipliers, bound_multipliers:
        Of that solution, in physical units; None: estimated.
    options:
        Further IPOPT options; they win.

    Raises
    ------
    SolverUnavailableError
        If the linear solver is not there.
    OptimalControlError
        If IPOPT does not know an option.
    """
    check_linear_solver(linear_solver)
    begun = time.perf_counter()
    functions = program.functions()
    sx, sg = program.variable_scale, program.row_scale
    settings: dict[str, Any] = {
        "print_level": 0,
        "sb": "yes",
        "tol": tolerance,
        "constr_viol_tol": tolerance,
        "compl_inf_tol": tolerance * 10,
        "acceptable_iter": 0,
        "max_iter": iterations,
        "linear_solver": linear_solver,
        "nlp_scaling_method": "none",
        "bound_relax_factor": 0.0,
        "diverging_iterates_tol": DIVERGED,
        "mu_init": FIRST_BARRIER,
    }
    stop = stop or Stop()
    limits = [v for v in (seconds, stop.remaining) if v is not None]
    if limits:  # the monitor stops at iterations only; IPOPT looks in between as well
        settings["max_wall_time"] = max(min(limits), 1e-3)
    if warm:
        settings |= {
            "mu_init": 1e-4,
            "bound_push": 1e-6,
            "bound_frac": 1e-6,
            "slack_bound_push": 1e-6,
            "slack_bound_frac": 1e-6,
        }
    if row_multipliers is not None and bound_multipliers is not None:
        settings |= {
            "warm_start_init_point": "yes",
            "warm_start_bound_push": 1e-9,
            "warm_start_bound_frac": 1e-9,
            "warm_start_slack_bound_push": 1e-9,
            "warm_start_slack_bound_frac": 1e-9,
            "warm_start_mult_bound_push": 1e-9,
            "mu_init": 1e-7,
        }
    settings |= dict(options or {})
    lower, upper = program.row_lower / sg, program.row_upper / sg
    monitor = _Monitor(program, watch, stop, lower, upper)
    try:
        solver = ca.nlpsol(
            "solver",
            "ipopt",
            functions["nlp"],
            {
                **{k: functions[k] for k in ("grad_f", "jac_g", "hess_lag")},
                "ipopt": settings,
                "print_time": False,
                "no_nlp_grad": True,
                "calc_lam_p": False,
                "show_eval_warnings": False,
                "inputs_check": False,  # would print; bounds are checked in words before
                "iteration_callback": monitor,
                "iteration_callback_step": 1,
            },
        )
        ready = time.perf_counter()
        start = {
            "x0": program.guess / sx,
            "lbx": program.lower / sx,
            "ubx": program.upper / sx,
            "lbg": lower,
            "ubg": upper,
            "p": p,
        }
        if row_multipliers is not None and bound_multipliers is not None:
            start["lam_g0"] = row_multipliers * sg / program.cost_scale
            start["lam_x0"] = bound_multipliers * sx / program.cost_scale
        found = solver(**start)
        stats = solver.stats()
    except RuntimeError as error:
        if monitor.failure is not None:
            raise monitor.failure from error
        text = str(error).strip().splitlines()[-1]
        if "option" in text.lower():
            raise OptimalControlError(f"IPOPT: {text}") from error
        raise
    if monitor.failure is not None:
        raise monitor.failure
    message = str(stats["return_status"])
    if message == "Invalid_Option":
        raise OptimalControlError(f"IPOPT does not know an option, or its value, among: {settings}")
    status = status_of(message)
    if status is Status.INTERRUPTED and stop.late and not (stop.asked or monitor.asked):
        status = Status.TIME_LIMIT
    scaled = np.asarray(found["x"]).ravel()
    if (
        not status.converged
        and monitor.best_x is not None
        and (status in (Status.INTERRUPTED, Status.TIME_LIMIT) or not np.all(np.isfinite(scaled)))
    ):
        scaled = monitor.best_x
    if not np.all(np.isfinite(scaled)):
        scaled = program.guess / sx
    x = np.clip(scaled * sx, program.lower, program.upper)
    history = {k: np.asarray(v, dtype=float) for k, v in (stats.get("iterations") or {}).items()}
    outcome = Outcome(
        status,
        message,
        x,
        np.asarray(found["lam_g"]).ravel() / sg * program.cost_scale,
        np.asarray(found["lam_x"]).ravel() / sx * program.cost_scale,
        program.cost(x, p),
        int(stats["iter_count"]),
        time.perf_counter() - ready,
        ready - begun,
        history,
    )
    LOG.info(
        "ipopt: %s after %d iterations, %.2f s, cost %.9g",
        message,
        outcome.iterations,
        outcome.seconds,
        outcome.cost,
    )
    return outcome
