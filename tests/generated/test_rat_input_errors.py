"""Bad values for the prebuilt rats: refused by name at the Python boundary, never inside C."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from bestiary import generated
from bestiary.generated import LimitError, ModelInputError, Robot

RATS = (
    "kangaroo_rat_articulated",
    "kangaroo_rat_articulated_segments3_links4",
    "kangaroo_rat_continuum",
)


@pytest.fixture(params=RATS)
def rat(request: pytest.FixtureRequest) -> Robot:
    return generated.load(request.param, compiled=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tail_length", -0.19),
        ("tail_length", 0.0),
        ("contact_stiffness", 0.0),
        ("contact_stiffness", -2e4),
        ("contact_slip_velocity", 0.0),
        ("contact_smoothing", 0.0),
    ],
)
def test_values_that_must_be_positive_are_refused_by_name(
    rat: Robot, name: str, value: float
) -> None:
    with pytest.raises(ModelInputError, match=f"with_parameters: {name} must be positive"):
        rat.with_parameters(**{name: value})


@pytest.mark.parametrize("compiled", [True, False])
def test_bending_beyond_pi_is_refused_by_name_and_pi_itself_is_not(compiled: bool) -> None:
    rat = generated.load("kangaroo_rat_continuum", compiled=compiled)
    names = [c.name for c in rat.coordinates]
    for u, w, fits in (
        (math.pi, 0.0, True),
        (math.pi * (1 + 1e-9), 0.0, False),
        (2.5, 2.0, False),
        (0.0, -3.2, False),
    ):
        q = rat.neutral
        q[names.index("u_2")], q[names.index("w_2")] = u, w
        if fits:
            assert np.isfinite(rat.mass_matrix(q)).all()
            continue
        for call in (
            lambda q=q: rat.mass_matrix(q),
            lambda q=q: rat.forward_dynamics(q, np.zeros(10)),
            lambda q=q: rat.node_pose("segment_2_end", q),
            lambda q=q: rat.mass_matrix_batch(np.array([rat.neutral, q])),
            lambda q=q: rat.rollout(q, np.zeros(10), None, 1e-4, 1),
        ):
            with pytest.raises(ModelInputError, match=r"sqrt\(u_2\^2 \+ w_2\^2\) = 3\.\d+"):
                call()


def test_limits_are_no_business_of_the_c_kernels() -> None:
    rat = generated.load("kangaroo_rat_continuum")
    for source in sorted(rat.folder.glob("kangaroo_rat_continuum*_f64.c")):
        assert not re.search(r"3\.14\d*", source.read_text()), source.name


@pytest.mark.parametrize("compiled", [True, False])
def test_a_rollout_that_bends_beyond_pi_says_where(compiled: bool) -> None:
    rat = generated.load("kangaroo_rat_continuum", compiled=compiled)
    p = np.zeros(10)
    p[[v.name for v in rat.velocities].index("u_1_rate")] = 100.0
    q = rat.neutral
    q[6] = 1.0  # above the ground
    u_1 = [c.name for c in rat.coordinates].index("u_1")
    q[u_1] = 3.0
    out = np.empty((101, 11)), np.empty((101, 10))
    for call in (
        lambda: rat.rollout(q, p, None, 1e-4, 100, out=out),
        lambda: rat.rollout_adaptive(1e-4 * np.arange(101), q, p, out=out),
    ):
        with pytest.raises(LimitError, match=r"at t = [\d.]+ s \(row \d+\): .*u_1 = 3\.") as told:
            call()
        row = int(re.search(r"row (\d+)", str(told.value)).group(1))
        angle = np.hypot(out[0][:, u_1], out[0][:, u_1 + 1])
        assert (angle[:row] <= math.pi).all()
        assert angle[row] > math.pi
