"""Functions of a node that are made only if nobody has compiled them before.

Deriving the Jacobian and Hessian of a robot's node and finding their common
subexpressions takes longer than loading what was compiled from them the last time.  Both
follow from the function itself, so their identity is that of the function, and what a
program has to know before it can use a compiled form (its sparsity, and how much work it
is) is kept beside the libraries in the user's cache, under that identity.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeAlias

import casadi as ca
import numpy as np

Array: TypeAlias = np.ndarray
Pattern: TypeAlias = tuple[Array, Array]

WORTH_KEEPING = 300
"""Instructions of a value whose derivatives' facts are kept; others are derived at once."""
SUFFIX = ".json"


@dataclass(frozen=True)
class Facts:
    """What is known of a function without having it.

    Attributes
    ----------
    instructions:
        Of CasADi's virtual machine.
    rows, columns:
        Structural nonzeros in CasADi's order; empty for a value.
    """

    instructions: int
    rows: list[int]
    columns: list[int]


class NodeForm:
    """A function (w, c, ...) of a node by name: its facts at once, itself when needed.

    Parameters
    ----------
    name:
        Of the function.
    make:
        Gives the function and the pattern of its nonzeros.
    origin:
        The function that this one derives from and how, where its facts are worth keeping.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], tuple[ca.Function, Pattern]],
        origin: tuple[NodeForm, str] | None = None,
    ) -> None:
        self.name = name
        self._make = make
        self._origin = origin

    @classmethod
    def of(cls, function: ca.Function) -> NodeForm:
        """The form of a function that is there already."""
        nothing = np.empty(0, dtype=int)
        return cls(function.name(), lambda: (function, (nothing, nothing)))

    @cached_property
    def _made(self) -> tuple[ca.Function, Pattern]:
        return self._make()

    @property
    def function(self) -> ca.Function:
        """The function; derived now if it was not."""
        return self._made[0]

    @property
    def instructions(self) -> int:
        """Its length; 0 if it is no expanded function."""
        return self._facts.instructions

    @cached_property
    def pattern(self) -> Pattern:
        """(rows, columns) of the structural nonzeros, in CasADi's order."""
        if "_made" in self.__dict__ or self._origin is None:
            return self._made[1]
        facts = self._facts
        return np.array(facts.rows, dtype=int), np.array(facts.columns, dtype=int)

    @cached_property
    def content(self) -> str:
        """Hash of all that decides what the function computes."""
        from bestiary.build_tools.cache import content_key
        from bestiary.build_tools.files import sha256

        if self._origin is None:
            return sha256(self.function.serialize())
        source, kind = self._origin
        return content_key(kind, source.content, _deriving(), ca.CasadiMeta.version())

    @cached_property
    def _facts(self) -> Facts:
        kept = self._origin is not None and self._origin[0].instructions >= WORTH_KEEPING
        known = _recall(self.content) if kept and "_made" not in self.__dict__ else None
        if known is not None:
            return known
        function, (rows, columns) = self._made
        length = function.n_instructions() if function.is_a("SXFunction") else 0
        facts = Facts(length, rows.tolist(), columns.tolist())
        if kept:
            _keep(self.content, facts)
        return facts


@lru_cache(maxsize=1)
def _deriving() -> str:
    """Hash of the module that derives: other derivations, other forms."""
    from bestiary.build_tools.files import sha256

    from . import blocks

    return sha256(Path(blocks.__file__).read_bytes())


def _recall(content: str) -> Facts | None:
    """The facts of a form from the user's cache; None if they are not there or damaged."""
    from bestiary.build_tools.cache import ObjectCache

    path = ObjectCache.open().path(content, SUFFIX)
    try:
        facts = Facts(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    lists = (facts.rows, facts.columns)
    sound = isinstance(facts.instructions, int) and all(
        isinstance(k, int) and k >= 0 for entries in lists for k in entries
    )
    return facts if sound and len(facts.rows) == len(facts.columns) else None


def _keep(content: str, facts: Facts) -> None:
    from bestiary.build_tools.cache import ObjectCache

    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="bestiary-") as place:
        path = Path(place) / "facts.json"
        path.write_text(json.dumps(asdict(facts)), encoding="utf-8")
        ObjectCache.open().store(content, SUFFIX, path)
