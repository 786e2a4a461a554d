"""Optimal-control problems of the robots, by name: righting and supporting of the rat."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bestiary.build_tools.errors import TargetError

from .problem_file import set_constants

if TYPE_CHECKING:
    from bestiary.solvers.ocp import OptimalControlProblem

TAILS = {"articulated": "kangaroo_rat_articulated", "continuum": "kangaroo_rat_continuum"}
CONTACT = {"righting": False, "supporting": True}
"""Name -> whether the rat has contact with the ground in it."""
SUMMARIES = {
    "righting": "The falling rat turns upright by its tail (--tail, --segments, --links).",
    "supporting": "The rat holds its torso upright by its tail on the ground; --set task=restore.",
}


def builder(name: str) -> Callable[..., OptimalControlProblem]:
    """The function that states a problem."""
    if name == "righting":
        from bestiary.solvers.ocp.library.righting import righting

        return righting
    from bestiary.solvers.ocp.library.supporting import supporting

    return supporting


def robot_problem(
    name: str, options: Mapping[str, Any], tail: Mapping[str, Any]
) -> OptimalControlProblem:
    """A problem of the rat, which is built first if need be.

    Parameters
    ----------
    name:
        One of ``CONTACT``.
    options:
        Arguments of the function that states the problem; else constants of the problem.
    tail:
        ``tail``, ``segments`` and ``links``; what is None has its default.

    Raises
    ------
    TargetError
        For an option that there is not.
    """
    from bestiary.loading import load
    from bestiary.solvers.ocp.errors import OptimalControlError

    function = builder(name)
    known = inspect.signature(function).parameters
    asked = {k: v for k, v in tail.items() if v is not None}
    twice = [k for k in asked if k in options and options[k] != asked[k]]
    if twice:
        raise TargetError(
            f"{twice[0]} is given twice: --{twice[0]} {asked[twice[0]]} and "
            f"--set {twice[0]}={options[twice[0]]}"
        )
    given = {**asked, **options}
    own = {k: v for k, v in given.items() if k in known and k != "robot"}
    shape = {k: own.get(k, known[k].default) for k in ("tail", "segments", "links")}
    if shape["tail"] not in TAILS:
        raise TargetError(f"--tail: expected {' or '.join(TAILS)}, got {shape['tail']!r}")
    if shape["tail"] == "continuum" and "links" in given:
        raise TargetError(
            f"--links: a continuum tail has no links, got {given['links']}; only --tail "
            "articulated has them"
        )
    kind = {"segments": shape["segments"], "contact": CONTACT[name]}
    if shape["tail"] == "articulated":
        kind["links"] = shape["links"]
    rat = load(TAILS[shape["tail"]], **kind)
    try:
        made = function(robot=rat, **own)
    except (OptimalControlError, TypeError) as error:
        raise TargetError(f"{name}: {error}") from error
    set_constants(made, {k: v for k, v in given.items() if k not in own})
    return made
