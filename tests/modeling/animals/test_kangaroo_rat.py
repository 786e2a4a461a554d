"""The kangaroo rat: engines, formalisms, conservation, and links that become an arc."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from mujoco_twin import MujocoTwin
from numeric import relative_error
from pinocchio_twin import PinocchioTwin
from rats import Rat, description, rat
from scipy.integrate import quad, solve_ivp

from bestiary.modeling import Model, ModelError, Planar, Revolute, poincare
from bestiary.modeling.animals.kangaroo_rat import (
    kangaroo_rat_articulated,
    kangaroo_rat_continuum,
)

ARTICULATED = [
    {"segments": 1, "links": 1},
    {"segments": 2, "links": 4},
    {"segments": 3, "links": 2, "base": "euler_zyx"},
    {"segments": 1, "links": 5, "half_angle": True},
]
CONTINUUM = [{"segments": 1}, {"segments": 2}, {"segments": 3, "base": "euler_zxy"}]
RATS = [("articulated", o) for o in ARTICULATED] + [("continuum", o) for o in CONTINUUM]


def label(value: object) -> str:
    if isinstance(value, dict):
        return "-".join(f"{k}{v}" for k, v in value.items())
    return str(value)


# -- other engines -------------------------------------------------------------------
@pytest.mark.parametrize("options", ARTICULATED, ids=label)
@pytest.mark.parametrize("engine", ["pinocchio", "mujoco"])
def test_the_articulated_rat_is_the_full_chain_projected(engine, options):
    """M = Sᵀ M_full S and its companions, in the engines' own full chains."""
    r = rat("articulated", **options)
    spec = description(
        options["segments"],
        options["links"],
        options.get("base", "quaternion"),
        half=options.get("half_angle", False),
    )
    named = r.coordinates, r.velocities
    twin = PinocchioTwin(spec, *named) if engine == "pinocchio" else MujocoTwin(spec, named[1])
    for seed in range(2):
        q, p = spec.random_state(seed)
        at = {**r.state(seed), "q": np.array([q[n] for n in named[0]])}
        at["p"] = np.array([p[n] for n in named[1]])
        assert relative_error(r.call("mass_matrix", at), twin.mass_matrix(q)) < 1e-10
        bias = twin.inverse_dynamics(q, at["p"], np.zeros(len(at["p"])))
        assert relative_error(r.call("bias_forces", at), bias) < 1e-10
        expected = twin.inverse_dynamics(q, at["p"], at["p_dot"])
        assert relative_error(r.call("inverse_dynamics", at), expected) < 1e-10
        assert relative_error(r.call("momentum", at), twin.momentum(q, at["p"])) < 1e-10
        for node in ("torso", f"segment_{options['segments']}_end"):
            jacobian = r.call(f"{node}_jacobian", at)
            assert relative_error(jacobian, twin.node_jacobian(node, q)) < 1e-10


# -- both formalisms -------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "options"), RATS, ids=label)
def test_both_formalisms_agree_on_every_rat(kind, options):
    one, other = rat(kind, **options), rat(kind, "inertia_matrix", **options)
    assert one.equations.functions == other.equations.functions
    at = one.state(2, bending=0.8)
    at["q"][one.coordinates.index("z")] = 1.0  # no contact, whose stiffness amplifies rounding
    worst = np.linalg.cond(one.call("mass_matrix", at))
    for function in one.equations.functions:
        if function.endswith("controller_step"):
            continue
        a, b = one.call(function, at), other.call(function, at)
        if function == "coriolis_matrix":
            a, b = a @ at["p"], b @ at["p"]
        forward = function in ("forward_dynamics", "state_rates")
        bound = max(1e-12, 2e-16 * worst) if forward else 1e-12
        assert relative_error(a, b) < bound, function


# -- free flight -------------------------------------------------------------------
FLIGHTS = [
    pytest.param(kind, m, marks=[] if m == 1 else pytest.mark.slow)
    for kind in ("articulated", "continuum")
    for m in (1, 2, 3)
]


def fly(r: Rat, speed: float, torque: float = 0.0) -> tuple[object, np.ndarray]:
    """States over 1 s without weight, high above the ground; tail rates are ``speed``."""
    numbers = r.with_values(interpret=False, gravity=0.0)
    nq, n = len(r.coordinates), len(r.velocities)
    rng = np.random.default_rng(4)
    q = r.pose()
    q[:4] = 0.8, 0.2, -0.4, 0.4
    q[6], q[7:] = 50.0, 0.1 * rng.normal(size=nq - 7)
    p = (
        np.zeros(n)
        if torque
        else np.concatenate([rng.normal(size=6), speed * rng.normal(size=n - 6)])
    )
    u = torque * rng.normal(size=n - 6)

    def rates(_: float, x: np.ndarray) -> list[float]:
        x = x.tolist()
        return numbers.flat("state_rates", q=x[:nq], p=x[nq:], u=u)

    times = np.linspace(0, 1, 6)
    start = np.concatenate([q, p])
    path = solve_ivp(rates, (0, 1), start, method="DOP853", rtol=1e-11, atol=1e-12, t_eval=times)
    assert path.success
    return numbers, path.y.T


@pytest.mark.parametrize(("kind", "segments"), FLIGHTS)
def test_free_flight_conserves_momentum_and_energy(kind, segments):
    options = {"segments": segments, **({"links": 4} if kind == "articulated" else {})}
    r = rat(kind, **options)
    numbers, path = fly(r, speed=2.0 if kind == "continuum" else 0.5)
    nq = len(r.coordinates)

    def kept(x: np.ndarray) -> tuple[np.ndarray, float]:
        momentum = numbers("momentum", q=x[:nq], p=x[nq:])
        return momentum, float(numbers("kinetic_energy", q=x[:nq], p=x[nq:]))

    momentum, energy = kept(path[0])
    assert np.linalg.norm(momentum[:3]) > 1e-5  # N m s: it does turn
    for x in path:
        now, kinetic = kept(x)
        for block in (slice(0, 3), slice(3, 6)):
            drift = np.linalg.norm(now[block] - momentum[block])
            assert drift < 1e-9 * np.linalg.norm(momentum[block])
        assert abs(kinetic - energy) < 1e-9 * energy
    assert np.ptp(path[:, 7:nq], axis=0).min() > 0.05  # and the tail moves


@pytest.mark.parametrize("kind", ["articulated", "continuum"])
def test_from_rest_the_tail_turns_the_torso_by_the_momentum_connection(kind):
    """No torque of the tail gives the rat momentum: p_torso = −M_bb⁻¹ M_bt q̇_tail."""
    r = rat(kind, **({"segments": 1, "links": 4} if kind == "articulated" else {"segments": 1}))
    numbers, path = fly(r, speed=0.0, torque=2e-4 if kind == "articulated" else 1e-5)
    nq = len(r.coordinates)
    for x in path[1:]:
        q, p = x[:nq], x[nq:]
        m = numbers("mass_matrix", q=q)
        expected = -np.linalg.solve(m[:6, :6], m[:6, 6:] @ p[6:])
        assert np.linalg.norm(p[:3]) > 1e-3
        assert np.max(np.abs(p[:6] - expected)) < 1e-8 * np.max(np.abs(p))


# -- the planar swing -------------------------------------------------------------------
def turned_by_a_half_swing(connection) -> float:
    """Degrees that the torso turns while the tail swings by 180°."""
    return abs(np.degrees(quad(connection, 0, np.pi)[0]))


def test_a_half_swing_of_the_tail_turns_the_torso_by_57_2_degrees():
    """Two rigid bodies in the plane, at rest together (momentum zero)."""
    model = Model("swing", gravity=0)
    torso = model.body("torso", joint=Planar("z"), mass=0.100, inertia=(6e-5, 6e-5, 1.025e-4))
    model.body(
        "tail",
        parent=torso,
        at=(0, -0.060, 0),
        joint=Revolute("bend", "z"),
        mass=0.005,
        com=(0, -0.095, 0),
        inertia=(1.504e-5, 0, 1.504e-5),
    )
    equations = poincare(model)
    r = Rat(model, equations)

    def connection(bend: float) -> float:
        m = r.numbers("mass_matrix", q=[0, 0, 0, bend])
        return float(-np.linalg.solve(m[:3, :3], m[:3, 3])[0])

    assert turned_by_a_half_swing(connection) == pytest.approx(57.2, abs=0.1)
    assert abs(connection(0.0)) == pytest.approx(0.37, abs=0.005)


def test_the_rat_with_one_rigid_link_has_the_same_budget():
    r = rat("articulated", segments=1, links=1)
    numbers = r.with_values(torso_mass=0.1, tail_radius=0.0, tail_base_z=0.0)

    def connection(bend: float) -> float:
        m = numbers("mass_matrix", q=r.pose(alpha_1=bend))
        return float(-np.linalg.solve(m[:6, :6], m[:6, 6])[0])

    assert turned_by_a_half_swing(connection) == pytest.approx(57.2, abs=0.1)


# -- from links to an arc -------------------------------------------------------------------
LINKS = (4, 8, 16, 32, 64)


@cache
def tail_rows(links: int, direction: tuple[float, float], half: bool) -> np.ndarray:
    """The tail's rows of M at θ = 1.3 by the angles of the whole segment; 0 links: the arc."""
    angle = 1.3 * np.array(direction)
    if not links:
        r, scale = rat("continuum", segments=1), 1.0
        q = r.pose(u_1=angle[0], w_1=angle[1])
    else:
        r, scale = rat("articulated", segments=1, links=links, half_angle=half), 1 / links
        q = r.pose(alpha_1=angle[0] / links, beta_1=angle[1] / links)
    m = (
        r.with_values(tail_radius=0.0)("mass_matrix", q=q)
        if links
        else r.numbers("mass_matrix", q=q)
    )
    return (np.diag([1.0] * 6 + [scale] * 2) @ m @ np.diag([1.0] * 6 + [scale] * 2))[6:]


def orders(direction: tuple[float, float], half: bool) -> tuple[np.ndarray, float]:
    """Observed orders between neighbours of LINKS, and over all of them by a straight line."""
    arc = tail_rows(0, direction, half)
    rows = slice(None) if all(direction) else slice(*((0, 1) if direction[0] else (1, 2)))
    errors = [np.linalg.norm((tail_rows(n, direction, half) - arc)[rows]) for n in LINKS]
    steps = -np.diff(np.log2(errors))
    return steps, -np.polyfit(np.log2(LINKS), np.log2(errors), 1)[0]


@pytest.mark.slow
@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, 1.0)], ids=["about x", "about z"])
@pytest.mark.parametrize(("half", "order"), [(False, 1.0), (True, 2.0)], ids=["plain", "half"])
def test_links_converge_to_the_arc_in_planar_bending(direction, half, order):
    """Order 1 with the whole angle at the first joint (the paper's A1), order 2 with half of it."""
    steps, fitted = orders(direction, half)
    assert fitted == pytest.approx(order, abs=0.1)
    assert np.all(np.abs(steps - order) < 0.1), steps


@pytest.mark.slow
def test_bending_in_two_planes_at_once_stays_of_order_one():
    """Rx(α) Rz(β) of a link does not commute, so n links twist by O(1/n) against the arc.

    The half angle cannot mend that: it shifts the joints, not the order of their axes.
    """
    for half in (False, True):
        _, fitted = orders((0.6, 0.8), half)
        assert fitted == pytest.approx(1.0, abs=0.1), half


def test_a_coarse_tail_is_a_fine_one_whose_segments_bend_alike():
    fine, coarse = rat("articulated", segments=2, links=2), rat("articulated", segments=1, links=4)
    spread = np.zeros((10, 8))
    spread[range(6), range(6)] = 1
    spread[6, 6] = spread[8, 6] = spread[7, 7] = spread[9, 7] = 1
    m = fine.call(
        "mass_matrix", {"q": fine.pose(alpha_1=0.3, beta_1=-0.2, alpha_2=0.3, beta_2=-0.2)}
    )
    expected = coarse.call("mass_matrix", {"q": coarse.pose(alpha_1=0.3, beta_1=-0.2)})
    assert relative_error(spread.T @ m @ spread, expected) < 1e-13
    arcs, arc = rat("continuum", segments=2), rat("continuum", segments=1)
    half = np.diag([1.0] * 6 + [0.5, 0.5])  # two arcs of half the bending
    m = arcs.call("mass_matrix", {"q": arcs.pose(u_1=0.6, w_1=-0.4, u_2=0.6, w_2=-0.4)})
    expected = arc.call("mass_matrix", {"q": arc.pose(u_1=1.2, w_1=-0.8)})
    assert relative_error(half @ spread.T @ m @ spread @ half, expected) < 1e-12


# -- the model itself -------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "options"), RATS, ids=label)
def test_mass_matrix_is_positive_definite_everywhere(kind, options):
    r = rat(kind, **options)
    for seed, bending in ((0, 0.0), (1, 1e-8), (2, 0.5), (3, 1.2)):
        m = r.call("mass_matrix", r.state(seed, bending))
        scale = np.sqrt(np.diag(m))
        assert np.linalg.eigvalsh(m / np.outer(scale, scale)).min() > 1e-8


def test_nodes_of_the_tail_lie_on_the_tail():
    for kind, options in (
        ("articulated", {"segments": 2, "links": 4}),
        ("continuum", {"segments": 2}),
    ):
        r = rat(kind, **options)
        q = r.pose()
        for segment in (1, 2):
            pose = r.call(f"segment_{segment}_end_pose", {"q": q})
            assert pose[:3, 3] == pytest.approx([0, -0.060 - 0.095 * segment, 0.005], abs=1e-15)
        assert r.call("center_of_mass", {"q": q})[0] == 0
    middle = r.call("segment_2_point_2_pose", {"q": q})[:3, 3]
    assert middle == pytest.approx([0, -0.060 - 0.095 * 1.5, 0.005], abs=1e-15)


def test_without_contact_the_rat_is_the_same_in_the_air():
    plain, airborne = rat("continuum", segments=1), rat("continuum", segments=1, contact=False)
    assert "contact_forces" not in airborne.equations.functions
    at = plain.state(1, bending=0.5)
    at["q"][6] = 1.0
    for function in ("forward_dynamics", "generalized_forces", "bias_forces"):
        assert np.array_equal(plain.call(function, at), airborne.call(function, at))


def test_long_tails_name_the_ends_of_their_segments_only():
    short = kangaroo_rat_articulated(2, 12, contact=False)
    long = kangaroo_rat_articulated(2, 13, contact=False)
    assert {"link_1_1", "link_2_12", "segment_2_end"} <= set(short.nodes)
    assert {n for n in long.nodes if "_1" in n or "_2" in n} == {"segment_1_end", "segment_2_end"}


def test_equal_bending_points_both_tails_the_same_way():
    links = rat("articulated", segments=1, links=5)
    arc = rat("continuum", segments=1)
    for one, other in (
        ({"alpha_1": 0.02}, {"u_1": 0.1}),
        ({"beta_1": 0.02}, {"w_1": 0.1}),
    ):
        a = links.call("segment_1_end_pose", {"q": links.pose(**one)})
        b = arc.call("segment_1_end_pose", {"q": arc.pose(**other)})
        assert np.allclose(a[:3, :3], b[:3, :3], atol=1e-15)
        assert np.allclose(a[:3, 3], b[:3, 3], atol=3e-3)


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (
            kangaroo_rat_articulated,
            {"segments": 0},
            "segments must be a whole number from 1 to 12, got 0",
        ),
        (
            kangaroo_rat_articulated,
            {"links": 0},
            "links must be a whole number from 1 to 64, got 0",
        ),
        (
            kangaroo_rat_articulated,
            {"links": 65},
            "links must be a whole number from 1 to 64, got 65",
        ),
        (kangaroo_rat_articulated, {"links": 2.5}, "links must be a whole number"),
        (kangaroo_rat_articulated, {"segments": True}, "segments must be a whole number"),
        (kangaroo_rat_articulated, {"segments": "3"}, "segments must be a whole number"),
        (kangaroo_rat_articulated, {"base": "euler_zzx"}, "euler_zzx"),
        (kangaroo_rat_continuum, {"segments": -1}, "segments must be a whole number from 1 to 12"),
        (kangaroo_rat_continuum, {"base": "roll"}, "'roll'"),
    ],
)
def test_bad_options_are_refused_by_name(make, options, words):
    with pytest.raises(ModelError, match=words):
        make(**options)


def test_bad_values_of_a_variant_are_refused_when_derived():
    for name, value, words in (
        ("tail_length", -0.19, "length must be positive, got 0.005 kg and -0.19 m"),
        ("tail_mass", -0.005, "mass must not be negative"),
        ("contact_stiffness", 0.0, "contact stiffness must be positive, got 0"),
    ):
        model = kangaroo_rat_continuum(1)
        model.variant("bad", {name: value})
        with pytest.raises(ModelError, match=words) as caught:
            poincare(model)
        assert "(variant 'bad')" in str(caught.value)


def test_an_articulated_rat_of_negative_length_is_refused():
    model = kangaroo_rat_articulated(1, 2)
    model.variant("bad", {"tail_length": -0.19})
    with pytest.raises(ModelError, match=r"tail length must be positive, got -0\.19"):
        poincare(model)
