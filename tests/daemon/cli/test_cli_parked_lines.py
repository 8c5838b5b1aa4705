"""The lines for parked and waiting work: one for each reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from test_cli_status_lines import QUIET, plain

from support_cli import Cli
from tacitd.cli import control_commands
from tacitd.cli.control_commands import echo_sync
from tacitd.cli.status_command import parked_lines
from tacitd.errors import PARKED
from tacitd.work.work_status import describe_waiting, local_time

SAID: dict[str, Any] = {
    "done": True,
    "parked": [],
    "degraded": [],
    "made": [],
    "unmade": [],
    "rescued": 0,
    "waits": [],
}
"""What `sync` answers if all is handled."""


def row(what: str, reason: str = "r", **more: str | None) -> dict[str, Any]:
    """A row of `parked` in the status document."""
    return {"handler": "learning", "what": what, "reason": reason, "hint": "h", "not_before": None} | more


def test_what_waits_for_the_same_is_one_line() -> None:
    """34 tasks over the budget: one line with a count, the plugins, the hint once; another reason is another line."""
    rows = [row(f"session {number}", "over the budget") for number in range(34)]
    assert list(parked_lines(rows)) == [("learning: 34 work items: over the budget", "h")]
    assert list(parked_lines(rows[:1])) == [("learning: session 0: over the budget", "h")]
    held = [row("end of session s", "paused by you", handler=name) for name in ("learning", "profile")]
    assert list(parked_lines([*held, rows[0]])) == [
        ("learning, profile: end of session s: paused by you", "h"),
        ("learning: session 0: over the budget", "h"),
    ]


def test_status_and_sync_say_what_waits_and_until_when(capsys: pytest.CaptureFixture[str]) -> None:
    """`all handled` is not printed while a fact waits for its synthesis."""
    at = datetime(2026, 11, 20, 4, 40, tzinfo=UTC).timestamp()
    waits: list[dict[str, Any]] = [
        {"project": "/app", "what": "2 facts", "until": "its session ends", "at": "2026-11-20T04:40:00Z"},
        {"project": "/b", "what": "1 fact", "until": "its session ends", "at": None},
    ]
    first = f"2 facts in /app: until its session ends (at {local_time(at)}, if it stays idle until then)"
    assert list(describe_waiting(waits)) == [first, "1 fact in /b: until its session ends"]
    assert f"waits     {first}" in plain(QUIET | {"waits": waits}).splitlines()
    said = SAID | {"waits": waits}
    echo_sync(said)
    text = capsys.readouterr().err
    assert f"waits: {first}" in text and "tacitd sync --write" in text and "all handled" not in text
    echo_sync(said | {"waits": [], "made": [{"line": "learned: Use pnpm"}]})
    assert capsys.readouterr().err == "learned: Use pnpm\nall handled\n"
    echo_sync(said | {"waits": [], "unmade": [{"line": "no line: the model made no line of it  (/app)"}]})
    assert capsys.readouterr().err == "no line: the model made no line of it  (/app)\nall handled\n"


def test_open_sessions_wait_in_the_same_form() -> None:
    """`sessions` and `waits` of the document are one kind of line; a project is named once."""
    at = datetime(2026, 11, 20, 4, 40, tzinfo=UTC).timestamp()
    about = {"/app": ["2026-11-20T05:00:00Z", "2026-11-20T04:40:00Z"], "/b": ["2026-11-20T04:40:00Z"]}
    sessions: list[dict[str, Any]] = [
        {"session": "s", "project": root, "lines_about": time}
        for root, times in about.items()
        for time in times
    ]
    waits = [{"project": "/b", "what": "1 fact", "until": "its session ends", "at": None}]
    first = f"prompts of 2 sessions in /app: until its session ends (at {local_time(at)}, if it stays idle until then)"
    expected = ["1 fact in /b: until its session ends", first]
    assert list(describe_waiting(waits, sessions)) == expected
    document = QUIET | {"waits": waits, "sessions": sessions}
    lines = plain(document).splitlines()
    assert [text[10:] for text in lines if text[10:] in expected] == expected
    assert not any(text.startswith("sessions") for text in lines)
    assert f"          {first}" not in plain(document | {"running": False}).splitlines()


def test_sync_write_does_not_name_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """After `sync --write` the reason why a fact still waits is printed, not the command that was just run."""
    waits = [{"project": "/app", "what": "1 fact", "until": "its session ends", "at": None}]
    busy = {"id": "files.busy", "what": "/app/LEARNED.md is open in vim", "hint": "save and close it"}
    other = {"id": "x.y", "what": "/lib/LEARNED.md is open in vim", "hint": "save that"}
    said = SAID | {"degraded": [busy, other], "waits": waits}
    echo_sync(said, write=True)
    assert capsys.readouterr().err == (
        "waits: 1 fact in /app: until its session ends\n"
        "/app/LEARNED.md is open in vim\nhint: save and close it\nall read\n"
    )
    echo_sync(said)
    assert "is open" not in capsys.readouterr().err


FACT = {"project": "/app", "what": "1 fact", "until": "its session ends", "job": "synthesize", "at": None}
EXCLUDED = FACT | {"until": "`tacitd exclude --undo /app`", "job": ""}
PAUSED = [row("job check", "paused by you (all)"), row("job x", "paused by you (all)", project="/app")]
OF_SESSION = row("the end of session s", "paused by you (session s)", project="/app")


@pytest.mark.parametrize(
    ("parked", "waits", "code"),
    [
        ([], [], 0),
        ([], [FACT], PARKED),
        ([], [EXCLUDED], 0),
        (PAUSED, [FACT], 0),
        (PAUSED[:1], [FACT], PARKED),
        ([OF_SESSION], [FACT], PARKED),
    ],
    ids=["all done", "a fact waits", "excluded", "paused", "another is paused", "a session is paused"],
)
def test_sync_write_ends_with_75_where_something_still_waits(
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
    parked: list[dict[str, Any]],
    waits: list[dict[str, Any]],
    code: int,
) -> None:
    """It was asked for and not done: what waits, why, and a code that a script sees. Without --write it waits as told. What a person
    paused or excluded waits for them, and a script that waits for exit code 0 must not wait for ever. The pause of a session holds no
    facts of its project."""
    said = SAID | {"parked": parked, "waits": waits}
    monkeypatch.setattr("tacitd.cli.status_command.call_daemon", lambda *_, **__: None)
    monkeypatch.setattr("tacitd.cli.control_commands.call_daemon", lambda *_, **__: said)
    written, read = cli.run("sync", "--write"), cli.run("sync")
    assert (written.code, read.code) == (code, 0)
    assert ("waits: 1 fact in /app" in written.err) is bool(waits)
    assert ("sync --write" in read.err) is (code != 0)
    for done in (written, read):
        assert ("all handled" in done.err) is not bool(parked or waits)


@pytest.mark.parametrize(
    ("number", "counted"), [(1, "1 text rejected or waiting"), (2, "2 texts rejected or waiting")]
)
def test_sync_names_rejected_texts(capsys: pytest.CaptureFixture[str], number: int, counted: str) -> None:
    """`all handled` is not printed while a rejected prompt is listed by `rescue`."""
    said = SAID
    echo_sync(said | {"rescued": number})
    assert capsys.readouterr().err == f"{counted}: `tacitd rescue` lists them\nall read\n"
    echo_sync(said | {"rescued": 0})
    assert capsys.readouterr().err == "all handled\n", "the rejected text was dropped by hand"


# --- the output and exit code of `tacitd rescue retry`, with canned answers of a daemon


ROW = {
    "handler": "learning",
    "what": "job retry",
    "reason": "no model",
    "hint": "install it",
    "not_before": None,
}


def answer(patch: pytest.MonkeyPatch, retry: tuple[int, int], **sync: Any) -> None:
    """Replace the daemon by one with this answer to `sync`. `retry`: how many prompts and tasks are to be tried again."""
    said = {
        "done": True,
        "parked": [],
        "degraded": [],
        "made": [],
        "unmade": [],
        "waits": [],
        "rescued": 0,
    } | sync

    @contextmanager
    def somewhere() -> Iterator[Any]:
        yield lambda method, **_: {"sync": said}[method]

    patch.setattr(control_commands, "try_again", lambda *_: retry)
    patch.setattr(control_commands, "connect_or_run", somewhere)


@pytest.mark.parametrize(
    ("arguments", "retry", "sync", "code", "said"),
    [
        # It was tried, and waits again.
        ("--all", (0, 2), {"parked": [ROW]}, PARKED, "tried again: 0 rejected prompts, 2 parked work items\n"
            "parked: learning: job retry: no model\nhint: install it\n"),
        ("--all", (1, 1), {"made": [{"line": "learned: Use pnpm"}]}, 0,
            "tried again: 1 rejected prompt, 1 parked work item\nlearned: Use pnpm\nall handled\n"),
        # Rejected once more: it is not `all handled`.
        ("u1", (1, 0), {"rescued": 1}, 0,
            "tried again: 1 rejected prompt\n1 text rejected or waiting: `tacitd rescue` lists them\nall read\n"),
        ("--all", (0, 0), {}, 0, "tried again: 0 rejected prompts, 0 parked work items\nall handled\n"),
    ],
)  # fmt: skip
def test_retry_says_what_became_of_it(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    retry: tuple[int, int],
    sync: dict[str, Any],
    code: int,
    said: str,
) -> None:
    answer(monkeypatch, retry, **sync)
    done = cli.run("rescue", "retry", arguments)
    assert (done.code, done.err) == (code, said)
