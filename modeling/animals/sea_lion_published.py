"""The printed mass matrix of the sea lion, eqs (16)–(19), and how to compare with it.

Entries are kept as the strings that are printed, because half a unit of the
last printed digit is what they promise.  Zeros that are printed as ``0`` are
read as zero to 5e-4, the resolution of most entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

PRINTED_ZERO = 5e-4

BASE = ("roll_1", "pitch_1", "yaw_1", "surge", "sway", "heave")

JOINT_COLUMNS = (
    *("left_fore_roll", "right_fore_roll"),
    *("left_fore_yaw", "right_fore_yaw"),
    *("left_fore_pitch", "right_fore_pitch"),
    *("head_pitch", "head_yaw", "pelvis_pitch", "pelvis_yaw"),
    *("left_hind_roll", "left_hind_yaw", "right_hind_roll", "right_hind_yaw"),
)
"""Coordinates behind the 14 columns of M12 and M22, in the printed order."""

M11 = """
0.13 0 0.001 0 0.347 0
0 1.64 0 -0.347 0 0.68
0.001 0 1.68 0 -0.68 0
0 -0.347 0 16.1 0 0
0.347 0 -0.68 0 16.1 0
0 0.68 0 0 0 16.1
"""
M12 = """
0.006 0.006 0.001 0.001 9e-5 9e-5 0 0 0 0 7e-5 0 7e-5 0
-0.0004 0.0004 0 0 0 0 0.12 0 0.21 0 0 0 0 0
0.0006 0.0006 0.0007 0.0007 0 0 0 0.12 0 0.21 0 0.008 0 0.008
0 0 0 0 0 0 0 0 0 0 0 0 0 0
-0.006 -0.006 -0.04 -0.04 0 0 0 0.33 0 -0.37 0 -0.013 0 -0.013
-0.004 0.004 0 0 0 0 -0.33 0 0.37 0 0 0 0 0
"""
M21 = """
0.006 -0.0004 0.0005 0 -0.006 -0.004
0.006 0.0004 0.0005 0 -0.006 0.004
0.001 0 0.0007 0 -0.04 0
0.001 0 0.0007 0 -0.04 0
9e-5 0 0 0 0 0
9e-5 0 0 0 0 0
0 0.12 0 0 0 -0.33
0 0 0.12 0 0.33 0
0 0.21 0 0 0 0.37
0 0 0.21 0 -0.37 0
7e-5 0 0 0 0 0
0 0 0.008 0 -0.013 0
7e-5 0 0 0 0 0
0 0 0.008 0 -0.013 0
"""
M22 = """
0.006 0 0.001 0 9e-5 0 0 0 0 0 0 0 0 0
0 0.006 0 0.001 0 9e-5 0 0 0 0 0 0 0 0
0.001 0 0.005 0 0 0 0 0 0 0 0 0 0 0
0 0.001 0 0.005 0 0 0 0 0 0 0 0 0 0
9e-5 0 0 0 9e-5 0 0 0 0 0 0 0 0 0
0 9e-5 0 0 0 9e-5 0 0 0 0 0 0 0 0
0 0 0 0 0 0 0.045 0 0 0 0 0 0 0
0 0 0 0 0 0 0 0.045 0 0 0 0 0 0
0 0 0 0 0 0 0 0 0.06 0 0 0 0 0
0 0 0 0 0 0 0 0 0 0.06 0 0.003 0 0.003
0 0 0 0 0 0 0 0 0 0 7e-5 0 0 0
0 0 0 0 0 0 0 0 0 0.003 0 0.0004 0 0
0 0 0 0 0 0 0 0 0 0 0 0 7e-5 0
0 0 0 0 0 0 0 0 0 0.003 0 0 0 7e-5
"""

CONTRADICTIONS = {
    ("M11", 1, 1): "0.144 with the roll carriages that M12 and M22 need; 0.133 without",
    ("M12", 3, 1): "printed 0.0006, but 0.0005 in M21(1,3) of the same symmetric matrix",
    ("M12", 3, 2): "printed 0.0006, but 0.0005 in M21(2,3) of the same symmetric matrix",
    ("M21", 1, 3): "printed 0.0005, but 0.0006 in M12(3,1) of the same symmetric matrix",
    ("M21", 2, 3): "printed 0.0005, but 0.0006 in M12(3,2) of the same symmetric matrix",
    ("M22", 14, 14): "printed 7e-5, but its mirror joint has 4e-4 in M22(12,12)",
}
"""Entries (block, row, column, from 1) in which the paper contradicts itself."""


@dataclass(frozen=True)
class Comparison:
    """A printed entry beside the computed one."""

    block: str
    row: int  # from 1, as printed
    column: int
    row_name: str
    column_name: str
    printed: str
    computed: float

    @property
    def tolerance(self) -> float:
        """Half a unit of the last printed digit."""
        exponent = Decimal(self.printed).as_tuple().exponent
        assert isinstance(exponent, int)
        return PRINTED_ZERO if self.printed == "0" else 0.5 * 10.0**exponent

    @property
    def agrees(self) -> bool:
        """Whether the computed value rounds to the printed one."""
        return abs(self.computed - float(self.printed)) <= self.tolerance * (1 + 1e-9)

    @property
    def note(self) -> str:
        """What the paper says against itself here; empty for all other entries."""
        return CONTRADICTIONS.get((self.block, self.row, self.column), "")


def compare(entry: Callable[[int, int], float], velocities: Sequence[str]) -> list[Comparison]:
    """All 400 printed entries beside a computed mass matrix.

    Parameters
    ----------
    entry:
        Returns M[i, j] for indices in the order of ``velocities``.
    velocities:
        The robot's quasi-velocities: the main body's six, then joint rates
        called ``<coordinate>_rate``.
    """
    names = [*BASE, *JOINT_COLUMNS]
    index = [*range(6), *(list(velocities).index(f"{n}_rate") for n in JOINT_COLUMNS)]
    result = []
    for block, text, row_start, column_start in (
        ("M11", M11, 0, 0),
        ("M12", M12, 0, 6),
        ("M21", M21, 6, 0),
        ("M22", M22, 6, 6),
    ):
        for r, line in enumerate(text.split("\n")[1:-1]):
            for c, printed in enumerate(line.split()):
                i, j = row_start + r, column_start + c
                result.append(
                    Comparison(
                        block,
                        r + 1,
                        c + 1,
                        names[i],
                        names[j],
                        printed,
                        float(entry(index[i], index[j])),
                    )
                )
    return result
