"""A generated model as its manifest describes it, in the form that the robot needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .errors import GeneratedFolderError
from .quantities import Quantities, Quantity

FORMAT = 1
PARAMETERS = "parameters"

ACTUATED = frozenset({"forward_dynamics", "generalized_forces", "state_rates"})
"""Functions that take the inputs ``u``, also in robots that have none."""

NODE_KINDS = ("pose", "velocity", "jacobian")


@dataclass(frozen=True)
class OutputDescription:
    """Name, shape and meaning of an array that a function returns."""

    name: str
    shape: tuple[int, ...]
    description: str


@dataclass(frozen=True)
class FunctionDescription:
    """A function of the model: its arguments, outputs and guards."""

    name: str
    description: str
    arguments: tuple[str, ...]
    outputs: tuple[OutputDescription, ...]
    guards: tuple[str, ...]
    operations: Mapping[str, int]

    @property
    def takes_missing_inputs(self) -> bool:
        """Whether ``u`` may be given although the model has no inputs."""
        return self.name in ACTUATED and "u" not in self.arguments


@dataclass(frozen=True)
class LimitDescription:
    """Range of one coordinate, or of the length of several; ``places`` is where they stand in q.

    Limits that do not ``refuse`` are information.
    """

    coordinates: tuple[str, ...]
    places: tuple[int, ...]
    unit: str
    low: float | None
    high: float | None
    refuse: bool
    reason: str


class ModelDescription:
    """The manifest of a model, read.

    Raises
    ------
    GeneratedFolderError
        If the manifest has another format or lacks a key.
    """

    def __init__(self, manifest: Mapping[str, Any], where: str = "manifest") -> None:
        if manifest.get("format") != FORMAT:
            raise GeneratedFolderError(
                f"{where}: manifest format {manifest.get('format')!r}, expected {FORMAT}; "
                "build the model again"
            )
        try:
            self._read(manifest)
        except (KeyError, TypeError) as error:
            raise GeneratedFolderError(
                f"{where}: manifest lacks or garbles {error}; build the model again"
            ) from error

    def _read(self, manifest: Mapping[str, Any]) -> None:
        self.manifest = manifest
        self.name: str = manifest["name"]
        self.coordinates = Quantities(
            "coordinates", [Quantity(**entry) for entry in manifest["coordinates"]]
        )
        self.velocities = Quantities(
            "velocities", [Quantity(**entry) for entry in manifest["velocities"]]
        )
        self.inputs = Quantities("inputs", [Quantity(**entry) for entry in manifest["inputs"]])
        self.accelerations = Quantities(
            "accelerations",
            [Quantity(f"{v.name}_dot", _rate_unit(v.unit)) for v in self.velocities],
        )
        self.parameters: tuple[Mapping[str, Any], ...] = tuple(manifest["parameters"])
        self.variants: Mapping[str, Mapping[str, Any]] = manifest["variants"]
        self.program_sha256: str = manifest["program_sha256"]
        self.selection: tuple[str, ...] = tuple(manifest.get("selection", ()))
        self.left_out: tuple[str, ...] = tuple(manifest.get("left_out", ()))
        self.functions = {
            name: FunctionDescription(
                name,
                entry["description"],
                tuple(group for group in entry["inputs"] if group != PARAMETERS),
                tuple(
                    OutputDescription(o["name"], tuple(o["shape"]), o["description"])
                    for o in entry["outputs"]
                ),
                tuple(entry["guards"]),
                entry["operations"],
            )
            for name, entry in manifest["functions"].items()
        }
        order = {c.name: k for k, c in enumerate(self.coordinates)}
        self.limits: tuple[LimitDescription, ...] = tuple(
            LimitDescription(
                tuple(entry["coordinates"]),
                tuple(order[name] for name in entry["coordinates"]),
                *(entry[key] for key in ("unit", "low", "high", "refuse", "reason")),
            )
            for entry in manifest.get("limits", ())
        )
        self.nodes: tuple[str, ...] = tuple(
            node["name"]
            for node in manifest["nodes"]
            if all(f"{node['name']}_{kind}" in self.functions for kind in NODE_KINDS)
        )

    @cached_property
    def arguments(self) -> dict[str, Quantities]:
        """The quantities of each argument that a method may take."""
        groups = self.manifest.get("groups", {})
        return {
            **{n: Quantities(n, [Quantity(**e) for e in entries]) for n, entries in groups.items()},
            "q": self.coordinates,
            "p": self.velocities,
            "u": self.inputs,
            "p_dot": self.accelerations,
        }

    @cached_property
    def positive_parameters(self) -> frozenset[str]:
        """Parameters that mean nothing at 0 and below, such as a length of an arc."""
        return frozenset(e["name"] for e in self.parameters if e.get("positive", False))

    @cached_property
    def positive(self) -> frozenset[str]:
        """Arguments whose entries must be above zero: gains and limits of controllers."""
        controllers = self.manifest.get("controllers", {}).values()
        return frozenset(g for c in controllers for g in c["groups"][1:])

    @cached_property
    def node_functions(self) -> frozenset[str]:
        """Functions that are reached through ``node_pose`` and its sisters."""
        return frozenset(f"{n}_{k}" for n in self.nodes for k in NODE_KINDS) & set(self.functions)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Functions that are methods of the robot."""
        return tuple(name for name in self.functions if name not in self.node_functions)

    @cached_property
    def quaternions(self) -> tuple[slice, ...]:
        """Where in q the unit quaternions stand (scalar first)."""
        kinds = [c.kind for c in self.coordinates]
        found, k = [], 0
        while k < len(kinds):
            if kinds[k] == "quaternion":
                found.append(slice(k, k + 4))
                k += 4
            else:
                k += 1
        return tuple(found)

    def default_values(self, variant: str | None) -> dict[str, float]:
        """Parameter values of a variant that exists, or the defaults."""
        values = {entry["name"]: float(entry["default"]) for entry in self.parameters}
        if variant is not None:
            values.update({k: float(v) for k, v in self.variants[variant]["values"].items()})
        return values


def _rate_unit(unit: str) -> str:
    return f"{unit.removesuffix('/s')}/s^2" if unit.endswith("/s") else f"{unit}/s"
