"""Speed of the kangaroo rat's tails, beside MuJoCo with joint equalities, in one run.

    python benchmarks/tails.py               # prints a table with ratios

MuJoCo gets the same chain with two hinges a link and an equality for every hinge that
repeats another, contact switched off on both sides, each of its solvers with a dense
and a sparse Jacobian, islands off (faster here), warm-started (the state stays the
same); the best one counts.
Compiled code of Bestiary is timed in a loop inside C, MuJoCo's from Python with the
time of the same call on a one-joint model taken off.  The figures are the best of
rounds that alternate between the contestants.  Compilers run one at a time with an
empty cache; their time is processor time, as such machines are shared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from dynamics import Contestant, Row, _python, print_table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "oracles"))

LOOP, ROUNDS = 1000, 60
SEGMENTS = 3
LINKS = (4, 8, 12, 16, 20)
SOLVERS = tuple((s, j) for s in ("Newton", "CG", "PGS") for j in ("dense", "sparse"))
CORE = ("mass_matrix", "bias_forces", "forward_dynamics")


def build() -> list[Row]:
    """Derive, emit and compile the whole rat of three segments with four links each."""
    return whole(LINKS[0], "<= 5 s")


def long() -> list[Row]:
    """The whole rat of sixty links, and the same with the functions of its dynamics alone."""
    return whole(LINKS[-1]) + whole(LINKS[-1], functions=("dynamics", "nodes"))


def whole(links: int, derive: str = "", functions: tuple[str, ...] = ()) -> list[Row]:
    """Derive, emit and compile a rat with contact and controller, every compiler on its own."""
    start = _children()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "BESTIARY_CACHE_DIR": str(Path(folder) / "cache")}
        text = _python(
            *("-m", "bestiary", "build", "kangaroo_rat_articulated", "--jobs", "1", "--json"),
            *("--set", f"segments={SEGMENTS}", f"links={links}"),
            *(("--functions", *functions) if functions else ()),
            *("--out", str(Path(folder) / "out")),
            environment=environment,
        )
    (result,) = json.loads(text)
    steps = result["steps"]
    compiling = sum(o["processor"] for o in result["objects"])
    name = f"{SEGMENTS * links} links, {' and '.join(functions) or 'all functions'}"
    return [
        Row(f"{name}: derive", steps["derive"], "s", wanted=derive),
        Row(f"{name}: derive and emit", steps["derive"] + steps["emit"], "s"),
        Row(f"{name}: compile", compiling, "s", wanted="<= 30 s"),
        Row(f"{name}: whole command (processor)", _children() - start, "s"),
        Row(f"{name}: largest compiler process", result["peak_bytes"] / 1e6, "MB"),
    ]


def forward() -> list[Row]:
    """Forward dynamics in a compiled loop against MuJoCo's solvers on the same chain."""
    with tempfile.TemporaryDirectory() as folder:
        robot, _ = core(LINKS[0], Path(folder))
        q, p = states(robot)
        u = np.zeros((LOOP, len(robot.inputs)))
        ours = looped(robot.forward_dynamics_batch, q, p, u)
        theirs = {s: mujoco_forward(LINKS[0], *s) for s in SOLVERS}
        best = np.inf
        for _ in range(ROUNDS):
            best = min(best, ours())
            for contestant in theirs.values():
                contestant.measure()
    times = {solver: contestant.seconds for solver, contestant in theirs.items()}
    fastest = min(times, key=times.__getitem__)
    rows = [
        Row("forward dynamics", 1e6 * best, "us", f"MuJoCo {s[0]}, {s[1]}", 1e6 * t)
        for s, t in times.items()
    ]
    what = f"MuJoCo's best ({fastest[0]}, {fastest[1]})"
    return [*rows, Row("forward dynamics", 1e6 * best, "us", what, 1e6 * times[fastest], ">= 5")]


def growth() -> list[Row]:
    """Evaluation and compile time against the number of links, M, h and forward dynamics alone."""
    rows, counts, times, solved = [], [], [], []
    for links in LINKS:
        with tempfile.TemporaryDirectory() as folder:
            robot, seconds = core(links, Path(folder))
            q, p = states(robot)
            runs = {
                "M": looped(robot.mass_matrix_batch, q),
                "h": looped(robot.bias_forces_batch, q, p),
                "forward": looped(
                    robot.forward_dynamics_batch, q, p, np.zeros((LOOP, len(robot.inputs)))
                ),
            }
            best = dict.fromkeys(runs, np.inf)
            for _ in range(ROUNDS):
                for name, run in runs.items():
                    best[name] = min(best[name], run())
        count = SEGMENTS * links
        counts.append(count)
        times.append(1e6 * (best["M"] + best["h"]))
        solved.append(1e6 * best["forward"])
        wanted = "<= 30 s" if count == 60 else ""
        rows += [
            Row(f"{count} links: M and h", times[-1], "us"),
            Row(f"{count} links: forward dynamics", 1e6 * best["forward"], "us"),
            Row(f"{count} links: compile M, h, forward dynamics", seconds, "s", wanted=wanted),
        ]
    for what, series in (("M and h", times), ("forward dynamics", solved)):
        slope, start = np.polyfit(counts, series, 1)
        off = max(abs(np.polyval((slope, start), counts) / series - 1))
        rows += [
            Row(f"{what}, a link (straight line)", slope, "us"),
            Row(f"{what}, before the first link (straight line)", start, "us"),
            Row(f"{what}: largest deviation from the line", 100 * off, "%"),
        ]
    return rows


def core(links: int, folder: Path) -> tuple[Any, float]:
    """A rat with the functions CORE alone, without contact, and the seconds of its compilation."""
    from bestiary import generated
    from bestiary.build_tools.cache import ObjectCache
    from bestiary.build_tools.compiler import compile_module
    from bestiary.build_tools.pipeline import emit
    from bestiary.modeling import poincare, select_functions
    from bestiary.modeling.animals.kangaroo_rat import kangaroo_rat_articulated

    os.environ["BESTIARY_CACHE_DIR"] = str(folder / "cache")
    equations = poincare(kangaroo_rat_articulated(SEGMENTS, links, contact=False))
    emission = emit(select_functions(equations, CORE))
    for place in ("robot", "work"):
        (folder / place).mkdir()
    start = _children()
    module = compile_module(
        emission.files, emission.kernels, emission.headers, folder / "work", ObjectCache.open(), 1
    )
    for name, text in emission.files.items():
        (folder / "robot" / name).write_text(text, encoding="utf-8")
    (folder / "robot" / module.path.name).write_bytes(module.path.read_bytes())
    return generated.load(folder / "robot", compiled=True), _children() - start


def _children() -> float:
    """Processor time of all finished child processes [s]."""
    times = os.times()
    return times.children_user + times.children_system


def states(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """Random states within the limits."""
    rng = np.random.default_rng(0)
    pairs = [robot.random_state(rng) for _ in range(LOOP)]
    return np.array([q for q, _ in pairs]), np.array([p for _, p in pairs])


def looped(call: Callable[..., Any], *arguments: np.ndarray) -> Callable[[], float]:
    """Seconds of one evaluation, in a loop inside C."""
    out = call(*arguments)

    def run() -> float:
        start = time.perf_counter()
        call(*arguments, out=out)
        return (time.perf_counter() - start) / LOOP

    return run


def mujoco_forward(links: int, solver: str, jacobian: str) -> Contestant:
    """One mj_forward of the chain with joint equalities."""
    import mujoco
    from mujoco_twin import MujocoTwin
    from rats import description

    spec = description(SEGMENTS, links)
    names = [v for e in spec.elements for v in e.velocities]
    twin = MujocoTwin(spec, names)
    owner: dict[str, str] = {}
    equalities = []
    for part in twin.parts:
        element, joint = part.element, part.names[0]
        coordinate = element.coordinates[0]
        if element.follower:
            equalities.append(f'<joint joint1="{joint}" joint2="{owner[coordinate]}"/>')
        elif element.kind == "revolute":
            owner[coordinate] = joint
    xml = twin.xml.replace('constraint="disable" energy="enable"', 'island="disable"').replace(
        "<option ", f'<option solver="{solver}" jacobian="{jacobian}" '
    )
    xml = xml.replace("</mujoco>", f"<equality>{''.join(equalities)}</equality></mujoco>")
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    assert model.neq == 2 * SEGMENTS * (links - 1)
    rng = np.random.default_rng(0)
    q, p = spec.random_state(0)
    for name in q:
        if name.startswith(("alpha", "beta")):
            q[name] = float(rng.uniform(-0.6, 0.6))
    twin._set(q, np.array([p[n] for n in names]))
    data.qpos[:], data.qvel[:] = twin.data.qpos, twin.data.qvel
    tiny = mujoco.MjModel.from_xml_string(
        '<mujoco><option><flag contact="disable" constraint="disable"/></option><worldbody><body>'
        '<joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    tiny_data = mujoco.MjData(tiny)

    return Contestant(
        [lambda: mujoco.mj_forward(model, data)], [lambda: mujoco.mj_forward(tiny, tiny_data)]
    )


PARTS = {"build": build, "long": long, "forward": forward, "growth": growth}


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; all by default")
    chosen = parser.parse_args().parts or list(PARTS)
    unknown = [c for c in chosen if c not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    print_table([row for part in chosen for row in PARTS[part]()], "articulated kangaroo rat")


if __name__ == "__main__":
    main()
