"""Waiting until other threads and processes have reached a condition, as long as a busy machine may need.

`PATIENCE` only limits a test that fails. Time that a test depends on is a clock that the test moves.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120.0
"""Seconds after which a test gives up."""


def until(condition: Callable[[], object], what: str = "it did not happen") -> None:
    """Wait until the condition is true. It is checked in small steps, by waiting for an event that is never set."""
    never, last = threading.Event(), time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last, f"{what} within {PATIENCE:g} s"
        never.wait(0.01)


def starts_when(ready: Callable[[], object]) -> Callable[[], float]:
    """A monotonic clock that does not move until `ready`, so that no deadline passes while a child is starting."""
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
    """Whether no process has this pid, except one that only waits to be reaped by init."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError as error:
        return isinstance(error, ProcessLookupError | FileNotFoundError)
