"""Wrong arguments are refused by both forms with the same words, which name what to mend."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from robot_harness import robot

from bestiary.generated import ModelInputError, SingularityError

FORMS = ("compiled", "numpy")
ORDER = "travel [m], swing [rad], nod [rad], turn [rad]"


@pytest.fixture(params=FORMS)
def crane(request):
    return robot("crane", request.param)


@pytest.fixture(params=FORMS)
def kite(request):
    return robot("kite", request.param)


@pytest.fixture(params=FORMS)
def sea_lion(request):
    return robot("sea_lion", request.param)


def message(call, *arguments, **options) -> str:
    with pytest.raises(ModelInputError) as caught:
        call(*arguments, **options)
    return str(caught.value)


def test_wrong_length_says_shape_got_and_coordinate_order(crane):
    assert message(crane.mass_matrix, np.zeros(3)) == (
        f"crane.mass_matrix: q must have shape (4,), got (3,); coordinate order: {ORDER}"
    )


def test_wrong_length_of_velocities_names_the_velocity_order(crane):
    assert message(crane.bias_forces, np.zeros(4), np.zeros((4, 1))) == (
        "crane.bias_forces: p must have shape (4,), got (4, 1); velocity order: "
        "travel_rate [m/s], swing_rate [rad/s], nod_rate [rad/s], turn_rate [rad/s]"
    )


def test_wrong_length_of_inputs_names_the_inputs(crane):
    text = message(crane.forward_dynamics, np.zeros(4), np.zeros(4), [1.0])
    assert text == (
        "crane.forward_dynamics: u must have shape (3,), got (1,); "
        "input order: travel_force [N], nod_torque [N m], wind [N]"
    )


def test_accelerations_have_units_of_their_own(crane):
    text = message(crane.inverse_dynamics, np.zeros(4), np.zeros(4), np.zeros(5))
    assert "p_dot must have shape (4,), got (5,)" in text
    assert "travel_rate_dot [m/s^2], swing_rate_dot [rad/s^2]" in text


@pytest.mark.parametrize(("bad", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_values_that_are_not_finite_are_named_by_index_name_and_unit(crane, bad, shown):
    for q in ([0.0, bad, 0.0, 0.0], np.array([0.0, bad, 0.0, 0.0])):
        assert message(crane.mass_matrix, q) == (
            f"crane.mass_matrix: q[1] (swing [rad]) is {shown}; inputs must be finite"
        )


def test_values_that_are_not_finite_are_found_in_every_argument(crane):
    zero, bad = np.zeros(4), np.array([0.0, 0.0, np.nan, 0.0])
    assert "p[2] (nod_rate [rad/s]) is nan" in message(crane.bias_forces, zero, bad)
    assert "p_dot[2] (nod_rate_dot [rad/s^2])" in message(crane.inverse_dynamics, zero, zero, bad)
    assert "u[1] (nod_torque [N m]) is inf" in message(
        crane.forward_dynamics, zero, zero, [0, np.inf, 0]
    )


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("abcd", "got a str with dtype <U4"),
        ([1j, 0, 0, 0], "got a list with dtype complex128"),
        (["1", "2", "3", "4"], "got a list with dtype <U1"),
        ([None, 0, 0, 0], "an entry None (NoneType)"),
        ([[1], [1, 2], 3, 4], "got a list that is not an array"),
        (None, "an entry None (NoneType)"),
        ({"travel": 0}, "an entry {'travel': 0} (dict)"),
    ],
)
def test_things_that_are_not_numbers_are_refused(crane, value, part):
    text = message(crane.mass_matrix, value)
    assert text.startswith("crane.mass_matrix: q must be")
    assert "(4,) in the coordinate order travel [m]" in text
    assert part in text


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        lambda q: q.astype(object),
        lambda q: q.astype(">f8"),
        lambda q: q.astype(np.longdouble),
        lambda q: np.repeat(q, 2)[::2],
        lambda q: q[::-1].copy()[::-1],
        lambda q: [Fraction(v) for v in q],
        lambda q: q.view(type("Sub", (np.ndarray,), {})),
    ],
)
def test_every_way_to_write_the_same_numbers_gives_the_same_matrix(crane, convert):
    q = np.array([0.5, -0.25, 1.5, 2.0])
    np.testing.assert_array_equal(crane.mass_matrix(convert(q)), crane.mass_matrix(q))


def test_integers_single_precision_and_booleans_are_converted(crane):
    wanted = crane.mass_matrix(np.array([1.0, 0.0, 1.0, 0.0]))
    for q in ([1, 0, 1, 0], np.array([1, 0, 1, 0], np.float32), [True, False, True, False]):
        np.testing.assert_array_equal(crane.mass_matrix(q), wanted)


def test_misaligned_arrays_are_read_correctly(crane):
    q = np.array([0.5, -0.25, 1.5, 2.0])
    raw = np.zeros(8 * 4 + 1, dtype=np.uint8)
    shifted = raw[1:].view(np.float64)
    shifted[:] = q
    np.testing.assert_array_equal(crane.mass_matrix(shifted), crane.mass_matrix(q))


def test_read_only_inputs_are_fine(crane):
    q = np.zeros(4)
    q.setflags(write=False)
    assert np.isfinite(crane.mass_matrix(q)).all()


def test_left_out_inputs_mean_no_force(crane):
    q, p = crane.random_state(1)
    wanted = crane.forward_dynamics(q, p, np.zeros(3))
    np.testing.assert_array_equal(crane.forward_dynamics(q, p), wanted)
    np.testing.assert_array_equal(crane.forward_dynamics(q, p, None), wanted)


def test_a_robot_without_inputs_takes_no_inputs(kite):
    q, p = kite.random_state(1)
    wanted = kite.forward_dynamics(q, p)
    np.testing.assert_array_equal(kite.forward_dynamics(q, p, None), wanted)
    np.testing.assert_array_equal(kite.forward_dynamics(q, p, np.zeros(0)), wanted)
    assert message(kite.forward_dynamics, q, p, [1.0]) == (
        "kite.forward_dynamics: this robot has no inputs; leave u out (got a list of shape (1,))"
    )


# -- out -----------------------------------------------------------------------
def test_out_is_written_in_place_and_returned(crane):
    q, p = crane.random_state(2)
    out = np.full((4, 4), np.nan)
    assert crane.mass_matrix(q, out=out) is out
    np.testing.assert_array_equal(out, crane.mass_matrix(q))
    m, c, f = np.empty((4, 4)), np.empty((4, 4)), np.empty(4)
    results = crane.equations_of_motion(q, p, out=(m, c, f))
    assert all(a is b for a, b in zip(results, (m, c, f), strict=True))
    np.testing.assert_array_equal(m, crane.mass_matrix(q))
    np.testing.assert_array_equal(c, crane.coriolis_matrix(q, p))
    np.testing.assert_array_equal(f, crane.force_vector(q))


def test_out_of_several_outputs_may_be_given_in_part(crane):
    q, p = crane.random_state(2)
    f = np.empty(4)
    m, _, given = crane.equations_of_motion(q, p, out=(None, None, f))
    assert given is f
    np.testing.assert_array_equal(m, crane.mass_matrix(q))


def test_out_of_a_scalar_is_an_array_of_no_axes(crane):
    q, p = crane.random_state(2)
    value = crane.kinetic_energy(q, p)
    assert type(value) is float
    out = np.zeros(())
    assert crane.kinetic_energy(q, p, out=out) is out
    assert out[()] == value


def test_out_may_be_part_of_a_larger_array(crane):
    q, _ = crane.random_state(2)
    history = np.zeros((3, 4, 4))
    crane.mass_matrix(q, out=history[1])
    np.testing.assert_array_equal(history[1], crane.mass_matrix(q))
    assert not history[0].any()
    assert not history[2].any()


@pytest.mark.parametrize(
    ("out", "part"),
    [
        (
            [[0.0] * 4] * 4,
            "out must be a NumPy array of shape (4, 4) and dtype float64, got a list",
        ),
        (np.zeros((4, 4), np.float32), "out must have dtype float64, got float32"),
        (np.zeros((4, 4), ">f8"), "out must have dtype float64, got >f8"),
        (np.zeros((4, 3)), "out must have shape (4, 4), got (4, 3)"),
        (np.zeros(16), "out must have shape (4, 4), got (16,)"),
        (np.zeros((4, 4), order="F"), "out must be C-contiguous (row-major), got a strided view"),
        (np.zeros((4, 8))[:, ::2], "out must be C-contiguous (row-major), got a strided view"),
    ],
)
def test_out_of_a_wrong_kind_is_refused(crane, out, part):
    assert message(crane.mass_matrix, np.zeros(4), out=out) == f"crane.mass_matrix: {part}"


def test_read_only_out_is_refused(crane):
    out = np.zeros((4, 4))
    out.setflags(write=False)
    assert message(crane.mass_matrix, np.zeros(4), out=out) == (
        "crane.mass_matrix: out must be writable, got a read-only array"
    )


def test_out_of_several_outputs_names_the_one_that_is_wrong(crane):
    q, p = crane.random_state(2)
    bad = (np.zeros((4, 4)), np.zeros((4, 4)), np.zeros(3))
    assert message(crane.equations_of_motion, q, p, out=bad) == (
        "crane.equations_of_motion: out[2] (force_vector) must have shape (4,), got (3,)"
    )
    text = message(crane.equations_of_motion, q, p, out=np.zeros((4, 4)))
    assert text == (
        "crane.equations_of_motion: out must be a tuple of 3 arrays (mass_matrix, "
        "coriolis_matrix, force_vector; None where none is given), got a ndarray"
    )
    assert "got a tuple of 2" in message(crane.equations_of_motion, q, p, out=(None, None))


def test_out_must_not_share_memory_with_inputs_or_other_outputs(crane):
    q, p = crane.random_state(2)
    assert message(crane.bias_forces, q, p, out=p) == (
        "crane.bias_forces: out must not share memory with p"
    )
    m = np.zeros((4, 4))
    assert message(crane.equations_of_motion, q, p, out=(m, m, None)) == (
        "crane.equations_of_motion: out[1] must not share memory with out[0]"
    )
    buffer = np.zeros(20)
    buffer[:4] = q
    assert "must not share memory with q" in message(
        crane.mass_matrix, buffer[:4], out=buffer[2:18].reshape(4, 4)
    )


# -- singular states -------------------------------------------------------------
def test_the_euler_singularity_raises_with_the_reason(sea_lion):
    q = sea_lion.neutral
    q[sea_lion.coordinates.index("pitch")] = np.pi / 2
    with pytest.raises(SingularityError, match=r"sea_lion\.velocity_map: floating joint of body"):
        sea_lion.velocity_map(q)
    assert np.isfinite(sea_lion.mass_matrix(q)).all()


def test_a_singular_mass_matrix_names_the_velocity(crane):
    weightless = crane.with_parameters(
        hook_mass=0, hook_inertia_xx=0, hook_inertia_yy=0, hook_inertia_zz=0
    )
    q, p = crane.random_state(4)
    with pytest.raises(SingularityError) as caught:
        weightless.forward_dynamics(q, p)
    assert str(caught.value) == (
        "crane.forward_dynamics: mass matrix is not positive definite at velocity 'turn_rate'"
    )


def test_a_result_beyond_double_precision_raises_instead_of_returning_inf(crane):
    q, p = crane.random_state(4)
    with pytest.raises(SingularityError, match="forward_dynamics: the result is not finite"):
        crane.forward_dynamics(q, 1e300 * p)


def test_a_zero_quaternion_is_refused_with_the_reason(kite):
    q = kite.neutral
    q[kite.coordinates.index(kite.coordinates[0].name)] = 0.0
    with pytest.raises(SingularityError, match="a quaternion must not be zero"):
        kite.node_pose("body", q)


# -- nodes -----------------------------------------------------------------------
def test_unknown_nodes_are_answered_with_the_closest(crane):
    text = message(crane.node_pose, "hok", np.zeros(4))
    assert text == (
        "crane.node_pose: no node 'hok'; did you mean 'hook'? (nodes: trolley, arm, hook, tip)"
    )
    assert "no node ['tip']" in message(crane.node_pose, ["tip"], np.zeros(4))


def test_errors_of_node_functions_name_the_node(crane):
    text = message(crane.node_velocity, "tip", np.zeros(4), np.zeros(3))
    assert text.startswith("crane.node_velocity('tip'): p must have shape (4,), got (3,)")


def test_unknown_frames_are_refused(crane):
    for call in (
        lambda: crane.node_velocity("tip", np.zeros(4), np.zeros(4), frame="local"),
        lambda: crane.node_jacobian("tip", np.zeros(4), "local"),
    ):
        with pytest.raises(ModelInputError, match="frame must be 'body' or 'world', got 'local'"):
            call()


def test_world_frame_turns_both_blocks_by_the_nodes_rotation(crane):
    q, p = crane.random_state(5)
    rotation = crane.node_pose("tip", q)[:3, :3]
    body = crane.node_velocity("tip", q, p)
    world = crane.node_velocity("tip", q, p, frame="world")
    np.testing.assert_allclose(world[:3], rotation @ body[:3], atol=1e-14)
    np.testing.assert_allclose(world[3:], rotation @ body[3:], atol=1e-14)
    jacobian = crane.node_jacobian("tip", q, frame="world")
    np.testing.assert_allclose(jacobian @ p, world, atol=1e-13)
    step = 1e-6
    moved = crane.node_pose("tip", q + step * crane.coordinate_rates(q, p))[:3, 3]
    back = crane.node_pose("tip", q - step * crane.coordinate_rates(q, p))[:3, 3]
    np.testing.assert_allclose((moved - back) / (2 * step), world[3:], atol=1e-8)


def test_misspelt_keywords_raise_type_errors(crane):
    with pytest.raises(TypeError):
        crane.mass_matrix(np.zeros(4), output=None)
    with pytest.raises(TypeError):
        crane.mass_matrix()
    with pytest.raises(TypeError, match=r"mass_matrix_batch\(\)"):
        crane.mass_matrix_batch(np.zeros((2, 4)), thread=2)
