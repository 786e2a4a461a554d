"""Substitution and forward differentiation through the statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .builder import Builder, ProgramError
from .evaluate import evaluate_refs, operations
from .operations import ARITHMETIC, ARITY
from .program import Function, Guard, InputGroup, Output, Program
from .scalar import Number, Scalar

Symbol = tuple[str, str]  # (group, name)


def replay(program: Program, builder: Builder, refs: Sequence[int], symbol: Any) -> list[Scalar]:
    """Write the statements behind ``refs`` again into another builder.

    ``symbol(group, name)`` gives the scalar to use for each input.
    """
    return evaluate_refs(program.nodes, refs, symbol, builder_operations(builder))


def substitute(program: Program, values: Mapping[Symbol, Number]) -> Program:
    """Replace inputs by numbers (``freeze``): folding and dead-code removal follow.

    Parameters
    ----------
    program:
        Any program.
    values:
        Maps (group, name) to a number.

    Raises
    ------
    ProgramError
        If a name is not an input of the program.
    """
    known = {(g.name, s.name) for g in program.groups for s in g.symbols}
    unknown = [f"{g}.{n}" for g, n in values if (g, n) not in known]
    if unknown:
        raise ProgramError(f"not inputs of this program: {', '.join(unknown)}")
    units = {(g.name, s.name): s.unit for g in program.groups for s in g.symbols}
    builder = Builder(check_dimensions=False)  # numbers carry no dimension

    def symbol(group: str, name: str) -> Scalar:
        if (group, name) in values:
            return builder.constant(values[group, name])
        return builder.symbol(group, name, units[group, name])

    functions = []
    for f in program.functions.values():
        new = iter(replay(program, builder, f.refs, symbol))
        outputs = tuple(
            Output(o.name, o.shape, tuple(next(new).ref for _ in o.refs), o.description)
            for o in f.outputs
        )
        guards = tuple(Guard(next(new).ref, g.message) for g in f.guards)
        functions.append(Function(f.name, f.inputs, outputs, f.description, guards))
    groups = [
        InputGroup(
            g.name,
            tuple(s for s in g.symbols if (g.name, s.name) not in values),
            g.description,
            g.is_struct,
        )
        for g in program.groups
    ]
    return Program.freeze(builder, groups, functions)


def jacobian(
    builder: Builder, outputs: Sequence[Scalar], wrt: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Partial derivatives of scalars by forward accumulation with sparsity.

    Parameters
    ----------
    builder:
        The builder that holds the statements; derivative statements are appended.
    outputs:
        Scalars to differentiate, n of them.
    wrt:
        Input symbols, m of them.

    Returns
    -------
    list of lists
        n × m scalars, structural zeros where there is no dependence.
    """
    tangents = _propagate(
        builder, outputs, {abs(s.ref) - 1: {k: builder.constant(1)} for k, s in enumerate(wrt)}
    )
    zero = builder.constant(0)
    return [[_signed(tangents, o).get(k, zero) for k in range(len(wrt))] for o in outputs]


def directional_derivative(
    builder: Builder, outputs: Sequence[Scalar], direction: Iterable[tuple[Scalar, Scalar]]
) -> list[Scalar]:
    """Derivative of scalars along a direction: Σ ∂output/∂symbol · seed.

    ``direction`` pairs input symbols with their seeds.
    """
    seeds = {abs(s.ref) - 1: {0: seed} for s, seed in direction if not seed.is_zero}
    tangents = _propagate(builder, outputs, seeds)
    zero = builder.constant(0)
    return [_signed(tangents, o).get(0, zero) for o in outputs]


Tangent = dict[int, Scalar]


def _signed(tangents: Mapping[int, Tangent], value: Scalar) -> Tangent:
    tangent = tangents.get(abs(value.ref) - 1, {})
    return tangent if value.ref > 0 else {k: -v for k, v in tangent.items()}


def _propagate(
    builder: Builder, outputs: Sequence[Scalar], seeds: Mapping[int, Tangent]
) -> dict[int, Tangent]:
    from .evaluate import needed_nodes

    tangents: dict[int, Tangent] = dict(seeds)
    for index in needed_nodes(builder.nodes, [o.ref for o in outputs]):
        node = builder.nodes[index]
        if index in tangents or node[0] in ("const", "sym"):
            continue
        arguments = [Scalar(builder, int(a)) for a in node[1:]]
        inner = [_signed(tangents, a) for a in arguments]
        if not any(inner):
            continue
        value = Scalar(builder, index + 1)
        total: Tangent = {}
        for partial, tangent in zip(
            _partials(str(node[0]), arguments, value, [bool(t) for t in inner]), inner, strict=True
        ):
            for k, v in tangent.items():
                term = partial * v
                total[k] = total[k] + term if k in total else term
        tangents[index] = {k: v for k, v in total.items() if not v.is_zero}
    return tangents


def _partials(
    operation: str, x: Sequence[Scalar], value: Scalar, wanted: Sequence[bool]
) -> list[Scalar]:
    """Partial derivatives of one statement by its arguments (zero where not wanted)."""
    b = value.builder
    one, zero = b.constant(1), b.constant(0)

    def call(name: str, *arguments: Scalar) -> Scalar:
        return Scalar(b, b.call(name, *(a.ref for a in arguments)))

    match operation:
        case "add":
            return [one, one]
        case "sub":
            return [one, -one]
        case "mul":
            return [x[1], x[0]]
        case "div":
            reciprocal = one / x[1]
            return [reciprocal, -value * reciprocal if wanted[1] else zero]
        case "sqrt":
            return [one / (2 * value)]
        case "sin":
            return [call("cos", x[0])]
        case "cos":
            return [-call("sin", x[0])]
        case "tan":
            return [1 + value * value]
        case "asin":
            return [one / call("sqrt", 1 - x[0] * x[0])]
        case "acos":
            return [-one / call("sqrt", 1 - x[0] * x[0])]
        case "atan":
            return [one / (1 + x[0] * x[0])]
        case "sinh":
            return [call("cosh", x[0])]
        case "cosh":
            return [call("sinh", x[0])]
        case "tanh":
            return [1 - value * value]
        case "exp":
            return [value]
        case "log":
            return [one / x[0]]
        case "abs":
            return [call("sign", x[0])]
        case "sign":
            return [zero]
        case "atan2":
            norm = x[0] * x[0] + x[1] * x[1]
            return [x[1] / norm, -x[0] / norm]
        case "pow":
            by_exponent = value * call("log", x[0]) if wanted[1] else zero
            return [x[1] * call("pow", x[0], x[1] - 1) if wanted[0] else zero, by_exponent]
        case "min":
            return [call("select", x[1] - x[0], one, zero), call("select", x[1] - x[0], zero, one)]
        case "max":
            return [call("select", x[0] - x[1], one, zero), call("select", x[0] - x[1], zero, one)]
        case "select":
            return [zero, call("select", x[0], one, zero), call("select", x[0], zero, one)]
    raise ProgramError(f"no derivative is known for {operation!r}")


def builder_operations(builder: Builder) -> Any:
    """The algebra that writes statements into a builder; see :mod:`.evaluate`."""

    def caller(name: str) -> Any:
        return lambda *a: Scalar(builder, builder.call(name, *(builder.ref_of(v) for v in a)))

    functions = {name: caller(name) for name in ARITY if name not in ARITHMETIC}
    return operations({**functions, "const": builder.constant})
