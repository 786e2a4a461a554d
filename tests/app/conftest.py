"""Fixtures of tests that build something."""

from __future__ import annotations

from build_project import (
    cache,
    cold_cache,
    compiler,
    no_compiler,
    objects,
    pendulum,
    target,
)

__all__ = ["cache", "cold_cache", "compiler", "no_compiler", "objects", "pendulum", "target"]
