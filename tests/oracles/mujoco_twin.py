"""The same robot in MuJoCo, written as MJCF text from the description.

MuJoCo refuses massless moving bodies, so the joints of a massless body move
to its only child: several joints of one MuJoCo body act one after the other.
A free joint's linear velocity is in world axes and its angular velocity in
body axes; planar and inner floating motions are slides and a hinge or ball.
So MuJoCo's velocities are ``T(q) p``, with an orthogonal T but for followers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np
from description import BodySpec, Element, TreeSpec, child_rotation, roll_pitch_yaw
from scipy.spatial.transform import Rotation

Pose = tuple[np.ndarray, np.ndarray]  # rotation, position


def _times(a: Pose, b: Pose) -> Pose:
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def _text(values: object) -> str:
    return " ".join(repr(float(v)) for v in np.ravel(values))


def _quaternion(r: np.ndarray) -> np.ndarray:
    x, y, z, w = Rotation.from_matrix(r).as_quat()
    return np.array([w, x, y, z])


@dataclass
class _Part:
    """Joints that MuJoCo makes of one element: (kind, axis in the joint frame, name)."""

    element: Element
    mount: Pose  # of the body, for free joints
    names: list[str] = field(default_factory=list)
    free: bool = False


class MujocoTwin:
    """MuJoCo's numbers in the toolkit's orders and frames."""

    def __init__(self, spec: TreeSpec, velocities: list[str]) -> None:
        self.spec, self.velocities = spec, velocities
        self.parts: list[_Part] = []
        self.sites: list[str] = []
        self.children: dict[str | None, list[BodySpec]] = {}
        for body in spec.bodies:
            self.children.setdefault(body.parent, []).append(body)
        identity = (np.eye(3), np.zeros(3))
        bodies = "".join(self._body(b, identity, []) for b in self.children[None])
        self.xml = f"""<mujoco><compiler angle="radian" inertiafromgeom="false" autolimits="false"
 balanceinertia="false"/><option gravity="{_text(spec.gravity_vector)}"><flag contact="disable"
 constraint="disable" energy="enable"/></option><worldbody>{bodies}</worldbody></mujoco>"""
        self.model = mujoco.MjModel.from_xml_string(self.xml)
        self.data = mujoco.MjData(self.model)
        self.coupled = self.model.nv != len(velocities)

    # -- MJCF ---------------------------------------------------------------------
    def _body(self, body: BodySpec, frame: Pose, pending: list[tuple[str, Pose]]) -> str:
        mount = (roll_pitch_yaw(body.rpy), np.array(body.at))
        frame = _times(frame, mount)
        pending = list(pending)
        for element in body.elements:
            pending += [(text, frame) for text in self._joints(element, body, frame)]
        own = [n for n in self.spec.nodes if n.body == body.name]
        children = self.children.get(body.name, [])
        if not body.lumps:
            assert not pending or len(children) == 1, "a massless moving body needs one child"
            inner = "".join(self._body(c, frame, pending) for c in children)
            if pending:
                return inner
            return inner + "".join(self._site(n, frame) for n in own)
        text = f'<body pos="{_text(frame[1])}" quat="{_text(_quaternion(frame[0]))}">'
        text += self._inertial(body)
        inverse = (frame[0].T, -frame[0].T @ frame[1])
        for joint, where in pending:
            kind, name, axis, passive = joint.split("|")
            if kind == "free":
                text += f'<freejoint name="{name}"/>'
                continue
            rotation, position = _times(inverse, where)
            direction = rotation @ np.array([float(v) for v in axis.split()])
            text += (
                f'<joint name="{name}" type="{kind}" pos="{_text(position)}" '
                f'axis="{_text(direction)}" armature="0" {passive}/>'
            )
        identity = (np.eye(3), np.zeros(3))
        text += "".join(self._site(n, identity) for n in own)
        text += "".join(self._body(c, identity, []) for c in children)
        return text + "</body>"

    def _site(self, node: object, frame: Pose) -> str:
        pose = _times(frame, (roll_pitch_yaw(node.rpy), np.array(node.at)))
        self.sites.append(node.name)
        return (
            f'<site name="{node.name}" pos="{_text(pose[1])}" '
            f'quat="{_text(_quaternion(pose[0]))}"/>'
        )

    @staticmethod
    def _inertial(body: BodySpec) -> str:
        mass = sum(lump.mass for lump in body.lumps)
        com = sum(lump.mass * np.array(lump.com) for lump in body.lumps) / mass
        inertia = np.zeros((3, 3))
        for lump in body.lumps:
            r = np.array(lump.com) - com
            inertia += lump.matrix + lump.mass * (r @ r * np.eye(3) - np.outer(r, r))
        principal, axes = np.linalg.eigh(inertia)
        if np.linalg.det(axes) < 0:
            axes[:, 0] *= -1
        return (
            f'<inertial mass="{_text(mass)}" pos="{_text(com)}" '
            f'quat="{_text(_quaternion(axes))}" diaginertia="{_text(principal)}"/>'
        )

    def _joints(self, element: Element, body: BodySpec, frame: Pose) -> list[str]:
        part = _Part(element, frame)
        self.parts.append(part)
        stem = f"e{len(self.parts)}"
        axes = [_text(np.eye(3)[k]) for k in range(3)]
        if element.kind in ("revolute", "prismatic"):
            kinds = [
                ("hinge" if element.kind == "revolute" else "slide", _text(element.axis)),
            ]
        elif element.kind == "spherical":
            kinds = [("ball", axes[2])]
        elif element.kind == "planar":
            k = int(np.argmax(element.axis))
            kinds = [("slide", axes[(k + 1) % 3]), ("slide", axes[(k + 2) % 3]), ("hinge", axes[k])]
        elif body.parent is None:
            kinds, part.free = [("free", axes[2])], True
        else:
            kinds = [*(("slide", a) for a in axes), ("ball", axes[2])]
        part.names = [f"{stem}_{k}" for k in range(len(kinds))]
        passive = self._passive(element)
        return [
            f"{kind}|{name}|{axis}|{passive}"
            for (kind, axis), name in zip(kinds, part.names, strict=True)
        ]

    def _passive(self, element: Element) -> str:
        """Spring and damper of a single-axis element."""
        if element.follower or element.kind not in ("revolute", "prismatic"):
            return ""
        text = ""
        for coordinate, stiffness, rest in self.spec.springs:
            if coordinate == element.coordinates[0]:
                text += f'stiffness="{_text(stiffness)}" springref="{_text(rest)}" '
        for velocity, coefficient in self.spec.dampers:
            if velocity == element.velocities[0]:
                text += f'damping="{_text(coefficient)}"'
        return text

    # -- states ---------------------------------------------------------------------
    def _set(self, q: dict[str, float], p: np.ndarray | None = None) -> None:
        """Write qpos and qvel, and T and Ṫp for the present state."""
        rates = dict(
            zip(self.velocities, p if p is not None else [0.0] * len(self.velocities), strict=True)
        )
        column = {v: k for k, v in enumerate(self.velocities)}
        n = self.model.nv
        self.map, self.drift = np.zeros((n, len(self.velocities))), np.zeros(n)
        for part in self.parts:
            e, ids = part.element, [self.model.joint(n).id for n in part.names]
            qa = [int(self.model.jnt_qposadr[i]) for i in ids]
            va = [int(self.model.jnt_dofadr[i]) for i in ids]
            own, cols = [q[n] for n in e.coordinates], [column[v] for v in e.velocities]
            if e.kind in ("revolute", "prismatic"):
                self.data.qpos[qa[0]] = own[0] * e.ratio
                self.map[va[0], cols[0]] = e.ratio
                continue
            rotation = child_rotation(e, q).as_matrix()
            if e.kind == "spherical":
                self.data.qpos[qa[0] : qa[0] + 4] = _quaternion(rotation)
                self.map[range(va[0], va[0] + 3), cols] = 1
                continue
            spin = np.array([rates[v] for v in e.velocities[:3]])
            if e.kind == "planar":
                k = int(np.argmax(e.axis))
                plane = [(k + 1) % 3, (k + 2) % 3]
                for a, value in zip(qa, (own[1], own[2], own[0]), strict=True):
                    self.data.qpos[a] = value
                self.map[va[2], cols[0]] = 1
                self.map[np.ix_(va[:2], cols[1:])] = rotation[np.ix_(plane, plane)]
                slide = np.zeros(3)
                slide[plane] = [rates[v] for v in e.velocities[1:]]
                omega = np.array(e.axis) * rates[e.velocities[0]]
                self.drift[va[:2]] = (rotation @ np.cross(omega, slide))[plane]
                continue
            slide = np.array([rates[v] for v in e.velocities[3:]])
            if part.free:
                world, position = _times(part.mount, (rotation, np.array(own[-3:])))
                self.data.qpos[qa[0] : qa[0] + 7] = [*position, *_quaternion(world)]
                linear, angular, turn = range(va[0], va[0] + 3), va[0] + 3, world
            else:
                for a, value in zip(qa[:3], own[-3:], strict=True):
                    self.data.qpos[a] = value
                self.data.qpos[qa[3] : qa[3] + 4] = _quaternion(rotation)
                linear, angular, turn = va[:3], va[3], rotation
            self.map[range(angular, angular + 3), cols[:3]] = 1
            self.map[np.ix_(linear, cols[3:])] = turn
            self.drift[linear] = turn @ np.cross(spin, slide)
        self.data.qvel[:] = self.map @ p if p is not None else 0
        self.data.qacc[:] = 0
        self.data.qfrc_applied[:] = 0

    # -- dynamics, all in the toolkit's order -----------------------------------
    def mass_matrix(self, q: dict[str, float]) -> np.ndarray:
        self._set(q)
        mujoco.mj_forward(self.model, self.data)
        full = np.zeros((self.model.nv, self.model.nv))
        try:
            mujoco.mj_fullM(self.model, self.data, full)
        except TypeError:  # MuJoCo before version 3.4 takes the sparse matrix
            mujoco.mj_fullM(self.model, full, self.data.qM)
        return self.map.T @ full @ self.map

    def inverse_dynamics(self, q: dict[str, float], p: np.ndarray, a: np.ndarray) -> np.ndarray:
        self._set(q, p)
        self.data.qacc[:] = self.map @ a + self.drift
        mujoco.mj_inverse(self.model, self.data)
        return self.map.T @ self.data.qfrc_inverse

    def forward_dynamics(self, q: dict[str, float], p: np.ndarray, tau: np.ndarray) -> np.ndarray:
        if self.coupled:
            rest = self.inverse_dynamics(q, p, np.zeros(len(self.velocities)))
            return np.linalg.solve(self.mass_matrix(q), tau - rest)
        self._set(q, p)
        self.data.qfrc_applied[:] = self.map @ tau
        mujoco.mj_forward(self.model, self.data)
        return self.map.T @ (self.data.qacc - self.drift)

    def momentum(self, q: dict[str, float], p: np.ndarray) -> np.ndarray:
        """(angular about the centre of mass, linear), world axes."""
        self._set(q, p)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_subtreeVel(self.model, self.data)
        linear = self.model.body_subtreemass[0] * self.data.subtree_linvel[0]
        return np.concatenate([self.data.subtree_angmom[0], linear])

    def energies(self, q: dict[str, float], p: np.ndarray) -> tuple[float, float]:
        self._set(q, p)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        return float(self.data.energy[1]), float(self.data.energy[0])

    def node_jacobian(self, node: str, q: dict[str, float]) -> np.ndarray:
        """Angular rows first, node axes."""
        self._set(q)
        mujoco.mj_forward(self.model, self.data)
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        site = self.model.site(node).id
        mujoco.mj_jacSite(self.model, self.data, linear, angular, site)
        turn = self.data.site_xmat[site].reshape(3, 3).T
        return np.vstack([turn @ angular, turn @ linear]) @ self.map
