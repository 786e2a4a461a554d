"""How a mesh becomes finer: degrees, pieces, and cuts at the events of a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.polynomial import legendre

from .estimate import IntervalErrors
from .mesh import Held, Joined, Mesh, Section
from .structure import Structure
from .trajectory import PhaseTrajectory

Array: TypeAlias = np.ndarray

HIGHEST_DEGREE = 12
MOST_PIECES = 6
SLOWEST_DECAY = 0.4
"""Decades that a coefficient must lose per degree for higher degrees to be worth it."""
OVERSHOOT_TOLERANCE = 0.1
"""Bounds may be exceeded between nodes by this times the square root of the tolerance."""
MOST_OF = 0.1
JUMP = 0.2
"""A control that exceeds its limits by this part of its range jumps or chatters."""
FEWEST_NODES = 3
"""Intervals with fewer nodes get one more for the sake of the cost."""
SINGULAR_DEGREE = 5
MOST_SINGULAR = 4
"""Intervals that a singular arc begins with."""


def overshoot_limit(tolerance: float) -> float:
    """How far limits may be exceeded between nodes, relative to a quantity's range."""
    return float(OVERSHOOT_TOLERANCE * np.sqrt(tolerance))


def measure(error: IntervalErrors) -> Array:
    """(N,) largest relative error of states or integrals on each interval."""
    return np.asarray(np.maximum(np.max(error.dynamics, axis=1, initial=0.0), error.cost))


def bad_intervals(
    error: IntervalErrors, tolerance: float, optimality: bool, shares: Array | None = None
) -> Array:
    """(N,) whether an interval has to change.

    ``optimality``: for its controls, too; ``shares``: for its part in the error of the cost,
    too, which is as large as allowed at 1.
    """
    bad = np.asarray(measure(error) > tolerance) | (error.overshoot > overshoot_limit(tolerance))
    if shares is not None:
        bad |= shares > 1.0
    if not optimality:
        return bad
    # the motion is right but its cost still moves: what moves most is looked at
    most = float(np.max(error.suboptimality, initial=0.0))
    return bad | (error.suboptimality > min(tolerance, max(MOST_OF * most, 1e-16)))


def refined_mesh(
    motion: PhaseTrajectory,
    error: IntervalErrors,
    tolerance: float,
    optimality: bool,
    bounds: Array,
    shares: Array | None = None,
) -> Mesh:
    """The mesh with its bad intervals split or of higher degree.

    ``bounds``: (nu, 2) of the controls; ``shares``: as of :func:`bad_intervals`.
    """
    mesh = _rebuilt(motion, _pieces(motion, error, tolerance, optimality, shares))
    return fenced_mesh(mesh, motion, bounds)


def doubled_mesh(mesh: Mesh) -> Mesh:
    """Every interval cut in two."""
    sections = []
    for section in mesh.sections:
        edges = np.array(section.edges)
        every = np.sort(np.concatenate([edges, (edges[:-1] + edges[1:]) / 2]))
        degrees = tuple(d for d in section.degrees for _ in range(2))
        sections.append(replace(section, edges=tuple(float(e) for e in every), degrees=degrees))
    return Mesh(tuple(sections), mesh.knots)


def _pieces(
    motion: PhaseTrajectory,
    error: IntervalErrors,
    tolerance: float,
    optimality: bool,
    shares: Array | None,
) -> list[tuple[int, int]]:
    """(pieces, degree) that each interval becomes."""
    scheme = motion.layout.scheme
    limit = overshoot_limit(tolerance)
    size, bad = measure(error), bad_intervals(error, tolerance, optimality, shares)
    sections = motion.layout.mesh.sections
    result = []
    for k, interval in enumerate(motion.layout.intervals):
        d = interval.degree
        if not bad[k]:
            result.append((1, d))
            continue
        excess = size[k] / tolerance
        if error.overshoot[k] > limit:
            excess = max(excess, (error.overshoot[k] / limit) ** 2)
        if optimality:
            excess = max(excess, error.suboptimality[k] / tolerance)
        if shares is not None:
            excess = max(excess, shares[k])
            if scheme.variable_degree and d < FEWEST_NODES:
                # too few nodes to tell how fast a polynomial would converge
                result.append((1, d + 1))
                continue
        excess = min(excess, 1e12) if np.isfinite(excess) else 1e12
        if scheme.variable_degree and sections[interval.section].singular:
            wanted = d + 2
            result.append((1, wanted) if wanted <= HIGHEST_DEGREE else (2, max(d - 2, 3)))
            continue
        decay = _decay(motion, k) if scheme.variable_degree else 0.0
        if scheme.variable_degree and decay > SLOWEST_DECAY:
            wanted = d + int(np.ceil(np.log10(excess) / decay))
            if wanted <= HIGHEST_DEGREE:
                result.append((1, max(wanted, d + 1)))
                continue
        order = max(2, scheme.order(d) // 2 + 1) if scheme.variable_degree else scheme.order(d)
        # a control that jumps within an interval is not found by cutting it into many pieces
        most = 2 if error.overshoot[k] > JUMP else MOST_PIECES
        pieces = int(np.clip(np.ceil(excess ** (1 / (order + 1))), 2, most))
        result.append((pieces, min(max(d, scheme.degree), HIGHEST_DEGREE)))
    return result


def _decay(motion: PhaseTrajectory, k: int) -> float:
    """Decades per degree that the Legendre coefficients of rates and controls lose."""
    interval = motion.layout.intervals[k]
    nodes = motion.layout.scheme.basis(interval.degree).rates
    if len(nodes) < 3:
        return 0.0
    values = np.hstack([motion.rates[interval.rates], motion.controls[interval.rates]])
    coefficients = np.abs(
        np.linalg.solve(legendre.legvander(2 * nodes - 1, len(nodes) - 1), values)
    )
    whole = np.hstack([motion.rates, motion.controls])
    size = np.maximum(np.max(np.abs(whole), axis=0), 1e-300)
    relative = np.max(coefficients / size, axis=1)
    degrees = np.arange(len(nodes))
    used = relative > 1e-13
    if np.count_nonzero(used) < 3:
        return 2.0
    slope = np.polyfit(degrees[used][1:], np.log10(relative[used][1:]), 1)[0]
    return float(-slope)


def _found_knots(motion: PhaseTrajectory) -> tuple[float, ...]:
    """Knots where the motion has them, as parts of the phase."""
    length = motion.end - motion.start
    return tuple(float(v) for v in (motion.boundaries[1:-1] - motion.start) / length)


def _rebuilt(motion: PhaseTrajectory, pieces: Sequence[tuple[int, int]]) -> Mesh:
    """The mesh with intervals replaced by pieces, its knots where they were found."""
    sections: list[Section] = []
    first = 0
    for section in motion.layout.mesh.sections:
        edges = [section.edges[0]]
        degrees: list[int] = []
        for k, (left, right) in enumerate(zip(section.edges[:-1], section.edges[1:], strict=True)):
            count, degree = pieces[first + k]
            edges += [float(e) for e in np.linspace(left, right, count + 1)[1:]]
            degrees += [degree] * count
        first += len(section.degrees)
        sections.append(replace(section, edges=tuple(edges), degrees=tuple(degrees)))
    return Mesh(tuple(sections), _found_knots(motion))


def fenced_mesh(mesh: Mesh, motion: PhaseTrajectory, bounds: Array) -> Mesh:
    """The mesh with fences for controls whose polynomials leave their bounds at ends of intervals.

    A solver gains by that: on a singular arc, [high, low, high] at the nodes of an interval
    is almost twice the high limit at its start.
    """
    if motion.layout.scheme.shoots or not len(bounds):
        return mesh
    at_ends = motion.on_intervals(np.array([0.0, 1.0]), "controls")
    low, high = bounds[:, 0], bounds[:, 1]
    size = np.where(np.isfinite(high - low), high - low, np.maximum(np.ptp(at_ends), 1e-300))
    outside = np.maximum(low - at_ends, at_ends - high).max(axis=(0, 1)) / size
    fenced = {k for s in motion.layout.mesh.sections for k in s.fenced}
    fenced |= {int(k) for k in np.flatnonzero(outside > JUMP)}
    return Mesh(tuple(replace(s, fenced=tuple(sorted(fenced))) for s in mesh.sections), mesh.knots)


def mesh_with_knots(motion: PhaseTrajectory, structure: Structure) -> Mesh:
    """The mesh cut at the events of a structure; edges close to a cut go."""
    length = motion.end - motion.start
    knots = [(t - motion.start) / length for t in structure.times]
    edges = (motion.edges - motion.start) / length
    degrees = [i.degree for i in motion.layout.intervals]
    variable = motion.layout.scheme.variable_degree
    sections = []
    for left, right, held, singular, joined in zip(
        [0.0, *knots],
        [*knots, 1.0],
        structure.held,
        structure.singular,
        structure.joined,
        strict=True,
    ):
        width = right - left
        inner = edges[(edges > left + 0.1 * width) & (edges < right - 0.1 * width)]
        if singular and variable:
            count = int(np.clip((len(inner) + 1) // 4, 1, MOST_SINGULAR))
            uniform = Section.uniform(count, SINGULAR_DEGREE)
            sections.append(Section(uniform.edges, uniform.degrees, held, True))
            continue
        own = np.concatenate([[left], inner, [right]])
        middles = (own[:-1] + own[1:]) / 2
        old = np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, len(degrees) - 1)
        scaled = (own - left) / width
        scaled[0], scaled[-1] = 0.0, 1.0
        places = tuple(float(e) for e in scaled)
        own_degrees = tuple(int(degrees[k]) for k in old)
        sections.append(Section(places, own_degrees, held, joined=joined))
    return Mesh(tuple(sections), tuple(float(k) for k in knots))


def corrected_mesh(
    motion: PhaseTrajectory,
    released: Sequence[tuple[int, Held]],
    collapsed: Sequence[int],
    parted: Sequence[tuple[int, Joined]] = (),
) -> Mesh:
    """The mesh without limits that should not be held, and without sections that vanished.

    Parameters
    ----------
    motion:
        Of a mesh with knots.
    released:
        (section, limit) that are held no longer.
    collapsed:
        Sections that go; their neighbours meet where they were.
    parted:
        (section, control) that need not meet its limit any longer.
    """
    sections = motion.layout.mesh.sections
    knots = _found_knots(motion)
    kept: list[Section] = []
    cuts: list[float] = []
    ends = [0.0, *knots, 1.0]
    for k, section in enumerate(sections):
        if k in collapsed and len(collapsed) < len(sections):
            continue
        held = tuple(h for h in section.held if (k, h) not in released)
        if kept:
            cuts.append(ends[k])
        joined = tuple(j for j in section.joined if (k, j) not in parted)
        kept.append(replace(section, held=held, joined=joined))
    return Mesh(_with_neighbours(kept), tuple(cuts))


def _with_neighbours(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The sections, their controls joined only to limits that are held beyond the end."""
    found = []
    for k, section in enumerate(sections):
        beyond = {0: sections[k - 1].held if k else (), 1: ()}
        if k + 1 < len(sections):
            beyond[1] = sections[k + 1].held
        joined = tuple(
            j for j in section.joined if Held("control", j.number, j.side) in beyond[j.end]
        )
        found.append(replace(section, joined=joined))
    return tuple(found)
