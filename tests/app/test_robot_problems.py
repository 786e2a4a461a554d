"""``bestiary solve righting`` and ``supporting``: options of the rat's tail."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from bestiary.build_tools.errors import TargetError
from bestiary.cli.application import application
from bestiary.cli.robot_problems import CONTACT, builder, robot_problem


def test_names_state_problems_of_their_own_rats() -> None:
    made = robot_problem(
        "supporting", {"task": "restore", "contact_relaxation": 0.5}, {"tail": "continuum"}
    )
    assert made.name == "supporting, restore"
    assert made.constant_values["contact_relaxation"] == 0.5
    assert "u_2" in [v.name for v in made.phases[0].state_variables]


@pytest.mark.parametrize("name", CONTACT)
def test_every_name_has_a_function_with_the_options_of_the_tail(name: str) -> None:
    import inspect

    assert {"tail", "segments", "links"} <= set(inspect.signature(builder(name)).parameters)


@pytest.mark.parametrize(
    ("options", "tail", "message"),
    [
        ({}, {"tail": "feather"}, "expected articulated or continuum, got 'feather'"),
        ({"task": "hover"}, {}, "task must be one of hold, restore"),
        ({"colour": 1.0}, {}, "no constant 'colour'"),
        ({"heel": "far"}, {}, "heel: expected a number, got 'far'"),
        ({"duration": 0}, {}, "duration: expected a positive number, got 0"),
        ({"segments": 2}, {"segments": 1}, "segments is given twice: --segments 1 and --set"),
        ({"links": 3}, {"tail": "continuum"}, "a continuum tail has no links, got 3"),
    ],
)
def test_wrong_options_are_told(
    options: dict[str, object], tail: dict[str, object], message: str
) -> None:
    with pytest.raises(TargetError, match=message):
        robot_problem("supporting", options, tail)


@pytest.mark.parametrize("name", ["pitch", "moment_limit", "effort_weight"])
def test_a_number_of_righting_that_is_none_is_told(name: str) -> None:
    with pytest.raises(TargetError, match=f"{name}: expected a number, got 'abc'"):
        robot_problem("righting", {name: "abc"}, {})


def test_options_of_a_tail_are_for_the_rat_only() -> None:
    result = CliRunner().invoke(application(), ["solve", "moon_lander", "--links", "3"])
    assert result.exit_code == 2
    assert "only for righting and supporting" in result.output + result.stderr
