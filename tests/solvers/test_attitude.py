"""Attitude angles: smooth for the turn that an animal makes, refused where meaningless."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from robot_harness import robot

from bestiary.solvers.attitude import add_attitude
from bestiary.solvers.simulation import simulate


def _turn_about(axis: int, angles: np.ndarray) -> xr.Dataset:
    q = np.zeros((len(angles), 4))
    q[:, 0], q[:, 1 + axis] = np.cos(angles / 2), np.sin(angles / 2)
    return xr.Dataset({"q": (("time", "coordinate"), q)}, {"coordinate": ["qw", "qx", "qy", "qz"]})


@pytest.mark.parametrize(("sequence", "axis"), [("zyx", 0), ("zxy", 1)])
def test_a_full_turn_about_the_long_axis_is_pure_roll(sequence: str, axis: int) -> None:
    angles = np.linspace(np.pi, -2 * np.pi, 91)
    attitude = add_attitude(_turn_about(axis, angles), sequence).attitude
    roll = attitude.sel(attitude_angle="roll").values
    assert np.allclose(roll - roll[0], angles - angles[0], atol=1e-12)
    for other in ("pitch", "yaw"):
        assert np.abs(attitude.sel(attitude_angle=other)).max() < 1e-12


def test_unknown_sequences_and_other_bases_are_refused() -> None:
    with pytest.raises(ValueError, match="sequence 'xyz' is not one of zyx, zxy"):
        add_attitude(_turn_about(0, np.zeros(2)), "xyz")
    with pytest.raises(ValueError, match="needs a quaternion base"):
        add_attitude(simulate(robot("crane"), 0.1, samples=2), "zyx")
