"""The text of a mirror, made of the text of its source. Pure: the same source and the same choice give the same text.

A mirror contains the lines of the source that may be shown, in their order. Front matter and comments are not copied.
A word that begins with `@` would be an import for the client, so it is put into a code span.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks
from tacitd_handlers.learning.headings import GENERAL, known_group

LIMIT = 36_000
"""Maximum number of characters that are copied. A session pays for all of them, and the client warns above 40,000."""
MayShow = Callable[[str], bool]
"""Given a line without its list mark, or a whole code block: whether it may be in the mirror."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_IMPORT = re.compile(r"(?<![\w`.+/-])@\S+")


class UnitKind(Enum):
    """What a part of the source is."""

    HEADING = auto()
    BULLET = auto()
    TEXT = auto()
    BLANK = auto()


@dataclass(frozen=True, slots=True)
class MirrorUnit:
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


def mirror_head(source: str) -> str:
    """The first line of a mirror. `source`: the mirrored file, relative to the work tree."""
    return f"<!-- Written by tacitd from {source}: change that file, not this one. -->"


def mirror_foot(source: str) -> str:
    """The last line of a mirror. If it is missing, the mirror was cut off."""
    return f"<!-- End of what tacitd copied from {source}. -->"


def render_mirror(
    data: bytes | None,
    may_show: MayShow,
    *,
    source: str,
    title: str,
    matter: Sequence[str] = (),
    own_heading: MayShow | None = None,
) -> str:
    """Return the text of the mirror of a Markdown file with these bytes (None: no file).

    `title`: the mirror's title. `matter`: lines before all others. `own_heading`: decides about headings instead of
    `may_show`; the usual groups are always shown. If a heading is left out, what is below it comes under "General".
    Bytes that are not UTF-8 are replaced.
    """
    units, show = split_units(data), make_protector(data)
    body = list(_list_body(units, may_show, own_heading or may_show, show, title, source))
    lines = [*matter, mirror_head(source.replace("--", "- -")), "", f"# {title}", *body]
    return "\n".join([*lines, "", mirror_foot(source.replace("--", "- -"))]) + "\n"


def has_lines(text: str) -> bool:
    """Whether a mirror's text has more than its title."""
    return any(
        unit.kind in (UnitKind.BULLET, UnitKind.TEXT) for unit in split_units(text.encode("utf-8", "replace"))
    )


def split_units(data: bytes | None) -> Iterator[MirrorUnit]:
    """Yield the parts of a Markdown file, without front matter, comments and rules."""
    text = (data or b"").decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    blocks = lines_as_blocks(lines)
    at = find_matter_end(blocks)
    while at < len(blocks):
        units, at = _next_units(blocks, at)
        yield from units


def make_protector(data: bytes | None) -> Callable[[str], str]:
    """Return the function that makes a line of this source as the mirror shows it: without comments and imports.

    Each word that begins with `@` is put into a code span. Its backticks are of a length that the source does not have,
    so that no backtick of the source, on whichever line, can end or begin the span.
    """
    runs = {len(run) for run in re.findall(rb"`+", data or b"")}
    length = next(n for n in range(1, len(runs) + 2) if n not in runs)
    ticks, pad = "`" * length, " " if length > 1 else ""

    def show_line(line: str) -> str:
        shown = _COMMENT.sub("", line).replace("<!--", "&lt;!--").rstrip()
        return _IMPORT.sub(lambda found: f"{ticks}{pad}{found[0]}{pad}{ticks}", shown)

    return show_line


def map_shown_bullets(data: bytes | None) -> dict[str, str]:
    """Each bullet of a source as its mirror shows it, and as it is in the source, with white space normalised."""
    show = make_protector(data)
    wholes = (unit.whole for unit in split_units(data) if unit.kind is UnitKind.BULLET and unit.starts_item)
    return {_words(show(whole)): whole for whole in wholes}


def _list_body(
    units: Iterable[MirrorUnit],
    may_show: MayShow,
    own_heading: MayShow,
    show: Callable[[str], str],
    title: str,
    source: str,
) -> Iterator[str]:
    """Yield the lines below the title."""
    left, hidden, blank = LIMIT, False, True
    heading: MirrorUnit | None = None
    for unit in units:
        match unit.kind:
            case UnitKind.BLANK:
                blank = True
                continue
            case UnitKind.HEADING:
                if unit.level == 1 and unit.words == title:
                    continue
                heading = unit
                hidden = known_group(unit.words) is None and not own_heading(unit.words)
                continue
            case _:
                if not may_show(unit.words) and not (unit.whole and may_show(unit.whole)):
                    continue
        if heading is not None:
            yield ""
            yield f"## {GENERAL}" if hidden else f"{'#' * heading.level} {show(heading.words)}".rstrip()
            heading, blank = None, False
        for line in unit.lines if unit.is_code else map(show, unit.lines):
            if not line.strip() and not unit.is_code:
                continue
            left -= len(line) + 1
            if left < 0:
                yield ""
                yield f"(cut here: read the rest in {source} before you work)"
                return
            if blank:
                yield ""
            blank = False
            yield line


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
            return [MirrorUnit(UnitKind.HEADING, (block.text,), _words(block.title), level=block.level)], end
        case LineKind.BULLET:
            end = _end_of(blocks, at, LineKind.MORE)
            more = blocks[at + 1 : end]
            whole = _words(" ".join([block.title, *(one.text.strip() for one in more)]))
            first = MirrorUnit(UnitKind.BULLET, (block.text,), _words(block.title), whole, starts_item=True)
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
