"""The comparison of tails as text, as a CSV file and as pictures."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...writing import replacing
from .righting_comparison import ARCS, QUESTIONS, UNITS, tail_label

if TYPE_CHECKING:
    import xarray as xr

Array: TypeAlias = np.ndarray

TITLES = {
    "effort": "least effort, 180° in 0.4 s",
    "smoothness": "smoothest, 180° in 0.4 s",
    "time": "least time, 180°",
    "pitch": "largest pitch in 0.1 s",
}
COLUMNS = (
    ("cost", "cost", 1.0, ".5g"),
    ("duration", "time [s]", 1.0, ".4f"),
    ("turn", "turn [deg]", 1.0, ".1f"),
    ("peak_moment", "moment [mN m]", 1e3, ".1f"),
    ("peak_torque", "torque [mN m]", 1e3, ".1f"),
    ("bending", "bending [deg]", 1.0, ".0f"),
    ("iterations", "iterations", 1.0, ".0f"),
)
"""Figure, heading, factor and format."""


def rows(table: xr.Dataset) -> list[dict[str, Any]]:
    """Every tail and question as one row of plain values; NaN where it is not solved."""
    found = []
    for question in table.question.values:
        for segments in table.segments.values:
            for links in table.links.values:
                cell = table.sel(question=question, segments=segments, links=links)
                found.append(
                    {
                        "question": str(question),
                        "segments": int(segments),
                        "links": float(links),
                        "solved": bool(cell.solved),
                        "status": str(cell.status.values),
                        **{name: float(cell[name]) for name in UNITS},
                    }
                )
    return found


def table_text(table: xr.Dataset) -> str:
    """The comparison as a table in Markdown; what is not solved says how it ended."""
    lines = []
    heading = ["segments x links", *(label for _, label, _, _ in COLUMNS)]
    for question in table.question.values:
        cells = [heading]
        for row in rows(table.sel(question=[question])):
            tail = f"{row['segments']} x {tail_label(row['links'])}"
            if row["solved"]:
                told = [format(row[name] * factor, form) for name, _, factor, form in COLUMNS]
            else:
                told = [f"not solved: {row['status']}", *[""] * (len(COLUMNS) - 1)]
            cells.append([tail, *told])
        widths = [max(len(c[k]) for c in cells) for k in range(len(heading))]
        lines.append(f"{TITLES.get(str(question), question)}\n")
        for number, line in enumerate(cells):
            joined = " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True))
            lines.append(f"| {joined} |")
            if number == 0:
                lines.append("|" + "|".join("-" * (w + 2) for w in widths) + "|")
        lines.append("")
    return "\n".join(lines).rstrip()


def write_csv(table: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write every row with its units in the heading; the file."""
    found = rows(table)
    units = {k: f"{k} [{u}]" for k, u in UNITS.items() if u != "1"}
    with (
        replacing(path, "comparison of tails") as temporary,
        open(temporary, "w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow([units.get(k, k) for k in found[0]])
        for row in found:
            writer.writerow(row.values())
    return Path(path)


def continuum_gap(table: xr.Dataset, question: str) -> xr.DataArray:
    """Distance of an answer from that of the arcs, relative to it; over segments and links.

    Parameters
    ----------
    table:
        Of :func:`.righting_comparison.compare`, with ``math.inf`` among its links.
    question:
        Which; its figure is that of :data:`.righting_comparison.QUESTIONS`.
    """
    answer = table[QUESTIONS[question].figure].sel(question=question)
    arcs = answer.sel(links=ARCS)
    finite = answer.sel(links=[n for n in table.links.values if not math.isinf(n)])
    return abs(finite - arcs) / abs(arcs)


def plot_comparison(table: xr.Dataset, gaps: bool = True) -> Any:
    """Answers over the number of links, arcs dashed; below, their distance from the arcs.

    Parameters
    ----------
    table:
        Of :func:`.righting_comparison.compare`.
    gaps:
        Whether to show the distances, with slope -1 dotted.

    Returns
    -------
    matplotlib.figure.Figure
        What is not solved is marked by a cross on the axis.
    """
    import matplotlib.pyplot as plt

    questions = [str(q) for q in table.question.values]
    gaps = gaps and ARCS in table.links.values
    height, count = (2 if gaps else 1), len(questions)
    figure, axes = plt.subplots(
        height, count, figsize=(1 + 3.7 * count, 3.2 * height), squeeze=False, layout="constrained"
    )
    finite = np.array([n for n in table.links.values if not math.isinf(n)])
    for column, question in enumerate(questions):
        figure_name = QUESTIONS[question].figure
        answer = table[figure_name].sel(question=question)
        for number, segments in enumerate(table.segments.values):
            color, label = f"C{number}", f"{segments} segment" + "s" * int(segments > 1)
            values = answer.sel(segments=segments, links=finite).values
            top = axes[0][column]
            top.semilogx(finite, values, "o-", color=color, label=label)
            bad = finite[np.isnan(values)]
            top.plot(bad, np.full(len(bad), 0.03), "x", color=color,
                     transform=top.get_xaxis_transform())  # fmt: skip
            if gaps:
                top.axhline(float(answer.sel(segments=segments, links=ARCS)), color=color, ls="--",
                            lw=1)  # fmt: skip
                gap = continuum_gap(table, question).sel(segments=segments).values
                axes[1][column].loglog(finite, gap, "o-", color=color, label=label)
        unit = UNITS[figure_name]
        axes[0][column].set_title(TITLES.get(question, question), fontsize=10)
        axes[0][column].set_ylabel(figure_name + ("" if unit == "1" else f" [{unit}]"))
        if gaps:
            _slope(axes[1][column], finite, continuum_gap(table, question).values)
            axes[1][column].set_ylabel("distance from the arcs, relative")
    for ax in axes.flat:
        ax.set_xlabel("links of each segment")
        ax.set_xticks(finite, [f"{n:.0f}" for n in finite])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8, title="dashed: arcs" if gaps else None, title_fontsize=8)
    return figure


def _slope(axes: Any, links: Array, gap: Array) -> None:
    """A dotted line of slope -1 through the largest distance with the fewest links."""
    if np.all(np.isnan(gap)):
        return
    top = float(np.nanmax(gap[:, : max(1, len(links) - 1)]))
    axes.loglog(links, top * links[0] / links, ":", color="0.3", label="slope -1")
    axes.legend(fontsize=8)


__all__ = ["continuum_gap", "plot_comparison", "rows", "table_text", "write_csv"]
