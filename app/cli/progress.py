"""The live display of a build: steps, parts done, and times."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from bestiary.build_tools.pipeline import STEPS, Event

WAITING = "wait"


class Display:
    """Shows the events of builds: live on a terminal, line by line elsewhere."""

    def __init__(self, printer: Console, quiet: bool) -> None:
        self.printer, self.quiet = printer, quiet
        self.robot = ""
        self.ended: dict[str, float] = {}
        self.running: Event | None = None
        self.since = 0.0
        self.spinner = Spinner("dots")
        self.live = (
            Live(
                get_renderable=self._render,
                console=printer,
                refresh_per_second=10,
                transient=True,
            )
            if printer.is_terminal and not quiet
            else None
        )

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Take the display away; the next event brings it back."""
        if self.live is not None:
            self.live.stop()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __call__(self, event: Event) -> None:
        if self.live is not None:
            self.live.start()
        if event.robot != self.robot:
            self.robot, self.ended, self.running = event.robot, {}, None
        if event.step == WAITING:
            self._line(f"{event.robot}: waiting for another build of it to end")
        if event.seconds is not None:
            self.ended[event.step] = event.seconds
            if self.running is not None and self.running.step == event.step:
                self.running = None
            self._line(f"{event.robot}: {event.step} {event.seconds:.2f} s")
            return
        if self.running is None or self.running.step != event.step:
            self.since = time.perf_counter()
        self.running = event

    def _line(self, text: str) -> None:
        if self.live is None and not self.quiet:
            self.printer.print(text)

    def _render(self) -> RenderableType:
        row = Table.grid(padding=(0, 2))
        cells: list[RenderableType] = [Text(self.robot, style="bold")]
        for step in (*((WAITING,) if self._is_running(WAITING) else ()), *STEPS):
            if step in self.ended:
                cells.append(Text(f"{step} {self.ended[step]:.1f} s", style="green"))
            elif self.running is not None and self._is_running(step):
                parts = f" {self.running.done}/{self.running.total}" * (self.running.total > 1)
                self.spinner.update(text=f"{step}{parts} {time.perf_counter() - self.since:.1f} s")
                cells.append(self.spinner)
            else:
                cells.append(Text(step, style="dim"))
        row.add_row(*cells)
        return Group(row) if self.robot else Text("")

    def _is_running(self, step: str) -> bool:
        return self.running is not None and self.running.step == step
