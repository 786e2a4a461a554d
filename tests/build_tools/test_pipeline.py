"""Builds: what is written and compiled, what is left alone, and what mishaps leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from build_project import Compiler, command, edit, snapshot

from bestiary import generated
from bestiary.build_tools import pipeline
from bestiary.build_tools.errors import CompilationError, FolderError, TargetError
from bestiary.build_tools.files import sha256
from bestiary.build_tools.locks import folder_lock
from bestiary.build_tools.pipeline import BuildResult, Event, build, check, emit
from bestiary.build_tools.targets import Target, derive, parse_target
from bestiary.modeling.animals import BUILT_IN


def test_built_robot_gives_the_numbers_of_its_model(target: Target) -> None:
    robot = generated.load(build(target).folder)
    assert robot.meta["compiled"]
    assert robot.mass_matrix([0.3])[0, 0] == pytest.approx(0.1 + 2.0 * 0.5**2, rel=1e-14)


def test_result_tells_steps_objects_and_files(target: Target) -> None:
    told: list[Event] = []
    result = build(target, progress=told.append)
    assert list(result.steps) == ["derive", "emit", "compile", "link", "write"]
    assert all(seconds >= 0 for seconds in result.steps.values())
    assert "manifest.json" in result.written
    assert [e.step for e in told if e.seconds is not None] == list(result.steps)
    assert json.loads(json.dumps(result.to_dict()))["name"] == "test_pendulum"


def test_changed_default_recompiles_nothing(
    target: Target, pendulum: Path, compiler: Compiler
) -> None:
    build(target)
    before = compiler.compilations
    edit(pendulum, "2.0", "2.5")
    result = build(target)
    assert result.written == ["manifest.json", "test_pendulum_defaults.c"]
    assert result.compiled == 0
    assert compiler.compilations == before
    robot = generated.load(result.folder)
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(0.1 + 2.5 * 0.5**2, rel=1e-14)


def test_changed_equations_are_compiled(target: Target, pendulum: Path, compiler: Compiler) -> None:
    build(target)
    before = len(compiler.compilations)
    edit(pendulum, "com=(0, 0, -length)", "com=(0.1, 0, -length)")
    result = build(target)
    robot = generated.load(result.folder)
    assert robot.meta["compiled"]
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(0.1 + 2.0 * 0.26, rel=1e-14)
    assert result.compiled == 0 or len(compiler.compilations) > before


def test_unchanged_files_keep_their_time(target: Target, pendulum: Path) -> None:
    folder = build(target).folder
    before = snapshot(folder)
    edit(pendulum, "2.0", "2.5")
    build(target)
    after = snapshot(folder)
    changed = {n for n in after if after[n] != before[n]}
    assert changed == {"manifest.json", "test_pendulum_defaults.c"}


def test_forced_build_of_the_same_model_changes_no_file(target: Target) -> None:
    folder = build(target).folder
    before = snapshot(folder)
    assert build(target, force=True).written == []
    assert snapshot(folder) == before


def test_emission_does_not_depend_on_the_hash_seed(pendulum: Path) -> None:
    script = (
        "from bestiary.build_tools.pipeline import emit\n"
        "from bestiary.build_tools.targets import derive, parse_target\n"
        "from bestiary.build_tools.files import sha256\n"
        f"files = emit(derive(parse_target({str(pendulum)!r})).equations).files\n"
        "print({n: sha256(t) for n, t in files.items()})\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=pendulum.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_emitted_texts_tell_nothing_of_this_machine(target: Target) -> None:
    emission = emit(derive(target).equations)
    home = str(Path.home())
    for name, text in emission.files.items():
        assert home not in text or home == "/", name
        assert os.path.realpath(sys.prefix) not in text, name
        assert text.endswith("\n"), name


# -- files of earlier emissions -----------------------------------------------------------
def test_files_of_an_earlier_emission_are_removed_and_others_stay(target: Target) -> None:
    folder = build(target).folder
    old = ["test_pendulum_7_f64.c", "test_pendulum_old.h", "_kernel.c"]
    own = ["notes.txt", "main.c", "test_pendulum2.c", "my_test_pendulum.c"]
    for name in (*old, *own):
        (folder / name).write_text("x")
    assert not check(target).ok
    result = build(target, force=True)
    assert result.removed == sorted(old)
    assert all((folder / name).exists() for name in own)
    assert check(target).ok


# -- check --------------------------------------------------------------------------------
def test_check_of_a_fresh_folder_is_ok_and_writes_nothing(target: Target, tmp_path: Path) -> None:
    build(target)
    before = snapshot(tmp_path)
    assert check(target).ok
    assert snapshot(tmp_path) == before


def test_check_detects_one_changed_byte_in_any_file(target: Target) -> None:
    folder = build(target).folder
    for name in emit(derive(target).equations).files:
        content = (folder / name).read_bytes()
        middle = len(content) // 2
        flipped = bytes([content[middle] ^ 1])
        (folder / name).write_bytes(content[:middle] + flipped + content[middle + 1 :])
        found = check(target)
        assert [(d.file, d.kind) for d in found.differences] == [(name, "changed")]
        assert found.differences[0].lines
        (folder / name).write_bytes(content)
    assert check(target).ok


def test_check_detects_missing_and_left_over_files(target: Target) -> None:
    folder = build(target).folder
    (folder / "test_pendulum.h").unlink()
    (folder / "test_pendulum_9_f32.c").write_text("")
    found = {d.file: d.kind for d in check(target).differences}
    assert found == {"test_pendulum.h": "missing", "test_pendulum_9_f32.c": "left over"}


# -- two at once, and interruptions -------------------------------------------------------
def test_two_builds_at_once_both_succeed(pendulum: Path, compiler: Compiler, cache: Path) -> None:
    (cache / "objects").unlink()  # nothing is compiled yet
    running = [
        subprocess.Popen(
            command("build", str(pendulum), "--json"),
            cwd=pendulum.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [p.communicate(timeout=300) for p in running]
    assert [p.returncode for p in running] == [0, 0], told
    results = [json.loads(out)[0] for out, _ in told]
    assert sorted(r["compiled"] > 0 for r in results) == [False, True]  # one did the work
    robot = generated.load(Path(results[0]["folder"]))
    assert robot.meta["compiled"]
    assert [p.name for p in Path(results[0]["folder"]).iterdir() if p.suffix == ".tmp"] == []


def test_build_waits_for_the_lock_and_then_finds_nothing_to_do(target: Target) -> None:
    folder = build(target).folder
    told: list[Event] = []
    with folder_lock(folder):
        code = (
            "import sys\n"
            "from bestiary.build_tools.pipeline import build\n"
            "from bestiary.build_tools.targets import parse_target\n"
            f"r = build(parse_target({str(target.path)!r}), force=True,\n"
            "      progress=lambda e: print(e.step, flush=True) if e.step == 'wait' else None)\n"
            "print(r.written)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "wait\n"
        assert process.poll() is None
    out, _ = process.communicate(timeout=120)
    assert out == "[]\n"
    assert told == []


def test_interrupt_while_compiling_changes_no_file(
    target: Target, pendulum: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build(target).folder
    before = snapshot(folder)
    edit(pendulum, "com=(0, 0, -length)", "com=(0.2, 0, -length)")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "compile_module", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(target)
    assert snapshot(folder) == before


def test_failed_compilation_changes_no_file(
    target: Target, pendulum: Path, compiler: Compiler, cache: Path
) -> None:
    folder = build(target).folder
    before = snapshot(folder)
    edit(pendulum, "com=(0, 0, -length)", "com=(0.3, 0, -length)")
    (cache / "objects").unlink()
    compiler.write('case "$*" in *--version*) echo fake 1.0;; *) echo "no way" >&2; exit 4;; esac')
    with pytest.raises(CompilationError, match="no way"):
        build(target)
    assert snapshot(folder) == before


def test_failed_first_build_leaves_no_folder(target: Target, compiler: Compiler) -> None:
    compiler.write('case "$*" in *--version*) echo fake 1.0;; *) exit 4;; esac')
    with pytest.raises(CompilationError):
        build(target)
    assert not target.folder("test_pendulum", None).exists()


# -- no compiler, and folders that cannot be written --------------------------------------
def test_without_compiler_all_is_written_and_the_numpy_form_serves(
    target: Target, no_compiler: None
) -> None:
    result = build(target)
    assert result.status == "not compiled"
    assert "apt-get install gcc" in result.problem
    with pytest.warns(generated.NotCompiledWarning):
        robot = generated.load(result.folder)
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(0.6, rel=1e-14)


def test_robot_is_compiled_once_there_is_a_compiler(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        assert build(target).status == "not compiled"
    result = build(target)
    assert result.status == "built"
    assert len(result.written) == 2  # the module and its stamp
    assert generated.load(result.folder).meta["compiled"]


def test_compiled_module_survives_a_new_default_without_compiler(
    target: Target, pendulum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(target)
    edit(pendulum, "2.0", "2.5")
    monkeypatch.setenv("PATH", str(tmp_path))
    result = build(target)
    assert (result.status, result.problem) == ("built", "")
    assert generated.load(result.folder).meta["compiled"]


def test_outdated_module_is_removed_without_compiler(
    target: Target, pendulum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build(target).folder
    edit(pendulum, "com=(0, 0, -length)", "com=(0.4, 0, -length)")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build(target).status == "not compiled"
    assert list(folder.glob("*.so")) == []


def test_folder_that_cannot_be_written_is_named(target: Target, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match=f"{tmp_path / 'file'}.* cannot be written"):
        build(target, out=tmp_path / "file")


def test_unwritable_generated_folder_lands_in_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: Target
) -> None:
    (tmp_path / "file").write_text("")
    packaged = Target("test_pendulum")  # as if the pendulum were built-in
    derived = derive(target)
    monkeypatch.setitem(BUILT_IN, "test_pendulum", BUILT_IN["sea_lion"])
    monkeypatch.setattr(Target, "folder", lambda self, name, out: tmp_path / "file" / name)
    monkeypatch.setattr(pipeline, "derive", lambda _: derived)
    result = build(packaged)
    assert result.folder == cache / "models" / "test_pendulum"
    assert "cannot be written; the robot is built in" in result.notes[0]


def test_build_without_writable_cache_says_so_and_works(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BESTIARY_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(FolderError, match="BESTIARY_CACHE_DIR"):
        build(target)
    result: BuildResult = build(target, out=tmp_path / "out")
    assert "cannot be written" in result.notes[0]
    assert generated.load(result.folder).meta["compiled"]
    assert check(target, out=tmp_path / "out").ok


# -- built-in robots with options ---------------------------------------------------------
def test_options_of_another_built_in_robot_mean_that_robot() -> None:
    assert parse_target("sea_lion", {"base": "quaternion"}) == Target("sea_lion_quaternion")
    assert parse_target("sea_lion", {"base": "euler_zyx"}) == Target("sea_lion")


def test_other_options_land_in_the_cache_under_their_own_name(cache: Path) -> None:
    target = parse_target("sea_lion", {"base": "euler_xyz"})
    assert not target.is_packaged
    assert target.folder("sea_lion_euler_xyz", None) == cache / "models" / "sea_lion_euler_xyz"


def test_loader_and_build_agree_on_folder_names() -> None:
    from bestiary.build_tools.locations import folder_name

    for options in (
        {},
        {"base": "quaternion"},
        {"base": "euler_zyx"},
        {"segments": 3, "links": 4},
        {"wet": True, "long": False, "mass": 2.5, "tail": None, "offset": -1e-3},
        {"kind": "a b/c"},
    ):
        assert folder_name("robot", options) == generated.folder_name("robot", options)


def test_model_that_cannot_be_written_is_refused_with_its_file(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(_: object) -> None:
        raise ValueError("function coriolis_matrix has 9 operations, more than 8")

    monkeypatch.setattr(pipeline, "emit", too_large)
    with pytest.raises(TargetError, match=r"test_pendulum\.py: function coriolis_matrix has 9"):
        build(target)


def test_module_record_has_the_hashes_of_its_sources(target: Target) -> None:
    folder = build(target).folder
    record = json.loads((folder / "_kernel.stamp.json").read_text())
    assert set(record["sources"]) >= {"_kernel.pyx", "test_pendulum.h", "test_pendulum_f64.c"}
    for name, digest in record["sources"].items():
        assert sha256((folder / name).read_bytes()) == digest
