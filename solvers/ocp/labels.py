"""What the numbers of a program stand for: names, units and times of its variables and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .transcription import Transcription

Array: TypeAlias = np.ndarray

ROW_WORDS = {
    "dynamics": "dynamics of",
    "equation": "equation",
    "path": "path constraint",
    "boundary": "condition",
    "integral": "integral",
    "knot": "time condition",
    "end value": "value of",
}


@dataclass(frozen=True)
class Label:
    """A quantity that many variables or rows stand for at different times.

    Attributes
    ----------
    kind:
        "state", "control", "algebraic", "time", "integral", "end value", "parameter"
        for variables; the kind of the :class:`.nlp.RowGroup` for rows.
    phase:
        Name of its phase; "" for what belongs to none, or if there is only one.
    name, unit:
        As stated by the user.
    """

    kind: str
    phase: str
    name: str
    unit: str

    def __str__(self) -> str:
        word = ROW_WORDS.get(self.kind, "") if self.kind != "end value" else ""
        prefix = f"{self.phase}: " if self.phase else ""
        return f"{prefix}{word} {self.name}" if word else f"{prefix}{self.name}"


class Labels:
    """Labels and times of all variables and rows of a transcription.

    Parameters
    ----------
    transcription:
        The program and its indices.
    x:
        (n,) decision vector: where free times stand.

    Attributes
    ----------
    labels:
        All labels; those of the variables come first.
    variable, row:
        (n,) and (m,) number of the label of each variable and row.
    variable_time, row_time:
        (n,), (m,) seconds; NaN where there is no time.
    variable_end:
        (n,) -1 for a state at the start of its phase, 1 at its end, else 0.
    """

    def __init__(self, transcription: Transcription, x: Array) -> None:
        program = transcription.program
        self._many = len(transcription.phases) > 1
        self.labels: list[Label] = []
        self.variable = np.zeros(program.size, dtype=int)
        self.variable_time = np.full(program.size, np.nan)
        self.variable_end = np.zeros(program.size, dtype=int)
        self.row = np.zeros(program.rows, dtype=int)
        self.row_time = np.full(program.rows, np.nan)
        for indices in transcription.phases:
            functions, name = indices.functions, indices.phase.name
            boundaries = indices.boundaries(x)
            state_times = indices.layout.state_times(boundaries)
            rate_times = indices.layout.rate_times(boundaries)
            for kind, entries, variables, times in (
                ("state", indices.states, functions.states, state_times),
                ("control", indices.controls, functions.controls, rate_times),
                ("algebraic", indices.algebraics, functions.algebraics, rate_times),
            ):
                for k, variable in enumerate(variables):
                    self._variable(entries[:, k], kind, name, variable.name, variable.unit)
                    self.variable_time[entries[:, k]] = times
            self.variable_end[indices.states[0]] = -1
            self.variable_end[indices.states[-1]] = 1
            for k, entry in enumerate(indices.times):
                if entry >= 0:
                    self._variable(entry, "time", name, _time_name(k, len(indices.times)), "s")
            for term, entry in zip(indices.phase.integrals, indices.integrals, strict=True):
                self._variable(entry, "integral", name, term.name, term.unit)
            units = {v.name: v.unit for v in functions.controls}
            for (where, control), entry in indices.endpoints.items():
                text = f"{control} at the {where}"
                self._variable(entry, "end value", name, text, units[control])
        for variable, entry in zip(
            transcription.problem.parameters, transcription.parameters, strict=True
        ):
            self._variable(entry, "parameter", "", variable.name, variable.unit)
        boundaries_of = {i.phase.name: i.boundaries(x) for i in transcription.phases}
        for group in program.groups:
            first = len(self.labels)
            for row_name, unit in zip(group.names, group.units, strict=True):
                self._add(group.kind, group.phase, row_name, unit)
            rows = slice(group.first, group.first + group.count)
            count = len(group.names)
            self.row[rows] = first + np.arange(group.count) % max(count, 1)
            if len(group.places):
                b = boundaries_of[group.phase]
                section = group.places[:, 0].astype(int)
                times = b[section] + group.places[:, 1] * np.diff(b)[section]
                self.row_time[rows] = np.repeat(times, count)

    def _add(self, kind: str, phase: str, name: str, unit: str) -> int:
        self.labels.append(Label(kind, phase if self._many else "", name, unit))
        return len(self.labels) - 1

    def _variable(self, entries: Array | int, kind: str, phase: str, name: str, unit: str) -> None:
        self.variable[entries] = self._add(kind, phase, name, unit)

    def of_variable(self, k: int) -> Label:
        """Label of a variable."""
        return self.labels[int(self.variable[k])]

    def of_row(self, k: int) -> Label:
        """Label of a row."""
        return self.labels[int(self.row[k])]


def at(time: float) -> str:
    """The words `at 0.5 s`, or nothing for NaN."""
    return "" if not np.isfinite(time) else f" at {time:.6g} s"


def with_unit(value: float, unit: str, digits: int = 4) -> str:
    """A number and its unit."""
    return f"{value:.{digits}g} {unit}".rstrip()


def listed(words: list[str], most: int = 4) -> str:
    """The words `a, b and c`, at most so many."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _time_name(k: int, count: int) -> str:
    return "start time" if k == 0 else "end time" if k == count - 1 else f"knot {k}"
