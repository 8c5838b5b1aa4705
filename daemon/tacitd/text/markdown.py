"""Splicing bullets into Markdown that people edit too: bytes in, bytes out. Pure.

Only lines that the caller names change (S-28): newline style, byte order mark, indentation and text that is not understood are
kept byte for byte. A line is the text of one bullet, also after a formatter wrapped it over several lines. A bullet that a person
extended (with words below it, or nested bullets) is the person's: it counts as present, but is neither removed nor replaced.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks, opens_fence

BOM = b"\xef\xbb\xbf"
CODE = 4
"""Columns: text that is indented this far is code, or part of an item."""
_CONFLICT = compile_lazily(rb"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)
_NUMBERED = compile_lazily(r"[ \t]*\d{1,9}[.)][ \t]")
_AROUND = "remove the indentation of the text below, and close comments and code blocks"
_NEW_LINES = compile_lazily(r"\s*[\r\n]+\s*")


# --- what is there


def lines_of(data: bytes | None) -> list[tuple[str, str]]:
    """Every bullet as (words of the heading above it, text). Raises FileRefusedError if the file is not UTF-8."""
    text = MarkdownText.parse_bytes(data or b"")
    headings = [at for at, block in enumerate(text.blocks) if block.kind is LineKind.HEADING]
    titles = ["", *(text.blocks[at].title for at in headings)]
    return [(titles[bisect(headings, item.start)], item.joined) for item in text.items]


def list_headings(data: bytes | None) -> list[str]:
    """The words of each heading below the title, as they are compared. Raises FileRefusedError if it is not UTF-8."""
    return list(MarkdownText.parse_bytes(data or b"").index_headings())


def clean_line(line: str) -> str:
    """The text as one bullet has it: without newlines and surrounding white space."""
    return (line if "\n" not in line and "\r" not in line else _NEW_LINES.sub(" ", line)).strip()


def normalise_heading(words: str) -> str:
    """A heading as it is compared: without decoration, in small letters."""
    return words.strip(" \t*_:#").casefold()


def _fold(text: str) -> str:
    """Equal for lines that differ in white space alone."""
    return " ".join(clean_line(text).split())


# --- adding


def put_line(data: bytes | None, heading: str, line: str, title: str) -> bytes:
    """Add `- line` at the end of the list under `## heading`; see `put_lines`."""
    return put_lines(data, [(heading, line)], title) or b""


def put_lines(
    data: bytes | None,
    lines: Sequence[tuple[str, str]],
    title: str,
    later: Mapping[str, Sequence[str]] | None = None,
) -> bytes | None:
    """Add each (heading, line) at the end of the list under its heading; unchanged for a line that the file has already.

    For no file (None) or an empty one, the result begins with `# title`. A missing heading is added before the first of the
    headings that `later` has for it, otherwise at the end. Raises FileRefusedError if the file cannot be spliced, or if a line could
    not be read back as one bullet; nothing is added then.
    """
    for _, line in lines:
        _refuse_line(clean_line(line))
    text = MarkdownText.parse_bytes(data or b"", for_writing=True)
    there = {_fold(words) for item in text.items for words in (item.first, item.joined)}
    new: dict[str, tuple[str, str]] = {}
    for heading, line in lines:
        if _fold(line) not in there:
            new.setdefault(_fold(line), (heading, clean_line(line)))
    if not new:
        return data
    if not text.lines:
        text = MarkdownText.from_lines(text.bom, [f"# {clean_line(title)}\n"])
    sections = text.index_headings()
    for heading in dict.fromkeys(heading for heading, _ in new.values()):
        if normalise_heading(clean_line(heading)) not in sections:
            text = text.with_heading(clean_line(heading), (later or {}).get(heading, ()))
            sections = text.index_headings()
    places: dict[int, tuple[int, str]] = {}
    inserted: dict[int, list[str]] = {}
    """By index of a line: the bullets that go before it."""
    for heading, line in new.values():
        at = sections[normalise_heading(clean_line(heading))]
        where, mark = places.get(at) or places.setdefault(at, text.place_under(at))
        inserted.setdefault(where, []).append(mark + line)
    after = text.with_lines(inserted)
    # Read back, because a comment, a code block or indented text around it decides what Markdown makes of a new line.
    if new.keys() <= {_fold(item.joined) for item in after.items if not item.parent}:
        return after.to_bytes()
    if len(new) > 1:
        for one in lines:
            data = put_lines(data, [one], title, later)
        return data
    raise FileRefusedError("the text around would change the new line", _AROUND)


def can_be_bullet(line: str) -> bool:
    """Whether `- line` is read back as one bullet with exactly this text."""
    block = lines_as_blocks([f"- {line}"])[0]
    read_back = block.kind is LineKind.BULLET and _fold(block.title) == _fold(line)
    return read_back and "\0" not in line and not opens_fence(line)


def _refuse_line(line: str) -> None:
    if not can_be_bullet(line):
        raise FileRefusedError(f"{line!r} cannot be written as one Markdown bullet")


# --- removing, replacing


def take_lines(data: bytes, lines: Sequence[str], sections: Sequence[str] = ()) -> bytes:
    """Remove every bullet with one of these texts that no person extended.

    `sections`: for each line, a heading that is removed too if its line was removed and nothing is left below it; "" for none. Raises
    FileRefusedError if the file cannot be spliced.
    """
    text = MarkdownText.parse_bytes(data, for_writing=True)
    wanted = set(map(_fold, lines))
    gone = [item for item in text.items if _fold(item.joined) in wanted and not item.parent]
    if not gone:
        return data
    without = {at for item in gone for at in range(item.start, item.end)}
    kept = [line for at, line in enumerate(text.lines) if at not in without]
    if kept and not text.lines[-1].endswith("\n"):  # a file without a final newline stays without one
        kept[-1] = kept[-1].removesuffix("\n").removesuffix("\r")
    after = MarkdownText.from_lines(text.bom, kept)
    left = [_fold(item.joined) for item in text.items if item.start not in without]
    if len(lines) > 1 and [_fold(item.joined) for item in after.items] != left:
        # Without them, other text is read as something else. So each is removed from what the one before left.
        for at, line in enumerate(lines):
            data = take_lines(data, [line], sections[at : at + 1])
        return data
    taken = {_fold(item.joined) for item in gone}
    of_taken = (one for one, line in zip(sections, lines, strict=False) if one and _fold(line) in taken)
    for section in dict.fromkeys(of_taken):
        after = after.without_empty_section(clean_line(section))
    return after.to_bytes()


def swap_line(data: bytes, old: str, new: str) -> bytes:
    """Replace the bullet `old` with `new`, with the same mark and indentation; unchanged if there is none.

    A bullet that a person extended does not count. If the file has `new` already, `old` is only removed. Raises
    FileRefusedError as `put_lines`.
    """
    old, new = clean_line(old), clean_line(new)
    _refuse_line(new)
    text = MarkdownText.parse_bytes(data, for_writing=True)
    mine = [item for item in text.items if _fold(item.joined) == _fold(old) and not item.parent]
    if not mine or _fold(old) == _fold(new):
        return data
    if any(_fold(new) in (_fold(item.first), _fold(item.joined)) for item in text.items if item not in mine):
        return take_lines(data, [old])
    start, end = mine[0].start, mine[0].end
    last = text.lines[end - 1]
    line = text.blocks[start].mark + new + last[len(last.rstrip("\r\n")) :]
    after = MarkdownText.from_lines(text.bom, [*text.lines[:start], line, *text.lines[end:]])
    if not any(_fold(item.joined) == _fold(new) and not item.parent for item in after.items):
        raise FileRefusedError("the text around would change the new line", _AROUND)
    return after.to_bytes()


# --- a file as lines


class MarkdownItem(Struct, frozen=True):
    """A bullet, with the index of its first line, its end (exclusive), and its text.

    `first` is the text of the first line, `joined` that of all its lines.
    """

    start: int
    end: int
    first: str
    joined: str
    parent: bool
    """Whether indented text or bullets follow it that belong under it."""


class MarkdownText(Struct, frozen=True):
    """A file as lines that include their newlines, so that joining them gives the same bytes."""

    bom: bytes
    lines: list[str]
    newline: str
    blocks: list[MarkdownLine]
    items: list[MarkdownItem]

    @classmethod
    def parse_bytes(cls, data: bytes, *, for_writing: bool = False) -> MarkdownText:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            what = f"the file is not UTF-8 (byte {error.start})"
            raise FileRefusedError(what, "save it as UTF-8") from error
        if b"\0" in data:
            raise FileRefusedError("the file contains NUL bytes, so it is not text", "save it as UTF-8")
        if for_writing and _CONFLICT.search(data):
            hint = "resolve the conflict, or abort the merge"
            raise FileRefusedError("the file has conflict markers", hint)
        bom = BOM if data.startswith(BOM) else b""
        # Not splitlines: it also splits at form feeds and other characters that are part of a line here.
        return cls.from_lines(bom, re.findall(r"[^\n]*\n|[^\n]+", data[len(bom) :].decode()))

    @classmethod
    def from_lines(cls, bom: bytes, lines: list[str]) -> MarkdownText:
        crlf = sum(line.endswith("\r\n") for line in lines)
        newline = "\r\n" if crlf * 2 > sum(line.endswith("\n") for line in lines) else "\n"
        blocks = lines_as_blocks([line.rstrip("\r\n") for line in lines])
        return cls(bom, lines, newline, blocks, list(_iter_items(blocks)))

    def to_bytes(self) -> bytes:
        try:
            return self.bom + "".join(self.lines).encode()
        except UnicodeEncodeError as error:
            raise FileRefusedError("a line contains a lone surrogate, which UTF-8 cannot encode") from error

    def index_headings(self) -> dict[str, int]:
        """The index of each heading by its words: of level 2 first, then of deeper levels. Level 1 is the file's title."""
        found: dict[str, int] = {}
        for at, block in enumerate(self.blocks):
            if block.kind is LineKind.HEADING and block.level >= 2:
                words = normalise_heading(block.title)
                if words not in found or block.level < self.blocks[found[words]].level:
                    found[words] = at
        return found

    def place_under(self, heading: int) -> tuple[int, str]:
        """Where a new bullet goes in the section (line index), and its mark with indentation and space."""
        blocks = self.blocks
        begin = heading + 1
        ends = (at for at in range(begin, len(blocks)) if blocks[at].kind is LineKind.HEADING)
        end = next(ends, len(blocks))
        bullets = [block for block in blocks[begin:end] if block.kind is LineKind.BULLET]
        shallow = min((block.indent for block in bullets), default=CODE)
        numbered = any(
            block.kind in (LineKind.TEXT, LineKind.MORE)
            and block.indent < shallow
            and _NUMBERED.match(block.text)
            for block in blocks[begin:end]
        )
        if shallow >= CODE or numbered:
            # The section has no list of its own: its bullets are under a numbered item, or in indented code. So the new
            # bullet goes after everything; into an empty section where its only bullet was removed, a blank line above and below.
            blanks = [block.kind is LineKind.BLANK for block in blocks[begin:end]]
            is_gap = blanks[:2] == [True, True] or (blanks == [True] and end == len(blocks))
            return self._last(begin, end, set(LineKind) - {LineKind.BLANK}, begin + is_gap), "- "
        like = next(block for block in reversed(bullets) if block.indent == shallow)
        indent = like.mark[: len(like.mark) - len(like.mark.lstrip())]
        mark = f"{indent}{like.mark.strip()} "
        return self._last(begin, end, {LineKind.BULLET, LineKind.MORE}, begin), mark

    def _last(self, begin: int, end: int, kinds: set[LineKind], otherwise: int) -> int:
        """The index just after the last line of one of these kinds."""
        found = (at + 1 for at in range(end - 1, begin - 1, -1) if self.blocks[at].kind in kinds)
        return next(found, otherwise)

    def with_lines(self, inserted: Mapping[int, Sequence[str]]) -> MarkdownText:
        """The text with these lines before those with these indices. A file without a final newline stays without one."""
        lines: list[str] = []
        is_open = bool(self.lines) and not self.lines[-1].endswith("\n")
        for at in range(len(self.lines) + 1):
            if new := inserted.get(at):
                if at == len(self.lines) and is_open:
                    lines[-1] += self.newline
                lines += [line + self.newline for line in new]
                if at == len(self.lines) and is_open:
                    lines[-1] = lines[-1].removesuffix(self.newline)
            lines += self.lines[at : at + 1]
        return MarkdownText.from_lines(self.bom, lines)

    def with_heading(self, title: str, later: Iterable[str]) -> MarkdownText:
        """The text with a heading before the first of these of level 2, with blank lines around it; otherwise at its end."""
        wanted, sections = set(map(normalise_heading, later)), enumerate(self.blocks)
        found = (at for at, one in sections if one.level == 2 and normalise_heading(one.title) in wanted)
        at = next(found, len(self.lines))
        lines = [line if line.endswith("\n") else line + self.newline for line in self.lines[:at]]
        if at > 0 and self.blocks[at - 1].kind is not LineKind.BLANK:
            lines.append(self.newline)
        lines.append(f"## {title}{self.newline}")
        if at < len(self.lines):
            lines.append(self.newline)
        return MarkdownText.from_lines(self.bom, lines + self.lines[at:])

    def without_empty_section(self, title: str) -> MarkdownText:
        """The text without the heading of level 2 with this title if only blank lines are below it; otherwise unchanged."""
        wanted, blocks = normalise_heading(title), self.blocks
        same = [at for at, one in enumerate(blocks) if one.level and normalise_heading(one.title) == wanted]
        # Of two headings with one title, one may be the person's.
        if len(same) != 1 or blocks[same[0]].level != 2:
            return self
        begin, end = same[0], same[0] + 1
        while end < len(blocks) and blocks[end].kind is LineKind.BLANK:
            end += 1
        if end < len(blocks) and (blocks[end].kind is not LineKind.HEADING or blocks[end].level > 2):
            return self
        # The blank lines below go with it; at the end of the file, those above do instead.
        while end == len(blocks) and begin > 0 and blocks[begin - 1].kind is LineKind.BLANK:
            begin -= 1
        return MarkdownText.from_lines(self.bom, self.lines[:begin] + self.lines[end:])


def _iter_items(blocks: Sequence[MarkdownLine]) -> Iterator[MarkdownItem]:
    for start, bullet in enumerate(blocks):
        if bullet.kind is not LineKind.BULLET:
            continue
        end = start + 1
        while end < len(blocks) and blocks[end].kind is LineKind.MORE:
            end += 1
        below = (blocks[at] for at in range(end, len(blocks)))  # a slice would copy the rest of the file
        after = next((block for block in below if block.kind is not LineKind.BLANK), None)
        is_under = after is not None and after.kind in (LineKind.BULLET, LineKind.MORE)
        words = [bullet.title, *(block.text.strip() for block in blocks[start + 1 : end])]
        parent = after is not None and is_under and after.indent > bullet.indent
        yield MarkdownItem(start, end, bullet.title, " ".join(words), parent)
