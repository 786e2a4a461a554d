"""The examples of README and manual run, and the commands print what is printed there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bestiary.modeling import EquationsOfMotion, poincare

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (bestiary show [^\n]*)\n([^$\n][^\n]*)$", re.M)


def _blocks(page: str, language: str) -> list[tuple[str, str]]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [(m[2].strip(), m[3]) for m in BLOCK.finditer(text) if m[1] == language]


def _files(page: str) -> dict[str, str]:
    return {
        head.removeprefix("file="): text
        for head, text in _blocks(page, "python")
        if head.startswith("file=")
    }


@pytest.mark.parametrize("page", PAGES)
def test_python_examples_run_in_order(page: str, tmp_path: Path) -> None:
    scope: dict[str, object] = {"__name__": "__example__"}
    for head, text in _blocks(page, "python"):
        if not head.startswith("file="):
            exec(compile(text, f"{page}", "exec"), scope)


@pytest.mark.parametrize("page", PAGES)
def test_model_files_can_be_derived(page: str) -> None:
    for name, text in _files(page).items():
        scope: dict[str, object] = {"__name__": "__example__"}
        exec(compile(text, name, "exec"), scope)
        equations = poincare(scope["robot"]())
        assert isinstance(equations, EquationsOfMotion)


@pytest.mark.parametrize("page", PAGES)
def test_show_commands_print_what_the_page_says(page: str, tmp_path: Path) -> None:
    for name, text in _files(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "BESTIARY_CACHE_DIR": str(tmp_path / "cache"), "COLUMNS": "10000"}
    for _, text in _blocks(page, "console"):
        for command, expected in COMMAND.findall(text):
            words = re.findall(r'"([^"]*)"|(\S+)', command)
            words = [quoted or plain for quoted, plain in words][1:]
            words[1] = f"{words[1]}.py" if f"{words[1]}.py" in _files(page) else words[1]
            done = subprocess.run(
                [sys.executable, "-m", "bestiary", *words],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=environment,
                check=True,
            )
            assert done.stdout.strip() == expected.strip()


def test_every_page_is_reached_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"({page})" in text for page in PAGES if page != "README.md")


def test_the_table_of_options_of_solve_is_complete_and_right() -> None:
    from inspect import signature

    from bestiary.solvers.ocp import solve

    text = (ROOT / "docs/optimal_control.md").read_text(encoding="utf-8")
    table = text.partition("## Options of `solve`")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `?([^`|]+?)`? \|", table, re.M)
    parameters = {n: p for n, p in signature(solve).parameters.items() if n != "problem"}
    assert [name for name, _ in rows] == list(parameters)
    told_otherwise = {"scheme": "Radau(3)", "mesh": "20"}  # chosen where the argument is None
    for name, shown in rows:
        default = parameters[name].default
        expected = told_otherwise.get(name) or str(default).replace("1e-06", "1e-6")
        assert shown.strip('"') == expected, name
