"""The status for people: one screen, problems first, local times, plurals; wrapped and coloured on terminals only."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_cli import Cli
from support_examples import examples
from support_golden import assert_golden
from tacitd.cli.status_command import (
    SCREEN,
    StatusLine,
    describe_time,
    find_reasons,
    layout_lines,
    list_status_lines,
)
from tacitd.clock import utc_seconds

NOW = datetime(2026, 11, 20, 14, 30).timestamp()
"""A local time, so that the golden files are the same in every time zone."""


def at(hour: int, minute: int = 0, day: int = 20) -> str:
    """A local time of that month, as the document has it."""
    return utc_seconds(datetime(2026, 11, day, hour, minute).timestamp())


def learned(text: str, when: str) -> dict[str, Any]:
    line = f"learned: {text}  (shop/LEARNED.md, from 2 prompts, $0.01)"
    return {"at": when, "did": "learned", "text": text, "line": line}


def parked(number: int, reason: str, hint: str, until: str | None = None) -> list[dict[str, Any]]:
    row = {"handler": "learning", "reason": reason, "hint": hint, "not_before": until}
    return [{**row, "what": f"growth of /t/{one}.jsonl"} for one in range(number)]


HANDLER = {"lag": {"transcripts": 0, "bytes": 0}, "waiting": 0}
QUIET: dict[str, Any] = {
    "schema": 1,
    "running": True,
    "version": "0.1.0",
    "pid": 7,
    "since": at(12, 30),
    "as_of": at(14, 30),
    "state": "running",
    "paused": [],
    "watching": {
        "root": "/home/dev/.claude",
        "transcripts": 412,
        "lines": {},
        "projects": ["/w/a", "/w/b"],
        "excluded": 0,
    },
    "model": {"program": "/usr/bin/claude", "children": 0},
    "budget": {
        "calls_today": 14,
        "calls_per_day": 200,
        "usd_today": 0.12,
        "usd_per_day": 1.0,
        "usd_month": 1.5,
        "usd_per_month": 20.0,
        "reached": "",
        "until": None,
    },
    "learned": {
        "today": 4,
        "last": [
            learned("Use pnpm, not npm", at(14, 2)),
            learned("Run `make e2e`", at(9, 5)),
            learned("x", at(23, 59, 19)),
        ],
    },
    "handlers": {"learning": HANDLER, "profile": HANDLER},
    "parked": [],
    "waits": [],
    "sessions": [],
    "rescued": 0,
    "rescued_by_reason": [],
    "degraded": [],
    "slices": {
        "learning": {"says": ["today: 9 prompts seen, 4 lines written", "total: 90 prompts seen"]},
        "profile": {"says": ["3 learned"]},
        "reach": {"says": ["12 lines about you in /home/dev/.claude/rules/tacitd.md"]},
    },
}
BUSY: dict[str, Any] = QUIET | {
    "state": "paused",
    "paused": [
        {"scope": "project", "name": "/w/a"},
        {"scope": "project", "name": "/w/b"},
        {"scope": "session", "name": "s"},
    ],
    "watching": QUIET["watching"] | {"lines": {"damaged": 1, "long": 2, "unknown type x": 9}, "excluded": 3},
    "budget": QUIET["budget"]
    | {"usd_today": 1.0, "reached": "$1.00 of $1.00 spent today", "until": at(0, 0, 21)},
    "learned": {"today": 0, "last": []},
    "handlers": {
        "learning": {"lag": {"transcripts": 34, "bytes": 12_345}, "waiting": 40},
        "profile": {"lag": {"transcripts": 1, "bytes": 1}, "waiting": 1},
    },
    "parked": parked(34, "$1.00 of $1.00 spent today", "raise [budget], or wait", at(0, 0, 21))
    + parked(1, "claude is not logged in", "run `claude`"),
    "waits": [
        {
            "handler": "learning",
            "project": "/w/a",
            "what": "2 facts",
            "until": "its session ends",
            "at": at(15),
        },
    ],
    "rescued": 2,
    "rescued_by_reason": [{"handler": "learning", "reason": "lost twice", "texts": 2}],
    "degraded": [
        {"id": "model.login", "what": "claude is not logged in", "hint": "run `claude` once and log in"},
        {"id": "files.busy", "what": "/w/a/LEARNED.md is open in vim", "hint": "save and close it"},
    ],
    "slices": QUIET["slices"] | {"learner": {"says": ["! Known Weaknesses is full", "4 reviews"]}},
}


def plain(document: dict[str, Any], **options: Any) -> str:
    return "".join(f"{line.whole}\n" for line in list_status_lines(document, NOW, **options))


@pytest.mark.parametrize("name", ["quiet", "busy"])
@pytest.mark.parametrize("verbose", [False, True])
def test_the_golden_files(name: str, verbose: bool) -> None:
    """Read as a person would: the cure beside each problem, 34 transcripts in one line, the spend in one line."""
    document = QUIET if name == "quiet" else BUSY
    assert_golden(f"status/{name}{'-verbose' if verbose else ''}.txt", plain(document, verbose=verbose))


@pytest.mark.parametrize("width", [20, 80])
def test_the_golden_files_of_terminals(width: int) -> None:
    """No line is wider than the terminal, and no word is lost."""
    lines = list(layout_lines(list_status_lines(BUSY, NOW), width, colours=False))
    assert max(map(len, lines)) < width
    assert_golden(f"status/busy-{width}.txt", "\n".join(lines) + "\n")
    joined = "".join("".join(lines).split())
    assert all("".join(line.whole.split()) in joined for line in list_status_lines(BUSY, NOW))


@pytest.mark.parametrize(
    ("running", "state", "ends"),
    [
        (True, "running", "running since 12:30 (2 h ago)"),
        (True, "paused", "running since 12:30 (2 h ago), paused"),
        (False, "stopped", "stopped, last seen 14:30 (just now)"),
    ],
)
def test_the_head_has_the_time_of_the_start(running: bool, state: str, ends: str) -> None:
    """A pause has a line of its own: it may be younger than the daemon's start."""
    paused = [{"scope": "all", "name": ""}] if state == "paused" else []
    lines = plain(QUIET | {"running": running, "state": state, "paused": paused}).splitlines()
    assert lines[0] == f"tacitd 0.1.0: {ends}"
    assert ("paused    all" in lines) == (state == "paused")


def many(number: int) -> Iterator[dict[str, Any]]:
    for one in range(number):
        yield {"id": "x.y", "what": f"problem {one}", "hint": "cure"}


@examples(60)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60), st.integers(0, 40), st.integers(0, 40))
def test_it_fits_on_one_screen(wrong: int, groups: int, texts: int, paused: int, waits: int) -> None:
    """However much there is. What is left out is said; `-v` has everything."""
    document = QUIET | {
        "degraded": list(many(wrong)),
        "parked": [row for one in range(groups) for row in parked(3, f"reason {one}", "cure")],
        "slices": {"toy": {"says": [f"text {one}" for one in range(texts)]}},
        "paused": [{"scope": "project", "name": f"/{one}"} for one in range(paused)],
        "waits": [
            {"handler": f"h{one}", "project": "/w", "what": "1 fact", "until": "its session ends", "at": None}
            for one in range(waits)
        ],
    }
    short, long = list_status_lines(document, NOW), list_status_lines(document, NOW, verbose=True)
    assert len(short) < SCREEN
    for begins, number, least in (("problem ", wrong, 2), ("text ", texts, 0)):
        printed = sum(line.text.startswith(begins) for line in short)
        assert min(number, least) <= printed <= number
        assert printed == number or any(line.text.endswith("`tacitd status -v`") for line in short)
    assert sum(line.text.startswith("text ") for line in long) == texts


def test_times_are_local() -> None:
    """Today without a date; what cannot be shown stops nothing. The head says how long ago."""
    hour = 3600.0
    times = [NOW, NOW - 24 * hour, NOW - 72 * hour, NOW + 10 * hour, 1e30]
    assert [describe_time(one, NOW) for one in times] == [
        "14:30",
        "yesterday 14:30",
        "2026-11-17 14:30",
        "tomorrow 00:30",
        "a time that cannot be shown",
    ]
    assert plain(QUIET).startswith("tacitd 0.1.0: running since 12:30 (2 h ago)\n")
    later = QUIET | {"since": at(14, 31)}
    assert plain(later).startswith("tacitd 0.1.0: running since 14:31\n"), "a clock that was set back"


def test_a_strangers_text_cannot_control_the_terminal(cli: Cli) -> None:
    """A project's name with escape sequences and line ends is one escaped line."""
    nasty = QUIET | {"degraded": [{"id": "x", "what": "/w/\x1b]0;x\x07\u202ename\nparked", "hint": ""}]}
    (line,) = [
        text for text in layout_lines(list_status_lines(nasty, NOW), None, colours=False) if "name" in text
    ]
    assert line.isprintable()


def test_colours_are_for_terminals() -> None:
    """What is wrong is red."""
    coloured = list(
        layout_lines([StatusLine("!", "wrong", "problem"), StatusLine("lag", "none")], 80, colours=True)
    )
    assert coloured == ["\x1b[31m\x1b[1m! wrong\x1b[0m", "lag       none"]


def test_a_problem_that_two_plugins_have_is_said_once() -> None:
    """LEARNED.md is a directory: neither its line nor its copy can be written. `sync` says it once too."""
    what = "/w/LEARNED.md is not an ordinary file"
    rows = [{"id": "a", "what": what, "hint": "move it"}, {"id": "b", "what": what, "hint": "move it away"}]
    assert plain(QUIET | {"degraded": rows}).count(what) == 1
    assert list(find_reasons(rows, ["/w"])) == [(what, "move it away")]
