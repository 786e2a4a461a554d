"""A solved problem: named motions on any grid, with its verdict; sealed if it failed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from bestiary.generated.errors import suggestion

from .errors import OptimalControlError, SealedSolutionError
from .expressions import check_symbols
from .problem import OptimalControlProblem
from .refinement import Refined
from .replay import PhaseReplay
from .status import Status
from .trajectory import PhaseTrajectory
from .variables import Range, column
from .verdict import Verdict

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from .diagnosis import Diagnosis
    from .record import PhaseRecord, SolutionRecord
    from .report import Report

Array: TypeAlias = np.ndarray


class Solution:
    """What a solve found, or what was stored of it.

    Attributes
    ----------
    problem, refined:
        The statement, and the last mesh with its program, outcome and all rounds before
        it; None for a solution that was loaded from a file (the statement may be given
        to :func:`load_solution`).
    verdict:
        What the solve is worth.
    options:
        How it was solved.
    seconds:
        Wall time from statement to verdict.
    constants:
        Values of the problem's constants in this solve.

    Examples
    --------
    ``solution["x"]`` is a labelled array at the nodes, ``solution.sample(points=500)`` a
    dataset on an even grid, ``solution.sample([0.1, 0.2])["x"]`` one at given times.
    """

    problem: OptimalControlProblem | None
    refined: Refined | None

    def __init__(
        self,
        problem: OptimalControlProblem,
        refined: Refined,
        verdict: Verdict,
        replays: Sequence[PhaseReplay] | None,
        options: Mapping[str, Any],
        seconds: float,
        constants: Mapping[str, float],
        ends: Mapping[tuple[str, str, str], Range] | None = None,
    ) -> None:
        self.problem, self.refined = problem, refined
        self.name = problem.name
        self._ends = dict(ends or {})
        self._set(verdict, replays, options, seconds, constants)

    def _set(
        self,
        verdict: Verdict,
        replays: Sequence[PhaseReplay] | None,
        options: Mapping[str, Any],
        seconds: float,
        constants: Mapping[str, float],
    ) -> None:
        self.verdict = verdict
        self.options, self.seconds = dict(options), seconds
        self.constants = dict(constants)
        self.versions: dict[str, str] = {}
        self._replays = replays
        self._sealed = not verdict.success

    @classmethod
    def restored(
        cls,
        record: SolutionRecord,
        verdict: Verdict,
        replays: Sequence[PhaseReplay] | None,
        options: Mapping[str, Any],
        seconds: float,
        versions: Mapping[str, str],
    ) -> Solution:
        """A solution from stored data, without its problem; see :func:`load_solution`."""
        self = cls.__new__(cls)
        self.problem = self.refined = None
        self._ends = {}
        self.name = record.name
        self._set(verdict, replays, options, seconds, {q.name: v for q, v in record.constants})
        self.versions = dict(versions)
        self.__dict__["record"] = record
        return self

    def __repr__(self) -> str:
        # no values of a sealed solution, but what it is
        shown = "" if self._sealed else f", cost {self.cost:.9g}"
        return f"<Solution of {self.name}: {self.status.value}{shown}>"

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: plain data, as in a file; expressions stay behind."""
        record = self.record
        phases = tuple(replace(p, path_function=None) for p in record.phases)
        kept = {k: v for k, v in self.__dict__.items() if k != "record"}
        return kept | {
            "problem": None,
            "refined": None,
            "record": replace(record, phases=phases),
        }

    # -- state -------------------------------------------------------------
    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.verdict.status

    @property
    def success(self) -> bool:
        """Whether the motion may be used."""
        return self.verdict.success

    @property
    def sealed(self) -> bool:
        """Whether values are withheld because the solve failed."""
        return self._sealed

    def unseal(self) -> Solution:
        """Open a failed solution: its values may be looked at, not trusted."""
        self._sealed = False
        return self

    def seal(self, closed: bool = True) -> Solution:
        """Close it again, or open it."""
        self._sealed = closed
        return self

    def _open(self) -> None:
        if self._sealed:
            why = "; ".join(self.verdict.reasons) or self.status.value
            raise SealedSolutionError(
                f"{self.name}: not solved ({why}); see solution.report(), or "
                "solution.unseal() to look at the last iterate all the same"
            )

    @cached_property
    def record(self) -> SolutionRecord:
        """Everything as plain data, sealed or not; the readers below ask for unsealing first."""
        from .record import make_record, with_ends

        assert self.problem is not None
        assert self.refined is not None
        made = make_record(self.problem, self.refined, self.constants)
        return with_ends(made, self._ends) if self._ends else made

    def set_ends(self, ends: Mapping[tuple[str, str, str], Range]) -> None:
        """Ranges at (phase, "start" or "end", name) that differ from those of the statement."""
        self._ends = dict(ends)
        self.__dict__.pop("record", None)

    # -- values ------------------------------------------------------------
    @property
    def cost(self) -> float:
        """The cost."""
        self._open()
        return self.refined.outcome.cost if self.refined is not None else self.record.cost

    @property
    def costs(self) -> dict[str, float]:
        """Value of each term of the cost by name."""
        self._open()
        return dict(self.record.costs)

    @property
    def parameters(self) -> dict[str, float]:
        """Values found for the problem's parameters."""
        self._open()
        return {q.name: value for q, value in self.record.parameters}

    @property
    def phase_names(self) -> tuple[str, ...]:
        """Names of the phases in order."""
        if self.problem is not None:
            return tuple(p.name for p in self.problem.phases)
        return tuple(p.name for p in self.record.phases)

    def motion(self, phase: str | None = None) -> PhaseTrajectory:
        """The motion of a phase (of the only one by default)."""
        self._open()
        number = self._phase(phase)
        if self.refined is not None:
            return self.refined.motions[number]
        return self.record.phases[number].motion

    def _phase(self, phase: str | None) -> int:
        names = self.phase_names
        if phase is None and len(names) == 1:
            return 0
        if phase not in names:
            given = "" if phase is None else f"no phase {phase!r}{suggestion(phase, names)}; "
            raise OptimalControlError(
                f"{self.name}: {given}name one of its phases: {', '.join(names)}"
            )
        return names.index(phase)

    def duration(self, phase: str | None = None) -> float:
        """Length of a phase [s]."""
        motion = self.motion(phase)
        return motion.end - motion.start

    def value(self, name: str, times: Any = None, phase: str | None = None) -> Array:
        """(T,) values of a quantity of one phase, by default at its state nodes.

        Parameters
        ----------
        name:
            A state, control, algebraic variable or path constraint.
        times:
            [s], within the phase.
        phase:
            Its name, if there are several.
        """
        motion = self.motion(phase)
        record = self.record.phases[self._phase(phase)]
        t = motion.layout.state_times(motion.boundaries) if times is None else np.atleast_1d(times)
        for quantities, evaluate in (
            (record.states, motion.states_at),
            (record.controls, motion.controls_at),
            (record.algebraics, motion.algebraics_at),
            (record.paths, record.paths_at),
        ):
            names = [q.name for q in quantities]
            if name in names:
                return np.asarray(evaluate(t)[:, names.index(name)])
        raise self._unknown(name, record.names())

    def _unknown(self, name: Any, known: Sequence[str]) -> OptimalControlError:
        return OptimalControlError(
            f"{self.name}: no quantity {str(name)!r}{suggestion(str(name), known)}; "
            f"have {', '.join(known)}"
        )

    # -- datasets ----------------------------------------------------------
    def sample(self, times: Any = None, *, points: int = 200, phase: str | None = None) -> Any:
        """Everything that changes in time, on one grid, with names and units.

        Parameters
        ----------
        times:
            Times [s]; "nodes" for the solver's own; None for ``points`` even ones a phase.
        points:
            Number of even times a phase.
        phase:
            Only this one.  Several phases stand one after another along ``time`` with
            their names in the coordinate ``phase``.

        Returns
        -------
        xarray.Dataset
            States, controls, algebraic variables and path constraints along ``time``, with
            ``units``, ``kind`` and limits in their attributes; parameters, constants and
            integrals as scalars.  At the nodes the coordinate ``collocated`` says where
            the scheme has a control of its own.

        Raises
        ------
        SealedSolutionError
            If the solve failed and the solution was not unsealed.
        OptimalControlError
            For times outside the motion.
        """
        from .sampling import motion_dataset, phase_times

        self._open()
        chosen = self._chosen(phase)
        return motion_dataset(
            self.record, chosen, phase_times(chosen, times, points, self.name), self._facts()
        )

    def costates(self, phase: str | None = None) -> xr.Dataset:
        """Costates at the nodes, each under the name of its state; p = dJ/dx.

        See :mod:`.costates` for how they follow from the solver's multipliers.
        """
        from .sampling import costate_table, joined, node_times

        self._open()
        parts = [(p.name, node_times(p), costate_table(p)) for p in self._chosen(phase)]
        return joined(parts, self._facts())

    def multipliers(self, phase: str | None = None) -> xr.Dataset:
        """Multipliers of bounds and path constraints at the nodes, per second.

        Positive at an upper limit, negative at a lower one, zero between; NaN where
        there is no control.  Those of conditions on end values are scalars.
        """
        from .sampling import joined, multiplier_table, node_times, per

        self._open()
        parts = [(p.name, node_times(p), multiplier_table(p)) for p in self._chosen(phase)]
        result = joined(parts, self._facts())
        for condition in self.record.conditions:
            result[condition.quantity.name] = (
                (),
                condition.multiplier,
                {
                    "units": per(condition.quantity.unit, "cost")
                    if condition.quantity.unit
                    else "",
                    "kind": "multiplier of a condition",
                },
            )
        return result

    def __getitem__(self, name: Any) -> xr.DataArray:
        """A quantity by name, at the nodes; or any expression in the symbols of a phase."""
        self._open()
        if isinstance(name, ca.SX):
            symbol = name.is_scalar() and name.is_symbolic()
            if not symbol or name.name() not in self._names():
                along: xr.DataArray = self.evaluate(name)
                return along
            name = name.name()
        if name not in self._names():
            raise self._unknown(name, self._names())
        found: xr.DataArray = self.sample("nodes")[name]
        return found

    def _names(self) -> list[str]:
        r = self.record
        scalars = [q.name for q, _ in (*r.parameters, *r.constants)]
        scalars += [n for p in r.phases for n in p.integrals]
        return list(dict.fromkeys([*(n for p in r.phases for n in p.names()), *scalars]))

    def evaluate(self, expression: Any, times: Any = "nodes", phase: str | None = None) -> Any:
        """Any expression in the symbols of a phase along the motion, as an xarray.DataArray.

        Parameters
        ----------
        expression:
            CasADi SX, or SymPy.
        times:
            As in :meth:`sample`.
        phase:
            Whose symbols they are, if there are several.
        """
        import xarray as xr

        from .sampling import phase_times

        self._open()
        if self.problem is None:
            raise OptimalControlError(
                f"{self.name}: a loaded solution has no expressions of its own; give its statement "
                "when you load it: load_solution(path, problem=...)"
            )
        number = self._phase(phase)
        statement = self.problem.phases[number]
        record = self.record.phases[number]
        y = statement.expression(expression, "expression to evaluate")
        # the statement may have got more quantities since: those of the solution count
        table = statement.table
        groups = [
            [table[q.name] for q in group]
            for group in (
                record.states,
                record.controls,
                record.algebraics,
                [q for q, _ in self.record.parameters],
                [q for q, _ in self.record.constants],
            )
        ]
        here = [statement.time, statement.start_time, statement.end_time]
        known = {s.name(): s for s in (*here, *(s for group in groups for s in group))}
        check_symbols(y, f"{self.name}: expression", known, "this solution; solve again")
        columns_in = [*(column(group) for group in groups), *here]
        function = ca.Function("expression", columns_in, [ca.densify(y)])
        data = self.sample(times, phase=statement.name)
        t = data.time.values
        n = len(t)
        (asked,) = phase_times([record], t, 2, self.name)
        assert asked is not None
        columns = [
            np.array([data[q.name].values for q in group]).reshape(len(group), n)
            for group in (record.states, record.controls, record.algebraics)
        ]
        fixed = [
            np.tile(np.array([[v] for _, v in values]).reshape(-1, 1), n)
            for values in (self.record.parameters, self.record.constants)
        ]
        ends = [np.full((1, n), record.motion.start), np.full((1, n), record.motion.end)]
        many = function.map(n) if n > 1 else function
        values = np.asarray(many(*columns, *fixed, t[None, :], *ends)).ravel()
        return xr.DataArray(values, {"time": data.time}, ("time",), str(y)[:60])

    def _chosen(self, phase: str | None) -> tuple[PhaseRecord, ...]:
        if phase is None:
            return self.record.phases
        return (self.record.phases[self._phase(phase)],)

    def _facts(self) -> dict[str, Any]:
        from .sampling import attributes

        facts = {"status": self.status.name, "success": int(self.success)}
        if self.record.model:
            facts["model"] = self.record.model["name"]
            facts["program_sha256"] = self.record.model["program_sha256"]
        return attributes(self.record, facts)

    # -- verdict -----------------------------------------------------------
    def report(self) -> Report:
        """Status, cost, meshes, errors, violations and advice, sealed or not; see :mod:`.report`.

        ``print(solution.report())`` shows it; notebooks show it by themselves.
        """
        from .report import make_report

        return make_report(self)

    def diagnose(self) -> Diagnosis:
        """Rank and conditioning of the active constraints, flat directions, NaN, scales.

        Raises
        ------
        OptimalControlError
            For a solution that was loaded: it has no expressions to look into.
        """
        from .diagnosis import diagnose

        if self.problem is None or self.refined is None:
            raise OptimalControlError(
                f"{self.name}: a loaded solution has no expressions to look into; solve it again"
            )
        p = np.array([v for _, v in self.record.constants], dtype=float)
        return diagnose(self.refined, p)

    # -- re-simulation, files, pictures ------------------------------------
    def replay(self) -> Sequence[PhaseReplay]:
        """Errors of the re-simulation, by phase."""
        if self._replays is None:
            raise SealedSolutionError(f"{self.name}: there is no motion to replay")
        return self._replays

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything into one NetCDF file, whole or not at all; its path.

        A failed solution may be saved too: it is sealed again when it is loaded.

        Raises
        ------
        WriteError
            (An OSError) if the folder is missing or cannot be written.
        """
        from .storage import save_solution

        return save_solution(self, path)

    def plot(self, *names: str, **options: Any) -> Figure:
        """States and controls with limits, nodes and knots; see :func:`.plots.plot_solution`."""
        from .plots import plot_solution

        self._open()
        return plot_solution(self, *names, **options)

    def plot_refinement(self) -> Figure:
        """Error of every interval, mesh by mesh; see :func:`.plots.plot_refinement`."""
        from .plots import plot_refinement

        return plot_refinement(self)

    def animate(self, draw: Any = None, **options: Any) -> FuncAnimation:
        """The motion as a matplotlib animation; see :func:`.animation.animate`."""
        from .animation import animate

        self._open()
        return animate(self, draw, **options)
