"""Named quantities of a problem: a CasADi symbol with its unit, bounds and nominal size."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from bestiary.generated.errors import suggestion

from .errors import OptimalControlError
from .user_calls import number

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

Range = tuple[float, float]
FREE: Range = (-math.inf, math.inf)


@dataclass(frozen=True)
class Variable:
    """A state, control, algebraic variable, static parameter or constant.

    Attributes
    ----------
    name, unit:
        As shown in reports and plots.
    symbol:
        The 1x1 CasADi symbol that stands for it in expressions.
    bounds:
        (low, high) in its unit; infinite where there is none.
    nominal:
        Typical size, for scaling; None: found from bounds and guess.
    """

    name: str
    unit: str
    symbol: ca.SX
    bounds: Range = FREE
    nominal: float | None = None

    def bounded(self, bounds: Range) -> Variable:
        """The same variable with other bounds."""
        return replace(self, bounds=bounds)


def as_range(value: Any, label: str) -> Range:
    """(low, high) of a number, a pair with None for "no limit", or None for "free".

    Raises
    ------
    OptimalControlError
        If it is none of these, not a number, or low exceeds high.
    """
    if value is None:
        return FREE
    parts = value if isinstance(value, tuple | list) else (value,)
    if any(has_symbols(part) for part in parts):  # float() of a symbol is NaN, no error
        raise OptimalControlError(
            f"{label}: expected numbers, got the expression {value!r}; state limits that are "
            "expressions with path(...) of the phase or constrain(...) of the problem"
        )
    try:
        if any(isinstance(part, str | bytes | bool) for part in parts):
            raise TypeError
        if np.ndim(value) == 0:
            low = high = float(value)
        else:
            low_in, high_in = value
            low = -math.inf if low_in is None else float(low_in)
            high = math.inf if high_in is None else float(high_in)
    except (TypeError, ValueError, RuntimeError):
        raise OptimalControlError(
            f"{label}: expected a number or a pair (low, high) of numbers or None, got {value!r}"
        ) from None
    if math.isnan(low) or math.isnan(high) or low == math.inf or high == -math.inf:
        raise OptimalControlError(f"{label}: ({low:g}, {high:g}) is not a range of numbers")
    if low > high:
        raise OptimalControlError(f"{label}: low {low:g} exceeds high {high:g}")
    return low, high


def limits_of(low: Any, high: Any, equals: Any, label: str) -> Range:
    """(low, high) of a constraint, given as ``equals`` or as one or two limits.

    Raises
    ------
    OptimalControlError
        If both ways or none were used, or the limits are no range.
    """
    if equals is not None:
        if low is not None or high is not None:
            raise OptimalControlError(f"{label}: give equals=, or low= and high=, not both")
        low = high = equals
    bounds = as_range((low, high), label)
    if bounds == FREE:
        raise OptimalControlError(f"{label}: give equals=, low= or high=")
    return bounds


def has_symbols(value: Any) -> bool:
    """Whether a value is an expression of CasADi or SymPy, not a number."""
    if isinstance(value, ca.SX):
        return not value.is_constant()
    return isinstance(value, ca.MX) or bool(getattr(value, "free_symbols", None))


def text(value: Any, label: str) -> str:
    """A text, as names and units are.

    Raises
    ------
    OptimalControlError
        If it is something else.
    """
    if not isinstance(value, str):
        raise OptimalControlError(f"{label}: expected a text, got {value!r}")
    return value


def positive(value: Any, label: str) -> float | None:
    """A typical size; None stays None.

    Raises
    ------
    OptimalControlError
        If it is not a positive finite number.
    """
    if value is None:
        return None
    size = number(value, label)
    if size <= 0:
        raise OptimalControlError(f"{label}: expected a positive number, got {value!r}")
    return size


def positive_sizes(value: Any, count: int, label: str) -> list[float | None]:
    """Typical sizes of several quantities: one for each, or one for all.

    Raises
    ------
    OptimalControlError
        If one is not a positive number, or their number is another.
    """
    sizes = [value] * count if np.ndim(value) == 0 else _listed(value, label, "positive numbers")
    if len(sizes) != count:
        raise OptimalControlError(f"{label}: {count} names but {len(sizes)} sizes")
    return [positive(size, label) for size in sizes]


def mapping(value: Any, label: str, example: str) -> Mapping[Any, Any]:
    """A mapping, as a user has to write it.

    Raises
    ------
    OptimalControlError
        With an example, if it is something else.
    """
    if not isinstance(value, Mapping):
        raise OptimalControlError(f"{label}: expected a mapping such as {example}, got {value!r}")
    return value


def _listed(value: Any, label: str, what: str) -> list[Any]:
    if not isinstance(value, Iterable):
        raise OptimalControlError(f"{label}: expected {what}, got {value!r}")
    return list(value)


def split_names(names: str | Iterable[str], label: str) -> tuple[str, ...]:
    """Names from one text with spaces or commas, or from several texts."""
    listed = (
        names.replace(",", " ").split()
        if isinstance(names, str)
        else _listed(names, label, "names such as 'x v' or ['x', 'v']")
    )
    if not listed:
        raise OptimalControlError(f"{label}: no names given")
    for name in listed:
        if not isinstance(name, str) or not _NAME.match(name):
            raise OptimalControlError(
                f"{label}: {name!r} is not a name (letters, digits and _, no digit first)"
            )
    return tuple(listed)


def split_units(units: str | Iterable[str] | None, count: int, label: str) -> tuple[str, ...]:
    """One unit for each name; a single one serves for all; one name takes the whole text."""
    if count == 1 and isinstance(units, str):
        return (" ".join(units.split()),)
    if isinstance(units, str):
        listed = units.split()
    else:
        what = "units such as 'm m/s' or ['m', 'm/s']"
        listed = [] if units is None else _listed(units, f"{label}: units", what)
        listed = [text(unit, f"{label}: units") for unit in listed]
    if not listed:
        return ("",) * count
    if len(listed) == 1:
        return (listed[0],) * count
    if len(listed) != count:
        raise OptimalControlError(f"{label}: {count} names but {len(listed)} units")
    return tuple(listed)


class NameTable:
    """Variables by name or symbol, in order, with helpful errors."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._by_name: dict[str, Variable] = {}
        self._by_symbol: dict[int, str] = {}

    def add(self, variable: Variable) -> ca.SX:
        """Enter a variable; its symbol."""
        if variable.name in self._by_name:
            raise OptimalControlError(f"{self._label}: the name {variable.name!r} is taken")
        self._by_name[variable.name] = variable
        self._by_symbol[variable.symbol.element_hash()] = variable.name
        return variable.symbol

    def replace(self, variable: Variable) -> None:
        """Exchange a variable for another with the same name and symbol."""
        self._by_name[variable.name] = variable

    def find(self, key: Any, what: str = "name") -> Variable:
        """The variable with a name, a CasADi symbol, or a SymPy symbol's name.

        Raises
        ------
        OptimalControlError
            If there is none; the closest name is suggested.
        """
        name: str | None = None
        if isinstance(key, ca.SX):
            if key.is_scalar() and key.nnz() == 1 and key.is_symbolic():
                name = self._by_symbol.get(key.element_hash())
        else:
            name = getattr(key, "name", key)
        if name not in self._by_name:
            shown = str(key)
            if not self._by_name:
                raise OptimalControlError(
                    f"{self._label}: no {what} {shown!r}: nothing is declared yet; declare it "
                    "first (states, controls, algebraics, parameter, constant)"
                )
            raise OptimalControlError(
                f"{self._label}: no {what} {shown!r}{suggestion(shown, self._by_name)}; "
                f"have {', '.join(self._by_name)}"
            )
        return self._by_name[name]

    def check_within(self, conditions: Mapping[str, Mapping[str, Range]]) -> None:
        """Refuse conditions at a place ("start", "end") that bounds by name do not allow.

        Raises
        ------
        OptimalControlError
            With both ranges.
        """
        for where, ranges in conditions.items():
            for name, (low, high) in ranges.items():
                own_low, own_high = self._by_name[name].bounds
                if low > own_high or high < own_low:
                    raise OptimalControlError(
                        f"{self._label}: {name} at the {where} must be in [{low:g}, {high:g}], "
                        f"which is outside its bounds [{own_low:g}, {own_high:g}]"
                    )

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


def column(symbols: Sequence[Any]) -> ca.SX:
    """Column of SX scalars; 0x1 if there are none."""
    return ca.vertcat(*symbols) if len(symbols) else ca.SX(0, 1)
