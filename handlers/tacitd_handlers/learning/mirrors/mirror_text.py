"""The text of a mirror, made of the text of its source. Pure: the same source and the same choice give the same text.

A mirror contains the lines of the source that may be shown, in their order. Front matter and comments are not copied.
A word that begins with `@` would be an import for the client, so it is put into a code span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tacitd.text.import_words import quote_imports
from tacitd_handlers.learning.headings import GENERAL, known_group
from tacitd_handlers.learning.mirrors.mirror_units import MirrorUnit, SourceText, UnitKind, parse_source

LIMIT = 36_000
"""Maximum number of characters that are copied. A session pays for all of them, and the client warns above 40,000."""
MayShow = Callable[[str], bool]
"""Given a line without its list mark, or a whole code block: whether it may be in the mirror."""


def mirror_head(source: str) -> str:
    """The first line of a mirror. `source`: the mirrored file, relative to the work tree."""
    return f"<!-- Written by tacitd from {source}: change that file, not this one. -->"


def mirror_foot(source: str) -> str:
    """The last line of a mirror. If it is missing, the mirror was cut off."""
    return f"<!-- End of what tacitd copied from {source}. -->"


def render_mirror(
    data: SourceText,
    may_show: MayShow,
    *,
    source: str,
    title: str,
    matter: Sequence[str] = (),
    own_heading: MayShow | None = None,
) -> str:
    """Return the text of the mirror of a Markdown file.

    `title`: the mirror's title. `matter`: lines before all others. `own_heading`: decides about headings instead of
    `may_show`; the usual groups are always shown. If a heading is left out, what is below it comes under "General".
    """
    body = list(_list_body(data, may_show, own_heading or may_show, title, source))
    lines = [*matter, mirror_head(source.replace("--", "- -")), "", f"# {title}", *body]
    return "\n".join([*lines, "", mirror_foot(source.replace("--", "- -"))]) + "\n"


def has_lines(text: str) -> bool:
    """Whether a mirror's text has more than its title."""
    units = parse_source(text.encode("utf-8", "replace")).units
    return any(unit.kind in (UnitKind.BULLET, UnitKind.TEXT) for unit in units)


def show_line(line: str, unit: MirrorUnit, data: SourceText) -> str:
    """Return a line of a part of this source as the mirror shows it: without comments and imports."""
    if unit.is_code:
        # Whether the client takes it for code depends on more than is parsed here: on lists, quotes and HTML around it.
        return quote_imports(line, data.runs, starts_block=False)
    shown = strip_comments(line).replace("<!--", "&lt;!--")
    return quote_imports(shown.rstrip(), data.runs, starts_block=unit.starts_block)


def strip_comments(text: str, by: str = "") -> str:
    """Return the text without its closed comments, each replaced by `by`. It takes linear time, unlike a pattern."""
    made, at = list[str](), 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        made += [text[at:begin], by]
        at = end + 3
    return "".join([*made, text[at:]])


def map_shown_bullets(data: SourceText) -> dict[str, str]:
    """Each bullet of a source as its mirror shows it, and as it is in the source, with white space normalised."""
    firsts = (unit for unit in data.units if unit.starts_item)
    return {" ".join(show_line(unit.whole, unit, data).split()): unit.whole for unit in firsts}


def is_shown(unit: MirrorUnit, may_show: MayShow, wholes: dict[str, bool]) -> bool:
    """Whether a bullet's line, another line or a code block is in the mirror: by its own words, or as a part of its bullet.

    `wholes`: what was decided about bullets; an empty one at the first call for a source.
    """
    if may_show(unit.words):
        return True
    if unit.whole and unit.whole not in wholes:  # a bullet of thousands of lines is judged once
        wholes[unit.whole] = may_show(unit.whole)
    return bool(unit.whole) and wholes[unit.whole]


def _list_body(
    data: SourceText, may_show: MayShow, own_heading: MayShow, title: str, source: str
) -> Iterator[str]:
    """Yield the lines below the title."""
    left, hidden, blank = LIMIT, False, True
    heading: MirrorUnit | None = None
    wholes: dict[str, bool] = {}
    for unit in data.units:
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
            case _ if not is_shown(unit, may_show, wholes):
                continue
            case _:
                pass
        if heading is not None:
            words = show_line(heading.words, heading, data)
            yield ""
            yield f"## {GENERAL}" if hidden else f"{'#' * heading.level} {words}".rstrip()
            heading, blank = None, False
        for line in (show_line(one, unit, data) for one in unit.lines):
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
