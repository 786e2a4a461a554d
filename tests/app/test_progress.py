"""The progress display, on a terminal and elsewhere."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from bestiary.build_tools.pipeline import Event
from bestiary.build_tools.targets import Target
from bestiary.cli.progress import Display

EVENTS = (
    Event("fish", "derive"),
    Event("fish", "derive", 1, 1, 0.25),
    Event("fish", "wait"),
    Event("fish", "compile", 2, 7),
    Event("fish", "compile", 1, 1, 12.5),
)


def shown(events: tuple[Event, ...], terminal: bool, quiet: bool = False) -> str:
    """What the display writes for some events."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100, color_system=None)
    with Display(console, quiet) as display:
        for event in events:
            display(event)
            if display.live is not None:
                display.live.refresh()
    return stream.getvalue()


def test_terminal_shows_step_parts_and_times() -> None:
    text = shown(EVENTS, terminal=True)
    for part in ("fish", "derive 0.2 s", "wait", "compile 2/7", "compile 12.5 s", "link", "write"):
        assert part in text


def test_elsewhere_each_finished_step_is_a_line() -> None:
    assert shown(EVENTS, terminal=False).splitlines() == [
        "fish: derive 0.25 s",
        "fish: waiting for another build of it to end",
        "fish: compile 12.50 s",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_quiet_display_shows_nothing(terminal: bool) -> None:
    assert shown(EVENTS, terminal, quiet=True) == ""


def test_next_robot_begins_a_new_row() -> None:
    text = shown((*EVENTS, Event("crab", "derive")), terminal=True)
    last = [line for line in text.splitlines() if "crab" in line][-1]
    assert "12.5" not in last


def test_time_of_the_running_step_goes_on() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    with Display(console, quiet=False) as display:
        display(Event("fish", "emit"))
        time.sleep(0.35)
    assert "emit 0.3 s" in stream.getvalue() or "emit 0.2 s" in stream.getvalue()


def test_display_takes_the_events_of_a_build(target: Target) -> None:
    from bestiary.build_tools.pipeline import build

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)
    with Display(console, quiet=False) as display:
        build(target, progress=display)
        assert set(display.ended) == {"derive", "emit", "compile", "link", "write"}
