"""Scenarios of the rat: spin from nothing in the air, a tail that holds, a fall without it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from robot_harness import robot

from bestiary.solvers.kangaroo_rat import TORQUE_LIMIT, airborne, standing
from bestiary.solvers.references import conical_motion

RATS = ["kangaroo_rat_articulated", "kangaroo_rat_continuum"]
pytestmark = pytest.mark.slow


def _pitch(motion: xr.Dataset) -> np.ndarray:
    return np.degrees(motion.attitude.sel(attitude_angle="pitch").values)


@pytest.mark.parametrize("name", RATS)
def test_a_conical_tail_swing_turns_the_torso_at_zero_angular_momentum(name: str) -> None:
    rat = robot(name)
    flight = airborne(rat, conical_motion(rat, np.radians(60), 5.0, ramp=0.1), samples=51)
    assert np.abs(flight.momentum.values[:, :3]).max() < 1e-10
    assert not flight.ground_force.values.any()
    turned = np.degrees(np.abs(flight.attitude.values[-1] - flight.attitude.values[0]))
    assert turned.max() > 30


@pytest.mark.parametrize("name", RATS)
def test_the_tail_props_a_rat_whose_weight_is_behind_its_heels(name: str) -> None:
    motion = standing(robot(name))
    assert np.abs(_pitch(motion)).max() < 1.0
    tail = [str(n) for n in motion.contact.values if str(n).startswith("segment")]
    assert float(motion.ground_force.sel(contact=tail, axis="z").sum("contact")[-1]) > 0.1
    weight = 0.11 * 9.81
    assert float(motion.ground_force.sel(axis="z").sum("contact")[-1]) == pytest.approx(
        weight, rel=1e-3
    )
    assert np.abs(motion.u.values).max() <= TORQUE_LIMIT * (1 + 1e-12)


@pytest.mark.parametrize("name", RATS)
def test_with_its_tail_raised_the_rat_tips_over_and_gains_no_energy(name: str) -> None:
    rat = robot(name)
    motion = standing(rat, prop=False)
    assert _pitch(motion).max() > 20
    heel = rat.with_parameters(foot_y=0.015)
    stored = heel.contact_energy_batch(np.ascontiguousarray(motion.q))
    energy = motion.kinetic_energy.values + motion.potential_energy.values + stored
    assert energy.max() < energy[0] * (1 + 1e-3)
