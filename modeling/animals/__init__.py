"""The built-in animals, one readable file each, and how to find them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class BuiltIn:
    """A prebuilt robot: where its model is written, with which options, how it is derived.

    ``sizes`` names the options that the name of every other size says.
    """

    module: str
    function: str
    formalism: str
    options: tuple[tuple[str, Any], ...] = ()
    sizes: tuple[str, ...] = ()

    def factory(self) -> Callable[..., Any]:
        """The function that describes the model."""
        found: Callable[..., Any] = getattr(
            import_module(f"{__name__}.{self.module}"), self.function
        )
        return found

    def model(self, **overrides: Any) -> Any:
        """The model with these options (and overrides)."""
        return self.factory()(**{**dict(self.options), **overrides})


def _articulated(segments: int, links: int) -> BuiltIn:
    """An articulated rat of another size."""
    return BuiltIn(
        "kangaroo_rat",
        "kangaroo_rat_articulated",
        "poincare",
        (
            ("segments", segments),
            ("links", links),
            ("base", "quaternion"),
            ("half_angle", False),
            ("contact", True),
        ),
        ("segments", "links"),
    )


BUILT_IN: dict[str, BuiltIn] = {
    "sea_lion": BuiltIn("sea_lion", "sea_lion", "poincare", (("base", "euler_zyx"),)),
    "sea_lion_quaternion": BuiltIn("sea_lion", "sea_lion", "poincare", (("base", "quaternion"),)),
    "kangaroo_rat_articulated": _articulated(2, 4),
    "kangaroo_rat_articulated_segments3_links4": _articulated(3, 4),
    "kangaroo_rat_continuum": BuiltIn(
        "kangaroo_rat",
        "kangaroo_rat_continuum",
        "poincare",
        (("segments", 2), ("base", "quaternion"), ("contact", True)),
        ("segments",),
    ),
}
