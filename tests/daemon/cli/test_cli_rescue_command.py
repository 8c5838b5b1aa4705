"""The output and exit code of `tacitd rescue retry`, with canned answers of a daemon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support_cli import Cli
from tacitd.cli import control_commands
from tacitd.errors import PARKED

ROW = {
    "handler": "learning",
    "what": "job retry",
    "reason": "no model",
    "hint": "install it",
    "not_before": None,
}


def answer(patch: pytest.MonkeyPatch, retry: dict[str, Any], **sync: Any) -> None:
    """Replace the daemon by one with these answers to `retry` and `sync`."""
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
        yield lambda method, **_: {"retry": retry, "sync": said}[method]

    patch.setattr(control_commands, "connect_or_run", somewhere)


def test_what_is_still_parked_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parked work was tried, and waits again: exit code 75, with the reason."""
    answer(monkeypatch, {"retried": 0, "parked": 2, "gone": []}, parked=[ROW])
    said = cli.run("rescue", "retry", "--all")
    assert said.code == PARKED and said.err == (
        "tried again: 0 rejected prompts, 2 parked work items\n"
        "parked: learning: job retry: no model\nhint: install it\n"
    )


def test_what_was_handled_is_done(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is parked any more: exit code 0, and the learned lines."""
    answer(monkeypatch, {"retried": 1, "parked": 1, "gone": []}, made=[{"line": "learned: Use pnpm"}])
    said = cli.run("rescue", "retry", "--all")
    assert (said.code, said.err) == (
        0,
        "tried again: 1 rejected prompt, 1 parked work item\nlearned: Use pnpm\nall handled\n",
    )


def test_rejected_once_more(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt was tried by its id and rejected again: it is not `all handled`."""
    answer(monkeypatch, {"retried": 1, "parked": 0, "gone": []}, rescued=1)
    said = cli.run("rescue", "retry", "u1")
    assert said.err == (
        "tried again: 1 rejected prompt\n1 text was rejected or waits: `tacitd rescue` lists them\nall read\n"
    )


def test_there_was_nothing_to_try(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rejected prompt and no parked work."""
    answer(monkeypatch, {"retried": 0, "parked": 0, "gone": []})
    said = cli.run("rescue", "retry", "--all")
    assert (said.code, said.err) == (
        0,
        "nothing was rejected, and nothing is parked that can be tried now\nall handled\n",
    )
