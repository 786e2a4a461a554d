"""The main job end to end: build the sea lion, reproduce its matrix, let it swing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from bestiary.modeling.animals.sea_lion_published import Comparison


TITLES = {
    "swing_joints.png": "Head and pelvis bend to one side and carry the bend around",
    "swing_attitude.png": "The trunk rolls the other way, and keeps the angle",
    "swing_momentum.png": "Momentum must stay zero: what is seen is rounding",
    "swing_energy.png": "Kinetic energy equals the work of the joints (curves coincide)",
    "swing_poses.png": "Red: left (port); green: right (starboard)",
}


@dataclass(frozen=True)
class Outcome:
    """What the demo found, and the files it wrote."""

    comparison: list[Comparison]
    motion: xr.Dataset
    files: list[Path]

    def lines(self) -> list[str]:
        """The short summary, one finding a line."""
        from bestiary.solvers.simulation import energy_error

        from .cli.report import summary

        motion = self.motion
        yaw, pitch, roll = np.degrees(motion.attitude.values[-1])
        momentum = np.abs(motion.momentum.values)
        joints = motion.q.sel(coordinate=["head_pitch", "head_yaw", "pelvis_pitch", "pelvis_yaw"])
        return [
            f"published mass matrix (variant paper): {summary(self.comparison)}.",
            f"free swing of {float(motion.time[-1]):g} s, no weight, no water forces: head and "
            f"pelvis bend by up to {np.degrees(np.abs(joints.values).max()):.1f} deg and end "
            f"within {np.degrees(np.abs(joints.values[-1]).max()):.1e} deg of where they began;",
            f"the body has turned by roll {roll:.1f}, pitch {pitch:.1f}, yaw {yaw:.1f} deg;",
            f"momentum stays zero within {momentum[:, :3].max():.1e} kg m^2/s (angular) and "
            f"{momentum[:, 3:].max():.1e} kg m/s (linear);",
            f"energy balance T + U - W within {float(np.abs(energy_error(motion)).max()):.1e} J "
            f"of {float(motion.kinetic_energy.max()):.2f} J.",
        ]


def run_demo(folder: Path, progress: Callable[[float], None] | None = None) -> Outcome:
    """Compare, simulate, draw; the robots must have been built.

    Parameters
    ----------
    folder:
        Where figures and results go; made if it is missing.
    progress:
        Called with the fraction of the simulation that is done.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from bestiary import generated
    from bestiary.solvers import plots, results
    from bestiary.solvers.sea_lion import free_swing

    from .cli.report import sea_lion_comparison

    folder.mkdir(parents=True, exist_ok=True)
    robot = generated.load("sea_lion", base="quaternion")
    comparison = sea_lion_comparison("paper")
    motion = free_swing(robot, progress=progress)
    joints = ["head_pitch", "head_yaw", "pelvis_pitch", "pelvis_yaw"]
    figures = {
        "mass_matrix.png": plot_comparison(comparison),
        "swing_joints.png": plots.plot_coordinates(motion, [joints]),
        "swing_attitude.png": plots.plot_attitude(motion),
        "swing_momentum.png": plots.plot_momentum(motion),
        "swing_energy.png": plots.plot_energy(motion),
        "swing_poses.png": plots.plot_poses(robot, motion, 6),
    }
    files = []
    for name, figure in figures.items():
        if name in TITLES:
            figure.suptitle(TITLES[name], fontsize=11)
        figure.savefig(folder / name, dpi=110, bbox_inches="tight")
        plt.close(figure)
        files.append(folder / name)
    animation = plots.animate(robot, motion, frames=36)
    animation.save(folder / "swing.gif", writer="pillow", dpi=70)
    plt.close("all")
    files += [folder / "swing.gif", results.save(motion, folder / "swing.nc")]
    return Outcome(comparison, motion, files)


def plot_comparison(comparison: list[Comparison]) -> Figure:
    """The printed mass matrix, and its difference from the computed one in half last digits."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import SymLogNorm

    labels = _labels(comparison)
    size = len(labels)
    printed, units = np.zeros((2, size, size))
    noted = []
    offset = {"M11": (0, 0), "M12": (0, 6), "M21": (6, 0), "M22": (6, 6)}
    for e in comparison:
        i, j = offset[e.block][0] + e.row - 1, offset[e.block][1] + e.column - 1
        printed[i, j] = float(e.printed)
        units[i, j] = (e.computed - printed[i, j]) / e.tolerance
        if e.note and not e.agrees:
            noted.append((i, j))
    figure, axes = plt.subplots(1, 2, figsize=(13, 6.2), layout="constrained")
    norm = SymLogNorm(1e-4, vmin=-20, vmax=20)
    image = axes[0].imshow(printed, cmap="RdBu_r", norm=norm)
    axes[0].set_title("printed mass matrix, eqs (16)-(19) [SI]")
    figure.colorbar(image, ax=axes[0], shrink=0.75)
    image = axes[1].imshow(units, cmap="PiYG", vmin=-2, vmax=2)
    axes[1].set_title("computed - printed, in halves of the last printed digit (up to 1: agrees)")
    figure.colorbar(image, ax=axes[1], shrink=0.75, extend="both")
    for i, j in noted:
        axes[1].plot(j, i, "ks", mfc="none", ms=11)
    if noted:
        axes[1].set_xlabel("squares: the paper contradicts itself here")
    for ax in axes:
        ax.set_xticks(range(size), labels, rotation=90, fontsize=7)
        ax.set_yticks(range(size), labels, fontsize=7)
    return figure


def _labels(comparison: list[Comparison]) -> list[str]:
    rows: dict[tuple[str, int], Any] = {}
    for e in comparison:
        rows["joint" if e.block[1] == "2" else "base", e.row] = e.row_name
    return [name.removesuffix("_1") for name in rows.values()]
