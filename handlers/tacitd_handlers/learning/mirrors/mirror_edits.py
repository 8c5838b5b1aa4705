"""What a person changed in a mirror, found by comparing it with the text that was last written there. Pure.

A deleted bullet is to be deleted in the source, an added one is to be put there. A mirror that lost its first or last
line was cut off or overwritten, so what is missing in it was not deleted; what was added to it still counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import groupby

from msgspec import Struct

from tacitd.text.markdown import lines_of
from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks
from tacitd_handlers.learning.headings import GENERAL
from tacitd_handlers.learning.mirrors.mirror_text import strip_comments
from tacitd_handlers.learning.mirrors.mirror_units import find_matter_end


class AddedLine(Struct, frozen=True):
    """A bullet that a person added to a mirror."""

    heading: str
    text: str


class RewordedLine(Struct, frozen=True):
    """A bullet that a person replaced by another one in the same place."""

    heading: str
    old: str
    new: str


class MirrorEdit(Struct, frozen=True):
    """What a person changed in a mirror. The texts are as the mirror shows them."""

    removed: tuple[str, ...] = ()
    added: tuple[AddedLine, ...] = ()
    reworded: tuple[RewordedLine, ...] = ()
    blocks: tuple[str, ...] = ()
    """Added text that is not a bullet: lines that follow each other are one block."""
    cut: bool = False
    """Whether the mirror is cut off. It then has only additions."""

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.reworded or self.blocks)


def find_edit(written: Sequence[str], now: str, *, title: str) -> MirrorEdit:
    """Return what a person changed.

    `written`: the texts that may have been there before, usually one; after a crash it may be unknown which of two. A line
    counts as deleted only if it was in all of them, and as added only if it was in none. `title`: the mirror's title.
    Raises FileRefusedError if the text contains NUL bytes.
    """
    if not any(_is_whole(text, now) for text in written):
        return _find_additions(written, now, title)
    before = [_list_bullets(text, title) for text in written]
    after = _list_bullets(now, title)
    common, any_before = _intersect(before), _unite(before)
    left = {text for _, text in after}
    removed = [text for text in common if text not in left]
    added = [AddedLine(heading, text) for heading, text in after if text not in any_before]
    reworded = _pair_reworded([text for _, text in before[-1]], after, set(removed), {a.text for a in added})
    paired_old, paired_new = {one.old for one in reworded}, {one.new for one in reworded}
    return MirrorEdit(
        tuple(text for text in removed if text not in paired_old),
        tuple(one for one in dict.fromkeys(added) if one.text not in paired_new),
        reworded,
        tuple(_list_added_blocks(written, now, {one.heading for one in added})),
    )


def _find_additions(written: Sequence[str], now: str, title: str) -> MirrorEdit:
    """What a person added to a mirror that is cut off. The rest of a line that was cut is not an addition."""
    flat, left = " ".join(" ".join(written).split()), _blank_known_lines(written, now)
    bullets = dict.fromkeys(_list_bullets(left, title))
    added = tuple(AddedLine(heading, text) for heading, text in bullets if text not in flat)
    blocks = _list_added_blocks(written, left, {one.heading for one in added})
    known = "\n".join(written)
    kept = ("\n".join(x for x in block.split("\n") if x.strip() not in known) for block in blocks)
    return MirrorEdit(added=added, blocks=tuple(block for block in kept if block.strip()), cut=True)


def _blank_known_lines(written: Sequence[str], now: str) -> str:
    """The text of a cut-off mirror with blank lines instead of the written ones and of what is left of one, except headings.

    Otherwise such a rest would be a part of the paragraph or bullet that a person wrote above it.
    """
    known = sorted({line.strip() for text in written for line in text.split("\n")})
    backwards = sorted(line[::-1] for line in known)

    def is_known(line: str) -> bool:
        return _is_beginning(line, known) or _is_beginning(line[::-1], backwards)

    lines = now.replace("\r\n", "\n").split("\n")
    return "\n".join("" if not x.startswith("#") and is_known(x.strip()) else x for x in lines)


def _is_beginning(text: str, ordered: Sequence[str]) -> bool:
    """Whether one of these sorted texts begins with this text."""
    at = bisect_left(ordered, text)
    return at < len(ordered) and ordered[at].startswith(text)


def _is_whole(text: str, now: str) -> bool:
    """Whether `now` still has the first and the last line of a written text, in this order."""
    ends = [line for line in text.split("\n") if line.startswith("<!-- ") and line.endswith(" -->")]
    lines = [line.rstrip() for line in now.split("\n")]
    return bool(ends) and ends[0] in lines and ends[-1] in lines[lines.index(ends[0]) + 1 :]


def find_lost_line(written: Sequence[str], now: str, edit: MirrorEdit, source: str) -> str | None:
    """Return the first line of a person's that would be nowhere after an edit was moved; None if each is kept.

    `source`: its text with the edit. Headings of added bullets may be called differently there.
    """
    known, whole = {line.strip() for text in written for line in text.split("\n")}, "\n".join(written)
    kept = f"{_bare_words(source)}\n{_bare_words(source, comments=True)}"
    mine = [line for line in now.replace("\r\n", "\n").split("\n") if line.strip() not in known]
    if edit.cut:  # what is left of a line that was cut is not the person's
        mine = [line for line in mine if line.replace("\ufffd", "").strip() not in whole]
    headings = {_bare_words(one.heading) for one in edit.added}
    mine = [line for line in mine if not (line.startswith("#") and _bare_words(line) in headings)]
    mine += [*(one.text for one in edit.added), *(one.new for one in edit.reworded)]
    kept_lines = {_bare_words(line) for line in source.split("\n")}  # almost always enough, and faster
    for line in mine:
        words = _bare_words(line)
        if words not in kept_lines and words not in kept:
            return line
    return None


def _bare_words(text: str, *, comments: bool = False) -> str:
    """The words without list marks, heading marks, backticks and closed comments, which a bullet in a source may lack."""
    text = text if comments else strip_comments(text, " ")
    return " ".join(word for word in text.replace("`", "").split() if word.strip("-*+#"))


def _list_bullets(text: str, title: str) -> list[tuple[str, str]]:
    """The bullets as (heading, text), with white space normalised. Those below the title alone are general."""
    found = lines_of(text.encode("utf-8", "replace"))
    return [
        (heading if heading not in ("", title) else GENERAL, " ".join(line.split()))
        for heading, line in found
    ]


def _intersect(sides: Sequence[Sequence[tuple[str, str]]]) -> list[str]:
    first = dict.fromkeys(text for _, text in sides[0])
    rest = [{text for _, text in side} for side in sides[1:]]
    return [text for text in first if all(text in side for side in rest)]


def _unite(sides: Sequence[Sequence[tuple[str, str]]]) -> set[str]:
    return {text for side in sides for _, text in side}


def _pair_reworded(
    before: Sequence[str], after: Sequence[tuple[str, str]], removed: set[str], added: set[str]
) -> tuple[RewordedLine, ...]:
    """Deleted and added bullets in the same place, if there are as many of one as of the other.

    The place is between two bullets that stayed. No general comparison is used, because it takes quadratic time.
    """
    olds = _group_by_place(before, removed)
    news = _group_by_place([text for _, text in after], added)
    pairs: list[RewordedLine] = []
    for place, old in olds.items():
        new = news.get(place, [])
        if len(old) == len(new):
            lines = [(before[one], *after[other]) for one, other in zip(old, new, strict=True)]
            pairs += [RewordedLine(heading, was, text) for was, heading, text in lines]
    return tuple(pairs)


def _group_by_place(texts: Sequence[str], changed: set[str]) -> dict[tuple[str, str], list[int]]:
    """The indices of the changed bullets by the bullets around them that are not; "" is an end. A place that is there twice
    is left out."""
    found: dict[tuple[str, str], list[int]] = {}
    twice: set[tuple[str, str]] = set()
    previous, run = "", list[int]()
    for at, text in enumerate([*texts, ""]):
        if text in changed:
            run.append(at)
            continue
        if run:
            twice |= {(previous, text)} & found.keys()
            found[previous, text] = run
        previous, run = text, []
    return {place: run for place, run in found.items() if place not in twice}


def _list_added_blocks(written: Sequence[str], now: str, headings: Set[str]) -> Iterator[str]:
    """Yield what is neither a bullet nor in a written text, such as paragraphs, code and comments, block by block.

    `headings`: those of added bullets, which come to the source with their bullets.
    """
    known = {line.rstrip() for text in written for line in text.split("\n")}
    blocks = lines_as_blocks(now.replace("\r\n", "\n").split("\n"))
    block: list[str] = []
    for kind, lines in _group_lines(blocks[find_matter_end(blocks) :]):
        new = any(line.rstrip() not in known for line in lines)
        is_text = kind in (LineKind.TEXT, LineKind.OPAQUE, LineKind.UNDERLINE, LineKind.HEADING)
        if kind is LineKind.HEADING and lines[0].strip("# \t") in headings:
            is_text = False
        if new and is_text:
            block += lines
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def _group_lines(blocks: Sequence[MarkdownLine]) -> Iterator[tuple[LineKind, list[str]]]:
    """Yield each line with its kind; the lines of code or of a comment together."""
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        lines = [block.text for block in group]
        if kind is LineKind.OPAQUE:
            yield from ((kind, part) for part in _split_opaque(lines))
        else:
            yield from ((kind, [line]) for line in lines)


def _split_opaque(lines: list[str]) -> Iterator[list[str]]:
    """Split adjacent comments, code blocks and rules, so that our own comment does not take a person's with it."""
    at = 0
    while at < len(lines):
        first, end = lines[at].strip(), at + 1
        if first.startswith("<!--"):
            end = next((n for n in range(at, len(lines)) if "-->" in lines[n]), at) + 1
        elif first[:3] in ("```", "~~~"):
            closing = (n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(first[:3]))
            end = next(closing, at) + 1
        yield lines[at:end]
        at = end


def to_source(edit: MirrorEdit, shown: Mapping[str, str]) -> MirrorEdit:
    """Return the edit with the source's own texts for what is deleted. `shown`: as `map_shown_bullets` returns it.

    A deleted line that the source does not have any more is left out.
    """
    return MirrorEdit(
        tuple(shown[text] for text in edit.removed if text in shown),
        edit.added,
        tuple(RewordedLine(one.heading, shown.get(one.old, one.old), one.new) for one in edit.reworded),
        edit.blocks,
    )
