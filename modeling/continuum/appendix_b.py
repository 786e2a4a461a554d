"""The matrices E and Q of appendix B of the kangaroo-rat paper, as closed forms.

An arc of bending θ moves its points by v(x) = Σ A_k f_k(x) and accelerates them by
Σ A_k f_k + Σ B_l g_l (in the paper's section 2.3), with x from 0 to 1 along the arc and

    f = (1, sin xθ, x cos xθ, −cos xθ, x sin xθ)
    g = (1, sin xθ, 2x cos xθ, x cos xθ, −x² sin xθ, −cos xθ, 2x sin xθ, x sin xθ, x² cos xθ)

    E_{i,v} = ∫₀¹ f fᵀ dx  (5×5) ,     Q_{i,v} = ∫₀¹ f gᵀ dx  (5×9) .

Every entry is integrated exactly and written as a power series up to θ = 2 and
in closed form above, so that values and derivatives are right for θ → 0 too.

The tails of this package do not use E and Q: the coefficients A_k, B_k carry
1/θ and 1/θ² which these matrices cannot mend.  :mod:`.mass` uses the same
integrals over a basis that is regular at θ = 0.  This module states what the
paper prints, for comparison and for those who follow the paper.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from ..equations import EquationsOfMotion
from ..program import Builder, Function, InputGroup, Program, ProgramSymbol, Scalar
from ..program.program import output
from ..realised import Coordinate
from .shape import even_function
from .trigonometric import ArcFunction, cosine, one, sine

SWITCH = 4.0
"""Value of θ² up to which the series are used."""

F_BASIS: tuple[ArcFunction, ...] = (one(), sine(), cosine(1), cosine(0, 0, -1), sine(1))
"""f of the module text."""

G_BASIS: tuple[ArcFunction, ...] = (
    one(),
    sine(),
    cosine(1, 0, 2),
    cosine(1),
    sine(2, 0, -1),
    cosine(0, 0, -1),
    sine(1, 0, 2),
    sine(1),
    cosine(2),
)
"""g of the module text."""


@cache
def e_entry(i: int, j: int) -> ArcFunction:
    """E_{i,v}(i, j), counted from 1 as in the paper, as an exact function of θ."""
    return (F_BASIS[i - 1] * F_BASIS[j - 1]).integral()


@cache
def q_entry(i: int, j: int) -> ArcFunction:
    """Q_{i,v}(i, j), counted from 1 as in the paper, as an exact function of θ."""
    return (F_BASIS[i - 1] * G_BASIS[j - 1]).integral()


def taylor(entry: ArcFunction, count: int = 3) -> list[tuple[int, Fraction]]:
    """The first ``count`` terms (power of θ, coefficient) of an entry's power series."""
    return entry.series(count)


def appendix_b() -> EquationsOfMotion:
    """A program with the functions ``e_matrix`` (5×5) and ``q_matrix`` (5×9) of θ [rad].

    It is no robot (one coordinate, no velocity), but every back end can emit it.
    """
    builder = Builder()
    theta = builder.symbol("q", "theta", "rad")
    known: dict[ArcKey, Scalar] = {}
    e = [_statement(e_entry(i, j), theta, known) for i in range(1, 6) for j in range(1, 6)]
    q = [_statement(q_entry(i, j), theta, known) for i in range(1, 6) for j in range(1, 10)]
    program = Program.freeze(
        builder,
        [InputGroup("q", (ProgramSymbol("theta", "rad", "bending angle of the arc"),))],
        [
            Function(
                "e_matrix",
                ("q",),
                (output("e_matrix", (5, 5), e, "E_{i,v}, symmetric"),),
                "E_{i,v}(theta) of appendix B.",
            ),
            Function(
                "q_matrix",
                ("q",),
                (output("q_matrix", (5, 9), q, "Q_{i,v}"),),
                "Q_{i,v}(theta) of appendix B.",
            ),
        ],
    )
    return EquationsOfMotion(
        name="appendix_b",
        formalism="integrals",
        program=program,
        coordinates=(Coordinate("theta", "rad", r"\theta", "bending angle of the arc", "angle"),),
        velocities=(),
        inputs=(),
        parameters=(),
        variants={},
        variant_notes={},
        nodes=(),
        title="E and Q of a constant-curvature segment",
        source="How a serpentine tail assists agile motions of kangaroo rats, appendix B",
    )


ArcKey = frozenset[tuple[tuple[int, int, int, bool], Fraction]]


def _statement(entry: ArcFunction, theta: Scalar, known: dict[ArcKey, Scalar]) -> Scalar:
    """Statements for an even or odd entry; multiples of a known one only cost a factor."""
    lead = min(entry.terms.items())[1]
    unit = ArcFunction({t: c / lead for t, c in entry.terms.items()})
    key = frozenset(unit.terms.items())
    if key not in known:
        odd = unit.series(1)[0][0] % 2
        if odd:  # θ times an even function
            unit = ArcFunction.of(
                ((a, b - 1, k, is_sine), c) for (a, b, k, is_sine), c in unit.terms.items()
            )
        even = even_function(unit, theta * theta, SWITCH)
        known[key] = even * theta if odd else even
    factor = lead if lead.denominator == 1 else float(lead)
    return known[key] * factor
