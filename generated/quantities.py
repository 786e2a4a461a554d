"""Named numbers with units: small read-only containers that print as tables."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .errors import ModelInputError, suggestion


@dataclass(frozen=True)
class Quantity:
    """A coordinate, velocity or input: name, SI unit, LaTeX symbol, meaning, kind."""

    name: str
    unit: str
    symbol: str = ""
    description: str = ""
    kind: str = "other"

    def __str__(self) -> str:
        return f"{self.name} [{self.unit}]"


class Quantities(Sequence[Quantity]):
    """An ordered list of quantities; items by position or by name.

    ``robot.coordinates["roll"]``, ``robot.coordinates.index("roll")``,
    ``robot.coordinates.names``.
    """

    def __init__(self, title: str, items: Sequence[Quantity]) -> None:
        self.title = title
        self._items = tuple(items)
        self._position = {item.name: k for k, item in enumerate(self._items)}

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(self._position)

    @property
    def units(self) -> tuple[str, ...]:
        """SI units in order."""
        return tuple(item.unit for item in self._items)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Position of a name (or of a quantity).

        Raises
        ------
        ModelInputError
            If there is none of that name; the closest one is suggested.
        """
        name = value.name if isinstance(value, Quantity) else value
        if name not in self._position:
            raise ModelInputError(
                f"no {name!r} among the {self.title}{suggestion(name, self._position)}"
            )
        return self._position[name]

    @overload
    def __getitem__(self, key: int | str) -> Quantity: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Quantity]: ...
    def __getitem__(self, key: int | str | slice) -> Quantity | Sequence[Quantity]:
        return self._items[self.index(key) if isinstance(key, str) else key]

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, value: object) -> bool:
        return value in self._position or value in self._items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantities) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    def __str__(self) -> str:
        return ", ".join(map(str, self._items)) or "none"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (str(k), item.name, item.unit, item.description) for k, item in enumerate(self._items)
        ]

    def __repr__(self) -> str:
        return f"{len(self)} {self.title}\n" + text_table(("", "name", "unit", ""), self._rows())

    def _repr_html_(self) -> str:
        return html_table(("", "name", "unit", "meaning"), self._rows())


class Parameters(Mapping[str, float]):
    """Values of a robot's parameters by name, with units, defaults and sources; read-only.

    Change values with ``robot.with_parameters(name=value)``.
    """

    def __init__(self, entries: Sequence[Mapping[str, Any]], values: Mapping[str, float]) -> None:
        self._entries = {entry["name"]: entry for entry in entries}
        self._values = {name: float(values[name]) for name in self._entries}

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            raise KeyError(f"no parameter {name!r}{suggestion(name, self._values)}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def units(self) -> dict[str, str]:
        """SI unit of each parameter."""
        return {name: entry["unit"] for name, entry in self._entries.items()}

    @property
    def sources(self) -> dict[str, str]:
        """Where each default value is from."""
        return {name: entry["source"] for name, entry in self._entries.items()}

    @property
    def defaults(self) -> dict[str, float]:
        """Default values."""
        return {name: float(entry["default"]) for name, entry in self._entries.items()}

    @property
    def changed(self) -> dict[str, float]:
        """The values that differ from their defaults."""
        return {n: v for n, v in self._values.items() if v != float(self._entries[n]["default"])}

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for name, entry in self._entries.items():
            value, default = self._values[name], float(entry["default"])
            note = "" if value == default else f"(default {default:g}) "
            about = "; ".join(t for t in (entry["description"], entry["source"]) if t)
            rows.append((name, f"{value:g}", entry["unit"], note + about))
        return rows

    def __repr__(self) -> str:
        heads = ("name", "value", "unit", "")
        return f"{len(self)} parameters\n" + text_table(heads, self._rows())

    def _repr_html_(self) -> str:
        return html_table(("name", "value", "unit", "meaning and source"), self._rows())


class Meta(Mapping[str, Any]):
    """What is known of a robot besides its numbers; read-only."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        if key not in self._values:
            raise KeyError(f"no {key!r} in meta{suggestion(key, self._values)}")
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _rows(self) -> list[tuple[str, ...]]:
        def text(value: Any) -> str:
            if isinstance(value, Mapping):
                return ", ".join(f"{k} {v}" for k, v in value.items())
            if isinstance(value, (list, tuple)):
                names = (v["name"] if isinstance(v, Mapping) and "name" in v else v for v in value)
                return ", ".join(map(str, names))
            return str(value)

        return [(key, text(value)) for key, value in self._values.items()]

    def __repr__(self) -> str:
        return text_table(("", ""), self._rows())

    def _repr_html_(self) -> str:
        return html_table(("", ""), self._rows())


class Trajectory(tuple[NDArray[np.float64], NDArray[np.float64]]):
    """What a rollout returns: the pair ``(q, p)`` with the times and step counts beside it.

    ``q`` has shape (K, NQ), ``p`` (K, NP), ``times`` (K,) in seconds.
    ``statistics`` counts accepted and rejected steps and evaluations of an
    adaptive rollout; it is None for fixed steps.
    """

    times: NDArray[np.float64]
    statistics: Mapping[str, int] | None

    def __new__(
        cls,
        times: NDArray[np.float64],
        q: NDArray[np.float64],
        p: NDArray[np.float64],
        statistics: Mapping[str, int] | None = None,
    ) -> Trajectory:
        """Pair of states with their times."""
        self = super().__new__(cls, (q, p))
        self.times, self.statistics = times, statistics
        return self

    def __getnewargs__(self) -> Any:
        return self.times, self.q, self.p, self.statistics

    @property
    def q(self) -> NDArray[np.float64]:
        """Coordinates, shape (K, NQ)."""
        return self[0]

    @property
    def p(self) -> NDArray[np.float64]:
        """Quasi-velocities, shape (K, NP)."""
        return self[1]

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} to {self.times[-1]:g} s" if len(self.times) else "empty"
        counts = ", ".join(f"{v} {k}" for k, v in (self.statistics or {}).items())
        return f"Trajectory({len(self.times)} states, {span}{', ' + counts if counts else ''})"


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to equal width; heads are left out where all are empty."""
    lines = [*([tuple(heads)] if any(heads) else []), *rows]
    widths = [max((len(line[k]) for line in lines), default=0) for k in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as HTML, for notebooks."""
    head = "".join(f"<th>{html.escape(h)}</th>" for h in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"
