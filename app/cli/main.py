"""Entry point of ``bestiary``."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    raise SystemExit("bestiary: no commands yet")
