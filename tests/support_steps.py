"""Counts steps of Python code, so that a test can compare the work for few and many items without measuring time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_steps(work: Callable[[], object]) -> int:
    """The number of calls and lines of Python that `work` runs in this thread; one line of a loop counts each time."""
    count = 0

    def note(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
