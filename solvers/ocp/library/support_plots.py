"""Pictures of supporting: the rat from the side, the torso's tilt, what the ground does.

Every function returns a matplotlib figure and shows nothing by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr

from .support_replay import LOADED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array: TypeAlias = np.ndarray

COLORS = ("#0b6fb8", "#d1495b", "#2a9d6f", "#e09f3e", "#7b5ea7", "#4a4e57")
INK = "#3a3f47"
ALLOWED = "#e3efe8"


def plot_side(robot: Any, motions: Mapping[str, xr.Dataset], poses: int = 5) -> Figure:
    """The rat from its left side at even times, one panel a motion; later is darker.

    Parameters
    ----------
    robot:
        With the parameters of the motions.
    motions:
        Title -> simulated motion.
    poses:
        How many.
    """
    figure, axes = _panels(len(motions), columns=1, width=7.5, height=2.6, share=False)
    for ax, (title, motion) in zip(axes, motions.items(), strict=True):
        times = motion.time.values
        for shade, at in enumerate(np.linspace(times[0], times[-1], poses)):
            k = int(np.argmin(np.abs(times - at)))
            _draw(ax, robot, motion.q.values[k], (shade + 1) / poses)
        ax.axhline(0.0, color=INK, lw=1.0, zorder=0)
        ax.set_aspect("equal")
        ax.set_xlabel("y [m]")
        ax.set_ylabel("z [m]")
        ax.set_title(f"{title}, {times[0]:.2g} to {times[-1]:.2g} s", fontsize=10)
    low = min(ax.get_xlim()[0] for ax in axes)
    high = max(ax.get_xlim()[1] for ax in axes)
    for ax in axes:
        ax.set_xlim(low, high)
    return figure


def _draw(ax: Axes, robot: Any, q: Array, shade: float) -> None:
    def place(node: str) -> Array:
        found: Array = robot.node_pose(node, q)[:3, 3]
        return found

    pose = robot.node_pose("torso", q)
    angle = np.linspace(0.0, 2.0 * math.pi, 73)
    shape = np.outer(pose[:3, 1], robot.parameters["torso_y"] * np.cos(angle))
    shape = shape + np.outer(pose[:3, 2], robot.parameters["torso_z"] * np.sin(angle))
    torso = pose[:3, 3][:, None] + shape
    style: dict[str, Any] = {"alpha": 0.15 + 0.85 * shade**2, "color": COLORS[0]}
    ax.plot(torso[1], torso[2], lw=1.4, **style)
    heel, toe = place("left_heel"), place("left_toe")
    leg = np.array([pose[:3, 3], heel, toe])
    ax.plot(leg[:, 1], leg[:, 2], lw=1.4, **style)
    nodes = [n["name"] for n in robot.meta["nodes"]]
    tail = [n for n in nodes if n.startswith(("link_", "segment_"))]
    base = pose[:3] @ [0.0, robot.parameters["tail_base_y"], robot.parameters["tail_base_z"], 1.0]
    line = np.array([base, *(place(n) for n in tail)])
    ax.plot(line[:, 1], line[:, 2], lw=2.0, alpha=style["alpha"], color=COLORS[1])
    ax.plot(*pose[1:3, 3], "o", ms=3, alpha=style["alpha"], color=INK)


def plot_tilt(motions: Mapping[str, xr.Dataset], cone: float, since: float = 0.0) -> Figure:
    """The torso's tilt from the vertical; the shaded band is the cone, from ``since`` on.

    Parameters
    ----------
    motions:
        Label -> motion with ``tilt``.
    cone:
        Half angle [rad].
    since:
        Time from which the torso has to be within it [s].
    """
    figure, (ax,) = _panels(1, columns=1, width=7.5, height=3.2)
    last = max(float(m.time[-1]) for m in motions.values())
    ax.fill_between([since, last], 0.0, math.degrees(cone), color=ALLOWED, label="cone", zorder=0)
    for color, (label, motion) in zip(COLORS, motions.items(), strict=False):
        ax.plot(motion.time, np.degrees(motion.tilt), color=color, label=label)
    ax.set_ylim(
        0.0, min(45.0, 1.05 * max(float(np.degrees(m.tilt.max())) for m in motions.values()))
    )
    ax.set_xlim(0.0, last)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("tilt of the torso [deg]")
    ax.legend(frameon=False, fontsize=9)
    return figure


def plot_ground(motion: xr.Dataset, nodes: Sequence[str] | None = None) -> Figure:
    """Normal force, friction, penetration and slip of each contact over time.

    Parameters
    ----------
    motion:
        With ``ground_force``, ``penetration`` and ``slip``.
    nodes:
        Which contacts; by default those that are ever loaded, and of left and right, which
        are alike in a symmetric motion, the left one.
    """
    if nodes is None:
        nodes = [str(n) for n in motion.contact.values if not str(n).startswith("right")]
    force = {n: motion.ground_force.sel(contact=n).values for n in nodes}
    nodes = [n for n in nodes if force[n][:, 2].max() > LOADED]
    figure, axes = _panels(4, columns=2, width=9.0, height=2.5)
    for color, node in zip(COLORS, nodes, strict=False):
        loaded = force[node][:, 2] > LOADED
        friction = np.hypot(force[node][:, 0], force[node][:, 1])
        depth = motion.penetration.sel(contact=node).values
        slip = motion.slip.sel(contact=node).values
        label = node.replace("_", " ")
        axes[0].plot(motion.time, force[node][:, 2], color=color, label=label)
        axes[1].plot(motion.time, friction, color=color)
        axes[2].plot(motion.time, 1e3 * np.where(loaded, depth, np.nan), color=color)
        axes[3].plot(motion.time, 1e3 * np.where(loaded, slip, np.nan), color=color)
    for ax, label in zip(
        axes,
        ("normal force [N]", "friction [N]", "penetration [mm]", "slip [mm/s]"),
        strict=True,
    ):
        ax.set_ylabel(label)
        ax.set_ylim(bottom=0.0)
    for ax in axes[2:]:
        ax.set_xlabel("time [s]")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def plot_rungs(rungs: Sequence[Any]) -> Figure:
    """Cost and iterations of the rungs of a ladder that were solved."""
    solved = [r for r in rungs if r.status.converged]
    figure, axes = _panels(2, columns=2, width=9.0, height=2.6)
    numbers = np.arange(1, len(solved) + 1)
    axes[0].plot(numbers, [r.cost for r in solved], "o-", color=COLORS[0], ms=4)
    axes[0].set_ylabel("cost")
    axes[1].bar(numbers, [r.iterations for r in solved], color=COLORS[0], width=0.7)
    axes[1].set_ylabel("iterations")
    for ax in axes:
        ax.set_xlabel("rung, from soft to stiff")
        ax.set_xticks(numbers)
    return figure


def _panels(
    count: int, *, columns: int, width: float, height: float, share: bool = True
) -> tuple[Figure, list[Axes]]:
    import matplotlib.pyplot as plt

    rows = math.ceil(count / columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(width, height * rows),
        layout="constrained",
        squeeze=False,
        sharex=share,
    )
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(color=INK, labelcolor=INK, labelsize=9)
    return figure, list(axes.ravel())
