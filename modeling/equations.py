"""The equations of a robot: one program, named functions, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .control import Controller
from .errors import ModelError
from .limits import Limit
from .model import WORLD, Model
from .parts import Input, Parameter
from .program import Output, Program
from .program.sympy_bridge import DEFAULT_LIMIT, as_sympy, input_symbols
from .realised import Coordinate

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class MatrixView:
    """An output of the program, to be read as closed forms.

    ``view[i, j]`` (or ``view[i]`` of a vector) is one entry as a SymPy
    expression in q, p and the parameters; ``as_sympy()`` the whole array.
    """

    program: Program
    output: Output

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.output.shape

    def _ref(self, index: int | tuple[int, ...]) -> tuple[int, str]:
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != len(self.shape):
            raise IndexError(f"{self.output.name} has {len(self.shape)} indices, got {indices}")
        flat = 0
        for k, extent in zip(indices, self.shape, strict=True):
            if not isinstance(k, int):
                raise TypeError(
                    f"{self.output.name} takes whole numbers as indices, got {k!r}; "
                    "as_sympy() gives a SymPy matrix that can be sliced"
                )
            if not -extent <= k < extent:
                raise IndexError(
                    f"{self.output.name}[{', '.join(map(str, indices))}]: shape is {self.shape}"
                )
            flat = flat * extent + k % extent
        return self.output.refs[flat], f"{self.output.name}[{', '.join(map(str, indices))}]"

    def size(self, index: int | tuple[int, ...]) -> int:
        """Operations of an entry when written out as a closed form."""
        return self.program.expanded_sizes[abs(self._ref(index)[0]) - 1]

    def entry(self, index: int | tuple[int, ...], limit: int = DEFAULT_LIMIT) -> sympy.Expr:
        """Closed form of one entry.

        Raises
        ------
        ExpressionTooLargeError
            If it has more than ``limit`` operations.
        """
        ref, what = self._ref(index)
        return as_sympy(self.program, [ref], limit, what)[0]

    def __getitem__(self, index: int | tuple[int, ...]) -> sympy.Expr:
        return self.entry(index)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    def __iter__(self) -> Iterator[Any]:
        """Rows of a matrix, as lists of expressions, or the entries of a vector."""
        if len(self.shape) == 2:
            return iter([[self[i, j] for j in range(self.shape[1])] for i in range(len(self))])
        return iter([self[i] for i in range(len(self))])

    def __repr__(self) -> str:
        size = " × ".join(map(str, self.shape)) or "scalar"
        return f"<{self.output.name}, {size}: entries by index, all of it by as_sympy()>"

    def is_zero(self, index: int | tuple[int, ...]) -> bool:
        """Whether an entry is structurally zero."""
        return self.program.nodes[abs(self._ref(index)[0]) - 1] == ("const", 0)

    def as_sympy(self, limit: int = DEFAULT_LIMIT) -> sympy.Matrix:
        """The whole array as a SymPy matrix (vectors become columns)."""
        import sympy

        values = as_sympy(self.program, self.output.refs, limit, f"an entry of {self.output.name}")
        rows = self.shape[0] if self.shape else 1
        return sympy.Matrix(rows, len(values) // rows, values)


@dataclass(frozen=True)
class NodeInfo:
    """A node of the robot: its name, the body that carries it and that body's parent."""

    name: str
    body: str
    description: str
    parent: str  # "world" for a root


@dataclass(frozen=True)
class EquationsOfMotion:
    """Everything that is known symbolically of a robot.

    M(q) ṗ + C(q, p) p + F(q) = Q(q, p, u) with q̇ = V(q) p.  The functions of
    ``program`` are listed by ``functions``; attribute access gives a closed-form
    view of the first output of a function (``equations.mass_matrix[0, 4]``).
    """

    name: str
    formalism: str
    program: Program
    coordinates: tuple[Coordinate, ...]
    velocities: tuple[Coordinate, ...]
    inputs: tuple[Input, ...]
    parameters: tuple[Parameter, ...]
    variants: Mapping[str, Mapping[str, float]]
    variant_notes: Mapping[str, str]
    nodes: tuple[NodeInfo, ...]
    title: str = ""
    source: str = ""
    up: str = "z"
    options: Mapping[str, Any] | None = None
    controllers: tuple[Controller, ...] = ()
    limits: tuple[Limit, ...] = ()
    contacts: tuple[str, ...] = ()  # nodes that may touch the ground
    selection: tuple[str, ...] = ()  # what was asked for, if not everything
    left_out: tuple[str, ...] = ()  # functions that the robot has, but not this program

    @classmethod
    def of(cls, model: Model, formalism: str, program: Program) -> EquationsOfMotion:
        """Equations with the meanings of a model's names."""
        return cls(
            name=model.name,
            formalism=formalism,
            program=program,
            coordinates=tuple(model.coordinates),
            velocities=tuple(model.velocities),
            inputs=tuple(model.inputs.values()),
            parameters=tuple(_signed(model)),
            variants={k: dict(v) for k, v in model.variants.items()},
            variant_notes=dict(model.variant_notes),
            nodes=tuple(
                NodeInfo(
                    n.name,
                    n.body.name,
                    n.description,
                    n.body.parent.name if n.body.parent is not None else WORLD,
                )
                for n in model.nodes.values()
            ),
            title=model.title,
            source=model.source,
            up=model.up,
            controllers=tuple(model.controllers.values()),
            limits=tuple(model.limits),
            contacts=tuple(model.contacts),
        )

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the program's functions."""
        return tuple(self.program.functions)

    def view(self, function: str, output: str | None = None) -> MatrixView:
        """Closed-form view of an output of a function (its first by default)."""
        if function not in self.program.functions:
            raise KeyError(f"no function {function!r}; have {', '.join(self.functions)}")
        return MatrixView(self.program, self.program.output(function, output))

    def __getattr__(self, name: str) -> MatrixView:
        program = self.__dict__.get("program")
        if program is None or name not in program.functions:
            raise AttributeError(f"{type(self).__name__} has no attribute or function {name!r}")
        return self.view(name)

    @property
    def symbols(self) -> dict[str, sympy.Symbol]:
        """SymPy symbols of coordinates, velocities, inputs and parameters, by name."""
        return {s.name: s for s in input_symbols(self.program).values()}

    def values(self, variant: str | None = None) -> dict[str, float]:
        """Parameter values, of a variant if one is named."""
        base = {p.name: p.default for p in self.parameters}
        if variant is not None and variant not in self.variants:
            raise ModelError(
                f"{self.name} has no variant {variant!r}; have {', '.join(self.variants) or 'none'}"
            )
        base.update(self.variants[variant] if variant is not None else {})
        return base


def _signed(model: Model) -> list[Parameter]:
    """Parameters, with those marked that must be positive."""
    nodes = (model.builder.nodes[abs(scalar.ref) - 1] for scalar, _ in model.positive)
    positive = {node[2] for node in nodes if node[:2] == ("sym", "parameters")}
    return [replace(p, positive=p.name in positive) for p in model.parameters.values()]
