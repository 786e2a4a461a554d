"""The sea lion's free swing: zero momentum throughout, and yet it has turned."""

from __future__ import annotations

import numpy as np
from robot_harness import robot

from bestiary.solvers.sea_lion import free_swing
from bestiary.solvers.simulation import energy_error


def test_swinging_head_and_pelvis_turns_the_body_at_zero_momentum() -> None:
    motion = free_swing(robot("sea_lion_quaternion"), duration=3.0, samples=31, rtol=1e-10)
    assert np.abs(motion.momentum.values).max() < 1e-9
    assert np.abs(energy_error(motion)).max() < 1e-9 * float(motion.kinetic_energy.max()) + 1e-10
    names = ["head_pitch", "head_yaw", "pelvis_pitch", "pelvis_yaw"]
    joints = motion.q.sel(coordinate=names).values
    assert np.abs(joints).max() > 0.3
    assert np.abs(joints[-1]).max() < 1e-9
    yaw, pitch, roll = np.degrees(motion.attitude.values[-1])
    assert abs(roll) > 30
    assert max(abs(pitch), abs(yaw)) < 5
