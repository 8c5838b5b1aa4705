"""Lines of the status on a terminal: wrapped to its width and coloured; in a pipe, a line is a line without colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tacitd.cli.status_lines import Kind, StatusLine
from tacitd.text.sanitize import escape_output

NARROW = 40
"""Columns below which the texts are not aligned."""
NARROWEST = 10
COLOURS: Mapping[Kind, str] = {
    "head": "\x1b[1m",
    "problem": "\x1b[31m\x1b[1m",
    "hint": "\x1b[33m",
    "good": "\x1b[32m",
    "plain": "",
}
"""The sequences that begin bold, bold red, yellow and green text."""
PLAIN = "\x1b[0m"


def wants_colour(environ: Mapping[str, str]) -> bool:
    """Whether to colour on a terminal: if it can, and unless NO_COLOR is set to anything (no-color.org)."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


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
            from textwrap import wrap

            parts = wrap(whole, size, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True)
        for text in parts or [whole]:
            yield f"{COLOURS[line.kind]}{text}{PLAIN}" if colours and COLOURS[line.kind] else text
