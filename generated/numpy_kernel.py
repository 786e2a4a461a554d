"""The NumPy form of a kernel: the same methods as the compiled one, over ``program.json``.

Slower by two orders of magnitude for single states and the same in every
other respect: names, shapes, errors, numbers to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .description import FunctionDescription, ModelDescription
from .integrators import dopri5, rk4

if TYPE_CHECKING:
    from .folder import ModelFolder

Array: TypeAlias = NDArray[np.float64]


class NumpyKernel:
    """Base of the NumPy kernels; one subclass a model is made by :func:`numpy_kernel`."""

    _folder: ClassVar[ModelFolder]
    _model: ClassVar[ModelDescription]
    _order: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:
        _input: Any
        _no_inputs: Any
        _targets: Any
        _overlap: Any
        _failure: Any
        _node: Any
        _world_axes: Any

    def _set_parameters(self, values: Array) -> None:
        self._parameter_vector = values

    def _arguments(self, name: str, inputs: Sequence[Array]) -> tuple[Any, list[Array]]:
        """The NumPy function of a name, and its inputs with the parameters in place."""
        function = self._folder.numpy_function(name)
        given = iter(inputs)
        groups = (g.name for g in function.groups)
        return function, [
            self._parameter_vector if g == "parameters" else next(given) for g in groups
        ]

    def _call(self, name: str, values: tuple[Any, ...], out: Any) -> Any:
        index = self._order.index(name)
        inputs = tuple(self._input(index, k, value) for k, value in enumerate(values))
        outputs = self._targets(index, out)
        if out is not None:
            self._overlap(index, inputs, outputs)
        function, arguments = self._arguments(name, inputs)
        status = function.run(arguments, outputs)
        if status:
            self._failure(index, status, inputs)
        if len(outputs) > 1:
            return outputs
        return float(outputs[0]) if out is None and not outputs[0].ndim else outputs[0]

    def _batch(
        self,
        index: int,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        start: int,
        stop: int,
    ) -> tuple[int, int]:
        function, arguments = self._arguments(self._order[index], inputs)
        result: tuple[int, int] = function.run_batch(arguments, outputs, start, stop)
        return result

    def _state_rates(self, q: Array, p: Array, u: Array) -> tuple[int, Array, Array]:
        names = self._model.functions["state_rates"].arguments
        function, arguments = self._arguments("state_rates", (q, p, u)[: len(names)])
        q_dot, p_dot = np.empty(q.size), np.empty(p.size)
        return function.run(arguments, (q_dot, p_dot)), q_dot, p_dot

    def _rollout_rk4(
        self, q0: Array, p0: Array, u: Array | None, steps: int, dt: float, q: Array, p: Array
    ) -> int:
        held = u if u is not None else np.zeros((steps, len(self._model.inputs)))
        return rk4(self._state_rates, q0, p0, held, dt, q, p, self._model.quaternions)

    def _rollout_dopri5(
        self,
        q0: Array,
        p0: Array,
        times: Array,
        u: Array | None,
        rtol: float,
        atol: float,
        max_steps: int,
        q: Array,
        p: Array,
        counts: NDArray[np.intc],
    ) -> int:
        held = u if u is not None else np.zeros((times.size, len(self._model.inputs)))
        return dopri5(
            self._state_rates,
            q0,
            p0,
            times,
            held,
            (rtol, atol, max_steps),
            q,
            p,
            counts,
            self._model.quaternions,
        )

    def node_pose(self, name: str, q: Any, *, out: Any = None) -> Any:
        """Pose of a node in the world, 4x4 homogeneous."""
        return self._call(self._node("pose", name), (q,), out)

    def node_velocity(
        self, name: str, q: Any, p: Any, frame: str = "body", *, out: Any = None
    ) -> Any:
        """Twist (omega, v) of a node in body or world axes, shape (6,)."""
        result = self._call(self._node("velocity", name), (q, p), out)
        return result if frame == "body" else self._world_axes("velocity", name, q, frame, result)

    def node_jacobian(self, name: str, q: Any, frame: str = "body", *, out: Any = None) -> Any:
        """Jacobian of a node, (omega, v) = J p, in body or world axes, shape (6, NP)."""
        result = self._call(self._node("jacobian", name), (q,), out)
        return result if frame == "body" else self._world_axes("jacobian", name, q, frame, result)


def numpy_kernel(folder: ModelFolder) -> type[NumpyKernel]:
    """Kernel class of a model in its NumPy form."""
    model = folder.model
    methods = {name: _method(model.functions[name]) for name in model.methods}
    return type("NumpyKernel", (NumpyKernel,), {"_folder": folder, **methods})


def _method(function: FunctionDescription) -> Any:
    """A method with the function's own signature and help."""
    arguments = [f"{a}=None" if a == "u" else a for a in function.arguments]
    check = ""
    if function.takes_missing_inputs:
        arguments.append("u=None")
        check = f"    self._no_inputs(self._order.index({function.name!r}), u)\n"
    values = "".join(f"{a}, " for a in function.arguments)
    source = (
        f"def {function.name}(self, {', '.join(arguments)}, *, out=None):\n"
        f"{check}    return self._call({function.name!r}, ({values}), out)\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(source, f"<method {function.name}>", "exec"), scope)
    method = scope[function.name]
    method.__doc__ = function.description
    return method
