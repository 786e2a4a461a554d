"""Derivatives known by the function they derive from: not made again once compiled."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from bestiary.build_tools.cache import ObjectCache
from bestiary.solvers.ocp import blocks, node_forms
from bestiary.solvers.ocp.blocks import NodeFunction
from bestiary.solvers.ocp.compilation import NodeCompiler


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectCache:
    """An empty cache of the user."""
    monkeypatch.setenv("BESTIARY_CACHE_DIR", str(tmp_path / "cache"))
    return ObjectCache.open()


def _node(factor: float = 0.5, length: int = node_forms.WORTH_KEEPING) -> NodeFunction:
    w, c = ca.SX.sym("w", 4), ca.SX.sym("c", 1)
    values = [w[k] for k in range(4)]
    for _ in range(length):
        values.append(ca.sin(values[-1]) * values[-4] + factor * c)
    return NodeFunction("node", w, c, ca.vertcat(*values[-3:], w[0] * w[2]))


def _compiled(node: NodeFunction) -> list[ca.Function]:
    forms = [node.value_form, node.jacobian_form, node.hessian_form]
    return NodeCompiler("always").prepare([(form, 10) for form in forms])


@pytest.fixture
def no_derivation(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing may be differentiated."""

    def refuse(*_: object) -> None:
        raise AssertionError("differentiated again")

    for name in ("jacobian", "hessian"):
        monkeypatch.setattr(blocks.ca, name, refuse)


def test_compiled_derivatives_are_loaded_without_deriving_them(
    request: pytest.FixtureRequest,
) -> None:
    first = _node()
    made = _compiled(first)
    patterns = [first.jacobian_pattern, first.hessian_pattern]
    request.getfixturevalue("no_derivation")
    again = _node()
    loaded = _compiled(again)
    for a, b in zip(patterns, [again.jacobian_pattern, again.hessian_pattern], strict=True):
        np.testing.assert_array_equal(a, b)
    w, c, weights = [0.3, -0.2, 0.8, 0.1], 0.4, [1.0, -2.0, 0.5, 3.0]
    for one, other, more in zip(made, loaded, ([], [], [weights]), strict=True):
        assert other.is_a("External")
        np.testing.assert_array_equal(np.array(one(w, c, *more)), np.array(other(w, c, *more)))


def test_kept_patterns_are_those_of_the_derivatives(request: pytest.FixtureRequest) -> None:
    node = _node()
    assert node.jacobian_form.instructions > node.value_form.instructions  # derives, and keeps
    derived = node.jacobian.size1_out(0)
    request.getfixturevalue("no_derivation")
    rows, columns = _node().jacobian_pattern
    assert len(rows) == len(columns) == derived
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) >= {(3, 0), (3, 2)}


def test_another_function_is_another_derivative() -> None:
    contents = {
        getattr(_node(factor), form).content
        for factor in (0.5, np.nextafter(0.5, 1))
        for form in ("value_form", "jacobian_form", "hessian_form")
    }
    assert len(contents) == 6


def test_small_functions_are_derived_and_nothing_is_kept(cache: ObjectCache) -> None:
    node = _node(length=5)
    assert node.hessian_form.instructions > 0
    assert len(node.jacobian_pattern[0]) > 0
    assert not cache.folder.exists()


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"instructions": 3}', '{"instructions":3,"rows":[1],"columns":[]}']
)
def test_damaged_facts_are_derived_anew(damage: str, cache: ObjectCache) -> None:
    node = _node()
    known = node.jacobian_form.instructions
    path = cache.path(node.jacobian_form.content, node_forms.SUFFIX)
    assert path.exists()
    path.write_text(damage)
    again = _node()
    assert again.jacobian_form.instructions == known
    np.testing.assert_array_equal(again.jacobian_pattern, node.jacobian_pattern)
