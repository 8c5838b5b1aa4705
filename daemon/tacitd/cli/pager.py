"""A pager for long output on a terminal, chosen as git does.

TACITD_PAGER, otherwise PAGER, otherwise `less`; empty or `cat`: none. LESS is `FRX` unless it is set. Output that fits the
screen, and output that is not for a terminal, is printed as it is. What a pager needs is imported when one is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])
PAGER_OPTION = "--no-pager"
LESS = "FRX"
"""Quit if it fits one screen, keep colours, leave the screen as it is."""


def add_pager_option(command: _F) -> _F:
    """The decorator of the option `--no-pager`; the command gets `no_pager`."""
    return click.option(
        PAGER_OPTION,
        "no_pager",
        is_flag=True,
        help="Print long output without a pager (PAGER, TACITD_PAGER).",
    )(command)


def echo_paged(lines: Iterable[str], *, no_pager: bool = False) -> None:
    """Print lines on stdout, through a pager if they do not fit the terminal."""
    texts = list(lines)
    pager = [] if no_pager or not sys.stdout.isatty() else choose_pager(os.environ)
    if not pager or not _is_long(texts) or not _run_pager(pager, texts):
        for text in texts:
            click.echo(text)


def choose_pager(environ: Mapping[str, str]) -> list[str]:
    """The pager's program and arguments; [] if none is wanted. No shell reads the variable."""
    import shlex

    named = environ.get("TACITD_PAGER", environ.get("PAGER", "less"))
    try:
        words = shlex.split(named)
    except ValueError:  # an open quote
        words = []
    return [] if words == ["cat"] else words


def _is_long(lines: Iterable[str]) -> bool:
    import shutil

    width, height = shutil.get_terminal_size()
    rows = sum(max(1, -(-len(line) // max(1, width))) for line in lines)
    return rows >= height


def _run_pager(pager: list[str], lines: Iterable[str]) -> bool:
    """Whether the pager ran. An interrupt belongs to the pager, which ends when the person wants it."""
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
