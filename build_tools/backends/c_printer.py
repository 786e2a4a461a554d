"""Statements as C expressions, in double or single precision."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bestiary.modeling.program import ProgramError
from bestiary.modeling.program.builder import Node

from .c_names import ProgramNames

Number = int | float | Fraction

SUM, PRODUCT, SIGN, ATOM = range(4)  # binding strength of an expression


@dataclass(frozen=True)
class Precision:
    """A floating-point type of C: its tag in names, its type, its suffixes."""

    tag: str
    type: str
    literal_suffix: str
    function_suffix: str

    def literal(self, value: Number) -> str:
        """The shortest decimal literal that reads back as exactly this value.

        Raises
        ------
        ProgramError
            If the value overflows the type.
        """
        number = float(value)
        if self.type == "float":
            number = as_single(number)
        if not math.isfinite(number):
            raise ProgramError(f"the constant {value!r} does not fit the C type {self.type}")
        digits = shortest_single(number) if self.type == "float" else repr(number)
        if not any(mark in digits for mark in ".e"):
            digits += ".0"
        return digits + self.literal_suffix


F64 = Precision("f64", "double", "", "")
F32 = Precision("f32", "float", "F", "f")
PRECISIONS = (F64, F32)

_LIBM = frozenset("sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt pow".split())
_OWN = {"min": "min_of", "max": "max_of", "sign": "sign_of", "select": "select_of"}


def as_single(value: float) -> float:
    """The nearest single-precision number, infinite beyond its range."""
    try:
        (result,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(result)


def shortest_single(value: float) -> str:
    """Shortest decimal digits that round to the single-precision number ``value``."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if as_single(float(text)) == value:
            return repr(float(text))
    raise AssertionError(f"{value!r} is not a single-precision number")


def helper_of(operation: str) -> str | None:
    """Name of the static helper that an operation needs, if any."""
    return _OWN.get(operation)


class Printer:
    """Writes references as C expressions.

    Parameters
    ----------
    nodes:
        Statements of the program.
    names:
        Their variables.
    precision:
        The C type.
    inlined:
        Statements to be written in place instead of by their variable.
    direct:
        Symbols to be read in place instead of from a local variable.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        names: ProgramNames,
        precision: Precision,
        inlined: Callable[[int], bool],
        direct: Callable[[int], bool],
    ) -> None:
        self._nodes, self._names, self._precision = nodes, names, precision
        self._inlined, self._direct = inlined, direct

    def reference(self, ref: int) -> str:
        """Expression of a signed reference."""
        return self._signed(ref)[0]

    def definition(self, index: int) -> str:
        """Right-hand side of a statement."""
        return self._operation(index)[0]

    def _signed(self, ref: int) -> tuple[str, int]:
        text, strength = self._value(abs(ref) - 1)
        if ref > 0:
            return text, strength
        return f"-{text}" if strength == ATOM else f"-({text})", SIGN

    def _value(self, index: int) -> tuple[str, int]:
        node = self._nodes[index]
        if node[0] == "const":
            return self._precision.literal(node[1]), ATOM
        if node[0] == "sym":
            names = self._names
            return (names.places if self._direct(index) else names.symbols)[index], ATOM
        if self._inlined(index):
            return self._operation(index)
        return self._names.statements[index], ATOM

    def _operation(self, index: int) -> tuple[str, int]:
        operation, *refs = self._nodes[index]
        arguments = [self._signed(int(r)) for r in refs]
        if operation in ("add", "sub"):
            left, right = _at_least(arguments[0], SUM), _at_least(arguments[1], PRODUCT)
            return f"{left} {'+' if operation == 'add' else '-'} {right}", SUM
        if operation in ("mul", "div"):
            left, right = _at_least(arguments[0], PRODUCT), _at_least(arguments[1], ATOM)
            return f"{left} {'*' if operation == 'mul' else '/'} {right}", PRODUCT
        inner = ", ".join(text for text, _ in arguments)
        return f"{self._function(str(operation))}({inner})", ATOM

    def _function(self, operation: str) -> str:
        if operation in _OWN:
            return _OWN[operation]
        if operation == "abs":
            return f"fabs{self._precision.function_suffix}"
        if operation in _LIBM:
            return f"{operation}{self._precision.function_suffix}"
        raise ProgramError(f"the operation {operation!r} has no counterpart in C")


def _at_least(expression: tuple[str, int], strength: int) -> str:
    text, own = expression
    return text if own >= strength else f"({text})"
