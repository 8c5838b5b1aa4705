"""Which parts of a typed text were quoted: fences, lines that begin with `>`, and unmarked logs, stack traces and diffs. Pure.

The orders in a pasted document are not the person's. Claude Code marks pastes, but older versions do not, and a terminal may
insert a paste as typed text. Only what nobody types by hand is recognised without a mark: three lines in a row that
are a log's or a stack trace's, and the hunks of a diff. Pasted prose and code look like a person's own; there the model
decides: its prompt asks it to leave out what was pasted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacitd.text.lazy_pattern import compile_lazily

_QUOTED_LINE = compile_lazily(r"^[ \t]*>.*", re.MULTILINE)
_FENCE = compile_lazily(
    r"(?P<inline>`{3,})(?!`)[^\n]*?(?P=inline)`*"
    r"|(?:(?P<ticks>`{3,})|^[ \t]*(?P<tildes>~{3,})).*?(?:^[ \t]*(?:(?P=ticks)`*|(?P=tildes)~*)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""A fence that is not closed extends to the end."""
_LOG_LINE = compile_lazily(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)\]?[ \t:|]"
    r"|(?:npm|pnpm|yarn) (?:ERR!|WARN)|at \S+ ?\(?\S+:\d+\)?[ \t]*$|File \"[^\"]+\", line \d+|Traceback \(most recent call last\)|Caused by: |\S+:\d+:\d+: (?:error|warning)\b)"
)
_BELOW = compile_lazily(r"[ \t]{2,}\S")
"""A line that belongs to the one above it."""
_DIFF_START = compile_lazily(r"diff --git |@@ -\d")
_DIFF_LINE = compile_lazily(r"index |new file|deleted file|similarity|rename |[-+ @\\]")
_LOG_LINES = 3
"""Lines of a log or a stack trace in a row that nobody types by hand."""


def drop_quotes(text: str) -> str:
    """Return a text with its quoted parts replaced by line breaks."""
    plain = _FENCE.sub("\n", _blank_lines(text))
    return "\n".join(_drop_logs(plain.split("\n"))) if "\n" in plain else plain


def _drop_logs(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside of logs, stack traces and diffs, and "" for each of those."""
    at = 0
    while at < len(lines):
        end, is_paste = at + 1, False
        if _DIFF_START.match(lines[at]):
            is_paste = True
            while end < len(lines) and _DIFF_LINE.match(lines[end]):
                end += 1
        elif _LOG_LINE.match(lines[at]):
            found = 1
            while end < len(lines) and (_LOG_LINE.match(lines[end]) or _BELOW.match(lines[end])):
                found += _LOG_LINE.match(lines[end]) is not None
                end += 1
            is_paste = found >= _LOG_LINES
        yield from ("",) if is_paste else lines[at:end]
        at = end


def shorten_middle(text: str, limit: int) -> str:
    """Return the text, or its first two thirds and last third of `limit` characters with a note between them.

    What was quoted in the text is also quoted in the result.
    """
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    closing, opening = _mark_at(text, head).strip("> "), _mark_at(text, len(text) - tail)
    parts = (
        text[:head] + (f"\n{closing}" if closing else ""),
        f"[… {len(text) - head - tail} characters left out …]",
        opening + ("\n" if opening.strip("> ") else "") + text[-tail:],
    )
    return "\n".join(parts)


def _mark_at(text: str, at: int) -> str:
    """Return what begins the quoted part around an offset: `> `, the fence, or "" if it is not quoted."""
    if any(found.start() < at < found.end() for found in _QUOTED_LINE.finditer(text)):
        return "> "
    for found in _FENCE.finditer(_blank_lines(text)):
        if found.start() < at < found.end():
            return found["inline"] or found["ticks"] or found["tildes"]
    return ""


def _blank_lines(text: str) -> str:
    """Replace quoted lines by spaces: a fence in a quoted line ends there."""
    return _QUOTED_LINE.sub(lambda found: " " * len(found[0]), text)
