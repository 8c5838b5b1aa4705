"""A progress bar on standard error for commands that may take long. Without a terminal there nothing is printed.

rich is imported when a bar is shown, because it takes long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress(what: str, total: int | None = None) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar until the block ends. Yield a function that sets how much is done, and the total if it is known now."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)
