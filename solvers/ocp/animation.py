"""Motions that move: a matplotlib animation from a function that draws one instant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import OptimalControlError
from .user_calls import call, number

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from .solution import Solution

Draw: TypeAlias = Callable[["Axes", Mapping[str, float]], Any]

FRAMES_PER_SECOND = 25
MOST_FRAMES = 400


def animate(
    solution: Solution,
    draw: Draw | None = None,
    *,
    speed: float = 1.0,
    frames_per_second: float = FRAMES_PER_SECOND,
    phase: str | None = None,
    axes: Axes | None = None,
    robot: Any = None,
) -> FuncAnimation:
    """Animate a motion.

    Parameters
    ----------
    draw:
        Called as ``draw(axes, values)`` for every frame on cleared axes; ``values`` has the
        time and every quantity by name.  None: the skeleton of the robot.
    speed:
        Of the picture's time: 0.1 shows a motion ten times slower.
    frames_per_second:
        Of the picture; fewer if the motion would need more than 400 frames.
    phase:
        Only this one.
    axes:
        Where to draw; new ones by default (three-dimensional for a robot).
    robot:
        Whose skeleton; that of the problem by default.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        Show it in a notebook with ``HTML(animation.to_jshtml())``, or ``animation.save(...)``.

    Raises
    ------
    OptimalControlError
        If there is nothing to draw with, or for a speed that is not positive.
    """
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    for label, value in (("speed", speed), ("frames_per_second", frames_per_second)):
        if not number(value, f"{solution.name}: animate: {label}") > 0:
            raise OptimalControlError(
                f"{solution.name}: animate: {label} must be positive, got {value!r}"
            )
    chosen = solution._chosen(phase)
    start, end = chosen[0].motion.start, chosen[-1].motion.end
    count = int(np.clip(round((end - start) / speed * frames_per_second), 2, MOST_FRAMES))
    times = np.linspace(start, end, count)
    data = solution.sample(times, phase=phase)
    names = [str(n) for n in data.data_vars if data[n].dims == ("time",)]
    columns = {n: data[n].values for n in names}
    scalars = {str(n): float(data[n]) for n in data.data_vars if str(n) not in names}
    if draw is None:
        source = robot if robot is not None else getattr(solution.problem, "robot", None)
        return _robot_animation(solution, source, columns, times, 1000 / frames_per_second)
    if not callable(draw):
        raise OptimalControlError(
            f"{solution.name}: animate: draw: expected a function of axes and values, got {draw!r}"
        )
    ax: Any = axes if axes is not None else plt.subplots(figsize=(6, 4.5), layout="constrained")[1]

    def frame(k: int) -> list[Any]:
        ax.cla()
        now = {"time": float(times[k]), **scalars, **{n: float(c[k]) for n, c in columns.items()}}
        call(f"{solution.name}: animate: draw at {times[k]:.4g} s", draw, ax, now)
        return []

    frame(0)
    return FuncAnimation(
        ax.figure, frame, frames=count, interval=1000 * (end - start) / speed / count, blit=False
    )


def _robot_animation(
    solution: Solution, robot: Any, columns: Mapping[str, np.ndarray], times: np.ndarray,
    interval: float,
) -> FuncAnimation:  # fmt: skip
    """The skeleton of a robot whose coordinates are states of the problem."""
    from ..plots import animate as animate_robot
    from ..results import make_result

    if robot is None:
        raise OptimalControlError(
            f"{solution.name}: animate: give draw(axes, values), or the robot= whose motion it is"
        )
    missing = [c.name for c in robot.coordinates if c.name not in columns]
    if missing:
        raise OptimalControlError(
            f"{solution.name}: animate: coordinates of {robot.meta['name']} that are no states of "
            f"the problem: {', '.join(missing)}"
        )
    q = np.stack([columns[c.name] for c in robot.coordinates], axis=1)
    p = np.stack(
        [columns.get(v.name, np.full(len(times), np.nan)) for v in robot.velocities], axis=1
    )
    return animate_robot(
        robot, make_result(robot, times, q, p, None, {}), frames=len(times), interval_ms=interval
    )
