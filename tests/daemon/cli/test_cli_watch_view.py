"""The live view: what it shows, and that it fits any terminal."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from test_cli_status_lines import BUSY, NOW, QUIET, at, learned

from support_cli import Cli
from support_examples import examples
from support_golden import assert_golden
from tacitd.cli.status_lines import StatusLine
from tacitd.cli.watch_loop import WatchScreen
from tacitd.cli.watch_view import fit_lines, list_watch_lines

WATCHED: dict[str, Any] = BUSY | {
    "calls": [{"purpose": "extraction", "project": "/w/shop", "since": at(14, 29)}],
    "learned": QUIET["learned"],
    "handlers": {
        "learning": {
            "lag": {"transcripts": 34, "bytes": 12_345},
            "gathering": 1,
            "waiting": 40,
            "busy": 1,
            "parked": 34,
            "goes_out": at(14, 32),
        },
        "profile": {
            "lag": {"transcripts": 0, "bytes": 0},
            "gathering": 0,
            "waiting": 0,
            "busy": 0,
            "parked": 0,
        },
    },
}
RECENT = [
    {"at": at(14, minute), "did": "read", "line": f"read: {minute} prompts  (shop)", "number": minute}
    for minute in range(20, 29)
]


def shown(columns: int, rows: int, document: dict[str, Any] = WATCHED) -> list[str]:
    return [
        line.text
        for line in fit_lines(list_watch_lines(document, RECENT, NOW, bars=columns >= 40), columns, rows)
    ]


@pytest.mark.parametrize("columns", [20, 50, 80])
def test_the_golden_files(columns: int) -> None:
    """Lag, what is gathered and when it goes out, calls, spend, parked work in groups, learned lines, the latest."""
    lines = shown(columns, 40)
    assert max(map(len, lines)) <= columns
    assert_golden(f"status/watch-{columns}.txt", "\n".join(lines) + "\n")


@examples(60)
@given(st.integers(1, 200), st.integers(1, 60))
def test_it_fits_any_terminal(columns: int, rows: int) -> None:
    """Cut and never wrapped; the head stays, and what is left out is said."""
    lines = shown(columns, rows)
    assert len(lines) <= rows and all(len(line) <= columns for line in lines)
    assert lines[0] == shown(columns, 1000)[0] or rows == 1
    whole = len(list_watch_lines(WATCHED, RECENT, NOW))
    if 1 < rows < whole and columns > 20:
        assert lines[-1].strip() == f"{whole - rows + 1} more"


def test_without_unicode_the_bars_are_ascii() -> None:
    """A terminal without UTF-8."""
    lines = list_watch_lines(QUIET | {"calls": [], "handlers": {}}, [], NOW, unicode=False)
    assert all(line.whole.isascii() for line in lines) and any("#." in line.text for line in lines)


def test_nothing_to_show_is_said() -> None:
    """No call, nothing learned, no cap (a cap of 0 allows nothing)."""
    quiet = QUIET | {
        "calls": [],
        "learned": {"today": 0, "last": []},
        "budget": QUIET["budget"] | {"calls_per_day": 0, "calls_today": 0},
        "handlers": {"learning": WATCHED["handlers"]["profile"]},
    }
    text = "\n".join(line.whole for line in list_watch_lines(quiet, [], NOW))
    assert "none running" in text and "nothing today" in text and "learning    none" in text


def _draw(screen: WatchScreen, width: int = 60, *, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, height=30, force_terminal=colour, color_system="standard" if colour else None
    )
    console.print(screen)
    return out.getvalue()


def test_the_screen_between_two_daemons() -> None:
    """The last status stays below the message; a daemon of another version is said to be one."""
    screen = WatchScreen(unicode=True)
    assert "connecting" in _draw(screen)
    screen.show_document(WATCHED)
    screen.show_message("no daemon runs; waiting for one")
    text = _draw(screen)
    assert text.splitlines()[0].strip() == "! no daemon runs; waiting for one" and "tacitd 0.1.0" in text
    screen.show_document({"version": "9"})
    assert "of another version" in _draw(screen)


def test_a_strangers_text_cannot_control_the_terminal() -> None:
    """Neither escape sequences nor rich's markup."""
    screen = WatchScreen(unicode=True)
    screen.show_document(
        WATCHED | {"learned": {"today": 1, "last": [learned("[red]x[/red]\x1b[2J", at(14))]}}
    )
    text = _draw(screen, 200)
    assert "[red]x[/red]" in text and "\x1b" not in text
    assert "\x1b[1;31m" in _draw(screen, 200, colour=True)


def test_it_needs_a_terminal(cli: Cli, tmp_path: Path) -> None:
    """In a pipe it would print without end."""
    for arguments in (["--watch"], ["--watch", "--json"]):
        said = cli.run("status", *arguments)
        assert said.code == 2 and "needs a terminal" in said.err and "tacitd log -f" in said.err


def test_lines_keep_their_kind() -> None:
    """A cut line is as red as a whole one."""
    (line,) = fit_lines([StatusLine("!", "x" * 99, "problem")], 20, 5)
    assert line.kind == "problem" and line.text == "! " + "x" * 15 + "..."
