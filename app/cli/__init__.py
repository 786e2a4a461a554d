"""The command line: one small module for each group of commands."""

from __future__ import annotations

from .main import main

__all__ = ["main"]
