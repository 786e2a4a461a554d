"""Integrators inside C: fixed-step Runge–Kutta 4 and adaptive Dormand–Prince 5(4).

Coefficients: J. R. Dormand and P. J. Prince, "A family of embedded
Runge-Kutta formulae", 1980; step control: E. Hairer, S. P. Nørsett and
G. Wanner, *Solving Ordinary Differential Equations I*, section II.4, and
K. Gustafsson's PI controller.
"""

from __future__ import annotations

from fractions import Fraction as Fr
from typing import Any

from .c_header import rollout_values
from .c_printer import Number, Precision
from .c_project import CProject
from .c_text import render

STAGES: tuple[tuple[Fr, ...], ...] = (
    (Fr(1, 5),),
    (Fr(3, 40), Fr(9, 40)),
    (Fr(44, 45), Fr(-56, 15), Fr(32, 9)),
    (Fr(19372, 6561), Fr(-25360, 2187), Fr(64448, 6561), Fr(-212, 729)),
    (Fr(9017, 3168), Fr(-355, 33), Fr(46732, 5247), Fr(49, 176), Fr(-5103, 18656)),
    (Fr(35, 384), Fr(0), Fr(500, 1113), Fr(125, 192), Fr(-2187, 6784), Fr(11, 84)),
)
"""Weights of stages 2 to 7; the last row is also the result of order 5."""

FOURTH: tuple[Fr, ...] = (
    Fr(5179, 57600),
    Fr(0),
    Fr(7571, 16695),
    Fr(393, 640),
    Fr(-92097, 339200),
    Fr(187, 2100),
    Fr(1, 40),
)
"""Weights of the result of order 4."""

ERROR: tuple[Fr, ...] = tuple(b - c for b, c in zip((*STAGES[-1], Fr(0)), FOURTH, strict=True))

CONTROL: dict[str, Number] = {
    "zero": 0,
    "half": Fr(1, 2),
    "one": 1,
    "two": 2,
    "fifth": Fr(1, 5),
    "hundredth": Fr(1, 100),
    "thousandth": Fr(1, 1000),
    "hundred": 100,
    "tiny_norm": 1e-5,
    "tiny_curvature": 1e-15,
    "small_step": 1e-6,
    "least_error": 1e-4,
    "smallest": 1e-30,
    "safety": 0.9,
    "pi_integral": 0.04,
    "pi_exponent": 0.17,
    "most_shrink": 0.2,
    "most_growth": 10,
    "most_growth_rejected": 0.9,
    "stretch": 1.01,
}
"""Constants of the step control, by their names in the template."""

ROUNDING = {"f64": 16 * 2.0**-52, "f32": 16 * 2.0**-23}
"""Steps below this part of an interval are not tried any more."""


def rollout_file(project: CProject, precision: Precision) -> str:
    """Name of the source file."""
    return f"{project.names.prefix}_rollout_{precision.tag}.c"


def rollout_source(project: CProject, precision: Precision) -> str:
    """Text of ``<model>_rollout_<precision>.c``."""
    literal = precision.literal

    def signed(value: Number) -> str:
        return f"-{literal(-value)}" if value < 0 else literal(value)

    rollout = rollout_values(project)
    assert rollout is not None, "only for programs with state_rates"
    values: dict[str, Any] = {name: literal(value) for name, value in CONTROL.items()}
    return render(
        "rollout.c.jinja",
        {
            **project.common,
            **values,
            "minus_one": signed(-1),
            "count": literal(rollout["nq"] + rollout["np"]),
            "rounding": literal(ROUNDING[precision.tag]),
            "weights": [literal(Fr(1, 6)), literal(Fr(1, 3))],
            "tableau": [[signed(v) for v in (*row, *[Fr(0)] * (6 - len(row)))] for row in STAGES],
            "error": [signed(v) for v in ERROR],
            "file": rollout_file(project, precision),
            "precision": precision,
            "rollout": rollout,
        },
    )
