"""Speed and memory of the sea lion's equations, beside its peers, in one run.

    python benchmarks/dynamics.py            # prints a table with ratios

Peers: SymPy's KanesMethod (derivation), Pinocchio's and MuJoCo's Python wheels
(evaluation).  Everything runs on one core.  On both sides the functions are called
from Python into arrays that exist, and the time of the same call on a one-joint
robot is taken off, so that the wrapper counts on neither side.  Each figure is the
best of several rounds that alternate between the contestants, because such machines
are shared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "oracles"))

REPEATS = 100
ROUNDS = 40

ONE_JOINT = """
from bestiary.modeling import Model, Revolute


def robot():
    model = Model("one_joint")
    model.body("link", joint=Revolute("angle"), mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    model.actuate("angle_rate")
    return model
"""


@dataclass
class Row:
    """One line of the table: ours against a peer's, and the ratio that is asked for."""

    what: str
    ours: float
    unit: str
    peer: str = ""
    theirs: float | None = None
    wanted: str = ""

    def cells(self) -> list[str]:
        """Text of the line."""
        theirs = "" if self.theirs is None else f"{self.theirs:.3g} {self.unit}"
        ratio = "" if self.theirs is None else f"{self.theirs / self.ours:.1f}"
        return [self.what, f"{self.ours:.3g} {self.unit}", self.peer, theirs, ratio, self.wanted]


class Contestant:
    """Calls, and the same calls on a one-joint robot, whose time is taken off."""

    def __init__(
        self, calls: list[Callable[[], object]], empty: list[Callable[[], object]]
    ) -> None:
        self.calls, self.empty = calls, empty
        self._best = [np.inf] * (len(calls) + len(empty))

    def measure(self) -> None:
        """One more round; the shortest of each call counts."""
        for k, call in enumerate((*self.calls, *self.empty)):
            self._best[k] = min(self._best[k], _calls(call, REPEATS))

    @property
    def seconds(self) -> float:
        """Time of the work itself."""
        n = len(self.calls)
        return float(sum(self._best[:n]) - sum(self._best[n:]))


def derivation() -> list[Row]:
    """Derive and emit the sea lion; KanesMethod on the same tree."""
    code = (
        "import json, time\n"
        "from bestiary.build_tools.pipeline import emit\n"
        "from bestiary.modeling import poincare\n"
        "from bestiary.modeling.animals.sea_lion import sea_lion\n"
        "import bestiary.build_tools.backends.c, bestiary.build_tools.backends.cython\n"
        "best = []\n"
        "for _ in range(3):\n"
        "    t0 = time.perf_counter(); equations = poincare(sea_lion())\n"
        "    t1 = time.perf_counter(); emit(equations); t2 = time.perf_counter()\n"
        "    best.append((t2 - t0, t1 - t0))\n"
        "print(json.dumps(min(best)))\n"
    )
    total, derive = json.loads(_python("-c", code))
    kane = float(_python(str(HERE / "kane_sea_lion.py")).split(":")[1].split()[0])
    return [
        Row("derive all equations", derive, "s", "KanesMethod, M and forcing", kane, ">= 5"),
        Row("derive and emit (C f64 + f32, Cython)", total, "s", wanted="<= 2 s"),
        Row("derive and emit", total, "s", "KanesMethod, M and forcing", kane, ">= 5"),
    ]


def compilation() -> list[Row]:
    """Build the sea lion with an empty cache and one compiler at a time; then again."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "BESTIARY_CACHE_DIR": str(Path(folder) / "cache")}
        command = ("-m", "bestiary", "build", "sea_lion", "--json", "--out", f"{folder}/out")
        (result,) = json.loads(_python(*command, "--jobs", "1", environment=environment))
        again = []
        for _ in range(5):
            start = time.perf_counter()
            (fresh,) = json.loads(_python(*command, environment=environment))
            again.append(time.perf_counter() - start)
            assert fresh["status"] == "fresh"
    seconds = sum(o["seconds"] for o in result["objects"])
    peak = result["peak_bytes"] / 1e6
    return [
        Row("compile the whole robot, one core", seconds, "s", wanted="<= 30 s"),
        Row("largest compiler process", peak, "MB", wanted="<= 500 MB"),
        Row("unchanged build, interpreter included", min(again), "s", wanted="< 0.5 s"),
    ]


def evaluation() -> list[Row]:
    """Evaluate the equations at random states; Pinocchio and MuJoCo on the same robot."""
    import mujoco
    import pinocchio as pin
    from mujoco_twin import MujocoTwin
    from pinocchio_twin import PinocchioTwin
    from sea_lion_description import sea_lion_description

    import bestiary
    from bestiary import generated

    robot = generated.load("sea_lion", base="quaternion")
    if not robot.compiled:
        raise SystemExit("the sea lion is not compiled; run: bestiary build")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one_joint.py").write_text(ONE_JOINT)
        tiny_robot = bestiary.load(Path(folder) / "one_joint.py")
    rng = np.random.default_rng(0)
    n = len(robot.velocities)
    q = robot.random_state(rng)[0]
    p, p_dot = rng.normal(size=(2, n))
    u = rng.normal(size=len(robot.inputs))
    one = np.ones(1)

    def ours(function: str, *arguments: np.ndarray) -> Contestant:
        call, empty = getattr(robot, function), getattr(tiny_robot, function)
        tiny = [one] * len(arguments)
        out, tiny_out = call(*arguments), empty(*tiny)
        return Contestant([lambda: call(*arguments, out=out)], [lambda: empty(*tiny, out=tiny_out)])

    spec = sea_lion_description("quaternion")
    names = [c.name for c in robot.coordinates], [v.name for v in robot.velocities]
    twin = PinocchioTwin(spec, *names)
    model, data = twin.model, twin.data
    x, v, tau = pin.randomConfiguration(_bounded(model)), p, p_dot
    small = pin.buildSampleModelManipulator().__class__()
    small.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "joint")
    small.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
    small_data = small.createData()

    def pinocchio(function: Callable[..., object], *arguments: object) -> Contestant:
        tiny = [one] * len(arguments)
        return Contestant(
            [lambda: function(model, data, *arguments)],
            [lambda: function(small, small_data, *tiny)],
        )

    crba, matrix = pinocchio(pin.crba, x), pinocchio(pin.computeCoriolisMatrix, x, v)
    world = MujocoTwin(spec, names[1])
    world.data.qvel[:] = v
    tiny_world = mujoco.MjModel.from_xml_string(
        '<mujoco><option><flag contact="disable" constraint="disable"/></option><worldbody><body>'
        '<joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    tiny_data = mujoco.MjData(tiny_world)
    forward = Contestant(
        [lambda: mujoco.mj_forward(world.model, world.data)],
        [lambda: mujoco.mj_forward(tiny_world, tiny_data)],
    )

    both = Contestant(crba.calls + matrix.calls, crba.empty + matrix.empty)
    contests: list[tuple[str, Contestant, str, Contestant, str]] = [
        (
            "M, C and F together",
            ours("equations_of_motion", q, p),
            "crba + computeCoriolisMatrix",
            both,
            ">= 4",
        ),
        (
            "forward dynamics",
            ours("forward_dynamics", q, p, u),
            "Pinocchio aba",
            pinocchio(pin.aba, x, v, tau),
            ">= 2",
        ),
        (
            "forward dynamics",
            ours("forward_dynamics", q, p, u),
            "MuJoCo mj_forward",
            forward,
            ">= 2",
        ),
        (
            "inverse dynamics",
            ours("inverse_dynamics", q, p, p_dot),
            "Pinocchio rnea",
            pinocchio(pin.rnea, x, v, tau),
            "",
        ),
        ("mass matrix", ours("mass_matrix", q), "Pinocchio crba", crba, ""),
        ("Coriolis matrix", ours("coriolis_matrix", q, p), "computeCoriolisMatrix", matrix, ""),
    ]
    for _ in range(ROUNDS):
        for _, mine, _, peer, _ in contests:
            mine.measure()
            peer.measure()
    rows = [
        Row(what, 1e6 * mine.seconds, "us", name, 1e6 * peer.seconds, wanted)
        for what, mine, name, peer, wanted in contests
    ]
    call = min(_calls(lambda: robot.mass_matrix(q), REPEATS) for _ in range(ROUNDS))
    rows.append(Row("one Python call, all in (mass_matrix)", 1e6 * call, "us"))
    return rows


def _bounded(model: object) -> object:
    """Limits for free coordinates, which random configurations need."""
    model.lowerPositionLimit[:] = -1.0  # type: ignore[attr-defined]
    model.upperPositionLimit[:] = 1.0  # type: ignore[attr-defined]
    return model


def _calls(run: Callable[[], object], count: int = 500) -> float:
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def _python(*arguments: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)[:200]} failed:\n{done.stderr}")
    return done.stdout.strip().splitlines()[-1] if arguments[0] != "-m" else done.stdout


def print_table(rows: Sequence[Row], title: str = "sea lion, 20 degrees of freedom") -> None:
    """Print the lines as a table in Markdown."""
    head = [title, "Bestiary", "peer", "peer's", "ratio", "asked"]
    cells = [head, *(row.cells() for row in rows)]
    widths = [max(len(c[k]) for c in cells) for k in range(len(head))]
    for number, line in enumerate(cells):
        print("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")


PARTS = {"derivation": derivation, "compilation": compilation, "evaluation": evaluation}


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; all by default")
    chosen = parser.parse_args().parts or list(PARTS)
    unknown = [c for c in chosen if c not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    print_table([row for part in chosen for row in PARTS[part]()])


if __name__ == "__main__":
    main()
