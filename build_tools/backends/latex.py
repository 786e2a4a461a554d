r"""LaTeX and plain text of single entries of the equations.

Coordinates, velocities and their rates are written with the symbols that the
model gives them (``\phi_1``); everything else by its name, upright.  What
would be too large to read is refused with its operation count.
"""

from __future__ import annotations

import sympy
from sympy.printing.str import StrPrinter

from bestiary.modeling.equations import EquationsOfMotion
from bestiary.modeling.program.sympy_bridge import input_symbols

DEFAULT_LIMIT = 2_000
"""Largest entry, in operations, that is written out unless the caller says otherwise."""

Index = int | tuple[int, ...]


def entry_expression(
    equations: EquationsOfMotion,
    function: str,
    index: Index = (),
    output: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> sympy.Expr:
    """Closed form of one entry of an output of a function.

    Parameters
    ----------
    equations:
        The derived robot.
    function, output:
        A function and one of its outputs (the first by default).
    index:
        Row and column; one number for vectors, ``()`` for scalars.
    limit:
        Largest number of operations.

    Raises
    ------
    KeyError, IndexError
        If there is no such function, output or entry.
    ExpressionTooLargeError
        If the entry has more than ``limit`` operations written out.
    """
    return equations.view(function, output).entry(index, limit)


def entry_latex(
    equations: EquationsOfMotion,
    function: str,
    index: Index = (),
    output: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> str:
    """LaTeX of one entry; arguments and errors as in :func:`entry_expression`."""
    expression = entry_expression(equations, function, index, output, limit)
    names = latex_names(equations)
    text: str = sympy.latex(expression, symbol_names=names)
    return text


def entry_text(
    equations: EquationsOfMotion,
    function: str,
    index: Index = (),
    output: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> str:
    """Plain text of one entry; arguments and errors as in :func:`entry_expression`."""
    return plain_text(entry_expression(equations, function, index, output, limit))


class _ShortestFloats(StrPrinter):  # type: ignore[misc]
    """SymPy's plain text with floats as short as they can be read back."""

    def _print_Float(self, number: sympy.Float) -> str:  # noqa: N802  (SymPy's name)
        return repr(float(number))


def plain_text(expression: sympy.Expr) -> str:
    """An expression in SymPy's syntax, numbers with as many digits as they need."""
    return str(_ShortestFloats().doprint(expression))


def latex_names(equations: EquationsOfMotion) -> dict[sympy.Symbol, str]:
    """How each input of the program is written in LaTeX."""
    symbols = {c.name: c.symbol or upright(c.name) for c in equations.coordinates}
    rates, accelerations = {}, {}
    for v in equations.velocities:
        rate_of = v.name.removesuffix("_rate")
        if not v.symbol and rate_of != v.name and rate_of in symbols:
            rates[v.name] = rf"\dot{{{symbols[rate_of]}}}"
            accelerations[f"{v.name}_dot"] = rf"\ddot{{{symbols[rate_of]}}}"
        else:
            rates[v.name] = v.symbol or upright(v.name)
            accelerations[f"{v.name}_dot"] = rf"\dot{{{rates[v.name]}}}"
    known = {"q": symbols, "p": rates, "p_dot": accelerations}
    written = {}
    for (group, name), symbol in input_symbols(equations.program).items():
        written[symbol] = known.get(group, {}).get(name) or upright(name)
    return written


def upright(name: str) -> str:
    r"""An identifier in upright letters: ``head_mass`` gives ``\mathrm{head\_mass}``."""
    escaped = name.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"
