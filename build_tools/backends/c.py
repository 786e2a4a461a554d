"""The C back end: equations in, a whole C99 project out.

See :mod:`.c_plan` for how statements become functions, :mod:`.c_functions` for
their text, :mod:`.c_rollout` for the integrators, and ``build_tools/templates``
for the files around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bestiary.modeling.equations import EquationsOfMotion

from .c_defaults import defaults_files
from .c_header import header
from .c_helpers import helper_sources
from .c_names import member_names
from .c_plan import COptions, FunctionPlan, ModelTooLargeError
from .c_printer import PRECISIONS, Precision
from .c_project import CProject
from .c_readme import cmake_lists, readme
from .c_rollout import rollout_file, rollout_source
from .c_text import render

__all__ = ["COptions", "CSources", "ModelTooLargeError", "emit_c", "member_names"]


@dataclass(frozen=True)
class CSources:
    """Text of a C project.

    Attributes
    ----------
    files:
        File name → text, everything that belongs in the folder.
    sources:
        Precision (``"f64"``, ``"f32"``) → names of the ``.c`` files to compile.
    header:
        Name of the header.
    defaults:
        Names of the files with parameter values; empty without parameters.
    """

    files: Mapping[str, str]
    sources: Mapping[str, tuple[str, ...]]
    header: str
    defaults: tuple[str, ...]


def emit_c(equations: EquationsOfMotion, options: COptions | None = None) -> CSources:
    """Write the equations of a robot as a C99 project.

    Parameters
    ----------
    equations:
        What a formalism derived.
    options:
        How long functions and files are cut.

    Returns
    -------
    CSources
        The same bytes for the same equations, on every machine.

    Raises
    ------
    ModelTooLargeError
        If a function has more operations than ``options.function_limit``.
    ProgramError
        If a constant or parameter does not fit single precision.
    """
    project = CProject(equations, options or COptions())
    prefix = project.names.prefix
    files = {f"{prefix}.h": header(project)}
    sources: dict[str, tuple[str, ...]] = {}
    for precision in PRECISIONS:
        own = _kernels(project, precision)
        if project.state_rates is not None:
            own[rollout_file(project, precision)] = rollout_source(project, precision)
        sources[precision.tag] = tuple(own)
        files.update(own)
    defaults = defaults_files(project)
    files.update(defaults)
    files["README.md"] = readme(project, sources, tuple(defaults))
    files["CMakeLists.txt"] = cmake_lists(project, sources, tuple(defaults))
    return CSources(files, sources, f"{prefix}.h", tuple(defaults))


def _kernels(project: CProject, precision: Precision) -> dict[str, str]:
    """Source files of all functions in one precision."""
    prefix, tag = project.names.prefix, precision.tag
    bins = _bins(project.plans, project.options.file_size)
    if len(bins) == 1:
        names = [f"{prefix}_{tag}.c"]
    else:
        names = [f"{prefix}_{k + 1}_{tag}.c" for k in range(len(bins))]
    return {
        name: _kernel(project, precision, name, plans)
        for name, plans in zip(names, bins, strict=True)
    }


def _bins(plans: Sequence[FunctionPlan], size: int) -> list[list[FunctionPlan]]:
    """Neighbouring functions together, files of nearly equal size."""
    total = sum(plan.own_size for plan in plans)
    count = max(1, -(-total // size))
    bins: list[list[FunctionPlan]] = [[] for _ in range(count)]
    passed = 0
    for plan in plans:
        middle = passed + plan.own_size / 2
        bins[min(count - 1, int(middle * count / max(total, 1)))].append(plan)
        passed += plan.own_size
    return [b for b in bins if b] or [[]]


def _kernel(
    project: CProject, precision: Precision, file: str, plans: Sequence[FunctionPlan]
) -> str:
    writer = project.writer(precision)
    needed = {name for plan in plans for name in writer.helpers(plan)}
    return render(
        "kernel.c.jinja",
        {
            **project.common,
            "file": file,
            "functions": [plan.function.name for plan in plans],
            "split": any(len(plan.parts) > 1 or plan.calls.calls for plan in plans),
            "helpers": helper_sources(precision, needed),
            "definitions": [writer.definition(plan) for plan in plans],
        },
    )
