"""Entries of the equations as LaTeX and text."""

from __future__ import annotations

import pytest
import sympy
from robot_harness import equations

from bestiary.build_tools.backends.latex import (
    entry_expression,
    entry_latex,
    entry_text,
    latex_names,
    upright,
)
from bestiary.modeling.program.sympy_bridge import ExpressionTooLargeError


def test_coordinates_are_written_with_their_symbols_and_parameters_upright():
    text = entry_latex(equations("sea_lion"), "velocity_map", (0, 1))
    assert text == (
        r"\frac{\sin{\left(\theta_1 \right)} \sin{\left(\phi_1 \right)}}"
        r"{\cos{\left(\theta_1 \right)}}"
    )
    mass = entry_latex(equations("sea_lion"), "mass_matrix", (3, 3))
    for name in ("main_mass", "head_mass", "fore_mass"):
        assert rf"\mathrm{{{name}}}".replace("_", r"\_") in mass
    assert "main_mass" not in mass


def test_velocities_rates_and_inputs_have_symbols_too():
    names = {str(k): v for k, v in latex_names(equations("crane")).items()}
    assert names["swing"] == r"\alpha"
    assert names["swing_rate"] == r"\dot\alpha"
    assert names["swing_rate_dot"] == r"\dot{\dot\alpha}"
    assert names["travel_rate"] == r"\dot{s}"
    assert names["travel_rate_dot"] == r"\ddot{s}"
    assert names["nod"] == r"\mathrm{nod}"
    assert names["nod_torque"] == r"\mathrm{nod\_torque}"


def test_upright_names_survive_underscores():
    assert upright("head_com_x") == r"\mathrm{head\_com\_x}"


def test_plain_text_reads_back_as_the_same_expression():
    e = equations("crane")
    for function, index in (("mass_matrix", (0, 1)), ("force_vector", 1), ("potential_energy", ())):
        expression = entry_expression(e, function, index)
        text = entry_text(e, function, index)
        back = sympy.sympify(text, locals={k: v for k, v in e.symbols.items()})
        assert sympy.simplify(back - expression) == 0


def test_entries_that_are_zero_say_so():
    assert entry_latex(equations("crane"), "velocity_map", (0, 1)) == "0"
    assert entry_text(equations("crane"), "velocity_map", (0, 1)) == "0"


def test_an_output_other_than_the_first_can_be_named():
    e = equations("crane")
    first = entry_text(e, "equations_of_motion", 1, output="force_vector")
    assert first == entry_text(e, "force_vector", 1)


def test_too_large_entries_are_refused_with_their_operation_count():
    e = equations("sea_lion")
    size = e.view("coriolis_matrix").size((0, 0))
    assert size > 2000
    for write in (entry_latex, entry_text):
        with pytest.raises(ExpressionTooLargeError, match=f"{size:,} operations") as caught:
            write(e, "coriolis_matrix", (0, 0))
        assert caught.value.size == size
        assert "coriolis_matrix[0, 0]" in str(caught.value)


def test_wrong_indices_and_names_are_refused():
    e = equations("crane")
    with pytest.raises(KeyError, match="no function 'mass'"):
        entry_latex(e, "mass", (0, 0))
    with pytest.raises(IndexError, match=r"shape is \(4, 4\)"):
        entry_latex(e, "mass_matrix", (0, 4))
    with pytest.raises(IndexError):
        entry_latex(e, "mass_matrix", 0)
