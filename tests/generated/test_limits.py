"""Limits of coordinates: refused by name where arguments come in, in both forms alike."""

from __future__ import annotations

import json

import numpy as np
import pytest
from robot_harness import equations, folder, robot

from bestiary.build_tools.backends.c import emit_c
from bestiary.build_tools.backends.cython import emit_cython
from bestiary.generated import LimitError, ModelInputError
from bestiary.modeling import Compound, Model, ModelError, Prismatic, Revolute

THETA = 1.2 * np.pi
INSIDE = np.array([0.3, 0.05, 1.0, 2.0])


@pytest.fixture(params=["compiled", "numpy"])
def reed(request):
    return robot("reed", request.param)


def refusal(call, *arguments, **options) -> str:
    with pytest.raises(ModelInputError) as caught:
        call(*arguments, **options)
    return str(caught.value)


def with_(**values: float) -> np.ndarray:
    q = INSIDE.copy()
    for name, value in values.items():
        q[["swing", "reach", "u", "w"].index(name)] = value
    return q


def test_bending_beyond_the_proven_range_is_refused_by_name(reed):
    assert refusal(reed.mass_matrix, with_(u=3.0, w=-2.5)) == (
        "reed.mass_matrix: q: sqrt(u^2 + w^2) = 3.90512 (u = 3, w = -2.5) is above the limit of "
        "3.76991 rad: an arc's formulas are proven up to here"
    )


def test_a_coordinate_outside_its_range_is_refused_by_name(reed):
    assert refusal(reed.bias_forces, with_(swing=-1.25), np.zeros(4)) == (
        "reed.bias_forces: q: swing = -1.25 is below the limit of -1 rad: the stop of the hinge"
    )
    assert refusal(reed.state_rates, with_(swing=2.5), np.zeros(4)).endswith(
        "swing = 2.5 is above the limit of 2 rad: the stop of the hinge"
    )
    assert refusal(reed.node_pose, "blade", with_(reach=-1e-9)).startswith(
        "reed.node_pose('blade'): q: reach = -1e-09 is below the limit of 0 m"
    )


def test_lists_and_arrays_are_refused_alike(reed):
    q = with_(w=4.0)
    assert refusal(reed.mass_matrix, q) == refusal(reed.mass_matrix, q.tolist())


def test_values_on_and_inside_the_limits_are_taken(reed):
    for q in (
        INSIDE,
        with_(swing=-1.0, reach=0.0),
        with_(swing=2.0),
        with_(u=THETA, w=0.0),
        with_(u=-0.9 * THETA, w=0.4 * THETA),
        with_(reach=0.5),  # its upper limit only informs
    ):
        assert np.isfinite(reed.mass_matrix(q)).all()


def test_batches_name_the_row_and_rollouts_the_start(reed):
    rows = np.array([INSIDE, INSIDE, with_(u=4.0), with_(u=5.0)])
    assert refusal(reed.mass_matrix_batch, rows).startswith(
        "reed.mass_matrix_batch: q, row 2: sqrt(u^2 + w^2) = 4.47214"
    )
    assert refusal(reed.rollout, with_(u=4.0), np.zeros(4), None, 1e-3, 2).startswith(
        "reed.rollout: q0: sqrt(u^2 + w^2)"
    )


def test_generated_code_does_not_look_at_limits(reed):
    """A rollout that leaves the range on its way runs to its end and is refused then."""
    q, p = np.empty((101, 4)), np.empty((101, 4))
    with pytest.raises(LimitError, match=r"at t = 0\.01 s \(row 10\): swing = 2\.0\d* is above"):
        reed.rollout(with_(swing=1.99), [1.0, 0, 0, 0], None, 1e-3, 100, out=(q, p))
    assert q[9, 0] <= 2.0 < q[10, 0]
    assert q[-1, 0] > 2.05
    text = "".join(emit_c(equations("reed")).files.values())
    assert "limit" not in text


def test_a_parameter_that_must_be_positive_is_refused_at_zero_and_below(reed):
    for value in (0, -0.3):
        assert refusal(reed.with_parameters, blade_length=value) == (
            f"reed.with_parameters: blade_length must be positive, got {value:g}"
        )
    assert reed.with_parameters(blade_length=0.4).parameters["blade_length"] == 0.4
    assert reed.with_parameters(blade_mass=0).parameters["blade_mass"] == 0  # need not be


def test_random_states_are_within_the_limits(reed):
    rng = np.random.default_rng(0)
    states = np.array([reed.random_state(rng)[0] for _ in range(300)])
    assert np.isfinite(reed.mass_matrix_batch(states)).all()
    assert np.ptp(states[:, 0]) > 2.5
    assert states[:, 1].max() <= 0.1  # also what only informs


def test_limits_are_listed_with_their_meaning(reed):
    found = {(limit.coordinates, limit.low, limit.high): limit for limit in reed.limits}
    assert set(found) == {
        (("u", "w"), None, THETA),
        (("swing",), -1.0, 2.0),
        (("reach",), 0.0, None),
        (("reach",), None, 0.1),
    }
    assert [limit.refuse for limit in reed.limits] == [True, True, True, False]
    assert found[("swing",), -1.0, 2.0].unit == "rad"


def test_robots_without_limits_have_no_trace_of_them():
    assert "limits" not in json.loads((folder("crane") / "manifest.json").read_text())
    assert "within_limits" not in emit_cython(equations("crane"))["_kernel.pyx"]
    assert "within_limits" in emit_cython(equations("reed"))["_kernel.pyx"]
    assert robot("crane").limits == ()


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (("knee",), {"high": 1.0}, "no coordinate 'knee'; have hip, x"),
        (("hip",), {}, "give low, high or both"),
        (("hip",), {"low": 1.0, "high": 1.0}, "low 1 must be below high 1"),
        (("hip",), {"high": float("nan")}, "high must be a finite number or None, got nan"),
        (("hip", "x"), {"high": 1.0}, "different units, m, rad"),
        (("hip", "hip"), {"high": 1.0}, "several different ones"),
        ((), {"high": 1.0}, "name one coordinate"),
    ],
)
def test_bad_limits_are_refused_when_the_model_is_written(names, options, words):
    model = Model("leg")
    model.body("leg", joint=Compound((Revolute("hip"), Prismatic("x"))), mass=1.0)
    with pytest.raises(ModelError, match=words):
        model.limit(*names, **options)


def test_several_coordinates_take_an_upper_limit_only():
    model = Model("reed")
    stem = model.body("stem", joint=Revolute("swing"), mass=1.0)
    model.arc("blade", parent=stem, length=0.3, mass=0.05, names=("u", "w"))
    with pytest.raises(ModelError, match="takes high alone, above 0"):
        model.limit("u", "w", low=0.1, high=1.0)
