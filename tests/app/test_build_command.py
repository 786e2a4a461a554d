"""``bestiary build``: output, exit codes, interruption."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from build_project import Compiler, bestiary, command, edit, snapshot


def test_build_then_nothing_to_do(pendulum: Path) -> None:
    first = bestiary("build", str(pendulum), cwd=pendulum.parent)
    assert first.returncode == 0, first.stderr
    assert "test_pendulum  built in" in first.stdout
    for step in ("derive", "emit", "compile", "link", "write"):
        assert f"test_pendulum: {step} " in first.stderr
    again = bestiary("build", str(pendulum), cwd=pendulum.parent)
    assert (again.returncode, again.stdout) == (0, "nothing to do: test_pendulum up to date\n")


def test_module_and_console_script_are_the_same_program() -> None:
    script = Path(sys.executable).with_name("bestiary")
    if not script.exists():
        pytest.skip("not installed with its console script")
    told = [
        subprocess.run([*start, "--version"], capture_output=True, text=True).stdout
        for start in ([str(script)], [sys.executable, "-m", "bestiary"])
    ]
    assert told[0] == told[1]
    assert told[0].startswith("bestiary 0.")


@pytest.mark.parametrize("second", [False, True])
def test_json_is_the_only_output_of_json(pendulum: Path, second: bool) -> None:
    if second:
        bestiary("build", str(pendulum), "-q", cwd=pendulum.parent)
    told = bestiary("build", str(pendulum), "--json", cwd=pendulum.parent)
    (result,) = json.loads(told.stdout)
    assert result["name"] == "test_pendulum"
    assert result["status"] == ("fresh" if second else "built")
    assert told.stderr == ""


def test_quiet_build_says_nothing(pendulum: Path) -> None:
    told = bestiary("build", "--quiet", str(pendulum), cwd=pendulum.parent)
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")


def test_out_makes_the_folder_there(pendulum: Path, tmp_path: Path) -> None:
    told = bestiary("build", str(pendulum), "--out", "here", cwd=tmp_path)
    assert told.returncode == 0
    assert (tmp_path / "here" / "test_pendulum" / "manifest.json").exists()
    again = bestiary("build", str(pendulum), "--out", "here", cwd=tmp_path)
    assert "nothing to do" in again.stdout
    elsewhere = bestiary("build", str(pendulum), "--out", "there", "-q", cwd=tmp_path)
    assert elsewhere.returncode == 0
    assert (tmp_path / "there" / "test_pendulum" / "manifest.json").exists()


def test_set_gives_another_robot(pendulum: Path, cache: Path) -> None:
    for words in ((), ("--set", "length=0.75")):
        told = bestiary("build", str(pendulum), *words, "-q", cwd=pendulum.parent)
        assert told.returncode == 0, told.stderr
    models = sorted(p.name for p in (cache / "models").iterdir())
    assert models == ["test_pendulum", "test_pendulum_length0p75"]


def test_check_passes_then_fails_on_a_changed_byte(pendulum: Path, cache: Path) -> None:
    bestiary("build", str(pendulum), "-q", cwd=pendulum.parent)
    ok = bestiary("build", "--check", str(pendulum), cwd=pendulum.parent)
    assert (ok.returncode, ok.stdout) == (0, "test_pendulum  is what its model gives\n")
    header = cache / "models" / "test_pendulum" / "test_pendulum.h"
    edit(header, "#define", "#Define")
    before = snapshot(cache / "models")
    bad = bestiary("build", "--check", str(pendulum), cwd=pendulum.parent)
    assert bad.returncode == 1
    assert "changed: test_pendulum.h" in bad.stdout
    assert "-#Define" in bad.stdout
    assert snapshot(cache / "models") == before


def test_check_of_a_robot_that_was_never_built_fails(pendulum: Path) -> None:
    told = bestiary("build", "--check", "--json", str(pendulum), cwd=pendulum.parent)
    assert told.returncode == 1
    (result,) = json.loads(told.stdout)
    assert {d["kind"] for d in result["differences"]} == {"missing"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "sea_loin"), "did you mean 'sea_lion'?"),
        (("build", "missing.py"), "no model file missing.py"),
        (("build", "sea_lion", "--set", "base"), "--set expects key=value"),
        (("build", "--jobs", "0"), "--jobs"),
        (("build", "--jbos", "2"), "--jbos"),
        (("bulid",), "bulid"),
        (("show", "sea_loin"), "did you mean 'sea_lion'?"),
    ],
)
def test_wrong_usage_ends_with_code_2(
    words: tuple[str, ...], said: str, tmp_path: Path, cache: Path
) -> None:
    told = bestiary(*words, cwd=tmp_path)
    assert told.returncode == 2
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_bad_model_ends_with_code_2_and_one_sentence(pendulum: Path) -> None:
    edit(pendulum, "joint=Revolute", 'parent="spine", joint=Revolute')
    told = bestiary("build", str(pendulum), cwd=pendulum.parent)
    assert told.returncode == 2
    assert told.stderr.startswith(f"error: {pendulum}, line ")
    assert "'spine'" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("words", [("--traceback", "build"), ("build", "--traceback")])
def test_traceback_is_shown_when_asked(pendulum: Path, words: tuple[str, ...]) -> None:
    pendulum.write_text("1 / 0\n")
    told = bestiary(*words, str(pendulum), cwd=pendulum.parent)
    assert told.returncode == 2
    assert "Traceback (most recent call last)" in told.stderr
    assert "ZeroDivisionError" in told.stderr


def test_missing_compiler_ends_with_code_1_and_the_package(
    pendulum: Path, no_compiler: None
) -> None:
    told = bestiary("build", str(pendulum), cwd=pendulum.parent)
    assert told.returncode == 1
    assert "apt-get install gcc" in told.stderr
    assert "NumPy form serves" in told.stderr


def test_compiler_message_is_shown_and_the_code_is_1(pendulum: Path, compiler: Compiler) -> None:
    compiler.write(
        'case "$*" in *--version*) echo fake 1.0;; *) echo "disk on fire" >&2; exit 7;; esac'
    )
    told = bestiary("build", str(pendulum), cwd=pendulum.parent)
    assert told.returncode == 1
    assert "disk on fire" in told.stderr
    assert "exit code 7" in told.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_interrupted_build_leaves_nothing_half_written(
    pendulum: Path, compiler: Compiler, cache: Path, tmp_path: Path, number: int, code: int
) -> None:
    built = bestiary("build", str(pendulum), "-q", cwd=pendulum.parent)
    assert built.returncode == 0
    models = snapshot(cache / "models")
    edit(pendulum, "com=(0, 0, -length)", "com=(0.6, 0, -length)")
    (cache / "objects").unlink()
    started, temporary = tmp_path / "started", tmp_path / "tmp"
    temporary.mkdir()
    compiler.write(
        f'case "$*" in *--version*) echo fake 1.0;; *) touch {started}; exec sleep 60;; esac'
    )
    process = subprocess.Popen(
        command("build", str(pendulum)),
        cwd=pendulum.parent,
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored
    )
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == code
    assert "Traceback" not in said
    if number == signal.SIGINT:
        assert "interrupted; nothing is half-written" in said
    assert snapshot(cache / "models") == models
    assert [p for p in temporary.rglob("*") if p.is_file() and p.suffix != ".lock"] == []
    compiler.write('exec gcc "$@"')
    after = bestiary("build", str(pendulum), "--json", cwd=pendulum.parent)
    assert json.loads(after.stdout)[0]["status"] == "built"


def test_reader_that_stops_early_is_no_error(pendulum: Path) -> None:
    told = subprocess.run(
        f"{sys.executable} -m bestiary show {pendulum} | head -n 1",
        shell=True,
        cwd=pendulum.parent,
        capture_output=True,
        text=True,
    )
    assert told.stdout.startswith("test_pendulum")
    assert told.stderr == ""


def without_privileges(*words: str) -> list[str]:
    """A command that must respect permissions, even if root runs it."""
    if os.geteuid() != 0:
        return list(words)
    if shutil.which("setpriv") is None:
        pytest.skip("root without setpriv cannot give up its privileges")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *words]


@pytest.mark.parametrize("what", ["cache", "out", "nothing"])
def test_read_only_folders_are_named(
    pendulum: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    out, own = tmp_path / "out", tmp_path / "own_cache"
    for folder in (out, own):
        folder.mkdir()
    monkeypatch.setenv("BESTIARY_CACHE_DIR", str(own))
    shut = {"cache": own, "out": out}.get(what)
    if shut is not None:
        shut.chmod(0o555)
    words = without_privileges(*command("build", str(pendulum), "--out", str(out)))
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    if what == "out":
        assert told.returncode == 1
        assert f"{out}/test_pendulum cannot be written" in told.stderr
        assert list(out.iterdir()) == []
        return
    assert told.returncode == 0, told.stderr
    assert (out / "test_pendulum" / "manifest.json").exists()
    warned = f"{own}/objects cannot be written" in told.stderr
    assert warned == (what == "cache")
