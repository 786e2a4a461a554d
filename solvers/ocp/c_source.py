"""C source of a scalar CasADi function, in pieces that a compiler digests quickly.

CasADi prints one C function, and compilers take time that grows faster than its
length.  Here the same instructions are printed as a row of small functions.  A
value that one of them needs only itself is a local variable (or, used once, part of
a longer expression); what later ones need goes through a small workspace, whose
entries are used again when nobody needs them any more.

The interface is the one that ``casadi.external`` loads; the functions of pointers that
it describes are in CasADi's manual, "Generating C code".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

PIECE = 250
"""Statements of one C function."""
LONGEST = 240
"""Characters of an expression that is not given a name."""

_BINARY = {
    ca.OP_ADD: "({0}+{1})",
    ca.OP_SUB: "({0}-{1})",
    ca.OP_MUL: "({0}*{1})",
    ca.OP_DIV: "({0}/{1})",
    ca.OP_POW: "pow({0},{1})",
    ca.OP_CONSTPOW: "pow({0},{1})",
    ca.OP_LT: "({0}<{1})",
    ca.OP_LE: "({0}<={1})",
    ca.OP_EQ: "({0}=={1})",
    ca.OP_NE: "({0}!={1})",
    ca.OP_AND: "({0}&&{1})",
    ca.OP_OR: "({0}||{1})",
    ca.OP_FMOD: "fmod({0},{1})",
    ca.OP_REMAINDER: "remainder({0},{1})",
    ca.OP_COPYSIGN: "copysign({0},{1})",
    ca.OP_IF_ELSE_ZERO: "({0}?{1}:0.)",
    ca.OP_FMIN: "fmin({0},{1})",
    ca.OP_FMAX: "fmax({0},{1})",
    ca.OP_ATAN2: "atan2({0},{1})",
    ca.OP_HYPOT: "hypot({0},{1})",
}
_UNARY = {
    ca.OP_ASSIGN: "{0}",
    ca.OP_NEG: "(-{0})",
    ca.OP_TWICE: "(2.*{0})",
    ca.OP_INV: "(1./{0})",
    ca.OP_NOT: "(!{0})",
    ca.OP_FABS: "fabs({0})",
    **{
        getattr(ca, f"OP_{name.upper()}"): f"{name}({{0}})"
        for name in (
            "exp log sqrt sin cos tan asin acos atan floor ceil erf sinh cosh tanh asinh acosh "
            "atanh log1p expm1"
        ).split()
    },
}
_TWICE = {ca.OP_SQ: "({0}*{0})", ca.OP_SIGN: "({0}<0?-1.:{0}>0?1.:{0})"}
_FORMS = {**_BINARY, **_UNARY, **_TWICE}
_REPEATED = frozenset(_TWICE)
"""Operations that print their argument more than once: it must have a name."""


class UnsupportedOperationError(Exception):
    """The function holds an operation that is not printed here."""


@dataclass
class _Value:
    """The result of one instruction; leaves are arguments and constants."""

    template: str
    arguments: tuple[int, ...]
    named: bool = False
    uses: int = 0


@dataclass
class _Listing:
    """Values in order of evaluation, and where outputs come from."""

    values: list[_Value] = field(default_factory=list)
    outputs: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """value -> (output, entry)"""


@dataclass
class _Statement:
    """A named value: its expression, the named values in it, and its workspace entry or -1."""

    value: int
    text: str
    needs: set[int]
    slot: int = -1


def c_source(function: ca.Function, piece: int = PIECE) -> str:
    """C99 source that ``casadi.external(symbol(name), …)`` loads when compiled.

    Parameters
    ----------
    function:
        An expanded (SX) function with dense inputs and outputs.
    piece:
        Statements of one C function.

    Raises
    ------
    UnsupportedOperationError
        If it is no such function or has an operation without a C form.
    """
    if not function.is_a("SXFunction"):
        raise UnsupportedOperationError(f"{function.name()} is a {function.class_name()}")
    ends = [function.sparsity_in(k) for k in range(function.n_in())]
    ends += [function.sparsity_out(k) for k in range(function.n_out())]
    if not all(s.is_dense() for s in ends):
        raise UnsupportedOperationError(f"{function.name()} has sparse inputs or outputs")
    listing = _listing(function)
    statements = _statements(listing)
    pieces = [statements[k : k + piece] for k in range(0, len(statements), piece)] or [[]]
    return _text(function, listing, pieces, _assign_slots(pieces))


def symbol(name: str) -> str:
    """Name of a function in C: no keyword, and nothing that the C library has."""
    return f"node_{name}"


def _listing(function: ca.Function) -> _Listing:
    found = _Listing()
    register: dict[int, int] = {}
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        inputs, outputs = function.instruction_input(k), function.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            output, entry = outputs
            source = register[inputs[0]]
            found.values[source].named = True
            found.outputs.setdefault(source, []).append((output, entry))
            continue
        if operation == ca.OP_INPUT:
            value = _Value(f"a{inputs[0]}[{inputs[1]}]", ())
        elif operation == ca.OP_CONST:
            value = _Value(_literal(function.instruction_constant(k)), ())
        elif operation in _FORMS:
            value = _Value(_FORMS[operation], tuple(register[i] for i in inputs))
        else:
            raise UnsupportedOperationError(
                f"{function.name()}: CasADi operation {operation} has no C form here"
            )
        for a in value.arguments:
            found.values[a].uses += 1
        if operation in _REPEATED:
            found.values[value.arguments[0]].named = True
        register[outputs[0]] = len(found.values)
        found.values.append(value)
    return found


def _literal(value: float) -> str:
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"{value!r}" if value >= 0 else f"({value!r})"


def _statements(listing: _Listing) -> list[_Statement]:
    """A statement for every value that is used twice, put out, or too long to write in place."""
    statements: list[_Statement] = []
    texts: list[str] = []
    needs: list[set[int]] = []
    for k, v in enumerate(listing.values):
        if not v.arguments:
            texts.append(v.template)
            needs.append(set())
            continue
        text = v.template.format(*(texts[a] for a in v.arguments))
        needed = set().union(*(needs[a] for a in v.arguments))
        if v.named or v.uses != 1 or len(text) > LONGEST:
            statements.append(_Statement(k, text, needed))
            text, needed = f"v{k}", {k}
        texts.append(text)
        needs.append(needed)
    return statements


def _assign_slots(pieces: list[list[_Statement]]) -> int:
    """Give values that later pieces need an entry of the workspace; its size."""
    last = {need: p for p, piece in enumerate(pieces) for s in piece for need in s.needs}
    ending: list[list[int]] = [[] for _ in pieces]
    free: list[int] = []
    size = 0
    for p, piece in enumerate(pieces):
        for statement in piece:
            end = last.get(statement.value, p)
            if end > p:
                if free:
                    statement.slot = free.pop()
                else:
                    statement.slot, size = size, size + 1
                ending[end].append(statement.slot)
        free += ending[p]
    return size


def _text(
    function: ca.Function, listing: _Listing, pieces: list[list[_Statement]], slots: int
) -> str:
    parameters = [f"const double *restrict a{k}" for k in range(function.n_in())]
    parameters += [f"double *restrict r{k}" for k in range(function.n_out())]
    signature = ", ".join([*parameters, "double *restrict w"])
    lines = [_HEAD]
    slot_of = {s.value: s.slot for piece in pieces for s in piece}
    for p, piece in enumerate(pieces):
        lines.append(f"static NOINLINE void piece_{p}({signature})\n{{")
        known: set[int] = set()
        for s in piece:
            for need in sorted(s.needs - known):
                lines.append(f"  const double v{need}=w[{slot_of[need]}];")
            known |= s.needs | {s.value}
            lines.append(f"  const double v{s.value}={s.text};")
            if s.slot >= 0:
                lines.append(f"  w[{s.slot}]=v{s.value};")
            lines += [f"  r{o}[{e}]=v{s.value};" for o, e in listing.outputs.get(s.value, ())]
        if p == len(pieces) - 1:
            lines += [
                f"  r{o}[{e}]={listing.values[k].template};"
                for k, places in listing.outputs.items()
                if not listing.values[k].arguments
                for o, e in places
            ]
        unused = [f"(void)a{k};" for k in range(function.n_in())]
        unused += [f"(void)r{k};" for k in range(function.n_out())]
        lines.append(f"  {''.join(unused)}(void)w;\n}}\n")
    lines.append(_interface(function, len(pieces), slots))
    return "\n".join(lines).replace("@", symbol(function.name()))


_HEAD = """#include <math.h>
#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#define EXPORT __attribute__((visibility("default")))
#else
#define NOINLINE
#define EXPORT
#endif
"""


def _interface(function: ca.Function, pieces: int, slots: int) -> str:
    """The functions that CasADi looks for: evaluation, names, patterns, sizes of workspaces."""
    inputs, outputs = range(function.n_in()), range(function.n_out())
    # absent inputs are zeros; absent outputs are written behind the workspace
    zeros = max((function.nnz_in(k) for k in inputs), default=0)
    starts, work = [], slots
    for k in outputs:
        starts.append(work)
        work += function.nnz_out(k)
    arguments = [f"arg[{k}] ? arg[{k}] : zeros" for k in inputs]
    arguments += [f"res[{k}] ? res[{k}] : w + {starts[k]}" for k in outputs]
    call = ",\n    ".join([*arguments, "w"])
    wanted = " && ".join(f"!res[{k}]" for k in outputs) or "1"
    lines = [
        f"static const double zeros[{max(1, zeros)}] = {{0}};",
        "EXPORT int @(const double **arg, double **res, long long *iw, double *w, int mem)\n{",
        "  (void)iw;\n  (void)mem;",
        f"  if ({wanted}) return 0;",
        *(f"  piece_{p}({call});" for p in range(pieces)),
        "  return 0;\n}",
        f"EXPORT long long @_n_in(void) {{ return {len(inputs)}; }}",
        f"EXPORT long long @_n_out(void) {{ return {len(outputs)}; }}",
        "EXPORT int @_work(long long *arg, long long *res, long long *iw, long long *w)\n{",
        f"  *arg = {len(inputs)};\n  *res = {len(outputs)};\n  *iw = 0;\n  *w = {work};",
        "  return 0;\n}",
    ]
    for kind, names, patterns in (
        ("in", function.name_in(), [function.sparsity_in(k) for k in inputs]),
        ("out", function.name_out(), [function.sparsity_out(k) for k in outputs]),
    ):
        lines.append(f"EXPORT const char *@_name_{kind}(long long i)\n{{")
        lines += [f'  if (i == {k}) return "{n}";' for k, n in enumerate(names)]
        lines.append("  return 0;\n}")
        lines.append(f"EXPORT const long long *@_sparsity_{kind}(long long i)\n{{")
        for k, pattern in enumerate(patterns):  # rows, columns, 1 for dense
            lines.append(
                f"  static const long long s{k}[3] = {{{pattern.size1()}, {pattern.size2()}, 1}};"
            )
        lines += [f"  if (i == {k}) return s{k};" for k in range(len(patterns))]
        lines.append("  return 0;\n}")
    return "\n".join(lines) + "\n"
