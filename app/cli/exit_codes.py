"""Exit codes of the command line, also told by ``bestiary --help``."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130

TABLE = (
    "Exit codes: 0 all is well; 1 a check failed, something is stale, a build failed, or a problem "
    "was not solved; "
    "2 wrong usage or a bad model; 130 interrupted."
)
