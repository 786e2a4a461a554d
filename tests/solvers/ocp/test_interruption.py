"""Ctrl-C, time limits, progress: a solve can be watched and stopped, and says nothing unasked."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
import time

import pytest

from bestiary.solvers.ocp import OptimalControlError, OptimalControlProblem, Status
from bestiary.solvers.ocp.backend import probe
from bestiary.solvers.ocp.interruption import Stop, interruptible
from bestiary.solvers.ocp.progress import Iterate, ProgressLine, watcher
from bestiary.solvers.ocp.solver_options import check_options

PROBLEM = """
import sys, time
import casadi as ca
from bestiary.solvers.ocp import OptimalControlProblem

def orbit():
    problem = OptimalControlProblem(name="orbit")
    phase = problem.phase("transfer", duration=3.32)
    r, vr, vt = phase.states("r vr vt")
    a, b = phase.controls("a b")
    thrust = 0.1405 / (1 - 0.0749 * phase.time)
    phase.dynamics({r: vr, vr: vt**2 / r - 1 / r**2 + thrust * a, vt: -vr * vt / r + thrust * b})
    phase.path("norm", a**2 + b**2, 1, 1)
    phase.start(r=1, vr=0, vt=1)
    phase.end(vr=0)
    phase.bound(r=(0.5, 3))
    problem.constrain("circular", phase.final(vt) * ca.sqrt(phase.final(r)), equals=1)
    problem.maximize(phase.final(r))
    return problem
"""

SLOW = (
    PROBLEM
    + """
def watch(iterate):
    if iterate.number == 3:
        print("begun", flush=True)
    time.sleep(0.05)  # so that a signal always arrives in the middle

solution = orbit().solve(mesh=10, progress=watch)
print(solution.status.name, solution.sealed)
print(solution.unseal().value("r")[-1])
"""
)


def _interrupted(times: int) -> tuple[str, str, int]:
    """Output of the slow solve, and its exit code, when so many signals reach it."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "begun"
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    out, err = process.communicate(timeout=120)
    return out, err, process.returncode


def test_ctrl_c_keeps_the_best_iterate_in_a_sealed_solution() -> None:
    out, err, code = _interrupted(1)
    status, value = out.splitlines()
    assert status == "INTERRUPTED True"
    assert 0.5 < float(value) < 3
    assert err == ""
    assert code == 0


def test_a_second_ctrl_c_raises() -> None:
    out, err, code = _interrupted(2)
    assert out == ""
    assert "KeyboardInterrupt" in err
    assert code != 0


def orbit() -> OptimalControlProblem:
    scope: dict[str, object] = {}
    exec(PROBLEM, scope)
    made = scope["orbit"]()  # type: ignore[operator]
    assert isinstance(made, OptimalControlProblem)
    return made


def test_a_watcher_stops_a_solve_by_returning_true() -> None:
    seen: list[Iterate] = []

    def watch(iterate: Iterate) -> bool:
        seen.append(iterate)
        return iterate.number >= 5

    solution = orbit().solve(mesh=10, progress=watch)
    assert solution.status is Status.INTERRUPTED
    assert [i.number for i in seen] == [0, 1, 2, 3, 4, 5]
    assert {(i.round, i.intervals) for i in seen} == {(1, 10)}
    assert "guess= this solution" in solution.verdict.suggestion


def test_an_error_in_a_watcher_is_raised() -> None:
    def watch(_: Iterate) -> None:
        raise LookupError("of mine")

    said = "progress: the function 'watch' raised LookupError: of mine"
    with pytest.raises(OptimalControlError, match=said) as caught:
        orbit().solve(mesh=10, progress=watch)
    assert isinstance(caught.value.__cause__, LookupError)


def test_a_request_to_end_reaches_the_applications_handler_after_the_solve() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    counted: list[int] = []

    def watch(iterate: Iterate) -> None:
        counted.append(iterate.number)
        if iterate.number == 3:
            signal.raise_signal(signal.SIGTERM)
            assert seen == []

    try:
        with interruptible() as stop:
            signal.raise_signal(signal.SIGTERM)
            assert stop.is_set()
            assert seen == []
        assert seen == [signal.SIGTERM]
        seen.clear()
        assert orbit().solve(mesh=10, progress=watch).status is Status.INTERRUPTED
        assert seen == [signal.SIGTERM]
        assert counted == [0, 1, 2, 3]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_handler_of_signals_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    orbit().solve(mesh=10, progress=lambda i: True)
    assert signal.getsignal(signal.SIGINT) is before


def test_solves_in_threads_leave_signals_alone() -> None:
    found: list[Stop] = []

    def inside() -> None:
        with interruptible() as stop:
            found.append(stop)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert not found[0].is_set()


def test_a_deadline_sets_the_event_without_anybody_asking() -> None:
    stop = Stop(0.0)
    assert stop.is_set()
    assert stop.late
    assert not stop.asked
    assert Stop().remaining is None


# -- quiet --------------------------------------------------------------------
QUIET = (
    PROBLEM
    + """
import numpy as np
from bestiary.solvers.ocp import OptimalControlError, HermiteSimpson

def integrator():
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v"); (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u}); phase.start(x=0, v=0); phase.end(x=1, v=0)
    phase.minimize(integral=u**2)
    return problem, phase, x, v, u

solutions = []
solutions.append(integrator()[0].solve())
problem, phase, *_ = integrator(); phase.bound(u=(-1, 1)); solutions.append(problem.solve(mesh=5))
problem, phase, *_ = integrator(); phase.bound(u=0); solutions.append(problem.solve(mesh=5))
problem, phase, x, v, u = integrator(); phase.rates["v"] = u + ca.sqrt(x - 0.5) + 1 / (x - 0.5)
solutions.append(problem.solve(scheme=HermiteSimpson(), mesh=4, refine_mesh=False))
problem, phase, x, v, u = integrator(); phase.rates["v"] = u + ca.log(x - 2)
solutions.append(problem.solve(mesh=4))
for options in ({"linear_solver": "ma57"}, {"solver_options": {"mu_strategy": "foo"}}):
    try:
        integrator()[0].solve(**options)
    except OptimalControlError:
        pass
solutions.append(orbit().solve(mesh=5, rounds=2, nodes=20, iterations=50))
for solution in solutions:
    str(solution.report()); str(solution.diagnose())
assert [s.success for s in solutions[:5]] == [True, False, False, False, False]
"""
)


def test_nothing_is_printed_unasked() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "always::RuntimeWarning", "-c", QUIET],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == ""


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_that_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    orbit().solve(mesh=10, iterations=8, refine_mesh=False)
    text = terminal.getvalue()
    assert "\n" not in text
    assert text.startswith("\rorbit: mesh 1, 10 intervals, iteration 0, cost ")
    assert text.endswith("\r")
    assert text.split("\r")[-2].strip() == ""


def test_no_line_without_a_terminal_or_if_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, progress in ((io.StringIO(), None), (_Terminal(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert watcher(progress, "p")[0] is None
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert isinstance(watcher(None, "p")[0], ProgressLine)


# -- solvers and their options ------------------------------------------------
@pytest.mark.parametrize("name", ["ma57", "pardiso"])
def test_a_missing_linear_solver_is_refused_before_the_solve(name: str) -> None:
    if probe(name) is None:
        pytest.skip(f"{name} is there")
    with pytest.raises(OptimalControlError, match=f"{name}.*not available here.*available: mumps"):
        orbit().solve(linear_solver=name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_sok": 3}, "no option 'max_sok'; did you mean 'max_soc'"),
        ({"mu_strategy": "foo"}, "'foo' is not a valid value of 'mu_strategy'; valid: monotone, a"),
        ({"max_soc": "many"}, "'max_soc' cannot be 'many'"),
        ({"mu_init": -1.0}, "-1.0 is not a valid value of 'mu_init'"),
        ({"ipopt.max_soc": 3}, "write 'max_soc', not 'ipopt.max_soc'"),
        ({"ipopt": {"max_soc": 3}}, "give IPOPT's options directly"),
        ({"max_iter": 3}, "'max_iter' is an argument of solve: iterations="),
        ({3: 3}, "names are texts"),
    ],
)
def test_wrong_options_are_named(options: dict[object, object], message: str) -> None:
    with pytest.raises(OptimalControlError, match=message):
        check_options(options)


def test_options_are_brought_into_the_form_that_ipopt_takes() -> None:
    given = {"max_soc": 8.0, "mu_init": 1, "mehrotra_algorithm": True, "mu_strategy": "adaptive"}
    found = check_options(given)
    assert found == {
        "max_soc": 8, "mu_init": 1.0, "mehrotra_algorithm": "yes", "mu_strategy": "adaptive",
    }  # fmt: skip
    assert check_options(None) == {}
