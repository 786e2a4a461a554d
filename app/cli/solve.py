"""``bestiary solve``: an optimal-control problem from a file or from the library."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from bestiary.build_tools.errors import FolderError, TargetError
from bestiary.build_tools.targets import parse_options
from bestiary.build_tools.user_file import closest

from .build import display_path
from .exit_codes import FAILED, INTERRUPTED
from .messages import console, print_json, reporting
from .problem_file import library, problem_from_file, set_constants
from .robot_problems import CONTACT, SUMMARIES, robot_problem
from .several import SeveralValues

if TYPE_CHECKING:
    from bestiary.solvers.ocp import OptimalControlProblem, Scheme, Solution
    from bestiary.solvers.ocp.library import Benchmark

SCHEMES = {
    "radau": "Radau",
    "gauss": "Gauss",
    "hermite-simpson": "HermiteSimpson",
    "trapezoid": "Trapezoid",
    "shooting": "MultipleShooting",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("solve", cls=SeveralValues)(solve_command)


@reporting
def solve_command(
    problem: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE.py|NAME",
            help="A Python file with a function or variable `problem`, or a name of the library "
            "(see --list).",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A constant of the problem, or an argument of the file's function; several may "
            "follow.",
        ),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            "--scheme", help=f"One of {', '.join(SCHEMES)}; with a degree, such as radau:4."
        ),
    ] = "radau:3",
    mesh: Annotated[
        int | None,
        typer.Option("--mesh", min=1, help="Intervals to begin with.", show_default="20"),
    ] = None,
    tail: Annotated[
        str | None,
        typer.Option("--tail", help="Of the rat: articulated or continuum.", show_default=False),
    ] = None,
    segments: Annotated[
        int | None, typer.Option("--segments", min=1, help="Of its tail.", show_default=False)
    ] = None,
    links: Annotated[
        int | None,
        typer.Option("--links", min=1, help="Of each of its segments.", show_default=False),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance", help="Largest relative error of an interval.", show_default="1e-6"
        ),
    ] = None,
    refine: Annotated[
        bool, typer.Option("--refine/--no-refine", help="Whether the mesh may change.")
    ] = True,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Most seconds; the best motion is kept.")
    ] = None,
    guess: Annotated[
        Path | None,
        typer.Option("--guess", dir_okay=False, help="Start from a solution that was saved."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", dir_okay=False, help="Write the solution as NetCDF.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", dir_okay=False, help="Draw it into a file (.png, .pdf, .svg)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing; the exit code tells.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="List the problems of the library.")
    ] = False,
) -> None:
    """Solve an optimal-control problem: refine its mesh, re-simulate the motion, judge it.

    Exit code 0: solved and verified; 1: not solved (a solution is saved and drawn all
    the same, marked as failed); 2: wrong usage or a bad statement; 130: interrupted.
    """
    if listing:
        _list(as_json)
        return
    if problem is None:
        raise TargetError("say which problem: a Python file, or a name (bestiary solve --list)")
    _check_outputs(save, plot)
    options = parse_options(settings or [])
    statement, known = _statement(
        problem, options, {"tail": tail, "segments": segments, "links": links}
    )
    from bestiary.solvers.ocp import load_solution

    try:
        start = load_solution(guess) if guess is not None else None
    except FileNotFoundError as error:
        raise TargetError(str(error)) from error
    solution: Solution = statement.solve(
        scheme=parse_scheme(scheme), mesh=mesh, refine_mesh=refine,
        seconds=seconds, guess=start, progress=False if as_json or quiet else None,
        **({} if tolerance is None else {"tolerance": tolerance}),
    )  # fmt: skip
    written = _write(solution, save, plot)
    if as_json:
        print_json(_plain(_facts(solution, known, written)))
    elif not quiet:
        _tell(solution, known, written)
    if not solution.success:
        raise typer.Exit(INTERRUPTED if solution.status.name == "INTERRUPTED" else FAILED)


def _check_outputs(save: Path | None, plot: Path | None) -> None:
    """Refuse, before the solve, files that could not be written after it."""
    for path in (save, plot):
        if path is not None and not path.absolute().parent.is_dir():
            raise FolderError(f"there is no folder {path.absolute().parent}")
    from bestiary.solvers.writing import WriteError, writable

    for name, path in (("--save", save), ("--plot", plot)):
        try:
            if path is not None:
                writable(path, name)
        except WriteError as error:
            raise TargetError(str(error)) from error
    if plot is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        known = FigureCanvasBase.get_supported_filetypes()
        if plot.suffix[1:].lower() not in known:
            raise TargetError(
                f"--plot: the format of {plot} is not supported: expected a name that ends in "
                f".{', .'.join(sorted(known))}"
            )


def _statement(
    text: str, options: Mapping[str, Any], tail: Mapping[str, Any]
) -> tuple[OptimalControlProblem, Benchmark | None]:
    """The problem of a file or name, and what is known of its optimum as it is stated."""
    path = Path(text).expanduser()
    if text in CONTACT:
        return robot_problem(text, options, tail), None
    asked = [f"--{k}" for k, v in tail.items() if v is not None]
    if asked:
        raise TargetError(f"{', '.join(asked)}: only for {' and '.join(CONTACT)}, not for {text!r}")
    if path.suffix == ".py" or path.is_file():
        return problem_from_file(path, options), None
    benchmarks = library()
    if text not in benchmarks:
        raise TargetError(
            f"{text!r} is neither a Python file nor a problem of the library"
            f"{closest(text, [*benchmarks, *CONTACT])}; bestiary solve --list names them"
        )
    made = benchmarks[text].build()
    set_constants(made, options)
    return made, None if options else benchmarks[text]


def parse_scheme(text: str) -> Scheme:
    """A scheme from ``name`` or ``name:degree``.

    Raises
    ------
    TargetError
        For a name or a degree that there is not.
    """
    from bestiary.solvers import ocp

    name, separator, degree = text.partition(":")
    found = SCHEMES.get(name.strip().lower())
    if found is None:
        raise TargetError(
            f"--scheme: no scheme {name!r}{closest(name, list(SCHEMES))}; have {', '.join(SCHEMES)}"
        )
    made = getattr(ocp, found)
    if not separator:
        return made()  # type: ignore[no-any-return]
    if not (degree.strip().isascii() and degree.strip().isdigit()):
        raise TargetError(f"--scheme: expected a degree after the colon, got {degree!r}")
    return made(int(degree))  # type: ignore[no-any-return]


def _write(solution: Solution, save: Path | None, plot: Path | None) -> dict[str, Path]:
    written = {}
    try:
        if save is not None:
            written["saved"] = solution.save(save)
        if plot is not None:
            from bestiary.solvers.ocp.plots import save_figure

            sealed = solution.sealed
            figure = solution.unseal().plot()  # a failed one says so in its title
            solution.seal(sealed)
            written["plotted"] = save_figure(figure, plot)
    except OSError as error:
        raise FolderError(f"cannot write: {error.strerror or error}") from error
    except ValueError as error:  # matplotlib, for an unknown format
        raise TargetError(f"--plot: {error}") from error
    return written


def _tell(solution: Solution, known: Benchmark | None, written: Mapping[str, Path]) -> None:
    printer = console()
    printer.print(str(solution.report()), markup=False)
    if known is not None and solution.success:
        printer.print(
            f"known optimum {known.optimum:.10g} ({known.source}); relative difference "
            f"{known.error(solution):.1e}",
            markup=False,
        )
    for what, path in written.items():
        printer.print(f"{what}: {display_path(path.absolute())}", markup=False)


def _facts(
    solution: Solution, known: Benchmark | None, written: Mapping[str, Path]
) -> dict[str, Any]:
    record, verdict = solution.record, solution.verdict
    return {
        "problem": solution.name,
        "status": solution.status.name,
        "success": solution.success,
        "cost": record.cost,
        "costs": dict(record.costs),
        "known_optimum": known.optimum if known is not None else None,
        "parameters": {q.name: v for q, v in record.parameters},
        "constants": {q.name: v for q, v in record.constants},
        "durations": {p.name: p.motion.end - p.motion.start for p in record.phases},
        "reasons": list(verdict.reasons),
        "suggestion": verdict.suggestion,
        "violations": [str(v) for v in verdict.violations],
        "segment_error": verdict.segment_error,
        "open_loop_error": verdict.open_loop_error,
        "mesh_error": verdict.mesh_error,
        "meshes": [
            {
                "intervals": r.intervals, "nodes": r.nodes, "knots": r.knots,
                "status": r.status, "iterations": r.iterations, "cost": r.cost, "error": r.error,
                "seconds": r.seconds,
            }
            for r in record.rounds
        ],
        "seconds": solution.seconds,
        **{what: str(path) for what, path in written.items()},
    }  # fmt: skip


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinities: null."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return json.loads(json.dumps(value, default=float))


def _meaning(docstring: str) -> str:
    """First line of a docstring, without its markup."""
    line = docstring.strip().splitlines()[0] if docstring.strip() else ""
    return " ".join(re.sub(r":\w+:`~?([^`]*)`", r"\1", line).split())


def _list(as_json: bool) -> None:
    benchmarks = library()
    rows: list[dict[str, Any]] = [
        {"name": name, "meaning": text, "optimum": None, "maximized": False, "source": None}
        for name, text in SUMMARIES.items()
    ]
    rows += [
        {
            "name": name,
            "meaning": _meaning(entry.build.__doc__ or ""),
            "optimum": entry.optimum,
            "maximized": entry.maximized,
            "source": entry.source,
        }
        for name, entry in sorted(benchmarks.items())
    ]
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("problem", no_wrap=True)
    table.add_column("optimum", justify="right", no_wrap=True)
    table.add_column("what is asked")
    for row in rows:
        optimum = "–" if row["optimum"] is None else f"{row['optimum']:.9g}"
        goal = "" if row["optimum"] is None else "max " if row["maximized"] else "min "
        table.add_row(row["name"], f"{goal}{optimum}", row["meaning"])
    console().print(table)
    console().print(
        "Solve one with: bestiary solve NAME. Optima are those of the literature, in the units of "
        "the problem.",
        style="dim",
        markup=False,
    )
