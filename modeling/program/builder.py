"""Writing a program: hash-consing, sign normalisation, folding, dimensions.

Statements are stored once.  A *reference* is a non-zero integer: ``+(i+1)``
is statement ``i`` and ``-(i+1)`` its negative, so ``z`` and ``-z`` share one
statement and a change of sign is free.  Constants and symbols are statements
too.  Every rule below keeps the represented value exactly (constants are
exact rationals unless the user wrote a float).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeAlias

from .dimensions import DIMENSIONLESS, Dimension, DimensionError, parse_unit
from .operations import ARITY, EVEN, ODD, TRANSCENDENTAL, fold_constant
from .scalar import Number, Scalar

Node: TypeAlias = tuple[Any, ...]  # (operation, *arguments), see the module text

ZERO = 1  # reference of the constant 0, always statement 0
ONE = 2  # reference of the constant 1, always statement 1


class ProgramError(ValueError):
    """A program that cannot be written as asked."""


class Builder:
    """Collects the statements of one program.

    Parameters
    ----------
    check_dimensions:
        Whether sums of unlike dimensions raise :class:`DimensionError`.
    """

    def __init__(self, check_dimensions: bool = True) -> None:
        self.check_dimensions = check_dimensions
        self.nodes: list[Node] = []
        self.names: dict[int, str] = {}
        self.guards: dict[int, tuple[int, str]] = {}  # statement: (must be > 0, message)
        self._index: dict[Node, int] = {}
        self._dimensions: list[Dimension | None] = []  # None: any (the constant zero)
        self._context: list[str] = []
        self._store(("const", 0), None)
        self._store(("const", 1), DIMENSIONLESS)

    # -- creation ---------------------------------------------------------
    def _store(self, node: Node, dimension: Dimension | None) -> int:
        index = len(self.nodes)
        self.nodes.append(node)
        self._index[node] = index
        self._dimensions.append(dimension)
        return index + 1

    def constant_ref(self, value: Number) -> int:
        """Reference of a numeric constant (negative constants are negated positive ones)."""
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ProgramError(f"constant {value!r} is not finite")
            if value.is_integer() and abs(value) < 2**53:
                value = int(value)
        if isinstance(value, Fraction) and value.denominator == 1:
            value = value.numerator
        sign, value = (1, value) if value >= 0 else (-1, -value)
        # 1, 1.0 and Fraction(1) hash alike; the normalisation above makes them one key.
        key: Node = ("const", value)
        found = self._index.get(key)
        ref = found + 1 if found is not None else self._store(key, DIMENSIONLESS)
        return sign * ref if ref != ZERO else ZERO

    def constant(self, value: Number) -> Scalar:
        """A numeric constant as a scalar."""
        return Scalar(self, self.constant_ref(value))

    def symbol(self, group: str, name: str, unit: str = "1") -> Scalar:
        """The input ``name`` of the given group (``"q"``, ``"p"``, ``"parameters"`` …)."""
        key: Node = ("sym", group, name)
        found = self._index.get(key)
        if found is not None:
            return Scalar(self, found + 1)
        return Scalar(self, self._store(key, parse_unit(unit)))

    def ref_of(self, value: object) -> int:
        """Reference of a scalar of this builder or of a plain number."""
        if isinstance(value, Scalar):
            if value.builder is not self:
                raise ProgramError("scalars of two different programs cannot be combined")
            return value.ref
        if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
            as_number = _plain_number(value)
            if as_number is None:
                raise ProgramError(f"cannot use {value!r} ({type(value).__name__}) in a program")
            value = as_number
        return self.constant_ref(value)

    def name(self, value: Scalar, name: str) -> Scalar:
        """Give the statement behind ``value`` a readable name (the first one stays).

        A negated statement gets none: the name would tell the wrong sign.
        """
        if value.ref > 0 and self.nodes[value.ref - 1][0] not in ("const", "sym"):
            self.names.setdefault(value.ref - 1, name)
        return value

    def guard(self, statement: Scalar, positive: Scalar, message: str) -> Scalar:
        """Declare that ``statement`` only means something while ``positive`` > 0.

        Every function that needs the statement then checks the condition and
        reports ``message`` through its status.
        """
        self.guards.setdefault(abs(statement.ref) - 1, (positive.ref, message))
        return statement

    # -- questions --------------------------------------------------------
    def is_zero(self, ref: int) -> bool:
        """Whether a reference is the constant zero."""
        return ref == ZERO

    def constant_value(self, ref: int) -> Number | None:
        """The number behind a constant reference, or None."""
        node = self.nodes[abs(ref) - 1]
        if node[0] != "const":
            return None
        value: Number = node[1]
        return value if ref > 0 else -value

    def dimension(self, value: Scalar) -> Dimension | None:
        """Dimension of a scalar; None for the structural zero, which fits anywhere."""
        return self._dimensions[abs(value.ref) - 1]

    def describe(self, ref: int, depth: int = 2) -> str:
        """A short readable form of a statement, for messages."""
        index = abs(ref) - 1
        node = self.nodes[index]
        sign = "-" if ref < 0 else ""
        if node[0] == "const":
            return f"{sign}{node[1]}"
        if node[0] == "sym":
            return f"{sign}{node[2]}"
        if depth == 0:
            return f"{sign}{self.names.get(index, f'z{index}')}"
        arguments = [self.describe(int(a), depth - 1) for a in node[1:]]
        infix = {"add": "+", "sub": "-", "mul": "*", "div": "/"}.get(str(node[0]))
        if infix:
            return f"{sign}({arguments[0]} {infix} {arguments[1]})"
        return f"{sign}{node[0]}({', '.join(arguments)})"

    @contextmanager
    def context(self, description: str) -> Iterator[None]:
        """Name what is being derived, so that a dimension error can say it."""
        self._context.append(description)
        try:
            yield
        finally:
            self._context.pop()

    # -- arithmetic on references ------------------------------------------
    def negate(self, ref: int) -> int:
        """Reference of −a."""
        return ref if ref == ZERO else -ref  # the zero has one reference only

    def add(self, a: int, b: int) -> int:
        """Reference of a + b."""
        if a == ZERO:
            return b
        if b == ZERO:
            return a
        if a == -b:
            return ZERO
        if abs(a) > abs(b):
            a, b = b, a
        dimension = self._same_dimension(a, b)
        first, second = self.constant_value(a), self.constant_value(b)
        if first is not None and second is not None:
            return self.constant_ref(first + second)
        if a == b:
            return self.mul(a, self.constant_ref(2))
        sign = 1 if a > 0 else -1
        other = b * sign
        key: Node = ("add", abs(a), other) if other > 0 else ("sub", abs(a), -other)
        found = self._index.get(key)
        return sign * (found + 1 if found is not None else self._store(key, dimension))

    def mul(self, a: int, b: int) -> int:
        """Reference of a · b."""
        sign = 1 if (a > 0) == (b > 0) else -1
        a, b = abs(a), abs(b)
        if a == ZERO or b == ZERO:
            return ZERO
        if a == ONE:
            return sign * b
        if b == ONE:
            return sign * a
        if a > b:
            a, b = b, a
        node_a, node_b = self.nodes[a - 1], self.nodes[b - 1]
        if node_b[0] == "const":
            a, b, node_a, node_b = b, a, node_b, node_a
        if node_a[0] == "const":
            if node_b[0] == "const":
                return _signed(sign, self.constant_ref(node_a[1] * node_b[1]))
            if node_b[0] == "mul" and self.nodes[int(node_b[1]) - 1][0] == "const":
                inner = self.nodes[int(node_b[1]) - 1][1]
                product = self.constant_ref(node_a[1] * inner)
                return _signed(sign, self.mul(product, int(node_b[2])))
        key: Node = ("mul", a, b)
        found = self._index.get(key)
        if found is not None:
            return sign * (found + 1)
        dimension_a, dimension_b = self._dimensions[a - 1], self._dimensions[b - 1]
        assert dimension_a is not None
        assert dimension_b is not None
        return sign * self._store(key, dimension_a * dimension_b)

    def div(self, a: int, b: int) -> int:
        """Reference of a / b; refuses the structural zero as a divisor."""
        if b == ZERO:
            raise ProgramError(f"division by the structural zero{self._where()}")
        if a == ZERO:
            return ZERO
        sign = 1 if (a > 0) == (b > 0) else -1
        a, b = abs(a), abs(b)
        if a == b:
            return sign * ONE
        if b == ONE:
            return sign * a
        divisor = self.constant_value(b)
        if divisor is not None:
            if isinstance(divisor, float):
                return _signed(sign, self.mul(a, self.constant_ref(1.0 / divisor)))
            return _signed(sign, self.mul(a, self.constant_ref(Fraction(1) / Fraction(divisor))))
        key: Node = ("div", a, b)
        found = self._index.get(key)
        if found is not None:
            return sign * (found + 1)
        dimension_a, dimension_b = self._dimensions[a - 1], self._dimensions[b - 1]
        assert dimension_a is not None
        assert dimension_b is not None
        return sign * self._store(key, dimension_a / dimension_b)

    def power(self, base: int, exponent: int) -> int:
        """Reference of base ** exponent; small integer powers become products."""
        value = self.constant_value(exponent)
        if value is not None and int(value) == value and abs(int(value)) <= 64:
            n = int(value)
            result, square, k = ONE, base, abs(n)
            while k:
                if k & 1:
                    result = self.mul(result, square)
                k >>= 1
                if k:
                    square = self.mul(square, square)
            return result if n >= 0 else self.div(ONE, result)
        if value is not None and value == Fraction(1, 2):
            return self.call("sqrt", base)
        if value is not None and value == Fraction(-1, 2):
            return self.div(ONE, self.call("sqrt", base))
        return self.call("pow", base, exponent)

    def call(self, operation: str, *arguments: int) -> int:
        """Append a function statement such as ``sin``, ``sqrt``, ``atan2`` or ``select``."""
        if ARITY.get(operation) != len(arguments):
            raise ProgramError(f"unknown operation {operation}/{len(arguments)}")
        values = [v for v in map(self.constant_value, arguments) if v is not None]
        if len(values) == len(arguments):
            folded = fold_constant(operation, values)
            if folded is not None:
                return self.constant_ref(folded)
        if operation in ("min", "max", "select") and arguments[-2] == arguments[-1]:
            return arguments[-1]
        sign = 1
        if operation in ODD and arguments[0] < 0:
            sign, arguments = -1, (-arguments[0],)
        elif operation in EVEN:
            arguments = (abs(arguments[0]),)
        if arguments == (ZERO,) and operation == "sqrt":
            return ZERO
        key: Node = (operation, *arguments)
        found = self._index.get(key)
        if found is None:
            return sign * self._store(key, self._call_dimension(operation, arguments))
        return sign * (found + 1)

    # -- dimensions -------------------------------------------------------
    def _same_dimension(self, a: int, b: int) -> Dimension | None:
        first, second = self._dimensions[abs(a) - 1], self._dimensions[abs(b) - 1]
        if first == second or second is None:
            return first
        if first is None:
            return second
        if self.check_dimensions:
            raise DimensionError(
                f"cannot combine {self.describe(a)} in [{first}] "
                f"with {self.describe(b)} in [{second}]{self._where()}"
            )
        return first

    def _call_dimension(self, operation: str, arguments: tuple[int, ...]) -> Dimension | None:
        dimensions = [self._dimensions[abs(a) - 1] for a in arguments]
        if operation == "sqrt":
            return None if dimensions[0] is None else dimensions[0] ** Fraction(1, 2)
        if operation == "abs":
            return dimensions[0]
        if operation in ("min", "max"):
            return self._same_dimension(*arguments)
        if operation == "select":
            return self._same_dimension(*arguments[1:])
        if operation == "atan2":
            self._same_dimension(*arguments)
            return DIMENSIONLESS
        if operation == "sign":
            return DIMENSIONLESS
        if self.check_dimensions and operation in TRANSCENDENTAL:
            for argument, dimension in zip(arguments, dimensions, strict=True):
                if dimension not in (None, DIMENSIONLESS):
                    raise DimensionError(
                        f"{operation} needs a dimensionless argument, got "
                        f"{self.describe(argument)} in [{dimension}]{self._where()}"
                    )
        return DIMENSIONLESS

    def _where(self) -> str:
        return f" (in {', '.join(self._context)})" if self._context else ""


def _signed(sign: int, ref: int) -> int:
    """A reference with a sign; the zero (a product that underflowed) has none."""
    return ref if ref == ZERO else sign * ref


def _plain_number(value: object) -> Number | None:
    """Accept NumPy and SymPy numbers without importing either."""
    numerator, denominator = getattr(value, "p", None), getattr(value, "q", None)
    if isinstance(numerator, int) and isinstance(denominator, int):
        return Fraction(numerator, denominator)  # sympy.Integer and sympy.Rational
    if isinstance(value, bool) or not (
        hasattr(value, "__float__") and not hasattr(value, "__len__")
    ):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
