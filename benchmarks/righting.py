"""The kangaroo rat rights itself: beside opty, and every tail beside every other.

    python benchmarks/righting.py                     # beside opty
    python benchmarks/righting.py comparison [--segments 1 2 3] [--links 2 4 8 16 inf] [--out DIR]

Beside opty: 180 degrees in 0.4 s, articulated tails, from statement to solution, the same
guess, the same limits of torque and the same tolerance of the nonlinear program.  opty has
100 intervals of its midpoint rule and Kane's equations of the full model; ours has its
default (reduced equations, Radau points of degree 3 on 16 intervals, refined until the
error is below 1e-5), and the same equations with the midpoint rule on 100 intervals.  Ours
re-simulates the motion and judges it.  Every contestant runs in a process of its own.  Times are
processor seconds of the process and of the compilers that it ran, as such machines are
shared; one that has used ten minutes without an answer is stopped.
``pip install opty cyipopt`` (cyipopt builds against an installed IPOPT).

The comparison is that of ``solvers/ocp/library/righting_comparison.py``; robots that are
missing are built.  With --out it leaves a CSV table and a picture there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIMIT = 600
"""Processor seconds after which a contestant is stopped."""
PATIENCE = 6
"""Times as many seconds of the clock."""
TAILS = ((1, 2), (2, 4))
CONTESTANTS = (
    ("bestiary", "reduced-radau"),
    ("bestiary", "reduced-midpoint"),
    ("opty", "midpoint"),
)


@dataclass
class Run:
    """What a contestant told before it ended."""

    steps: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    used: float = 0.0
    failure: str = ""

    @property
    def total(self) -> float:
        """From statement to solution: imports apart."""
        return sum(s for step, s in self.steps.items() if step != "imports")

    def __str__(self) -> str:
        told = ", ".join(f"{k} {s:.1f} s" for k, s in self.steps.items())
        if self.failure:
            return f"{self.failure} after {self.used:.0f} s of the processor ({told or 'nothing'})"
        facts = ", ".join(f"{k} {v}" for k, v in self.facts.items() if v not in (-1, None))
        return f"{told}; {facts}"


def run(name: str, scheme: str, segments: int, links: int, folder: Path) -> Run:
    """One process of a contestant."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))

    arguments = [name, scheme, str(segments), str(links), str(folder / "peer")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, str(HERE / "righting_contestant.py"), *arguments],
        env={
            **os.environ,
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
            "MPLBACKEND": "Agg",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=limited,
    )
    late = False
    try:
        out, told = process.communicate(timeout=LIMIT * PATIENCE)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(process.pid, signal.SIGKILL)
        out, told = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = Run(used=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    for line in out.splitlines():
        step = json.loads(line)
        found.steps[step.pop("step")] = step.pop("processor")
        step.pop("wall")
        found.facts.update(step)
    if late or process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        found.failure = "stopped"
    elif process.returncode:
        found.failure = f"failed: {told.strip().splitlines()[-1]}"
    return found


def beside_opty() -> None:
    """Print a line for each contestant and tail, and ratios."""
    missing = [m for m in ("opty", "cyipopt") if importlib.util.find_spec(m) is None]
    contestants = CONTESTANTS[:-1] if missing else CONTESTANTS
    if missing:
        print(f"opty is skipped: no module {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as place:
        for segments, links in TAILS:
            folder = Path(place) / f"{segments}-{links}"
            folder.mkdir()
            runs = {}
            for name, scheme in contestants:
                if name == "bestiary":  # what is compiled is there already
                    run(name, scheme, segments, links, folder)
                runs[name, scheme] = run(name, scheme, segments, links, folder)
                print(
                    f"{segments} x {links} links, {name} {scheme}: {runs[name, scheme]}", flush=True
                )
            peer = runs.get(("opty", "midpoint"))
            for name, scheme in CONTESTANTS[:-1] if peer else ():
                assert peer is not None
                bound = "more than " if peer.failure == "stopped" else ""
                seconds = peer.used if bound else peer.total
                ratio = seconds / runs[name, scheme].total
                print(f"{segments} x {links} links: opty takes {bound}{ratio:.0f} times {scheme}")


def comparison(chosen: argparse.Namespace) -> None:
    """Print the table of all tails; leave it and its picture in a folder."""
    import bestiary
    from bestiary.solvers.ocp.library import righting_report
    from bestiary.solvers.ocp.library.righting_comparison import compare

    def load(tail: str, segments: int, links: int) -> Any:
        options: dict[str, Any] = {"segments": segments, "contact": False}
        if tail == "articulated":
            options |= {"links": links} | ({"half_angle": True} if chosen.half_angle else {})
        return bestiary.load(f"kangaroo_rat_{tail}", **options)

    begun = time.perf_counter()
    options = {"questions": chosen.questions} if chosen.questions else {}
    table = compare(
        chosen.segments, chosen.links, load=load, tell=lambda a: print(a, flush=True), **options
    )
    print(f"\n{righting_report.table_text(table)}\n\n{time.perf_counter() - begun:.0f} s in all")
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        righting_report.write_csv(table, chosen.out / "righting.csv")
        righting_report.plot_comparison(table).savefig(chosen.out / "righting.png", dpi=110)


def main() -> None:
    """Run the part that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=("opty", "comparison"), default="opty")
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--links", type=float, nargs="+", default=[2, 4, 8, 16, float("inf")])
    parser.add_argument("--questions", nargs="+")
    parser.add_argument("--half-angle", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if chosen.part == "opty":
        beside_opty()
    else:
        comparison(chosen)


if __name__ == "__main__":
    main()
