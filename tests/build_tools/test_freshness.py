"""Whether anything is to be done: what is noticed, what is not, and how quickly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from build_project import PENDULUM, edit

from bestiary.build_tools import dependencies, pipeline
from bestiary.build_tools import freshness as module
from bestiary.build_tools.dependencies import source_files
from bestiary.build_tools.freshness import FRESH, MISSING, STALE, UNBUILT, freshness, known_builds
from bestiary.build_tools.locations import source_root
from bestiary.build_tools.pipeline import build
from bestiary.build_tools.targets import Target, parse_target
from bestiary.modeling.animals import BUILT_IN


def test_target_that_was_never_built_is_missing(target: Target) -> None:
    assert freshness(target).state == MISSING


def test_target_is_fresh_after_its_build(target: Target) -> None:
    result = build(target)
    state = freshness(target)
    assert state.state == FRESH
    assert (state.name, state.folder) == ("test_pendulum", result.folder)
    assert build(target).status == "fresh"
    assert ("test_pendulum", target, None) in known_builds()


def test_changed_model_file_is_noticed(target: Target, pendulum: Path) -> None:
    build(target)
    edit(pendulum, "2.0", "2.5")
    state = freshness(target)
    assert state.state == STALE
    assert state.reason == f"{pendulum} changed"


def test_change_that_keeps_size_and_time_of_change_is_another_time(
    target: Target, pendulum: Path
) -> None:
    build(target)
    edit(pendulum, "2.0", "3.0")  # the same size
    assert freshness(target).state == STALE


def test_touched_file_with_the_same_content_is_fresh(target: Target, pendulum: Path) -> None:
    build(target)
    os.utime(pendulum, (1, 1))
    assert freshness(target).is_fresh
    stamp = module.stamp_path(target, None).read_text()
    assert "1000000000," in stamp  # the record is renewed, so that next time no content is read


def test_changed_neighbour_of_a_model_file_is_noticed(target: Target, pendulum: Path) -> None:
    neighbour = pendulum.parent / "lengths.py"
    neighbour.write_text("ARM = 0.5\n")
    pendulum.write_text(PENDULUM.replace("import Model,", "import Model,").replace(
        "def robot(length: float = 0.5)", "from lengths import ARM\ndef robot(length: float = ARM)"
    ))  # fmt: skip
    build(target)
    assert freshness(target).is_fresh
    neighbour.write_text("ARM = 0.6\n")
    assert freshness(target).reason == f"{neighbour} changed"
    result = build(target)
    assert "test_pendulum_defaults.c" in result.written


def test_changed_data_beside_a_model_file_is_noticed(target: Target, pendulum: Path) -> None:
    data, written = pendulum.with_name("lengths.csv"), pendulum.with_name("log.txt")
    data.write_text("0.5")
    pendulum.write_text(
        "from pathlib import Path\n"
        f"{written.name.split('.')[0]} = Path(__file__).with_name({written.name!r})\n"
        f"{written.name.split('.')[0]}.write_text('read')\n"
        + pendulum.read_text().replace(
            "length: float = 0.5",
            "length: float = float(Path(__file__).with_name('lengths.csv').read_text())",
        )
    )
    build(target)
    assert freshness(target).is_fresh
    written.write_text("what the model writes is its own affair")
    assert freshness(target).is_fresh
    data.write_text("0.6")
    assert freshness(target).reason == f"{data} changed"
    assert build(target).status == "built"
    data.unlink()
    assert freshness(target).reason == f"{data} is gone"


def test_changed_source_of_ours_is_noticed(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source.py"
    source.write_text("x = 1\n")
    known = source_files(target)
    monkeypatch.setattr(pipeline, "source_files", lambda _: (*known, source))
    build(target)
    source.write_text("x = 2\n")
    assert freshness(target).reason == f"{source} changed"


def test_files_that_a_robot_does_not_import_leave_it_fresh(target: Target) -> None:
    build(target)
    inputs = set(json.loads(module.stamp_path(target, None).read_text())["inputs"])
    assert str(source_root() / "modeling" / "joints.py") in inputs
    assert str(source_root() / "build_tools" / "templates" / "kernel.c.jinja") in inputs
    for other in ("animals/sea_lion.py", "animals/kangaroo_rat.py", "animals/__init__.py"):
        assert str(source_root() / "modeling" / other) not in inputs
    new = source_root() / "modeling" / "animals" / f"test_animal_{os.getpid()}.py"
    try:
        new.write_text("raise RuntimeError\n")
        assert freshness(target).is_fresh
    finally:
        new.unlink()


def test_a_changed_entry_in_the_list_of_animals_is_noticed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rat = parse_target("kangaroo_rat_articulated")
    before = dependencies.definition(rat)
    entry = BUILT_IN["kangaroo_rat_articulated"]
    monkeypatch.setitem(BUILT_IN, "another", replace(entry, function="other"))
    assert dependencies.definition(rat) == before
    monkeypatch.setitem(BUILT_IN, "kangaroo_rat_articulated", replace(entry, function="other"))
    assert dependencies.definition(rat) != before


def test_an_animal_that_a_model_file_imports_is_watched(target: Target, pendulum: Path) -> None:
    animal = source_root() / "modeling" / "animals" / "sea_lion.py"
    assert animal not in source_files(target)
    neighbour = pendulum.parent / "helper.py"
    neighbour.write_text("from bestiary.modeling.animals.sea_lion import sea_lion\n")
    pendulum.write_text(f"import helper\n{pendulum.read_text()}")
    assert animal in source_files(target)
    neighbour.unlink()


@pytest.mark.parametrize("name", ["sea_lion", "kangaroo_rat_articulated"])
def test_every_module_of_ours_that_an_emission_loads_is_watched(name: str) -> None:
    program = (
        "import sys, json\n"
        "from bestiary.build_tools.pipeline import emit\n"
        "from bestiary.build_tools.targets import derive, parse_target\n"
        f"emit(derive(parse_target({name!r})).equations)\n"
        "print(json.dumps([m.__file__ for m in sys.modules.values() if m is not None"
        " and m.__name__.startswith(('bestiary.modeling', 'bestiary.build_tools'))]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {Path(f).resolve() for f in json.loads(done.stdout)}
    watched = {p.resolve() for p in source_files(parse_target(name))}
    entries = (source_root() / "modeling" / "animals" / "__init__.py").resolve()
    assert loaded - watched == {entries}  # of which each target's own entry counts
    assert {p for p in watched - loaded if p.suffix == ".py"} == set()


def test_edit_during_a_build_is_noticed(target: Target, pendulum: Path) -> None:
    def meddle(event: object) -> None:
        if getattr(event, "step", "") == "compile" and "3.5" not in pendulum.read_text():
            edit(pendulum, "2.0", "3.5")

    build(target, progress=meddle)
    assert freshness(target).state == STALE


def test_every_written_file_is_watched(target: Target) -> None:
    folder = build(target).folder
    names = sorted(p.name for p in folder.iterdir())
    for name in names:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        assert not freshness(target).is_fresh, name
        (folder / name).write_bytes(content)
        assert freshness(target).is_fresh, name
    assert len(names) > 10


def test_missing_module_is_told_apart_from_stale(target: Target) -> None:
    folder = build(target).folder
    next(folder.glob("_kernel.*.so")).unlink()
    assert freshness(target).state == UNBUILT
    assert build(target).written != []
    assert freshness(target).is_fresh


def test_other_compiler_flags_are_noticed(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    build(target)
    monkeypatch.setenv("CFLAGS", "-O1")
    assert freshness(target).reason.startswith("flags changed")


def test_what_is_compiled_stays_fresh_without_compiler(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(target)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert freshness(target).is_fresh


def test_options_and_folders_have_records_of_their_own(
    target: Target, pendulum: Path, tmp_path: Path
) -> None:
    build(target)
    assert freshness(target, tmp_path / "out").state == MISSING
    assert freshness(parse_target(str(pendulum), {"length": 0.7})).state == MISSING


def test_damaged_record_only_costs_a_build(target: Target) -> None:
    build(target)
    module.stamp_path(target, None).write_text('{"format": 1, "na')
    assert not freshness(target).is_fresh
    assert build(target).written == []
    assert freshness(target).is_fresh


def test_versions_are_those_of_the_installed_packages() -> None:
    import numpy
    import sympy

    found = module.package_versions(("numpy", "SymPy", "no-such-package"))
    assert found == {"numpy": numpy.__version__, "sympy": sympy.__version__}


def test_unchanged_build_imports_nothing_heavy(target: Target, pendulum: Path) -> None:
    build(target)
    heavy = {"sympy", "numpy", "casadi", "scipy", "typer", "rich", "jinja2", "Cython"}
    script = (
        "import sys\n"
        "from bestiary.cli import main\n"
        "try:\n"
        f"    main(['build', {str(pendulum)!r}])\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0, end.code\n"
        f"print('heavy:', sorted({heavy!r} & set(sys.modules)))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=pendulum.parent, capture_output=True, text=True
    )
    assert told.stdout.splitlines() == ["nothing to do: test_pendulum up to date", "heavy: []"]
