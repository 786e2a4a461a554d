"""Shared helpers of the tests: the oracle modules become importable by name."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# The machine may be busy, so no deadlines; the same examples every time.
settings.register_profile("bestiary", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None, max_examples=2000)  # --hypothesis-profile=fuzz
settings.load_profile("bestiary")

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
