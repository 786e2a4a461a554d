"""The generated folder as its reader sees it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_harness import (
    STRICT,
    TYPES,
    CLibrary,
    double_pendulum,
    floating_arm,
    robot_library,
    run,
    sea_lion_library,
    write,
)

from bestiary.build_tools.backends.c import COptions, ModelTooLargeError, emit_c

TESTS = Path(__file__).parents[1]


def digest(files) -> str:
    text = "".join(f"{name}\n{content}" for name, content in sorted(files.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def test_emission_is_the_same_bytes_under_any_hash_seed() -> None:
    code = (
        "import hashlib; from c_harness import floating_arm, emit_c\n"
        "files = emit_c(floating_arm()).files\n"
        "text = ''.join(f'{n}\\n{t}' for n, t in sorted(files.items()))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    found = set()
    for seed in ("0", "1234"):
        path = os.pathsep.join([str(TESTS), *(p for p in sys.path if p)])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.add(done.stdout.strip())
    assert found == {digest(emit_c(floating_arm()).files)}


def test_file_lists_are_complete() -> None:
    for library in (robot_library("pendulum"), sea_lion_library()):
        sources = library.sources
        name = library.equations.name
        expected = {sources.header, *sources.defaults, "README.md", "CMakeLists.txt"}
        expected |= {*sources.sources["f64"], *sources.sources["f32"]}
        assert set(sources.files) == expected
        assert sources.header == f"{name}.h"
        assert f"{name}_rollout_f32.c" in sources.sources["f32"]


def test_every_file_is_tidy_text() -> None:
    for library in (robot_library("pendulum"), sea_lion_library()):
        for name, text in library.sources.files.items():
            assert text.endswith("\n"), name
            assert not text.endswith("\n\n"), name
            assert not re.search(r"[ \t]$", text, re.MULTILINE), name
            assert "\t" not in text
            assert "\n\n\n" not in text, name
            assert name.endswith(".md") or text.isascii(), name


def test_no_file_names_a_date_a_user_or_a_path() -> None:
    text = "".join(sea_lion_library().sources.files.values())
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b", text)
    assert not re.search(r"(/home/|/root|/work/|/tmp/|C:\\)", text)


def test_header_carries_version_and_hash_of_the_program() -> None:
    from bestiary.modeling.version import __version__

    library = robot_library("pendulum")
    header = library.sources.files["pendulum.h"]
    assert f'#define PENDULUM_PROGRAM_SHA256 "{library.program.content_hash}"' in header
    assert f'#define PENDULUM_VERSION "{__version__}"' in header


def test_header_states_sizes_indices_units_and_operation_counts() -> None:
    library = robot_library("pendulum")
    header = library.sources.files["pendulum.h"]
    assert "#define PENDULUM_NQ 2 " in header
    assert re.search(r"PENDULUM_Q_ELBOW = 1 /\* \[rad\]", header)
    assert re.search(r"PENDULUM_P_SHOULDER_RATE = 0, /\* \[rad/s\]", header)
    assert re.search(r"PENDULUM_U_SHOULDER_TORQUE = 0, /\* \[N m\]", header)
    assert re.search(r"double lower_mass; +/\* \[kg\]", header)
    unwrapped = re.sub(r"\n \*\s+", " ", header)
    assert (
        "[2 x 2]: M(q), symmetric, both triangles; entry (i, j) at mass_matrix[i*2 + j]"
        in unwrapped
    )
    for name in library.program.functions:
        total = sum(library.program.operation_counts(name).values())
        block = header.split(f"int pendulum_{name}_f64(")[0].rsplit("/*", 1)[1]
        assert re.search(rf"Operations: {total}\b", block), name


def test_default_values_change_neither_header_nor_kernels() -> None:
    equations = double_pendulum()
    heavier = replace(
        equations,
        parameters=tuple(replace(p, default=p.default * 1.5) for p in equations.parameters),
    )
    one, other = emit_c(equations).files, emit_c(heavier).files
    assert {n for n in one if one[n] != other[n]} == {"pendulum_defaults.c"}


@pytest.mark.parametrize("tag", ["f64", "f32"])
@pytest.mark.parametrize("variant", [None, "heavy"])
def test_default_functions_set_the_values_of_the_model(tag: str, variant: str | None) -> None:
    library = robot_library("pendulum")
    expected = list(library.equations.values(variant).values())
    values = np.full(len(expected), np.nan, dtype=TYPES[tag])
    name = f"pendulum_{variant or 'default'}_parameters_{tag}"
    getattr(library.libraries[tag], name)(values.ctypes.data_as(ctypes.c_void_p))
    np.testing.assert_array_equal(values, np.array(expected, dtype=TYPES[tag]))


@pytest.mark.parametrize("name", ["pendulum", "passive", "floater"])
def test_the_example_in_the_readme_compiles_and_runs(name: str, tmp_path: Path) -> None:
    library = robot_library(name)
    write(library.sources, tmp_path)
    text = library.sources.files["README.md"]
    (tmp_path / "example.c").write_text(re.findall(r"```c\n(.*?)```", text, re.DOTALL)[0])
    command = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[0].split()
    assert command[0] == "cc"
    run(["gcc", *STRICT, *command[1:]], tmp_path)
    lines = run(["./example"], tmp_path).splitlines()
    assert len(lines) == len(library.program.functions["forward_dynamics"].outputs[0].refs)


def test_the_readme_lists_every_function() -> None:
    library = robot_library("floater")
    text = library.sources.files["README.md"]
    for function in library.program.functions.values():
        size = sum(library.program.operation_counts(function.name).values())
        assert re.search(rf"\| `{function.name}` \| .* \| {size:,}( \(\d+\))? \|", text)


def test_a_function_beyond_the_limit_is_refused_with_advice() -> None:
    with pytest.raises(ModelTooLargeError, match=r"'\w+' has [\d,]+ operations.*fewer bodies"):
        emit_c(double_pendulum(), COptions(function_limit=20))


def test_parts_and_files_have_about_the_wanted_size() -> None:
    sources = sea_lion_library().sources
    kernels = [n for n in sources.sources["f64"] if "rollout" not in n]
    assert 2 <= len(kernels) <= 6
    lengths = [len(sources.files[n]) for n in kernels]
    assert max(lengths) < 2 * min(lengths)
    longest = 0
    for name in kernels:
        for body in re.findall(r"^\{\n(.*?)^\}", sources.files[name], re.DOTALL | re.MULTILINE):
            longest = max(longest, body.count("    const double "))
    assert longest <= 511  # identifiers in one block that every C99 compiler must accept


def test_only_needed_parameters_are_read() -> None:
    library = robot_library("pendulum")
    text = "".join(library.sources.files[n] for n in library.sources.sources["f64"])
    body = text.split("int pendulum_mass_matrix_f64(")[1].split("\n}\n")[0]
    assert "lower_mass" in body
    assert "gravity" not in body
    assert "damping" not in body


def test_quaternion_coordinates_apart_from_each_other_are_refused() -> None:
    equations = floating_arm()
    order = list(equations.coordinates)
    order.insert(2, order.pop())
    with pytest.raises(ValueError, match="must follow each other"):
        emit_c(replace(equations, coordinates=tuple(order)))


def test_a_library_can_be_built_from_one_precision_alone(tmp_path: Path) -> None:
    library = CLibrary.build(double_pendulum("solo"), tmp_path, precisions=("f32",))
    assert set(library.objects) == {"f32"}
