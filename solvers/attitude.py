"""Attitude of a quaternion base as three angles, for reading and for pictures.

The angles are those of R = R_1 R_2 R_3 about the named body axes.  Choose the
sequence so that its middle axis is not the one about which the robot turns far:
at ±90° of the middle angle the other two cannot be told apart.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

SEQUENCES = {
    "zyx": ("yaw", "pitch", "roll"),  # x forward (sea lion)
    "zxy": ("yaw", "pitch", "roll"),  # y forward (kangaroo rat)
}


def add_attitude(result: xr.Dataset, sequence: str) -> xr.Dataset:
    """Add yaw, pitch, roll of the base [rad], unwrapped in time.

    Parameters
    ----------
    result:
        A motion with the coordinates qw, qx, qy, qz.
    sequence:
        ``"zyx"`` for a body whose long axis is x, ``"zxy"`` for y.

    Raises
    ------
    ValueError
        For another sequence or a base that is no quaternion.
    """
    from scipy.spatial.transform import Rotation

    if sequence not in SEQUENCES:
        raise ValueError(f"sequence {sequence!r} is not one of {', '.join(SEQUENCES)}")
    names = [str(n) for n in result.coordinate.values]
    if not {"qw", "qx", "qy", "qz"} <= set(names):
        raise ValueError("attitude needs a quaternion base (coordinates qw, qx, qy, qz)")
    w, x, y, z = (result.q.sel(coordinate=f"q{a}").values for a in "wxyz")
    angles = Rotation.from_quat(np.column_stack([x, y, z, w])).as_euler(sequence.upper())
    return result.assign(
        attitude=(
            ("time", "attitude_angle"),
            np.unwrap(angles, axis=0),
            {"units": "rad", "long_name": f"angles of the base about {', '.join(sequence)}"},
        )
    ).assign_coords(attitude_angle=list(SEQUENCES[sequence]))
