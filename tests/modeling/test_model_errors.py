"""Models that cannot be derived are refused with a message that names the culprit."""

from __future__ import annotations

import math
import warnings

import pytest

from bestiary.modeling import (
    Compound,
    Fixed,
    Floating,
    Follower,
    Model,
    ModelError,
    ModelWarning,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    poincare,
)
from bestiary.modeling.program import DimensionError, UnitError


def arm() -> Model:
    """A model with one good body."""
    model = Model("arm", fluid_density=1000.0)
    model.body("upper", joint=Revolute(axis="y"), mass=1.0, com=(0, 0, -0.5))
    return model


def refused(*words: str):
    """A ModelError whose message has all of these words."""
    pattern = "".join(f"(?=.*{word})" for word in words)
    return pytest.raises(ModelError, match=f"(?s){pattern}")


# -- the tree -----------------------------------------------------------------


def test_unknown_parents_are_named_with_the_known_ones():
    with refused("'lower'", "unknown parent 'uper'", "upper"):
        arm().body("lower", parent="uper", joint=Revolute())


def test_a_parent_must_come_first_so_loops_cannot_be_made():
    model = Model("loop")
    with refused("'a'", "unknown parent 'b'", "loop"):
        model.body("a", parent="b", joint=Revolute())
    with refused("'a'", "own parent", "loop"):
        model.body("a", parent="a", joint=Revolute())


def test_a_body_of_another_model_is_no_parent():
    stranger = arm().bodies["upper"]
    with refused("'lower'", "unknown parent 'upper'"):
        arm().body("lower", parent=stranger)
    with refused("'upper'", "another model"):
        arm().lump(stranger, "payload", 1.0)


def test_names_of_bodies_coordinates_velocities_nodes_inputs_and_parameters_are_unique():
    with refused("body 'upper'", "taken"):
        arm().body("upper", joint=Revolute())
    with refused("body 'world'", "taken"):
        arm().body("world")
    with refused("'lower'", "coordinate name 'upper'", "taken"):
        arm().body("lower", parent="upper", joint=Revolute("upper"))
    with refused("'lower'", "velocity name 'upper_rate'", "taken"):
        arm().body("lower", parent="upper", joint=Revolute("lower", velocity="upper_rate"))
    with refused("'lower'", "coordinate name 'a'", "taken"):
        arm().body("lower", joint=Compound((Revolute("a"), Revolute("a", "x"))))
    with refused("node 'upper'", "taken"):
        arm().node("upper", "upper")
    with refused("parameter 'gravity'", "twice"):
        arm().parameter("gravity", 1.6, "m/s^2")
    model = arm()
    model.actuate("upper_rate")
    with refused("input 'upper_torque'", "twice"):
        model.actuate("upper_rate")
    two = Model("two")
    two.body("first", joint=Floating(), mass=1)
    with refused("'second'", "'qw'", "taken"):
        two.body("second", joint=Floating(), mass=1)


@pytest.mark.parametrize("name", ["double", "int", "2arm", "arm-1", "", "upper arm", "ärm", "_a"])
def test_names_must_be_identifiers_of_the_generated_code(name):
    with refused("C keyword"):
        Model(name)
    with refused("body", "C keyword"):
        arm().body(name)
    with refused("parameter", "C keyword"):
        arm().parameter(name, 1.0, "m")
    with refused("node", "C keyword"):
        arm().node(name, "upper")
    if name:
        with refused("'lower'", "C keyword"):
            arm().body("lower", joint=Revolute(name))


def test_a_name_that_is_no_text_is_refused():
    with refused("model name 3"):
        Model(3)


def test_a_model_without_a_moving_joint_is_refused():
    model = Model("rock")
    model.body("stone", joint=Fixed(), mass=1.0)
    with refused("'rock'", "no moving joint"):
        poincare(model)


def test_a_joint_that_moves_no_mass_is_refused_by_the_name_of_its_body():
    model = arm()
    model.body("ghost", parent="upper", joint=Revolute())
    with refused("'ghost'", "moves no mass"):
        poincare(model)


def test_a_rotation_that_moves_no_inertia_is_refused_by_the_name_of_its_velocity():
    """A point mass on its own axis: M has a structurally zero row."""
    model = Model("bead")
    model.body("bead", joint=Revolute("spin", "z"), mass=1.0)
    with pytest.raises((ModelError, ValueError), match="spin_rate"):
        poincare(model)


# -- masses, inertias ---------------------------------------------------------------


def test_negative_masses_and_volumes_are_refused_with_value_and_variant():
    model = arm()
    model.body("lower", parent="upper", joint=Revolute(), mass=-2.0, com=(1, 0, 0))
    with refused("'lower'", "negative", "-2 kg"):
        poincare(model)
    model = arm()
    model.lump("upper", "cargo", -0.5)
    with refused("'upper'", "'cargo'", "negative"):
        poincare(model)
    model = arm()
    model.variant("light", {"upper_mass": -1.0})
    with refused("'upper'", "negative", "'light'"):
        poincare(model)
    model = arm()
    model.buoyancy("upper", -0.1)
    with refused("'upper'", "volume", "negative"):
        poincare(model)


def derive_with_inertia(inertia: tuple[float, ...]) -> None:
    model = Model("arm")
    model.body("upper", joint=Revolute(axis="y"), mass=1.0, com=(0, 0, -0.5), inertia=inertia)
    poincare(model)


@pytest.mark.parametrize(
    "inertia", [(1, 1, 2.5), (-0.1, 1, 1), (1, 1, 1, 0.9, 0.9, 0.9), (0, 0, 0.1)]
)
def test_an_inertia_that_no_body_can_have_is_a_warning_that_names_it(inertia):
    with pytest.warns(ModelWarning, match=r"(?s)'arm'.*upper.*principal moment"):
        derive_with_inertia(inertia)


@pytest.mark.parametrize(
    "inertia", [(1, 1, 2), (1, 1, 1), (0, 0, 0), (0, 1, 1), (1, 2, 2.5, 0.1, -0.2, 0.1)]
)
def test_a_possible_inertia_is_no_warning(inertia):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        derive_with_inertia(inertia)


def test_lumps_are_judged_together():
    """A hole (negative inertia, as the difference of two tables) in a large body is possible."""
    model = Model("arm")
    model.body("upper", joint=Revolute(axis="y"), mass=1.0, com=(0, 0, 0), inertia=(3, 3, 3))
    model.lump("upper", "correction", 0, inertia=(-0.5, -0.5, -0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        poincare(model)


def test_a_variant_is_checked_too_unless_it_says_that_it_is_impossible():
    for knowingly in (False, True):
        model = Model("arm")
        model.body("upper", joint=Revolute(axis="y"), mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
        model.variant("flat", {"upper_inertia_zz": 5.0}, impossible_inertia=knowingly)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            poincare(model)
        assert len(caught) == (0 if knowingly else 1)
        assert knowingly or "'flat'" in str(caught[0].message)


def test_buoyancy_needs_a_fluid():
    model = Model("arm")
    model.body("upper", joint=Revolute(axis="y"), mass=1.0, com=(0, 0, -0.5))
    with refused("'upper'", "fluid_density"):
        model.buoyancy("upper", 0.1)


# -- numbers and units ---------------------------------------------------------------


def test_a_scalar_of_the_wrong_unit_is_refused_by_what_it_was_given_for():
    model = arm()
    length = model.parameter("size", 0.3, "m")
    mass = model.parameter("load", 0.3, "kg")
    with refused(r"'lower': mass", r"\[kg\]", r"\[m\]"):
        model.body("lower", parent="upper", mass=length)
    with refused(r"'tool': at", r"\[m\]", r"\[kg\]"):
        model.body("tool", parent="upper", at=(0, mass, 0))
    with refused("'upper'", "'cargo'", "inertia yy", r"\[kg m\^2\]"):
        model.lump("upper", "cargo", mass, inertia=(0, mass, 0))
    with refused("spring on 'upper'", r"\[N m/rad\]"):
        model.spring("upper", mass)
    with refused("damper on 'upper_rate'", r"\[N m s/rad\]"):
        model.damper("upper_rate", mass)
    with refused("'end'", "orientation", r"\[rad\]"):
        model.node("end", "upper", orientation=(0, 0, length))


def test_expressions_of_parameters_are_checked_where_they_are_written():
    model = arm()
    length, mass = model.parameter("size", 0.3, "m"), model.parameter("load", 0.3, "kg")
    with pytest.raises(DimensionError, match=r"size.*load|load.*size"):
        length + mass
    model.lump("upper", "rod", mass, (length / 2, 0, 0), (0, mass * length**2 / 12, 0))


@pytest.mark.parametrize("unit", ["gram", "kg m2", "", "deg", "lb"])
def test_a_parameter_in_a_unit_outside_si_is_refused(unit):
    with pytest.raises(UnitError, match="unit"):
        arm().parameter("load", 1.0, unit)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_must_be_finite_and_are_refused_by_name(value):
    with refused("'lower': mass", "finite"):
        arm().body("lower", mass=value)
    with refused("'lower': at y", "finite"):
        arm().body("lower", at=(0, value, 0))
    with refused("'lower': orientation yaw", "finite"):
        arm().body("lower", orientation=(0, 0, value))
    with refused("'upper'", "inertia zz", "finite"):
        arm().lump("upper", "cargo", 1.0, inertia=(0, 0, value))
    with refused("parameter 'load'", "finite"):
        arm().parameter("load", value, "kg")
    with refused("spring on 'upper'", "finite"):
        arm().spring("upper", value)
    with refused("'gravity'", "finite"):
        Model("arm", gravity=value)
    with refused("variant 'odd'", "'upper_mass'", "finite"):
        arm().variant("odd", {"upper_mass": value})
    with refused("'push'", "direction"):
        arm().force_input("push", "upper", (1, value, 0))
    with refused("'upper'", "axis"):
        Model("arm").body("upper", joint=Revolute(axis=(0, 0, value)))
    with refused("'lower'", "ratio"):
        arm().body("lower", parent="upper", joint=Follower("upper", ratio=value))


@pytest.mark.parametrize("value", ["1", None, True, [1.0], 1j])
def test_what_is_no_number_is_refused_by_name(value):
    with refused("'lower': mass", "number or a parameter"):
        arm().body("lower", mass=value)
    with refused("'lower': at x", "number or a parameter"):
        arm().body("lower", at=(value, 0, 0))
    with refused("'lower': orientation roll", "number or a parameter"):
        arm().body("lower", orientation=(value, 0, 0))


def test_vectors_and_inertias_must_have_the_right_number_of_entries():
    with refused("'lower': at", "three", "2"):
        arm().body("lower", at=(0, 0))
    with refused("'lower': orientation", "roll, pitch, yaw", "4"):
        arm().body("lower", orientation=(0, 0, 0, 1))
    with refused("'lower': com", "three"):
        arm().body("lower", mass=1.0, com=(0, 0, 0, 0))
    with refused("'upper'", "'cargo'", "inertia", "4 entries"):
        arm().lump("upper", "cargo", 1.0, inertia=(1, 1, 1, 1))
    with refused("'push'", "three numbers"):
        arm().force_input("push", "upper", (1, 0))


def test_a_scalar_of_another_model_is_refused():
    foreign = arm().parameter("load", 1.0, "kg")
    with refused("'lower': mass", "another model"):
        arm().body("lower", mass=foreign)


# -- joints ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "axis", ["w", "", "xy", "--x", "X", (0, 0, 0), (1, 0), (1, 0, 0, 0), (0, 0, math.inf), 3, None]
)
def test_a_bad_axis_is_refused_by_joint_and_body(axis):
    with refused("'hinge'", "'lower'", "axis"):
        arm().body("lower", joint=Revolute("hinge", axis))
    with refused("'slide'", "'lower'", "axis"):
        arm().body("lower", joint=Prismatic("slide", axis))
    with refused("'lower_2'", "'lower'", "axis"):
        arm().body("lower", joint=Universal(("x", axis)))


@pytest.mark.parametrize("orientation", ["euler", "euler_xx", "euler_xxy", "euler_abc", "zyx", ""])
def test_an_unknown_orientation_is_refused_with_an_example(orientation):
    for joint in (Spherical(orientation), Floating(orientation)):
        with refused("orientation", "euler_zyx", "quaternion"):
            arm().body("lower", joint=joint)


def test_wrong_numbers_of_names_are_refused():
    with refused("'lower'", "4 coordinate names", "got 2 and 3"):
        arm().body("lower", joint=Spherical(names=("a", "b")))
    with refused("'lower'", "7 coordinate names", "got 1 and 6"):
        arm().body("lower", joint=Floating(names=("a",)))
    with refused("'lower'", "order", "'a'", "'b'"):
        arm().body("lower", joint=Compound((Revolute("a"), Revolute("b")), order=("a", "c")))
    with refused("'lower'", "normal 'w'"):
        arm().body("lower", joint=Planar("w"))
    with refused("'lower'", "follows 'elbow'", "upper"):
        arm().body("lower", parent="upper", joint=Follower("elbow"))


@pytest.mark.parametrize("up", ["w", "", "--z", "zz", "+z"])
def test_up_must_be_an_axis(up):
    with refused("'arm'", "up"):
        Model("arm", up=up)


# -- loads, inputs, orders, variants -----------------------------------------------------


def test_loads_and_inputs_name_what_they_cannot_find():
    with refused("spring", "'elbow'", "upper"):
        arm().spring("elbow", 1.0)
    with refused("damper", "'elbow_rate'", "upper_rate"):
        arm().damper("elbow_rate", 1.0)
    with refused("actuator", "'elbow_rate'", "upper_rate"):
        arm().actuate("elbow_rate")
    with refused("'push'", "no node 'hand'"):
        arm().force_input("push", "hand", (1, 0, 0))
    with refused("no body 'lower'", "upper"):
        arm().lump("lower", "cargo", 1.0)
    with refused("no body 'lower'"):
        arm().node("end", "lower")


def test_springs_are_for_single_axis_joints():
    model = Model("ball")
    model.body("ball", joint=Spherical(), mass=1.0, inertia=(1, 1, 1))
    with refused("spring", "'ball_qw'", "single-axis"):
        model.spring("ball_qw", 1.0)


def test_orders_must_name_everything_once():
    model = arm()
    model.body("lower", parent="upper", joint=Revolute(), mass=1, com=(1, 0, 0))
    with refused("'arm'", "coordinates", "lower"):
        model.order(["upper"], ["upper_rate", "lower_rate"])
    with refused("'arm'", "velocities", "elbow_rate"):
        model.order(["upper", "lower"], ["upper_rate", "elbow_rate"])
    with refused("coordinates", "exactly once"):
        model.order(["upper", "upper"], ["upper_rate", "lower_rate"])
    model.order(["lower", "upper"], ["upper_rate", "lower_rate"])
    assert [c.name for c in model.coordinates] == ["lower", "upper"]


def test_variants_name_unknown_parameters_and_unknown_variants():
    model = arm()
    with refused("'heavy'", "unknown parameter uper_mass"):
        model.variant("heavy", {"uper_mass": 2.0})
    model.variant("heavy", {"upper_mass": 2.0})
    with refused("'heavy'", "twice"):
        model.variant("heavy")
    with refused("'arm'", "no variant 'light'", "heavy"):
        model.values("light")
    assert model.values("heavy")["upper_mass"] == 2.0
    assert model.values()["upper_mass"] == 1.0


def test_zeros_stay_structural_and_numbers_become_parameters():
    model = Model("arm", gravity=0)
    model.body("upper", joint=Revolute(axis="y"), mass=2.0, com=(0, 0, -0.5), inertia=(0, 0.1, 0.1))
    assert set(model.parameters) == {
        "upper_mass",
        "upper_com_z",
        "upper_inertia_yy",
        "upper_inertia_zz",
    }
    equations = poincare(model)
    assert equations.force_vector.is_zero(0)
    assert equations.values()["upper_mass"] == 2.0


@pytest.mark.parametrize("name", ["I", "errno", "HUGE_VAL", "M_PI", "Py_None"])
def test_names_that_headers_replace_are_refused(name: str) -> None:
    with pytest.raises(ModelError, match="is a macro of the C or Python headers"):
        Model("robot").parameter(name, 1.0, "kg")


def test_a_name_must_not_end_in_a_newline() -> None:
    with pytest.raises(ModelError, match="must be letters, digits and underscores"):
        Model("robot\n")
