"""Every robot with options has a name of its own: folder, C prefix, and how it is loaded."""

from __future__ import annotations

import pytest

from bestiary.build_tools.targets import derive, parse_target
from bestiary.modeling.animals import BUILT_IN
from bestiary.modeling.animals.naming import canonical, folder_name, selection_suffix

RAT, ARCS = "kangaroo_rat_articulated", "kangaroo_rat_continuum"


def named(label: str, **options: object) -> str:
    return folder_name(*canonical(label, options))


@pytest.mark.parametrize(
    ("label", "options", "expected"),
    [
        (RAT, {}, RAT),
        (RAT, {"segments": 2, "links": 4, "base": "quaternion"}, RAT),
        (RAT, {"segments": 3, "links": 4}, f"{RAT}_segments3_links4"),
        (RAT, {"segments": 3}, f"{RAT}_segments3_links4"),
        (RAT, {"links": 8}, f"{RAT}_segments2_links8"),
        (RAT, {"half_angle": True}, f"{RAT}_segments2_links4_half_angle"),
        (RAT, {"contact": False}, f"{RAT}_segments2_links4_no_contact"),
        (RAT, {"base": "euler_zyx"}, f"{RAT}_euler_zyx_segments2_links4"),
        (RAT, {"segments": 3, "base": "euler_xyz"}, f"{RAT}_euler_xyz_segments3_links4"),
        (ARCS, {"segments": 3}, f"{ARCS}_segments3"),
        (f"{RAT}_segments3_links4", {}, f"{RAT}_segments3_links4"),
        (f"{RAT}_segments3_links4", {"links": 8}, f"{RAT}_segments3_links8"),
        (f"{RAT}_segments3_links4", {"segments": 2}, RAT),
        (f"{RAT}_segments3_links4", {"half_angle": True}, f"{RAT}_segments3_links4_half_angle"),
        ("sea_lion", {"base": "quaternion"}, "sea_lion_quaternion"),
        ("sea_lion", {"base": "euler_zyx"}, "sea_lion"),
        ("sea_lion", {"base": "euler_xyz"}, "sea_lion_euler_xyz"),
        ("mine", {"base": "quaternion", "n": 3}, "mine_quaternion_n3"),
    ],
)
def test_names_say_what_is_not_the_robots_own(label, options, expected):
    assert named(label, **options) == expected


def test_every_prebuilt_size_is_found_by_its_options():
    for name, entry in BUILT_IN.items():
        first = next(n for n, e in BUILT_IN.items() if e.function == entry.function)
        assert canonical(first, dict(entry.options)) == (name, {})
        assert parse_target(first, dict(entry.options)).is_packaged


def test_a_selection_of_functions_has_a_name_whatever_its_order():
    assert selection_suffix([]) == ""
    assert selection_suffix(["nodes", "dynamics"]) == "_only_dynamics_nodes"
    assert selection_suffix(["dynamics", "nodes", "nodes"]) == "_only_dynamics_nodes"
    long = [f"link_{k}_1_jacobian" for k in range(9)]
    assert selection_suffix(long) == selection_suffix(reversed(long))
    assert len(selection_suffix(long)) == len("_only_") + 10


def test_different_options_have_different_names():
    names = [
        named(RAT, segments=m, links=n, base=base, half_angle=half)
        for m in (1, 2, 3, 11)
        for n in (1, 4, 14)
        for base in ("quaternion", "euler_zyx", "euler_xyz")
        for half in (False, True)
    ]
    assert len(set(names)) == len(names)


def test_the_c_prefix_of_a_built_in_robot_is_its_name():
    for options, name in (({}, ARCS), ({"segments": 1}, f"{ARCS}_segments1")):
        derived = derive(parse_target(ARCS, options)).equations
        assert derived.name == name
        assert derived.options == {
            "base": "quaternion",
            "contact": True,
            "segments": options.get("segments", 2),
        }
    assert derive(parse_target("sea_lion_quaternion")).equations.name == "sea_lion_quaternion"


def test_the_default_formalism_of_the_rats_is_the_one_with_fewer_operations():
    from bestiary import modeling
    from bestiary.modeling.formalisms.inertia_matrix import inertia_matrix

    for label in (RAT, ARCS):
        entry = BUILT_IN[label]
        counts = {
            f.__name__: sum(f(entry.model()).program.operation_counts("forward_dynamics").values())
            for f in (modeling.poincare, inertia_matrix)
        }
        assert min(counts, key=counts.get) == entry.formalism, counts
