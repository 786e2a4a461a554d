"""Commands with options that take several values in a row."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from .spread import spread


class SeveralValues(TyperCommand):
    """A command whose ``--set`` and ``--functions`` may be followed by several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values, then parse as usual."""
        return super().parse_args(ctx, spread(args))
