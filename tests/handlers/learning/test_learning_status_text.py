"""What `tacitd status` prints of the learning plugin."""

from __future__ import annotations

import pytest

from tacitd_handlers.learning.status_text import format_status_lines

QUIET = {
    "today": {"seen": 3, "asked": 2, "facts": 1, "lines": 0},
    "total": {"seen": 9, "asked": 8, "facts": 7, "lines": 6},
    "facts_waiting": {},
    "withheld": 0,
    "refused": {"refused": 0, "waits": 0},
    "skipped": {},
    "rules_problems": [],
    "untrusted": {},
    "files_refused": [],
    "projects": {},
}


def test_a_quiet_day_is_two_lines_of_counts() -> None:
    """DESIGN "Priorities", 3: prompts seen, prompts put to the model, facts, lines, today and in total."""
    assert list(format_status_lines(QUIET)) == [
        "today: 3 prompts seen, 2 put to the model, 1 fact, 0 lines written",
        "total: 9 prompts seen, 8 put to the model, 7 facts, 6 lines written",
    ]


@pytest.mark.usefixtures("far_west")
def test_each_repository_is_named() -> None:
    """A repository is named when something is written there for the first time; the time is local, as in all of `status`."""
    status = QUIET | {"projects": {"/a": "2026-11-20T07:06:11Z", "/b": "not a time"}}
    assert list(format_status_lines(status))[2:] == [
        "writes in /a since 2026-11-20 02:06",
        "writes in /b since not a time",
    ]


def test_many_repositories_are_one_line() -> None:
    """Of 34 repositories it prints the number and the first three; up to three have a line each. The JSON document has all."""
    since = {f"/{number}": "2026-11-20T07:06:11Z" for number in range(34)}
    assert list(format_status_lines(QUIET | {"projects": since}))[2:] == [
        "writes in 34 projects: /0, /1, /2 and 31 more"
    ]
    three = dict(list(since.items())[:3])
    assert len(list(format_status_lines(QUIET | {"projects": three}))[2:]) == 3


def test_what_wants_something_done_begins_with_a_mark() -> None:
    """`status` names what sessions do not load, with the command that fixes it."""
    status = QUIET | {
        "facts_waiting": {"/a": 2},
        "withheld": 1,
        "rules_problems": ["/a/.claude is a link"],
        "untrusted": {"/a": 2},
        "files_refused": ["x"],
    }
    assert list(format_status_lines(status))[2:] == [
        "1 line that you removed was learned again: `tacitd learned --withheld`",
        "! 2 lines of /a/LEARNED.md came with the project, so its sessions do not load them: `tacitd trust /a` prints them "
        "and asks",
        "! /a/.claude is a link",
        "! x",
    ]


def test_what_was_left_out_is_said_with_its_reason() -> None:
    """Prompts that are seen and not put to the model have a reason."""
    status = QUIET | {"skipped": {"it is the home directory": 2, "looks like a secret": 1}}
    assert list(format_status_lines(status))[2:] == [
        "2 prompts were left out: it is the home directory",
        "1 fact was left out: looks like a secret",
    ]
