"""``list``, ``show``, ``export``, ``doctor`` and the help."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from build_project import PENDULUM, edit
from typer.testing import CliRunner

from bestiary.build_tools.pipeline import build, emit
from bestiary.build_tools.targets import Target, derive
from bestiary.cli.application import application

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(cache: Path) -> Run:
    """Run a command in this process: exit code, output, error output."""
    runner = CliRunner()

    def call(*words: str) -> tuple[int, str, str]:
        result = runner.invoke(application(), list(words))
        return result.exit_code, result.stdout, result.stderr

    return call


# -- help ---------------------------------------------------------------------------------
def test_help_tells_the_exit_codes(run: Run) -> None:
    for words in (("--help",), ("build", "--help")):
        code, text, _ = run(*words)
        assert code == 0
        for number in ("0", "1", "2", "130"):
            assert number in text
    assert run()[0] in (0, 2)  # without a command: the help


def test_every_command_has_help(run: Run) -> None:
    for name in ("build", "list", "show", "export", "doctor"):
        code, text, _ = run(name, "--help")
        assert code == 0
        assert "Usage" in text


# -- list ---------------------------------------------------------------------------------
def test_list_tells_size_hash_and_state(run: Run, target: Target, pendulum: Path) -> None:
    build(target)
    rows = {row["name"]: row for row in json.loads(run("list", "--json")[1])}
    assert "sea_lion" in rows
    row = rows["test_pendulum"]
    program = derive(target).equations.program
    assert row["state"] == "fresh"
    assert (row["degrees_of_freedom"], row["coordinates"], row["inputs"]) == (1, 1, 1)
    assert row["program_sha256"] == program.content_hash
    for name, count in row["operations"].items():
        assert count == sum(program.operation_counts(name).values())
    edit(pendulum, "2.0", "2.5")
    rows = {row["name"]: row for row in json.loads(run("list", "--json")[1])}
    assert rows["test_pendulum"]["state"] == "stale"
    assert rows["test_pendulum"]["reason"] == f"{pendulum} changed"
    text = run("list")[1]
    assert program.content_hash[:10] in text
    assert "stale" in text


def test_list_names_each_robot_once_and_groups_the_reasons() -> None:
    from bestiary.cli.listing import _digits_as_numbers, _reasons

    rows = [
        {"label": f"rat_links{n}", "state": "stale", "reason": "/a/model.py changed"}
        for n in (16, 2, 8)
    ]
    rows.append({"label": "fish", "state": "fresh", "reason": ""})
    assert _reasons(rows) == [
        ("stale", "/a/model.py changed", ["rat_links16", "rat_links2", "rat_links8"])
    ]
    names = sorted((r["label"] for r in rows), key=_digits_as_numbers)
    assert names == ["fish", "rat_links2", "rat_links8", "rat_links16"]


def test_list_tells_which_file_a_robot_of_the_users_comes_from(
    run: Run, target: Target, pendulum: Path
) -> None:
    build(target)
    (line,) = [x for x in run("list")[1].splitlines() if x.startswith("test_pendulum")]
    assert f"({pendulum})" in line
    assert "operations of M, C and F together" in run("list")[1]


# -- show ---------------------------------------------------------------------------------
def test_show_tells_parameters_with_units_values_and_sources(run: Run, pendulum: Path) -> None:
    code, text, _ = run("show", str(pendulum))
    assert code == 0
    (line,) = [line for line in text.splitlines() if line.startswith("arm_mass ")]
    assert line.split()[:4] == ["arm_mass", "2", "kg", "chosen"]
    for word in ("swing", "rad/s", "swing_torque", "N m", "mass_matrix"):
        assert word in text


def test_show_reads_what_was_built_without_the_model_file(
    run: Run, target: Target, pendulum: Path
) -> None:
    build(target)
    pendulum.unlink()
    code, text, _ = run("show", "test_pendulum", "M[0,0]")
    assert (code, text) == (0, "M[0,0] = arm_com_z**2*arm_mass + arm_inertia_yy\n")


def test_shown_entries_are_the_closed_forms_of_the_equations(
    run: Run, target: Target, pendulum: Path
) -> None:
    import sympy

    equations = derive(target).equations
    symbols = dict(equations.symbols)
    for expression, view, index in (
        ("M[0,0]", equations.mass_matrix, (0, 0)),
        ("C[0,0]", equations.coriolis_matrix, (0, 0)),
        ("F[0]", equations.force_vector, (0,)),
        ("V[swing,swing_rate]", equations.velocity_map, (0, 0)),
        ("Q[swing_rate]", equations.generalized_forces, (0,)),
        ("arm_pose[0, -2]", equations.arm_pose, (0, 2)),
        ("equations_of_motion.force_vector[0]", equations.force_vector, (0,)),
        ("kinetic_energy", equations.kinetic_energy, ()),
    ):
        code, text, said = run("show", str(pendulum), expression)
        assert code == 0, said
        shown = sympy.sympify(text.partition(" = ")[2], locals=symbols)
        assert sympy.simplify(shown - view.entry(index)) == 0, expression


def test_variant_puts_its_numbers_in(run: Run, pendulum: Path) -> None:
    edit(
        pendulum,
        "    return model",
        "    model.variant('heavy', {'arm_mass': 8.0})\n    return model",
    )
    assert run("show", str(pendulum), "M[0,0]", "--variant", "heavy")[1] == "M[0,0] = 2.1\n"
    text = run("show", str(pendulum), "--variant", "heavy")[1]
    assert any(line.split()[:3] == ["arm_mass", "*", "8"] for line in text.splitlines())
    code, _, said = run("show", str(pendulum), "--variant", "heavi")
    assert code == 2
    assert "no variant 'heavi' (did you mean 'heavy'?)" in said


def test_latex_is_latex(run: Run, pendulum: Path) -> None:
    text = run("show", str(pendulum), "F[0]", "--latex")[1]
    assert r"\sin{\left(" in text
    assert r"\mathrm{arm\_mass}" in text


def test_too_large_entry_is_refused_with_its_operation_count(run: Run, pendulum: Path) -> None:
    code, _, said = run("show", str(pendulum), "kinetic_energy", "--limit", "1")
    assert code == 2
    assert "operations written out as a closed form, more than the limit of 1" in said
    number = said.rpartition("--limit ")[2].split()[0]
    assert run("show", str(pendulum), "kinetic_energy", "--limit", number)[0] == 0


def test_whole_array_is_shown_as_a_pattern(run: Run, pendulum: Path) -> None:
    code, text, _ = run("show", str(pendulum), "arm_pose")
    assert code == 0
    assert text.splitlines()[0].startswith("arm_pose is 4×4")
    rows = [line.split()[1:] for line in text.splitlines()[1:5]]
    assert [row.count("·") for row in rows] == [2, 3, 2, 3]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("N[0]", "no function 'N'"),
        ("mass_matrx[0,0]", "did you mean 'mass_matrix'?"),
        ("M[0]", "mass_matrix is 1×1, got 1 indices"),
        ("M[0,1]", "index 1 is out of range, expected 0 to 0"),
        ("M[0,-2]", "index -2 is out of range"),
        ("F[swign]", "did you mean 'swing'?"),
        ("M[0,0", "cannot read"),
        ("mass_matrix.other[0,0]", "no output 'other'; it has mass_matrix"),
        ("kinetic_energy[0]", "a scalar, without index"),
    ],
)
def test_wrong_expression_is_told(run: Run, pendulum: Path, expression: str, said: str) -> None:
    code, _, told = run("show", str(pendulum), expression)
    assert code == 2
    assert said in told


def test_shown_json_has_what_the_text_has(run: Run, pendulum: Path) -> None:
    entry = json.loads(run("show", str(pendulum), "M[0,0]", "--json")[1])
    assert entry["text"] == "arm_com_z**2*arm_mass + arm_inertia_yy"
    assert entry["function"] == "mass_matrix"
    robot = json.loads(run("show", str(pendulum), "--json")[1])
    assert {p["name"]: p["value"] for p in robot["parameters"]}["arm_mass"] == 2.0


# -- export -------------------------------------------------------------------------------
def test_exported_project_compiles_alone(run: Run, pendulum: Path, tmp_path: Path) -> None:
    out = tmp_path / "firmware"
    code, _, said = run("export", str(pendulum), "--out", str(out))
    assert code == 0, said
    names = sorted(p.name for p in out.iterdir())
    assert {"test_pendulum.h", "README.md", "CMakeLists.txt"} <= set(names)
    assert not any(n.endswith((".pyx", ".pyi", ".json", ".so")) for n in names)
    sources = sorted(str(p) for p in out.glob("*.c"))
    compiler = shutil.which("gcc") or "cc"
    for source in sources:
        subprocess.run(
            [compiler, "-std=c99", "-Wall", "-Werror", "-c", source, "-o", f"{source}.o"],
            check=True,
        )


def test_export_writes_only_what_changed(run: Run, pendulum: Path, tmp_path: Path) -> None:
    out = tmp_path / "firmware"
    run("export", str(pendulum), "--out", str(out))
    edit(pendulum, "2.0", "2.5")
    told = json.loads(run("export", str(pendulum), "--out", str(out), "--json")[1])
    assert told["written"] == ["test_pendulum_defaults.c"]


def test_export_into_a_folder_that_cannot_be_written_is_told(
    run: Run, pendulum: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    code, _, said = run("export", str(pendulum), "--out", str(tmp_path / "file" / "firmware"))
    assert code == 1
    assert "cannot write in" in said


def test_exported_files_are_those_of_the_emission(
    run: Run, target: Target, pendulum: Path, tmp_path: Path
) -> None:
    run("export", str(pendulum), "--out", str(tmp_path / "c"))
    files = emit(derive(target).equations).files
    for path in (tmp_path / "c").iterdir():
        assert path.read_text() == files[path.name]


# -- doctor -------------------------------------------------------------------------------
def test_doctor_finds_a_complete_machine_complete(run: Run) -> None:
    code, text, _ = run("doctor")
    assert code == 0
    assert "problem" not in text
    for what in ("compiler", "python headers", "cython", "packages", "cache", "robot sea_lion"):
        assert what in text


def test_doctor_names_what_is_missing(run: Run, no_compiler: None) -> None:
    code, text, _ = run("doctor", "--json")
    assert code == 1
    problems = [f for f in json.loads(text) if f["verdict"] == "problem"]
    assert [f["what"] for f in problems] == ["compiler"]
    assert "apt-get install gcc" in problems[0]["text"]


def test_unexpected_error_is_told_without_traceback(
    run: Run, pendulum: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bestiary.cli import robots

    def broken(_: object) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(robots, "emit", broken)
    code, _, said = run("show", str(pendulum))
    assert code == 1
    assert "unexpected RuntimeError: something else" in said
    assert "Traceback" not in said


def test_model_text_with_brackets_is_shown_as_it_is(run: Run, pendulum: Path) -> None:
    pendulum.write_text(PENDULUM.replace("a pendulum", "a [bold]pendulum[/bold] [1]"))
    assert "a [bold]pendulum[/bold] [1]" in run("show", str(pendulum))[1]
