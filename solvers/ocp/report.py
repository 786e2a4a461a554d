"""The report on a solution: a text for terminals, tables for notebooks; nothing is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .labels import with_unit

if TYPE_CHECKING:
    from .solution import Solution

MOST_ACTIVE = 12


@dataclass(frozen=True)
class Section:
    """A part of a report: rows of cells under a title.

    Attributes
    ----------
    title:
        Of the part.
    rows:
        Cells; all rows of a table have equally many.
    header:
        Names of the columns, if there are any.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The part as text, its columns aligned."""
        table = [self.header, *self.rows] if self.header else list(self.rows)
        columns = max((len(r) for r in table), default=0)
        widths = [
            max(len(row[k]) for row in table if len(row) > max(k, 1)) if columns > 1 else 0
            for k in range(columns)
        ]
        lines = [self.title]
        for row in table:
            if len(row) == 1:
                lines.append(f"  {row[0]}")
                continue
            cells = [
                cell.ljust(width) if k == 0 and not self.header else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        return lines

    def html(self) -> str:
        """The part as an HTML table."""
        head = (
            "<tr>" + "".join(f"<th>{escape(c)}</th>" for c in self.header) + "</tr>"
            if self.header
            else ""
        )
        body = "".join(
            "<tr>"
            + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row)
            + "</tr>"
            for row in self.rows
        )
        return f"<h4>{escape(self.title)}</h4><table>{head}{body}</table>"


@dataclass(frozen=True)
class Report:
    """What :meth:`Solution.report` returns; its text is ``str(report)``.

    Attributes
    ----------
    title:
        Name and status.
    success:
        Whether the solution may be used.
    sections:
        Parts in order.
    """

    title: str
    success: bool
    sections: tuple[Section, ...]

    def __str__(self) -> str:
        lines = [self.title]
        for section in self.sections:
            lines += ["", *section.lines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)  # so that an interactive prompt shows it

    def _repr_html_(self) -> str:
        color = "#1a7f37" if self.success else "#b42318"
        head = f'<h3 style="color:{color}">{escape(self.title)}</h3>'
        return head + "".join(s.html() for s in self.sections)


def make_report(solution: Solution) -> Report:
    """The report on a solution, sealed or not."""
    verdict = solution.verdict
    word = "solved" if verdict.success else f"not solved: {verdict.status.value}"
    with np.errstate(all="ignore"):
        sections = [
            _sentences("what was found", verdict.reasons),
            _sentences("what to try next", [verdict.suggestion] if verdict.suggestion else []),
            _cost(solution),
            _times(solution),
            _rounds(solution),
            _errors(solution),
            _violations(solution),
            _active(solution),
        ]
    return Report(
        f"{solution.name}: {word}", verdict.success, tuple(s for s in sections if s is not None)
    )


def _sentences(title: str, told: Sequence[str]) -> Section | None:
    return Section(title, tuple((sentence,) for sentence in told)) if told else None


def _cost(solution: Solution) -> Section:
    record = solution.record
    title = "cost" if solution.success else "cost of the last iterate"
    rows = [("total", f"{record.cost:.9g}")]
    if len(record.costs) > 1:
        rows += [(name, f"{value:.9g}") for name, value in record.costs.items()]
    return Section(title, tuple(rows))


def _times(solution: Solution) -> Section:
    rows = []
    for phase in solution.record.phases:
        motion = phase.motion
        length = motion.end - motion.start
        rows.append(
            (phase.name, f"{motion.start:.6g} to {motion.end:.6g} s", f"{length:.9g} s long")
        )
    parameters = [
        (q.name, with_unit(value, q.unit, 9), "") for q, value in solution.record.parameters
    ]
    return Section("phases and parameters" if parameters else "phases", (*rows, *parameters))


def _rounds(solution: Solution) -> Section:
    rows = tuple(
        (
            str(r.number),
            str(r.intervals),
            str(r.nodes),
            str(r.knots),
            str(r.iterations),
            r.status.lower().replace("_", " "),
            f"{r.cost:.9g}",
            f"{r.error:.1e}",
            f"{r.overshoot:.1e}",
            f"{r.seconds:.2f}",
        )
        for r in solution.record.rounds
    )
    header = (
        "mesh", "intervals", "nodes", "knots", "iterations", "ended", "cost", "error",
        "between nodes", "s",
    )  # fmt: skip
    return Section(f"meshes ({solution.seconds:.2f} s in all)", rows, header)


def _errors(solution: Solution) -> Section:
    verdict = solution.verdict
    tolerance = solution.options.get("tolerance", float("nan"))
    rows = (
        ("dynamics between nodes", _error(verdict.mesh_error), f"tolerance {tolerance:.1e}"),
        ("cost", *_cost_error(verdict.cost_error)),
        ("limits between nodes", _error(verdict.overshoot), ""),
        ("re-simulated segments", _error(verdict.segment_error), ""),
        ("re-simulated open loop", _error(verdict.open_loop_error), ""),
    )
    return Section("errors, relative", rows)


def _cost_error(value: float | None) -> tuple[str, str]:
    if value is None:
        return "not known", ""
    side = "above" if value > 0 else "below"
    return _error(abs(value)), f"{side} the best one" if value else ""


def _error(value: float) -> str:
    return "not known" if np.isnan(value) else "infinite" if np.isinf(value) else f"{value:.1e}"


def _violations(solution: Solution) -> Section:
    found = solution.verdict.violations
    if not found:
        return Section("constraints", (("all are met",),))
    rows = tuple(
        (
            v.name,
            with_unit(v.amount, v.unit, 3),
            "" if v.time is None else f"at {v.time:.6g} s",
            f"{v.relative:.1e} relative",
            f"at {v.count} nodes" if v.count > 1 else "",
        )
        for v in found
    )
    return Section("constraints that are not met, worst first", rows)


def _active(solution: Solution) -> Section | None:
    active = sorted(solution.verdict.active.items(), key=lambda item: -item[1])
    if not active:
        return None
    rows = tuple((name, f"{100 * share:.0f} % of the time") for name, share in active)
    return Section("active limits", rows[:MOST_ACTIVE])
