"""Waiting for what other threads and processes do: for a state of things, as long as a busy machine may need.

`PATIENCE` only bounds a test that fails. What a test wants to happen after a while happens by a clock that the
test moves.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 60.0
"""Seconds after which a test gives up."""


def until(condition: Callable[[], object], what: str = "it did not happen") -> None:
    """Return when the condition holds; looked at in small steps of an event that nobody sets."""
    never, last = threading.Event(), time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last, f"{what} within {PATIENCE:g} s"
        never.wait(0.01)


def starts_when(ready: Callable[[], object]) -> Callable[[], float]:
    """A monotonic clock that stands still until `ready`: a deadline does not pass while a child is only starting."""
    began: float | None = None

    def monotonic() -> float:
        nonlocal began
        if began is None:
            if not ready():
                return 0.0
            began = time.monotonic()
        return time.monotonic() - began

    return monotonic


def is_gone(pid: int) -> bool:
    """Whether no process has this pid, but for one that only waits to be reaped by init."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError as error:
        return isinstance(error, ProcessLookupError | FileNotFoundError)
