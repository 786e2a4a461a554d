"""The manifest: complete, plain, and the same on every run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from robot_harness import ROBOTS, equations

from bestiary.build_tools.backends.c import emit_c
from bestiary.build_tools.manifest import make_manifest, manifest_text
from bestiary.modeling.version import __version__


@pytest.mark.parametrize("name", ROBOTS)
def test_manifest_says_what_the_equations_say(name):
    e = equations(name)
    c = emit_c(e)
    manifest = json.loads(manifest_text(make_manifest(e, c)))
    assert (
        list(manifest)
        == (
            "format name title source formalism up generator_version program_sha256 options "
            "coordinates velocities inputs groups controllers parameters variants nodes functions "
            "sources header defaults"
        ).split()
    )
    assert manifest["name"] == name
    assert manifest["generator_version"] == __version__
    assert manifest["program_sha256"] == e.program.content_hash
    for key in ("coordinates", "velocities"):
        for entry, item in zip(manifest[key], getattr(e, key), strict=True):
            assert entry == {
                "name": item.name,
                "unit": item.unit,
                "symbol": item.symbol,
                "description": item.description,
                "kind": item.kind,
            }
    assert [i["name"] for i in manifest["inputs"]] == [i.name for i in e.inputs]
    values = {p["name"]: p["default"] for p in manifest["parameters"]}
    assert values == e.values()
    for variant, entry in manifest["variants"].items():
        assert {**values, **entry["values"]} == e.values(variant)
        assert entry["note"] == e.variant_notes[variant]
    assert [(n["name"], n["body"]) for n in manifest["nodes"]] == [
        (n.name, n.body) for n in e.nodes
    ]
    assert list(manifest["functions"]) == list(e.program.functions)
    for function, entry in manifest["functions"].items():
        f = e.program.functions[function]
        assert entry["inputs"] == list(f.inputs)
        assert [tuple(o["shape"]) for o in entry["outputs"]] == [o.shape for o in f.outputs]
        assert entry["operations"] == e.program.operation_counts(function)
        assert entry["guards"] == [g.message for g in f.guards]
    assert manifest["sources"] == {k: list(v) for k, v in c.sources.items()}
    assert manifest["header"] == c.header
    for file in (*manifest["defaults"], *manifest["sources"]["f64"], manifest["header"]):
        assert file in c.files


def test_manifest_and_cython_are_the_same_bytes_under_any_hash_seed():
    code = (
        "import sys; from robot_harness import equations\n"
        "from bestiary.build_tools.backends.c import emit_c\n"
        "from bestiary.build_tools.backends.cython import emit_cython\n"
        "from bestiary.build_tools.manifest import make_manifest, manifest_text\n"
        "e = equations('crane')\n"
        "sys.stdout.write(manifest_text(make_manifest(e, emit_c(e))))\n"
        "sys.stdout.write(''.join(emit_cython(e).values()))\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, env=environment(seed)
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(texts) == 1
    assert b"crane" in texts.pop()


def environment(seed: str) -> dict[str, str]:
    path = [p for p in sys.path if p]
    package = Path(sys.modules["bestiary.build_tools"].__file__ or "").parent.parent.parent
    return {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "PYTHONPATH": os.pathsep.join([str(package), *path]),
    }


def test_no_machine_path_time_or_user_is_written():
    text = manifest_text(make_manifest(equations("crane"), emit_c(equations("crane"))))
    for word in (str(Path.home()), str(Path(__file__).parent), os.uname().nodename):
        assert word not in text
    assert not re.search(r"20\d\d-\d\d|\d\d:\d\d", text)
