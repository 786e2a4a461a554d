"""Tracking controllers: inverse dynamics of a split robot, emitted as C like everything else.

Let the tracked coordinates have the accelerations

    v = q̈_d + 2λ(q̇_d − q̇) + λ²(q_d − q) ,

which makes each tracking error critically damped, e(t) = (a + b t) exp(−λt).
The velocities fall into tracked ones (T), untracked ones with an input (A) and
untracked ones without (R).  With β = M v + C p + F − Q(q, p, 0), where v is
zero outside of T, the equations of motion read row by row

    T:  β_T + M_TA a_A + M_TR a_R = u_T          R:  β_R + M_RA a_A + M_RR a_R = 0

and what is left of the accelerations, a_A and a_R, follows:

* everything tracked: *computed torque*, u = β;
* all tracked coordinates have an input: *collocated* partial feedback
  linearization, a_R = −M_RR⁻¹ β_R (M_RR is positive definite: always solvable);
* some, U ⊂ T, have none: *non-collocated* partial feedback linearization through
  the coupling N = M_UA − M_UR M_RR⁻¹ M_RA,

      a_A = −Nᵀ (N Nᵀ)⁻¹ (β_U − M_UR M_RR⁻¹ β_R) .

  Motions a_A that leave U alone stay free and undamped.

Limits: u = u₀ + u_v, where u₀ makes v = 0 (it carries weight, contact, damping and
velocity forces) and u_v is linear in v.  If an input would exceed its limit, u_v is
shortened as a whole, u = u₀ + s u_v with the largest 0 < s ≤ 1 that fits: the tracked
accelerations become s v and keep their direction.  (Cutting each input by itself
lets one joint throw the next: a light tail then winds up.)  Where u₀ alone leaves an
input less than a tenth of its limit, u_v may still use a tenth, and that input is cut.

Contact and damping are compensated as part of Q(q, p, 0).  No inverse is ever
formed: M_RR and N Nᵀ are factored as LᵀDL.  After Spong, *Partial feedback
linearization of underactuated mechanical systems* (IROS 1994).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import ModelError
from .formalisms.factorization import solve_symmetric
from .names import identifier
from .program import Function, InputGroup, ProgramSymbol, Scalar
from .program.functions import absolute, maximum, minimum, select
from .program.program import output

if TYPE_CHECKING:
    from .model import Model

WEAKEST_COUPLING = 1e-4
"""Coupling N, relative to the inertias that it connects, below which a robot is singular."""

RESERVE = 0.1
"""Share of a limit that tracking may use however much weight and contact take of it."""

COMPUTED_TORQUE, COLLOCATED, NON_COLLOCATED = "computed torque", "collocated", "non-collocated"


@dataclass(frozen=True)
class Controller:
    """A tracking controller of a model: which coordinates follow, by which inputs.

    ``kind`` is "computed torque", "collocated" or "non-collocated".  The
    function is called ``<name>_step``; its input groups, after q and p, are
    ``reference`` (positions, rates, accelerations of the tracked coordinates),
    ``gains`` (their settling rates λ) and ``limits`` (largest size of each
    input), with ``tail_`` before them if the name is ``tail_controller``.
    """

    name: str
    tracked: tuple[str, ...]
    inputs: tuple[str, ...]
    kind: str

    @property
    def function(self) -> str:
        """Name of the program's function."""
        return f"{self.name}_step"

    @property
    def groups(self) -> tuple[str, str, str]:
        """Names of the input groups of reference, gains and limits."""
        stem = self.name.removesuffix("controller").rstrip("_")
        stem = f"{stem}_" if stem else ""
        return f"{stem}reference", f"{stem}gains", f"{stem}limits"


def add_tracking_controller(
    model: Model, *tracked: str, name: str = "controller", inputs: Sequence[str] | None = None
) -> Controller:
    """Give a model a controller; every formalism then derives its function.

    Parameters
    ----------
    model:
        The model; joints and inputs that the controller uses must be there.
    tracked:
        Names of single-axis coordinates (their rate is a quasi-velocity); by
        default all that an input acts on.
    name:
        The function becomes ``<name>_step``, in C ``<model>_<name>_step``.
    inputs:
        Names of the inputs to use; by default those of the tracked
        coordinates, or all inputs on joints if a tracked coordinate has none.
        Other inputs are left at zero.

    Raises
    ------
    ModelError
        For an unknown or repeated name, a coordinate without a rate of its own, an
        input that acts on no joint, or more tracked coordinates than inputs.
    """
    where = f"controller {name!r}"
    identifier(name, "controller")
    if name in model.controllers:
        raise ModelError(f"{where} is declared twice")
    by_velocity = _velocity_inputs(model, inputs, where)
    rates = {c: v for c, v in _rates(model).items() if v is not None}
    if not tracked:
        tracked = tuple(c for c, v in rates.items() if v in by_velocity)
    _check_tracked(model, tracked, where)
    wanted = {c: rates[c] for c in tracked}
    passive = [c for c, v in wanted.items() if v not in by_velocity]
    used = {v: i for v, i in by_velocity.items() if passive or v in wanted.values()}
    spare = [i for v, i in used.items() if v not in wanted.values()]
    if len(passive) > len(spare):
        raise ModelError(
            f"{where}: {len(passive)} tracked coordinates have no input ({', '.join(passive)}), "
            f"but only {len(spare)} inputs are left to move them ({', '.join(spare) or 'none'})"
        )
    if not tracked:
        raise ModelError(f"{where}: nothing to track; no input acts on a single-axis joint")
    if passive:
        kind = NON_COLLOCATED
    else:
        kind = COMPUTED_TORQUE if len(wanted) == len(model.velocities) else COLLOCATED
    controller = Controller(name, tuple(tracked), tuple(used.values()), kind)
    taken = [g for c in model.controllers.values() for g in c.groups if g in controller.groups]
    if taken:
        raise ModelError(f"{where}: another controller has the input group {taken[0]!r}")
    model.controllers[name] = controller
    return controller


def controller_groups(model: Model) -> list[InputGroup]:
    """Input groups of all controllers of a model, in the order of their functions."""
    units = {c.name: c.unit for c in model.coordinates}
    groups = []
    for controller in model.controllers.values():
        reference, gains, limits = controller.groups
        label = controller.name.replace("_", " ")
        groups += [
            InputGroup(
                reference,
                tuple(
                    ProgramSymbol(f"{c}{ending}", f"{units[c]}{per}", f"{what} of {c} to follow")
                    for ending, per, what in _JET
                    for c in controller.tracked
                ),
                f"{label}: positions, rates and accelerations to follow",
            ),
            InputGroup(
                gains,
                tuple(
                    ProgramSymbol(c, "1/s", f"settling rate of {c}, above 0")
                    for c in controller.tracked
                ),
                f"{label}: settling rates",
            ),
            InputGroup(
                limits,
                tuple(
                    ProgramSymbol(i, model.inputs[i].unit, f"largest size of {i}, above 0")
                    for i in controller.inputs
                ),
                f"{label}: limits of the inputs",
            ),
        ]
    return groups


_JET = (("", "", "position"), ("_rate", "/s", "rate"), ("_acceleration", "/s^2", "acceleration"))


@dataclass(frozen=True)
class Plant:
    """What a controller needs of a robot.

    ``bias`` is C p + F − Q(q, p, 0).
    """

    mass: Sequence[Sequence[Scalar]]
    bias: Sequence[Scalar]


def controller_function(model: Model, controller: Controller, plant: Plant) -> Function:
    """The function of a controller: inputs, limited and as the law wants them."""
    split = _Split(model, controller, plant)
    with model.builder.context(f"controller {controller.name!r}"):
        carrying = split.forces(plant.bias)
        driving = split.forces(split.pushed_by(_wanted_accelerations(model, controller)))
        limited = _limited(model, controller, carrying, driving)
        zero = model.builder.constant(0)
        free = [carrying[i] + driving[i] if i in carrying else zero for i in model.inputs]
        held = [limited.get(i, zero) for i in model.inputs]
    nu = len(held)
    return Function(
        controller.function,
        ("parameters", "q", "p", *controller.groups),
        (
            output("inputs", (nu,), held, "u, no larger than the limits"),
            output("unlimited_inputs", (nu,), free, "u that would follow exactly"),
        ),
        f"{_TITLE[controller.kind]}: inputs by which {', '.join(controller.tracked)} follow a "
        "reference.",
    )


def _limited(
    model: Model,
    controller: Controller,
    carrying: Mapping[str, Scalar],
    driving: Mapping[str, Scalar],
) -> dict[str, Scalar]:
    """The inputs u₀ + s u_v, and no more than the limits."""
    limits = {
        i: model.builder.symbol(controller.groups[2], i, model.inputs[i].unit) for i in carrying
    }
    share = model.builder.constant(1)
    for i, limit in limits.items():
        against = select(driving[i], carrying[i], -carrying[i])
        room = maximum(limit - against, RESERVE * limit)
        share = minimum(share, room / maximum(absolute(driving[i]), room))
    return {
        i: maximum(-limit, minimum(carrying[i] + share * driving[i], limit))
        for i, limit in limits.items()
    }


_TITLE = {
    COMPUTED_TORQUE: "Computed torque",
    COLLOCATED: "Collocated partial feedback linearization",
    NON_COLLOCATED: "Non-collocated partial feedback linearization",
}


def _wanted_accelerations(model: Model, controller: Controller) -> dict[int, Scalar]:
    """The law v = q̈_d + 2λ(q̇_d − q̇) + λ²(q_d − q), by velocity index."""
    b = model.builder
    reference, gains, _ = controller.groups
    rates = _rates(model)
    names = [v.name for v in model.velocities]
    units = {c.name: c.unit for c in model.coordinates}
    wanted = {}
    for c in controller.tracked:
        rate = rates[c]
        assert rate is not None
        index = names.index(rate)
        position, speed, acceleration = (
            b.symbol(reference, f"{c}{ending}", f"{units[c]}{per}") for ending, per, _ in _JET
        )
        gain = b.symbol(gains, c, "1/s")
        behind = position - b.symbol("q", c, units[c])
        slower = speed - b.symbol("p", rate, model.velocities[index].unit)
        wanted[index] = acceleration + gain * (2 * slower + gain * behind)
    return wanted


class _Split:
    """A robot's equations with its velocities split in tracked, actuated and passive ones."""

    def __init__(self, model: Model, controller: Controller, plant: Plant) -> None:
        self.model, self.plant, self.name = model, plant, controller.name
        self.zero = model.builder.constant(0)
        self.names = [v.name for v in model.velocities]
        rates = _rates(model)
        velocities = {i: str(model.inputs[i].velocity) for i in controller.inputs}
        self.inputs = {self.names.index(v): i for i, v in velocities.items()}
        tracked = {self.names.index(str(rates[c])) for c in controller.tracked}
        self.pulled = sorted(tracked - set(self.inputs))  # U
        self.spare = sorted(set(self.inputs) - tracked) if self.pulled else []  # A
        rest = set(range(len(self.names))) - tracked - set(self.spare)
        self.rest = sorted(rest)  # R

    def pushed_by(self, wanted: Mapping[int, Scalar]) -> list[Scalar]:
        """M v for accelerations v by velocity index."""
        return [
            _dot([row[k] for k in wanted], list(wanted.values()), self.zero)
            for row in self.plant.mass
        ]

    def forces(self, needed: Sequence[Scalar]) -> dict[str, Scalar]:
        """Inputs by name for the generalized forces β; linear in them."""
        mass = self.plant.mass
        yielding = self._solve_rest([needed[k] for k in self.rest])  # M_RR⁻¹ β_R
        accelerations: dict[int, Scalar] = {}
        if self.pulled:
            columns = {
                a: self._solve_rest([mass[k][a] for k in self.rest]) for a in self.spare
            }  # M_RR⁻¹ M_RA
            coupling = [
                [mass[t][a] - self._from_rest(t, columns[a]) for a in self.spare]
                for t in self.pulled
            ]
            missing = [needed[t] - self._from_rest(t, yielding) for t in self.pulled]
            for a, value in zip(self.spare, self._least(coupling, missing), strict=True):
                accelerations[a] = -value
                yielding = [y - c * value for y, c in zip(yielding, columns[a], strict=True)]
        accelerations |= {k: -y for k, y in zip(self.rest, yielding, strict=True)}
        result = {}
        for index, name in self.inputs.items():
            force = needed[index]
            for k, acceleration in accelerations.items():
                force = force + mass[index][k] * acceleration
            if index not in self.rest:
                result[name] = force
        return result

    def _solve_rest(self, rhs: Sequence[Scalar]) -> list[Scalar]:
        matrix = [[self.plant.mass[i][j] for j in self.rest] for i in self.rest]
        return solve_symmetric(matrix, rhs, [self.names[k] for k in self.rest])

    def _from_rest(self, row: int, values: Sequence[Scalar]) -> Scalar:
        total = self.zero
        for k, value in zip(self.rest, values, strict=True):
            total = total + self.plant.mass[row][k] * value
        return total

    def _least(self, coupling: Sequence[Sequence[Scalar]], rhs: Sequence[Scalar]) -> list[Scalar]:
        """Smallest x with N x = rhs.

        Small means the sum of squares; where the inputs have unlike units
        (torques and forces) each square is weighted by its own inertia.
        """
        mass = self.plant.mass
        inertia = [mass[a][a] for a in self.spare]
        units = {self.model.velocities[a].unit for a in self.spare}
        scaled = [list(row) for row in coupling]
        total = inertia[0]
        if len(units) > 1:
            scaled = [[n / i for n, i in zip(row, inertia, strict=True)] for row in coupling]
            total = self.model.builder.constant(1)
        else:
            for value in inertia[1:]:
                total = total + value
        square = [[_dot(row, other, self.zero) for other in coupling] for row in scaled]
        for k, t in enumerate(self.pulled):
            if square[k][k].is_zero:
                raise ModelError(
                    f"controller {self.name!r}: no input in use can accelerate "
                    f"{self.names[t].removesuffix('_rate')!r}"
                )
        margins = [mass[t][t] * total * WEAKEST_COUPLING**2 for t in self.pulled]
        factors = solve_symmetric(
            square,
            rhs,
            [self.names[t] for t in self.pulled],
            margins,
            f"controller {self.name!r}: the inputs have lost their coupling to velocity {{!r}}",
        )
        columns = list(zip(*scaled, strict=True))
        return [_dot(column, factors, self.zero) for column in columns]


def _dot(a: Sequence[Scalar], b: Sequence[Scalar], zero: Scalar) -> Scalar:
    total = zero
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _rates(model: Model) -> dict[str, str | None]:
    """Coordinate → the velocity that is its rate; None where there is no single one."""
    return {c.name: model.rate_of(c.name) for c in model.coordinates}


def _velocity_inputs(model: Model, inputs: Sequence[str] | None, where: str) -> dict[str, str]:
    """Velocity → the input that acts on it, of the inputs that may be used."""
    if inputs is not None:
        unknown = [i for i in inputs if i not in model.inputs]
        if unknown:
            raise ModelError(
                f"{where}: no input {', '.join(map(repr, unknown))}; "
                f"have {', '.join(model.inputs) or 'none'}"
            )
        off = [i for i in inputs if model.inputs[i].velocity is None]
        if off:
            raise ModelError(f"{where}: input {off[0]!r} acts on a node, not on a joint velocity")
    found: dict[str, str] = {}
    for item in model.inputs.values():
        if item.velocity is None or (inputs is not None and item.name not in inputs):
            continue
        if item.velocity in found:
            raise ModelError(
                f"{where}: inputs {found[item.velocity]!r} and {item.name!r} act on one velocity; "
                "name one of them in inputs"
            )
        found[item.velocity] = item.name
    return found


def _check_tracked(model: Model, tracked: Sequence[str], where: str) -> None:
    rates = _rates(model)
    for k, name in enumerate(tracked):
        if name not in rates:
            raise ModelError(f"{where}: no coordinate {name!r}; have {', '.join(rates)}")
        if rates[name] is None:
            raise ModelError(
                f"{where}: coordinate {name!r} cannot be tracked; only coordinates of "
                "single-axis joints and arcs, whose rate is a quasi-velocity, can"
            )
        if name in tracked[:k]:
            raise ModelError(f"{where}: coordinate {name!r} is named twice")
