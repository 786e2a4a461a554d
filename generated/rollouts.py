"""Rollouts: integrating a robot over time inside the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import missing_function
from .errors import (
    LimitError,
    MissingFunctionError,
    ModelInputError,
    SingularityError,
    StepLimitError,
)
from .quantities import Trajectory

if TYPE_CHECKING:
    from .checks import Checker
    from .description import ModelDescription

Array: TypeAlias = NDArray[np.float64]

STATUS_STEP_LIMIT = 3

UNINTERRUPTED_STEPS = 10_000
"""Fixed steps that run in C at a stretch; Ctrl-C is heard in between."""


class Rollouts:
    """The rollout part of a robot; see also :mod:`bestiary.solvers.simulation`."""

    if TYPE_CHECKING:
        _model: ClassVar[ModelDescription]
        _checker: ClassVar[Checker]
        _order: ClassVar[tuple[str, ...]]
        _violated: Any
        _rollout_rk4: Any
        _rollout_dopri5: Any
        name: Any

    def rollout(
        self,
        q0: ArrayLike,
        p0: ArrayLike,
        u: ArrayLike | None,
        dt: float,
        steps: int,
        *,
        out: tuple[Array | None, Array | None] | None = None,
    ) -> Trajectory:
        """Integrate with the classical Runge–Kutta method of order 4 and fixed steps.

        Parameters
        ----------
        q0, p0:
            State at time 0, shapes (NQ,) and (NP,).
        u:
            Inputs, held over each step: shape (steps, NU), or (NU,) for all
            steps, or None for none.
        dt:
            Step [s]; negative to go back in time.
        steps:
            Number of steps.
        out:
            Arrays (steps + 1, NQ) and (steps + 1, NP) to write the states to.

        Returns
        -------
        Trajectory
            The pair (q, p) with the start in row 0, and ``times``.  Unit
            quaternions are renormalised after each step.

        Raises
        ------
        LimitError
            If a state that is asked for is outside a limit that refuses (``robot.limits``).
        ModelInputError, SingularityError
            As everywhere; the message names the time that was reached.
        """
        self._needs_state_rates("rollout")
        check: Checker = self._checker
        steps = check.count("rollout", "steps", steps)
        dt = check.nonzero("rollout", "dt", dt)
        start_q = check.vector("rollout", "q0", q0, "q")
        start_p = check.vector("rollout", "p0", p0, "p")
        inputs = self._held("rollout", u, steps, "steps")
        q, p = self._tables("rollout", steps + 1, out, (start_q, start_p, inputs))
        status = 0
        for first in range(0, max(steps, 1), UNINTERRUPTED_STEPS):
            last = min(first + UNINTERRUPTED_STEPS, steps)
            held = None if inputs is None else inputs[first:last]
            rows = slice(first, last + 1)
            status = self._rollout_rk4(start_q, start_p, held, last - first, dt, q[rows], p[rows])
            if status:
                break
            start_q, start_p = q[last].copy(), p[last].copy()
        times: Array = dt * np.arange(steps + 1, dtype=np.float64)
        self._refuse_beyond_limits("rollout", times, q)
        if status:
            self._rollout_failure("rollout", status, times, q, p, inputs)
        return Trajectory(times, q, p)

    def rollout_adaptive(
        self,
        times: ArrayLike,
        q0: ArrayLike,
        p0: ArrayLike,
        u: ArrayLike | None = None,
        *,
        rtol: float = 1e-8,
        atol: float = 1e-10,
        max_steps: int = 100_000,
        out: tuple[Array | None, Array | None] | None = None,
    ) -> Trajectory:
        """Integrate with Dormand and Prince's pair of order 5(4) and adaptive steps.

        Parameters
        ----------
        times:
            When the state is wanted [s], shape (K,), rising or falling; the state at
            ``times[0]`` is the given start.
        q0, p0:
            State at ``times[0]``, shapes (NQ,) and (NP,).
        u:
            Inputs, held between the times: shape (K - 1, NU), or (NU,), or None.
        rtol, atol:
            Relative and absolute tolerance of the error of one step.
        max_steps:
            Steps, accepted and rejected, after which to give up.
        out:
            Arrays (K, NQ) and (K, NP) to write the states to.

        Returns
        -------
        Trajectory
            The pair (q, p), ``times`` and ``statistics`` (accepted and rejected
            steps, evaluations).

        Raises
        ------
        StepLimitError
            After ``max_steps`` steps.
        LimitError
            If a state that is asked for is outside a limit that refuses (``robot.limits``).
        ModelInputError, SingularityError
            As everywhere; the message names the time that was reached.
        """
        check: Checker = self._checker
        method = "rollout_adaptive"
        self._needs_state_rates(method)
        when = check.numbers(method, "times", times, lambda: "(K,)")
        if when.ndim != 1 or not when.size:
            raise ModelInputError(
                f"{self.name}.{method}: times must have shape (K,), K >= 1, got {when.shape}"
            )
        steps = np.diff(when)
        if not np.isfinite(when).all() or not ((steps > 0).all() or (steps < 0).all()):
            raise ModelInputError(
                f"{self.name}.{method}: times must be finite and either rise or fall throughout"
            )
        start_q = check.vector(method, "q0", q0, "q")
        start_p = check.vector(method, "p0", p0, "p")
        inputs = self._held(method, u, when.size - 1, "K - 1")
        rtol = check.positive(method, "rtol", rtol)
        atol = check.positive(method, "atol", atol)
        max_steps = check.count(method, "max_steps", max_steps, least=1)
        q, p = self._tables(method, when.size, out, (start_q, start_p, inputs))
        counts = np.zeros(3, dtype=np.intc)
        status = self._rollout_dopri5(
            start_q, start_p, when, inputs, rtol, atol, max_steps, q, p, counts
        )
        self._refuse_beyond_limits(method, when, q)
        if status:
            self._rollout_failure(method, status, when, q, p, inputs, max_steps)
        names = ("accepted", "rejected", "evaluations")
        statistics = dict(zip(names, map(int, counts), strict=True))
        return Trajectory(when, q, p, statistics)

    def _needs_state_rates(self, method: str) -> None:
        """Refuse in a build without the function that is integrated."""
        if "state_rates" in self._model.left_out:
            where = f"{self.name}.{method}"
            raise MissingFunctionError(missing_function(self._model, where, "state_rates"))

    def _held(self, method: str, u: ArrayLike | None, count: int, what: str) -> Array | None:
        """Inputs as (count, NU), or None where there are none."""
        if not len(self._model.inputs):
            self._checker.absent_inputs(method, u)
            return None
        if u is None:
            return None
        rows: Array = self._checker.rows(method, "u", u, count=count, what=what)
        if rows.ndim == 1:
            rows = np.ascontiguousarray(np.broadcast_to(rows, (count, rows.size)))
        return rows

    def _tables(
        self, method: str, count: int, out: Any, inputs: tuple[Array | None, ...]
    ) -> tuple[Array, Array]:
        if out is not None and (not isinstance(out, (tuple, list)) or len(out) != 2):
            raise ModelInputError(
                f"{self.name}.{method}: out must be a pair of arrays (q, p), got {out!r}"
            )
        pair = (None, None) if out is None else out
        tables = tuple(
            self._checker.target(method, label, (count, len(quantities)), given)
            for label, quantities, given in (
                ("out[0] (q)", self._model.coordinates, pair[0]),
                ("out[1] (p)", self._model.velocities, pair[1]),
            )
        )
        if out is not None:
            named = dict(zip(("q0", "p0", "u"), inputs, strict=True))
            given_inputs = {k: v for k, v in named.items() if v is not None}
            self._checker.no_overlap(method, given_inputs, tables)
        for table in tables:
            table.fill(np.nan)  # rows that a failed rollout did not reach say so
        return tables[0], tables[1]

    def _refuse_beyond_limits(self, method: str, times: Array, q: Array) -> None:
        """Say where a motion first is outside the limits; the integrators in C do not look."""
        found = self._checker.violation(q)  # rows that were not reached are nan: no violation
        if found is None:
            return
        (row,), text = found
        raise LimitError(
            f"{self.name}.{method}: the motion leaves the limits of the model at "
            f"t = {times[row]:g} s (row {row}): {text}; rows before it are good"
        )

    def _rollout_failure(
        self,
        method: str,
        status: int,
        times: Array,
        q: Array,
        p: Array,
        inputs: Array | None,
        max_steps: int = 0,
    ) -> None:
        """Raise what a non-zero status of a rollout means; always raises."""
        reached = np.isfinite(q).all(axis=1) & np.isfinite(p).all(axis=1)
        last = int(np.argmin(reached)) - 1 if not reached.all() else len(times) - 1
        last = max(last, 0)
        title = f"{self.name}.{method}: stopped after t = {times[last]:g} s (row {last})"
        if status == STATUS_STEP_LIMIT:
            raise StepLimitError(
                f"{title}: max_steps = {max_steps} steps are used up; loosen rtol and atol, raise "
                "max_steps, or look for a state that runs away or is near a singularity"
            )
        if status == 1:
            state = (q[last], p[last])
            held = inputs[min(last, len(inputs) - 1)] if inputs is not None else None
            with_u = (held if held is not None else self._checker.zeros,)
            names = self._model.functions["state_rates"].arguments
            reason = self._violated("state_rates", (*state, *with_u)[: len(names)])
            raise SingularityError(f"{title}: {reason}")
        raise SingularityError(
            f"{title}: the state is no longer finite; the step is too long or the motion unstable"
        )
