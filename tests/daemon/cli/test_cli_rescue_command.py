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
            "tried again: 1 rejected prompt\n1 text was rejected or waits: `tacitd rescue` lists them\nall read\n"),
        ("--all", (0, 0), {}, 0,
            "nothing was rejected, and nothing is parked that can be tried now\nall handled\n"),
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
    answer(monkeypatch, {"retried": retry[0], "parked": retry[1], "gone": []}, **sync)
    done = cli.run("rescue", "retry", arguments)
    assert (done.code, done.err) == (code, said)
