"""``bestiary demo``: what it finds, what it writes, and that its pictures can be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bestiary
from bestiary.cli.application import application
from bestiary.demo_righting import OPTIONS, ROBOT, Righted, momentum_drift, plot_turn, run_righting

TURN = {"righting_motion.png", "righting_poses.png", "righting.gif", "righting.nc"}


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def righted(tmp_path_factory: pytest.TempPathFactory, told: list[str]) -> Righted:
    bestiary.load(ROBOT, **OPTIONS)
    return run_righting(tmp_path_factory.mktemp("figures"), told.append)


@pytest.mark.slow
def test_the_righted_rat_is_upright_and_its_momentum_zero(
    righted: Righted, told: list[str]
) -> None:
    from bestiary.solvers import results
    from bestiary.solvers.ocp.library.righting import tilt

    assert righted.plan.success
    assert np.degrees(tilt(righted.flight)) < 1e-3
    assert momentum_drift(righted.flight) < 1e-11
    folder = righted.files[0].parent
    assert {f.name for f in righted.files} == {f.name for f in folder.iterdir()} == TURN
    assert any("iteration 3" in words for words in told)
    saved = results.load(folder / "righting.nc")
    assert np.array_equal(saved.q.values, righted.flight.q.values)
    text = " ".join(righted.lines())
    for fact in ("deg from upright", "cost 0.0131388", "solved in", "kg m^2/s"):
        assert fact in text


@pytest.mark.slow
def test_titles_of_the_pictures_overlap_no_other_text(righted: Righted) -> None:
    import matplotlib.pyplot as plt

    from bestiary.solvers import plots

    floating = righted.flight.copy(deep=True)
    floating.q.values[:, 4:7] = 0.0
    for figure in (
        plot_turn(righted.robot, righted.plan, righted.flight),
        plots.plot_poses(righted.robot, floating, 6),
    ):
        figure.suptitle("A title above the panels")
        figure.canvas.draw()
        shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text().strip()]
        titles = [ax.title for ax in figure.axes if ax.title.get_text()]
        for title in [*titles, figure._suptitle]:  # type: ignore[attr-defined]
            own = title.get_window_extent()
            others = [t for t in shown if t is not title and own.overlaps(t.get_window_extent())]
            assert not others, [t.get_text() for t in others]
        plt.close(figure)


@pytest.mark.slow
def test_labels_of_the_animations_stay_inside_the_picture(righted: Righted) -> None:
    import matplotlib.pyplot as plt

    from bestiary.solvers import plots

    floating = righted.flight.copy(deep=True)
    floating.q.values[:, 4:7] = 0.0
    animation = plots.animate(righted.robot, floating, 5)
    figure = animation._fig
    for frame in (0, 4):
        animation._func(frame)
        figure.canvas.draw()
        wide, high = figure.canvas.get_width_height()
        words = [
            t for t in figure.findobj(plt.Text) if "[m]" in t.get_text() or "t =" in t.get_text()
        ]
        assert len(words) >= 4
        for text in words:
            box = text.get_window_extent()
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= wide and box.y1 <= high
            assert inside, text.get_text()
    animation._draw_was_started = True  # it is not to be saved
    plt.close(figure)


@pytest.mark.slow
def test_the_command_tells_both_halves_and_names_all_files(tmp_path: Path) -> None:
    result = CliRunner().invoke(application(), ["demo", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    for words in ("published mass matrix", "the body has turned", "deg from upright", "done in"):
        assert words in result.stdout
    for name in (*TURN, "swing.gif"):
        assert name in result.stdout
        assert (tmp_path / "new" / name).stat().st_size > 1000


def test_a_turn_that_was_not_solved_is_told() -> None:
    from types import SimpleNamespace

    plan = SimpleNamespace(success=False, verdict=SimpleNamespace(reasons=("time is up",)))
    assert Righted(None, plan, None, []).lines() == ["righting was not solved: time is up."]
