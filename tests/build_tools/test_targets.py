"""Model files and names: what is taken, and how each mistake is told."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
from build_project import PENDULUM, edit

from bestiary.build_tools.errors import TargetError
from bestiary.build_tools.targets import derive, parse_options, parse_target

BODY = """
from bestiary.modeling import Model, Revolute, poincare

model = Model("mine")
"""


def refused(path: Path, text: str, **options: object) -> str:
    """What is said about a model file."""
    path.write_text(text)
    with pytest.raises(TargetError) as caught:
        derive(parse_target(str(path), options))
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path, cache: Path) -> Path:
    return tmp_path / "mine.py"


# -- what is taken ------------------------------------------------------------------------
def test_function_module_variable_and_equations_are_all_taken(file: Path) -> None:
    arm = 'model.body("arm", joint=Revolute("turn"), mass=1.0, com=(0.1, 0, 0))\n'
    for text in (
        BODY + arm,
        BODY + arm + "def robot(): return model\n",
        BODY + arm + "def robot(): return poincare(model)\n",
    ):
        file.write_text(text)
        assert derive(parse_target(str(file))).equations.name == "mine"


def test_options_reach_the_model_and_are_recorded(pendulum: Path) -> None:
    equations = derive(parse_target(str(pendulum), {"length": 0.75})).equations
    assert equations.values()["arm_com_z"] == -0.75
    assert equations.options == {"length": 0.75}


def test_neighbours_are_read_anew_each_time(file: Path) -> None:
    neighbour = file.parent / "my_numbers.py"
    file.write_text(PENDULUM.replace("length: float = 0.5", "length=__import__('my_numbers').L"))
    for length in (0.5, 0.625):
        neighbour.write_text(f"L = {length}  # {'x' * int(1000 * length)}\n")
        derived = derive(parse_target(str(file)))
        assert derived.equations.values()["arm_com_z"] == -length
        assert derived.files == (file, neighbour)
    assert "my_numbers" not in sys.modules
    assert str(file.parent) not in sys.path


def test_warnings_about_a_model_are_collected(file: Path) -> None:
    file.write_text(PENDULUM.replace("(0.1, 0.1, 0.01)", "(0.1, 0.1, 0.9)"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        derived = derive(parse_target(str(file)))
    assert len(derived.warnings) == 1
    assert "arm" in derived.warnings[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n=3", 3),
        ("n=-2.5e-3", -2.5e-3),
        ("n=True", True),
        ("n=quaternion", "quaternion"),
        ("n='3'", "3"),
        ("n=(1, 2)", (1, 2)),
        ("n=a=b", "a=b"),
        ("n=", ""),
    ],
)
def test_option_values_are_python_literals_or_text(text: str, value: object) -> None:
    assert parse_options([text]) == {"n": value}


@pytest.mark.parametrize("text", ["length", "=3", "two words=3", "3=3"])
def test_option_without_name_is_refused(text: str) -> None:
    with pytest.raises(TargetError, match="expects key=value"):
        parse_options([text])


# -- names --------------------------------------------------------------------------------
def test_unknown_name_is_refused_with_the_closest() -> None:
    with pytest.raises(TargetError, match=r"did you mean 'sea_lion'\?"):
        parse_target("sea_loin")


def test_missing_file_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="there is no model file"):
        parse_target(str(tmp_path / "nothing.py"))


def test_unknown_option_of_a_built_in_robot_is_refused_with_the_closest() -> None:
    with pytest.raises(TargetError, match=r"sea_lion has no option 'bass' \(did you mean 'base'"):
        derive(parse_target("sea_lion", {"bass": "quaternion"}))


def test_bad_option_of_a_built_in_robot_names_robot_and_value() -> None:
    with pytest.raises(TargetError, match=r"sea_lion \(base=euler_qqq\)"):
        derive(parse_target("sea_lion", {"base": "euler_qqq"}))


# -- mistakes in a model file -------------------------------------------------------------
def test_syntax_error_is_told_with_file_line_and_text(file: Path) -> None:
    told = refused(
        file, "from bestiary.modeling import Model\nmodel = Model('a' 'b' c)\nprint(1)\n"
    )
    assert told.startswith(f"{file}, line 2: syntax error:")
    assert "model = Model('a' 'b' c)" in told


def test_syntax_error_in_a_neighbour_names_the_neighbour(file: Path) -> None:
    neighbour = file.parent / "broken_neighbour.py"
    neighbour.write_text("x = = 1\n")
    told = refused(file, "import broken_neighbour\n")
    assert told.startswith(f"{neighbour}, line 1: syntax error:")


def test_file_that_is_not_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TargetError, match="cannot read the model file"):
        derive(parse_target(str(file)))


def test_missing_parent_is_told_with_file_line_and_body(file: Path) -> None:
    told = refused(
        file,
        BODY + 'model.body("tail", parent="spine", joint=Revolute("turn"), mass=1.0)\n',
    )
    assert told.startswith(f"{file}, line 5: ")
    assert "'tail'" in told
    assert "'spine'" in told


def test_wrong_unit_is_told_with_file_line_and_body(file: Path) -> None:
    told = refused(
        file,
        BODY + "size = model.parameter('size', 1.0, 'm')\n"
        "model.body('tail', joint=Revolute('turn'), mass=size)\n",
    )
    assert told.startswith(f"{file}, line 6: ")
    assert "'tail'" in told
    assert "kg" in told


def test_unit_that_cannot_be_read_is_told(file: Path) -> None:
    told = refused(file, BODY + "model.parameter('long', 1.0, 'metre')\n")
    assert f"{file}, line 5" in told
    assert "metre" in told


def test_model_that_cannot_be_derived_is_told_with_its_file(file: Path) -> None:
    told = refused(file, BODY)
    assert told == f"{file}: model 'mine' has no moving joint"


def test_import_error_is_told_with_line_and_module(file: Path) -> None:
    told = refused(file, "import os\nimport no_such_module\n")
    assert told.startswith(f"{file}, line 2: ModuleNotFoundError: No module named")
    assert "import no_such_module" in told


def test_deepest_line_of_the_users_own_code_is_told(file: Path) -> None:
    told = refused(file, "def half(x):\n    return x / 0\ndef robot():\n    return half(1)\n")
    assert told.startswith(f"{file}, line 2: ZeroDivisionError")
    assert "return x / 0" in told


def test_missing_robot_is_told_with_what_is_needed(file: Path) -> None:
    told = refused(file, "x = 1\n")
    assert "defines no model" in told
    assert "function robot()" in told


def test_robot_that_is_no_function_is_told(file: Path) -> None:
    assert "not a function" in refused(file, "robot = 3\n")


@pytest.mark.parametrize(
    ("returned", "kind"), [("3", "int"), ("None", "None"), ("'arm'", "str"), ("Model", "type")]
)
def test_wrong_return_is_told_with_its_type(file: Path, returned: str, kind: str) -> None:
    told = refused(file, BODY + f"def robot():\n    return {returned}\n")
    assert "must return a bestiary.modeling.Model" in told
    assert f"got {kind}" in told


def test_unknown_option_is_told_with_those_that_exist(file: Path) -> None:
    told = refused(file, PENDULUM, lenght=2.0)
    assert "robot() of mine.py has no option 'lenght' (did you mean 'length'?)" in told


def test_options_of_a_module_variable_are_refused(file: Path) -> None:
    assert "takes no options (got length)" in refused(file, BODY, length=2.0)


def test_name_of_a_built_in_robot_is_refused(file: Path) -> None:
    told = refused(file, PENDULUM.replace("test_pendulum", "sea_lion"))
    assert "is that of a built-in robot" in told


def test_model_file_that_exits_is_told(file: Path) -> None:
    assert "SystemExit" in refused(file, "raise SystemExit(3)\n")


def test_edited_file_is_quoted_as_it_is_now(file: Path) -> None:
    refused(file, "x = 1\ny = 1 / 0\n")
    edit(file, "x = 1\n", "x = 1\n\n")
    with pytest.raises(TargetError, match=r"line 3: ZeroDivisionError(.|\n)*y = 1 / 0"):
        derive(parse_target(str(file)))
