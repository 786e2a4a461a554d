"""What the commands know of a robot: its manifest and equations, read or derived in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestiary.build_tools.errors import TargetError
from bestiary.build_tools.freshness import Freshness, freshness, known_builds
from bestiary.build_tools.locations import cached_models, robot_folders
from bestiary.build_tools.pipeline import MANIFEST, PROGRAM, emit
from bestiary.build_tools.targets import Target, derive, parse_target
from bestiary.build_tools.user_file import closest
from bestiary.modeling.animals import BUILT_IN

if TYPE_CHECKING:
    from bestiary.modeling import EquationsOfMotion


@dataclass(frozen=True)
class Robot:
    """A robot's manifest, and its texts by file name."""

    manifest: Mapping[str, Any]
    files: Mapping[str, str]
    folder: Path | None = None

    @property
    def name(self) -> str:
        """Name of the model."""
        return str(self.manifest["name"])

    @cached_property
    def equations(self) -> EquationsOfMotion:
        """The equations, put together again from the manifest and the program."""
        from bestiary.modeling.equations import EquationsOfMotion, NodeInfo
        from bestiary.modeling.parts import Input, Parameter
        from bestiary.modeling.program import Program
        from bestiary.modeling.realised import Coordinate

        m = self.manifest
        return EquationsOfMotion(
            name=m["name"],
            formalism=m["formalism"],
            program=Program.from_json(self.files[PROGRAM]),
            coordinates=tuple(Coordinate(**c) for c in m["coordinates"]),
            velocities=tuple(Coordinate(**v) for v in m["velocities"]),
            inputs=tuple(Input(**i) for i in m["inputs"]),
            parameters=tuple(Parameter(**p) for p in m["parameters"]),
            variants={k: v["values"] for k, v in m["variants"].items()},
            variant_notes={k: v["note"] for k, v in m["variants"].items()},
            nodes=tuple(NodeInfo(**n) for n in m["nodes"]),
            title=m["title"],
            source=m["source"],
            up=m["up"],
            options=m["options"],
            selection=tuple(m.get("selection", ())),
            left_out=tuple(m.get("left_out", ())),
        )

    def operations(self, function: str) -> int | None:
        """Operations of a function, or None if the robot does not have it."""
        found = self.manifest["functions"].get(function)
        return sum(found["operations"].values()) if found is not None else None


def find_robot(text: str, options: Mapping[str, Any], functions: Sequence[str] = ()) -> Robot:
    """The robot of a name or model file: as it was built, or derived in memory.

    A user's model file is always derived anew.

    Raises
    ------
    TargetError
        If there is no such robot, or its model is bad.
    """
    if not text.endswith(".py"):
        for folder in robot_folders(text, options, functions):
            robot = _read(folder)
            current = text not in BUILT_IN or _is_current(text, options, functions)
            if robot is not None and current:
                return robot
    if text not in BUILT_IN and not Path(text).is_file():
        known = [*BUILT_IN, *cached_names()]
        raise TargetError(
            f"there is no robot {text!r}{closest(text, known)}; have {', '.join(known)}"
        )
    emission = emit(derive(parse_target(text, options, functions)).equations)
    return Robot(json.loads(emission.files[MANIFEST]), emission.files)


def _is_current(text: str, options: Mapping[str, Any], functions: Sequence[str]) -> bool:
    """Whether the files of a built-in robot are not known to be out of date."""
    state = freshness(parse_target(text, options, functions))
    return state.is_fresh or not state.reason.endswith("changed")


def _read(folder: Path) -> Robot | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        names = [
            *(n for sources in manifest["sources"].values() for n in sources),
            *(manifest["header"], *manifest["defaults"], PROGRAM),
        ]
        files = {n: (folder / n).read_text(encoding="utf-8") for n in names}
        for extra in ("README.md", "CMakeLists.txt"):
            if (folder / extra).exists():
                files[extra] = (folder / extra).read_text(encoding="utf-8")
        return Robot(manifest, files, folder)
    except (OSError, ValueError, KeyError):
        return None


def cached_names() -> list[str]:
    """Folder names of the robots in the user's cache."""
    return sorted(p.parent.name for p in cached_models().glob(f"*/{MANIFEST}"))


@dataclass(frozen=True)
class Entry:
    """A line of ``bestiary list``: a target and its state."""

    target: Target
    state: Freshness
    robot: Robot | None
    out: Path | None = None


def all_robots() -> list[Entry]:
    """Every built-in robot, and every other one with a record of its build."""
    wanted: list[tuple[Target, Path | None]] = [(Target(label), None) for label in BUILT_IN]
    wanted += [(t, out) for _, t, out in known_builds() if (t, out) not in wanted]
    entries = []
    for target, out in wanted:
        state = freshness(target, out)
        if target.label not in BUILT_IN and state.folder is None:
            continue
        folder = state.folder
        robot = _read(folder) if folder is not None else None
        entries.append(Entry(target, state, robot, out))
    return entries
