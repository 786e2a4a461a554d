"""Which C compiler, Python headers and Cython there are; what to install where one is missing."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .errors import CompilerMissingError

CANDIDATES = ("gcc", "cc", "clang")


@dataclass(frozen=True)
class Compiler:
    """A C compiler: the command, what it calls itself, and flags of the environment."""

    command: tuple[str, ...]
    identity: str
    extra_flags: tuple[str, ...] = ()
    extra_link_flags: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Full path of the compiler."""
        return shutil.which(self.command[-1]) or self.command[-1]


def module_suffix() -> str:
    """File name ending of extension modules of this Python, such as ``.cpython-311-….so``."""
    return str(sysconfig.get_config_var("EXT_SUFFIX") or ".so")


def compiler_command() -> tuple[str, ...]:
    """Command of the C compiler: ``CC`` if set, else Python's own, else gcc, cc or clang.

    Raises
    ------
    CompilerMissingError
        If none is on PATH; the message names the package to install.
    """
    asked = os.environ.get("CC", "").strip()
    if asked:
        command = tuple(shlex.split(asked))
        if shutil.which(command[0]) is None:
            raise CompilerMissingError(
                f"the compiler of the environment variable CC, {command[0]!r}, is not on PATH; "
                "correct CC or unset it"
            )
        return command
    configured = shlex.split(str(sysconfig.get_config_var("CC") or ""))[:1]
    for name in (*configured, *CANDIDATES):
        if shutil.which(name) is not None:
            return (name,)
    raise CompilerMissingError(
        f"no C compiler on PATH (tried {', '.join(dict.fromkeys((*configured, *CANDIDATES)))}); "
        "on Debian or Ubuntu: apt-get install gcc libc6-dev"
    )


def find_compiler() -> Compiler:
    """The compiler to use, asked for its version.

    Raises
    ------
    CompilerMissingError
        If there is none, or it does not run.
    """
    command = compiler_command()
    import subprocess

    try:
        told = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CompilerMissingError(
            f"the C compiler {shlex.join(command)} does not run: {error}"
        ) from error
    first = (told.stdout.strip() or told.stderr.strip()).splitlines()[:1]
    return Compiler(
        command,
        f"{first[0] if first else command[0]} [{sysconfig.get_platform()}]",
        tuple(shlex.split(os.environ.get("CFLAGS", ""))),
        tuple(shlex.split(os.environ.get("LDFLAGS", ""))),
    )


def python_include() -> Path:
    """Folder of ``Python.h``.

    Raises
    ------
    CompilerMissingError
        If the headers are not installed.
    """
    folder = Path(sysconfig.get_path("include"))
    if not (folder / "Python.h").exists():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise CompilerMissingError(
            f"Python's headers are missing (no {folder / 'Python.h'}); "
            f"on Debian or Ubuntu: apt-get install python{version}-dev (or python3-dev)"
        )
    return folder


@lru_cache(maxsize=1)
def numpy_include() -> tuple[Path, str]:
    """Folder of NumPy's C headers and NumPy's version, found without importing it.

    Raises
    ------
    CompilerMissingError
        If NumPy is not installed, or without its headers.
    """
    import importlib.metadata
    import importlib.util

    spec = importlib.util.find_spec("numpy")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        for core in ("_core", "core"):
            folder = Path(place) / core / "include"
            if (folder / "numpy" / "arrayobject.h").exists():
                return folder, importlib.metadata.version("numpy")
    raise CompilerMissingError(
        "NumPy's C headers are missing in this Python environment; install it: "
        f"{sys.executable} -m pip install numpy"
    )


@lru_cache(maxsize=1)
def cython_version() -> str:
    """Version of Cython.

    Raises
    ------
    CompilerMissingError
        If it is not installed.
    """
    import importlib.metadata
    import importlib.util

    if importlib.util.find_spec("Cython") is None:
        raise CompilerMissingError(
            "Cython is missing in this Python environment; install it: "
            f"{sys.executable} -m pip install cython"
        )
    return importlib.metadata.version("cython")


def default_jobs() -> int:
    """As many as there are processors for this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
