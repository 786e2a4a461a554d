"""Pictures of solutions: motions with their limits and nodes, meshes, costates.

Every function returns a matplotlib figure and shows nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bestiary.generated.errors import suggestion

from ..writing import replacing
from .active import Arc, arcs
from .costates import node_rows
from .errors import OptimalControlError
from .record import PhaseRecord, Quantity
from .sampling import node_times, per

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .solution import Solution

Array: TypeAlias = np.ndarray

COLORS = ("#0b6fb8", "#d1495b", "#2a9d6f", "#e09f3e", "#7b5ea7", "#4a4e57", "#c06c9e", "#5aa9c7")
INK = "#3a3f47"
FORBIDDEN = "#9aa0a8"
MOST_CURVES = 6
POINTS = 16
"""Points an interval that a curve is drawn through."""
MOST_MARKS = 40
NEAR = 0.6
"""A limit within this many ranges of the data is brought into the picture."""


def plot_solution(
    solution: Solution,
    *names: str | Sequence[str],
    phase: str | None = None,
    nodes: bool = True,
    limits: bool = True,
    replay: bool = True,
    columns: int | None = None,
) -> Figure:
    """States, controls, algebraic variables and paths over time.

    Parameters
    ----------
    names:
        What to show; a list of names shares a panel.  By default everything, quantities
        of one kind and unit together.
    phase:
        Only this one.
    nodes:
        Whether to mark the solver's nodes.
    limits:
        Whether to draw bounds and end conditions.
    replay:
        Whether to mark the motion that re-simulating the controls gives.
    columns:
        Of panels; found from their number by default.

    Returns
    -------
    matplotlib.figure.Figure
        Curves are the solver's own polynomials; dots its nodes; crosses the open-loop
        re-simulation at ends of intervals; dashed lines limits, with a broad band under
        the curve where one is active; open squares end conditions; dotted vertical lines
        knots; grey stripes every other phase.

    Raises
    ------
    OptimalControlError
        For a name that the solution does not have.
    """
    phases = solution._chosen(phase)
    panels = _panels(phases, names, solution.name)
    figure, axes = _grid(len(panels), columns)
    replays = solution._replays if replay else None
    shown = {p.name for p in phases}
    numbers = [k for k, p in enumerate(solution.record.phases) if p.name in shown]
    for ax, panel in zip(axes, panels, strict=False):
        _draw_panel(ax, panel, phases, nodes=nodes, limits=limits)
        if replays is not None:
            for number, record in zip(numbers, phases, strict=True):
                _draw_replay(ax, panel, record, replays[number])
    _finish(axes[: len(panels)], phases, panels)
    _key(figure, phases, panels, nodes=nodes, limits=limits, replay=replays is not None)
    _title(figure, solution)
    return figure


def plot_costates(solution: Solution, *names: str, phase: str | None = None) -> Figure:
    """Costates of the states (all of them by default) at the nodes."""
    solution._open()
    phases = solution._chosen(phase)
    every = list(dict.fromkeys(q.name for p in phases for q in p.states))
    chosen = list(names) or every
    for name in chosen:
        if name not in every:
            raise OptimalControlError(
                f"{solution.name}: no state {name!r}{suggestion(name, every)}; "
                f"have {', '.join(every)}"
            )
    figure, axes = _grid(len(chosen), None)
    for ax, name in zip(axes, chosen, strict=False):
        for record in phases:
            k = next((k for k, q in enumerate(record.states) if q.name == name), None)
            if k is not None:
                ax.plot(
                    node_times(record), record.costates[:, k], "o-", color=COLORS[0], ms=2.5, lw=1.3
                )
                unit = record.states[k].unit
                ax.set_ylabel(f"costate of {name}" + (f" [{per(unit)}]" if unit else ""))
    _finish(axes[: len(chosen)], phases, [])
    _title(figure, solution)
    return figure


def plot_refinement(solution: Solution) -> Figure:
    """The meshes of a solve, and the error of each of their intervals.

    Above, the relative error of every interval, one line a mesh, with the tolerance;
    below, the meshes themselves, the first one on top.  Errors below a ten-thousandth of
    the tolerance are drawn there.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    record = solution.record
    rounds = [r for r in record.rounds if any(len(e) for e in r.errors)]
    if not rounds:
        raise OptimalControlError(f"{record.name}: no mesh was measured")
    figure, (above, below) = plt.subplots(
        2, 1, sharex=True, figsize=(8.5, 5.2), layout="constrained",
        gridspec_kw={"height_ratios": [2.2, 1 + 0.12 * len(rounds)]},
    )  # fmt: skip
    shades = plt.get_cmap("viridis_r")(np.linspace(0.08, 0.95, len(rounds)))
    tolerance = solution.options.get("tolerance")
    smallest = 1e-4 * tolerance if isinstance(tolerance, float) else 1e-12
    for number, (made, shade) in enumerate(zip(rounds, shades, strict=True)):
        for k, (edges, errors) in enumerate(zip(made.edges, made.errors, strict=True)):
            # a round that failed has infinite errors: drawn nowhere, told in the label
            value = np.where(np.isfinite(errors), np.maximum(errors, smallest), np.nan)
            label = (
                f"mesh {made.number}: {made.intervals} intervals"
                + (f", {made.knots} knot{'s' * (made.knots > 1)}" if made.knots else "")
                + ("" if made.status == "SOLVED" else f" ({made.status.lower()})")
            )
            above.stairs(
                value, edges, baseline=None, color=shade, lw=1.6, label=label if k == 0 else None
            )
            below.vlines(edges, number - 0.36, number + 0.36, color=shade, lw=1.1)
    if isinstance(tolerance, float):
        above.axhline(tolerance, color=COLORS[1], ls="--", lw=1.2, label="tolerance")
    if record.rounds[-1].knots:
        times = [b for p in record.phases for b in p.motion.boundaries[1:-1]]
        below.plot(
            times, [len(rounds) - 1 + 0.55] * len(times), "^", color=COLORS[1], ms=6, label="knots",
            clip_on=False,
        )  # fmt: skip
        below.legend(loc="upper right", fontsize=8, framealpha=0.9)
    above.set_yscale("log")
    above.yaxis.set_major_locator(LogLocator(numticks=7))
    above.set_ylabel("relative error of an interval")
    above.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.005, 1.0), frameon=False)
    below.set_yticks(range(len(rounds)), [str(r.number) for r in rounds])
    below.set_ylim(len(rounds) - 0.3, -0.6)
    below.set_ylabel("mesh")
    below.set_xlabel("time [s]")
    for ax in (above, below):
        _style(ax)
    below.grid(visible=False)
    _title(figure, solution, solution.success and not solution.sealed)
    return figure


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure, whole or not at all, and close it; the suffix says the format.

    Raises
    ------
    WriteError
        (An OSError) if the folder is missing or cannot be written.
    ValueError
        If matplotlib does not know the format.
    """
    import matplotlib.pyplot as plt

    try:
        with replacing(path, "plot") as temporary:
            figure.savefig(temporary, dpi=150)
    finally:
        plt.close(figure)
    return path


# -- panels ------------------------------------------------------------------------------
def _panels(
    phases: Sequence[PhaseRecord], names: Sequence[str | Sequence[str]], label: str
) -> list[list[str]]:
    known = list(dict.fromkeys(n for p in phases for n in p.names()))
    if names:
        chosen = [[n] if isinstance(n, str) else list(n) for n in names]
        for name in (n for panel in chosen for n in panel):
            if name not in known:
                raise OptimalControlError(
                    f"{label}: no quantity {name!r}{suggestion(name, known)}; "
                    f"have {', '.join(known)}"
                )
        return chosen
    groups: dict[tuple[str, str], list[str]] = {}
    for record in phases:
        for kind, quantities in record.groups():
            for q in quantities:
                # without a unit nothing says that two quantities belong together
                key = (kind, q.unit or q.name)
                if q.name not in groups.setdefault(key, []):
                    groups[key].append(q.name)
    return [
        group[first : first + MOST_CURVES]
        for group in groups.values()
        for first in range(0, len(group), MOST_CURVES)
    ]


def _grid(count: int, columns: int | None) -> tuple[Figure, list[Axes]]:
    import matplotlib.pyplot as plt

    wide = columns or (1 if count <= 3 else 2 if count <= 12 else 3)
    rows = -(-count // wide)
    size = ({1: 8.0, 2: 11.0}.get(wide, 14.0), 0.9 + {1: 2.3, 2: 2.1}.get(wide, 1.9) * rows)
    figure, axes = plt.subplots(
        rows, wide, sharex=True, figsize=size, layout="constrained", squeeze=False
    )
    flat = list(axes.T.ravel())  # down the columns: states first, then controls
    for ax in flat[count:]:
        ax.set_visible(False)
    return figure, flat


def _draw_panel(
    ax: Axes, panel: Sequence[str], phases: Sequence[PhaseRecord], *, nodes: bool, limits: bool
) -> None:
    lows, highs = [], []
    for number, name in enumerate(panel):
        color = COLORS[number % len(COLORS)]
        labelled = False
        for record in phases:
            found = _find(record, name)
            if found is None:
                continue
            kind, k, quantity = found
            times, values = _curve(record, kind, k)
            label = None if labelled else name
            ax.plot(times, values, color=color, lw=1.7, label=label, zorder=3)
            labelled = True
            if nodes:
                at, own = _node_values(record, kind, k)
                ax.plot(at, own, "o", ms=3.2, mfc="white", mec=color, mew=0.8, zorder=4)
            for arc in arcs(record, kind, k):
                _draw_arc(ax, arc, times, values, color)
            finite = values[np.isfinite(values)]
            lows.append(np.min(finite, initial=np.inf))
            highs.append(np.max(finite, initial=-np.inf))
            if limits:
                _draw_ends(ax, record, quantity, color)
    if limits:
        _draw_limits(ax, panel, phases, min(lows, default=0.0), max(highs, default=0.0))
    ax.set_ylabel(_label(panel, phases))


def _curve(record: PhaseRecord, kind: str, k: int) -> tuple[Array, Array]:
    """The polynomials of all intervals; a jump between two becomes a vertical line."""
    motion = record.motion
    places = np.linspace(0.0, 1.0, POINTS)
    times = (motion.edges[:-1, None] + np.diff(motion.edges)[:, None] * places).ravel()
    if kind == "path":
        inside = np.clip(
            places, 1e-9, 1 - 1e-9
        )  # so that each end belongs to the interval it is drawn in
        at = (motion.edges[:-1, None] + np.diff(motion.edges)[:, None] * inside).ravel()
        return times, record.paths_at(at)[:, k]
    return times, motion.on_intervals(places, _PLURAL[kind])[:, :, k].ravel()


_PLURAL = {"state": "states", "control": "controls", "algebraic": "algebraics"}


def _node_values(record: PhaseRecord, kind: str, k: int) -> tuple[Array, Array]:
    motion, layout = record.motion, record.motion.layout
    if kind == "state":
        return layout.state_times(motion.boundaries), motion.states[:, k]
    times = layout.rate_times(motion.boundaries)
    if kind == "path":
        return times, record.path_values[node_rows(layout)[1] >= 0, k]
    return times, (motion.controls if kind == "control" else motion.algebraics)[:, k]


def _draw_arc(ax: Axes, arc: Arc, times: Array, values: Array, color: str) -> None:
    inside = np.flatnonzero((times >= arc.start) & (times <= arc.end))
    jump = np.flatnonzero(np.diff(times[inside]) <= 0)  # both sides of an edge are drawn through
    first = jump[0] + 1 if len(jump) and jump[0] == 0 else 0
    last = jump[-1] + 1 if len(jump) and jump[-1] == len(inside) - 2 else len(inside)
    own = inside[first:last]
    ax.plot(times[own], values[own], color=color, lw=7, alpha=0.22, solid_capstyle="butt", zorder=2)


def _draw_ends(ax: Axes, record: PhaseRecord, quantity: Quantity, color: str) -> None:
    motion = record.motion
    for ranges, time in ((record.start, motion.start), (record.end, motion.end)):
        if quantity.name not in ranges:
            continue
        low, high = ranges[quantity.name]
        style: dict[str, Any] = {"color": color, "zorder": 5, "clip_on": False}
        if low == high:
            ax.plot([time], [low], "s", ms=6, mfc="white", mew=1.3, **style)
        elif np.isfinite(low) and np.isfinite(high):
            ax.plot([time, time], [low, high], "_-", ms=7, lw=1.3, **style)


def _draw_limits(
    ax: Axes, panel: Sequence[str], phases: Sequence[PhaseRecord], low: float, high: float
) -> None:
    """Limits near the data as dashed lines; what lies beyond all of them is hatched."""
    if not low <= high:
        return
    size = max(high - low, 1e-9 * max(abs(low), abs(high), 1.0))
    near: list[float] = []
    for number, name in enumerate(panel):
        color = COLORS[number % len(COLORS)] if len(panel) > 1 else INK
        for record in phases:
            found = _find(record, name)
            if found is None:
                continue
            motion = record.motion
            for value in (found[2].low, found[2].high):
                if not low - NEAR * size <= value <= high + NEAR * size:
                    continue
                near.append(value)
                ax.hlines(
                    value, motion.start, motion.end, colors=color, ls=(0, (5, 3)), lw=1.1, zorder=2
                )
    bottom, top = min([low, *near]), max([high, *near])
    margin = 0.07 * max(top - bottom, size)
    ax.set_ylim(bottom - margin, top + margin)
    if len(panel) > 1:
        return
    for record in phases:
        found = _find(record, panel[0])
        if found is None:
            continue
        span = record.motion.start, record.motion.end
        style: dict[str, Any] = {
            "facecolor": "none", "edgecolor": FORBIDDEN, "hatch": "////", "lw": 0, "alpha": 0.55,
            "zorder": 1,
        }  # fmt: skip
        if found[2].low in near:
            ax.fill_between(span, bottom - margin, found[2].low, **style)
        if found[2].high in near:
            ax.fill_between(span, found[2].high, top + margin, **style)


def _draw_replay(ax: Axes, panel: Sequence[str], record: PhaseRecord, replay: Any) -> None:
    times = np.append(record.motion.start, replay.times)
    step = max(1, len(times) // MOST_MARKS)
    for name in panel:
        found = _find(record, name)
        if found is None or found[0] != "state":
            continue
        values = replay.states[:, found[1]]
        low, high = (
            np.min(record.motion.states[:, found[1]]),
            np.max(record.motion.states[:, found[1]]),
        )
        room = 0.5 * max(high - low, 1e-9)
        inside = np.isfinite(values) & (values > low - room) & (values < high + room)
        ax.plot(
            times[inside][::step], values[inside][::step], "+", color="black", ms=5.5, mew=0.9,
            alpha=0.75, zorder=6,
        )  # fmt: skip


def _find(record: PhaseRecord, name: str) -> tuple[str, int, Quantity] | None:
    for kind, quantities in record.groups():
        for k, quantity in enumerate(quantities):
            if quantity.name == name:
                return kind, k, quantity
    return None


def _label(panel: Sequence[str], phases: Sequence[PhaseRecord]) -> str:
    found = [f for name in panel for r in phases if (f := _find(r, name)) is not None]
    units = list(dict.fromkeys(f[2].unit for f in found))
    kinds = list(dict.fromkeys(f[0] for f in found))
    unit = f" [{units[0]}]" if len(units) == 1 and units[0] else ""
    if len(panel) == 1:
        return f"{panel[0]}{unit}"
    plural = {**_PLURAL, "path": "paths"}
    return (plural[kinds[0]] if len(kinds) == 1 else "") + unit


def _finish(
    axes: Iterable[Axes], phases: Sequence[PhaseRecord], panels: Sequence[Sequence[str]]
) -> None:
    listed = list(axes)
    for number, ax in enumerate(listed):
        _style(ax)
        for k, record in enumerate(phases):
            motion = record.motion
            if k % 2:
                ax.axvspan(motion.start, motion.end, color="#000000", alpha=0.045, lw=0, zorder=0)
            for knot in motion.boundaries[1:-1]:
                ax.axvline(knot, color=INK, ls=":", lw=1.0, zorder=1)
            if number == 0 and len(phases) > 1:
                ax.annotate(
                    record.name, ((motion.start + motion.end) / 2, 1.0),
                    xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                    ha="center", va="bottom", fontsize=8, color=INK,
                )  # fmt: skip
        if number < len(panels) and len(panels[number]) > 1:
            ax.legend(fontsize=8, ncols=1 + len(panels[number]) // 4, framealpha=0.85, loc="best")
        ax.margins(x=0.02)
        if ax.get_subplotspec().is_last_row() or ax is listed[-1]:  # type: ignore[union-attr]
            ax.set_xlabel("time [s]")
            ax.tick_params(labelbottom=True)


def _key(
    figure: Figure,
    phases: Sequence[PhaseRecord],
    panels: Sequence[Sequence[str]],
    *,
    nodes: bool,
    limits: bool,
    replay: bool,
) -> None:
    """One legend for the marks that all panels share."""
    from matplotlib.lines import Line2D

    found = [(r, f) for panel in panels for n in panel for r in phases if (f := _find(r, n))]
    is_state = any(f[0] == "state" for _, f in found)
    bounded = any(np.isfinite(f[2].low) or np.isfinite(f[2].high) for _, f in found)
    ended = any(f[2].name in r.start or f[2].name in r.end for r, f in found)
    active = any(arcs(r, f[0], f[1]) for r, f in found)
    knots = any(len(r.motion.boundaries) > 2 for r in phases)
    marks: list[tuple[bool, str, dict[str, Any]]] = [
        (nodes, "node", {"marker": "o", "ms": 4, "mfc": "white", "mec": INK, "ls": ""}),
        (replay and is_state, "re-simulated", {"marker": "+", "ms": 6, "color": "black", "ls": ""}),
        (
            limits and ended,
            "end condition",
            {"marker": "s", "ms": 6, "mfc": "white", "mec": INK, "ls": ""},
        ),
        (limits and bounded, "limit", {"ls": (0, (5, 3)), "lw": 1.1, "color": INK}),
        (active, "active limit", {"lw": 7, "alpha": 0.25, "color": INK}),
        (knots, "knot", {"ls": ":", "lw": 1.2, "color": INK}),
    ]
    handles = [Line2D([], [], label=text, **style) for shown, text, style in marks if shown]
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=len(handles),
            fontsize=8,
            frameon=False,
        )


def _style(ax: Axes) -> None:
    ax.grid(alpha=0.25, lw=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=9)


def _title(figure: Figure, solution: Solution, with_cost: bool = True) -> None:
    cost = f"  ·  cost {solution.record.cost:.8g}" if with_cost else ""
    status = "solved" if solution.success else f"NOT SOLVED: {solution.status.value}"
    figure.suptitle(
        f"{solution.name}  ·  {status}{cost}",
        fontsize=11,
        color=INK if solution.success else COLORS[1],
    )
