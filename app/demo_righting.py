"""The demo's second half: a falling rat turns over by its tail, planned, flown and drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from bestiary.solvers.ocp import Solution

ROBOT = "kangaroo_rat_articulated"
OPTIONS: dict[str, Any] = {"segments": 2, "links": 4, "contact": False}
POSES, FRAMES, SLOWER = 6, 33, 8
"""Pictured poses; frames of the animation, and how much slower than the motion it runs."""
TITLES = {
    "righting_motion.png": "A rat falls on its back, turns over in 0.4 s, and is at rest again",
    "righting_poses.png": "Seen from the falling centre of mass: tail blue, left red, right green",
}


@dataclass(frozen=True)
class Righted:
    """A planned turn, its flight in the full model, and the files written."""

    robot: Any
    plan: Solution
    flight: xr.Dataset
    files: list[Path]

    def lines(self) -> list[str]:
        """The short summary, one finding a line."""
        from bestiary.solvers.ocp.library.righting import tilt

        plan = self.plan
        if not plan.success:
            return [f"righting was not solved: {'; '.join(plan.verdict.reasons)}."]
        torque = max(np.abs(plan.value(n)).max() for n in self.robot.inputs.names)
        limit = max(q.high for q in plan.record.phases[0].controls if q.unit == "N m")
        return [
            f"righting: a falling rat on its back, tail of {OPTIONS['segments']} segments of "
            f"{OPTIONS['links']} links, turns over in {plan.duration():g} s; solved in "
            f"{plan.seconds:.1f} s on {len(plan.record.rounds)} meshes, cost {plan.cost:.9f};",
            f"its torques reach {1e3 * torque:.0f} of {1e3 * limit:.0f} mN m; open loop in the "
            f"full model they end {np.degrees(tilt(self.flight)):.1e} deg from upright;",
            f"angular momentum stays zero within {momentum_drift(self.flight):.1e} kg m^2/s, the "
            f"tail's own reaches {tail_momentum(self.robot, self.flight):.1e} kg m^2/s.",
        ]


def momentum_drift(flight: xr.Dataset) -> float:
    """Largest angular momentum about the centre of mass [kg m^2/s]; it starts at zero."""
    return float(np.abs(flight.momentum.values[:, :3]).max())


def tail_momentum(robot: Any, flight: xr.Dataset) -> float:
    """Largest angular momentum that the rates of the tail alone make [kg m^2/s]."""
    largest = 0.0
    for q, p in zip(flight.q.values, flight.p.values, strict=True):
        own = np.concatenate([np.zeros(6), p[6:]])
        largest = max(largest, float(np.abs(robot.momentum(q, own)[:3]).max()))
    return largest


def run_righting(folder: Path, progress: Callable[[str], None] | None = None) -> Righted:
    """Plan, fly and draw the turn; the robot must have been built.

    Parameters
    ----------
    folder:
        Where pictures and results go; it exists.
    progress:
        Called with a few words at each iteration.

    Returns
    -------
    Righted
        Without pictures of the motion if it was not solved.
    """
    import matplotlib.pyplot as plt

    from bestiary import generated
    from bestiary.solvers import plots, results
    from bestiary.solvers.ocp.library.righting import fly, righting

    def tell(iterate: Any) -> None:
        if progress is not None:
            progress(
                f"righting: mesh {iterate.round} of {iterate.intervals} intervals, "
                f"iteration {iterate.number}"
            )

    robot = generated.load(ROBOT, **OPTIONS)
    plan = righting(robot).solve(progress=tell)
    if not plan.success:
        return Righted(robot, plan, None, [])  # type: ignore[arg-type]
    if progress is not None:
        progress("righting: flight and pictures")
    flight = fly(robot, plan)
    floating = fly(robot.with_parameters(gravity=0.0), plan)
    files = []
    for file, figure in {
        "righting_motion.png": plot_turn(robot, plan, flight),
        "righting_poses.png": plots.plot_poses(robot, floating, POSES),
    }.items():
        figure.suptitle(TITLES[file], fontsize=11)
        figure.savefig(folder / file, dpi=110, bbox_inches="tight")
        plt.close(figure)
        files.append(folder / file)
    length = 1e3 * SLOWER * plan.duration()
    animation = plots.animate(robot, floating, FRAMES, interval_ms=length / FRAMES)
    animation.save(folder / "righting.gif", writer="pillow", dpi=70)
    plt.close("all")
    files += [folder / "righting.gif", results.save(flight, folder / "righting.nc")]
    return Righted(robot, plan, flight, files)


def plot_turn(robot: Any, plan: Solution, flight: xr.Dataset) -> Figure:
    """Attitude of the body, bending of the segments, and torques with their limits."""
    import matplotlib.pyplot as plt

    from bestiary.solvers.ocp.library.righting import BENDING_LIMIT

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(8, 7), layout="constrained")
    for angle in flight.attitude_angle.values:
        axes[0].plot(
            flight.time, np.degrees(flight.attitude.sel(attitude_angle=angle)), label=str(angle)
        )
    angles = flight.q.values[:, 7:].reshape(flight.sizes["time"], -1, 2)
    for k, values in enumerate(np.degrees(OPTIONS["links"] * np.linalg.norm(angles, axis=2)).T):
        axes[1].plot(flight.time, values, label=f"segment {k + 1}")
    axes[1].axhline(np.degrees(BENDING_LIMIT), color="0.4", ls="--", lw=1, label="limit")
    for name in robot.inputs.names:
        axes[2].plot(
            flight.time, 1e3 * flight.u.sel(input=name), label=name.removesuffix("_torque")
        )
    limit = max(q.high for q in plan.record.phases[0].controls if q.unit == "N m")
    axes[2].axhline(1e3 * limit, color="0.4", ls="--", lw=1, label="limits")
    axes[2].axhline(-1e3 * limit, color="0.4", ls="--", lw=1)
    for ax, label in zip(axes, ("attitude [deg]", "bending [deg]", "torque [mN m]"), strict=True):
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
        # beside the panel, where no curve runs
        ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    axes[-1].set_xlabel("time [s]")
    return figure
