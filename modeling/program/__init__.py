"""Straight-line programs: the one representation that every back end consumes.

A model is never one giant expression.  It is an ordered list of small
statements, built by :class:`Builder`, frozen into a :class:`Program` and then
read by the back ends in ``build_tools``.  Nothing here imports SymPy at import
time, so a generated robot can rebuild its CasADi functions without paying for
it.
"""

from .builder import Builder, ProgramError
from .dimensions import Dimension, DimensionError, UnitError, parse_unit
from .evaluate import evaluate
from .program import Function, Guard, InputGroup, Output, Program, ProgramSymbol
from .scalar import Scalar

__all__ = [
    "Builder",
    "Dimension",
    "DimensionError",
    "Function",
    "Guard",
    "InputGroup",
    "Output",
    "Program",
    "ProgramError",
    "ProgramSymbol",
    "Scalar",
    "UnitError",
    "evaluate",
    "parse_unit",
]
