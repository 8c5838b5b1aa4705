"""Classifies the lines of a Markdown file: headings, bullets, blank lines, and text that must not be changed. Pure.

Only as much of CommonMark as a safe splice needs belongs here: front matter, fenced code and HTML comments contain
neither headings nor bullets; `##Heading##` counts, an underlined heading is text and a rule. A fence or comment that is never closed
counts as ordinary text: otherwise a bullet added at the end would not be found again, and would be added on every run.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily

_HEADING = compile_lazily(r" {0,3}(?P<marks>#{1,6})(?P<gap>[ \t]*)(?P<title>.*)$")
_RULE = compile_lazily(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_BULLET = compile_lazily(r"(?P<indent>[ \t]*)(?P<mark>[-*+])(?P<gap>[ \t]+)(?P<text>\S.*)$")
"""For a line without white space at its end: a pattern that allows it takes quadratic time for a long run of spaces."""
_FENCE = compile_lazily(r"(?P<indent>[ \t]*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_COMMENT_END = compile_lazily(r".*-->")


class LineKind(Enum):
    BLANK = auto()
    TEXT = auto()
    """A line of a paragraph, or anything else without a kind of its own."""
    MORE = auto()
    """A further line of the bullet above it."""
    HEADING = auto()
    BULLET = auto()
    OPAQUE = auto()
    """Front matter, code, a comment, a rule: its content is not classified."""


class MarkdownLine(Struct, frozen=True):
    """One line, without its newline."""

    text: str
    kind: LineKind
    level: int = 0
    """1 to 6 for a heading."""
    title: str = ""
    """A heading's words, or a bullet's text."""
    indent: int = 0
    """Columns; a tab stop is every four columns."""
    mark: str = ""
    """A bullet's `-`, `*` or `+` with the white space around it."""


def lines_as_blocks(lines: list[str]) -> list[MarkdownLine]:
    """Given the lines of a file without their newlines, return what each of them is."""
    found: list[MarkdownLine] = []
    ends = [at + 1 for at, text in enumerate(lines) if at and text.rstrip() in ("---", "...")]
    at = ends[0] if ends and lines[0].rstrip() == "---" else 0  # behind the front matter
    ends_below: dict[str, list[int]] = {}
    found.extend(MarkdownLine(text, LineKind.OPAQUE) for text in lines[:at])
    while at < len(lines):
        end = _opaque_until(lines, at, ends_below)
        if end > at:
            found.extend(_inside(lines[at:end], _in_item(found)))
            at = end
        else:
            found.append(_classify_line(lines[at], found))
            at += 1
    return found


def _opaque_until(lines: list[str], at: int, ends_below: dict[str, list[int]]) -> int:
    """The end (exclusive) of the code or comment that begins at this line; `at` itself if none begins.

    `ends_below`: by the first character of an opening, what `_list_ends` found, so that a file with many that nothing closes is not
    searched to its end for each.
    """
    text = lines[at]
    bullet = _BULLET.match(text.rstrip(" \t"))
    fence = _FENCE.match(bullet["text"] if bullet else text)
    if fence is not None:
        opening = fence["fence"]
        closing = re.compile(rf"[ \t]*{re.escape(opening[0])}{{{len(opening)},}}[ \t]*$")
        floor = count_columns(bullet["indent"]) if bullet else -1
    elif text.lstrip().startswith("<!--"):
        opening, closing, floor = "<!--", _COMMENT_END, -1
        if "-->" in text[text.index("<!--") + 4 :]:
            return at + 1
    else:
        return at
    if opening[0] not in ends_below:
        ends_below[opening[0]] = _list_ends(lines, opening[0])
    if len(opening) > ends_below[opening[0]][at + 1]:
        return at
    for end in range(at + 1, len(lines)):  # a slice would copy the rest of the file
        line = lines[end]
        if floor >= 0 and line.strip() and count_columns(line) <= floor:
            return at  # the bullet that contains it ends
        if closing.match(line):
            return end + 1
    return at


def _list_ends(lines: list[str], mark: str) -> list[int]:
    """For each line and the end of the file, the length of the longest opening that something from there on can close. `mark`: the
    first character of the openings."""
    found = [0]
    for line in reversed(lines):
        if mark == "<":
            length = len("<!--") if "-->" in line else 0
        else:
            bare = line.strip(" \t")
            length = 0 if bare.strip(mark) else len(bare)
        found.append(max(found[-1], length))
    return found[::-1]


def _inside(lines: list[str], in_item: bool) -> list[MarkdownLine]:
    """The lines of code or of a comment. Those of a bullet are MORE, so that nothing is inserted between them and it."""
    first = lines[0]
    bullet = _BULLET.match(first.rstrip(" \t"))
    if bullet:
        rest = [MarkdownLine(text, LineKind.MORE, indent=count_columns(text)) for text in lines[1:]]
        return [_bullet(first, bullet), *rest]
    kind = LineKind.MORE if in_item and count_columns(first) > 0 else LineKind.OPAQUE
    return [MarkdownLine(text, kind, indent=count_columns(text)) for text in lines]


def _classify_line(text: str, before: list[MarkdownLine]) -> MarkdownLine:
    if not text.strip():
        return MarkdownLine(text, LineKind.BLANK)
    indent = count_columns(text)
    if _RULE.match(text):
        return MarkdownLine(text, LineKind.OPAQUE)
    heading = _HEADING.match(text.rstrip(" \t"))
    # "#tag" is a word and not a heading, but "##Heading" without a space is common in older Markdown.
    if heading and (heading["gap"] or not heading["title"] or len(heading["marks"]) > 1):
        title, bare = heading["title"], heading["title"].rstrip("#")
        if not heading["gap"]:
            title = title.rstrip("# \t")
        elif bare.endswith((" ", "\t")):
            title = bare.rstrip(" \t")
        return MarkdownLine(text, LineKind.HEADING, level=len(heading["marks"]), title=title)
    bullet = _BULLET.match(text.rstrip(" \t"))
    if bullet:
        return _bullet(text, bullet)
    more = _in_item(before) and (indent > 0 or before[-1].kind is not LineKind.BLANK)
    return MarkdownLine(text, LineKind.MORE if more else LineKind.TEXT, indent=indent)


def _bullet(text: str, match: re.Match[str]) -> MarkdownLine:
    mark = match["indent"] + match["mark"] + match["gap"]
    indent = count_columns(match["indent"])
    return MarkdownLine(text, LineKind.BULLET, title=match["text"], indent=indent, mark=mark)


def opens_fence(text: str) -> bool:
    """Whether a bullet with this text would begin a fenced code block."""
    return _FENCE.match(text) is not None


def _in_item(before: list[MarkdownLine]) -> bool:
    """Whether the last line that is not blank belongs to a bullet."""
    for line in reversed(before):
        if line.kind is not LineKind.BLANK:
            return line.kind in (LineKind.BULLET, LineKind.MORE)
    return False


def count_columns(text: str) -> int:
    """A line's indentation in columns; a tab stop is every four columns."""
    return len(text[: len(text) - len(text.lstrip(" \t"))].expandtabs(4))
