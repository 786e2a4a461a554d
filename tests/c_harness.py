"""Compiles generated C in a temporary folder and calls it through ctypes."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bestiary.build_tools.backends.c import COptions, CSources, emit_c
from bestiary.modeling import EquationsOfMotion, Floating, Model, Prismatic, Revolute, poincare
from bestiary.modeling.program import Function, Program, evaluate

STRICT = (
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Wfloat-conversion "
    "-Wshadow -Wmissing-prototypes -Wundef -Wcast-qual -Wstrict-prototypes -Werror"
).split()

TYPES = {"f64": np.float64, "f32": np.float32}
C_TYPES = {"f64": ctypes.c_double, "f32": ctypes.c_float}


def run(command: Sequence[str], cwd: Path) -> str:
    """Output of a command; its messages are shown if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def write(sources: CSources, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources.files.items():
        (folder / name).write_text(text)


def compile_objects(
    folder: Path, names: Sequence[str], flags: Sequence[str] = ("-O0",), workers: int = 2
) -> list[Path]:
    """Object files of C files, compiled with every warning as an error."""

    def one(name: str) -> Path:
        run(["gcc", *STRICT, *flags, "-fPIC", "-c", name], folder)
        return folder / Path(name).with_suffix(".o").name

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, names))


@dataclass
class CLibrary:
    """Generated C of one model, compiled and loaded."""

    equations: EquationsOfMotion
    sources: CSources
    folder: Path
    objects: dict[str, list[Path]] = field(default_factory=dict)
    libraries: dict[str, ctypes.CDLL] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        equations: EquationsOfMotion,
        folder: Path,
        options: COptions | None = None,
        precisions: Sequence[str] = ("f64", "f32"),
        flags: Sequence[str] = ("-O0",),
    ) -> CLibrary:
        library = cls(equations, emit_c(equations, options), folder)
        write(library.sources, folder)
        for tag in precisions:
            defaults = [f for f in library.sources.defaults if f.endswith(".c")]
            names = [*library.sources.sources[tag], *defaults]
            objects = compile_objects(folder, names, flags)
            run(["gcc", "-shared", *map(str, objects), "-lm", "-o", f"lib_{tag}.so"], folder)
            library.objects[tag] = objects[: len(library.sources.sources[tag])]
            library.libraries[tag] = ctypes.CDLL(str(folder / f"lib_{tag}.so"))
        return library

    @property
    def program(self) -> Program:
        return self.equations.program

    def symbol(self, name: str, tag: str) -> Any:
        return getattr(self.libraries[tag], f"{self.equations.name}_{name}_{tag}")

    def call(
        self,
        name: str,
        inputs: Mapping[str, Sequence[float]],
        tag: str = "f64",
        skip: Sequence[str] = (),
    ) -> tuple[int, dict[str, np.ndarray]]:
        """Status and outputs of a function; outputs named in ``skip`` are passed as NULL."""
        function = self.program.functions[name]
        arrays = [np.array(inputs[g], dtype=TYPES[tag]) for g in function.inputs if self._has(g)]
        outputs = {
            o.name: np.full(o.size, np.nan, dtype=TYPES[tag])
            for o in function.outputs
            if o.name not in skip
        }
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
        pointers += [
            outputs[o.name].ctypes.data_as(ctypes.c_void_p) if o.name in outputs else None
            for o in function.outputs
        ]
        return self.symbol(name, tag)(*pointers), outputs

    def expected(
        self, name: str, inputs: Mapping[str, Sequence[float]], tag: str = "f64"
    ) -> dict[str, np.ndarray]:
        """The same by the interpreter, for inputs rounded to the precision."""
        rounded = {
            g: [float(TYPES[tag](v)) for v in values]
            for g, values in inputs.items()
            if self._has(g)
        }
        return {k: np.array(v) for k, v in evaluate(self.program, name, rounded).items()}

    def rollout_rk4(
        self, inputs: Mapping[str, Any], u: Any, steps: int, dt: float, tag: str = "f64"
    ) -> tuple[int, np.ndarray, np.ndarray]:
        kind, real = TYPES[tag], C_TYPES[tag]
        q, p = self._rows(steps + 1, tag)
        arguments = self._start(inputs, tag)
        if self._has("u"):
            arguments.append(None if u is None else np.array(u, dtype=kind))
        pointers = [_pointer(a) for a in arguments]
        status = self.symbol("rollout_rk4", tag)(
            *pointers, ctypes.c_int(steps), real(dt), _pointer(q), _pointer(p)
        )
        return status, q, p

    def rollout_dopri5(
        self,
        inputs: Mapping[str, Any],
        times: Sequence[float],
        u: Any = None,
        rtol: float = 1e-9,
        atol: float = 1e-9,
        max_steps: int = 100_000,
        tag: str = "f64",
    ) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        kind, real = TYPES[tag], C_TYPES[tag]
        q, p = self._rows(len(times), tag)
        statistics = np.zeros(3, dtype=np.intc)
        arguments = [*self._start(inputs, tag), np.array(times, dtype=kind)]
        if self._has("u"):
            arguments.append(None if u is None else np.array(u, dtype=kind))
        pointers = [_pointer(a) for a in arguments]
        status = self.symbol("rollout_dopri5", tag)(
            *pointers,
            ctypes.c_int(len(times)),
            real(rtol),
            real(atol),
            ctypes.c_int(max_steps),
            _pointer(q),
            _pointer(p),
            _pointer(statistics),
        )
        return status, q, p, statistics

    def _has(self, group: str) -> bool:
        return any(g.name == group and g.symbols for g in self.program.groups)

    def _rows(self, count: int, tag: str) -> tuple[np.ndarray, np.ndarray]:
        sizes = [len(self.program.group(g).symbols) for g in ("q", "p")]
        q, p = (np.full((count, n), -77.0, dtype=TYPES[tag]) for n in sizes)
        return q, p

    def _start(self, inputs: Mapping[str, Any], tag: str) -> list[Any]:
        names = [n for n in ("parameters", "q", "p") if self._has(n)]
        return [np.array(inputs[n], dtype=TYPES[tag]) for n in names]


def _pointer(array: np.ndarray | None) -> Any:
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


def random_inputs(
    equations: EquationsOfMotion, rng: np.random.Generator, variant: str | None = None
) -> dict[str, list[float]]:
    """A random state with unit quaternions, random inputs and the model's parameters."""
    program = equations.program
    found = {}
    for group in program.groups:
        if group.is_struct:
            values = equations.values(variant)
            found[group.name] = [values[s.name] for s in group.symbols]
        else:
            found[group.name] = list(rng.uniform(-1.2, 1.2, len(group.symbols)))
    starts = [k for k, c in enumerate(equations.coordinates) if c.kind == "quaternion"][::4]
    for k in starts:
        norm = np.linalg.norm(found["q"][k : k + 4])
        found["q"][k : k + 4] = [v / norm for v in found["q"][k : k + 4]]
    return found


def worst_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference against the largest entry (or against 1 for small arrays)."""
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return float(np.max(np.abs(found - expected), initial=0.0)) / scale


def functions(equations: EquationsOfMotion) -> tuple[Function, ...]:
    return tuple(equations.program.functions.values())


# -- small robots -------------------------------------------------------------
def double_pendulum(name: str = "pendulum", actuated: bool = True) -> EquationsOfMotion:
    model = Model(name, gravity=9.81, title="Double pendulum", source="any textbook")
    upper = model.body(
        "upper", joint=Revolute("shoulder", "y"), mass=1.3, com=(0, 0, -0.4),
        inertia=(0.02, 0.03, 0.01),
    )  # fmt: skip
    model.body(
        "lower", parent=upper, joint=Revolute("elbow", "y"), at=(0, 0, -0.8), mass=0.7,
        com=(0.01, 0, -0.3), inertia=(0.01, 0.012, 0.004),
    )  # fmt: skip
    model.spring("elbow", 0.5, 0.1)
    model.damper("shoulder_rate", 0.05)
    if actuated:
        model.actuate("shoulder_rate", "elbow_rate")
    model.variant("heavy", {"lower_mass": 2.5, "upper_com_z": -0.45}, note="a loaded hand")
    return poincare(model)


def floating_arm(base: str = "quaternion", name: str = "floater") -> EquationsOfMotion:
    model = Model(name, gravity=9.81, title="Floating body with an arm")
    body = model.body(
        "base", joint=Floating(base), mass=3, com=(0.1, 0.02, -0.03),
        inertia=(0.1, 0.2, 0.25, 0.01, 0.02, -0.01),
    )  # fmt: skip
    arm = model.body(
        "arm", parent=body, joint=Revolute("arm", (1, 2, 3)), at=(0.3, 0.1, 0.2), mass=1.2,
        com=(0.2, 0.1, 0), inertia=(0.01, 0.02, 0.025),
    )  # fmt: skip
    model.body(
        "slide", parent=arm, joint=Prismatic("slide", "x"), at=(0.3, 0, 0.1),
        orientation=(0.3, 0.2, 0.1), mass=0.7, com=(0, 0, 0.1), inertia=(0.01, 0.01, 0.01),
    )  # fmt: skip
    model.spring("slide", 40.0)
    model.damper("slide_rate", 1.5)
    model.actuate("arm_rate", "slide_rate")
    return poincare(model)


ROBOTS = {
    "pendulum": double_pendulum,
    "passive": lambda: double_pendulum("passive", actuated=False),
    "floater": floating_arm,
    "euler": lambda: floating_arm("euler_zyx", "euler"),
}

_FOLDER = tempfile.TemporaryDirectory(prefix="bestiary-c-")


@functools.cache
def robot_library(name: str) -> CLibrary:
    """One of the small robots, compiled once per session."""
    return CLibrary.build(ROBOTS[name](), Path(_FOLDER.name) / name)


@functools.cache
def sea_lion_library() -> CLibrary:
    """The sea lion, compiled once per session with every warning as an error."""
    from bestiary.modeling.animals.sea_lion import sea_lion

    equations = poincare(sea_lion())
    return CLibrary.build(equations, Path(_FOLDER.name) / "sea_lion", flags=("-O1",))
