"""Checking what the user passes: the one place that the compiled and the NumPy form share.

The compiled form takes arrays that are already right (float64, C-contiguous,
the right shape, finite) without coming here; everything else is converted or
refused by these functions.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bestiary.modeling.animals import BUILT_IN
from bestiary.modeling.animals.naming import canonical

from .description import FunctionDescription, ModelDescription
from .errors import MissingFunctionError, ModelInputError, suggestion
from .quantities import Quantities

Array: TypeAlias = NDArray[np.float64]

ORDER_NAMES = {"q": "coordinate", "p": "velocity", "u": "input", "p_dot": "acceleration"}


class Checker:
    """Checks arguments of one model; messages begin with ``model.method``."""

    def __init__(self, model: ModelDescription) -> None:
        self.model = model
        self.zeros = np.zeros(len(model.inputs))
        self.zeros.setflags(write=False)

    # -- inputs -----------------------------------------------------------
    def vector(self, method: str, argument: str, value: object, group: str = "") -> Array:
        """One state argument as a finite float64 vector; ``u=None`` means no input.

        Raises
        ------
        ModelInputError
            For a wrong type, shape or a value that is not finite.
        """
        group = group or argument
        quantities = self.model.arguments[group]
        if value is None and group == "u":
            return self.zeros
        array = self.numbers(method, argument, value, lambda: self._shape(group))
        if array.shape != (len(quantities),):
            raise self._shape_error(method, argument, self._shape(group), array.shape)
        self._finite(method, argument, quantities, array)
        if group == "q":
            self._within(method, argument, array)
        elif group in self.model.positive:
            self._above_zero(method, argument, quantities, array)
        return array

    def rows(
        self,
        method: str,
        argument: str,
        value: object,
        group: str = "",
        count: int | None = None,
        what: str = "N",
    ) -> Array:
        """A batch of states, shape (N, size), or one state for all rows, shape (size,)."""
        group = group or argument
        quantities = self.model.arguments[group]
        size = len(quantities)
        if value is None and group == "u":
            return self.zeros

        def expected() -> str:
            lead = what if count is None else count
            return f"({lead}, {size}) or ({size},) {self._meaning(group)}"

        array = self.numbers(method, argument, value, expected)
        fits = array.shape[-1:] == (size,) and array.ndim in (1, 2)
        if not fits or (array.ndim == 2 and count is not None and array.shape[0] != count):
            raise self._shape_error(method, argument, expected(), array.shape)
        self._finite(method, argument, quantities, array)
        if group == "q":
            self._within(method, argument, array)
        elif group in self.model.positive:
            self._above_zero(method, argument, quantities, array)
        return array

    def numbers(
        self, method: str, argument: str, value: object, expected: Callable[[], str]
    ) -> Array:
        """Any real array-like as a C-contiguous float64 array; ``expected`` says its shape."""
        try:
            raw = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise ModelInputError(
                f"{self.model.name}.{method}: {argument} must be numbers of shape {expected()}; "
                f"got {_kind(value)} that is not an array: {error}"
            ) from error
        if raw.dtype.kind == "O":
            raw = self._objects(method, argument, value, raw, expected)
        if raw.dtype.kind not in "biuf":
            raise ModelInputError(
                f"{self.model.name}.{method}: {argument} must be real numbers of shape "
                f"{expected()}; got {_kind(value)} with dtype {raw.dtype}"
            )
        return np.ascontiguousarray(raw, dtype=np.float64).reshape(raw.shape)

    def _objects(
        self,
        method: str,
        argument: str,
        value: object,
        raw: NDArray[Any],
        expected: Callable[[], str],
    ) -> NDArray[Any]:
        for entry in raw.reshape(-1):
            if entry is None or isinstance(entry, (str, bytes)) or not hasattr(entry, "__float__"):
                raise ModelInputError(
                    f"{self.model.name}.{method}: {argument} must be real numbers of shape "
                    f"{expected()}; got {_kind(value)} with an entry {entry!r} "
                    f"({type(entry).__name__})"
                )
        try:
            return raw.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ModelInputError(
                f"{self.model.name}.{method}: {argument} must be real numbers of shape "
                f"{expected()}; got {_kind(value)}: {error}"
            ) from error

    def absent_inputs(self, method: str, value: object) -> None:
        """``u`` of a robot without inputs: None or empty.

        Raises
        ------
        ModelInputError
            For anything else.
        """
        if value is not None and np.asarray(value).size:
            raise ModelInputError(
                f"{self.model.name}.{method}: this robot has no inputs; leave u out "
                f"(got {_kind(value)} of shape {np.asarray(value).shape})"
            )

    # -- outputs ----------------------------------------------------------
    def output(
        self,
        function: FunctionDescription,
        position: int,
        out: object,
        lead: tuple[int, ...] = (),
        method: str = "",
    ) -> Array:
        """A new array for an output, or the user's own after checking it.

        Raises
        ------
        ModelInputError
            If ``out`` is not a writable C-contiguous float64 array of the right shape.
        """
        target = function.outputs[position]
        label = "out" if len(function.outputs) == 1 else f"out[{position}] ({target.name})"
        return self.target(method or function.name, label, (*lead, *target.shape), out)

    def target(self, method: str, label: str, shape: tuple[int, ...], out: object) -> Array:
        """As :meth:`output`, for any array."""
        if out is None:
            return np.empty(shape)
        where = f"{self.model.name}.{method}: {label}"
        if not isinstance(out, np.ndarray):
            raise ModelInputError(
                f"{where} must be a NumPy array of shape {shape} and dtype float64, "
                f"got {_kind(out)}"
            )
        if out.dtype != np.float64 or not out.dtype.isnative:
            raise ModelInputError(f"{where} must have dtype float64, got {out.dtype}")
        if out.shape != shape:
            raise ModelInputError(f"{where} must have shape {shape}, got {out.shape}")
        if not out.flags.c_contiguous or not out.flags.aligned:
            raise ModelInputError(f"{where} must be C-contiguous (row-major), got a strided view")
        if not out.flags.writeable:
            raise ModelInputError(f"{where} must be writable, got a read-only array")
        return out

    def outputs(
        self,
        function: FunctionDescription,
        out: object,
        lead: tuple[int, ...] = (),
        method: str = "",
    ) -> tuple[Array, ...]:
        """All output arrays of a function; several outputs take a tuple of arrays or Nones."""
        count = len(function.outputs)
        if count == 1:
            return (self.output(function, 0, out, lead, method),)
        if out is None:
            out = (None,) * count
        if not isinstance(out, (tuple, list)) or len(out) != count:
            names = ", ".join(o.name for o in function.outputs)
            raise ModelInputError(
                f"{self.model.name}.{method or function.name}: out must be a tuple of {count} "
                f"arrays ({names}; None where none is given), got {_kind(out)}"
                + (f" of {len(out)}" if isinstance(out, (tuple, list)) else "")
            )
        return tuple(self.output(function, k, o, lead, method) for k, o in enumerate(out))

    def no_overlap(
        self, method: str, inputs: Mapping[str, Array], outputs: Sequence[Array]
    ) -> None:
        """Refuse outputs that share memory with an input or with one another."""
        for k, out in enumerate(outputs):
            label = "out" if len(outputs) == 1 else f"out[{k}]"
            others = {**inputs, **{f"out[{j}]": outputs[j] for j in range(k)}}
            for name, other in others.items():
                if np.may_share_memory(out, other):
                    raise ModelInputError(
                        f"{self.model.name}.{method}: {label} must not share memory with {name}"
                    )

    # -- single numbers and names -----------------------------------------
    def positive(self, method: str, argument: str, value: object) -> float:
        """A finite number above zero."""
        number = self._number(method, argument, value, "a finite number above 0")
        if not number > 0.0:
            raise self._number_error(method, argument, "a finite number above 0", value)
        return number

    def nonzero(self, method: str, argument: str, value: object) -> float:
        """A finite number other than zero."""
        number = self._number(method, argument, value, "a finite number other than 0")
        if number == 0.0:
            raise self._number_error(method, argument, "a finite number other than 0", value)
        return number

    def _number(self, method: str, argument: str, value: Any, expected: str) -> float:
        if isinstance(value, (bool, str, bytes)):
            raise self._number_error(method, argument, expected, value)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise self._number_error(method, argument, expected, value) from None
        if not math.isfinite(number):
            raise self._number_error(method, argument, expected, value)
        return number

    def count(self, method: str, argument: str, value: object, least: int = 0) -> int:
        """A whole number of at least ``least``."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
            raise self._number_error(method, argument, f"a whole number >= {least}", value)
        return int(value)

    def node(self, method: str, name: object) -> str:
        """A node's name; the closest one is suggested otherwise."""
        if name not in self.model.nodes:
            left_out = f"{name}_{method.removesuffix('_batch').rpartition('_')[2]}"
            if left_out in self.model.left_out:
                raise MissingFunctionError(
                    missing_function(self.model, f"{self.model.name}.{method}", left_out)
                )
            raise ModelInputError(
                f"{self.model.name}.{method}: no node {name!r}{suggestion(name, self.model.nodes)} "
                f"(nodes: {', '.join(self.model.nodes)})"
            )
        return str(name)

    def frame(self, method: str, frame: object) -> bool:
        """Whether ``frame`` is "world" (True) or "body" (False)."""
        if frame not in ("body", "world"):
            raise ModelInputError(
                f"{self.model.name}.{method}: frame must be 'body' or 'world', got {frame!r}"
            )
        return bool(frame == "world")

    # -- messages ---------------------------------------------------------
    def _shape(self, group: str) -> str:
        return f"({len(self.model.arguments[group])},) {self._meaning(group)}"

    def _meaning(self, group: str) -> str:
        return f"in the {ORDER_NAMES.get(group, group)} order {self.model.arguments[group]}"

    def _shape_error(
        self, method: str, argument: str, expected: str, got: tuple[int, ...]
    ) -> ModelInputError:
        shape, _, order = expected.partition(" in the ")
        return ModelInputError(
            f"{self.model.name}.{method}: {argument} must have shape {shape}, got {got}; "
            f"{order.replace(' order ', ' order: ', 1)}"
        )

    def _finite(self, method: str, argument: str, quantities: Quantities, array: Array) -> None:
        if np.isfinite(array).all():
            return
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        quantity = quantities[place[-1]]
        raise ModelInputError(
            f"{self.model.name}.{method}: {argument}[{', '.join(map(str, place))}] "
            f"({quantity}) is {array[place]}; inputs must be finite"
        )

    def _within(self, method: str, argument: str, array: Array) -> None:
        """Refuse coordinates outside a limit of the model."""
        found = self.violation(array)
        if found is not None:
            place, text = found
            row = f", row {place[0]}" if place else ""
            raise ModelInputError(f"{self.model.name}.{method}: {argument}{row}: {text}")

    def violation(self, array: Array) -> tuple[tuple[int, ...], str] | None:
        """Where coordinates (one state or rows of them) are first outside a limit, and how."""
        first: tuple[tuple[int, ...], str] | None = None
        for limit in self.model.limits:
            if not limit.refuse:
                continue
            own = array[..., list(limit.places)]
            several = len(limit.places) > 1
            size = (own * own).sum(axis=-1) if several else own[..., 0]
            low = -np.inf if limit.low is None else limit.low
            high = np.inf if limit.high is None else limit.high
            bad = (size < low) | (size > (high * high if several else high))
            if not bad.any():
                continue
            place = tuple(int(k) for k in np.argwhere(bad)[0])
            if first is not None and first[0] <= place:
                continue
            values = ", ".join(
                f"{n} = {v:g}" for n, v in zip(limit.coordinates, own[place], strict=True)
            )
            if several:
                what = "sqrt(" + " + ".join(f"{n}^2" for n in limit.coordinates) + ")"
                values = f"{what} = {math.sqrt(size[place]):g} ({values})"
            side, bound = ("below", low) if size[place] < low else ("above", high)
            text = f"{values} is {side} the limit of {bound:g} {limit.unit}"
            first = place, text + (f": {limit.reason}" if limit.reason else "")
        return first

    def _above_zero(self, method: str, argument: str, quantities: Quantities, array: Array) -> None:
        if (array > 0).all():
            return
        place = tuple(int(k) for k in np.argwhere(~(array > 0))[0])
        raise ModelInputError(
            f"{self.model.name}.{method}: {argument}[{', '.join(map(str, place))}] "
            f"({quantities[place[-1]]}) is {array[place]:g}; it must be above 0"
        )

    def _number_error(
        self, method: str, argument: str, expected: str, value: object
    ) -> ModelInputError:
        return ModelInputError(
            f"{self.model.name}.{method}: {argument} must be {expected}, got {value!r}"
        )


def missing_function(model: ModelDescription, where: str, function: str) -> str:
    """Why a function is not there, and how to get it."""
    wanted = " ".join([*model.selection, function])
    return (
        f"{where}: this build has some functions only ({', '.join(model.selection)}), and "
        f"{function} is not among them. Build the robot whole, or with: "
        f"bestiary build {_what_to_build(model)} --functions {wanted}"
    )


def _what_to_build(model: ModelDescription) -> str:
    """Robot and options as a build command names them."""
    labels = [n for n in BUILT_IN if model.name == n or model.name.startswith(f"{n}_")]
    options: Mapping[str, Any] = model.manifest["options"]
    name = "MODEL_FILE"
    if labels:
        name, options = canonical(max(labels, key=len), options)
    return " ".join([name, *(f"--set {k}={v}" for k, v in options.items())])


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
