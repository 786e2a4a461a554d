"""Optimal control beside opty and rockit, and the derivatives of larger robots, in one run.

    python benchmarks/optimal_control.py           # prints a table with ratios

Cart-pole: from the statement of the problem to its solution, with the same tolerance of
the nonlinear program and the nearest scheme on either side: opty's midpoint rule is Gauss
collocation of degree 1, rockit has Radau points too.  Ours re-simulates the motion
and judges it, which the peers do not do.  Imports are apart; what the contestants compile
is there already ("cold": it is not).  A whole process imports, states and solves once.
Every contestant runs in processes of its own, one thread each, and all take turns; the
best round counts.  Times are processor seconds of the process and of the compilers that
it ran, as such machines are shared.  A peer that is not installed is skipped:
``pip install opty rockit-meco cyipopt`` (cyipopt builds against an installed IPOPT).

Swimmers: a planar chain with a floating base on 25 intervals of Radau 3, accelerations as
variables and inverse dynamics as equations; set-up is from the statement to a solver that
is ready, derivation of the robot apart.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dynamics import Row, print_table

HERE = Path(__file__).resolve().parent
ROUNDS, SOLVES = 3, 4
INTERVALS = 25

PEERS = {"opty": ("opty", "cyipopt"), "rockit": ("rockit",)}


@dataclass
class Figures:
    """The best of all rounds of a contestant [s], and what it found."""

    name: str
    scheme: str
    imports: float = np.inf
    solve: float = np.inf
    whole: float = np.inf
    cost: float = np.nan
    iterations: int = -1

    def measure(self, folder: Path) -> None:
        """One more round: a process with several solves and one with a single one."""
        told, _ = _process("cart_pole.py", self.name, self.scheme, str(SOLVES), folder=folder)
        processor = [t[0] for t in told["times"]]
        self.imports = min(self.imports, processor[0])
        self.solve = min(self.solve, *processor[1:])
        self.cost, self.iterations = told["cost"], told["iterations"]
        _, seconds = _process("cart_pole.py", self.name, self.scheme, "1", folder=folder)
        self.whole = min(self.whole, seconds)

    @property
    def label(self) -> str:
        """Name, cost and iterations."""
        told = f", {self.iterations} iterations" if self.iterations >= 0 else ""
        return f"{self.name} {self.scheme} (cost {self.cost:.4f}{told})"


def _process(script: str, *arguments: str, folder: Path) -> tuple[Any, float]:
    """What a script printed, and the processor seconds of its process and its children."""
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        "BESTIARY_CACHE_DIR": str(folder / "bestiary"),
        "PYTHONPYCACHEPREFIX": str(folder.parent / "bytecode"),
        "MPLBACKEND": "Agg",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, str(HERE / script), *arguments, str(folder / "peer")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.splitlines()[-1]), seconds


def _available(name: str) -> bool:
    missing = [m for m in PEERS[name] if importlib.util.find_spec(m) is None]
    if missing:
        print(f"{name} is skipped: no module {', '.join(missing)}")
    return not missing


def cart_pole() -> list[Row]:
    """Statement to solution, and whole processes, beside the peers."""
    ours = [Figures("bestiary", s) for s in ("midpoint", "trapezoid", "radau")]
    schemes = {"opty": "midpoint", "rockit": "radau"}
    peers = [Figures(name, schemes[name]) for name in PEERS if _available(name)]
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "caches"
        cold: dict[str, float] = {}
        for figures in (ours[-1], *peers):  # the first solve compiles what is to be compiled
            told, _ = _process("cart_pole.py", figures.name, figures.scheme, "1", folder=folder)
            cold[figures.name] = told["times"][1][0]
        for _ in range(ROUNDS):
            for figures in (*ours, *peers):
                figures.measure(folder)
    by_scheme = {f.scheme: f for f in ours}
    for peer in peers:
        wanted = {"opty": ">= 5", "rockit": ">= 3"}[peer.name]
        near = by_scheme[peer.scheme]
        rows.append(Row(f"solve: {near.label}", near.solve, "s", peer.label, peer.solve, wanted))
    for figures in ours:
        for peer in peers:
            if figures.scheme != peer.scheme:
                rows.append(
                    Row(f"solve: {figures.label}", figures.solve, "s", peer.label, peer.solve)
                )
    for peer in peers:
        near = by_scheme[peer.scheme]
        rows += [
            Row(f"imports: {near.name}", near.imports, "s", peer.name, peer.imports),
            Row(
                f"whole process: {near.name} {near.scheme}", near.whole, "s",
                peer.name, peer.whole, ">= 1",
            ),
            Row("first solve, cold", cold[near.name], "s", peer.name, cold[peer.name]),
        ]  # fmt: skip
    return rows or [Row(f"solve: {f.label}", f.solve, "s") for f in ours]


def swimmer(links: int) -> list[Row]:
    """Set-up, memory and derivatives of a chain; compiled blocks made anew, then reused."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "caches"
        _process("optimal_control.py", "--swimmer", "2", folder=folder)  # bytecode
        cold = _process("optimal_control.py", "--swimmer", str(links), folder=folder)[0]
        rounds = [
            _process("optimal_control.py", "--swimmer", str(links), folder=folder)[0]
            for _ in range(ROUNDS)
        ]
    best = {k: min(r[k] for r in rounds) for k in rounds[0]}
    twelve = links == 10
    name = f"{links + 2}-DOF swimmer, {3 * INTERVALS} nodes"
    return [
        Row(f"{name}: set-up, cold", cold["setup"], "s", wanted="<= 15 s" if twelve else ""),
        Row(f"{name}: set-up", best["setup"], "s", wanted="<= 1 s" if twelve else ""),
        Row(f"{name}: derivation", best["derivation"], "s"),
        Row(f"{name}: peak memory", cold["peak"], "GB", wanted="<= 0.5 GB" if twelve else ""),
        Row(
            f"{name}: Jacobian", best["jacobian"], "ms", "as derived by CasADi",
            best["casadi_jacobian"], "<= 2 ms" if twelve else "",
        ),
        Row(
            f"{name}: Hessian", best["hessian"], "ms", "as derived by CasADi",
            best["casadi_hessian"], "<= 4 ms" if twelve else "",
        ),
        Row(f"{name}: Jacobian, not compiled", best["plain_jacobian"], "ms"),
        Row(f"{name}: Hessian, not compiled", best["plain_hessian"], "ms"),
    ]  # fmt: skip


def measure_swimmer(links: int) -> dict[str, float]:
    """Figures of one process [s], [ms], [GB]."""
    import casadi as ca

    sys.path.insert(0, str(HERE.parent / "tests"))
    from swimmer import inverse_dynamics, swimmer_problem

    from bestiary.solvers import ocp
    from bestiary.solvers.ocp import compilation
    from bestiary.solvers.ocp.functions import PhaseFunctions
    from bestiary.solvers.ocp.guess import initial_guess
    from bestiary.solvers.ocp.mesh import make_mesh
    from bestiary.solvers.ocp.scaling import scale
    from bestiary.solvers.ocp.transcription import Transcription

    start = time.perf_counter()
    inverse_dynamics(links)
    derived = time.perf_counter()
    problem = swimmer_problem(links)
    problem.check()
    scheme = ocp.Radau(3)
    functions = [PhaseFunctions(problem, phase) for phase in problem.phases]
    meshes = [make_mesh(INTERVALS, scheme, "swim")]
    transcription = Transcription(problem, functions, meshes, scheme)
    initial_guess(transcription)
    p = np.empty(0)
    program = transcription.program
    program.compile = compilation.NodeCompiler("auto")
    scale(transcription, p)
    made = program.functions()
    quiet = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}}
    own = {k: made[k] for k in ("grad_f", "jac_g", "hess_lag")}
    ca.nlpsol("solver", "ipopt", made["nlp"], {**own, "no_nlp_grad": True, **quiet})
    ready = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    compilation.finish_background()
    made = program.functions()
    rng = np.random.default_rng(0)
    x, multipliers = 0.3 * rng.normal(size=program.size), rng.normal(size=program.rows)
    found = {
        "derivation": derived - start,
        "setup": ready - derived,
        "peak": peak,
        "jacobian": _milliseconds(made["jac_g"], x, p),
        "hessian": _milliseconds(made["hess_lag"], x, p, 1.0, multipliers),
    }
    program.compile = compilation.NodeCompiler("never")
    plain = program.functions()
    found["plain_jacobian"] = _milliseconds(plain["jac_g"], x, p)
    found["plain_hessian"] = _milliseconds(plain["hess_lag"], x, p, 1.0, multipliers)
    symbol, lam_f = ca.MX.sym("x", program.size), ca.MX.sym("lam_f")
    lam_g = ca.MX.sym("lam_g", program.rows)
    f, g = plain["nlp"](symbol, p)
    lagrangian = lam_f * f + ca.dot(lam_g, g)
    jacobian = ca.Function("whole_jacobian", [symbol], [g, ca.jacobian(g, symbol)])
    hessian = ca.Function(
        "whole_hessian", [symbol, lam_f, lam_g], [ca.triu(ca.hessian(lagrangian, symbol)[0])]
    )
    found["casadi_jacobian"] = _milliseconds(jacobian, x)
    found["casadi_hessian"] = _milliseconds(hessian, x, 1.0, multipliers)
    return found


def _milliseconds(function: Any, *arguments: Any) -> float:
    """Best time of an evaluation on buffers, as a solver calls it."""
    buffer, evaluate = function.buffer()
    kept = [np.ascontiguousarray(np.atleast_1d(a), dtype=float) for a in arguments]
    for k, argument in enumerate(kept):
        buffer.set_arg(k, memoryview(argument))
    results = [np.zeros(max(1, function.nnz_out(k))) for k in range(function.n_out())]
    for k, result in enumerate(results):
        buffer.set_res(k, memoryview(result))
    best = np.inf
    for _ in range(60):
        start = time.perf_counter()
        evaluate()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


PARTS: dict[str, Callable[[], list[Row]]] = {
    "cart_pole": cart_pole,
    "swimmer": lambda: swimmer(10),
    "large_swimmer": lambda: swimmer(18),
}


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; all by default")
    parser.add_argument("--swimmer", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.swimmer:
        print(json.dumps(measure_swimmer(chosen.swimmer)))
        return
    parts = chosen.parts or list(PARTS)
    unknown = [c for c in parts if c not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    print_table([row for part in parts for row in PARTS[part]()], "optimal control")


if __name__ == "__main__":
    main()
