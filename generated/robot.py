"""A loaded robot: named quantities, parameters, and the functions of its equations.

Conventions: q̇ = V(q) p and M ṗ + C(q, p) p + F(q) = Q(q, p, u).  Arrays are
float64 and C-contiguous, in the order of ``robot.coordinates``,
``robot.velocities`` and ``robot.inputs``; twists are (ω, v) and wrenches
(moment, force); SI units, radians.  The functions themselves live in the
*kernel* that a robot's class also derives from: the compiled one or its NumPy
twin, which behave alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .batch import Batches
from .checks import Checker, missing_function
from .description import LimitDescription, ModelDescription
from .errors import (
    GeneratedFolderError,
    MissingFunctionError,
    ModelInputError,
    SingularityError,
    suggestion,
)
from .quantities import Meta, Parameters, Quantities, html_table, text_table
from .rollouts import Rollouts

if TYPE_CHECKING:
    from pathlib import Path

    from bestiary.modeling.program import Program

    from .batch import Array
    from .folder import ModelFolder

Values: TypeAlias = NDArray[np.float64]

STATUS_SINGULAR = 1


class Robot(Batches, Rollouts):
    """A robot with the parameters of one variant, perhaps changed; immutable.

    Made by :func:`bestiary.generated.load`.  All functions take any float64
    array-like of the right length, release the GIL while they compute, and
    accept ``out=`` (float64, C-contiguous, right shape; a tuple where they
    return several arrays).  ``u=None`` means that no input acts.

    Raises
    ------
    ModelInputError
        By every function, for an argument of a wrong shape, type or value.
    SingularityError
        By every function, at a state where its value does not exist.
    """

    _model: ClassVar[ModelDescription]
    _folder: ClassVar[ModelFolder]
    _checker: ClassVar[Checker]
    _order: ClassVar[tuple[str, ...]]  # functions in the order of the kernel
    _compiled: ClassVar[bool]

    def __init__(
        self, values: Mapping[str, float] | None = None, variant: str | None = None
    ) -> None:
        super().__init__()
        full = self._model.default_values(variant)
        full.update(values or {})
        self._variant = variant
        self._parameters = Parameters(self._model.parameters, full)
        self._vector = np.array(list(self._parameters.values()), dtype=np.float64)
        self._vector.setflags(write=False)
        self._casadi_functions: dict[tuple[str, str], Any] = {}
        self._set_parameters(self._vector)

    def __getattr__(self, name: str) -> Any:
        """Say which build has a function that this one was built without."""
        function = name.removesuffix("_batch")
        if not name.startswith("_") and function in type(self)._model.left_out:
            raise MissingFunctionError(
                missing_function(self._model, f"{self._model.name}.{name}", function)
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- names and values -------------------------------------------------
    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    @property
    def coordinates(self) -> Quantities:
        """Generalized coordinates q, in order."""
        return self._model.coordinates

    @property
    def velocities(self) -> Quantities:
        """Quasi-velocities p, in order."""
        return self._model.velocities

    @property
    def inputs(self) -> Quantities:
        """Inputs u, in order."""
        return self._model.inputs

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes: frames whose pose, velocity and Jacobian can be asked."""
        return self._model.nodes

    @property
    def controllers(self) -> Mapping[str, Mapping[str, Any]]:
        """Controllers by name: their function, its kind, tracked coordinates and inputs."""
        found: Mapping[str, Mapping[str, Any]] = self._model.manifest.get("controllers", {})
        return found

    @property
    def limits(self) -> tuple[LimitDescription, ...]:
        """Limits of coordinates; arguments outside those that ``refuse`` are errors."""
        return self._model.limits

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions that are methods of the robot."""
        return self._model.methods

    @property
    def parameters(self) -> Parameters:
        """Parameter values by name, with units and sources."""
        return self._parameters

    @property
    def variant(self) -> str | None:
        """The named set of values the robot was loaded with; None for the defaults."""
        return self._variant

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants that the model knows."""
        return tuple(self._model.variants)

    @property
    def compiled(self) -> bool:
        """Whether the functions run in C (else in NumPy)."""
        return self._compiled

    @property
    def folder(self) -> Path:
        """The generated folder: C sources, manifest and program."""
        return self._folder.path

    @property
    def program(self) -> Program:
        """The straight-line program behind all functions (read on first use)."""
        return self._folder.program

    @property
    def meta(self) -> Meta:
        """Sizes, operation counts, hash, compiler and whatever else is known of the robot."""
        manifest = self._model.manifest
        stamp = self._folder.stamp if self._compiled else {}
        return Meta(
            {
                "name": self.name,
                **{k: manifest[k] for k in ("title", "source", "formalism", "up")},
                "options": manifest["options"],
                "selection": list(self._model.selection),
                "variant": self._variant,
                "sizes": {
                    "coordinates": len(self.coordinates),
                    "velocities": len(self.velocities),
                    "inputs": len(self.inputs),
                    "parameters": len(self._parameters),
                    "nodes": len(self.nodes),
                },
                "units": {
                    q.name: q.unit for q in (*self.coordinates, *self.velocities, *self.inputs)
                },
                "operations": {
                    name: sum(f.operations.values()) for name, f in self._model.functions.items()
                },
                "nodes": manifest["nodes"],
                "contacts": manifest.get("contacts", []),
                "program_sha256": manifest["program_sha256"],
                "generator_version": manifest["generator_version"],
                "compiled": self._compiled,
                "compiler": stamp.get("compiler"),
                "flags": stamp.get("flags"),
                "folder": str(self.folder),
            }
        )

    def with_parameters(self, **values: float) -> Robot:
        """The same robot with other parameter values; nothing is compiled.

        Raises
        ------
        ModelInputError
            For an unknown name (the closest one is suggested), a value that is
            not a finite number, or one not above 0 where it must be positive.
        """
        changed = dict(self._parameters)
        for name, value in values.items():
            if name not in changed:
                raise ModelInputError(
                    f"{self.name}.with_parameters: no parameter {name!r}"
                    f"{suggestion(name, changed)} (see robot.parameters)"
                )
            label = f"{self.name}.with_parameters: {name}"
            changed[name] = _finite_number(value, label)
            if name in self._model.positive_parameters and not changed[name] > 0:
                raise ModelInputError(f"{label} must be positive, got {changed[name]:g}")
        return type(self)(changed, self._variant)

    def with_variant(self, variant: str | None) -> Robot:
        """The robot with the values of a variant, or with the defaults for None."""
        return type(self)(None, known_variant(self._model, variant))

    # -- states -----------------------------------------------------------
    @property
    def neutral(self) -> Values:
        """Coordinates of the neutral pose: zeros, quaternions (1, 0, 0, 0)."""
        q = np.zeros(len(self.coordinates))
        for place in self._model.quaternions:
            q[place.start] = 1.0
        return q

    def random_state(self, rng: np.random.Generator | int | None = None) -> tuple[Values, Values]:
        """A state for tests: angles within ±π, other coordinates within ±1, p normal.

        Coordinates with limits (see :attr:`limits`) are kept within them.

        Parameters
        ----------
        rng:
            A NumPy generator, a seed, or None for a random seed.

        Returns
        -------
        (q, p)
            Coordinates, with quaternions of unit length, and quasi-velocities.
        """
        generator = np.random.default_rng(rng)
        q = generator.uniform(-1.0, 1.0, len(self.coordinates))
        for k, coordinate in enumerate(self.coordinates):
            if coordinate.kind == "angle":
                q[k] *= np.pi
        for limit in self._model.limits:
            _bring_within(q, limit)
        for place in self._model.quaternions:
            quaternion = generator.normal(size=4)
            q[place] = quaternion / np.linalg.norm(quaternion)
        return q, generator.normal(size=len(self.velocities))

    # -- symbols ----------------------------------------------------------
    def casadi(self, function: str, parameters: str = "fixed") -> Any:
        """A function of the robot as a ``casadi.Function`` with the same numbers.

        Parameters
        ----------
        function:
            A method's name, or ``<node>_pose``, ``<node>_velocity``, ``<node>_jacobian``.
        parameters:
            ``"fixed"``: this robot's values are built in.  ``"symbolic"``: they
            become one last input ``parameters``, in the order of ``robot.parameters``.

        Raises
        ------
        ModelInputError
            If there is no such function.
        ImportError
            If CasADi is not installed.
        """
        if function in self._model.left_out:
            raise MissingFunctionError(
                missing_function(self._model, f"{self.name}.casadi", function)
            )
        if function not in self._model.functions:
            raise ModelInputError(
                f"{self.name}.casadi: no function {function!r}"
                f"{suggestion(function, self._model.functions)}"
            )
        if parameters not in ("fixed", "symbolic"):
            raise ModelInputError(
                f"{self.name}.casadi: parameters must be 'fixed' or 'symbolic', got {parameters!r}"
            )
        key = (function, parameters)
        if key not in self._casadi_functions:
            from bestiary.build_tools.backends.casadi import casadi_function

            fixed = dict(self._parameters) if parameters == "fixed" else None
            self._casadi_functions[key] = casadi_function(self.program, function, fixed)
        return self._casadi_functions[key]

    # -- what the kernels call ----------------------------------------------
    def _input(self, index: int, position: int, value: object) -> Array:
        function = self._model.functions[self._order[index]]
        argument = function.arguments[position]
        return self._checker.vector(self._called(function.name), argument, value)

    def _no_inputs(self, index: int, value: object) -> None:
        self._checker.absent_inputs(self._order[index], value)

    def _target(self, index: int, position: int, out: object) -> Array:
        function = self._model.functions[self._order[index]]
        return self._checker.output(function, position, out, (), self._called(function.name))

    def _targets(self, index: int, out: object) -> tuple[Array, ...]:
        function = self._model.functions[self._order[index]]
        return self._checker.outputs(function, out, (), self._called(function.name))

    def _overlap(self, index: int, inputs: tuple[Array, ...], outputs: tuple[Array, ...]) -> None:
        function = self._model.functions[self._order[index]]
        named = dict(zip(function.arguments, inputs, strict=True))
        self._checker.no_overlap(self._called(function.name), named, outputs)

    def _node(self, kind: str, name: object) -> str:
        return f"{self._checker.node(f'node_{kind}', name)}_{kind}"

    def _world_axes(self, kind: str, name: str, q: ArrayLike, frame: object, body: Array) -> Array:
        """Turn both blocks of a twist or Jacobian from node to world axes, in place."""
        if self._checker.frame(f"node_{kind}", frame):
            rotation = self.node_pose(name, q)[:3, :3]
            body[:3] = rotation @ body[:3]
            body[3:] = rotation @ body[3:]
        return body

    def _failure(self, index: int, status: int, inputs: tuple[Any, ...], where: str = "") -> None:
        """Raise what a non-zero status of a function means; always raises."""
        name = self._order[index]
        title = f"{self.name}.{self._called(name)}{where}"
        if status != STATUS_SINGULAR:
            raise SingularityError(f"{title}: the result is not finite")
        raise SingularityError(f"{title}: {self._violated(name, inputs)}")

    def _violated(self, name: str, inputs: tuple[Any, ...]) -> str:
        """The message of the first guard of a function that does not hold."""
        messages = self._model.functions[name].guards
        if len(messages) == 1:
            return messages[0]
        try:
            function = self._folder.numpy_function(name)
        except GeneratedFolderError:
            return "one of: " + "; ".join(messages)
        arguments = dict(zip(self._model.functions[name].arguments, inputs, strict=True))
        values = function.guard_values(
            [
                self._vector if g.name == "parameters" else np.asarray(arguments[g.name])
                for g in function.groups
            ]
        )
        failed = [m for m, v in zip(messages, values, strict=True) if not v > 0]
        # Between two rows of a rollout the last row may still be good: name the closest guard.
        return failed[0] if failed else messages[int(np.argmin(values))]

    def _called(self, function: str) -> str:
        """How the user called a function: node functions are reached through ``node_…``."""
        if function not in self._model.node_functions:
            return function
        return f"node_{function.rpartition('_')[2]}({function.rpartition('_')[0]!r})"

    # -- printing, copying --------------------------------------------------
    def _facts(self) -> list[tuple[str, str]]:
        changed = self._parameters.changed
        base = self._model.default_values(self._variant)
        own = {n: v for n, v in changed.items() if v != base[n]}
        variant = self._variant or "defaults"
        if own:
            variant += ", " + ", ".join(f"{n}={v:g}" for n, v in list(own.items())[:5])
            variant += f" and {len(own) - 5} more" if len(own) > 5 else ""
        operations, m = self.meta["operations"], self._model
        return [
            ("coordinates", f"{len(self.coordinates)}: {_short(self.coordinates.names)}"),
            ("velocities", f"{len(self.velocities)}: {_short(self.velocities.names)}"),
            ("inputs", f"{len(self.inputs)}: {_short(self.inputs.names)}"),
            ("parameters", f"{len(self._parameters)} ({variant})"),
            ("nodes", f"{len(self.nodes)}: {_short(self.nodes)}"),
            *([("functions", f"{', '.join(m.selection)} only")] if m.selection else []),
            (
                "operations",
                ", ".join(
                    f"{n} {operations[n]}"
                    for n in ("mass_matrix", "coriolis_matrix", "forward_dynamics")
                    if n in operations
                ),
            ),
            ("runs in", "compiled C" if self._compiled else "NumPy (not compiled)"),
        ]

    def __repr__(self) -> str:
        title = self._model.manifest["title"]
        head = f"Robot {self.name}" + (f": {title}" if title else "")
        return head + "\n" + text_table(("", ""), [(f"  {k}", v) for k, v in self._facts()])

    def _repr_html_(self) -> str:
        title = f"{self.name}: {self._model.manifest['title']}"
        table = html_table(("", ""), [("robot", title), *self._facts()])
        return table

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        from . import restore

        own = dict(self._parameters.items())  # all: a rebuilt model may have other defaults
        where, digest = self._folder.reference, self._model.program_sha256
        return restore, (where, self._variant, own, digest, self._compiled)

    if TYPE_CHECKING:  # the kernel has these; see ``_kernel.pyi`` of each model

        def _set_parameters(self, values: Values) -> None: ...
        def velocity_map(self, q: ArrayLike, *, out: Values | None = None) -> Values: ...
        def rate_map(self, q: ArrayLike, *, out: Values | None = None) -> Values: ...
        def coordinate_rates(
            self, q: ArrayLike, p: ArrayLike, *, out: Values | None = None
        ) -> Values: ...
        def mass_matrix(self, q: ArrayLike, *, out: Values | None = None) -> Values: ...
        def coriolis_matrix(
            self, q: ArrayLike, p: ArrayLike, *, out: Values | None = None
        ) -> Values: ...
        def force_vector(self, q: ArrayLike, *, out: Values | None = None) -> Values: ...
        def equations_of_motion(
            self, q: ArrayLike, p: ArrayLike, *, out: tuple[Values | None, ...] | None = None
        ) -> tuple[Values, Values, Values]: ...
        def bias_forces(
            self, q: ArrayLike, p: ArrayLike, *, out: Values | None = None
        ) -> Values: ...
        def generalized_forces(
            self,
            q: ArrayLike,
            p: ArrayLike,
            u: ArrayLike | None = None,
            *,
            out: Values | None = None,
        ) -> Values: ...
        def input_matrix(self, q: ArrayLike, *, out: Values | None = None) -> Values: ...
        def inverse_dynamics(
            self, q: ArrayLike, p: ArrayLike, p_dot: ArrayLike, *, out: Values | None = None
        ) -> Values: ...
        def forward_dynamics(
            self,
            q: ArrayLike,
            p: ArrayLike,
            u: ArrayLike | None = None,
            *,
            out: Values | None = None,
        ) -> Values: ...
        def state_rates(
            self,
            q: ArrayLike,
            p: ArrayLike,
            u: ArrayLike | None = None,
            *,
            out: tuple[Values | None, ...] | None = None,
        ) -> tuple[Values, Values]: ...
        def kinetic_energy(self, q: ArrayLike, p: ArrayLike) -> float: ...
        def potential_energy(self, q: ArrayLike) -> float: ...
        def momentum(self, q: ArrayLike, p: ArrayLike, *, out: Values | None = None) -> Values: ...
        def center_of_mass(self, q: ArrayLike, *, out: Values | None = None) -> Values: ...
        def node_pose(self, name: str, q: ArrayLike, *, out: Values | None = None) -> Values: ...
        def node_velocity(
            self,
            name: str,
            q: ArrayLike,
            p: ArrayLike,
            frame: str = "body",
            *,
            out: Values | None = None,
        ) -> Values: ...
        def node_jacobian(
            self, name: str, q: ArrayLike, frame: str = "body", *, out: Values | None = None
        ) -> Values: ...


def known_variant(model: ModelDescription, variant: str | None) -> str | None:
    """The variant's name if the model has it.

    Raises
    ------
    ModelInputError
        Otherwise; the closest one is suggested and all are listed.
    """
    if variant is not None and variant not in model.variants:
        raise ModelInputError(
            f"{model.name}: no variant {variant!r}{suggestion(variant, model.variants)} "
            f"(variants: {', '.join(model.variants) or 'none'})"
        )
    return variant


def _bring_within(q: Values, limit: LimitDescription) -> None:
    """Fold coordinates into a limit, in place."""
    places = list(limit.places)
    if len(places) > 1:
        assert limit.high is not None
        size = float(np.linalg.norm(q[places]))
        if size > limit.high:
            q[places] *= size % limit.high / size
    elif limit.low is not None and limit.high is not None:
        if not limit.low <= q[places[0]] <= limit.high:
            q[places[0]] = limit.low + (q[places[0]] - limit.low) % (limit.high - limit.low)
    else:
        q[places[0]] = np.clip(q[places[0]], limit.low, limit.high)


def _finite_number(value: Any, label: str) -> float:
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ModelInputError(f"{label} must be a number, got {value!r}") from None
    if not np.isfinite(number):
        raise ModelInputError(f"{label} must be finite, got {number}")
    return number


def _short(names: tuple[str, ...], limit: int = 8) -> str:
    if len(names) <= limit:
        return ", ".join(names) or "none"
    return ", ".join(names[: limit - 2]) + f", … {names[-1]}"
