"""Units, and dimension errors that name the term."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bestiary.modeling import Model, Revolute, poincare
from bestiary.modeling.program import Builder, DimensionError, UnitError, parse_unit
from bestiary.modeling.program.functions import atan2, maximum, select, sin, sqrt


def symbols() -> dict:
    b = Builder()
    units = {"force": "N", "torque": "N m", "mass": "kg", "length": "m", "angle": "rad"}
    return {name: b.symbol("x", name, unit) for name, unit in units.items()}


@pytest.mark.parametrize(
    ("unit", "base"),
    [
        ("N", "kg m s^-2"),
        ("N m/rad", "kg m^2 s^-2"),
        ("J", "N m"),
        ("W", "J/s"),
        ("Pa", "N/m^2"),
        ("Hz", "1/s"),
        ("kg m^2", "kg*m^2"),
        ("m/s/s", "m/s^2"),
        ("kg^(1/2) m^(-3/2)/s^(1/2)", "kg^(1/2) s^(-1/2) m^(-3/2)"),
        ("rad", "1"),
    ],
)
def test_units_reduce_to_base_units(unit, base):
    assert parse_unit(unit) == parse_unit(base)


def test_exponents_may_be_rational():
    assert parse_unit("m^-1").length == -1
    assert parse_unit("m^(-1/2)").length == Fraction(-1, 2)
    assert (parse_unit("m^2") ** Fraction(1, 2)).length == 1


@pytest.mark.parametrize("unit", ["kg m^2 s^-2", "kg^(1/2) s^-1", "m^(-3/2)", "1"])
def test_dimensions_print_as_units_that_can_be_read_again(unit):
    assert str(parse_unit(unit)) == unit
    assert parse_unit(str(parse_unit(unit))) == parse_unit(unit)


@pytest.mark.parametrize("unit", ["", "kgm", "mm", "deg", "m^x", "m//s", "N-m", "/s"])
def test_what_is_no_si_unit_is_refused_by_name(unit):
    with pytest.raises(UnitError, match="unit"):
        parse_unit(unit)


def test_an_unknown_unit_is_named_with_the_known_ones():
    with pytest.raises(UnitError, match=r"'deg'.*kg.*rad"):
        parse_unit("N m/deg")


def test_adding_a_force_to_a_torque_names_both_and_where():
    s = symbols()
    b = s["force"].builder
    with (
        pytest.raises(DimensionError) as caught,
        b.context("body 'arm'"),
        b.context("lift"),
    ):
        s["torque"] + s["force"] * s["mass"] / s["mass"]
    text = str(caught.value)
    for part in ("torque", "force", "kg m^2 s^-2", "kg m s^-2", "body 'arm'", "lift"):
        assert part in text


def test_every_comparison_and_function_checks_its_arguments():
    s = symbols()
    for wrong in (
        lambda: s["mass"] - s["length"],
        lambda: s["length"] + 1,
        lambda: maximum(s["mass"], s["length"]),
        lambda: select(s["mass"], s["mass"], s["length"]),
        lambda: atan2(s["mass"], s["length"]),
        lambda: sin(s["length"]),
        lambda: s["length"] ** 1.5,
    ):
        with pytest.raises(DimensionError):
            wrong()


def test_right_combinations_pass_and_have_the_right_dimension():
    s = symbols()
    b = s["force"].builder
    assert b.dimension(s["force"] * s["length"] + s["torque"]) == parse_unit("N m")
    assert b.dimension(sqrt(s["length"] * s["length"])) == parse_unit("m")
    assert b.dimension(s["length"] / s["length"] + s["angle"]) == parse_unit("1")
    assert b.dimension(s["length"] ** 3 / s["length"]) == parse_unit("m^2")
    assert b.dimension(atan2(s["mass"], s["mass"])) == parse_unit("1")
    assert b.dimension(select(s["angle"], s["mass"], 0)) == parse_unit("kg")
    assert s["mass"] + 0 == s["mass"]  # the structural zero fits anywhere
    assert b.dimension(s["mass"] * 0) is None


def test_checks_can_be_switched_off():
    b = Builder(check_dimensions=False)
    total = b.symbol("x", "m", "m") + b.symbol("x", "s", "s")
    assert b.dimension(sin(total)) == parse_unit("1")


def test_every_output_of_a_robot_has_its_dimension():
    model = Model("arm")
    model.body("a", joint=Revolute(axis="y"), mass=1.0, com=(0, 0, 1.0))
    model.spring("a", 2.0)
    model.actuate("a_rate")
    b = model.builder
    before = len(b.nodes)
    poincare(model)
    assert len(b.nodes) > before
    assert b.check_dimensions
