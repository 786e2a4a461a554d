"""Which of our own source files a robot depends on: what its model and the build import.

Read from the import statements, those within functions included, so that nothing has to
run and the answer is the same in every process.  A file that nothing of this imports, such
as another animal, does not matter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import resolve_name
from pathlib import Path
from typing import TYPE_CHECKING

from bestiary import modeling
from bestiary.modeling.animals import BUILT_IN

from .locations import source_root

if TYPE_CHECKING:
    from .targets import Target

PACKAGE = "bestiary"
FOLDERS = ("modeling", "build_tools")
ENTRY = f"{PACKAGE}.build_tools.pipeline"
ANIMALS = f"{PACKAGE}.modeling.animals"
TEMPLATES = ("build_tools", "*.jinja")


def source_files(target: Target) -> tuple[Path, ...]:
    """Every file of ours that decides what a build of a target writes.

    The list of built-in animals is none of them: of that a target's own entry counts,
    see :func:`definition`.
    """
    begin = [ENTRY]
    formalism = "poincare"
    paths: list[Path] = []
    if target.path is None:
        entry = BUILT_IN[target.label]
        begin.append(f"{ANIMALS}.{entry.module}")
        formalism = entry.formalism
    else:
        paths = [target.path]
    begin += _names_in(f"{PACKAGE}.modeling", [formalism])
    found: dict[str, Path] = {}
    waiting = [*begin, *(n for p in paths for n in _imported_by_file(p))]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _file(name)
        if path is None:
            continue
        found[name] = path
        parent = name.rpartition(".")[0]
        waiting += [parent, *_imports(path, name, _stamp(path))]
    found.pop(ANIMALS, None)
    templates = (source_root() / TEMPLATES[0]).rglob(TEMPLATES[1])
    return tuple(sorted({*found.values(), *templates}))


def definition(target: Target) -> str:
    """The entry of a built-in robot: where its model is, and its options."""
    return repr(BUILT_IN[target.label]) if target.path is None else ""


def _file(name: str) -> Path | None:
    """File of a module of ours; None for any other."""
    package, _, rest = name.partition(".")
    if package != PACKAGE or rest.split(".")[0] not in FOLDERS:
        return None
    place = source_root().joinpath(*rest.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def _stamp(path: Path) -> tuple[int, int]:
    info = path.stat()
    return info.st_size, info.st_mtime_ns


@lru_cache(maxsize=1024)
def _imports(path: Path, name: str, _: tuple[int, int]) -> tuple[str, ...]:
    """Modules, or names in them, that a module of ours imports."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return tuple(_found(ast.parse(path.read_bytes()), package))


def _imported_by_file(path: Path, seen: frozenset[Path] = frozenset()) -> Iterator[str]:
    """What a user's model file imports, and the neighbours that it imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # the build will say what is wrong
    for name in _found(tree, ""):
        neighbour = path.parent / f"{name.partition('.')[0]}.py"
        if name.startswith(f"{PACKAGE}."):
            yield name
        elif neighbour.is_file() and neighbour not in seen:
            yield from _imported_by_file(neighbour, seen | {path})


def _found(tree: ast.AST, package: str) -> Iterator[str]:
    for node in _walked(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dotted = "." * node.level + (node.module or "")
            module = resolve_name(dotted, package) if node.level and package else dotted
            yield module
            yield from _names_in(module, [alias.name for alias in node.names])


def _walked(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements but those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for other in node.orelse:
                yield other
                yield from _walked(other)
            continue
        yield node
        yield from _walked(node)


def _names_in(module: str, names: Iterable[str]) -> Iterator[str]:
    """Modules that names imported from a module may be, or come from."""
    for name in names:
        yield f"{module}.{name}"
        if module == modeling.__name__ and name in modeling.HOME:
            yield f"{module}.{modeling.HOME[name]}"
