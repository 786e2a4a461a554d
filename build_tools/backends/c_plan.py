"""Which statements a C function has, and how they are split into parts.

A statement that is used once is written inside its consumer as long as the
line stays short.  A long function becomes a few static functions ("parts") of
nearly equal size.  Values that a later part reads pass through a small array;
its slots are used again as soon as the last part that reads a value is over.
What a called function gives (see :mod:`.c_calls`) stands at the array's beginning.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bestiary.modeling.program import Function, Program, ProgramError

from .c_calls import Calls, choose_calls, operands, statements

LINE_WIDTH = 84
"""Longest expression, in characters, that inlining may produce."""


@dataclass(frozen=True)
class COptions:
    """How the C text is cut.

    Attributes
    ----------
    part_size:
        Operations in one part of a function, roughly.
    file_size:
        Operations in one source file, roughly.
    function_limit:
        Operations in one function beyond which a model is refused.
    call_from:
        Operations from which on a function may call others (see :mod:`.c_calls`).
    """

    part_size: int = 300
    file_size: int = 6000
    function_limit: int = 60_000
    call_from: int = 3500


class ModelTooLargeError(ProgramError):
    """A function with more operations than any compiler should be given."""


@dataclass(frozen=True)
class Entry:
    """One entry of an output array: which output, where in it, which value."""

    output: int
    position: int
    ref: int


@dataclass
class Part:
    """A piece of a function.

    Attributes
    ----------
    statements:
        Indices of its statements, in order.
    loads, stores:
        Values it reads from and leaves in the shared array: statement → slot.
    entries:
        Output entries it writes.
    guards:
        References it checks to be positive.
    symbols:
        Input symbols it reads and how often.
    """

    statements: list[int] = field(default_factory=list)
    loads: dict[int, int] = field(default_factory=dict)
    stores: dict[int, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    guards: list[int] = field(default_factory=list)
    symbols: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class FunctionPlan:
    """A C function before it is printed."""

    function: Function
    inlined: frozenset[int]
    parts: tuple[Part, ...]
    work_size: int
    own_operations: Mapping[str, int]
    called: tuple[FunctionPlan, ...] = ()
    calls: Calls = field(default_factory=Calls)

    @cached_property
    def operations(self) -> Mapping[str, int]:
        """Operations that one evaluation executes, by kind, those of called functions included."""
        total = Counter(self.own_operations)
        for plan in self.called:
            total.update(plan.operations)
        return dict(sorted(total.items()))

    @property
    def size(self) -> int:
        """Operations that one evaluation executes."""
        return sum(self.operations.values())

    @property
    def own_size(self) -> int:
        """Operations in the function's own text."""
        return sum(self.own_operations.values())


class Planner:
    """Plans the functions of one program.

    Parameters
    ----------
    program:
        The program.
    width:
        Characters that a symbol, constant or named statement takes, by index.
    options:
        Sizes.
    """

    def __init__(self, program: Program, width: Callable[[int], int], options: COptions) -> None:
        self._program, self._nodes = program, program.nodes
        self._width, self._options = width, options
        self._reads = operands(program.nodes)
        self._calls = choose_calls(program, self._reads, options.call_from)
        self._plans: dict[str, FunctionPlan] = {}
        self._arguments = [
            () if node[0] in ("const", "sym") else tuple(abs(int(r)) - 1 for r in node[1:])
            for node in program.nodes
        ]

    def plan(self, name: str) -> FunctionPlan:
        """Plan one function.

        Raises
        ------
        ModelTooLargeError
            If it has more operations than the limit.
        """
        if name not in self._plans:
            self._plans[name] = self._planned(name)
        return self._plans[name]

    def _planned(self, name: str) -> FunctionPlan:
        function = self._program.functions[name]
        calls = self._calls.get(name, Calls())
        work = _Split(self, function, calls)
        operations = dict(sorted(Counter(str(self._nodes[i][0]) for i in work.needed).items()))
        size = sum(operations.values())
        if size > self._options.function_limit:
            raise ModelTooLargeError(
                f"function {name!r} has {size:,} operations, more than the limit of "
                f"{self._options.function_limit:,} for one C function; use fewer bodies or "
                "segments, freeze parameters, build without it (bestiary build --functions), or "
                "prefer recursive functions (inverse_dynamics, forward_dynamics) to matrices"
            )
        return FunctionPlan(
            function,
            frozenset(work.inlined),
            work.parts(),
            work.work_size,
            operations,
            tuple(self.plan(call.function.name) for call in calls.calls),
            calls,
        )


class _Split:
    """The working data of planning one function."""

    def __init__(self, planner: Planner, function: Function, calls: Calls) -> None:
        self.nodes, self.width = planner._nodes, planner._width
        self._arguments = planner._arguments
        self.calls, self.known = calls, calls.slots
        self.outputs = [(k, o) for k, o in enumerate(function.outputs) if k not in calls.direct]
        self.guards = [g.ref for g in function.guards if g.ref not in calls.guards]
        self.refs = [*(r for _, o in self.outputs for r in o.refs), *self.guards]
        self.needed = statements(self.nodes, planner._reads, self.refs, self.known)
        self.count = max(1, -(-len(self.needed) // planner._options.part_size))
        self.inlined = self._choose_inlined()
        self.work_size = calls.work

    # -- inlining -----------------------------------------------------------
    def arguments(self, index: int) -> tuple[int, ...]:
        """Statements that a statement refers to."""
        return self._arguments[index]

    def is_operation(self, index: int) -> bool:
        return self.nodes[index][0] not in ("const", "sym") and index not in self.known

    def _choose_inlined(self) -> set[int]:
        uses: Counter[int] = Counter()
        for index in self.needed:
            uses.update(self.arguments(index))
        uses.update(abs(r) - 1 for r in self.refs)
        inlined: set[int] = set()
        widths: dict[int, int] = {}
        for index in self.needed:
            arguments = self.arguments(index)
            candidates = {a for a in arguments if self.is_operation(a) and uses[a] == 1}
            own = 3 if len(arguments) == 2 else 8
            while True:
                total = own + sum(
                    widths[a] + 2 if a in candidates else self.width(a) for a in arguments
                )
                if total <= LINE_WIDTH or not candidates:
                    break
                candidates.remove(max(candidates, key=lambda a: (widths[a], a)))
            inlined |= candidates
            widths[index] = total
        roots = {abs(r) - 1 for r in self.refs}
        inlined |= {r for r in roots if self.is_operation(r) and uses[r] == 1}
        return inlined

    def leaves(self, index: int) -> list[int]:
        """Variables and symbols that the expression of a statement reads."""
        found, stack = [], list(self.arguments(index))
        while stack:
            a = stack.pop()
            if a in self.inlined:
                stack.extend(self.arguments(a))
            elif self.nodes[a][0] != "const":
                found.append(a)
        return found

    def root_leaves(self, index: int) -> list[int]:
        """The same for a value that an output or guard takes."""
        if index in self.inlined:
            return self.leaves(index)
        return [] if self.nodes[index][0] == "const" else [index]

    # -- parts --------------------------------------------------------------
    @cached_property
    def statements(self) -> list[int]:
        return [i for i in self.needed if i not in self.inlined]

    def parts(self) -> tuple[Part, ...]:
        """Cut the statements, place outputs and guards, hand out slots."""
        home = self._homes()
        parts = [Part() for _ in range(self.count)]
        reads: list[Counter[int]] = [Counter() for _ in parts]
        for index in self.statements:
            parts[home[index]].statements.append(index)
            reads[home[index]].update(self.leaves(index))

        def place(ref: int) -> int:
            leaves = self.root_leaves(abs(ref) - 1)
            k = max((home[a] for a in leaves if a in home), default=0)
            reads[k].update(leaves)
            return k

        for number, output in self.outputs:
            for position, ref in enumerate(output.refs):
                parts[place(ref)].entries.append(Entry(number, position, ref))
        for ref in self.guards:
            parts[place(ref)].guards.append(ref)
        for part, read in zip(parts, reads, strict=True):
            part.symbols = Counter(
                {a: n for a, n in sorted(read.items()) if a not in home and a not in self.known}
            )
        self._hand_out_slots(parts, reads, home)
        return tuple(p for p in parts if p.statements or p.entries or p.guards)

    def _homes(self) -> dict[int, int]:
        """The part of each statement: equal sizes, cut where few values are alive."""
        statements = self.statements
        weights = [1 + self._inlined_below(i) for i in statements]
        total, passed = sum(weights), []
        running = 0
        for w in weights:
            running += w
            passed.append(running)
        alive = self._alive_after(statements)
        cuts: list[int] = []
        slack = 0.15 * total / self.count
        for k in range(1, self.count):
            target = k * total / self.count
            first, last = bisect_left(passed, target - slack), bisect_right(passed, target + slack)
            near = range(max(first, cuts[-1] + 1 if cuts else 0), last)
            if near:
                cuts.append(min(near, key=lambda j: (alive[j], abs(passed[j] - target), j)))
        home, part = {}, 0
        for j, index in enumerate(statements):
            home[index] = part
            if part < len(cuts) and j == cuts[part]:
                part += 1
        self.count = part + 1
        return home

    def _inlined_below(self, index: int) -> int:
        return sum(1 + self._inlined_below(a) for a in self.arguments(index) if a in self.inlined)

    def _alive_after(self, statements: Sequence[int]) -> list[int]:
        """How many values are alive after each statement (outputs end at once)."""
        position = {index: j for j, index in enumerate(statements)}
        last = dict(position)
        for index in statements:
            for a in self.leaves(index):
                if a in position:
                    last[a] = max(last[a], position[index])
        change = [0] * (len(statements) + 1)
        for index, end in last.items():
            change[position[index]] += 1
            change[end] -= 1
        alive, running = [], 0
        for j in range(len(statements)):
            running += change[j]
            alive.append(running)
        return alive

    def _hand_out_slots(
        self, parts: Sequence[Part], reads: Sequence[Counter[int]], home: Mapping[int, int]
    ) -> None:
        last: dict[int, int] = {}
        for k, read in enumerate(reads):
            for a in read:
                if a in home and home[a] < k:
                    last[a] = k
        free: list[int] = []
        ends: dict[int, list[int]] = {}
        for k, part in enumerate(parts):
            free = sorted([*free, *ends.pop(k - 1, [])])
            for index in part.statements:
                if index not in last:
                    continue
                slot = free.pop(0) if free else self.work_size
                self.work_size = max(self.work_size, slot + 1)
                part.stores[index] = slot
                ends.setdefault(last[index], []).append(slot)
        slots = {i: s for part in parts for i, s in part.stores.items()}
        for k, read in enumerate(reads):
            parts[k].loads = {
                a: self.known[a][0] if a in self.known else slots[a]
                for a in sorted(read)
                if a in self.known or (a in home and home[a] < k)
            }
