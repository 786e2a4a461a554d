"""The same robot in Pinocchio, built joint by joint from the description.

Pinocchio lists twists linear part first, quaternions as (x, y, z, w) and a
planar motion as (x, y, cos, sin) with velocity (vx, vy, ω) in child axes.
Massless intermediate bodies are plain joints there.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from description import BodySpec, Element, TreeSpec, child_rotation, roll_pitch_yaw

ALIGNED = {
    "revolute": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    "prismatic": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}
SKEW = {
    "revolute": pin.JointModelRevoluteUnaligned,
    "prismatic": pin.JointModelPrismaticUnaligned,
}


class PinocchioTwin:
    """Pinocchio's numbers in the toolkit's orders and frames."""

    def __init__(self, spec: TreeSpec, coordinates: list[str], velocities: list[str]) -> None:
        self.spec, self.coordinates = spec, coordinates
        self.model = pin.Model()
        self.model.gravity = pin.Motion(spec.gravity_vector, np.zeros(3))
        self.joints: list[tuple[Element, int]] = []
        place: dict[str | None, tuple[int, pin.SE3]] = {None: (0, pin.SE3.Identity())}
        for body in _depth_first(spec):  # crba takes each subtree's joints to be consecutive
            joint, frame = place[body.parent]
            frame = frame * pin.SE3(roll_pitch_yaw(body.rpy), np.array(body.at))
            for element in body.elements:
                joint, frame = self._add(element, joint, frame)
            place[body.name] = joint, frame
            for lump in body.lumps:
                inertia = pin.Inertia(lump.mass, np.array(lump.com), lump.matrix)
                self.model.appendBodyToJoint(joint, inertia, frame)
        self.frames = {}
        for node in spec.nodes:
            joint, frame = place[node.body]
            own = frame * pin.SE3(roll_pitch_yaw(node.rpy), np.array(node.at))
            self.frames[node.name] = self.model.addFrame(
                pin.Frame(f"node_{node.name}", joint, 0, own, pin.FrameType.OP_FRAME)
            )
        self.data = self.model.createData()
        # Pinocchio's velocities are map @ p: a permutation but for followers
        self.map = np.zeros((self.model.nv, len(velocities)))
        for element, joint in self.joints:
            start = self.model.joints[joint].idx_v
            for k, v in enumerate(_velocity_order(element)):
                self.map[start + k, velocities.index(v)] = element.ratio
        self.coupled = self.model.nv != len(velocities)

    def _add(self, element: Element, parent: int, frame: pin.SE3) -> tuple[int, pin.SE3]:
        after = pin.SE3.Identity()
        if element.kind in ALIGNED:
            axis = np.array(element.axis)
            if np.count_nonzero(axis) == 1 and axis.max() == 1:
                model = ALIGNED[element.kind][int(np.argmax(axis))]()
            else:
                model = SKEW[element.kind](axis / np.linalg.norm(axis))
        elif element.kind == "spherical":
            model = pin.JointModelSpherical()
        elif element.kind == "floating":
            model = pin.JointModelFreeFlyer()
        else:
            k = int(np.argmax(element.axis))
            turn = np.eye(3)[:, [(k + 1) % 3, (k + 2) % 3, k]]  # its z axis is the normal
            frame = frame * pin.SE3(turn, np.zeros(3))
            after = pin.SE3(turn.T, np.zeros(3))
            model = pin.JointModelPlanar()
        joint = self.model.addJoint(parent, model, frame, f"joint{len(self.joints)}")
        self.joints.append((element, joint))
        return joint, after

    def configuration(self, q: dict[str, float]) -> np.ndarray:
        """Pinocchio's configuration of named coordinates."""
        result = np.zeros(self.model.nq)
        for element, joint in self.joints:
            own = [q[n] for n in element.coordinates]
            if element.kind == "planar":
                values = [own[1], own[2], np.cos(own[0]), np.sin(own[0])]
            elif element.kind in ("spherical", "floating"):
                values = [*child_rotation(element, q).as_quat()]  # x, y, z, w
                if element.kind == "floating":
                    values = [*own[-3:], *values]
            else:
                values = [own[0] * element.ratio]
            start = self.model.joints[joint].idx_q
            result[start : start + len(values)] = values
        return result

    # -- dynamics, all in the toolkit's order -----------------------------------
    def mass_matrix(self, q: dict[str, float]) -> np.ndarray:
        m = pin.crba(self.model, self.data, self.configuration(q))
        m = np.triu(m) + np.triu(m, 1).T
        return self.map.T @ m @ self.map

    def bias(self, q: dict[str, float], p: np.ndarray) -> np.ndarray:
        x = self.configuration(q)
        return self.map.T @ pin.nonLinearEffects(self.model, self.data, x, self.map @ p)

    def gravity(self, q: dict[str, float]) -> np.ndarray:
        x = self.configuration(q)
        return self.map.T @ pin.computeGeneralizedGravity(self.model, self.data, x)

    def inverse_dynamics(self, q: dict[str, float], p: np.ndarray, a: np.ndarray) -> np.ndarray:
        x = self.configuration(q)
        return self.map.T @ pin.rnea(self.model, self.data, x, self.map @ p, self.map @ a)

    def forward_dynamics(self, q: dict[str, float], p: np.ndarray, tau: np.ndarray) -> np.ndarray:
        if self.coupled:
            return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, p))
        x = self.configuration(q)
        return self.map.T @ pin.aba(self.model, self.data, x, self.map @ p, self.map @ tau)

    def energies(self, q: dict[str, float], p: np.ndarray) -> tuple[float, float]:
        x = self.configuration(q)
        kinetic = pin.computeKineticEnergy(self.model, self.data, x, self.map @ p)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, x)

    def momentum(self, q: dict[str, float], p: np.ndarray) -> np.ndarray:
        """(angular about the centre of mass, linear), world axes."""
        h = pin.computeCentroidalMomentum(
            self.model, self.data, self.configuration(q), self.map @ p
        )
        return np.concatenate([h.angular, h.linear])

    def center_of_mass(self, q: dict[str, float]) -> np.ndarray:
        return pin.centerOfMass(self.model, self.data, self.configuration(q))

    def node_pose(self, node: str, q: dict[str, float]) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.configuration(q))
        return self.data.oMf[self.frames[node]].homogeneous

    def node_jacobian(self, node: str, q: dict[str, float]) -> np.ndarray:
        """Angular rows first, node axes."""
        j = pin.computeFrameJacobian(
            self.model, self.data, self.configuration(q), self.frames[node], pin.LOCAL
        )
        return np.vstack([j[3:], j[:3]]) @ self.map


def _depth_first(spec: TreeSpec) -> list[BodySpec]:
    def below(name: str | None) -> list[BodySpec]:
        children = [b for b in spec.bodies if b.parent == name]
        return [x for child in children for x in (child, *below(child.name))]

    return below(None)


def _velocity_order(element: Element) -> tuple[str, ...]:
    v = element.velocities
    if element.kind == "floating":
        return (*v[3:], *v[:3])
    if element.kind == "planar":
        return (v[1], v[2], v[0])
    return v
