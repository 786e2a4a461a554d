"""Which C functions call others instead of repeating their statements.

The forward dynamics of a long tail are the mass matrix, the bias forces and the
contact forces, and then a small factorisation; the controller needs the same.
Compilers take time in proportion to the text, so a long function calls another
one for all values that this one gives, if next to nothing is computed twice: the
price at run time is bounded by :data:`TOLERANCE`.  Two forms:

* *parts*: the function calls shorter ones and goes on from their outputs;
* *whole*: all its outputs are among those of a longer one that costs the same, as
  the Coriolis matrix is among those of the equations of motion.

Functions of more than :data:`LONG` operations pay up to :data:`LONG_TOLERANCE`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bestiary.modeling.program import Function, Program
from bestiary.modeling.program.builder import Node

TOLERANCE = 0.02
"""Operations that may be computed twice, relative to those of the function."""

LONG, LONG_TOLERANCE = 20_000, 0.07

WORTH = 0.02
"""A call that saves less than this part of the function is not made."""


@dataclass(frozen=True)
class Call:
    """A call of another function.

    ``targets`` says where each output of the called function goes: ("work", offset)
    into the caller's array, ("output", number) straight to an output of the caller,
    or None: it is not wanted.
    """

    function: Function
    targets: tuple[tuple[str, int] | None, ...]

    @property
    def output(self) -> int | None:
        """The one output of the caller that the call serves, if there is just one."""
        wanted = [t for t in self.targets if t is not None]
        return wanted[0][1] if len(wanted) == 1 and wanted[0][0] == "output" else None


@dataclass(frozen=True)
class Calls:
    """The calls of one function and what is left for itself.

    Attributes
    ----------
    calls:
        The calls, in order.
    known:
        Statements whose values are in the work array: index → (slot, sign).
    direct:
        Numbers of the outputs that a called function writes itself.
    guards:
        References of its guards that a called function checks.
    work:
        Length of the work array that the calls fill.
    """

    calls: tuple[Call, ...] = ()
    known: Mapping[int, tuple[int, int]] | None = None
    direct: frozenset[int] = frozenset()
    guards: frozenset[int] = frozenset()
    work: int = 0

    @property
    def slots(self) -> Mapping[int, tuple[int, int]]:
        """``known``, empty without calls."""
        return self.known or {}


def operands(nodes: Sequence[Node]) -> list[tuple[int, ...]]:
    """The operations (no constants, no inputs) that each statement reads."""
    plain = [node[0] in ("const", "sym") for node in nodes]
    return [
        () if plain[i] else tuple(a for r in node[1:] if not plain[a := abs(int(r)) - 1])
        for i, node in enumerate(nodes)
    ]


def statements(
    nodes: Sequence[Node],
    reads: Sequence[Sequence[int]],
    refs: Iterable[int],
    known: Iterable[int] = (),
) -> list[int]:
    """Operations that references depend on, in order, without ``known`` and what is before it.

    ``reads`` are the :func:`operands`.
    """
    done = set(known)
    roots = {abs(r) - 1 for r in refs} - done
    stack = [i for i in roots if nodes[i][0] not in ("const", "sym")]
    found = set(stack)
    while stack:
        fresh = [a for a in reads[stack.pop()] if a not in found and a not in done]
        found.update(fresh)
        stack += fresh
    return sorted(found)


def choose_calls(program: Program, reads: Sequence[Sequence[int]], least: int) -> dict[str, Calls]:
    """The calls of every function with at least ``least`` operations; ``reads``: operands."""
    return _Chooser(program, reads, least).result()


class _Chooser:
    def __init__(self, program: Program, reads: Sequence[Sequence[int]], least: int) -> None:
        self.nodes, self.functions, self.least = program.nodes, program.functions, least
        self.reads = reads
        self.sets = {
            n: set(statements(self.nodes, reads, f.refs)) for n, f in self.functions.items()
        }
        self.sizes = {n: len(s) for n, s in self.sets.items()}
        self.chosen: dict[str, Calls] = {}

    def result(self) -> dict[str, Calls]:
        long = [n for n in self.functions if self.sizes[n] >= self.least]
        if not long:
            return {}
        for name in sorted(long, key=lambda n: self.sizes[n]):
            calls = self._parts(self.functions[name])
            if calls is not None:
                self.chosen[name] = calls
        for name in long:
            whole = self._whole(self.functions[name]) if name not in self.chosen else None
            if whole is not None:
                self.chosen[name] = whole
        return self.chosen

    def _operation(self, ref: int) -> bool:
        return self.nodes[abs(ref) - 1][0] not in ("const", "sym")

    def _fits(self, caller: Function, called: Function) -> bool:
        """Whether a function can be called: with inputs and guards that the caller has too."""
        guards = {g.ref for g in caller.guards}
        return set(called.inputs) <= set(caller.inputs) and all(
            g.ref in guards for g in called.guards
        )

    # -- parts ----------------------------------------------------------------
    def _parts(self, function: Function) -> Calls | None:
        size = self.sizes[function.name]
        own_set = self.sets[function.name]
        candidates = [
            f
            for f in self.functions.values()
            if WORTH * size <= self.sizes[f.name] < size
            and self._fits(function, f)
            and len(self.sets[f.name] & own_set) >= WORTH * size
            and len(self.sets[f.name] - own_set) <= _spare(size)
        ]
        taken: list[Function] = []
        own, spent = size, 0.0
        while True:
            best, least_left = None, own
            for candidate in candidates:
                if candidate in taken:
                    continue
                left = len(self._left(function, [*taken, candidate]))
                saved = own - left
                twice = spent + self.sizes[candidate.name] - saved
                worth = saved >= WORTH * size and twice <= _spare(size)
                if worth and left < least_left:
                    best, least_left = candidate, left
            if best is None:
                break
            spent += self.sizes[best.name] - (own - least_left)
            own = least_left
            taken.append(best)
        return self._placed(function, taken) if taken else None

    def _left(self, function: Function, called: Sequence[Function]) -> list[int]:
        """Operations of a function that remain beside the called ones."""
        known = {abs(r) - 1 for f in called for o in f.outputs for r in o.refs}
        return statements(self.nodes, self.reads, self._own_refs(function, called), known)

    @staticmethod
    def _own_refs(function: Function, called: Sequence[Function]) -> list[int]:
        checked = {g.ref for f in called for g in f.guards}
        refs = [r for o in function.outputs for r in o.refs]
        return [*refs, *(g.ref for g in function.guards if g.ref not in checked)]

    def _placed(self, function: Function, taken: Sequence[Function]) -> Calls:
        """Hand out slots; whole outputs that nothing else reads go straight to the caller's."""
        known = {abs(r) - 1 for f in taken for o in f.outputs for r in o.refs if self._operation(r)}
        reads: Counter[int] = Counter()
        for index in self._left(function, taken):
            reads.update(self.reads[index])
        checked = {g.ref for f in taken for g in f.guards}
        reads.update(abs(g.ref) - 1 for g in function.guards if g.ref not in checked)
        for output in function.outputs:
            reads.update({abs(r) - 1 for r in output.refs})
        slots: dict[int, tuple[int, int]] = {}
        direct: dict[int, int] = {}
        calls: list[Call] = []
        work = 0
        for called in taken:
            targets: list[tuple[str, int] | None] = []
            for output in called.outputs:
                wanted = {abs(r) - 1 for r in output.refs} & known & set(reads)
                same = [
                    k
                    for k, o in enumerate(function.outputs)
                    if o.refs == output.refs
                    and k not in direct
                    and all(reads[i] == 1 for i in wanted)
                ]
                if same:
                    direct[same[0]] = 1
                    targets.append(("output", same[0]))
                elif wanted - set(slots):
                    for position, ref in enumerate(output.refs):
                        if self._operation(ref):
                            slots.setdefault(abs(ref) - 1, (work + position, 1 if ref > 0 else -1))
                    targets.append(("work", work))
                    work += output.size
                else:
                    targets.append(None)
            calls.append(Call(called, tuple(targets)))
        return Calls(tuple(calls), slots, frozenset(direct), frozenset(checked), work)

    # -- whole ----------------------------------------------------------------
    def _whole(self, function: Function) -> Calls | None:
        """A longer function that gives all outputs, at nearly the same cost."""
        guards = {g.ref for g in function.guards}
        for other in self.functions.values():
            if other is function or not set(other.inputs) <= set(function.inputs):
                continue
            if self._checked(other, function) != guards or self._reaches(other, function):
                continue
            places = {o.refs: k for k, o in enumerate(other.outputs)}
            if not all(o.refs in places for o in function.outputs):
                continue
            size = self.sizes[function.name]
            if self._cost(other, function) > size + _spare(size):
                continue
            targets: list[tuple[str, int] | None] = [None] * len(other.outputs)
            for k, o in enumerate(function.outputs):
                targets[places[o.refs]] = ("output", k)
            every = frozenset(range(len(function.outputs)))
            return Calls((Call(other, tuple(targets)),), {}, every, frozenset(guards))
        return None

    def _serving(self, other: Function, function: Function) -> list[Function]:
        """Functions that ``other`` calls if only the outputs of ``function`` are asked for."""
        wanted = {o.refs for o in function.outputs}
        return [
            c.function
            for c in self.chosen.get(other.name, Calls()).calls
            if c.output is None or other.outputs[c.output].refs in wanted
        ]

    def _cost(self, other: Function, function: Function) -> int:
        """Operations that are then executed."""
        calls = [c.function for c in self.chosen.get(other.name, Calls()).calls]
        own = len(self._left(other, calls))
        return own + sum(self.sizes[f.name] for f in self._serving(other, function))

    def _checked(self, other: Function, function: Function) -> set[int]:
        """References of the guards that are then checked."""
        elsewhere = self.chosen.get(other.name, Calls()).guards
        own = {g.ref for g in other.guards if g.ref not in elsewhere}
        return own | {g.ref for f in self._serving(other, function) for g in f.guards}

    def _reaches(self, start: Function, end: Function) -> bool:
        if start is end:
            return True
        calls = self.chosen.get(start.name, Calls()).calls
        return any(self._reaches(c.function, end) for c in calls)


def _spare(size: int) -> float:
    """Operations that may be computed twice."""
    return size * (LONG_TOLERANCE if size > LONG else TOLERANCE)
