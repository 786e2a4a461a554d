"""The law of the controllers, stated symbolically: what its inputs do to the robot."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from control_harness import KINDS, MODELS, RATS, SMALL, acrobot, equations, walker
from scipy.optimize import brentq

from bestiary.build_tools.backends.c import emit_c
from bestiary.build_tools.backends.casadi import casadi_function
from bestiary.build_tools.backends.numpy import numpy_function
from bestiary.modeling import (
    Floating,
    Model,
    ModelError,
    Prismatic,
    Revolute,
    add_tracking_controller,
    poincare,
)
from bestiary.modeling.formalisms.inertia_matrix import inertia_matrix

CONTROLLERS = [(name, c.name) for name in MODELS for c in equations(name).controllers]


class Case:
    """A controller at a random state with a random reference."""

    def __init__(self, name: str, controller: str, seed: int, e=None) -> None:
        self.e = e or equations(name)
        (self.controller,) = (c for c in self.e.controllers if c.name == controller)
        rng = np.random.default_rng(seed)
        self.values = self.e.values()
        coordinates = [c.name for c in self.e.coordinates]
        self.q = rng.uniform(-0.7, 0.7, len(coordinates))
        if "qw" in coordinates:
            quaternion = rng.normal(size=4)
            start = coordinates.index("qw")
            self.q[start : start + 4] = quaternion / np.linalg.norm(quaternion)
        if "z" in coordinates:
            self.q[coordinates.index("z")] = 0.02  # some feet and tail nodes are in the ground
        self.p = rng.normal(size=len(self.e.velocities))
        m = len(self.controller.tracked)
        self.reference = rng.normal(size=(3, m))
        self.gains = rng.uniform(5, 30, m)
        places = [coordinates.index(c) for c in self.controller.tracked]
        rates = [v.name for v in self.e.velocities]
        self.rates = [rates.index(f"{c}_rate") for c in self.controller.tracked]
        self.places = places
        self.wanted = self.accelerations()

    def accelerations(self) -> np.ndarray:
        """The law v."""
        position, rate, acceleration = self.reference
        return (
            acceleration
            + 2 * self.gains * (rate - self.p[self.rates])
            + self.gains**2 * (position - self.q[self.places])
        )

    def law(self, wanted: np.ndarray) -> np.ndarray:
        """Inputs for tracked accelerations."""
        reference = self.controller.groups[0]
        jet = np.array([self.q[self.places], self.p[self.rates], wanted])
        return self.call(self.controller.function, **{**self.arguments(), reference: jet.ravel()})[
            "inputs"
        ]

    def call(self, function: str, **inputs) -> dict[str, np.ndarray]:
        return numpy_function(self.e.program, function)(parameters=self.values, q=self.q, **inputs)

    def arguments(self, limit: float = 1e30) -> dict[str, np.ndarray]:
        reference, gains, limits = self.controller.groups
        return {
            "p": self.p,
            reference: self.reference.ravel(),
            gains: self.gains,
            limits: np.full(len(self.controller.inputs), limit),
        }

    def step(self, limit: float = 1e30) -> dict[str, np.ndarray]:
        return self.call(self.controller.function, **self.arguments(limit))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "controller"), CONTROLLERS)
def test_inputs_of_the_step_accelerate_tracked_coordinates_as_the_law_says(name, controller, seed):
    case = Case(name, controller, seed)
    u = case.step()["inputs"]
    rates = case.call("forward_dynamics", p=case.p, u=u)["forward_dynamics"]
    scale = np.abs(case.wanted).max() + np.abs(rates).max()
    np.testing.assert_allclose(rates[case.rates], case.wanted, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", KINDS)
def test_kind_of_a_controller_follows_from_the_split(name):
    assert equations(name).controllers[-1].kind == KINDS[name]


@pytest.mark.parametrize("seed", range(3))
def test_computed_torque_is_inverse_dynamics_less_passive_forces(seed):
    case = Case("arm", "controller", seed)
    needed = case.call("inverse_dynamics", p=case.p, p_dot=case.wanted)["inverse_dynamics"]
    passive = case.call("generalized_forces", p=case.p, u=np.zeros(4))["generalized_forces"]
    np.testing.assert_allclose(case.step()["inputs"], needed - passive, rtol=1e-11, atol=1e-11)
    assert np.abs(passive).max() > 0


@pytest.mark.parametrize("seed", range(3))
def test_spare_inputs_make_the_smallest_accelerations_that_reach_the_reference(seed):
    case = Case("triple", "swing_controller", seed)
    u = case.step()["inputs"]
    rates = case.call("forward_dynamics", p=case.p, u=u)["forward_dynamics"]
    mass = case.call("mass_matrix")["mass_matrix"]
    bias = case.call("bias_forces", p=case.p)["bias_forces"]
    missing = mass[0, 0] * case.wanted[0] + bias[0]
    np.testing.assert_allclose(
        rates[1:], -np.linalg.pinv(mass[:1, 1:]) @ [missing], rtol=1e-9, atol=1e-9
    )


def test_inputs_of_unlike_units_are_weighted_by_their_inertia():
    case = Case("gantry", "controller", 1)
    u = case.step()["inputs"]
    accelerations = case.call("forward_dynamics", p=case.p, u=u)["forward_dynamics"]
    mass = case.call("mass_matrix")["mass_matrix"]
    spare, rest = [0, 2], [4]
    columns = np.linalg.solve(mass[np.ix_(rest, rest)], mass[np.ix_(rest, spare)])
    (coupling,) = mass[np.ix_([3], spare)] - mass[np.ix_([3], rest)] @ columns
    # Smallest in the norm Σ M_kk a_k²: accelerations along N_k / M_kk.
    direction = coupling / np.diag(mass)[spare]
    a = accelerations[spare]
    assert a[0] * direction[1] == pytest.approx(a[1] * direction[0], rel=1e-9)
    assert np.abs(a).min() > 1e-3


@pytest.mark.parametrize("name", ["walker", "gantry"])
def test_inputs_that_are_not_in_use_stay_zero(name):
    e = equations(name)
    case = Case(name, e.controllers[0].name, 0)
    by_name = dict(zip((i.name for i in e.inputs), case.step()["inputs"], strict=True))
    unused = {i for i in by_name if i not in case.controller.inputs}
    assert unused == {"right_arm_torque" if name == "walker" else "wind"}
    assert all((by_name[i] == 0) == (i in unused) for i in by_name)


@pytest.mark.parametrize(("name", "controller"), CONTROLLERS)
def test_inputs_never_exceed_their_limits_and_are_untouched_within(name, controller):
    case = Case(name, controller, 5)
    free = case.step()["unlimited_inputs"]
    largest = np.abs(free).max()
    np.testing.assert_array_equal(case.step()["inputs"], free)
    np.testing.assert_allclose(case.step(1.0001 * largest)["inputs"], free, rtol=1e-12)
    for share in (0.9, 0.3, 0.01):
        limited = case.step(share * largest)
        np.testing.assert_array_equal(limited["unlimited_inputs"], free)
        assert np.abs(limited["inputs"]).max() <= share * largest
        assert np.abs(limited["inputs"]).max() == pytest.approx(share * largest, rel=1e-9)


@pytest.mark.parametrize(("name", "controller"), CONTROLLERS)
def test_at_the_limits_tracked_accelerations_keep_their_direction(name, controller):
    case = Case(name, controller, 5)
    still = case.law(np.zeros_like(case.wanted))  # u of no tracked acceleration
    limit = 1.2 * np.abs(still).max() / 0.9
    case.gains *= 1000  # more than the limits allow
    case.wanted = case.accelerations()
    assert np.abs(case.step()["unlimited_inputs"]).max() > limit
    u = case.step(limit)["inputs"]
    rates = case.call("forward_dynamics", p=case.p, u=u)["forward_dynamics"][case.rates]
    share = rates @ case.wanted / (case.wanted @ case.wanted)
    assert 0 < share < 1
    np.testing.assert_allclose(
        rates, share * case.wanted, rtol=0, atol=1e-8 * share * np.abs(case.wanted).max()
    )


def test_an_input_that_its_load_overwhelms_does_not_stop_the_others():
    case = Case("arm", "controller", 4)
    free = case.step()["unlimited_inputs"]
    limits = case.controller.groups[2]
    still = case.law(np.zeros(4))
    sizes = np.array([100.0, 0.5 * abs(still[1]), 100.0, 100.0])
    arguments = {**case.arguments(), limits: sizes}
    u = case.call("controller_step", **arguments)["inputs"]
    assert abs(u[1]) == sizes[1]
    moved = (u - still)[[0, 2, 3]] / (free - still)[[0, 2, 3]]
    assert np.ptp(moved) < 1e-9
    assert moved[0] > 0.1 * sizes[1] / np.abs(free - still)[1] * 0.99


@pytest.mark.parametrize("name", SMALL)
def test_both_formalisms_give_the_same_inputs(name):
    other = inertia_matrix(MODELS[name]())
    controller = other.controllers[-1].name
    expected = Case(name, controller, 2).step()["inputs"]
    found = Case(name, controller, 2, other).step()["inputs"]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "controller"), CONTROLLERS)
def test_casadi_gives_the_same_inputs(name, controller):
    case = Case(name, controller, 3)
    f = casadi_function(case.e.program, case.controller.function, case.values)
    arguments = {"q": case.q, **case.arguments(0.05)}
    found = f(**{k: casadi.DM(v) for k, v in arguments.items()})
    for key, value in case.step(0.05).items():
        scale = np.abs(value).max()
        np.testing.assert_allclose(
            np.array(found[key])[:, 0], value, rtol=1e-10, atol=1e-10 * scale
        )


def test_where_the_coupling_is_lost_the_step_says_so():
    case = Case("cart_pole", "controller", 0)

    def coupling(tilt: float) -> float:
        case.q[1] = tilt
        return float(case.call("mass_matrix")["mass_matrix"][0, 1])

    level = brentq(coupling, 0.0, np.pi, xtol=1e-14)  # there the cart does not turn the pole
    f = numpy_function(case.e.program, "controller_step")
    inputs = [np.array(list(case.values.values())), case.q, *case.arguments().values()]
    outputs = [np.empty(1), np.empty(1)]
    for near, status in ((0.0, 1), (1e-5, 1), (-1e-5, 1), (1e-2, 0), (-1e-2, 0)):
        case.q[1] = level + near
        assert f.run(inputs, outputs) == status
    assert [g.message for g in f.function.guards] == [
        "controller 'controller': the inputs have lost their coupling to velocity 'swing_rate'"
    ]


@pytest.mark.parametrize("name", RATS)
def test_the_step_of_a_rat_costs_less_than_its_forward_dynamics(name):
    program = equations(name).program
    step = sum(program.operation_counts("tail_controller_step").values())
    assert step < sum(program.operation_counts("forward_dynamics").values())


@pytest.mark.parametrize("name", RATS)
def test_the_step_is_a_reentrant_c_function_of_const_inputs(name):
    e = equations(name)
    header = emit_c(e).files[f"{e.name}.h"]
    for precision, number in (("f64", "double"), ("f32", "float")):
        start = header.index(f"int {e.name}_tail_controller_step_{precision}(")
        prototype = header[start : header.index(";", start)]
        arguments = [a.strip() for a in prototype.split("(")[1].split(",")]
        assert [a.split()[-1].lstrip("*").rstrip(")") for a in arguments] == [
            *("parameters", "q", "p", "tail_reference", "tail_gains", "tail_limits"),
            *("inputs", "unlimited_inputs"),
        ]
        assert all(a.startswith("const ") for a in arguments[:6])
        assert all(a.startswith(f"{number} *") for a in arguments[6:])


def test_controllers_of_one_model_have_functions_and_groups_of_their_own():
    e = equations("walker")
    assert [c.function for c in e.controllers] == ["left_controller_step", "arm_controller_step"]
    assert e.program.functions["arm_controller_step"].inputs[3:] == (
        *("arm_reference", "arm_gains", "arm_limits"),
    )
    assert [s.name for s in e.program.group("left_reference").symbols] == [
        *("left_arm", "left_arm_rate", "left_arm_acceleration"),
    ]
    assert [s.unit for s in e.program.group("left_reference").symbols] == [
        *("rad", "rad/s", "rad/s^2"),
    ]


def test_a_model_without_a_controller_has_neither_function_nor_group():
    model = acrobot()
    model.controllers.clear()
    program = poincare(model).program
    assert "controller_step" not in program.functions
    assert [g.name for g in program.groups] == ["parameters", "q", "p", "u", "p_dot"]


def thruster() -> Model:
    """A slider, pushed at a node."""
    model = Model("thruster")
    model.body("sled", joint=Prismatic("travel", "x"), mass=1.0)
    model.force_input("jet", "sled", (1, 0, 0))
    return model


@pytest.mark.parametrize(
    ("model", "tracked", "options", "message"),
    [
        (acrobot, ("shoulder",), {"name": "new"}, "no coordinate 'shoulder'; have hang, elbow"),
        (
            *(acrobot, ("hang", "elbow"), {"name": "new"}),
            r"1 tracked coordinates have no input \(hang\), but only 0 inputs are left",
        ),
        (acrobot, ("hang", "hang"), {"name": "new"}, "coordinate 'hang' is named twice"),
        (acrobot, (), {}, "controller 'controller' is declared twice"),
        (acrobot, (), {"name": "a b"}, "controller name 'a b' must be letters"),
        (walker, ("qw",), {"name": "new"}, "coordinate 'qw' cannot be tracked; only coordinates"),
        (
            *(walker, ("left_arm",), {"name": "new", "inputs": ["wing"]}),
            "no input 'wing'; have left_arm_torque, right_arm_torque",
        ),
        (thruster, (), {}, "nothing to track; no input acts on a single-axis joint"),
        (thruster, ("travel",), {"inputs": ["jet"]}, "input 'jet' acts on a node, not on a joint"),
        (walker, (), {"name": "left"}, "another controller has the input group 'left_reference'"),
    ],
)
def test_what_cannot_be_controlled_is_refused_by_name(model, tracked, options, message):
    with pytest.raises(ModelError, match=message):
        add_tracking_controller(model(), *tracked, **options)


def test_a_coordinate_that_no_input_can_reach_is_refused():
    model = Model("apart")
    model.body("left", joint=Prismatic("first", "x"), mass=1.0)
    model.body("right", joint=Prismatic("second", "x"), mass=1.0)
    model.actuate("first_rate")
    add_tracking_controller(model, "second")
    with pytest.raises(ModelError, match="no input in use can accelerate 'second'"):
        poincare(model)


def test_coordinates_of_a_floating_base_in_its_own_axes_cannot_be_tracked():
    model = Model("drone")
    model.body("hull", joint=Floating("euler_zyx"), mass=1.0, inertia=(1, 1, 1))
    model.body("arm", parent="hull", joint=Revolute("arm", "x"), mass=0.1, inertia=(0.1, 0.1, 0.1))
    model.actuate("arm_rate")
    with pytest.raises(ModelError, match="cannot be tracked"):
        add_tracking_controller(model, "z")
