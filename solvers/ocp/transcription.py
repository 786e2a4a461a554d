"""From a problem and meshes to a nonlinear program: which number stands where.

The decision vector holds, phase by phase and in order of time, the states of
each state node followed by the controls and algebraic variables of the rate
node there; then free times, values of integrals, control end values, and the
parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import casadi as ca
import numpy as np

from .blocks import Block, NodeFunction
from .functions import PhaseFunctions
from .mesh import Layout, Mesh
from .nlp import NonlinearProgram
from .numbering import PhaseIndices, Rows, direct, joined, joined_interval
from .problem import OptimalControlProblem
from .schemes import Scheme, lagrange_values
from .sparse import Triplets
from .variable_bounds import bound_variables

Array: TypeAlias = np.ndarray

SHORTEST_SECTION = 0.02
"""A section keeps at least this part of the length it began with."""


class Transcription:
    """A problem on meshes with a scheme: the program and the way back from its vector.

    Attributes
    ----------
    program:
        The nonlinear program, in physical units.
    phases:
        Indices by phase, in order.
    parameters:
        (ns,) entries of the parameters.
    """

    def __init__(
        self,
        problem: OptimalControlProblem,
        functions: Sequence[PhaseFunctions],
        meshes: Sequence[Mesh],
        scheme: Scheme,
    ) -> None:
        self.problem, self.scheme = problem, scheme
        self.meshes = tuple(meshes)
        self._next = 0
        self.phases = [
            self._number(f, Layout(mesh, scheme)) for f, mesh in zip(functions, meshes, strict=True)
        ]
        self.parameters = self._take(len(problem.parameters))
        rows = Rows()
        blocks: list[Block] = []
        for indices in self.phases:
            blocks += (
                self._shots(indices, rows) if scheme.shoots else self._collocate(indices, rows)
            )
            self._knots(indices, rows)
            self._control_ends(indices, rows)
            self._fences(indices, rows)
            self._joins(indices, rows)
        boundary = self._boundary(rows)
        if boundary is not None:
            blocks.append(boundary)
        r, c, v = (
            (np.concatenate(parts) for parts in zip(*rows.entries, strict=True))
            if rows.entries
            else (np.empty(0, int), np.empty(0, int), np.empty(0))
        )
        linear = Triplets(r, c, v, (rows.count, self._next))
        self.program = NonlinearProgram(
            self._next,
            blocks,
            rows.groups,
            linear,
            joined(rows.lower),
            joined(rows.upper),
            len(problem.constants),
        )
        self.program.row_scale = joined(rows.scale)
        bound_variables(self)

    # -- numbering ---------------------------------------------------------
    def _take(self, count: int) -> Array:
        taken = np.arange(self._next, self._next + count)
        self._next += count
        return taken

    def _number(self, functions: PhaseFunctions, layout: Layout) -> PhaseIndices:
        phase = functions.phase
        nx, nu, nz = len(functions.states), len(functions.controls), len(functions.algebraics)
        # a node's states, then controls and algebraic variables of each rate node there
        width = nu + nz
        owner = layout.rate_state  # never decreases
        first = np.searchsorted(owner, np.arange(len(layout.state_place) + 1))
        starts = np.arange(len(layout.state_place)) * nx + first[:-1] * width + self._next
        self._take(len(layout.state_place) * nx + len(owner) * width)
        states = starts[:, None] + np.arange(nx)
        own = starts[owner] + nx + (np.arange(len(owner)) - first[owner]) * width
        controls = own[:, None] + np.arange(nu)
        algebraics = own[:, None] + nu + np.arange(nz)
        knots = len(layout.mesh.sections) - 1
        times = np.full(knots + 2, -1)
        fixed = np.full(knots + 2, np.nan)
        for place, ends in ((0, phase.start_range), (knots + 1, phase.end_range)):
            if ends[0] == ends[1]:
                fixed[place] = ends[0]
            else:
                times[place] = self._take(1)[0]
        if knots:
            times[1:-1] = self._take(knots)
        endpoints = {}
        for key in phase.endpoint_symbols:
            if any(v.name == key[1] for v in functions.controls):
                endpoints[key] = int(self._take(1)[0])
        return PhaseIndices(
            phase,
            functions,
            layout,
            states,
            controls,
            algebraics,
            times,
            fixed,
            self._take(len(phase.integrals)),
            endpoints,
        )

    # -- collocation -------------------------------------------------------
    def _inputs(self, indices: PhaseIndices, section: Array, parts: Sequence[Array]) -> Array:
        """Decision part of a block's arguments at nodes in some sections."""
        n = len(section)
        columns = [*parts, np.broadcast_to(self.parameters, (n, len(self.parameters)))]
        if indices.free_times:
            columns += [indices.times[section][:, None], indices.times[section + 1][:, None]]
            if indices.functions.uses_phase_times:
                columns += [np.full((n, 1), indices.times[0]), np.full((n, 1), indices.times[-1])]
        return np.hstack(columns).astype(int)

    def _constants(
        self, indices: PhaseIndices, section: Array, parts: Sequence[Array]
    ) -> tuple[Array, Array]:
        n, count = len(section), len(self.problem.constants)
        columns = [np.full((n, count), np.nan)]
        if not indices.free_times:
            t = indices.fixed_times
            columns += [t[section][:, None], t[section + 1][:, None]]
            if indices.functions.uses_phase_times:
                columns += [np.full((n, 1), t[0]), np.full((n, 1), t[-1])]
        values = np.hstack([*columns, *(p[:, None] for p in parts)])
        places = np.full(values.shape, -1)
        places[:, :count] = np.arange(count)
        return values, places

    def _collocate(self, indices: PhaseIndices, rows: Rows) -> list[Block]:
        layout, functions, phase = indices.layout, indices.functions, indices.phase
        self._free_all_times(indices)
        node = functions.node(indices.free_times)
        section = layout.rate_section
        inputs = self._inputs(
            indices,
            section,
            [indices.states[layout.rate_state], indices.controls, indices.algebraics],
        )
        constants, places = self._constants(indices, section, [layout.rate_place])
        nx, ny = len(functions.states), node.size_y
        row, place, weight = [], [], []
        names = [v.name for v in functions.states]
        units = [v.unit for v in functions.states]
        where = np.stack([layout.state_section[1:], layout.state_place[1:]], 1)
        numbers = rows.add(
            "dynamics", phase.name, names, units, where, np.zeros(nx), np.zeros(nx), np.ones(nx)
        )
        component = np.arange(nx)
        quadrature = np.zeros(len(layout.rate_state))
        for degree, alike in layout.by_degree.items():
            basis = self.scheme.basis(degree)
            fraction = np.array([i.fraction for i in alike])[:, None]
            states = np.stack([i.states for i in alike])
            rates = np.stack([i.rates for i in alike])
            own = numbers[states[:, 1:] - 1]  # rows are those of the states but the first
            a, b = np.nonzero(basis.defect_states)
            rows.linear(own[:, a], indices.states[states[:, b]], basis.defect_states[a, b][:, None])
            a, b = np.nonzero(basis.defect_rates)
            row.append(own[:, a].ravel())
            place.append((rates[:, b, None] * ny + component).ravel())
            weight.append(np.repeat((-fraction * basis.defect_rates[a, b]).ravel(), nx))
            np.add.at(quadrature, rates, fraction * basis.weights)
        count = len(layout.rate_state)
        at = np.stack([section, layout.rate_place], 1)
        offset = nx
        if phase.equations:
            found = rows.add(
                "equation",
                phase.name,
                list(phase.equations),
                [u for _, u, _ in phase.equations.values()],
                at,
                np.zeros(1),
                np.zeros(1),
                np.array([np.nan if n is None else n for _, _, n in phase.equations.values()]),
            )
            direct(found, offset, ny, row, place, weight)
            offset += len(phase.equations)
        if phase.paths:
            found = rows.add(
                "path",
                phase.name,
                [p.name for p in phase.paths],
                [p.unit for p in phase.paths],
                at,
                np.array([p.bounds[0] for p in phase.paths]),
                np.array([p.bounds[1] for p in phase.paths]),
                np.full(len(phase.paths), np.nan),
            )
            indices.path_rows = found
            direct(found, offset, ny, row, place, weight)
            offset += len(phase.paths)
        if phase.integrals:
            found = self._integral_rows(indices, rows)
            for k in range(len(phase.integrals)):
                row.append(np.full(count, found[0, k]))
                place.append(np.arange(count) * ny + offset + k)
                weight.append(-quadrature)
        indices.node_block = Block(
            node, inputs, constants, joined(row), joined(place), joined(weight), places
        )
        blocks = [indices.node_block]
        if phase.cost_integrals:
            indices.cost_block = Block(
                functions.cost(indices.free_times),
                inputs,
                constants,
                np.full(count, -1),
                np.arange(count),
                quadrature,
                places,
            )
            blocks.append(indices.cost_block)
        return blocks

    def _integral_rows(self, indices: PhaseIndices, rows: Rows) -> Array:
        terms = indices.phase.integrals
        found = rows.add(
            "integral",
            indices.phase.name,
            [t.name for t in terms],
            [t.unit for t in terms],
            np.empty((0, 2)),
            np.zeros(1),
            np.zeros(1),
            np.full(len(terms), np.nan),
        )
        rows.linear(found[0], indices.integrals, np.ones(1))
        return found

    def _free_all_times(self, indices: PhaseIndices) -> None:
        """Blocks take all times as variables or none: fixed ones then get equal bounds."""
        if indices.free_times:
            missing = np.flatnonzero(indices.times < 0)
            indices.times[missing] = self._take(len(missing))

    # -- shooting ----------------------------------------------------------
    def _shots(self, indices: PhaseIndices, rows: Rows) -> list[Block]:
        layout, functions, phase = indices.layout, indices.functions, indices.phase
        self._free_all_times(indices)
        shot = functions.shot(indices.free_times, self.scheme)
        section = np.array([i.section for i in layout.intervals])
        starts = np.array([i.states[0] for i in layout.intervals])
        ends = np.array([i.states[-1] for i in layout.intervals])
        held = np.stack([i.rates for i in layout.intervals])
        controls = [indices.controls[held[:, k]] for k in range(held.shape[1])]
        inputs = self._inputs(indices, section, [indices.states[starts], *controls])
        fractions = np.array([i.fraction for i in layout.intervals])
        begin = np.array([i.start for i in layout.intervals])
        constants, places = self._constants(indices, section, [begin, fractions])
        nx, count = len(functions.states), len(starts)
        at = np.stack([section, begin + fractions], 1)
        numbers = rows.add(
            "dynamics",
            phase.name,
            [v.name for v in functions.states],
            [v.unit for v in functions.states],
            at,
            np.zeros(nx),
            np.zeros(nx),
            np.ones(nx),
        )
        rows.linear(numbers, indices.states[ends], np.ones(1))
        ny = shot.size_y
        base = np.arange(count)[:, None] * ny
        row = [numbers.ravel()]
        place = [(base + np.arange(nx)).ravel()]
        weight = [np.full(numbers.size, -1.0)]
        if phase.integrals:
            found = self._integral_rows(indices, rows)
            for k in range(len(phase.integrals)):
                row.append(np.full(count, found[0, k]))
                place.append(base[:, 0] + nx + k)
                weight.append(np.full(count, -1.0))
        if phase.cost_integrals:
            row.append(np.full(count, -1))
            place.append(base[:, 0] + ny - 1)
            weight.append(np.ones(count))
        blocks = [
            Block(shot, inputs, constants, joined(row), joined(place), joined(weight), places)
        ]
        if phase.paths:
            blocks.append(self._shooting_paths(indices, rows))
        return blocks

    def _shooting_paths(self, indices: PhaseIndices, rows: Rows) -> Block:
        """Path constraints at the control nodes, with the state of the node they belong to."""
        layout, functions, phase = indices.layout, indices.functions, indices.phase
        node = functions.node(indices.free_times)
        section = layout.rate_section
        inputs = self._inputs(
            indices,
            section,
            [indices.states[layout.rate_state], indices.controls, indices.algebraics],
        )
        constants, places = self._constants(
            indices, section, [layout.state_place[layout.rate_state]]
        )
        at = np.stack([section, layout.rate_place], 1)
        found = rows.add(
            "path",
            phase.name,
            [p.name for p in phase.paths],
            [p.unit for p in phase.paths],
            at,
            np.array([p.bounds[0] for p in phase.paths]),
            np.array([p.bounds[1] for p in phase.paths]),
            np.full(len(phase.paths), np.nan),
        )
        row: list[Array] = []
        place: list[Array] = []
        weight: list[Array] = []
        direct(found, len(functions.states), node.size_y, row, place, weight)
        return Block(node, inputs, constants, joined(row), joined(place), joined(weight), places)

    # -- times, ends, boundary ---------------------------------------------
    def _knots(self, indices: PhaseIndices, rows: Rows) -> None:
        """The duration keeps its range, and sections keep their order."""
        phase, times = indices.phase, indices.times
        low, high = phase.duration_range
        fixed_start = phase.start_range[0] == phase.start_range[1]
        if not indices.free_times:
            return
        if not fixed_start:
            found = rows.add(
                "knot",
                phase.name,
                ["duration"],
                ["s"],
                np.empty((0, 2)),
                np.array([low]),
                np.array([high]),
                np.full(1, np.nan),
            )
            rows.linear(found[0], times[[-1, 0]], np.array([1.0, -1.0]))
        if len(times) > 2:
            # (t_k+1 - t_k) >= share of the phase's length: linear in the times
            b = indices.layout.mesh.boundaries
            names = [f"section {k + 1}" for k in range(len(times) - 1)]
            found = rows.add(
                "knot",
                phase.name,
                names,
                ["s"] * len(names),
                np.empty((0, 2)),
                np.zeros(1),
                np.full(1, np.inf),
                np.full(len(names), np.nan),
            )[0]
            share = SHORTEST_SECTION * np.diff(b)
            rows.linear(found, times[1:], np.ones(1))
            rows.linear(found, times[:-1], -np.ones(1))
            rows.linear(found, times[-1], -share)
            rows.linear(found, times[0], share)

    def _control_ends(self, indices: PhaseIndices, rows: Rows) -> None:
        """Variables that hold the control polynomials' values at the ends of the phase."""
        names = [v.name for v in indices.functions.controls]
        for (where, name), variable in indices.endpoints.items():
            interval = indices.layout.intervals[0 if where == "start" else -1]
            nodes = self.scheme.basis(interval.degree).rates
            values = lagrange_values(nodes, np.array([0.0 if where == "start" else 1.0]))[0]
            k = names.index(name)
            unit = indices.functions.controls[k].unit
            found = rows.add(
                "end value",
                indices.phase.name,
                [f"{name} at {where}"],
                [unit],
                np.empty((0, 2)),
                np.zeros(1),
                np.zeros(1),
                np.full(1, np.nan),
            )[0]
            rows.linear(found, np.array([variable]), np.ones(1))
            rows.linear(found, indices.controls[interval.rates, k], -values)

    def _fences(self, indices: PhaseIndices, rows: Rows) -> None:
        """Bounds of control polynomials at ends of intervals without a node (Radau, Gauss)."""
        controls = indices.functions.controls
        for k, variable in enumerate(controls):
            low, high = variable.bounds
            places, entries = [], []
            for interval in indices.layout.intervals:
                section = indices.layout.mesh.sections[interval.section]
                held = any(h.kind == "control" and h.number == k for h in section.held)
                nodes = self.scheme.basis(interval.degree).rates
                if k not in section.fenced or held or len(nodes) < 2:
                    continue
                met = {float(j.end) for j in section.joined if j.number == k}
                for end in (0.0, 1.0):
                    at = interval.start + end * interval.fraction
                    if at in met and at == end:
                        continue  # it is at its limit there
                    if not np.any(np.abs(nodes - end) < 1e-12):
                        places.append((interval.section, interval.start + end * interval.fraction))
                        values = lagrange_values(nodes, np.array([end]))[0]
                        entries.append((indices.controls[interval.rates, k], values))
            if not entries:
                continue
            found = rows.add(
                "fence", indices.phase.name, [f"{variable.name} at edges"], [variable.unit],
                np.array(places), np.array([low]), np.array([high]), np.full(1, np.nan),
            )  # fmt: skip
            for row, (columns, values) in zip(found[:, 0], entries, strict=True):
                rows.linear(np.full(len(columns), row), columns, values)

    def _joins(self, indices: PhaseIndices, rows: Rows) -> None:
        """Controls that meet their limits at ends of sections without a node (Radau, Gauss)."""
        for number, section in enumerate(indices.layout.mesh.sections):
            for join in section.joined:
                node, rates, weights = joined_interval(indices.layout, number, join.end)
                if node is not None or len(rates) < 2:
                    continue  # a bound of the node keeps it there; a constant meets nothing
                variable = indices.functions.controls[join.number]
                limit = np.array([variable.bounds[0 if join.side < 0 else 1]])
                found = rows.add(
                    "join", indices.phase.name, [f"{variable.name} at a knot"], [variable.unit],
                    np.array([(number, float(join.end))]), limit, limit, np.full(1, np.nan),
                )[0, 0]  # fmt: skip
                indices.joins[number, join] = int(found)
                rows.linear(
                    np.full(len(rates), found), indices.controls[rates, join.number], weights
                )

    def _boundary(self, rows: Rows) -> Block | None:
        problem = self.problem
        symbols, places, fixed, values = self._boundary_symbols()
        constraints, costs = problem.boundaries, problem.costs
        y = ca.vertcat(*(b.expression for b in constraints), *(c.expression for c in costs))
        if not len(constraints) + len(costs):
            return None
        used = {s.element_hash() for s in ca.symvar(ca.SX(y))}
        picked = [k for k, s in enumerate(symbols) if s.element_hash() in used]
        w = ca.vertcat(*(symbols[k] for k in picked)) if picked else ca.SX(0, 1)
        p = ca.vertcat(ca.SX(0, 1), *(v.symbol for v in problem.constants))
        c = ca.vertcat(p, *fixed)
        function = NodeFunction("boundary", w, c, ca.SX(y))
        count = len(problem.constants)
        constants = np.concatenate([np.full(count, np.nan), values])[None, :]
        constant_places = np.full(constants.shape, -1)
        constant_places[0, :count] = np.arange(count)
        row = np.full(function.size_y, -1)
        if constraints:
            row[: len(constraints)] = rows.add(
                "boundary",
                "",
                [b.name for b in constraints],
                [b.unit for b in constraints],
                np.empty((0, 2)),
                np.array([b.bounds[0] for b in constraints]),
                np.array([b.bounds[1] for b in constraints]),
                np.full(len(constraints), np.nan),
            )[0]
        inputs = np.array([places[k] for k in picked], dtype=int)[None, :]
        return Block(
            function,
            inputs,
            constants,
            row,
            np.arange(function.size_y),
            np.ones(function.size_y),
            constant_places,
        )

    def _boundary_symbols(self) -> tuple[list[ca.SX], list[int], list[ca.SX], Array]:
        """Symbols of end values with their entries; fixed times with their values."""
        symbols: list[ca.SX] = []
        places: list[int] = []
        fixed: list[ca.SX] = []
        values: list[float] = []
        for indices in self.phases:
            phase = indices.phase
            for symbol, k in ((phase.start_time, 0), (phase.end_time, -1)):
                if indices.times[k] >= 0:
                    symbols.append(symbol)
                    places.append(int(indices.times[k]))
                else:
                    fixed.append(symbol)
                    values.append(float(indices.fixed_times[k]))
            names = [v.name for v in indices.functions.states]
            for (where, name), symbol in phase.endpoint_symbols.items():
                symbols.append(symbol)
                if (where, name) in indices.endpoints:
                    places.append(indices.endpoints[where, name])
                else:
                    node = 0 if where == "start" else -1
                    places.append(int(indices.states[node, names.index(name)]))
            for term, place in zip(phase.integrals, indices.integrals, strict=True):
                assert term.symbol is not None
                symbols.append(term.symbol)
                places.append(int(place))
        symbols += [v.symbol for v in self.problem.parameters]
        places += [int(k) for k in self.parameters]
        return symbols, places, fixed, np.array(values)

    # -- bounds ------------------------------------------------------------
