"""``bestiary doctor``: what a build needs, what is there, and what to install."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from bestiary.build_tools import toolchain
from bestiary.build_tools.cache import ObjectCache
from bestiary.build_tools.errors import BuildError
from bestiary.build_tools.freshness import FRESH, package_versions
from bestiary.build_tools.locations import (
    cache_root,
    in_checkout,
    is_writable,
    packaged_models,
    source_root,
)
from bestiary.modeling.version import __version__

from .exit_codes import FAILED, OK
from .messages import console, print_json, reporting
from .robots import all_robots

NEEDED = (
    *("numpy", "scipy", "sympy", "casadi", "cython", "jinja2", "typer", "rich"),
    *("platformdirs", "filelock", "matplotlib", "xarray", "h5netcdf", "h5py"),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor_command)


@dataclass(frozen=True)
class Finding:
    """One thing looked at: "ok", "note" or "problem", and what was found."""

    what: str
    verdict: str
    text: str


@reporting
def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at compiler, headers, packages and folders; exit code 1 if a build cannot work."""
    findings = examine()
    if as_json:
        print_json([{"what": f.what, "verdict": f.verdict, "text": f.text} for f in findings])
    else:
        marks = {"ok": "[green]ok     [/]", "note": "[yellow]note   [/]"}
        for f in findings:
            printer = console()
            printer.print(marks.get(f.verdict, "[red]problem[/]"), end="  ")
            printer.print(f"{f.what}: {f.text}", markup=False)
    raise typer.Exit(FAILED if any(f.verdict == "problem" for f in findings) else OK)


def examine() -> list[Finding]:
    """Everything that a build depends on, looked at."""
    place = "source checkout" if in_checkout() else "installed package"
    findings = [
        Finding("bestiary", "ok", f"{__version__}, {place} at {source_root()}"),
        Finding("python", "ok", f"{sys.version.split()[0]} at {sys.executable}"),
        _tried("compiler", lambda: toolchain.find_compiler().identity),
        _tried("python headers", lambda: str(toolchain.python_include())),
        _tried("cython", toolchain.cython_version),
    ]
    found = package_versions(NEEDED)
    missing = [n for n in NEEDED if n not in found]
    findings.append(
        Finding("packages", "problem", f"missing: {', '.join(missing)}")
        if missing
        else Finding("packages", "ok", ", ".join(f"{k} {v}" for k, v in found.items()))
    )
    cache = ObjectCache.open()
    findings.append(
        Finding("cache", "ok", f"{cache_root()}, objects {cache.size() / 1e6:.1f} MB")
        if cache.writable
        else Finding(
            "cache",
            "note",
            f"{cache_root()} cannot be written; set BESTIARY_CACHE_DIR to another folder",
        )
    )
    if in_checkout() and not is_writable(packaged_models()):
        findings.append(
            Finding("generated", "note", f"{packaged_models()} cannot be written; the cache serves")
        )
    for entry in all_robots():
        state = entry.state
        findings.append(
            Finding(
                f"robot {state.name or entry.target.label}",
                "ok" if state.state == FRESH else "note",
                state.state + (f" ({state.reason})" if state.reason else ""),
            )
        )
    return findings


def _tried(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, "ok", look())
    except BuildError as error:
        return Finding(what, "problem", str(error))
