"""Names of robots with options: of their folder and, for built-in ones, of their C.

Standard library only, so that asking is cheap.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from . import BUILT_IN, BuiltIn

PLAIN_BASE = "euler_zyx"
LONGEST = 60


def folder_name(label: str, options: Mapping[str, Any] | None = None) -> str:
    """Name of the folder of a model with given options; also how it is loaded.

    ``base="euler_zyx"`` (of a built-in robot: its own base) is the plain name and
    another ``base`` is appended bare (``sea_lion_quaternion``).  All other options
    follow in reverse alphabetical order, key and value together, so that their order
    in the call does not matter: ``segments=3, links=4`` gives
    ``kangaroo_rat_segments3_links4``.  In values a decimal point becomes ``p``, a
    minus ``m``; True is the bare key, False ``no_`` and the key; options of None are
    left out.
    """
    rest = dict(options or {})
    base = rest.pop("base", None)
    plain = dict(BUILT_IN[label].options).get("base") if label in BUILT_IN else PLAIN_BASE
    parts = [label]
    if base is not None and base != plain:
        parts.append(str(base))
    for key in sorted(rest, reverse=True):
        value = rest[key]
        if isinstance(value, bool):
            parts.append(key if value else f"no_{key}")
        elif isinstance(value, str):
            parts.append(f"{key}_{value}")
        elif value is not None:
            parts.append(key + repr(value).replace(".", "p").replace("-", "m").replace("+", ""))
    return re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(parts))


def normal_selection(functions: Iterable[str]) -> tuple[str, ...]:
    """Names of functions once each, sorted: the order in which they were asked for is no matter."""
    return tuple(sorted({name.strip() for name in functions if name.strip()}))


def selection_suffix(functions: Iterable[str]) -> str:
    """What the name of a folder with some functions only ends in; nothing for all of them.

    ``_only_`` and the names, or a digest of them where that would be long.
    """
    names = "_".join(normal_selection(functions))
    if len(names) > LONGEST:
        names = hashlib.sha256(names.encode()).hexdigest()[:10]
    return f"_only_{names}" if names else ""


def canonical(label: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The built-in robot that a label with options means, and the options that its name says.

    ``("sea_lion", {"base": "quaternion"})`` gives ``("sea_lion_quaternion", {})``.
    Options at the robot's own values are not said, unless it is of another size:
    ``("kangaroo_rat_articulated", {"segments": 3})`` gives both segments and links.
    """
    entry = BUILT_IN.get(label)
    if entry is None or not options:
        return label, dict(options)
    own = dict(entry.options)
    full = {**own, **options}
    kin = [n for n in (label, *BUILT_IN) if _kind(BUILT_IN[n]) == _kind(entry)]
    for name in kin:
        if dict(BUILT_IN[name].options) == full:
            return name, {}
    if entry.sizes:  # the first of its kind has the plain name, to which the sizes are added
        label = kin[1]
        entry = BUILT_IN[label]
        own = dict(entry.options)
    return label, {k: v for k, v in full.items() if k in entry.sizes or own.get(k, ...) != v}


def _kind(entry: BuiltIn) -> tuple[str, str, str]:
    return entry.module, entry.function, entry.formalism
