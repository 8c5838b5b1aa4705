"""How far a command is that may take long: one line on standard error. Without a terminal there nothing is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ERASE = "\r\x1b[K"
"""Back to the first column, and erase the line."""


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show the line until the block ends. Yield a function that sets how much is done, and the total if it is known now."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return

    def advance(done: int, total: int | None) -> None:
        sys.stderr.write(f"{ERASE}{what}: {done:,}{'' if total is None else f' of {total:,}'}")
        sys.stderr.flush()

    try:
        yield advance
    finally:
        sys.stderr.write(ERASE)
        sys.stderr.flush()
