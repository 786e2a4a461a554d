"""Reading ``M[0,4]`` and the like, and writing the entry that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bestiary.build_tools.errors import TargetError
from bestiary.build_tools.user_file import closest
from bestiary.modeling.equations import EquationsOfMotion, MatrixView

SHORT = {
    "M": "mass_matrix",
    "C": "coriolis_matrix",
    "F": "force_vector",
    "V": "velocity_map",
    "W": "rate_map",
    "B": "input_matrix",
    "Q": "generalized_forces",
}
LARGEST_SENSIBLE = 200_000  # operations that still make sense to print
FORM = re.compile(r"\s*(?P<name>\w+)(?:\.(?P<output>\w+))?\s*(?:\[(?P<index>[^\]]*)\])?\s*")


@dataclass(frozen=True)
class Chosen:
    """An output of a function, and one entry of it (or all, with index None)."""

    equations: EquationsOfMotion
    title: str
    function: str
    output: str | None
    index: tuple[int, ...] | None
    view: MatrixView

    @property
    def example(self) -> str:
        """How to ask for one entry."""
        name = next((k for k, v in SHORT.items() if v == self.function), self.function)
        return f"{name}[{','.join('0' for _ in self.view.shape)}]"

    def sizes(self) -> list[list[int | None]]:
        """Operations of each entry written out, row by row; None for structural zeros."""
        shape = self.view.shape
        rows, columns = (shape[0], shape[1]) if len(shape) == 2 else (1, shape[0])
        found: list[list[int | None]] = []
        for i in range(rows):
            keys = [(i, j) if len(shape) == 2 else (j,) for j in range(columns)]
            found.append([None if self.view.is_zero(k) else self.view.size(k) for k in keys])
        return found

    def written(self, limit: int, variant: str | None, latex: bool) -> tuple[str, int]:
        """The entry as text and its operation count.

        Raises
        ------
        TargetError
            If it has more than ``limit`` operations.
        """
        import sympy

        from bestiary.build_tools.backends.latex import latex_names, plain_text

        index = self.index or ()
        size = self.view.size(index)
        if size > limit:
            advice = (
                f"ask for --limit {size} to see it all the same"
                if size <= LARGEST_SENSIBLE
                else "that is too long to read; look at the entries it is made of, such as M and F"
            )
            raise TargetError(
                f"{self.title} has {size:,} operations written out as a closed form, more than "
                f"the limit of {limit:,}; {advice}"
            )
        entry = self.view.entry(index, limit)
        if variant is not None:
            values = self.equations.values(variant)
            symbols = self.equations.symbols
            entry = entry.subs({symbols[k]: v for k, v in values.items() if k in symbols})
        if latex:
            names = latex_names(self.equations)
            return str(sympy.latex(entry, symbol_names=names, full_prec=False)), size
        return plain_text(entry), size


def choose(equations: EquationsOfMotion, text: str) -> Chosen:
    """The entry that a text such as ``M[0,4]`` or ``head_pose[0,3]`` names.

    Raises
    ------
    TargetError
        If there is no such function, output or entry.
    """
    match = FORM.fullmatch(text)
    if match is None:
        raise TargetError(f"cannot read {text!r}; expected a name with an index, such as M[0,4]")
    name = match["name"]
    function = SHORT.get(name, name)
    if function not in equations.functions:
        if function in equations.left_out:
            raise TargetError(
                f"this build of {equations.name} has some functions only "
                f"({', '.join(equations.selection)}), and {function} is not among them; build the "
                f"robot whole, or with --functions {' '.join([*equations.selection, function])}"
            )
        known = [*equations.functions, *SHORT]
        raise TargetError(
            f"{equations.name} has no function {name!r}{closest(name, known)}; "
            f"it has {_listed(equations)} (and short: {', '.join(SHORT)})"
        )
    outputs = [o.name for o in equations.program.functions[function].outputs]
    output = match["output"]
    if output is not None and output not in outputs:
        raise TargetError(f"{function} has no output {output!r}; it has {', '.join(outputs)}")
    view = equations.view(function, output)
    title = text.strip()
    if match["index"] is None:
        index: tuple[int, ...] | None = None if view.shape else ()
        return Chosen(equations, title, function, output, index, view)
    words = [w.strip() for w in match["index"].split(",") if w.strip()]
    shape = "×".join(map(str, view.shape)) or "a scalar, without index"
    if len(words) != len(view.shape):
        raise TargetError(f"{title}: {function} is {shape}, got {len(words)} indices")
    index = tuple(
        _position(equations, title, word, extent, k)
        for k, (word, extent) in enumerate(zip(words, view.shape, strict=True))
    )
    return Chosen(equations, title, function, output, index, view)


def _listed(equations: EquationsOfMotion) -> str:
    """Names of the functions, those of the nodes summed up."""
    nodes = {n.name for n in equations.nodes}
    names = [f for f in equations.functions if f.rpartition("_")[0] not in nodes]
    kinds = "_pose, _velocity and _jacobian of each node"
    return f"{', '.join(names)}, and {kinds} ({', '.join(sorted(nodes))})" if nodes else ""


def _position(equations: EquationsOfMotion, title: str, word: str, extent: int, axis: int) -> int:
    """An index as a number, or as the name of a coordinate, velocity or input."""
    if re.fullmatch(r"-?\d+", word):
        number = int(word)
        if not -extent <= number < extent:
            raise TargetError(f"{title}: index {word} is out of range, expected 0 to {extent - 1}")
        return number % extent
    groups = [
        [v.name for v in equations.velocities],
        [c.name for c in equations.coordinates],
        [i.name for i in equations.inputs],
    ]
    fitting = [g for g in groups if len(g) == extent]
    for group in fitting:
        if word in group:
            return group.index(word)
    known = [n for g in fitting for n in g]
    raise TargetError(
        f"{title}: {word!r} is not a number from 0 to {extent - 1}"
        + (f" nor one of {', '.join(known)}{closest(word, known)}" if known else "")
    )
