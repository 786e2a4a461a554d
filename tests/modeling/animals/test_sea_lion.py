"""The sea lion: printed mass matrix, total mass, positive definiteness, mirror symmetry."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numeric import Numbers, relative_error

from bestiary.modeling import EquationsOfMotion, ModelWarning, poincare
from bestiary.modeling.animals import BUILT_IN
from bestiary.modeling.animals.sea_lion_published import CONTRADICTIONS, compare

PRINTED = json.loads(
    (Path(__file__).parents[2] / "data" / "sea_lion_printed_mass_matrix.json").read_text()
)
JOINTS = (
    "left_fore_roll right_fore_roll left_fore_yaw right_fore_yaw left_fore_pitch right_fore_pitch "
    "head_pitch head_yaw pelvis_pitch pelvis_yaw "
    "left_hind_roll left_hind_yaw right_hind_roll right_hind_yaw"
).split()
"""Coordinates of the 14 printed columns: left and right fore flipper interleaved."""

# Printed as 7e-5 where the mirrored joint has 4e-4; 0.13 leaves the roll carriages out.
EXCEPTIONS = {("M22", 13, 13), ("M11", 0, 0)}
# M12 and M21 print these two as 0.0006 and 0.0005.
AMBIGUOUS = {("M12", 2, 0), ("M12", 2, 1), ("M21", 0, 2), ("M21", 1, 2)}


@cache
def equations(name: str) -> EquationsOfMotion:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return poincare(BUILT_IN[name].model())


def numbers(variant: str, name: str = "sea_lion") -> Numbers:
    e = equations(name)
    return Numbers(e.program, e.values(variant))


def half_a_unit(printed: str) -> float:
    """Half a unit of the last printed digit; a printed zero is good to 5e-4."""
    if float(printed) == 0:
        return 5e-4
    mantissa, _, exponent = printed.partition("e")
    digits = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - digits)


def test_half_a_unit_reads_digits_and_exponents():
    assert half_a_unit("0.006") == pytest.approx(5e-4)
    assert half_a_unit("9e-5") == pytest.approx(5e-6)
    assert half_a_unit("16.1") == pytest.approx(0.05)
    assert half_a_unit("-0.0004") == pytest.approx(5e-5)


def neutral_matrix(variant: str) -> np.ndarray:
    """M in the neutral pose, in the printed order."""
    names = [v.name for v in equations("sea_lion").velocities]
    order = [*range(6), *(names.index(f"{j}_rate") for j in JOINTS)]
    m = numbers(variant)("mass_matrix", q=[0.0] * 20)
    return m[np.ix_(order, order)]


BLOCKS = {"M11": (0, 0), "M12": (0, 6), "M21": (6, 0), "M22": (6, 6)}
ENTRIES = [
    (block, i, j, text)
    for block in BLOCKS
    for i, row in enumerate(PRINTED[block])
    for j, text in enumerate(row)
]


def test_all_400_printed_entries_are_there():
    assert len(ENTRIES) == 400


def test_paper_variant_reproduces_every_printed_entry_but_the_contradictions():
    m = neutral_matrix("paper")
    wrong = []
    for block, i, j, text in ENTRIES:
        value = m[BLOCKS[block][0] + i, BLOCKS[block][1] + j]
        agrees = abs(value - float(text)) <= half_a_unit(text)
        if not agrees and (block, i, j) not in EXCEPTIONS | AMBIGUOUS:
            wrong.append(f"{block}[{i + 1},{j + 1}]: printed {text}, got {value:.6g}")
    assert not wrong


def test_the_contradictory_entries_are_what_the_rest_of_the_paper_says():
    m = neutral_matrix("paper")
    assert m[19, 19] == pytest.approx(m[17, 17], rel=1e-12)
    assert abs(m[19, 19] - 4e-4) < 5e-5
    assert abs(m[0, 0] - 0.144) < 5e-4
    for column in (6, 7):
        assert min(abs(m[2, column] - 0.0006), abs(m[2, column] - 0.0005)) <= 5e-5


def test_the_printed_matrix_is_not_positive_definite_until_its_last_entry_is_mended():
    full = np.block(
        [
            [np.array(PRINTED[b], dtype=float) for b in ("M11", "M12")],
            [np.array(PRINTED[b], dtype=float) for b in ("M21", "M22")],
        ]
    )
    full = (full + full.T) / 2
    assert np.linalg.eigvalsh(full)[0] == pytest.approx(-1.57e-4, abs=1e-6)
    full[19, 19] = 4e-4
    assert np.linalg.eigvalsh(full)[0] == pytest.approx(7.0e-5, abs=1e-6)


def test_the_report_lists_exactly_the_contradictions():
    m = numbers("paper")("mass_matrix", q=[0.0] * 20)
    names = [v.name for v in equations("sea_lion").velocities]
    rows = compare(lambda i, j: m[i, j], names)
    assert [(c.block, c.row - 1, c.column - 1, c.printed) for c in rows] == ENTRIES
    for c in rows:
        assert c.tolerance == pytest.approx(half_a_unit(c.printed))
        if not c.agrees:
            assert c.note, (c.block, c.row, c.column)
    off = {(c.block, c.row - 1, c.column - 1) for c in rows if not c.agrees}
    assert off <= EXCEPTIONS | AMBIGUOUS
    assert {(b, i - 1, j - 1) for b, i, j in CONTRADICTIONS} == EXCEPTIONS | AMBIGUOUS


def test_physical_variant_leaves_the_printed_matrix_where_the_inertias_say():
    m = neutral_matrix("physical")
    assert m[12, 12] == pytest.approx(0.045 + 2.33 * 0.1416**2, rel=1e-12)  # head pitch
    assert m[6, 6] == pytest.approx(9e-5 + 0.2 * (0.02**2 + 0.03**2), rel=1e-12)  # fore roll
    assert m[19, 19] == pytest.approx(7e-5 + 3.94e-4 + 0.14 * 0.0925**2, rel=1e-12)  # hind yaw


@pytest.mark.parametrize("variant", ["physical", "paper"])
def test_total_mass_is_16_1_kg(variant):
    m = numbers(variant)("mass_matrix", q=[0.0] * 20)
    assert np.diag(m)[3:6] == pytest.approx([16.1] * 3, rel=1e-12)
    values = equations("sea_lion").values(variant)
    masses = ("main", "water", "head", "pelvis", "fore", "fore", "hind", "hind")
    assert sum(values[f"{n}_mass"] for n in masses) == pytest.approx(16.1, rel=1e-12)


def test_a_variant_is_only_other_numbers_over_the_same_program():
    e = equations("sea_lion")
    assert set(e.variants) == {"physical", "paper"}
    assert e.values("physical") == e.values()
    changed = {k for k, v in e.values("paper").items() if v != e.values()[k]}
    assert "carriage_inertia_x" in changed
    assert not any(name.endswith(("_mass", "_com_x", "_volume")) for name in changed)


@pytest.mark.parametrize("name", ["sea_lion", "sea_lion_quaternion"])
@pytest.mark.parametrize("variant", ["physical", "paper"])
def test_mass_matrix_is_positive_definite_at_1000_random_states(variant, name):
    rng = np.random.default_rng(12)
    e = equations(name)
    q = rng.uniform(-np.pi, np.pi, size=(1000, len(e.coordinates)))
    m = numbers(variant, name).batch("mass_matrix", q=q)
    assert m.shape == (1000, 20, 20)
    assert np.array_equal(m, np.swapaxes(m, 1, 2))
    assert np.linalg.eigvalsh(m).min() > 1e-6


def test_without_the_carriage_the_paper_table_is_not_positive_definite():
    e = equations("sea_lion")
    bare = Numbers(e.program, {**e.values("paper"), "carriage_inertia_x": 0.0})
    rng = np.random.default_rng(12)
    m = bare.batch("mass_matrix", q=rng.uniform(-np.pi, np.pi, size=(1000, 20)))
    assert np.linalg.eigvalsh(m).min() < 0


def mirror(names: list[str]) -> np.ndarray:
    """Signed permutation of a list of names under a reflection y → −y.

    Rotations about x and z and motion along y change sign, left and right swap.
    """
    odd = ("roll", "yaw", "y", "wx", "wz", "vy", "qx", "qz", "fore_pitch")
    swap = {"left": "right", "right": "left"}
    s = np.zeros((len(names), len(names)))
    for i, name in enumerate(names):
        side, _, rest = name.partition("_")
        other = f"{swap[side]}_{rest}" if side in swap else name
        stem = name.removesuffix("_rate").removesuffix("_torque")
        # the fore flipper's "pitch" turns about x, its long axis
        flips = stem in odd or stem.endswith(("_roll", "_yaw", "fore_pitch"))
        s[i, names.index(other)] = -1.0 if flips else 1.0
    return s


@pytest.mark.parametrize("variant", ["physical", "paper"])
@pytest.mark.parametrize("name", ["sea_lion", "sea_lion_quaternion"])
def test_the_robot_is_mirror_symmetric(name, variant):
    e = equations(name)
    n = numbers(variant, name)
    sq = mirror([c.name for c in e.coordinates])
    sp = mirror([v.name for v in e.velocities])
    su = mirror([i.name for i in e.inputs])
    rng = np.random.default_rng(3)
    for _ in range(3):
        q, p = rng.uniform(-1, 1, size=len(sq)), rng.normal(size=20)
        if name.endswith("quaternion"):
            q[:4] /= np.linalg.norm(q[:4])
        u = rng.normal(size=len(su))
        m = n("mass_matrix", q=q)
        assert relative_error(n("mass_matrix", q=sq @ q), sp @ m @ sp.T) < 1e-12
        c = n("coriolis_matrix", q=q, p=p)
        assert relative_error(n("coriolis_matrix", q=sq @ q, p=sp @ p), sp @ c @ sp.T) < 1e-12
        f = n("force_vector", q=q)
        assert relative_error(n("force_vector", q=sq @ q), sp @ f) < 1e-12
        a = n("forward_dynamics", q=q, p=p, u=u)
        mirrored = n("forward_dynamics", q=sq @ q, p=sp @ p, u=su @ u)
        assert relative_error(mirrored, sp @ a) < 1e-10
        rates = n("coordinate_rates", q=q, p=p)
        assert relative_error(n("coordinate_rates", q=sq @ q, p=sp @ p), sq @ rates) < 1e-12


def test_coordinates_and_velocities_are_in_the_order_of_eqs_12_and_13():
    e = equations("sea_lion")
    assert [c.name for c in e.coordinates] == (
        "roll pitch yaw x y z "
        "left_fore_roll left_fore_pitch left_fore_yaw "
        "right_fore_roll right_fore_pitch right_fore_yaw "
        "left_hind_roll left_hind_yaw right_hind_roll right_hind_yaw "
        "head_pitch head_yaw pelvis_pitch pelvis_yaw"
    ).split()
    assert [v.name for v in e.velocities][:6] == ["wx", "wy", "wz", "vx", "vy", "vz"]
    joints = [c.name for c in e.coordinates][6:]
    assert [v.name for v in e.velocities][6:] == [f"{n}_rate" for n in joints]
    assert [i.name for i in e.inputs] == [f"{n}_torque" for n in joints]


def test_velocity_map_of_the_base_is_the_printed_one():
    """Body rates to roll, pitch, yaw rates, and R_zyx for the position (physics of eq. 11)."""
    n = numbers("physical")
    phi, theta, psi = 0.4, -0.7, 1.9
    v = n("velocity_map", q=[phi, theta, psi, 1, 2, 3, *[0.2] * 14])
    s, c, t = np.sin, np.cos, np.tan
    rates = [
        [1, s(phi) * t(theta), c(phi) * t(theta)],
        [0, c(phi), -s(phi)],
        [0, s(phi) / c(theta), c(phi) / c(theta)],
    ]
    turn = [
        [
            c(psi) * c(theta),
            c(psi) * s(theta) * s(phi) - s(psi) * c(phi),
            c(psi) * s(theta) * c(phi) + s(psi) * s(phi),
        ],
        [
            s(psi) * c(theta),
            s(psi) * s(theta) * s(phi) + c(psi) * c(phi),
            s(psi) * s(theta) * c(phi) - c(psi) * s(phi),
        ],
        [-s(theta), c(theta) * s(phi), c(theta) * c(phi)],
    ]
    expected = np.eye(20)
    expected[:3, :3], expected[3:6, 3:6] = rates, turn
    assert v == pytest.approx(expected, abs=1e-14)


def test_only_the_paper_variant_may_have_impossible_inertias():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        poincare(BUILT_IN["sea_lion"].model())
