"""The sparse program: its derivatives against CasADi's own, on problems with everything in them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from bestiary.solvers.ocp import (
    Gauss,
    HermiteSimpson,
    Mesh,
    MultipleShooting,
    OptimalControlError,
    OptimalControlProblem,
    Radau,
    Section,
    Trapezoid,
)
from bestiary.solvers.ocp.functions import PhaseFunctions
from bestiary.solvers.ocp.guess import initial_guess
from bestiary.solvers.ocp.mesh import make_mesh
from bestiary.solvers.ocp.scaling import scale
from bestiary.solvers.ocp.transcription import Transcription

SCHEMES = [
    Radau(3),
    Gauss(2),
    HermiteSimpson(),
    Trapezoid(),
    MultipleShooting(2),
    MultipleShooting(3, "constant"),
]


def everything(*, algebraic: bool, pinned: bool = True) -> OptimalControlProblem:
    """Two linked phases, free times, a parameter, paths, integrals, a control pinned at the start.

    Pinned at an instant, a control costs what a scheme's polynomials make of it.
    """
    problem = OptimalControlProblem(name="everything")
    k = problem.parameter("stiffness", bounds=(0.5, 2.0), guess=1.0)
    c = problem.constant("weight", 0.3)
    first = problem.phase("first", duration=(0.5, 2.0))
    second = problem.phase("second", duration=None)
    for phase in (first, second):
        x, v = phase.states("x v")
        (u,) = phase.controls("u")
        force = -k * x + u + 0.1 * ca.sin(phase.time) + 0.01 * phase.end_time
        if algebraic:
            (a,) = phase.algebraics("a")
            phase.equation("newton", (1 + 0.1 * x**2) * a - force)
            phase.dynamics({x: v, v: a})
        else:
            phase.dynamics({x: v, v: force / (1 + 0.1 * x**2)})
        phase.path("power", u * v, low=-3.0, high=3.0)
        phase.minimize(integral=c * u**2 + x**2)
        phase.bound(u=(-5, 5))
    first.start(x=0.0, v=0.0, **({"u": 0.5} if pinned else {}))
    work = first.integral(first["u"] ** 2, name="work")
    problem.constrain("work", work * k, high=4.0)
    problem.constrain("middle", first.final(first["x"] * first["v"]), low=0.01)
    problem.link(first, second)
    second.end(x=1.0, v=0.0)
    problem.minimize(second.end_time + 0.1 * k**2 + 0.01 * work)
    return problem


CASES = [
    pytest.param(scheme, algebraic, knots, id=f"{scheme}-{algebraic=}-{knots=}")
    for scheme in SCHEMES
    for algebraic in (False, True)
    for knots in (False, True)
    if not scheme.shoots or not (algebraic or knots)  # shooting takes neither
]


@pytest.mark.parametrize(("scheme", "algebraic", "knots"), CASES)
def test_derivatives_of_the_program_equal_casadis_own(scheme, algebraic, knots):
    problem = everything(algebraic=algebraic)
    mesh = make_mesh(3, scheme, "")
    if knots:
        part = Section.uniform(2, scheme.degree)
        mesh = Mesh((part, part), (0.4,))
    functions = [PhaseFunctions(problem, p) for p in problem.phases]
    transcription = Transcription(problem, functions, [mesh, make_mesh(2, scheme, "")], scheme)
    initial_guess(transcription)
    p = np.array([0.3])
    scale(transcription, p)
    program = transcription.program
    found = program.functions()
    x, q = ca.MX.sym("x", program.size), ca.MX.sym("p", 1)
    f, g = found["nlp"](x, q)
    lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", program.rows)
    hessian = ca.triu(ca.hessian(lam_f * f + ca.dot(lam_g, g), x)[0])
    own = ca.Function("own", [x, q, lam_f, lam_g], [ca.gradient(f, x), ca.jacobian(g, x), hessian])
    random = np.random.default_rng(1)
    at = random.normal(size=program.size)
    multipliers = random.normal(size=program.rows)
    expected = [np.asarray(e) for e in own(at, p, 0.7, multipliers)]
    gradient, jacobian = (np.asarray(found[k](at, p)[1]) for k in ("grad_f", "jac_g"))
    assert np.allclose(gradient, expected[0].reshape(-1, 1), rtol=0, atol=1e-11)
    assert np.allclose(jacobian, expected[1], rtol=0, atol=1e-11)
    got = np.asarray(found["hess_lag"](at, p, 0.7, multipliers))
    assert np.allclose(got, expected[2], rtol=1e-11, atol=1e-11)
    physical = at * program.variable_scale
    assert np.allclose(
        program.residuals(physical, p) / program.row_scale,
        np.asarray(found["nlp"](at, p)[1]).ravel(),
        rtol=0,
        atol=1e-11,
    )
    slopes = program.gradient(physical, p) * program.variable_scale / program.cost_scale
    assert np.allclose(slopes, expected[0].ravel(), rtol=0, atol=1e-11)
    physical_jacobian = program.jacobian(physical, p).toarray()
    scaled = physical_jacobian * program.variable_scale / program.row_scale[:, None]
    assert np.allclose(scaled, expected[1], rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("scheme", "within"),
    list(zip(SCHEMES, [2e-5, 2e-5, 2e-5, 2e-4, 2e-5, 2e-3], strict=True)),
    ids=str,
)
def test_every_scheme_finds_the_cost_of_a_problem_with_everything_in_it(scheme, within):
    # linear controls (trapezoid) and constant ones (the last) cost a little more
    problem = everything(algebraic=False, pinned=False)
    solution = problem.solve(scheme=scheme, mesh=10, tolerance=1e-5)
    assert solution.success, solution.verdict
    assert solution.cost == pytest.approx(2.94373, rel=within)


def test_implicit_and_explicit_dynamics_give_one_cost():
    costs = [
        everything(algebraic=algebraic).solve(mesh=10, tolerance=1e-7).cost
        for algebraic in (False, True)
    ]
    assert costs[0] == pytest.approx(costs[1], rel=1e-7)


def test_what_cannot_be_meant_is_refused_when_it_is_said():
    with pytest.raises(OptimalControlError, match=r"name='pendulum'"):
        OptimalControlProblem("pendulum")
    problem = everything(algebraic=False)
    first = problem.phases[0]
    refused = {
        "not both": lambda: problem.constrain("both", first.duration, low=0.0, equals=1.0),
        "path both: give equals=, or low": lambda: first.path("both", first["u"], 0.0, equals=1.0),
        "path none: give equals=, low= or": lambda: first.path("none", first["u"]),
        "no phase 'zz'": lambda: problem.link("first", "zz"),
        "cannot follow itself": lambda: problem.link("first", "first"),
        "expected a finite number": lambda: problem.set(weight=float("nan")),
        "no constant 'wieght'": lambda: problem.set(wieght=1.0),
        "no phase zz": lambda: problem.solve(mesh={"zz": 3}),
        "fractions from 0 to 1": lambda: problem.solve(mesh=[3, 5]),
        "expected a number or a pair": lambda: first.bound(u="5"),
    }
    for sentence, call in refused.items():
        with pytest.raises(OptimalControlError, match=sentence):
            call()
