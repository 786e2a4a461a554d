"""The node functions of a phase, from its symbols: rates, equations, paths and integrands.

All times of a phase enter through the two ends of a section, so that
``time = start + place * (end - start)``; rates are handed out multiplied by the
section's length, which makes free times ordinary decision variables.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca

from .blocks import NodeFunction
from .phase import Phase
from .problem import OptimalControlProblem
from .schemes import MultipleShooting, Scheme
from .variables import column


class PhaseFunctions:
    """Functions of one phase, built when first needed and kept between meshes.

    The decision part of their arguments is (states, controls, algebraics,
    parameters[, section start, section end]); the constant part is
    (constants, [section start, section end,] place).
    """

    def __init__(self, problem: OptimalControlProblem, phase: Phase) -> None:
        self.phase = phase
        self.states = phase.state_variables
        self.controls = phase.control_variables
        self.algebraics = phase.algebraic_variables
        self.x = column([v.symbol for v in self.states])
        self.u = column([v.symbol for v in self.controls])
        self.z = column([v.symbol for v in self.algebraics])
        self.s = column([v.symbol for v in problem.parameters])
        self.p = column([v.symbol for v in problem.constants])
        self.begin, self.finish = ca.SX.sym("section_start"), ca.SX.sym("section_end")
        self.place = ca.SX.sym("place")
        self.rates = column([phase.rates[v.name] for v in self.states])
        self.equations = column([e for e, _, _ in phase.equations.values()])
        self.paths = column([p.expression for p in phase.paths])
        self.integrands = column([t.integrand for t in phase.integrals])
        self.cost_integrands = column([t.integrand for t in phase.cost_integrals])
        self._phase_times = ca.vertcat(phase.start_time, phase.end_time)
        self._cache: dict[Any, NodeFunction] = {}

    @cached_property
    def uses_phase_times(self) -> bool:
        """Whether an expression names the ends of the phase itself."""
        every = ca.vertcat(
            self.rates, self.equations, self.paths, self.integrands, self.cost_integrands
        )
        return any(bool(f) for f in ca.which_depends(every, self._phase_times, 1, True))

    def _arguments(self, free: bool) -> tuple[ca.SX, ca.SX]:
        times = [self.begin, self.finish, *([self._phase_times] if self.uses_phase_times else [])]
        w = ca.vertcat(self.x, self.u, self.z, self.s, *(times if free else []))
        c = ca.vertcat(self.p, *([] if free else times), self.place)
        return w, c

    def _in_place(self, expression: ca.SX) -> ca.SX:
        time = self.begin + self.place * (self.finish - self.begin)
        return ca.substitute(expression, self.phase.time, time)

    def node(self, free: bool) -> NodeFunction:
        """Rates and integrands times the section's length, equations, paths.

        ``free``: whether the ends of the section are decision variables.
        """
        key = ("node", free)
        if key not in self._cache:
            length = self.finish - self.begin
            y = ca.vertcat(
                length * self.rates, self.equations, self.paths, length * self.integrands
            )
            self._cache[key] = NodeFunction(
                _identifier(self.phase.name, "node"), *self._arguments(free), self._in_place(y)
            )
        return self._cache[key]

    def cost(self, free: bool) -> NodeFunction:
        """Integrands of the cost, summed, times the section's length."""
        key = ("cost", free)
        if key not in self._cache:
            y = (self.finish - self.begin) * ca.sum1(self.cost_integrands)
            self._cache[key] = NodeFunction(
                _identifier(self.phase.name, "cost"), *self._arguments(free), self._in_place(y)
            )
        return self._cache[key]

    def shot(self, free: bool, scheme: Scheme) -> NodeFunction:
        """State at the end of an interval and integrals over it, by Runge-Kutta steps.

        The decision part is (start states, controls at each control node,
        parameters[, times]); the constant part ends with (start, fraction) of
        the interval within its section.
        """
        assert isinstance(scheme, MultipleShooting)
        key = ("shot", free, scheme)
        if key in self._cache:
            return self._cache[key]
        many = 2 if scheme.hold == "linear" else 1
        controls = [ca.SX.sym(f"u{k}", self.u.numel()) for k in range(many)]
        start, fraction = ca.SX.sym("interval_start"), ca.SX.sym("interval_fraction")
        length = self.finish - self.begin
        flow = ca.Function(
            "flow",
            [
                self.x,
                self.u,
                self.s,
                self.p,
                self.begin,
                self.finish,
                self._phase_times,
                self.place,
            ],
            [
                self._in_place(length * self.rates),
                self._in_place(length * ca.vertcat(self.integrands, ca.sum1(self.cost_integrands))),
            ],
        )
        times = [self.begin, self.finish, *([self._phase_times] if self.uses_phase_times else [])]

        def rate(x: Any, local: float) -> tuple[Any, Any]:
            u = controls[0] if many == 1 else (1 - local) * controls[0] + local * controls[1]
            place = start + fraction * local
            f, g = flow(x, u, self.s, self.p, self.begin, self.finish, self._phase_times, place)
            return fraction * f, fraction * g

        x: Any = self.x
        total: Any = 0
        h = 1.0 / scheme.degree
        for step in range(scheme.degree):
            t = step * h
            k1, q1 = rate(x, t)
            k2, q2 = rate(x + h / 2 * k1, t + h / 2)
            k3, q3 = rate(x + h / 2 * k2, t + h / 2)
            k4, q4 = rate(x + h * k3, t + h)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            total = total + h / 6 * (q1 + 2 * q2 + 2 * q3 + q4)
        w = ca.vertcat(self.x, *controls, self.s, *(times if free else []))
        c = ca.vertcat(self.p, *([] if free else times), start, fraction)
        function = NodeFunction(_identifier(self.phase.name, "shot"), w, c, ca.vertcat(x, total))
        self._cache[key] = function
        return function

    @cached_property
    def explicit(self) -> ca.Function:
        """(x, u, z, s, p, t, start, end) -> rates, equations, paths, integrands, cost integrand."""
        names = ["x", "u", "z", "s", "p", "time", "start_time", "end_time"]
        return ca.Function(
            "explicit",
            [
                self.x,
                self.u,
                self.z,
                self.s,
                self.p,
                self.phase.time,
                self.phase.start_time,
                self.phase.end_time,
            ],
            [
                ca.densify(self.rates),
                ca.densify(self.equations),
                ca.densify(self.paths),
                ca.densify(self.integrands),
                ca.densify(ca.sum1(self.cost_integrands)),
            ],
            names,
            ["rates", "equations", "paths", "integrands", "cost"],
            {"cse": True},
        )

    @cached_property
    def equation_slopes(self) -> ca.Function:
        """Derivatives of the equations in the algebraic variables; arguments of ``explicit``."""
        return ca.Function(
            "equation_slopes",
            [
                self.x,
                self.u,
                self.z,
                self.s,
                self.p,
                self.phase.time,
                self.phase.start_time,
                self.phase.end_time,
            ],
            [ca.densify(ca.jacobian(self.equations, self.z))],
            {"cse": True},
        )


def _identifier(*parts: str) -> str:
    text = "_".join(parts)
    kept = "".join(c if c.isalnum() and c.isascii() else "_" for c in text).strip("_")
    while "__" in kept:
        kept = kept.replace("__", "_")
    return kept if kept and kept[0].isalpha() else f"phase_{kept}"
