"""What can go wrong in a build, said so that the reader can act on it."""

from __future__ import annotations


class BuildError(RuntimeError):
    """A build that could not be finished."""


class TargetError(BuildError):
    """A model that cannot be found, read or derived; the message names the file or model."""


class CompilerMissingError(BuildError):
    """No compiler, no Python headers or no Cython; the message names what to install."""


class CompilationError(BuildError):
    """The compiler refused a source; the message carries all that it said."""


class FolderError(BuildError):
    """A folder that cannot be written; the message names it and a way out."""
