"""Reports: complete, readable, the same sealed or stored, and never printed by themselves."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from bestiary.solvers.ocp import (
    MultipleShooting,
    OptimalControlProblem,
    Radau,
    Scheme,
    Solution,
    load_solution,
)
from bestiary.solvers.ocp.labels import Labels
from bestiary.solvers.ocp.report import Section
from bestiary.solvers.ocp.violations import active_limits


def two_phases(scheme: Scheme, *, refine: bool = False) -> Solution:
    """A cart that speeds up, then brakes under a tighter limit; both limits become active."""
    problem = OptimalControlProblem(name="two phases")
    gain = problem.parameter("gain", bounds=(0.5, 1.5), unit="1/kg")
    first = problem.phase("go", duration=(0.5, 5))
    second = problem.phase("brake", duration=(0.5, 5))
    for phase, low, high in ((first, -1.0, 1.0), (second, -0.5, 0.5)):
        x, v = phase.states("x v", units="m m/s")
        (u,) = phase.controls("u", units="N")
        phase.dynamics({x: v, v: gain * u - 0.1 * v})
        phase.bound(u=(low, high), v=(0, 5))
    first.start(x=0, v=0)
    second.end(x=3, v=0)
    problem.link(first, second)
    first.path("power", first["u"] * first["v"], high=5.0, unit="W")
    first.minimize(integral=first["u"] ** 2, name="effort")
    problem.minimize(second.end_time, name="time")
    return problem.solve(scheme=scheme, mesh=6, refine_mesh=refine)


def infeasible() -> Solution:
    problem = OptimalControlProblem(name="too far")
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u", units="N")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.bound(u=(-1, 1))
    phase.minimize(integral=u**2)
    return problem.solve(mesh=4, refine_mesh=False)


@pytest.fixture(scope="module")
def solved() -> Solution:
    return two_phases(Radau(3), refine=True)


@pytest.fixture(scope="module")
def failed() -> Solution:
    return infeasible()


def test_a_report_has_cost_terms_times_meshes_errors_and_active_limits(solved: Solution) -> None:
    text = str(solved.report())
    assert text.startswith("two phases: solved")
    for part in (
        "cost", "total", "effort", "time", "go", "brake", "gain", "meshes", "errors, relative",
        "re-simulated segments", "re-simulated open loop", "dynamics between nodes",
        "active limits",
        "gain at its upper limit 1.5 1/kg", "go: end time at its lower limit 0.5 s",
    ):  # fmt: skip
        assert part in text, part
    terms = solved.costs
    assert sum(terms.values()) == pytest.approx(solved.record.cost, rel=1e-6)


def test_a_report_of_a_failure_needs_no_unsealing(failed: Solution) -> None:
    assert failed.sealed
    text = str(failed.report())
    assert failed.sealed
    assert text.startswith("too far: not solved: the constraints cannot be met")
    for part in ("what was found", "what to try next", "cost of the last iterate", "dynamics of x",
                 "constraints that are not met", "u at its upper limit 1 N"):  # fmt: skip
        assert part in text, part
    assert "rank" in str(failed.diagnose()) or "condition number" in str(failed.diagnose())


@pytest.mark.parametrize("which", ["solved", "failed"])
def test_a_stored_solution_gives_the_same_report(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    solution: Solution = request.getfixturevalue(which)
    again = load_solution(solution.save(tmp_path / "solution.nc"))
    assert str(again.report()) == str(solution.report())
    assert again.verdict == solution.verdict


def test_nan_survives_a_file(tmp_path: Path) -> None:
    problem = OptimalControlProblem(name="nan")
    phase = problem.phase("move", duration=1.0)
    (x,) = phase.states("x")
    phase.dynamics({x: ca.log(x)})
    phase.start(x=-1)
    solution = problem.solve(mesh=2)
    again = load_solution(solution.save(tmp_path / "solution.nc"))
    assert again.verdict.not_finite == solution.verdict.not_finite
    assert again.verdict.not_finite[0].name == "rate of x"


def test_reports_show_in_notebooks_as_tables_with_escaped_text(failed: Solution) -> None:
    html = failed.report()._repr_html_()
    assert html.count("<table>") == html.count("</table>") > 4
    assert "u within -1 and 1 N" in html
    assert Section("a < b", (("<i>",),)).html().count("&lt;") == 2


def test_nothing_is_printed(
    solved: Solution, failed: Solution, capsys: pytest.CaptureFixture[str]
) -> None:
    solved.report()
    failed.report()
    failed.diagnose()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("scheme", [Radau(3), MultipleShooting(4)])
def test_labels_name_every_variable_and_row(scheme: Scheme) -> None:
    solution = two_phases(scheme)
    assert solution.refined is not None
    transcription = solution.refined.transcription
    x = solution.refined.outcome.x
    labels = Labels(transcription, x)
    for indices in transcription.phases:
        names = [v.name for v in indices.functions.states]
        for node, entries in enumerate(indices.states):
            for name, entry in zip(names, entries, strict=True):
                label = labels.of_variable(int(entry))
                assert (label.kind, label.phase, label.name) == ("state", indices.phase.name, name)
                times = indices.layout.state_times(indices.boundaries(x))
                assert labels.variable_time[entry] == times[node]
    assert str(labels.of_variable(int(transcription.parameters[0]))) == "gain"
    kinds = {labels.of_row(k).kind for k in range(transcription.program.rows)}
    assert kinds == {"dynamics", "path", "boundary", "knot"}


def test_shares_of_time_add_up(solved: Solution, failed: Solution) -> None:
    assert solved.verdict.active["gain at its upper limit 1.5 1/kg"] == 1.0
    assert failed.refined is not None
    found = active_limits(failed.refined.transcription, failed.refined.outcome.x, np.empty(0))
    # bang-bang all along: half of the time at each limit
    assert found == {
        "u at its lower limit -1 N": pytest.approx(0.5, abs=0.03),
        "u at its upper limit 1 N": pytest.approx(0.5, abs=0.03),
    }
    assert 0.9 < sum(found.values()) <= 1 + 1e-12  # one node may lie on the way between
