"""Pictures: what is drawn, with names and units; nothing is shown by itself."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from robot_harness import robot

from bestiary.solvers import plots
from bestiary.solvers.simulation import simulate

mpl.use("Agg")


@pytest.fixture(scope="module")
def motion() -> xr.Dataset:
    return simulate(robot("crane"), 0.5, q=[0, 0.5, 0.1, 0], samples=11)


@pytest.fixture(autouse=True)
def _close_figures() -> object:
    yield
    plt.close("all")


def test_coordinates_are_grouped_by_unit_and_labelled(motion: xr.Dataset) -> None:
    figure = plots.plot_coordinates(motion)
    labels = [[line.get_label() for line in ax.get_lines()] for ax in figure.axes]
    assert labels == [["travel"], ["swing", "nod", "turn"]]
    assert [ax.get_ylabel() for ax in figure.axes] == ["position [m]", "angle [rad]"]
    assert figure.axes[-1].get_xlabel() == "time [s]"


def test_an_unknown_coordinate_is_named(motion: xr.Dataset) -> None:
    with pytest.raises(KeyError, match="no coordinate elbow; have travel"):
        plots.plot_coordinates(motion, [["elbow"]])


def test_energy_and_momentum_pictures_show_the_data(motion: xr.Dataset) -> None:
    kinetic = plots.plot_energy(motion).axes[0].get_lines()[0].get_ydata()
    assert np.array_equal(kinetic, motion.kinetic_energy.values)
    linear_x = plots.plot_momentum(motion).axes[1].get_lines()[0].get_ydata()
    assert np.array_equal(linear_x, motion.momentum.sel(momentum_part="linear_x").values)


def test_the_skeleton_joins_each_node_to_its_body_or_parent() -> None:
    crane = robot("crane")
    q = np.array([0.2, 0.5, 0.1, 0.0])
    ends = {name: (a, b) for name, a, b in plots.skeleton(crane, q)}
    assert set(ends) == {"arm", "hook", "tip"}  # the trolley hangs on the world
    a, b = ends["hook"]
    assert np.allclose(a, crane.node_pose("arm", q)[:3, 3])
    assert np.allclose(b, crane.node_pose("hook", q)[:3, 3])


@pytest.mark.parametrize("view", ["3d", "xy", "xz", "yz"])
def test_poses_are_drawn_at_equal_times(motion: xr.Dataset, view: str) -> None:
    figure = plots.plot_poses(robot("crane"), motion, 4, view)
    assert [ax.get_title() for ax in figure.axes] == [
        "t = 0.00 s",
        "t = 0.15 s",
        "t = 0.35 s",
        "t = 0.50 s",
    ]
    assert all(len(ax.get_lines()) == 3 for ax in figure.axes)


def test_an_unknown_view_is_named(motion: xr.Dataset) -> None:
    with pytest.raises(ValueError, match="view 'behind' is not '3d' or one of xy, xz, yz"):
        plots.plot_poses(robot("crane"), motion, 2, "behind")


def test_an_animation_has_the_asked_number_of_frames(motion: xr.Dataset, tmp_path) -> None:
    from PIL import Image

    plots.animate(robot("crane"), motion, frames=3).save(tmp_path / "a.gif", writer="pillow")
    assert Image.open(tmp_path / "a.gif").n_frames == 3
