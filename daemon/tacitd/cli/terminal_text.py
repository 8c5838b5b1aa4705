"""Lines of the status on a terminal: wrapped to its width and coloured; in a pipe, a line is a line without colours."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from shutil import get_terminal_size
from typing import TextIO

import click

from tacitd.cli.common import escape_output
from tacitd.cli.status_lines import Kind, StatusLine

NARROW = 40
"""Columns below which the texts are not aligned."""
NARROWEST = 10
COLOURS: Mapping[Kind, Mapping[str, object]] = {
    "head": {"bold": True},
    "problem": {"fg": "red", "bold": True},
    "hint": {"fg": "yellow"},
    "good": {"fg": "green"},
    "plain": {},
}


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: on a terminal that can, and unless NO_COLOR is set to anything (no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def has_unicode(stream: TextIO) -> bool:
    """Whether the stream can show characters beyond ASCII."""
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def echo_lines(lines: Iterable[StatusLine]) -> None:
    """Print the lines on stdout."""
    is_terminal = sys.stdout.isatty()
    width = get_terminal_size().columns if is_terminal else None
    for text in layout_lines(lines, width, colours=wants_colour(sys.stdout)):
        click.echo(text, color=True if wants_colour(sys.stdout) else None)


def layout_lines(lines: Iterable[StatusLine], width: int | None, *, colours: bool) -> Iterator[str]:
    """Yield the lines as text. `width`: columns to which they are wrapped; None: they are not.

    What follows a wrapped line is indented below its text, on narrow terminals by two columns.
    """
    for line in lines:
        narrow = width is not None and width < NARROW
        whole = escape_output(" ".join(line.whole.split()) if narrow else line.whole)
        parts = [whole]
        if width is not None:
            indent = " " * 10 if line.kind not in ("head", "problem") and not narrow else "  "
            size = max(NARROWEST, width - 1)  # the last column would make some terminals begin a new line
            parts = textwrap.wrap(
                whole, size, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
            )
        for text in parts or [whole]:
            yield click.style(text, **COLOURS[line.kind]) if colours and COLOURS[line.kind] else text  # type: ignore[arg-type]
