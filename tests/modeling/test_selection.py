"""Choosing functions of a robot: names, groups, nodes, and what is refused."""

from __future__ import annotations

import pytest

from bestiary.modeling import EquationsOfMotion, ModelError, poincare, select_functions
from bestiary.modeling.animals.kangaroo_rat import kangaroo_rat_articulated
from bestiary.modeling.selection import function_groups


@pytest.fixture(scope="module")
def rat() -> EquationsOfMotion:
    return poincare(kangaroo_rat_articulated(1, 2))


def test_nothing_chosen_keeps_the_very_same_equations(rat: EquationsOfMotion) -> None:
    assert select_functions(rat, []) is rat


def test_names_groups_and_nodes_add_up(rat: EquationsOfMotion) -> None:
    some = select_functions(rat, ["contact", "mass_matrix", "segment_1_end"])
    assert set(some.functions) == {
        *("contact_forces", "contact_energy", "mass_matrix"),
        *(f"segment_1_end_{kind}" for kind in ("pose", "velocity", "jacobian")),
    }
    assert set(some.functions) | set(some.left_out) == set(rat.functions)
    assert not set(some.functions) & set(some.left_out)
    assert some.selection == ("contact", "mass_matrix", "segment_1_end")
    assert list(some.functions) == [f for f in rat.functions if f in some.functions]


def test_every_function_is_in_a_group(rat: EquationsOfMotion) -> None:
    groups = function_groups(rat)
    assert {f for names in groups.values() for f in names} == set(rat.functions)
    assert groups["control"] == ("tail_controller_step",)


def test_statements_that_nothing_needs_are_dropped_and_values_stay(rat: EquationsOfMotion) -> None:
    some = select_functions(rat, ["mass_matrix"])
    assert len(some.program.nodes) < 0.2 * len(rat.program.nodes)
    assert some.program.operation_counts("mass_matrix") == rat.program.operation_counts(
        "mass_matrix"
    )
    assert some.mass_matrix[6, 7] == rat.mass_matrix[6, 7]
    assert some.controllers == ()


def test_an_unknown_name_is_refused_with_the_closest_and_all_groups(
    rat: EquationsOfMotion,
) -> None:
    with pytest.raises(ModelError, match=r"'dynamic' \(did you mean 'dynamics'\?\).*groups are"):
        select_functions(rat, ["dynamic"])
    with pytest.raises(ModelError, match=r"'mass'; groups.*functions are velocity_map.*torso"):
        select_functions(rat, ["mass"])
