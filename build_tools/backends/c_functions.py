"""C text of planned functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bestiary.modeling.program import Function, Program
from bestiary.modeling.program.builder import Node

from .c_calls import Call
from .c_names import ProgramNames
from .c_plan import FunctionPlan, Part
from .c_printer import Precision, Printer, helper_of

INDENT = "    "


class FunctionWriter:
    """Prints functions of one program in one precision."""

    def __init__(self, program: Program, names: ProgramNames, precision: Precision) -> None:
        self._program, self._names, self._precision = program, names, precision
        self._nodes = program.nodes
        self._groups = {g.name: g for g in program.groups if g.symbols}

    # -- signatures ---------------------------------------------------------
    def input_arguments(self, function: Function) -> list[tuple[str, str]]:
        """(group, C declaration) of the inputs that a function takes."""
        return [
            (name, self._input_declaration(name))
            for name in function.inputs
            if name in self._groups
        ]

    def output_arguments(self, function: Function) -> list[tuple[str, str]]:
        """(C name, C declaration) of the outputs."""
        names = [self._names.arguments[function.name, o.name] for o in function.outputs]
        return [(n, f"{self._precision.type} *{self._names.macro}_RESTRICT {n}") for n in names]

    def symbol_of(self, name: str) -> str:
        """C name of a function (``mass_matrix`` → ``sea_lion_mass_matrix_f64``)."""
        return f"{self._names.prefix}_{name}_{self._precision.tag}"

    def prototype(self, function: Function) -> str:
        """``int name(arguments)``, one argument a line."""
        arguments = [
            *(d for _, d in self.input_arguments(function)),
            *(d for _, d in self.output_arguments(function)),
        ]
        return f"int {self.symbol_of(function.name)}({_listed(arguments)})"

    def _input_declaration(self, group: str) -> str:
        restrict = f"{self._names.macro}_RESTRICT"
        if self._groups[group].is_struct:
            return f"const {self._names.prefix}_{group}_{self._precision.tag} *{restrict} {group}"
        return f"const {self._precision.type} *{restrict} {group}"

    # -- bodies -------------------------------------------------------------
    def definition(self, plan: FunctionPlan) -> str:
        """The whole function, its parts before it."""
        if len(plan.parts) <= 1 and not plan.calls.calls:
            return self._single(plan)
        pieces = [self._part(plan, k) for k in range(len(plan.parts))]
        return "\n\n".join([*pieces, self._caller(plan)])

    def helpers(self, plan: FunctionPlan) -> set[str]:
        """Static helpers that the function calls."""
        found = {helper_of(op) for op in plan.own_operations} - {None}
        if plan.function.guards:
            found.add("all_finite")
        return {name for name in found if name}

    def _single(self, plan: FunctionPlan) -> str:
        function, part = plan.function, (plan.parts or (Part(),))[0]
        macro = self._names.macro
        lines = self._unused(plan, self._reads(part))
        if function.guards:
            lines.append(f"int status = {macro}_OK;")
            lines.append("")
        lines += self._body(plan, part)
        lines += self._finite_checks(plan)
        lines.append(f"return {'status' if function.guards else f'{macro}_OK'};")
        return _block(self.prototype(function), lines)

    def _caller(self, plan: FunctionPlan) -> str:
        function, macro = plan.function, self._names.macro
        used = {g for part in plan.parts for g in self._reads(part)}
        used |= {g for call in plan.calls.calls for g in call.function.inputs}
        lines = []
        if plan.work_size:
            lines.append(f"{self._precision.type} work[{plan.work_size}];")
        if function.guards:
            lines.append(f"int status = {macro}_OK;")
        if function.guards and any(call.function.guards for call in plan.calls.calls):
            lines.append("int called;")
        lines += self._unused(plan, used)
        lines.append("")
        for other in plan.calls.calls:
            lines += self._call(plan, other)
        for k, part in enumerate(plan.parts):
            call = f"{self._part_name(plan, k)}({', '.join(self._part_arguments(plan, part))})"
            if part.guards:
                lines += [f"if ({call} != {macro}_OK) {{", f"{INDENT}status = {macro}_SINGULAR;"]
                lines.append("}")
            else:
                lines.append(f"{call};")
        lines += self._finite_checks(plan)
        lines.append(f"return {'status' if function.guards else f'{macro}_OK'};")
        return _block(self.prototype(function), lines)

    def _call(self, plan: FunctionPlan, call: Call) -> list[str]:
        """A call of another function; what fails there fails here."""
        names = [name for name, _ in self.output_arguments(plan.function)]
        places = {"work": "&work[{}]", "output": "{}"}
        arguments = [g for g, _ in self.input_arguments(call.function)]
        arguments += [
            "0"
            if target is None
            else places[target[0]].format(target[1] if target[0] == "work" else names[target[1]])
            for target in call.targets
        ]
        text = f"{self.symbol_of(call.function.name)}({', '.join(arguments)});"
        lines = [f"(void){text}"]
        if call.function.guards and plan.function.guards:  # else they guard what is not asked for
            ok = f"{self._names.macro}_OK"
            lines = [
                f"called = {text}",
                f"if (status == {ok}) {{",
                f"{INDENT}status = called;",
                "}",
            ]
        if call.output is None:
            return lines
        head = f"if ({names[call.output]} != 0) {{"
        return [head, *(f"{INDENT}{line}" for line in lines), "}"]

    def _part(self, plan: FunctionPlan, number: int) -> str:
        part, macro = plan.parts[number], self._names.macro
        declarations = dict(self.input_arguments(plan.function))
        declarations.update(self.output_arguments(plan.function))
        declarations["work"] = f"{self._precision.type} *{macro}_RESTRICT work"
        if part.loads and not part.stores:
            declarations["work"] = f"const {declarations['work']}"
        arguments = [declarations[a] for a in self._part_arguments(plan, part)]
        kind = "int" if part.guards else "void"
        head = (
            f"static {macro}_NOINLINE {kind} {self._part_name(plan, number)}({_listed(arguments)})"
        )
        lines = [f"int status = {macro}_OK;", ""] if part.guards else []
        lines += self._body(plan, part)
        if part.guards:
            lines.append("return status;")
        return _block(head, lines)

    def _part_name(self, plan: FunctionPlan, number: int) -> str:
        return self.symbol_of(f"{plan.function.name}_part{number + 1}")

    def _part_arguments(self, plan: FunctionPlan, part: Part) -> list[str]:
        reads = self._reads(part)
        outputs = {e.output for e in part.entries}
        names = [name for name, _ in self.output_arguments(plan.function)]
        return [
            *(g for g, _ in self.input_arguments(plan.function) if g in reads),
            *(n for k, n in enumerate(names) if k in outputs),
            *(["work"] if part.loads or part.stores else []),
        ]

    def _reads(self, part: Part) -> set[str]:
        return {self._names.groups[s] for s in part.symbols}

    def _unused(self, plan: FunctionPlan, used: Iterable[str]) -> list[str]:
        return [
            f"(void){group};"
            for group, _ in self.input_arguments(plan.function)
            if group not in used
        ]

    def _body(self, plan: FunctionPlan, part: Part) -> list[str]:
        """Statements, outputs and guards of a part."""
        body = _Body(self._nodes, self._names, self._precision, plan, part)
        lines = body.statements()
        names = [name for name, _ in self.output_arguments(plan.function)]
        for number, name in enumerate(names):
            entries = [e for e in part.entries if e.output == number]
            if entries:
                lines.append(f"if ({name} != 0) {{")
                lines += [
                    f"{INDENT}{name}[{e.position}] = {body.printer.reference(e.ref)};"
                    for e in entries
                ]
                lines.append("}")
        zero = self._precision.literal(0)
        for ref in part.guards:
            lines.append(f"if (!({body.printer.reference(ref)} > {zero})) {{")
            lines += [f"{INDENT}status = {self._names.macro}_SINGULAR;", "}"]
        return lines

    def _finite_checks(self, plan: FunctionPlan) -> list[str]:
        """Checks of every output entry that is not a constant."""
        if not plan.function.guards:
            return []
        lines = []
        macro = self._names.macro
        for output, (name, _) in zip(
            plan.function.outputs, self.output_arguments(plan.function), strict=True
        ):
            runs = _runs([self._nodes[abs(r) - 1][0] != "const" for r in output.refs])
            if not runs:
                continue
            lines.append(f"if ((status == {macro}_OK) && ({name} != 0)) {{")
            conditions = [
                f"all_finite({f'&{name}[{start}]' if start else name}, {count})"
                for start, count in runs
            ]
            lines.append(f"{INDENT}if (!({conditions[0]}")
            lines += [f"{INDENT}        && {c}" for c in conditions[1:]]
            lines[-1] += ")) {"
            lines += [f"{INDENT}{INDENT}status = {macro}_NOT_FINITE;", f"{INDENT}}}", "}"]
        return lines


class _Body:
    """The statements of one part."""

    def __init__(
        self,
        nodes: Sequence[Node],
        names: ProgramNames,
        precision: Precision,
        plan: FunctionPlan,
        part: Part,
    ) -> None:
        self._nodes, self._names, self._part = nodes, names, part
        self._type = precision.type
        self._inlined, self._known = plan.inlined, plan.calls.slots
        self._declared: set[int] = set()
        self.printer = Printer(
            nodes,
            names,
            precision,
            plan.inlined.__contains__,
            lambda index: part.symbols[index] == 1,
        )

    def statements(self) -> list[str]:
        lines: list[str] = []
        for index in self._part.statements:
            lines += self._declarations(index)
            self._define(lines, index, self.printer.definition(index))
            if index in self._part.stores:
                lines.append(f"work[{self._part.stores[index]}] = {self._names.statements[index]};")
        for ref in [*(e.ref for e in self._part.entries), *self._part.guards]:
            index = abs(ref) - 1
            if index in self._inlined:
                lines += self._declarations(index)
            else:
                self._declare(lines, index)
        return lines

    def _declarations(self, index: int) -> list[str]:
        """Declarations of the symbols and loaded values that an expression reads first."""
        lines: list[str] = []
        for ref in self._nodes[index][1:]:
            a = abs(int(ref)) - 1
            if a in self._inlined:
                lines += self._declarations(a)
            else:
                self._declare(lines, a)
        return lines

    def _declare(self, lines: list[str], index: int) -> None:
        if index in self._declared:
            return
        if self._part.symbols.get(index, 0) > 1:
            self._define(lines, index, self._names.places[index])
        elif index in self._part.loads:
            sign = "-" if self._known.get(index, (0, 1))[1] < 0 else ""
            self._define(lines, index, f"{sign}work[{self._part.loads[index]}]")

    def _define(self, lines: list[str], index: int, value: str) -> None:
        self._declared.add(index)
        lines.append(f"const {self._type} {self._names.variable(index)} = {value};")


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """(start, length) of each run of True."""
    runs: list[tuple[int, int]] = []
    for k, flag in enumerate(flags):
        if flag and runs and sum(runs[-1]) == k:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        elif flag:
            runs.append((k, 1))
    return runs


def _listed(arguments: Sequence[str]) -> str:
    if not arguments:
        return "void"
    return "\n" + ",\n".join(f"{INDENT}{a}" for a in arguments)


def _block(head: str, lines: Sequence[str]) -> str:
    inner = "\n".join(f"{INDENT}{line}" if line else "" for line in lines)
    return f"{head}\n{{\n{inner}\n}}"
