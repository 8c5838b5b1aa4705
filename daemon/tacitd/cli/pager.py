"""A pager for long output on a terminal, chosen as git does.

TACITD_PAGER, otherwise PAGER, otherwise `less`; empty or `cat`: none. LESS is `FRX` unless it is set. Output that fits the
screen, and output that is not for a terminal, is printed as it is.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping

LESS = "FRX"
"""Quit if it fits one screen, keep colours, leave the screen as it is."""


def print_paged(lines: Iterable[str], echo: Callable[[str], object]) -> None:
    """Print lines on stdout, through a pager if it is a terminal that they do not fit. `echo` prints one of them."""
    texts = list(lines)
    if not sys.stdout.isatty() or not _is_long(texts) or not _run_pager(texts):
        for text in texts:
            echo(text)


def choose_pager(environ: Mapping[str, str]) -> list[str]:
    """The pager's program and arguments; [] if none is wanted. No shell reads the variable."""
    named = environ.get("TACITD_PAGER", environ.get("PAGER", "less"))
    try:
        words = shlex.split(named)
    except ValueError:  # an open quote
        words = []
    return [] if words == ["cat"] else words


def _is_long(lines: Iterable[str]) -> bool:
    width, height = shutil.get_terminal_size()
    rows = sum(max(1, -(-len(line) // max(1, width))) for line in lines)
    return rows >= height


def _run_pager(lines: Iterable[str]) -> bool:
    """Whether a pager is wanted and ran. An interrupt belongs to it: it ends when the person wants it."""
    pager = choose_pager(os.environ)
    if not pager:
        return False
    # Imported here: most output fits the screen.
    import signal
    import subprocess

    environ = {"LESS": LESS, "LV": "-c"} | dict(os.environ)
    try:
        child = subprocess.Popen(pager, stdin=subprocess.PIPE, env=environ)
    except OSError:
        return False
    # After the start, because a program inherits what is ignored.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child.communicate("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True
