"""What compilers and linkers say about the generated C."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from c_harness import (
    STRICT,
    CLibrary,
    compile_objects,
    double_pendulum,
    functions,
    random_inputs,
    robot_library,
    run,
    sea_lion_library,
    worst_error,
    write,
)

LIBM = frozenset(
    f"{name}{suffix}"
    for name in (
        "acos asin atan atan2 cos cosh exp fabs log pow sin sincos sinh sqrt tan tanh".split()
    )
    for suffix in ("", "f")
)
# The test extras install CMake beside the interpreter; a system's own serves as well.
CMAKE = (
    shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    or "cmake"
)
MEMORY = {"memcpy", "memset", "memmove"}  # what a compiler may make of a copying loop


@pytest.fixture(scope="module")
def sea_lion() -> CLibrary:
    return sea_lion_library()


def undefined_symbols(objects: list[Path]) -> set[str]:
    text = run(["nm", "-u", *map(str, objects)], objects[0].parent)
    return set(re.findall(r"^\s+U (\w+)$", text, re.MULTILINE))


@pytest.mark.parametrize("name", ["pendulum", "floater"])
@pytest.mark.parametrize("tag", ["f64", "f32"])
def test_sources_compile_with_every_warning_as_an_error(
    name: str, tag: str, tmp_path: Path
) -> None:
    sources = robot_library(name).sources
    write(sources, tmp_path)
    defaults = [f for f in sources.defaults if f.endswith(".c")]
    compile_objects(tmp_path, [*sources.sources[tag], *defaults], ["-O1"])


def test_sea_lion_compiles_with_every_warning_as_an_error(sea_lion: CLibrary) -> None:
    assert set(sea_lion.objects) == {"f64", "f32"}


@pytest.mark.parametrize("name", ["pendulum", "floater", "euler"])
def test_kernels_need_only_the_maths_library(name: str) -> None:
    library = robot_library(name)
    for tag, objects in library.objects.items():
        own = f"{library.equations.name}_state_rates_{tag}"
        kernels = [o for o in objects if "_rollout_" not in o.name]
        assert undefined_symbols(kernels) <= LIBM
        assert undefined_symbols(objects) <= LIBM | MEMORY | {own}


def test_sea_lion_kernels_need_only_the_maths_library(sea_lion: CLibrary) -> None:
    for tag, objects in sea_lion.objects.items():
        assert undefined_symbols(objects) <= LIBM | MEMORY | {f"sea_lion_state_rates_{tag}"}


def test_objects_have_no_writable_data_and_export_only_prefixed_names(sea_lion: CLibrary) -> None:
    for objects in (*sea_lion.objects.values(), *robot_library("floater").objects.values()):
        text = run(["nm", "--defined-only", *map(str, objects)], objects[0].parent)
        kinds = {(kind, name) for kind, name in re.findall(r"^\w+ (\w) (\S+)$", text, re.MULTILINE)}
        assert not {name for kind, name in kinds if kind in "BbDdCsS"}
        prefix = objects[0].name.split("_")[0]
        assert all(name.startswith(prefix) for kind, name in kinds if kind == "T")


def test_two_models_link_into_one_program(tmp_path: Path) -> None:
    one, two = robot_library("pendulum"), robot_library("floater")
    names = []
    for library in (one, two):
        write(library.sources, tmp_path)
        for tag in ("f64", "f32"):
            names += library.sources.sources[tag]
        names += [f for f in library.sources.defaults if f.endswith(".c")]
    (tmp_path / "main.c").write_text(
        '#include "pendulum.h"\n#include "floater.h"\n'
        '#include "pendulum_defaults.h"\n#include "floater_defaults.h"\n'
        "int main(void)\n{\n"
        "    pendulum_parameters_f64 a;\n    floater_parameters_f32 b;\n"
        "    double m[PENDULUM_MASS_MATRIX_SIZE];\n    double q[PENDULUM_NQ] = {0.0};\n"
        "    float n[FLOATER_MASS_MATRIX_SIZE];\n    float r[FLOATER_NQ] = {1.0F};\n"
        "    pendulum_default_parameters_f64(&a);\n    floater_default_parameters_f32(&b);\n"
        "    return pendulum_mass_matrix_f64(&a, q, m) + floater_mass_matrix_f32(&b, r, n);\n}\n"
    )
    run(["gcc", *STRICT, "-O0", "main.c", *names, "-lm", "-o", "both"], tmp_path)
    run(["./both"], tmp_path)


def test_header_serves_cpp(tmp_path: Path) -> None:
    library = robot_library("floater")
    write(library.sources, tmp_path)
    (tmp_path / "main.cpp").write_text(
        '#include "floater.h"\n#include "floater_defaults.h"\n'
        "int main() {\n  floater_parameters_f64 k;\n  floater_default_parameters_f64(&k);\n"
        "  double q[FLOATER_NQ] = {1.0};\n  double f[FLOATER_NP];\n"
        "  return floater_force_vector_f64(&k, q, f);\n}\n"
    )
    flags = "-std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Werror -c main.cpp".split()
    run(["g++", *flags], tmp_path)
    defaults = compile_objects(tmp_path, ["floater_defaults.c"])
    objects = [str(o) for o in (*library.objects["f64"], *defaults)]
    run(["g++", "main.o", *objects, "-lm", "-o", "main"], tmp_path)
    run(["./main"], tmp_path)


def test_header_compiles_alone_and_twice(tmp_path: Path) -> None:
    write(robot_library("pendulum").sources, tmp_path)
    (tmp_path / "twice.c").write_text(
        '#include "pendulum.h"\n#include "pendulum.h"\n#include "pendulum_defaults.h"\n'
        "int main(void)\n{\n    return PENDULUM_NQ - PENDULUM_NP;\n}\n"
    )
    compile_objects(tmp_path, ["twice.c"])


def test_sources_need_no_feature_beyond_c99(tmp_path: Path) -> None:
    sources = robot_library("euler").sources
    included = {
        line
        for name in (*sources.sources["f64"], *sources.sources["f32"], sources.header)
        for line in re.findall(r"#include .*", sources.files[name])
    }
    assert included == {"#include <math.h>", '#include "euler.h"'}
    text = "".join(sources.files[n] for n in (*sources.sources["f64"], *sources.sources["f32"]))
    for forbidden in ("malloc", "goto", "M_PI", "printf", "alloca", "pow(", "powf("):
        kernels = "".join(
            sources.files[n]
            for n in (*sources.sources["f64"], *sources.sources["f32"])
            if "_rollout_" not in n
        )
        where = kernels if forbidden.startswith("pow") else text
        assert forbidden not in where


@pytest.mark.parametrize("tag", ["f64", "f32"])
def test_sea_lion_functions_equal_the_interpreter(sea_lion: CLibrary, tag: str) -> None:
    rng = np.random.default_rng(4)
    for variant in (None, "paper"):
        inputs = random_inputs(sea_lion.equations, rng, variant)
        for function in functions(sea_lion.equations):
            status, found = sea_lion.call(function.name, inputs, tag)
            assert status == 0, function.name
            limit = 1e-12 if tag == "f64" else 1e-5
            if tag == "f32" and function.name in ("forward_dynamics", "state_rates"):
                limit = 1e-3  # the mass matrix has a condition of about 1e6
            for name, expected in sea_lion.expected(function.name, inputs, tag).items():
                assert worst_error(found[name], expected) < limit, (function.name, name)


@pytest.mark.parametrize("variant", [None, "paper"])
def test_sea_lion_accelerations_in_single_satisfy_the_equations_to_1e_5(
    sea_lion: CLibrary, variant: str | None
) -> None:
    """The error of p_dot itself is that times the condition of M, which is about 1e6."""
    inputs = random_inputs(sea_lion.equations, np.random.default_rng(7), variant)
    found = sea_lion.call("forward_dynamics", inputs, "f32")[1]["forward_dynamics"]
    inputs["p_dot"] = [float(v) for v in found]
    needed = sea_lion.call("inverse_dynamics", inputs)[1]["inverse_dynamics"]
    given = sea_lion.call("generalized_forces", inputs)[1]["generalized_forces"]
    bias = sea_lion.call("bias_forces", inputs)[1]["bias_forces"]
    mass = sea_lion.call("mass_matrix", inputs)[1]["mass_matrix"].reshape(20, 20)
    scale = np.abs(given) + np.abs(bias) + np.abs(mass) @ np.abs(found)
    assert np.max(np.abs(needed - given) / scale) < 1e-5


@pytest.mark.slow
def test_a_project_with_several_models_builds_with_cmake(tmp_path: Path) -> None:
    for name in ("pendulum", "floater"):
        write(robot_library(name).sources, tmp_path / name)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(app C)\n"
        "add_subdirectory(pendulum)\nadd_subdirectory(floater)\nadd_executable(app main.c)\n"
        "target_link_libraries(app PRIVATE pendulum_f64 floater_f32 pendulum_defaults)\n"
    )
    (tmp_path / "main.c").write_text(
        '#include "pendulum.h"\n#include "floater.h"\n#include "pendulum_defaults.h"\n'
        "int main(void)\n{\n    pendulum_parameters_f64 k;\n"
        "    pendulum_default_parameters_f64(&k);\n    return FLOATER_NU - PENDULUM_NU;\n}\n"
    )
    run([CMAKE, "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug"], tmp_path)
    run([CMAKE, "--build", "build", "-j2"], tmp_path)
    run(["./build/app"], tmp_path)


@pytest.mark.slow
def test_an_installed_model_is_found_by_cmake(tmp_path: Path) -> None:
    write(double_pendulum_sources(), tmp_path / "pendulum")
    build = [CMAKE, "-S", "pendulum", "-B", "build", "-DCMAKE_INSTALL_PREFIX=prefix"]
    run([*build, "-DCMAKE_BUILD_TYPE=Debug"], tmp_path)
    run([CMAKE, "--build", "build", "-j2"], tmp_path)
    run([CMAKE, "--install", "build", "--prefix", str(tmp_path / "prefix")], tmp_path)
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(app C)\n"
        "find_package(pendulum REQUIRED)\nadd_executable(app main.c)\n"
        "target_link_libraries(app PRIVATE pendulum::pendulum_f64)\n"
    )
    (user / "main.c").write_text(
        '#include "pendulum.h"\nint main(void)\n{\n    return PENDULUM_NQ - 2;\n}\n'
    )
    run([CMAKE, "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"], user)
    run([CMAKE, "--build", "b"], user)
    run(["./b/app"], user)


def double_pendulum_sources():
    from bestiary.build_tools.backends.c import emit_c

    return emit_c(double_pendulum())
