"""Finding, opening and printing generated robots, and copying them."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from robot_harness import equations, folder, robot, write_folder

from bestiary import generated
from bestiary.build_tools import locations
from bestiary.generated import (
    GeneratedFolderError,
    ModelInputError,
    ModelNotFoundError,
    NotCompiledWarning,
    folder_name,
)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder of the user, with a ``models`` folder."""
    monkeypatch.setenv("BESTIARY_CACHE_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def copy_of(name: str, target: Path) -> Path:
    shutil.copytree(folder(name), target)
    return target


# -- names -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("sea_lion", {}, "sea_lion"),
        ("sea_lion", {"base": None}, "sea_lion"),
        ("sea_lion", {"base": "euler_zyx"}, "sea_lion"),
        ("sea_lion", {"base": "quaternion"}, "sea_lion_quaternion"),
        ("kangaroo_rat", {"segments": 3, "links": 4}, "kangaroo_rat_segments3_links4"),
        ("kangaroo_rat", {"links": 4, "segments": 3}, "kangaroo_rat_segments3_links4"),
        ("fish", {"stiff": True, "drag": False}, "fish_stiff_no_drag"),
        ("fish", {"length": 0.5, "offset": -2}, "fish_offsetm2_length0p5"),
        ("fish", {"gait": "fast swim"}, "fish_gait_fast_swim"),
    ],
)
def test_options_name_the_folder(name, options, expected):
    assert folder_name(name, options) == expected
    assert locations.folder_name(name, options) == expected  # where the build puts it


def test_loader_and_build_agree_on_the_cache_folder(cache, monkeypatch):
    assert generated.cache_folder() == locations.cache_root() == cache.parent
    monkeypatch.delenv("BESTIARY_CACHE_DIR")
    assert generated.cache_folder() == locations.cache_root()


# -- finding -----------------------------------------------------------------------
def test_models_are_found_in_the_cache_by_name(cache):
    copy_of("crane", cache / "crane")
    r = generated.load("crane")
    assert r.compiled
    assert r.folder == cache / "crane"
    assert ("crane", cache / "crane", True) in [
        (e.name, e.folder, e.compiled) for e in generated.available()
    ]


def test_a_missing_model_names_the_command_the_closest_and_all(cache):
    copy_of("crane", cache / "crane")
    with pytest.raises(ModelNotFoundError) as caught:
        generated.load("crain")
    text = str(caught.value)
    assert text.startswith("no generated model 'crain'; did you mean 'crane'?\n")
    assert "Build it with: bestiary build FILE.py (its model file; built-in robots are sea" in text
    assert "crane" in text.partition("Built models: ")[2]
    assert str(cache) in text


def test_a_missing_option_names_the_command_with_the_option(cache):
    copy_of("crane", cache / "crane")
    with pytest.raises(ModelNotFoundError, match="no generated model 'crane_loads3'") as caught:
        generated.load("crane", loads=3)
    assert "bestiary build FILE.py --set loads=3 (its model file" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "kangaroo_rat_articulated",
            {"segmets": 2},
            "no option 'segmets'; did you mean 'segments'",
        ),
        ("kangaroo_rat_articulated", {"segments": 2.5}, "segments must be a whole number"),
        ("sea_lion", {"base": "quaternian"}, "orientation 'quaternian' is not"),
        ("sea_lion", {"segments": 3}, "sea_lion has no option 'segments'; it has base"),
    ],
)
def test_no_build_is_advised_that_would_be_refused(cache, name, options, said):
    with pytest.raises(ModelInputError, match=said):
        generated.load(name, **options)


def test_a_build_that_would_work_is_advised(cache):
    with pytest.raises(ModelNotFoundError) as caught:
        generated.load("kangaroo_rat_articulated", segments=5, links=2)
    text = str(caught.value)
    assert "bestiary build kangaroo_rat_articulated --set segments=5 --set links=2\n" in text


def test_options_that_are_the_models_own_find_the_plain_folder(cache):
    path = copy_of("kite", cache / "kite")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["options"] = {"base": "quaternion"}
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert generated.load("kite", base="quaternion").folder == path
    with pytest.raises(ModelNotFoundError):
        generated.load("kite", base="euler_zyx")


def test_a_path_loads_that_folder(tmp_path):
    path = copy_of("crane", tmp_path / "anywhere")
    for given in (path, str(path)):
        assert generated.load(given).folder == path
    with pytest.raises(
        ModelNotFoundError, match=r"is not a generated folder: there is no manifest"
    ):
        generated.load(tmp_path)


def test_links_to_folders_are_followed(cache):
    os.symlink(folder("crane"), cache / "crane")
    assert generated.load("crane").mass_matrix(np.zeros(4)).shape == (4, 4)


def test_variants_are_parameter_values(cache):
    copy_of("crane", cache / "crane")
    loaded = generated.load("crane", variant="loaded")
    assert loaded.variant == "loaded"
    assert loaded.parameters["hook_mass"] == 1.5
    assert generated.load("crane").parameters["hook_mass"] == 0.3
    assert generated.load("crane").with_variant("loaded").parameters == loaded.parameters
    with pytest.raises(ModelInputError) as caught:
        generated.load("crane", variant="loadet")
    assert str(caught.value) == (
        "crane: no variant 'loadet'; did you mean 'loaded'? (variants: loaded)"
    )


# -- without a fitting module ----------------------------------------------------------
def assert_falls_back(path: Path, reason: str) -> None:
    with pytest.warns(NotCompiledWarning) as caught:
        r = generated.load(path)
    assert not r.compiled
    text = str(caught[0].message)
    assert reason in text
    assert f"Compile it with: bestiary build {path.name}" in text
    assert caught[0].filename == __file__
    np.testing.assert_allclose(
        r.mass_matrix(np.zeros(4)), robot("crane").mass_matrix(np.zeros(4)), rtol=1e-13
    )
    with pytest.raises(ModelNotFoundError, match="Compile it with"):
        generated.load(path, compiled=True)


def test_without_a_module_the_numpy_form_serves_with_a_warning(tmp_path):
    assert_falls_back(write_folder("crane", tmp_path / "crane", False), "it has not been compiled")


def test_a_module_for_another_interpreter_is_not_loaded(tmp_path):
    path = write_folder("crane", tmp_path / "crane", False)
    (path / "_kernel.cpython-27-vax.so").write_bytes(b"")
    assert_falls_back(path, "_kernel.cpython-27-vax.so is not for this interpreter")


def test_a_module_of_other_sources_is_not_loaded(tmp_path):
    path = copy_of("crane", tmp_path / "crane")
    with (path / "crane.h").open("a") as header:
        header.write("/* changed */\n")
    assert_falls_back(path, "it was compiled from another crane.h")
    (path / "crane.h").unlink()
    assert_falls_back(path, "its source crane.h is gone")


def test_a_module_of_another_model_is_not_loaded_even_without_a_stamp(tmp_path):
    path = write_folder("crane", tmp_path / "crane", False)
    module = next(folder("kite").glob("_kernel.*.so"))
    shutil.copy(module, path)
    assert_falls_back(path, "it was compiled from another version of the model")


def test_a_broken_module_is_reported(tmp_path):
    path = copy_of("crane", tmp_path / "crane")
    (path / "_kernel.stamp.json").unlink()  # with a stamp it is known to be damaged
    next(path.glob("_kernel.*.so")).write_bytes(b"not a library")
    assert_falls_back(path, "its compiled module cannot be loaded")


def test_a_module_without_a_stamp_is_loaded_if_it_is_of_this_program(tmp_path):
    path = copy_of("crane", tmp_path / "crane")
    (path / "_kernel.stamp.json").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert generated.load(path).compiled


def test_a_module_that_is_compiled_later_is_used(tmp_path):
    path = write_folder("crane", tmp_path / "crane", False)
    with pytest.warns(NotCompiledWarning):
        assert not generated.load(path).compiled
    shutil.copy(next(folder("crane").glob("_kernel.*.so")), path)
    assert generated.load(path).compiled


def test_a_model_that_is_built_anew_in_the_same_place_is_used_at_once(tmp_path):
    path = copy_of("crane", tmp_path / "model")
    old = generated.load(path)
    fresh = copy_of("kite", tmp_path / "fresh")
    for file in fresh.iterdir():
        os.replace(file, path / file.name)
    new = generated.load(path)
    assert new.compiled
    assert new.mass_matrix(new.neutral).shape == (9, 9)
    assert old.mass_matrix(old.neutral).shape == (4, 4)


def test_the_numpy_form_can_be_asked_for_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not generated.load(folder("crane"), compiled=False).compiled


# -- folders that cannot be read -------------------------------------------------------
def test_damaged_folders_are_refused_with_the_file(tmp_path):
    path = write_folder("crane", tmp_path / "crane", False)
    good = (path / "manifest.json").read_text()
    for text, part in (
        ("{", "manifest.json cannot be read"),
        ("[]", "manifest.json is not a JSON object"),
        ('{"format": 99}', "manifest format 99, expected 1; build the model again"),
        ('{"format": 1}', "manifest lacks or garbles 'name'"),
    ):
        (path / "manifest.json").write_text(text)
        with pytest.raises(GeneratedFolderError, match=part):
            generated.load(path, compiled=False)
    (path / "manifest.json").write_text(good)
    (path / "program.json").write_text(equations("kite").program.to_json())
    with pytest.raises(GeneratedFolderError, match="are of different builds"):
        generated.load(path, compiled=False).mass_matrix(np.zeros(4))
    (path / "program.json").unlink()
    with pytest.raises(GeneratedFolderError, match=r"there is no program\.json"):
        generated.load(path, compiled=False).casadi("mass_matrix")


# -- what a robot says of itself ---------------------------------------------------------
def test_quantities_are_named_ordered_and_have_units():
    r = robot("crane")
    assert r.coordinates.names == ("travel", "swing", "nod", "turn")
    assert r.coordinates.units == ("m", "rad", "rad", "rad")
    assert r.coordinates["swing"].symbol == r"\alpha"
    assert r.coordinates.index("nod") == 2
    assert "nod" in r.coordinates
    assert [str(i) for i in r.inputs] == ["travel_force [N]", "nod_torque [N m]", "wind [N]"]
    with pytest.raises(ModelInputError, match="no 'swin' among the coordinates; did you mean 'sw"):
        r.coordinates.index("swin")
    assert repr(r.velocities).splitlines()[0] == "4 velocities"
    assert "rad/s" in r.velocities._repr_html_()


def test_parameters_have_values_units_and_sources():
    r = robot("sea_lion")
    assert r.parameters["head_mass"] == 2.33
    assert r.parameters.units["head_mass"] == "kg"
    assert r.parameters.sources["head_mass"] == "Table 1"
    line = next(x for x in repr(r.parameters).splitlines() if x.startswith("head_mass"))
    assert line.split()[:3] == ["head_mass", "2.33", "kg"]
    with pytest.raises(KeyError, match="did you mean 'head_mass'"):
        r.parameters["head_mas"]


def test_with_parameters_changes_values_and_compiles_nothing(monkeypatch):
    r = robot("sea_lion")

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("nothing may be run")

    monkeypatch.setattr(subprocess, "Popen", forbidden)
    heavier = r.with_parameters(head_mass=4.66)
    assert type(heavier) is type(r)
    assert heavier.parameters["head_mass"] == 4.66
    assert heavier.parameters.changed == {"head_mass": 4.66}
    assert r.parameters["head_mass"] == 2.33
    q = r.neutral
    gained = heavier.mass_matrix(q)[3, 3] - r.mass_matrix(q)[3, 3]
    assert gained == pytest.approx(2.33, rel=1e-12)
    assert "head_mass=4.66" in repr(heavier)
    line = next(x for x in repr(heavier.parameters).splitlines() if x.startswith("head_mass"))
    assert "(default 2.33)" in line


def test_unknown_and_bad_parameters_are_refused():
    r = robot("sea_lion")
    with pytest.raises(ModelInputError) as caught:
        r.with_parameters(head_mas=1.0)
    assert str(caught.value) == (
        "sea_lion.with_parameters: no parameter 'head_mas'; did you mean 'head_mass'? "
        "(see robot.parameters)"
    )
    for value, part in (
        (np.nan, "head_mass must be finite, got nan"),
        ("heavy", "head_mass must be a number, got 'heavy'"),
        (None, "head_mass must be a number, got None"),
    ):
        with pytest.raises(ModelInputError, match=part):
            r.with_parameters(head_mass=value)


def test_meta_tells_sizes_counts_hash_and_compiler():
    meta = robot("crane").meta
    assert meta["sizes"] == {
        "coordinates": 4,
        "velocities": 4,
        "inputs": 3,
        "parameters": len(robot("crane").parameters),
        "nodes": 4,
    }
    assert meta["program_sha256"] == equations("crane").program.content_hash
    assert meta["compiler"]
    assert "-O" in meta["flags"]
    assert meta["units"]["swing"] == "rad"
    counts = equations("crane").program.operation_counts("mass_matrix")
    assert meta["operations"]["mass_matrix"] == sum(counts.values())
    assert [n["body"] for n in meta["nodes"]] == ["trolley", "arm", "hook", "hook"]
    assert "program_sha256" in repr(meta)
    assert robot("crane", "numpy").meta["compiler"] is None


def test_a_robot_prints_itself():
    text = repr(robot("crane"))
    assert text.startswith('Robot crane: A trolley with a "double" pendulum\n')
    assert "coordinates  4: travel, swing, nod, turn" in text
    assert "runs in      compiled C" in text
    assert "runs in      NumPy (not compiled)" in repr(robot("crane", "numpy"))
    assert "&quot;double&quot;" in robot("crane")._repr_html_()


def test_methods_have_help_and_signatures():
    import inspect

    for form in ("compiled", "numpy"):
        r = robot("crane", form)
        signature = inspect.signature(r.forward_dynamics)
        assert list(signature.parameters) == ["q", "p", "u", "out"]
        assert "Accelerations p_dot" in type(r).forward_dynamics.__doc__
        batch = inspect.signature(r.forward_dynamics_batch)
        assert list(batch.parameters) == ["q", "p", "u", "threads", "out"]
        assert "leading axis N" in type(r).forward_dynamics_batch.__doc__
    for name in robot("crane").functions:
        assert hasattr(generated.Robot, name) or hasattr(robot("crane"), name)


def test_neutral_and_random_states_have_unit_quaternions():
    r = robot("kite")
    first = r.coordinates.names[:4]
    assert dict(zip(first, r.neutral, strict=False)) == dict(
        zip(first, (1.0, 0.0, 0.0, 0.0), strict=True)
    )
    assert not r.neutral[4:].any()
    q, p = r.random_state(np.random.default_rng(4))
    assert np.linalg.norm(q[:4]) == pytest.approx(1.0)
    np.testing.assert_array_equal(q, r.random_state(4)[0])
    assert p.shape == (9,)


# -- copies ------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["compiled", "numpy"])
def test_robots_are_copied_and_pickled_with_their_values(form, cache):
    copy_of("crane", cache / "crane")
    for source in ("crane", folder("crane")):
        r = generated.load(source, variant="loaded", compiled=form == "compiled")
        r = r.with_parameters(arm_mass=0.7)
        q, _ = r.random_state(1)
        for twin in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
            assert twin is not r
            assert twin.variant == "loaded"
            assert twin.parameters == r.parameters
            assert twin.compiled == r.compiled
            assert twin.folder == r.folder
            np.testing.assert_array_equal(twin.mass_matrix(q), r.mass_matrix(q))


def test_robots_travel_to_other_processes():
    r = robot("crane").with_parameters(arm_mass=0.9)
    q, _ = r.random_state(1)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        there = pool.apply(r.mass_matrix, (q,))
    np.testing.assert_array_equal(there, r.mass_matrix(q))


def test_a_pickle_of_other_equations_is_refused(tmp_path):
    path = copy_of("crane", tmp_path / "model")
    data = pickle.dumps(generated.load(path))
    shutil.rmtree(path)
    copy_of("kite", path)
    with pytest.raises(GeneratedFolderError, match="was pickled with other equations"):
        pickle.loads(data)


# -- cost ----------------------------------------------------------------------------------
def test_loading_and_computing_imports_neither_sympy_nor_casadi_nor_the_build():
    code = (
        "import sys, numpy as np\n"
        "from bestiary import generated\n"
        f"r = generated.load({str(folder('crane'))!r})\n"
        "r.mass_matrix(np.zeros(4)); repr(r); r.meta\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('sympy', 'casadi')"
        " or m.startswith('bestiary.build_tools')]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


def test_numpy_form_and_casadi_do_not_import_sympy():
    code = (
        "import sys, numpy as np\n"
        "from bestiary import generated\n"
        f"r = generated.load({str(folder('crane'))!r}, compiled=False)\n"
        "r.mass_matrix(np.zeros(4)); r.casadi('mass_matrix')\n"
        "assert 'sympy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


def environment() -> dict[str, str]:
    """Environment in which a new interpreter finds the same package."""
    package = Path(sys.modules["bestiary.generated"].__file__ or "").parent.parent.parent
    found = [str(package), *(p for p in sys.path if p)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(found)}


def test_a_call_costs_microseconds():
    """The cheapest of many calls; generous, since other programs may be running."""
    import timeit

    r = robot("crane")
    q, out = np.zeros(4), np.zeros((4, 4))
    seconds = min(timeit.repeat(lambda: r.mass_matrix(q, out=out), number=2000, repeat=5)) / 2000
    assert seconds < 5e-6


@pytest.mark.parametrize("size", [100, 4096, 20_000])
def test_a_truncated_module_is_never_loaded(tmp_path, size):
    path = copy_of("crane", tmp_path / "crane")
    (module,) = path.glob("_kernel.*.so")
    whole = module.read_bytes()
    assert len(whole) > size
    module.unlink()
    module.write_bytes(whole[:size])
    with pytest.warns(NotCompiledWarning, match="is damaged"):
        damaged = generated.load(path)
    assert not damaged.compiled


def test_a_pickled_robot_keeps_its_values_when_the_defaults_change(tmp_path):
    path = copy_of("crane", tmp_path / "crane")
    before = generated.load(path, compiled=False)
    saved = pickle.dumps(before)
    manifest = json.loads((path / "manifest.json").read_text())
    for parameter in manifest["parameters"]:
        parameter["default"] *= 2
    (path / "manifest.json").write_text(json.dumps(manifest))
    after = pickle.loads(saved)
    assert dict(after.parameters.items()) == dict(before.parameters.items())
