"""What holds for every command."""

from __future__ import annotations

TRACEBACK = "--traceback"

show_traceback = False
"""Whether errors come with Python's traceback."""
