"""Free motion conserves what it must: momentum without forces, energy always."""

from __future__ import annotations

import numpy as np
import pytest
from numeric import Numbers
from robots import Robot, robot
from scipy.integrate import solve_ivp

TOLERANCE = 1e-9
DURATION = 5.0


def flight(r: Robot, values: dict[str, float], speed: float) -> tuple[Numbers, list]:
    """States (q, p) along 5 s of motion without inputs."""
    numbers = Numbers(r.equations.program, {**r.values, **values})
    s = r.state(3)
    nq, u = len(s.q), [0.0] * len(r.equations.inputs)

    def rates(_: float, x: np.ndarray) -> list[float]:
        x = x.tolist()
        return numbers.flat("state_rates", q=x[:nq], p=x[nq:], u=u)

    start = np.concatenate([s.q, speed * s.p])
    solution = solve_ivp(
        rates,
        (0, DURATION),
        start,
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
        t_eval=np.linspace(0, DURATION, 11),
    )
    assert solution.success
    return numbers, [(x[:nq], x[nq:]) for x in solution.y.T]


def energy(numbers: Numbers, q: np.ndarray, p: np.ndarray) -> float:
    return float(numbers("kinetic_energy", q=q, p=p) + numbers("potential_energy", q=q))


@pytest.mark.parametrize(
    ("name", "speed"), [("tree1", 1.0), ("coupled_tail", 1.0), ("sea_lion_quaternion_dry", 0.2)]
)
def test_momentum_and_energy_are_conserved_without_gravity(name, speed):
    numbers, path = flight(robot(name), {"gravity": 0.0}, speed)
    first = numbers("momentum", q=path[0][0], p=path[0][1])
    total = energy(numbers, *path[0])
    center = numbers("center_of_mass", q=path[0][0])
    mass = np.linalg.norm(first[3:]) / np.linalg.norm(
        (numbers("center_of_mass", q=path[1][0]) - center) / 0.5
    )
    for k, (q, p) in enumerate(path):
        now = numbers("momentum", q=q, p=p)
        for block in (slice(0, 3), slice(3, 6)):
            drift = np.max(np.abs(now[block] - first[block]))
            assert drift < TOLERANCE * np.linalg.norm(first[block])
        assert abs(energy(numbers, q, p) - total) < TOLERANCE * total
        straight = center + first[3:] / mass * (0.5 * k)
        assert np.max(np.abs(numbers("center_of_mass", q=q) - straight)) < 1e-8
    assert np.max(np.abs(path[-1][1] - path[0][1])) > 0.1  # it did move


@pytest.mark.parametrize(("name", "speed"), [("tree0", 1.0), ("sea_lion_quaternion_dry", 0.2)])
def test_energy_is_conserved_under_gravity(name, speed):
    numbers, path = flight(robot(name), {}, speed)
    total = energy(numbers, *path[0])
    scale = max(float(numbers("kinetic_energy", q=q, p=p)) for q, p in path)
    for q, p in path:
        assert abs(energy(numbers, q, p) - total) < TOLERANCE * scale


def test_a_neutral_sea_lion_at_rest_in_trim_stays_at_rest():
    """Weight and buoyancy of the default model cancel; level trim is an equilibrium."""
    r = robot("sea_lion_quaternion_dry")
    numbers = Numbers(r.equations.program, r.equations.values())
    q = [1.0, 0, 0, 0, 2.0, -1.0, 3.0, *[0.0] * 14]
    force = numbers("force_vector", q=q)
    assert np.max(np.abs(force)) < 1e-12 * 16.1 * 9.81
    rolled = numbers("force_vector", q=[np.cos(0.1), np.sin(0.1), 0, 0, *q[4:]])
    assert rolled[0] == pytest.approx(np.sin(0.2) * 11.3 * 9.81 * 0.003, rel=1e-6)
    # F opposes: M ṗ = −F rights the body, the centre of buoyancy lies above
