"""A problem as a function of its constants and end values: solved again without set-up.

The mesh, the program, its scales, its compiled functions and the solver are made once;
a call changes numbers only and starts from the call before, multipliers included.  Every
result is judged as after a full solve: measured on its intervals, re-simulated, refused
where the assumed structure is wrong or the mesh too coarse.  What a call cannot solve on
the fixed mesh it hands to a full solve, if it is allowed to.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from bestiary.generated.errors import suggestion

from .backend import Outcome, status_of
from .cut_off import within_bounds
from .diagnosis import judge
from .errors import OptimalControlError
from .estimate import interval_errors
from .held_limits import find_mistakes
from .motion import evaluators, trajectories
from .problem import OptimalControlProblem
from .refinement import Refined, Round
from .replay import replay
from .solution import Solution
from .solving import check_option_names, solve
from .status import Status
from .user_calls import number
from .verdict import Verdict
from .violations import violations

if TYPE_CHECKING:
    from .transcription import Transcription

Array: TypeAlias = np.ndarray

ITERATIONS = 300
REPLAY_SHARE = 0.1
"""Re-simulations are exact to this part of the tolerance: enough to refuse what is wrong."""


@dataclass(frozen=True)
class _EndValue:
    """A fixed value at an end of a phase: which phase, end and name, its entry, its default."""

    phase: str
    where: str
    name: str
    entry: int
    default: float


class SolveFunction:
    """What :meth:`.OptimalControlProblem.to_function` returns: call it with new values.

    Attributes
    ----------
    solution:
        The solution it starts from, with the values of the statement.
    arguments:
        Name -> default value of everything that a call may change: constants, and values
        fixed at the ends as ``start_<name>`` and ``end_<name>`` (``<phase>_start_<name>``
        where several phases have them).
    last:
        The solution of the last call that succeeded.
    """

    def __init__(
        self,
        problem: OptimalControlProblem,
        solution: Solution,
        fallback: bool,
        replays: bool,
        options: Mapping[str, Any],
    ) -> None:
        assert solution.refined is not None
        self.problem, self.solution = problem, solution
        self.fallback, self.replays = fallback, replays
        self._options = dict(options)
        self._tolerance = float(solution.options["tolerance"])
        self._transcription: Transcription = solution.refined.transcription
        self._ends = _fixed_ends(problem, self._transcription)
        # the statement may get further constants later: those of the solution count
        self._constant_names = [q.name for q, _ in solution.record.constants]
        constants = {name: solution.constants[name] for name in self._constant_names}
        ends = {name: end.default for name, end in self._ends.items()}
        self.arguments: dict[str, float] = {**constants, **ends}
        program = self._transcription.program
        self._lower, self._upper = program.lower.copy(), program.upper.copy()
        self._functions = program.functions()
        self._solvers: dict[bool, ca.Function] = {}
        self._first = solution.refined.outcome
        self._before = self._first
        self._measures = evaluators(self._transcription, self._first.x, self._constants({}))
        self.last = solution

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v:g}" for k, v in self.arguments.items())
        return f"<{self.problem.name} as a function of {shown or 'nothing'}>"

    def __call__(self, **values: float) -> Solution:
        """Solve with these values; what is not given has its default.

        Returns
        -------
        Solution
            Sealed if it failed; ``solution.options["resolved"]`` says how it was found.

        Raises
        ------
        OptimalControlError
            For a name that cannot be changed, or a value that is no finite number.
        """
        begun = time.perf_counter()
        chosen = self._checked(values)
        constants = {name: chosen[name] for name in self._constant_names}
        p = self._constants(constants)
        lower, upper = self._lower.copy(), self._upper.copy()
        for name, end in self._ends.items():
            lower[end.entry] = upper[end.entry] = chosen[name]
        program = self._transcription.program
        program.lower, program.upper = lower, upper
        made: Solution | None = None
        try:
            for how, source, warm in (
                ("the call before", self._before, True),
                ("the first solution", self._first, True),
                ("the first solution, cold", self._first, False),
            ):
                if how != "the call before" and source is self._before and warm:
                    continue
                outcome = self._solved(source, p, lower, upper, warm)
                if outcome.status.converged:
                    made = self._judged(outcome, p, constants, chosen, how, begun)
                    if made.success:
                        self._before = outcome
                        self.last = made
                        return made
                    break  # solved, but the mesh or its structure does not suit
            if made is None:
                made = self._judged(outcome, p, constants, chosen, "no start", begun)
        finally:
            program.lower, program.upper = self._lower, self._upper
        return self._in_full(chosen, constants, begun) if self.fallback else made

    # -- parts ---------------------------------------------------------------
    def _constants(self, values: Mapping[str, float]) -> Array:
        """(nc,) constants in the problem's order."""
        given = {**self.solution.constants, **values}
        return np.array([given[name] for name in self._constant_names], dtype=float)

    def _checked(self, values: Mapping[str, float]) -> dict[str, float]:
        chosen = dict(self.arguments)
        for name, value in values.items():
            if name not in chosen:
                raise OptimalControlError(self._unknown(name))
            chosen[name] = number(value, f"{self.problem.name}: {name}")
        for name, end in self._ends.items():
            low, high = self._limits(end)
            if not low <= chosen[name] <= high:
                raise OptimalControlError(
                    f"{self.problem.name}: {name} = {chosen[name]:g} is outside the bounds of "
                    f"{end.name}, [{low:g}, {high:g}]"
                )
        return chosen

    def _unknown(self, name: str) -> str:
        known = self.arguments
        told = f"{self.problem.name}: no argument {name!r}{suggestion(name, known)}; "
        told += f"have {', '.join(known) or 'none'}"
        if name in ("fallback", "replay", *signature(solve).parameters):
            return (
                f"{told}. {name} is an option of to_function, given once: to_function({name}=...)"
            )
        for phase in self.problem.phases:
            for where, ranges in (("start", phase.start_bounds), ("end", phase.end_bounds)):
                own = name.removeprefix(f"{phase.name}_").removeprefix(f"{where}_")
                if name.endswith(f"{where}_{own}") and own in ranges:
                    low, high = ranges[own]
                    return (
                        f"{told}. {own} at the {where} is a range, [{low:g}, {high:g}]; only a "
                        "value that is fixed there can be an argument"
                    )
        return told

    def _limits(self, end: _EndValue) -> tuple[float, float]:
        phase = next(p for p in self.problem.phases if p.name == end.phase)
        variables = (*phase.state_variables, *phase.control_variables)
        return next(v.bounds for v in variables if v.name == end.name)

    def _solver(self, warm: bool) -> ca.Function:
        if warm not in self._solvers:
            tolerance = min(1e-8, max(1e-3 * self._tolerance, 1e-11))
            settings: dict[str, Any] = {
                "print_level": 0, "sb": "yes", "tol": tolerance, "constr_viol_tol": tolerance,
                "compl_inf_tol": 10 * tolerance, "acceptable_iter": 0, "max_iter": ITERATIONS,
                "linear_solver": self.solution.options.get("linear_solver", "mumps"),
                "nlp_scaling_method": "none", "bound_relax_factor": 0.0,
            }  # fmt: skip
            if warm:
                push = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac")
                settings |= {f"warm_start_{k}": 1e-6 for k in (*push, "mult_bound_push")}
                settings |= {"warm_start_init_point": "yes", "mu_init": 1e-5}
            f = self._functions
            self._solvers[warm] = ca.nlpsol(
                "resolve", "ipopt", f["nlp"],
                {
                    **{k: f[k] for k in ("grad_f", "jac_g", "hess_lag")},
                    "ipopt": settings, "print_time": False, "no_nlp_grad": True,
                    "calc_lam_p": False, "show_eval_warnings": False, "inputs_check": False,
                },
            )  # fmt: skip
        return self._solvers[warm]

    def _solved(self, source: Outcome, p: Array, lower: Array, upper: Array, warm: bool) -> Outcome:
        program = self._transcription.program
        sx, sg = program.variable_scale, program.row_scale
        begun = time.perf_counter()
        solver = self._solver(warm)
        ready = time.perf_counter()
        given = {
            "x0": np.clip(source.x, lower, upper) / sx, "lbx": lower / sx, "ubx": upper / sx,
            "lbg": program.row_lower / sg, "ubg": program.row_upper / sg, "p": p,
        }  # fmt: skip
        if warm:
            given["lam_g0"] = source.row_multipliers * sg / program.cost_scale
            given["lam_x0"] = source.bound_multipliers * sx / program.cost_scale
        found = solver(**given)
        stats = solver.stats()
        x = np.clip(np.asarray(found["x"]).ravel() * sx, lower, upper)
        return Outcome(
            status_of(str(stats["return_status"])), str(stats["return_status"]), x,
            np.asarray(found["lam_g"]).ravel() / sg * program.cost_scale,
            np.asarray(found["lam_x"]).ravel() / sx * program.cost_scale,
            program.cost(x, p), int(stats["iter_count"]), time.perf_counter() - ready,
            ready - begun,
        )  # fmt: skip

    def _judged(
        self, outcome: Outcome, p: Array, constants: Mapping[str, float],
        chosen: Mapping[str, float], how: str, begun: float,
    ) -> Solution:  # fmt: skip
        """Measured and replayed as after any other solve."""
        transcription = self._transcription
        program, x = transcription.program, outcome.x
        measured = self._measures  # they keep their mapped functions
        for evaluator, indices in zip(measured, transcription.phases, strict=True):
            b = indices.boundaries(x)
            evaluator.parameters, evaluator.constants = x[transcription.parameters], p
            evaluator.ends = (float(b[0]), float(b[-1]))
        motions = trajectories(transcription, x, p)
        scales = [program.variable_scale[i.states[0]] for i in transcription.phases]
        size = max(abs(outcome.cost), 1e-8)
        errors = [
            interval_errors(e, m, s, size)
            for e, m, s in zip(measured, motions, scales, strict=True)
        ]
        made = Round(
            1, sum(len(m.layout.intervals) for m in motions),
            sum(len(m.layout.rate_state) for m in motions),
            sum(len(m.layout.mesh.knots) for m in motions), outcome, errors,
            time.perf_counter() - begun, [m.edges for m in motions],
        )  # fmt: skip
        note = ""
        reached = outcome.status.converged and made.worst <= 10 * self._tolerance
        if outcome.status.converged and made.knots:
            mistakes = find_mistakes(transcription, x, p, outcome.row_multipliers)
            if any(mistakes):
                reached, note = False, "the knots of the fixed mesh do not suit these values"
        refined = Refined(transcription, outcome, motions, [made], reached, note)
        refined = within_bounds(refined, p, self._tolerance)
        motions, made = refined.motions, refined.rounds[-1]
        replays = None
        if self.replays and np.all(np.isfinite(x)):
            replays = replay(measured, motions, scales, REPLAY_SHARE * self._tolerance)
        verdict = (
            judge(refined, replays, p, self._tolerance)
            if self.replays
            else self._measured(refined, made, p)
        )
        if note and verdict.success:  # it obeys its equations, but a limit is held for nothing
            verdict = replace(
                verdict,
                status=Status.TOLERANCE_NOT_REACHED,
                reasons=(note,),
                suggestion="solve it in full: problem.solve(guess=...)",
            )
        options = {**self.solution.options, "resolved": how, "arguments": dict(chosen)}
        ends = {(e.phase, e.where, e.name): (chosen[n], chosen[n]) for n, e in self._ends.items()}
        return Solution(
            self.problem, refined, verdict, replays, options, time.perf_counter() - begun,
            constants, ends,
        )  # fmt: skip

    def _measured(self, refined: Refined, made: Round, p: Array) -> Verdict:
        """The verdict without re-simulation: the solver's word and the errors between nodes."""
        outcome = refined.outcome
        found = violations(refined.transcription, outcome.x, p)
        status = outcome.status
        reasons = [refined.note] if refined.note else []
        if status is Status.SOLVED and found:
            status = Status.FAILED
            reasons.append(f"constraints are not met: {found[0]}")
        if status is Status.SOLVED and not refined.reached:
            status = Status.TOLERANCE_NOT_REACHED
            reasons.append(
                f"an interval misses by {made.worst:.2g}, asked for {self._tolerance:.2g}"
            )
        return Verdict(
            status, tuple(reasons), violations=tuple(found), mesh_error=made.worst,
            overshoot=made.overshoot,
        )  # fmt: skip

    def _in_full(
        self, chosen: Mapping[str, float], constants: Mapping[str, float], begun: float
    ) -> Solution:
        """A full solve of the statement with these values, which are put back afterwards."""
        problem = self.problem
        phases = {p.name: p for p in problem.phases}
        kept = [(p, dict(p.start_bounds), dict(p.end_bounds)) for p in problem.phases]
        before = dict(problem.constant_values)
        try:
            problem.set(**constants)
            for name, end in self._ends.items():
                target = phases[end.phase]
                bounds = target.start_bounds if end.where == "start" else target.end_bounds
                bounds[end.name] = (chosen[name], chosen[name])
            made = solve(problem, **{**self._options, "guess": self.last, "mesh": None})
        finally:
            problem.constant_values.update(before)
            for phase, start, finish in kept:
                phase.start_bounds, phase.end_bounds = start, finish
        made.options |= {"resolved": "a full solve", "arguments": dict(chosen)}
        made.seconds = time.perf_counter() - begun
        made.set_ends(
            {(e.phase, e.where, e.name): (chosen[n], chosen[n]) for n, e in self._ends.items()}
        )
        return made


def to_function(
    problem: OptimalControlProblem,
    solution: Solution | None,
    fallback: bool,
    replays: bool,
    options: Mapping[str, Any],
) -> SolveFunction:
    """See :meth:`.OptimalControlProblem.to_function`."""
    label = f"{problem.name}: to_function"
    check_option_names(options, label, ("solution", "fallback", "replay"))
    for name, value in (("fallback", fallback), ("replay", replays)):
        if not isinstance(value, bool):
            raise OptimalControlError(f"{label}: {name}: expected True or False, got {value!r}")
    if solution is None:
        solution = problem.solve(**options)
    elif not isinstance(solution, Solution):
        raise OptimalControlError(f"{label}: solution: expected a Solution, got {solution!r}")
    if solution.refined is None:
        raise OptimalControlError(
            f"{label}: give a solution of this problem, not a loaded one; solve(guess=loaded) "
            "makes one in a moment"
        )
    if solution.problem is not problem:
        raise OptimalControlError(
            f"{label}: the solution is of another problem object ({solution.name!r}); solve this "
            "one, with guess=solution"
        )
    changed = _changes(problem, solution.refined.transcription)
    if changed:
        raise OptimalControlError(
            f"{label}: the problem was changed after the solution was found ({changed[0]}); solve "
            "it again, with guess=solution"
        )
    if not solution.success:
        why = "; ".join(solution.verdict.reasons) or solution.status.value
        raise OptimalControlError(
            f"{label}: the problem could not be solved with the values that "
            f"it has ({why}); a function needs a first solution"
        )
    return SolveFunction(problem, solution, fallback, replays, options)


def _changes(problem: OptimalControlProblem, transcription: Transcription) -> list[str]:
    """What is stated now and was not when a problem was transcribed."""
    changed = [f"phase {p.name!r}" for p in problem.phases[len(transcription.phases) :]]
    for indices in transcription.phases:
        phase, before = indices.phase, indices.functions
        for kind, now, then in (
            ("states", phase.state_variables, before.states),
            ("controls", phase.control_variables, before.controls),
            ("algebraics", phase.algebraic_variables, before.algebraics),
        ):
            if [(v.name, v.bounds) for v in now] != [(v.name, v.bounds) for v in then]:
                changed.append(f"{kind} of phase {phase.name!r}, or their bounds")
        for kind, count, rows in (
            ("path constraints", len(phase.paths), before.paths),
            ("equations", len(phase.equations), before.equations),
            ("integrals", len(phase.integrals), before.integrands),
            ("cost", len(phase.cost_integrals), before.cost_integrands),
        ):
            if count != rows.numel():
                changed.append(f"{kind} of phase {phase.name!r}")
    return changed


def _fixed_ends(
    problem: OptimalControlProblem, transcription: Transcription
) -> dict[str, _EndValue]:
    found: list[_EndValue] = []
    for indices in transcription.phases:
        phase = indices.phase
        names = [v.name for v in indices.functions.states]
        for where, ranges, node in (
            ("start", phase.start_bounds, 0),
            ("end", phase.end_bounds, -1),
        ):
            for name, (low, high) in ranges.items():
                if low != high:
                    continue
                entry = (
                    indices.endpoints[where, name]
                    if (where, name) in indices.endpoints
                    else indices.states[node, names.index(name)]
                )
                found.append(_EndValue(phase.name, where, name, int(entry), low))
    short = [f"{e.where}_{e.name}" for e in found]
    named: dict[str, _EndValue] = {}
    for text, end in zip(short, found, strict=True):
        plain = short.count(text) == 1 and not problem.has_name(text)
        name = text if plain else f"{end.phase}_{text}"
        if name in named or problem.has_name(name):
            raise OptimalControlError(
                f"{problem.name}: to_function: {name!r} would mean both {end.name} at the "
                f"{end.where} of phase {end.phase!r} and something else; rename the constant, "
                "parameter or phase"
            )
        named[name] = end
    return named
