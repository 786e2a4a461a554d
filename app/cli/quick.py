"""The unchanged ``bestiary build``, answered before anything heavy is imported."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .spread import spread


def answer(words: Sequence[str]) -> int | None:
    """Print that nothing is to do and return 0 if that is so; else None.

    Anything but a plain ``build`` of robots that are all up to date is left to
    the full command line.
    """
    asked = _parse(words)
    if asked is None:
        return None
    names, out, options, functions, as_json, quiet = asked
    from bestiary.build_tools.errors import TargetError
    from bestiary.build_tools.freshness import freshness
    from bestiary.build_tools.targets import parse_options, parse_target
    from bestiary.modeling.animals import BUILT_IN

    try:
        chosen = parse_options(options)
        targets = [parse_target(n, chosen, functions) for n in names or BUILT_IN]
    except TargetError:
        return None
    found = []
    for target in targets:
        state = freshness(target, out)
        if not state.is_fresh:
            return None
        found.append(state)
    if as_json:
        from bestiary.build_tools.pipeline import FRESH, BuildResult

        entries = [BuildResult(s.name, s.folder, FRESH).to_dict() for s in found if s.folder]
        print(json.dumps(entries, indent=2))
    elif not quiet:
        print(f"nothing to do: {', '.join(s.name for s in found)} up to date", file=sys.stdout)
    return 0


def _parse(
    words: Sequence[str],
) -> tuple[list[str], Path | None, list[str], list[str], bool, bool] | None:
    if not words or words[0] != "build":
        return None
    names: list[str] = []
    options: list[str] = []
    functions: list[str] = []
    out: Path | None = None
    flags = {"--json": False, "--quiet": False, "-q": False}
    rest = iter(spread(words[1:]))
    for word in rest:
        if word in flags:
            flags[word] = True
        elif word in ("--jobs", "-j", "--out", "-o", "--set", "--functions"):
            value = next(rest, None)
            if value is None or (
                word in ("--jobs", "-j") and not (value.isdigit() and int(value) > 0)
            ):
                return None
            if word in ("--out", "-o"):
                out = Path(value)
            elif word == "--set":
                options.append(value)
            elif word == "--functions":
                functions.append(value)
        elif word.startswith("-"):
            return None
        else:
            names.append(word)
    return names, out, options, functions, flags["--json"], flags["--quiet"] or flags["-q"]
