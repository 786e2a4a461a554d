"""Pictures of solutions show what the solver had: curves, nodes, limits, arcs, meshes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from flight_harness import plain
from ocp_harness import bang_bang, integrator, two_phases

from bestiary.solvers.ocp import OptimalControlError, OptimalControlProblem, Solution, load_solution
from bestiary.solvers.ocp.active import arcs
from bestiary.solvers.ocp.plots import plot_costates

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def bang() -> Solution:
    return bang_bang().solve(mesh=10)


def test_every_quantity_has_a_panel_with_its_unit() -> None:
    figure = integrator().solve(mesh=5).plot()
    labels = {ax.get_ylabel() for ax in figure.axes if ax.get_visible()}
    assert labels == {"x [m]", "v [m/s]", "u [m/s^2]", "power [m^2/s^3]"}
    assert "solved" in figure.get_suptitle()
    assert "cost 12" in figure.get_suptitle()


def test_chosen_names_share_a_panel() -> None:
    figure = integrator().solve(mesh=5).plot(["x", "v"], "u")
    assert len(figure.axes) == 2
    legend = figure.axes[0].get_legend()
    assert [t.get_text() for t in legend.get_texts()] == ["x", "v"]
    with pytest.raises(OptimalControlError, match="no quantity 'w'"):
        integrator().solve(mesh=5).plot("w")


def test_curves_go_through_the_nodes_and_the_jump_is_vertical(bang: Solution) -> None:
    ax = bang.plot("u").axes[0]
    curve = max(ax.get_lines(), key=lambda line: len(line.get_xdata()))
    t, u = curve.get_data()
    knot = bang.motion().boundaries[1]
    assert np.all((np.abs(u - 0.5) < 1e-6) | (np.abs(u + 1) < 1e-6))
    assert np.count_nonzero(t == knot) >= 2  # both sides of the knot
    assert any(np.allclose(line.get_xdata(), knot) for line in ax.get_lines())


def test_limits_are_drawn_where_they_are_near(bang: Solution) -> None:
    near = bang.plot("u").axes[0]
    heights = {round(float(y), 6) for c in near.collections for y in _heights(c)}
    assert {-1.0, 0.5} <= heights
    free = bang.plot("x").axes[0]
    assert not [c for c in free.collections if _heights(c)]


def _heights(collection: object) -> list[float]:
    if not isinstance(collection, mpl.collections.LineCollection):
        return []
    return [float(s[0][1]) for s in collection.get_segments()]


def test_active_arcs_are_where_the_control_is_at_its_limits(bang: Solution) -> None:
    record = bang.record.phases[0]
    found = arcs(record, "control", 0)
    knot, end = bang.motion().boundaries[1], bang.motion().end
    assert [a.side for a in found] == [1, -1]
    assert found[0].start == pytest.approx(0.0)
    assert found[0].end == pytest.approx(knot)
    assert found[1].start == pytest.approx(knot)
    assert found[1].end == pytest.approx(end)
    assert arcs(record, "state", 0) == []


def test_phases_are_named_above_the_first_panel() -> None:
    texts = [t.get_text() for t in two_phases().solve(mesh=5).plot().axes[0].texts]
    assert texts == ["first", "second"]


def test_a_failed_solution_says_so_in_its_title() -> None:
    solution = integrator().solve(mesh=5, progress=lambda _: True)  # stopped at once
    assert "NOT SOLVED" in solution.unseal().plot().get_suptitle()


def test_the_picture_of_meshes_has_a_line_for_each(bang: Solution, tmp_path: Path) -> None:
    for solution in (bang, load_solution(bang.save(tmp_path / "x.nc"))):
        above, below = solution.plot_refinement().axes
        rounds = solution.record.rounds
        assert len(below.get_yticks()) == len(rounds)
        labels = [t.get_text() for t in above.get_legend().get_texts()]
        assert labels[0].startswith(f"mesh 1: {rounds[0].intervals} intervals")
        assert labels[-1] == "tolerance"


def test_costates_have_a_panel_each(bang: Solution) -> None:
    assert len(plot_costates(bang).axes) == 2
    with pytest.raises(OptimalControlError, match="no state 'u'"):
        plot_costates(bang, "u")


def test_an_animation_draws_every_quantity_at_its_time(bang: Solution) -> None:
    seen: list[dict[str, float]] = []
    animation = bang.animate(lambda axes, values: seen.append(dict(values)), speed=0.5)
    frames = [animation._func(k) for k in range(3)]
    assert frames == [[], [], []]
    times = [v["time"] for v in seen[1:4]]
    assert times[0] == 0.0
    assert times[1] > 0.0
    assert seen[2]["u"] == pytest.approx(0.5)
    assert seen[2]["x"] == pytest.approx(0.25 * times[1] ** 2, abs=1e-9)
    animation._draw_was_started = True  # it is not shown
    with pytest.raises(OptimalControlError, match="give draw"):
        bang.animate(None)


def test_the_motion_of_a_robot_is_its_skeleton_and_its_file_names_the_program(
    tmp_path: Path,
) -> None:
    robot = plain("crane")
    problem = OptimalControlProblem(robot, name="crane")
    phase = problem.phase("move", duration=1.0)
    q = [c.name for c in robot.coordinates]
    p = [v.name for v in robot.velocities]
    phase.start(**dict(zip(q, robot.neutral, strict=True)), **dict.fromkeys(p, 0.0))
    for control in phase.control_variables:
        phase.minimize(integral=control.symbol**2)
    solution = problem.solve(mesh=3, refine_mesh=False, progress=lambda _: True).unseal()
    animation = solution.animate(None, frames_per_second=4)
    artists = animation._func(0)
    assert len(artists) >= len(robot.meta["nodes"]) - 1
    animation._draw_was_started = True  # it is not shown
    loaded = load_solution(solution.save(tmp_path / "x.nc")).unseal()
    assert loaded.record.model["program_sha256"] == robot.meta["program_sha256"]
    assert loaded.sample().attrs["model"] == robot.meta["name"]
    again = loaded.animate(None, robot=robot, frames_per_second=4)
    again._draw_was_started = True
    with pytest.raises(OptimalControlError, match="give draw"):
        loaded.animate(None)
