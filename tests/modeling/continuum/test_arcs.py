"""Uniform arcs by exact integrals: limits, the Gauss-Legendre twin, and both formalisms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numeric import Numbers, Thawed, relative_error

from bestiary.modeling import Floating, Model, ModelError, Revolute, poincare
from bestiary.modeling.continuum.arc import Arc
from bestiary.modeling.formalisms.inertia_matrix import inertia_matrix
from bestiary.modeling.program.transform import directional_derivative

FORMALISMS = {"poincare": poincare, "inertia_matrix": inertia_matrix}
TORSO = {"mass": 0.105, "inertia": (1.08e-4, 3.8e-5, 1.08e-4)}
LENGTHS, MASSES = (0.11, 0.08), (0.003, 0.002)
POINTS = 14
BENDINGS = [0.0, 1e-8, 0.4, 2.9, 3.7]


def tail(*, exact: bool) -> Model:
    """A floating body with two arcs on skew mounts and a rigid tip; or point masses for each."""
    model = Model("tail")
    parent = model.body("torso", joint=Floating(), **TORSO)
    mounts = ((0, -0.06, 0.005), (0.01, 0, 0)), ((0, 0, 0), (0.3, -0.2, 0.5))
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    for k, (length, mass, at, turn) in enumerate(zip(LENGTHS, MASSES, *mounts, strict=True)):
        names = (f"u{k}", f"w{k}")
        size = model.parameter(f"length{k}", length, "m")
        weight = model.parameter(f"mass{k}", mass, "kg")
        if exact:
            parent = model.arc(
                f"end{k}", parent=parent, length=size, mass=weight, names=names, at=at,
                orientation=turn,
            )  # fmt: skip
            continue
        base = model.body(f"end{k}_base", parent=parent, at=at, orientation=turn)
        parent = model.body(f"end{k}", parent=base, joint=Arc(names, size))
        for number, (x, w) in enumerate(zip(nodes, weights, strict=True)):
            point = Arc(names, size, fraction=float(1 + x) / 2, shared=True)
            body = model.body(f"end{k}_point{number}", parent=base, joint=point)
            model.lump(body, "", weight * (float(w) / 2))
    model.lump(parent, "tip", 1e-3, (0.001, -0.004, 0.002), (2e-8, 1e-8, 2e-8))
    model.actuate("u0_rate", "w0_rate", "u1_rate", "w1_rate")
    return model


@cache
def numbers(formalism: str, exact: bool = True) -> Numbers:
    equations = FORMALISMS[formalism](tail(exact=exact))
    return Numbers(equations.program, equations.values(), interpret=True)


def state(bending: float, seed: int = 0) -> dict[str, np.ndarray]:
    """A random state; the first arc bends by ``bending``, the second by 0.9 of it."""
    rng = np.random.default_rng([seed, 11])
    quaternion = rng.normal(size=4)
    phi = rng.uniform(0, 2 * np.pi, size=2)
    sizes = np.array([1.0, 0.9]) * bending
    arcs = np.stack([sizes * np.cos(phi), sizes * np.sin(phi)], axis=1).ravel()
    return {
        "q": np.concatenate([quaternion / np.linalg.norm(quaternion), rng.normal(size=3), arcs]),
        "p": rng.normal(size=10),
        "p_dot": rng.normal(size=10),
        "u": rng.normal(scale=1e-3, size=4),
    }


def call(of: Numbers, function: str, at: dict[str, np.ndarray]) -> np.ndarray:
    return of(
        function, **{k: v for k, v in at.items() if k in of.program.functions[function].inputs}
    )


def named(of: Numbers) -> dict[str, float]:
    """Parameter values by name."""
    names = [s.name for s in of.program.group("parameters").symbols]
    return dict(zip(names, of.parameters, strict=True))


@pytest.mark.parametrize("bending", BENDINGS)
def test_every_function_equals_the_gauss_legendre_twin(bending):
    exact, twin = numbers("poincare"), numbers("poincare", exact=False)
    common = [f for f in exact.program.functions if f in twin.program.functions]
    assert {"mass_matrix", "coriolis_matrix", "forward_dynamics", "momentum"} <= set(common)
    at = state(bending)
    for function in common:
        bound = 1e-10 if function in ("forward_dynamics", "state_rates") else 1e-12
        assert relative_error(call(exact, function, at), call(twin, function, at)) < bound, function


@pytest.mark.parametrize("bending", BENDINGS)
def test_both_formalisms_agree_in_every_function(bending):
    one, other = numbers("poincare"), numbers("inertia_matrix")
    assert set(one.program.functions) == set(other.program.functions)
    at = state(bending)
    p = at["p"]
    for function in one.program.functions:
        a, b = call(one, function, at), call(other, function, at)
        if function == "coriolis_matrix":
            a, b = a @ p, b @ p  # the factorisation is free, the force is not
        bound = 1e-11 if function in ("forward_dynamics", "state_rates") else 1e-12
        assert relative_error(a, b) < bound, function


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_mdot_minus_2c_is_skew_and_cp_plus_f_is_the_bias(formalism):
    plain = numbers(formalism)
    thawed = Thawed(plain.program)
    moving = zip(thawed.group("q"), thawed.output("coordinate_rates"), strict=True)
    rate = directional_derivative(thawed.builder, thawed.output("mass_matrix"), moving)
    program = thawed.freeze(mass_rate=(("parameters", "q", "p"), rate, (10, 10)))
    rates = Numbers(program, named(plain), interpret=True)
    for bending in BENDINGS:
        at = state(bending, 3)
        c = call(plain, "coriolis_matrix", at)
        m_dot = rates("mass_rate", q=at["q"], p=at["p"])
        assert np.max(np.abs(m_dot - c - c.T)) < 1e-12 * np.max(np.abs(c))
        bias = c @ at["p"] + call(plain, "force_vector", at)
        assert relative_error(call(plain, "bias_forces", at), bias) < 1e-12


def test_weight_is_the_gradient_of_the_potential_energy():
    plain = numbers("poincare")
    thawed = Thawed(plain.program)
    (energy,) = thawed.output("potential_energy")
    q = thawed.group("q")
    one = thawed.builder.constant(1)
    slopes = [directional_derivative(thawed.builder, [energy], [(c, one)])[0] for c in q]
    program = thawed.freeze(slope=(("parameters", "q"), slopes, (11,)))
    gradient = Numbers(program, named(plain), interpret=True)
    for bending in BENDINGS:
        at = state(bending, 5)
        v = call(plain, "velocity_map", at)
        expected = v.T @ gradient("slope", q=at["q"])
        assert relative_error(call(plain, "force_vector", at), expected) < 1e-12


# -- the straight arc ------------------------------------------------------------------
def single(formalism: str) -> Numbers:
    model = Model("single", gravity=0)
    torso = model.body("torso", joint=Floating(), **TORSO)
    model.arc("end", parent=torso, length=0.19, mass=0.005, names=("u", "w"))
    equations = FORMALISMS[formalism](model)
    return Numbers(equations.program, equations.values(), interpret=True)


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_the_straight_arc_has_the_exact_limits(formalism):
    """M_θθ = mL²/20, translation and θ mL/6, rotation and θ mL²/8; a rod of mL²/3 otherwise."""
    of = single(formalism)
    mass, length = 0.005, 0.19
    m = of("mass_matrix", q=[1.0, *[0.0] * 8])
    names = [s.name for s in of.program.group("p").symbols]
    u, w = names.index("u_rate"), names.index("w_rate")
    wx, wz = (next(k for k, n in enumerate(names) if n.endswith(f"w{a}")) for a in "xz")
    vx, vz = (next(k for k, n in enumerate(names) if n.endswith(f"v{a}")) for a in "xz")
    exact = pytest.approx
    assert m[u, u] == exact(mass * length**2 / 20, rel=1e-15)
    assert m[w, w] == exact(mass * length**2 / 20, rel=1e-15)
    assert m[u, w] == 0
    assert m[w, vx] == exact(mass * length / 6, rel=1e-15)
    assert m[u, vz] == exact(-mass * length / 6, rel=1e-15)
    assert m[u, vx] == m[w, vz] == 0
    assert m[u, wx] == exact(mass * length**2 / 8, rel=1e-15)
    assert m[w, wz] == exact(mass * length**2 / 8, rel=1e-15)
    assert m[wx, wx] == exact(TORSO["inertia"][0] + mass * length**2 / 3, rel=1e-15)


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_mass_matrix_is_finite_and_positive_definite_at_and_near_straight(formalism):
    of = numbers(formalism)
    straight = call(of, "mass_matrix", state(0.0))
    for bending in (0.0, 5e-324, 1e-200, 1e-16, 1e-8, 1e-4):
        m = call(of, "mass_matrix", state(bending))
        assert np.isfinite(m).all()
        scale = np.sqrt(np.diag(m))
        assert np.linalg.eigvalsh(m / np.outer(scale, scale)).min() > 1e-3
        assert np.max(np.abs(m - straight)) <= 1.01 * bending * np.max(np.abs(straight))
        a = call(of, "forward_dynamics", state(bending))
        assert np.isfinite(a).all()


def test_no_direction_of_bending_is_special():
    """Turning the plane of bending about the tangent turns the answer."""
    of = single("poincare")
    for phi in (0.3, 1.9, 4.0):
        half = phi / 2
        turned = [np.cos(half), 0, np.sin(half), 0, 0, 0, 0]  # about y
        c, s = np.cos(phi), np.sin(phi)
        spin = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        u, w = 1.1, 0.4
        rotated = spin @ [u, 0, w]
        tip = of("end_pose", q=[*turned, u, w])
        other = of("end_pose", q=[1, 0, 0, 0, 0, 0, 0, rotated[0], rotated[2]])
        assert np.allclose(tip[:3, 3], other[:3, 3], atol=1e-15)
        assert np.allclose(tip[:3, :3], other[:3, :3] @ spin, atol=1e-15)


# -- what is refused ------------------------------------------------------------------
def test_a_bad_arc_is_refused_by_name():
    def model(**changes):
        m = Model("arcs")
        stem = m.body("stem", joint=Revolute("swing"), mass=1.0)
        m.arc("blade", **{"parent": stem, "length": 0.3, "mass": 0.1, **changes})
        return m

    for changes, words in (
        ({"length": 0}, "arc 'blade': length must not be zero"),
        ({"length": float("inf")}, "arc 'blade': length must be finite"),
        ({"parent": "stalk"}, "unknown parent 'stalk'"),
        ({"names": ("swing", "w")}, "coordinate name 'swing' is taken"),
        ({"length": "long"}, "arc 'blade': length must be a number"),
    ):
        with pytest.raises(ModelError, match=words):
            model(**changes)
    for changes, words in (
        ({"length": -0.3}, "length must be positive, got 0.1 kg and -0.3 m"),
        ({"mass": -0.1}, "mass must not be negative"),
    ):
        for formalism in FORMALISMS.values():
            with pytest.raises(ModelError, match=words):
                formalism(model(**changes))


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5, float("nan")])
def test_a_point_beyond_the_arc_is_refused(fraction):
    model = Model("arcs")
    base = model.body("stem", joint=Revolute("swing"), mass=1.0)
    length = model.parameter("length", 0.3, "m")
    with pytest.raises(ModelError, match=r"arc of body 'tip': fraction must be in \(0, 1\]"):
        model.body("tip", parent=base, joint=Arc(("u", "w"), length, fraction))


def test_an_arc_with_a_length_in_another_unit_is_refused():
    model = Model("arcs")
    base = model.body("stem", joint=Revolute("swing"), mass=1.0)
    length = model.parameter("length", 0.3, "kg")
    with pytest.raises(ModelError, match=r"arc of body 'tip': length must be a scalar in \[m\]"):
        model.body("tip", parent=base, joint=Arc(("u", "w"), length))
