"""The parts of a source: what a mirror shows or leaves out as a whole. Pure.

Front matter, comments and rules have no part. Which parts a mirror has, and in which form, is in `mirror_text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from msgspec import Struct

from tacitd.text.import_words import list_runs
from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks

_CODE = 4
"""Columns: a list item that is indented this far may be a part of the paragraph above it."""


class UnitKind(Enum):
    """What a part of the source is."""

    HEADING = auto()
    BULLET = auto()
    TEXT = auto()
    BLANK = auto()


class MirrorUnit(Struct, frozen=True):
    """A part of the source that is shown or left out: a heading, a line of a bullet, another line, a code block."""

    kind: UnitKind
    lines: tuple[str, ...]
    """As they are in the source, without newlines."""
    words: str
    """What decides: the words without marks."""
    whole: str = ""
    """For a line of a bullet, the words of all its lines."""
    level: int = 0
    """1 to 6 for a heading."""
    is_code: bool = False
    starts_item: bool = False
    """Whether it is the first line of a bullet."""
    starts_block: bool = False
    """Whether no backtick of a line before it can matter: it is a heading, or begins a bullet that is not code."""


class SourceText(Struct, frozen=True):
    """A Markdown file in its parts. A large file is parsed once for all that is asked about it."""

    units: tuple[MirrorUnit, ...] = ()
    runs: frozenset[int] = frozenset()
    """The lengths of the runs of backticks in it."""
    is_there: bool = False
    """Whether there is a file."""


def parse_source(data: bytes | None) -> SourceText:
    """Given the bytes of a file (None: no file), return its parts. Bytes that are not UTF-8 are replaced."""
    text = (data or b"").decode("utf-8", "replace")
    return SourceText(tuple(_split_units(text)), list_runs(text), data is not None)


def _split_units(text: str) -> Iterator[MirrorUnit]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    blocks = lines_as_blocks(lines)
    at = find_matter_end(blocks)
    while at < len(blocks):
        units, at = _next_units(blocks, at)
        yield from units


def find_matter_end(blocks: Sequence[MarkdownLine]) -> int:
    """The index after the front matter; 0 without one."""
    if not blocks or blocks[0].text.rstrip() != "---" or blocks[0].kind is not LineKind.OPAQUE:
        return 0
    for at, block in enumerate(blocks[1:], start=1):
        if block.text.rstrip() in ("---", "..."):
            return at + 1
    return 0


def _next_units(blocks: Sequence[MarkdownLine], at: int) -> tuple[list[MirrorUnit], int]:
    """The units that begin at this line (a bullet has one for each line), and the index after them."""
    block = blocks[at]
    match block.kind:
        case LineKind.BLANK:
            return [MirrorUnit(UnitKind.BLANK, ("",), "")], at + 1
        case LineKind.HEADING:
            end = _end_of(blocks, at, LineKind.UNDERLINE)
            words = _words(block.title)
            return [
                MirrorUnit(UnitKind.HEADING, (block.text,), words, level=block.level, starts_block=True)
            ], end
        case LineKind.BULLET:
            end = _end_of(blocks, at, LineKind.MORE)
            more = blocks[at + 1 : end]
            whole = _words(" ".join([block.title, *(one.text.strip() for one in more)]))
            first = MirrorUnit(
                UnitKind.BULLET,
                (block.text,),
                _words(block.title),
                whole,
                starts_item=True,
                starts_block=not more and block.indent < _CODE,
            )
            rest = [MirrorUnit(UnitKind.BULLET, (one.text,), _words(one.text), whole) for one in more]
            return [first, *rest], end
        case LineKind.OPAQUE:
            unit, end = _opaque_unit(blocks, at)
            return [unit] if unit is not None else [], end
        case _:
            return [MirrorUnit(UnitKind.TEXT, (block.text,), _words(block.text))], at + 1


def _opaque_unit(blocks: Sequence[MarkdownLine], at: int) -> tuple[MirrorUnit | None, int]:
    """A code block as one unit. A comment or a rule is left out."""
    first = blocks[at].text.strip()
    if first.startswith("<!--"):
        end = next((n for n in range(at, len(blocks)) if "-->" in _after_opening(blocks, n, at)), at) + 1
        return None, end
    mark = first[:1]
    if mark not in ("`", "~") or not first.startswith(mark * 3):
        return None, at + 1
    size = len(first) - len(first.lstrip(mark))
    for end in range(at + 1, len(blocks)):
        closing = blocks[end].text.strip()
        if len(closing) >= size and not closing.strip(mark):
            lines = tuple(block.text for block in blocks[at : end + 1])
            return MirrorUnit(UnitKind.TEXT, lines, _words("\n".join(lines)), is_code=True), end + 1
    return None, at + 1


def _after_opening(blocks: Sequence[MarkdownLine], n: int, at: int) -> str:
    text = blocks[n].text
    return text[text.index("<!--") + 4 :] if n == at else text


def _end_of(blocks: Sequence[MarkdownLine], at: int, kind: LineKind) -> int:
    end = at + 1
    while end < len(blocks) and blocks[end].kind is kind:
        end += 1
    return end


def _words(text: str) -> str:
    return " ".join(text.split())
