"""Names in the generated C: valid, unique, the same in every function.

A symbol keeps its own name, a named statement the name from the model, every
other statement becomes ``z<index>`` with its index in the program, so that the
C text, the interpreter and the closed forms speak of the same statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bestiary.modeling.program import InputGroup, Program

C_WORDS = frozenset(
    "auto bool break case char const continue default do double else enum extern false float for "
    "goto if inline int long register restrict return short signed sizeof static struct switch "
    "true typedef union unsigned void volatile while _Bool _Complex _Imaginary".split()
)
CPP_WORDS = frozenset(
    "alignas alignof and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await "
    "co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete "
    "dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr "
    "operator or or_eq private protected public reinterpret_cast requires static_assert "
    "static_cast template this thread_local throw try typeid typename using virtual wchar_t xor "
    "xor_eq".split()
)
PREDEFINED = frozenset("linux unix i386 near far interface small hyper NULL NAN INFINITY".split())
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 "
    "fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 "
    "log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo "
    "rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"
).split()
MATH_NAMES = frozenset(
    [
        *_MATH,
        *(f"{n}f" for n in _MATH),
        *(f"{n}l" for n in _MATH),
        *"j0 j1 jn y0 y1 yn gamma drem significand scalb finite signgam".split(),
        *"isfinite isinf isnan isnormal signbit fpclassify".split(),
        *"exp10 pow10 sincos abs labs div index time signal".split(),
    ]
)
HELPERS = frozenset({"min_of", "max_of", "sign_of", "select_of", "all_finite"})
ARGUMENTS = frozenset({"parameters", "q", "p", "u", "p_dot"})
OWN_WORDS = frozenset({"status", "work"}) | HELPERS | ARGUMENTS
KEYWORDS = C_WORDS | CPP_WORDS | PREDEFINED


class Namer:
    """Hands out identifiers, each of them once.

    Parameters
    ----------
    reserved:
        Identifiers never to hand out.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)

    def take(self, wanted: str, alternative: str = "") -> str:
        """``wanted`` made valid; ``alternative`` or a number behind it where that is taken."""
        wanted = identifier(wanted)
        candidates = [wanted, identifier(alternative)] if alternative else [wanted]
        number = 2
        while candidates[0] in self._taken:
            candidates.pop(0)
            if not candidates:
                candidates.append(f"{wanted}_{number}")
                number += 1
        self._taken.add(candidates[0])
        return candidates[0]


def identifier(text: str) -> str:
    """The text with every character that C does not allow replaced by ``_``."""
    valid = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return valid if re.match(r"[A-Za-z]", valid) else f"v{valid}"


def member_names(group: InputGroup) -> tuple[str, ...]:
    """Members of the C structure of a group, in the order of its symbols.

    They are the symbols' names, except for words that C or C++ reserve
    (``class`` becomes ``class_``).
    """
    namer = Namer(KEYWORDS)
    return tuple(namer.take(s.name, f"{s.name}_") for s in group.symbols)


def group_prefix(group: InputGroup) -> str:
    """Singular of the group's name, as used in enumerations (``parameters`` → ``PARAMETER``)."""
    name = group.name[:-1] if group.is_struct and group.name.endswith("s") else group.name
    return identifier(name).upper()


@dataclass(frozen=True)
class ProgramNames:
    """Every identifier that the C of one program uses.

    Attributes
    ----------
    prefix, macro:
        Prefix of functions and types (``sea_lion``) and of macros (``SEA_LION``).
    arguments:
        (function, argument) to the C argument's name.
    symbols:
        Statement index of an input symbol to the local variable that holds it.
    places:
        Statement index of an input symbol to the expression that reads it.
    statements:
        Statement index to its variable.
    enums:
        Group name to the enumerators, in the order of its symbols.
    members:
        Group name to the structure members, in the order of its symbols.
    """

    prefix: str
    macro: str
    arguments: dict[tuple[str, str], str]
    symbols: dict[int, str]
    places: dict[int, str]
    statements: dict[int, str]
    enums: dict[str, tuple[str, ...]]
    members: dict[str, tuple[str, ...]]
    groups: dict[int, str] = field(default_factory=dict)
    """Statement index of an input symbol to the name of its group."""

    def variable(self, index: int) -> str:
        """The variable of a statement or symbol."""
        return self.symbols.get(index) or self.statements[index]


def program_names(program: Program, name: str) -> ProgramNames:
    """Choose all identifiers for a program called ``name``."""
    macro = identifier(name).upper()
    groups = [g for g in program.groups if g.symbols]
    arguments = _argument_names(program)
    enum_namer = Namer(_macro_names(macro))
    shared = rate_groups(groups)
    enums = {
        g.name: tuple(
            enum_namer.take(f"{macro}_{group_prefix(g)}_{s.name.upper()}") for s in g.symbols
        )
        for g in groups
        if g.name not in shared
    }
    enums.update({rate: enums[base] for rate, base in shared.items()})
    members = {g.name: member_names(g) for g in groups if g.is_struct}
    positions = {(g.name, s.name): k for g in groups for k, s in enumerate(g.symbols)}

    variable = Namer(
        KEYWORDS | MATH_NAMES | OWN_WORDS | set(arguments.values()) | {n for _, n in arguments}
    )
    symbols: dict[int, str] = {}
    places: dict[int, str] = {}
    owners: dict[int, str] = {}
    for index, node in enumerate(program.nodes):
        if node[0] != "sym":
            continue
        group, symbol = str(node[1]), str(node[2])
        position = positions[group, symbol]
        symbols[index] = variable.take(symbol, f"{group}_{symbol}")
        owners[index] = group
        places[index] = (
            f"{group}->{members[group][position]}"
            if group in members
            else f"{group}[{enums[group][position]}]"
        )
    statements: dict[int, str] = {}
    for index, node in enumerate(program.nodes):
        if node[0] not in ("sym", "const") and index in program.names:
            chosen = program.names[index]
            statements[index] = variable.take(chosen, f"{chosen}_z{index}")
    for index, node in enumerate(program.nodes):
        if node[0] not in ("sym", "const") and index not in statements:
            statements[index] = variable.take(f"z{index}", f"z{index}_")
    return ProgramNames(
        identifier(name), macro, arguments, symbols, places, statements, enums, members, owners
    )


def rate_groups(groups: Sequence[InputGroup]) -> dict[str, str]:
    """Groups like ``p_dot`` that are indexed as their base (``p``) is: rate → base."""
    by_name = {g.name: g for g in groups}
    found = {}
    for group in groups:
        base = by_name.get(group.name.removesuffix("_dot"))
        if base is None or base is group:
            continue
        if [s.name for s in group.symbols] == [f"{s.name}_dot" for s in base.symbols]:
            found[group.name] = base.name
    return found


def _argument_names(program: Program) -> dict[tuple[str, str], str]:
    """C names of a function's outputs; input groups keep their own names."""
    names = {}
    groups = {g.name for g in program.groups}
    for function in program.functions.values():
        namer = Namer(KEYWORDS | MATH_NAMES | OWN_WORDS | groups)
        for output in function.outputs:
            names[function.name, output.name] = namer.take(output.name, f"{output.name}_out")
    return names


def _macro_names(macro: str) -> set[str]:
    fixed = "OK SINGULAR NOT_FINITE STEP_LIMIT RESTRICT NOINLINE VERSION PROGRAM_SHA256 H".split()
    return {f"{macro}_{word}" for word in fixed}
