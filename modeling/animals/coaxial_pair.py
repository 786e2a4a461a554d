"""Two bodies on one axis: the smallest robot that turns itself by swinging its tail.

Body and tail turn about one axis through both centres of mass; a motor between them
pushes one against the other.  Without outer torque what one gains the other loses,

    I_b q'' = -tau,    I_t (q + a)'' = tau,    q = -I_t / (I_b + I_t) a  from rest,

which gives the least time and the least effort of a turn in closed form.  This is a model
file like a user's own: ``bestiary.load(path of this file)`` builds and loads it.
"""

from __future__ import annotations

from bestiary.modeling import Model, Revolute

BODY_INERTIA, TAIL_INERTIA = 1.0, 0.25


def coaxial_pair(body_inertia: float = BODY_INERTIA, tail_inertia: float = TAIL_INERTIA) -> Model:
    """The pair; coordinates are the body's angle and the tail's angle against the body [rad].

    Parameters
    ----------
    body_inertia, tail_inertia:
        About the common axis [kg m^2].
    """
    model = Model("coaxial_pair", gravity=0.0, title="Two bodies on one axis, one motor")
    body = model.parameter("body_inertia", body_inertia, "kg m^2", "chosen", "about the axis")
    tail = model.parameter("tail_inertia", tail_inertia, "kg m^2", "chosen", "about the axis")
    trunk = model.body("trunk", joint=Revolute("body_angle", "x"), inertia=(body, 0, 0), mass=0)
    model.body(
        "tail", parent=trunk, joint=Revolute("tail_angle", "x"), inertia=(tail, 0, 0), mass=0
    )
    model.actuate("tail_angle_rate")
    return model


robot = coaxial_pair
