"""Tails beside each other: every figure comes from a solved problem, or says that it does not."""

from __future__ import annotations

import csv
import math
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
from flight_harness import plain
from flight_harness import robot as flying

from bestiary.solvers.ocp.errors import OptimalControlError
from bestiary.solvers.ocp.library.righting import MOMENT_LIMIT, Shape, righting
from bestiary.solvers.ocp.library.righting_comparison import (
    ARCS,
    carry_over,
    compare,
    overlap,
)
from bestiary.solvers.ocp.library.righting_reach import farthest_turn, found_turn
from bestiary.solvers.ocp.library.righting_report import (
    continuum_gap,
    plot_comparison,
    table_text,
    write_csv,
)


def rat(tail, segments, links):
    name = f"rat_{segments}_{links}" if tail == "articulated" else f"arc_rat_{segments}"
    return flying(name)


@cache
def small():
    told = []
    table = compare((1,), (2, 4, ARCS), ("pitch",), load=rat, tell=told.append)
    return table, told


@cache
def pitched(name="rat_1_2"):
    problem = farthest_turn(flying(name), turn="pitch", end_tail="free", duration=0.1)
    return problem.solve(mesh=16, tolerance=1e-3)


def test_segments_bend_by_the_old_bending_that_they_cover():
    assert overlap(1, 2) == pytest.approx(np.array([[0.5], [0.5]]))
    assert overlap(2, 1) == pytest.approx(np.array([[1.0, 1.0]]))
    assert overlap(2, 3) == pytest.approx(np.array([[2 / 3, 0], [1 / 3, 1 / 3], [0, 2 / 3]]))
    for old, new in ((1, 3), (2, 3), (3, 2), (4, 6)):
        assert overlap(old, new).sum(axis=0) == pytest.approx(np.ones(old))  # nothing is lost


def test_a_carried_motion_keeps_bendings_and_moments():
    solution = pitched()
    problem = farthest_turn(plain("rat_2_2"), turn="pitch", end_tail="free", duration=0.1)
    carry_over(problem, solution)
    (phase,) = problem.phases
    old, new = (Shape(p, p.robot) for p in (solution.problem.phases[0], phase))
    times = phase.guess_times
    for axis in range(2):
        bent = old.links * solution.value(old.coordinates[axis], times)
        for k in range(2):
            name = new.coordinates[2 * k + axis]
            assert new.links * phase.guesses[name].values == pytest.approx(bent / 2, abs=1e-12)
            moment = solution.value(old.torques[axis], times) / old.links
            assert phase.guesses[new.torques[2 * k + axis]].values == pytest.approx(
                moment * new.links
            )
    assert phase.guesses["qx"].values == pytest.approx(solution.value("qx", times))
    assert problem.parameter_guesses["turn"] == solution.parameters["turn"]


def test_the_farthest_pitch_is_where_the_body_ends():
    solution = pitched()
    assert solution.success, solution.verdict
    qw, qx = solution.value("qw")[-1], solution.value("qx")[-1]
    assert math.degrees(2 * math.atan2(qx, qw)) == pytest.approx(found_turn(solution), abs=1e-5)
    assert 15 < found_turn(solution) < 30
    assert np.abs(solution.value("wx")[-1]) < 1e-6  # at rest, as the tail is


def test_every_tail_is_solved_and_told():
    table, told = small()
    assert bool(table.solved.all())
    assert [a.links for a in told] == [ARCS, 4, 2]
    assert str(told[0]).startswith("pitch, 1 x arc: turn ")
    links = table.links.values
    torque, moment = table.peak_torque.values, table.peak_moment.values
    assert torque[0, 0, :-1] == pytest.approx(moment[0, 0, :-1] * links[:-1])
    assert moment.max() <= MOMENT_LIMIT * (1 + 1e-6)
    assert table.duration.values == pytest.approx(0.1)


def test_more_links_are_nearer_to_the_arcs():
    gap = continuum_gap(small()[0], "pitch").sel(segments=1)
    assert float(gap.sel(links=4)) < float(gap.sel(links=2))


def test_the_table_says_what_was_not_solved_and_is_whole_in_its_file(tmp_path):
    table = small()[0].copy(deep=True)
    where = {"question": "pitch", "segments": 1, "links": 2.0}
    table.solved.loc[where] = False
    table["status"] = table.status.astype(object)
    table.status.loc[where] = "the time ran out"
    text = table_text(table)
    assert "| 1 x 2 links      | not solved: the time ran out |" in text
    with open(write_csv(table, tmp_path / "tails.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [r["links"] for r in rows] == ["2.0", "4.0", "inf"]
    assert float(rows[1]["turn [deg]"]) == table.turn.sel(links=4.0).item()


def test_the_picture_shows_arcs_and_the_reference_slope():
    figure = plot_comparison(small()[0])
    top, bottom = figure.axes
    assert [line.get_linestyle() for line in top.lines].count("--") == 1
    slope = bottom.lines[-1]
    x, y = np.log(slope.get_xdata()), np.log(slope.get_ydata())
    assert np.diff(y) / np.diff(x) == pytest.approx(-1.0)
    plt.close(figure)


def test_a_true_answer_ends_the_comparison():
    table = compare((1,), (2, ARCS), ("pitch",), load=rat, tell=lambda answer: True)
    assert table.status.sel(links=2.0).item() == "not tried"
    assert bool(table.solved.sel(links=ARCS).item())


def test_nonsense_is_refused():
    with pytest.raises(OptimalControlError, match="no question 'money'"):
        compare(questions=("money",))
    for options in ({"segments": (0,)}, {"links": (2.5,)}, {"links": ()}):
        with pytest.raises(OptimalControlError, match="whole numbers"):
            compare(**options)
    with pytest.raises(OptimalControlError, match="pitch, roll, yaw"):
        farthest_turn(plain("rat_1_2"), turn="somersault")


@pytest.mark.slow
def test_a_neighbour_is_a_better_start_than_the_swing():
    fine = righting(flying("rat_1_4")).solve(mesh=16, tolerance=1e-4)
    iterations = []
    for start in (None, fine):
        problem = righting(flying("arc_rat_1"))
        if start is not None:
            carry_over(problem, start)
        found = problem.solve(mesh=16, tolerance=1e-4)
        assert found.success, found.verdict
        iterations.append(found.refined.rounds[0].outcome.iterations)
    assert iterations[1] <= iterations[0]
