"""Guesses that obey the dynamics: a simulation under a policy, and an equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from bestiary.generated.errors import suggestion

from .errors import OptimalControlError
from .estimate import Evaluator
from .functions import PhaseFunctions
from .guess_tables import COVER
from .phase import Phase
from .user_calls import call, number, numbers
from .variables import Variable

Array: TypeAlias = np.ndarray
Policy: TypeAlias = Callable[[float, Mapping[str, float]], Any]

POINTS = 201
LARGEST = 1e9
"""A simulation ends where a state is this many times its typical size."""


def simulate_guess(
    phase: Phase,
    policy: Policy | Mapping[str, float] | None,
    duration: float | None,
    start: Mapping[str, float] | None,
    points: int,
    tolerance: float,
) -> dict[str, Array]:
    """Simulate a phase; see :meth:`.Phase.guess_simulation`."""
    label = f"phase {phase.name!r}: guess_simulation"
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 2:
        raise OptimalControlError(f"{label}: points: expected 2 or more, got {points!r}")
    if not 0 < number(tolerance, f"{label}: tolerance") < 1:
        raise OptimalControlError(f"{label}: tolerance: expected 0 to 1, got {tolerance!r}")
    functions = PhaseFunctions(phase.problem, phase)
    length = _length(phase, duration, label)
    begun = float(np.clip(0.0, *phase.start_range))
    x0 = _start(phase, functions, start, label)
    evaluator = _evaluator(phase, functions, begun, begun + length)
    controls = _as_policy(functions, policy, label)
    names = [v.name for v in functions.states]
    z = np.zeros((1, len(functions.algebraics)))
    z[0] = [_middle(v) for v in functions.algebraics]

    def inputs(t: float, x: Array) -> Array:
        return controls(t, dict(zip(names, (float(v) for v in x), strict=True)))

    def rates(t: float, x: Array) -> Array:
        nonlocal z
        at = np.array([t])
        u = inputs(t, x)[None]
        solved = evaluator.solve_algebraics(x[None], u, z, at)
        if np.all(np.isfinite(solved)):
            z = solved
        return np.asarray(evaluator.rates(x[None], u, solved, at)[0])

    times, states = _integrate(rates, x0, begun, begun + length, points, tolerance, label, names)
    u = np.array([inputs(t, x) for t, x in zip(times, states, strict=True)])
    table = {"time": times - begun}
    table |= {n: states[:, k] for k, n in enumerate(names)}
    table |= {v.name: u[:, k] for k, v in enumerate(functions.controls)}
    if functions.algebraics:
        at_all = evaluator.solve_algebraics(
            states, u, np.broadcast_to(z, (len(times), z.shape[1])).copy(), times
        )
        table |= {v.name: at_all[:, k] for k, v in enumerate(functions.algebraics)}
    return table


def lasting(table: Mapping[str, Array], shortest: float) -> dict[str, Array]:
    """A simulated motion, with its last values kept until the phase may end [s]."""
    if table["time"][-1] >= shortest * (1 - COVER):
        return dict(table)
    return {
        name: np.append(values, shortest if name == "time" else values[-1])
        for name, values in table.items()
    }


def _integrate(
    rates: Callable[[float, Array], Array], x0: Array, begun: float, end: float, points: int,
    tolerance: float, label: str, names: list[str],
) -> tuple[Array, Array]:  # fmt: skip
    from scipy.integrate import solve_ivp

    size = np.maximum(np.abs(x0), 1.0)

    def away(_: float, x: Array) -> float:
        return float(LARGEST - np.max(np.abs(x) / size))

    away.terminal = True  # type: ignore[attr-defined]
    times = np.linspace(begun, end, points)
    with np.errstate(all="ignore"):
        found = solve_ivp(
            rates, (begun, end), x0, "LSODA", times, events=away, rtol=tolerance,
            atol=tolerance * size,
        )  # fmt: skip
    if found.status != 0 or not np.all(np.isfinite(found.y)):
        reached = float(found.t[-1]) if len(found.t) else begun
        last = found.y[:, -1] if found.y.size else x0
        worst = names[int(np.argmax(np.where(np.isfinite(last), np.abs(last) / size, np.inf)))]
        why = "runs away" if found.status == 1 else "cannot be continued"
        raise OptimalControlError(
            f"{label}: the simulation {why} after {reached:.4g} s of {end - begun:.4g} s "
            f"({worst} is the largest state); try another policy, or a shorter duration="
        )
    return times, found.y.T


def _length(phase: Phase, duration: float | None, label: str) -> float:
    if duration is None and phase.guess_times is not None:
        duration = float(phase.guess_times[-1] - phase.guess_times[0])
    low, high = phase.duration_range
    if duration is None:
        if not np.isfinite(high):
            raise OptimalControlError(f"{label}: the duration is free; give duration= in seconds")
        duration = (low + high) / 2
    length = number(duration, f"{label}: duration")
    if not length > 0:
        raise OptimalControlError(f"{label}: duration must be positive, got {duration!r}")
    if length > high * (1 + COVER):
        raise OptimalControlError(
            f"{label}: duration is {length:g} s, but the phase lasts at most {high:g} s"
        )
    return length


def _start(
    phase: Phase, functions: PhaseFunctions, given: Mapping[str, float] | None, label: str
) -> Array:
    known = [v.name for v in functions.states]
    values = dict(given or {})
    for name in values:
        if name not in known:
            raise OptimalControlError(
                f"{label}: start: no state {name!r}{suggestion(name, known)}; "
                f"have {', '.join(known)}"
            )
    return np.array(
        [
            number(values[v.name], f"{label}: start: {v.name}")
            if v.name in values
            else _middle(v.bounded(phase.start_bounds.get(v.name, v.bounds)))
            for v in functions.states
        ]
    )


def _middle(variable: Variable) -> float:
    low, high = variable.bounds
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2
    return float(np.clip(0.0, low, high))


def _evaluator(phase: Phase, functions: PhaseFunctions, begun: float, end: float) -> Evaluator:
    problem = phase.problem
    s = np.array([problem.parameter_guesses[v.name] for v in problem.parameters])
    p = np.array([problem.constant_values[v.name] for v in problem.constants])
    return Evaluator(functions, s, p, (begun, end))


def _as_policy(
    functions: PhaseFunctions, policy: Policy | Mapping[str, float] | None, label: str
) -> Callable[[float, Mapping[str, float]], Array]:
    """Controls as an array, whatever form the policy has; limits are kept."""
    names = [v.name for v in functions.controls]
    low = np.array([v.bounds[0] for v in functions.controls])
    high = np.array([v.bounds[1] for v in functions.controls])

    def values(found: Any) -> Array:
        if found is None:
            found = {}
        if isinstance(found, Mapping):
            for name in found:
                if name not in names:
                    raise OptimalControlError(
                        f"{label}: policy: no control {name!r}{suggestion(name, names)}; "
                        f"have {', '.join(names) or 'none'}"
                    )
            found = [found.get(n, 0.0) for n in names]
        array = numbers(found, f"{label}: policy", "controls by name or in their order").ravel()
        if array.shape != (len(names),):
            raise OptimalControlError(
                f"{label}: policy: expected {len(names)} controls ({', '.join(names)}), "
                f"got {array.size} numbers"
            )
        return np.asarray(np.clip(array, low, high))

    if policy is None or isinstance(policy, Mapping):
        fixed = values(policy)
        return lambda _t, _x: fixed
    if not callable(policy):
        raise OptimalControlError(
            f"{label}: policy: expected a function of (time, states), a mapping of control values "
            f"or None, got {policy!r}"
        )
    return lambda t, x: values(call(f"{label}: policy at {t:.4g} s", policy, t, x))


def equilibrium_guess(phase: Phase, near: Mapping[str, float]) -> dict[str, float]:
    """Rest states and the controls that keep them; see :meth:`.Phase.guess_equilibrium`."""
    label = f"phase {phase.name!r}: guess_equilibrium"
    functions = PhaseFunctions(phase.problem, phase)
    variables = [*functions.states, *functions.controls, *functions.algebraics]
    names = [v.name for v in variables]
    for name in near:
        if name not in names:
            raise OptimalControlError(
                f"{label}: no quantity {name!r}{suggestion(name, names)}; have {', '.join(names)}"
            )
    wanted = np.array(
        [
            number(near[n], f"{label}: {n}") if n in near else _middle(v)
            for n, v in zip(names, variables, strict=True)
        ]
    )
    size = np.array([v.nominal or max(abs(w), 1.0) for v, w in zip(variables, wanted, strict=True)])
    w = ca.vertcat(functions.x, functions.u, functions.z)
    begun = float(np.clip(0.0, *phase.start_range))
    evaluator = _evaluator(phase, functions, begun, begun + 1.0)
    old = ca.vertcat(functions.s, functions.p, phase.time, phase.start_time, phase.end_time)
    new = ca.DM([*evaluator.parameters, *evaluator.constants, begun, begun, begun + 1.0])
    balance = ca.substitute(ca.vertcat(functions.rates, functions.equations), old, new)
    # what was asked for counts most: of all equilibria the nearest in those quantities
    weight = np.array([1.0 if n in near else 1e-3 for n in names]) / size**2
    program = {"x": w, "f": ca.dot(ca.DM(weight), (w - wanted) ** 2), "g": balance}
    solver = ca.nlpsol(
        "equilibrium", "ipopt", program,
        {"print_time": False, "show_eval_warnings": False,
         "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10, "max_iter": 300}},
    )  # fmt: skip
    found = solver(
        x0=wanted, lbx=[v.bounds[0] for v in variables], ubx=[v.bounds[1] for v in variables],
        lbg=0.0, ubg=0.0,
    )  # fmt: skip
    if solver.stats()["return_status"] not in ("Solve_Succeeded", "Solved_To_Acceptable_Level"):
        left = np.abs(np.asarray(found["g"]).ravel())
        rows = [f"rate of {v.name}" for v in functions.states] + list(phase.equations)
        raise OptimalControlError(
            f"{label}: no equilibrium within the bounds near "
            f"{', '.join(f'{k}={v:g}' for k, v in near.items()) or 'the start'}: "
            f"{rows[int(np.argmax(left))]} stays {np.max(left):.3g}"
        )
    return dict(zip(names, (float(v) for v in np.asarray(found["x"]).ravel()), strict=True))
