"""Pictures of results: coordinates, energy, momentum, and the robot itself.

Every function returns a matplotlib figure and shows nothing by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from .simulation import energy_error

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_coordinates(result: xr.Dataset, groups: Sequence[Sequence[str]] = ()) -> Figure:
    """Coordinates over time, one panel a group of names (all of a unit together by default).

    Raises
    ------
    KeyError
        If a name is not a coordinate of the result.
    """
    names = [str(n) for n in result.coordinate.values]
    units = dict(zip(names, result.coordinate_unit.values, strict=True))
    if not groups:
        groups = [[n for n in names if units[n] == unit] for unit in dict.fromkeys(units.values())]
    unknown = sorted({n for g in groups for n in g} - set(names))
    if unknown:
        raise KeyError(f"no coordinate {', '.join(unknown)}; have {', '.join(names)}")
    figure, axes = _panels(len(groups))
    for ax, group in zip(axes, groups, strict=True):
        for name in group:
            ax.plot(result.time, result.q.sel(coordinate=name), label=name)
        unit = units[group[0]]
        ax.set_ylabel({"rad": "angle [rad]", "m": "position [m]"}.get(unit, f"[{unit}]"))
        _legend(ax)
    axes[-1].set_xlabel("time [s]")
    return figure


def plot_attitude(result: xr.Dataset) -> Figure:
    """Yaw, pitch and roll of the base [deg].

    Raises
    ------
    ValueError
        If the result has no attitude: see :mod:`.attitude`.
    """
    if "attitude" not in result:
        raise ValueError("the result has no attitude; add it with solvers.attitude.add_attitude")
    figure, (ax,) = _panels(1)
    for name in result.attitude_angle.values:
        angle = np.degrees(result.attitude.sel(attitude_angle=name))
        ax.plot(result.time, angle, label=str(name), ls={"pitch": "--", "yaw": ":"}.get(name))
    ax.set_ylabel("attitude [deg]")
    ax.set_xlabel("time [s]")
    _legend(ax)
    return figure


def plot_energy(result: xr.Dataset) -> Figure:
    """Energies over time and, where the work is known, the error of their balance below."""
    known = "work" in result
    figure, axes = _panels(2 if known else 1)
    axes[0].plot(result.time, result.kinetic_energy, label="kinetic")
    start = float(result.potential_energy[0])
    axes[0].plot(result.time, result.potential_energy - start, label="potential, from start")
    axes[0].set_ylabel("energy [J]")
    if known:
        axes[0].plot(result.time, result.work, "--", label="work done on the robot")
        axes[1].plot(result.time, energy_error(result), color="tab:red")
        axes[1].set_ylabel("balance error [J]")
    _legend(axes[0])
    axes[-1].set_xlabel("time [s]")
    return figure


def plot_momentum(result: xr.Dataset) -> Figure:
    """Angular momentum about the centre of mass and linear momentum, world axes."""
    figure, axes = _panels(2)
    labels = ("angular momentum [kg m²/s]", "linear momentum [kg m/s]")
    for ax, kind, label in zip(axes, ("angular", "linear"), labels, strict=True):
        for axis in "xyz":
            values = result.momentum.sel(momentum_part=f"{kind}_{axis}")
            ax.plot(result.time, values, label=axis)
        ax.set_ylabel(label)
        _legend(ax)
    axes[-1].set_xlabel("time [s]")
    return figure


SIDES = {"left": "tab:red", "right": "tab:green"}  # port and starboard
CENTER = "tab:blue"


def skeleton(robot: Any, q: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Segments (node, from, to) in world axes [m] that show a robot's pose.

    Each body's frame is joined to its parent's, each further node to its body's frame.
    """
    position = {n["name"]: robot.node_pose(n["name"], q)[:3, 3] for n in robot.meta["nodes"]}
    segments = []
    for node in robot.meta["nodes"]:
        other = node["parent"] if node["name"] == node["body"] else node["body"]
        if other in position:
            segments.append((node["name"], position[other], position[node["name"]]))
    return segments


def draw_robot(
    robot: Any, q: np.ndarray, ax: Axes, color: str | None = None, linewidth: float = 2.5
) -> list[Any]:
    """Draw the skeleton of a pose into 3-D axes; returns the artists.

    Nodes named ``left…`` are red and ``right…`` green unless one colour is given.
    """
    artists = []
    for name, a, b in skeleton(robot, np.asarray(q, dtype=float)):
        own = color or SIDES.get(name.split("_")[0], CENTER)
        artists += ax.plot(*zip(a, b, strict=True), color=own, lw=linewidth, marker="o", ms=3)
    return artists


ELEVATION, AZIMUTH = 22, -60
TITLE_INCHES = 0.5
ANIMATED = (0.05, 0.17, 0.76, 0.92)
"""Margins of an animation, within which the labels of all axes find room."""
PLANES = ("xy", "xz", "yz")


def plot_poses(robot: Any, result: xr.Dataset, count: int = 5, view: str = "3d") -> Figure:
    """The robot at ``count`` times, side by side.

    ``view`` is ``"3d"`` or a plane of world axes, ``"xy"``, ``"xz"`` or ``"yz"``.

    Raises
    ------
    ValueError
        For another view.
    """
    import matplotlib.pyplot as plt

    if view != "3d" and view not in PLANES:
        raise ValueError(f"view {view!r} is not '3d' or one of {', '.join(PLANES)}")
    picked = np.linspace(0, result.sizes["time"] - 1, count).round().astype(int)
    columns = min(count, 3)
    rows = -(-count // columns)
    box, up = _extent(robot, result, picked), str(robot.meta["up"])
    if view == "3d":
        # a title above keeps clear of those of the poses, and these of the ticks above them
        height = 3.0 * rows + 0.6 * (rows - 1) + TITLE_INCHES
        figure = plt.figure(figsize=(4.2 * columns, height))
        top = 1 - 1.4 * TITLE_INCHES / height
        figure.subplots_adjust(0.0, 0.04, 0.97, top, 0.05, 0.3)
    else:
        figure = plt.figure(figsize=(4.2 * columns, 2.4 * rows + 0.3), layout="constrained")
    for k, index in enumerate(picked):
        projection = "3d" if view == "3d" else "rectilinear"
        ax: Any = figure.add_subplot(rows, columns, k + 1, projection=projection)
        if view == "3d":
            draw_robot(robot, result.q.values[index], ax)
            _frame(ax, box, up)
        else:
            _draw_plane(robot, result.q.values[index], ax, view, box, up)
        ax.set_title(f"t = {float(result.time[index]):.2f} s", fontsize=10)
    return figure


def _draw_plane(
    robot: Any, q: np.ndarray, ax: Any, plane: str, box: tuple[np.ndarray, np.ndarray], up: str
) -> None:
    """The skeleton of a pose projected on a plane of world axes."""
    i, j = ("xyz".index(axis) for axis in plane)
    for name, a, b in skeleton(robot, q):
        color = SIDES.get(name.split("_")[0], CENTER)
        ax.plot([a[i], b[i]], [a[j], b[j]], color=color, lw=2.5, marker="o", ms=3)
    for k, setter in ((i, ax.set_xlim), (j, ax.set_ylim)):
        setter(box[0][k], box[1][k])
    ax.set_aspect("equal")
    ax.grid(alpha=0.3)
    ax.set_xlabel(f"{plane[0]} [m]", fontsize=8)
    ax.set_ylabel(f"{plane[1]} [m]", fontsize=8)
    ax.tick_params(labelsize=7)
    if up.startswith("-") and up[-1] == plane[1]:
        ax.invert_yaxis()


def animate(
    robot: Any, result: xr.Dataset, frames: int = 60, interval_ms: float | None = None
) -> FuncAnimation:
    """Animation of a motion in real time (or with the given interval between frames)."""
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    picked = np.linspace(0, result.sizes["time"] - 1, frames).round().astype(int)
    duration = float(result.time[-1] - result.time[0])
    figure = plt.figure(figsize=(5, 4.5))
    figure.subplots_adjust(*ANIMATED)
    ax: Any = figure.add_subplot(projection="3d")
    lines = draw_robot(robot, result.q.values[picked[0]], ax)
    _frame(ax, _extent(robot, result, picked), str(robot.meta["up"]))

    def update(index: int) -> list[Any]:
        for line, (_, a, b) in zip(lines, skeleton(robot, result.q.values[index]), strict=True):
            line.set_data_3d(*zip(a, b, strict=True))
        ax.set_title(f"t = {float(result.time[index]):.2f} s")
        return lines

    interval = 1000 * duration / frames if interval_ms is None else interval_ms
    return FuncAnimation(figure, update, frames=list(picked), interval=interval, blit=False)


def _extent(
    robot: Any, result: xr.Dataset, picked: Sequence[int] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Corners of a box around all pictured poses, no side shorter than a third of the longest."""
    points = np.array([s[1:] for i in picked for s in skeleton(robot, result.q.values[i])])
    points = points.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    center, half = (low + high) / 2, (high - low) / 2
    half = np.maximum(half * 1.05, max(float(half.max()) / 3, 1e-3))
    return center - half, center + half


def _frame(ax: Any, box: tuple[np.ndarray, np.ndarray], up: str) -> None:
    low, high = box
    for k, axis in enumerate("xyz"):
        getattr(ax, f"set_{axis}lim")(low[k], high[k])
        getattr(ax, f"set_{axis}label")(f"{axis} [m]", fontsize=8)
        getattr(ax, f"{axis}axis").set_major_locator(_few_ticks())
    ax.set_box_aspect(high - low, zoom=1.15)
    ax.tick_params(labelsize=6)
    ax.view_init(ELEVATION, AZIMUTH, vertical_axis=up.lstrip("-"))
    if up.startswith("-"):
        getattr(ax, f"invert_{up[-1]}axis")()
        if up == "-z":
            ax.invert_yaxis()  # keep the frame right-handed on paper


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        count, 1, sharex=True, figsize=(8, 2.4 * count + 0.6), layout="constrained", squeeze=False
    )
    for ax in axes[:, 0]:
        ax.grid(alpha=0.3)
    return figure, list(axes[:, 0])


def _legend(ax: Axes) -> None:
    columns = 1 + len(ax.get_lines()) // 5
    ax.legend(fontsize=8, ncols=columns, loc="best", framealpha=0.8)
