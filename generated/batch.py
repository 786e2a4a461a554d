"""Batches: every function over the leading axis of its arguments, in threads if wished."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .description import FunctionDescription
from .errors import ModelInputError

if TYPE_CHECKING:
    from .checks import Checker
    from .description import ModelDescription

Array: TypeAlias = NDArray[np.float64]

SMALLEST_SHARE = 16
"""Rows below which another thread is not worth its start."""

UNINTERRUPTED_ROWS = 20_000
"""Rows that run in C at a stretch; Ctrl-C is heard in between."""


class Batches:
    """The ``…_batch`` part of a robot.

    In every batch method each argument has shape (N, size), or (size,) to
    serve all rows; results get the leading axis N.  ``threads`` splits the
    rows; None takes one thread per processor.  A row that fails raises with
    its number; rows before it are complete.
    """

    if TYPE_CHECKING:
        _model: ClassVar[ModelDescription]
        _checker: ClassVar[Checker]
        _order: ClassVar[tuple[str, ...]]
        _failure: Any
        _batch: Any
        node_pose: Any
        name: Any

    def node_pose_batch(
        self, name: str, q: ArrayLike, *, threads: int | None = 1, out: Array | None = None
    ) -> Array:
        """Poses of a node, shape (N, 4, 4)."""
        result: Array = self._run_node("pose", name, (q,), threads, out)
        return result

    def node_velocity_batch(
        self,
        name: str,
        q: ArrayLike,
        p: ArrayLike,
        frame: str = "body",
        *,
        threads: int | None = 1,
        out: Array | None = None,
    ) -> Array:
        """Twists (ω, v) of a node in body or world axes, shape (N, 6)."""
        world = self._checker.frame("node_velocity_batch", frame)
        result: Array = self._run_node("velocity", name, (q, p), threads, out)
        if world:
            single = np.ndim(q) == 1
            pose = (
                self.node_pose(name, q)
                if single
                else self.node_pose_batch(name, q, threads=threads)
            )
            rotation = pose[..., :3, :3]
            result[:, :3] = (rotation @ result[:, :3, np.newaxis])[..., 0]
            result[:, 3:] = (rotation @ result[:, 3:, np.newaxis])[..., 0]
        return result

    def node_jacobian_batch(
        self,
        name: str,
        q: ArrayLike,
        frame: str = "body",
        *,
        threads: int | None = 1,
        out: Array | None = None,
    ) -> Array:
        """Jacobians of a node in body or world axes, shape (N, 6, NP)."""
        world = self._checker.frame("node_jacobian_batch", frame)
        result: Array = self._run_node("jacobian", name, (q,), threads, out)
        if world:
            rotation = self.node_pose_batch(name, q, threads=threads)[:, :3, :3]
            result[:, :3] = rotation @ result[:, :3]
            result[:, 3:] = rotation @ result[:, 3:]
        return result

    def _run_node(
        self, kind: str, name: object, values: tuple[Any, ...], threads: int | None, out: Any
    ) -> Any:
        method = f"node_{kind}_batch"
        function = self._model.functions[f"{self._checker.node(method, name)}_{kind}"]
        return self._run(function, values, threads, out, method)

    def _run(
        self,
        function: FunctionDescription,
        values: Sequence[Any],
        threads: int | None,
        out: Any,
        method: str,
    ) -> Any:
        checker: Checker = self._checker
        workers = _workers(checker, method, threads)
        count: int | None = None
        inputs: list[Array] = []
        for argument, value in zip(function.arguments, values, strict=True):
            array = checker.rows(method, argument, value, count=count)
            if array.ndim == 2:
                count = array.shape[0]
            inputs.append(array)
        if count is None:
            raise ModelInputError(
                f"{self.name}.{method}: one argument at least must have a leading axis; "
                f"for a single state call {method.removesuffix('_batch')}"
            )
        outputs = checker.outputs(function, out, (count,), method)
        if out is not None:
            checker.no_overlap(method, dict(zip(function.arguments, inputs, strict=True)), outputs)
        index = self._order.index(function.name)

        def task(start: int, stop: int) -> tuple[int, int]:
            for first in range(start, stop, UNINTERRUPTED_ROWS):
                last = min(first + UNINTERRUPTED_ROWS, stop)
                row, status = self._batch(index, tuple(inputs), outputs, first, last)
                if status:
                    return row, status
            return -1, 0

        row, status = run_in_threads(task, count, workers)
        if status:
            single = tuple(a[row] if a.ndim == 2 else a for a in inputs)
            self._failure(index, status, single, f" (row {row} of {count})")
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def run_in_threads(
    task: Callable[[int, int], tuple[int, int]], count: int, workers: int
) -> tuple[int, int]:
    """Run ``task(start, stop)`` over the rows 0 … count in equal shares.

    Returns the first failing row and its status, (-1, 0) if there is none.
    """
    workers = max(1, min(workers, count // SMALLEST_SHARE))
    if workers == 1:
        return task(0, count)
    edges = [count * k // workers for k in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        results = list(pool.map(task, edges[:-1], edges[1:]))
    return next(((row, status) for row, status in results if status), (-1, 0))


def batch_method(function: FunctionDescription) -> Callable[..., Any]:
    """The ``…_batch`` method of a function, with its own signature and help."""
    kind = inspect.Parameter
    optional = {"u": None}
    arguments = [*function.arguments, *(["u"] if function.takes_missing_inputs else [])]
    signature = inspect.Signature(
        [
            kind("self", kind.POSITIONAL_OR_KEYWORD),
            *(
                kind(a, kind.POSITIONAL_OR_KEYWORD, default=optional.get(a, kind.empty))
                for a in arguments
            ),
            kind("threads", kind.KEYWORD_ONLY, default=1),
            kind("out", kind.KEYWORD_ONLY, default=None),
        ]
    )
    name = f"{function.name}_batch"

    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        bound.apply_defaults()
        given = bound.arguments
        robot = given["self"]
        if function.takes_missing_inputs:
            robot._checker.absent_inputs(name, given["u"])
        values = [given[a] for a in function.arguments]
        return robot._run(function, values, given["threads"], given["out"], name)

    shapes = ", ".join(f"{o.name} (N, {', '.join(map(str, o.shape))})" for o in function.outputs)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"{function.description}\n\nOver a leading axis N of {', '.join(function.arguments)}; "
        f"gives {shapes.replace(', )', ',)')}.\n"
        "``threads`` splits the rows (None: one thread per processor)."
    )
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def batch_methods(model: ModelDescription) -> dict[str, Callable[..., Any]]:
    """All batch methods of a model by name."""
    return {f"{name}_batch": batch_method(model.functions[name]) for name in model.methods}


def _workers(checker: Checker, method: str, threads: object) -> int:
    if threads is None:
        return os.cpu_count() or 1
    return checker.count(method, "threads", threads, least=1)
