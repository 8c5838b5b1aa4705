"""A Markdown file as lines, with its bullets and headings, for splicing without changing other bytes. Pure.

What is spliced is decided in markdown.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks

BOM = b"\xef\xbb\xbf"
_CONFLICT = compile_lazily(rb"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)
_NUMBERED = compile_lazily(r"[ \t]*\d{1,9}[.)][ \t]")
_DECORATION = " \t*_:#"
CODE = 4
"""Columns: text that is indented this far is code, or part of an item."""


class MarkdownItem(Struct, frozen=True):
    """A bullet, with the index of its first line, its end (exclusive), and its text.

    `first` is the text of the first line, `join_lines` that of all its lines.
    """

    start: int
    end: int
    first: str
    joined: str
    parent: bool
    """Whether indented text or bullets follow it that belong under it."""
    wrapped: bool
    """Whether the searched line is its whole text; False: words were added below it."""

    @property
    def built_upon(self) -> bool:
        return self.parent or not self.wrapped


class MarkdownText(Struct, frozen=True):
    """A file as lines that include their newlines, so that joining them gives the same bytes."""

    bom: bytes
    lines: list[str]
    newline: str
    blocks: list[MarkdownLine]

    @classmethod
    def parse_bytes(cls, data: bytes, *, for_writing: bool = False) -> MarkdownText:
        _refuse_encoding(data)
        if for_writing and _CONFLICT.search(data):
            raise FileRefusedError(
                "the file has conflict markers", "resolve the conflict, or abort the merge"
            )
        bom = BOM if data.startswith(BOM) else b""
        return cls.from_lines(bom, _lines(data[len(bom) :].decode()))

    @classmethod
    def from_lines(cls, bom: bytes, lines: list[str]) -> MarkdownText:
        crlf = sum(line.endswith("\r\n") for line in lines)
        newline = "\r\n" if crlf * 2 > sum(line.endswith("\n") for line in lines) else "\n"
        return cls(bom, lines, newline, lines_as_blocks([line.rstrip("\r\n") for line in lines]))

    def to_bytes(self) -> bytes:
        return self.bom + "".join(self.lines).encode()

    def join_lines(self, lines: list[str]) -> bytes:
        return "".join(line + self.newline for line in lines).encode()

    def iter_items(self) -> Iterator[MarkdownItem]:
        for at, block in enumerate(self.blocks):
            if block.kind is LineKind.BULLET:
                yield self._item(at)

    def items_with(self, line: str) -> list[MarkdownItem]:
        """Every bullet whose first line or whole text is `line`."""
        found = [
            item
            for item in self.iter_items()
            if is_same_text(item.first, line) or is_same_text(item.joined, line)
        ]
        return [self._item(item.start, wrapped=is_same_text(item.joined, line)) for item in found]

    def _item(self, start: int, *, wrapped: bool = True) -> MarkdownItem:
        blocks, bullet = self.blocks, self.blocks[start]
        end = start + 1
        while end < len(blocks) and blocks[end].kind is LineKind.MORE:
            end += 1
        below = (blocks[at] for at in range(end, len(blocks)))  # a slice would copy the rest of the file
        after = next((block for block in below if block.kind is not LineKind.BLANK), None)
        nested = (
            after is not None
            and after.kind in (LineKind.BULLET, LineKind.MORE)
            and after.indent > bullet.indent
        )
        words = [bullet.title, *(block.text.strip() for block in blocks[start + 1 : end])]
        return MarkdownItem(start, end, bullet.title, " ".join(words), nested, wrapped)

    def find_heading(self, words: str) -> int | None:
        """The index of the heading with these words: level 2 first, then deeper levels; None if there is none.

        Level 1 does not count: it is the file's title.
        """
        wanted = normalise_heading(words)
        found = [
            at
            for at, block in enumerate(self.blocks)
            if block.kind is LineKind.HEADING
            and block.level >= 2
            and normalise_heading(block.title) == wanted
        ]
        return min(found, key=lambda at: (self.blocks[at].level, at), default=None)

    def index_headings(self) -> dict[str, int]:
        """What `find_heading` returns, by the words of each heading."""
        found: dict[str, int] = {}
        for at, block in enumerate(self.blocks):
            if block.kind is LineKind.HEADING and block.level >= 2:
                words = normalise_heading(block.title)
                if words not in found or block.level < self.blocks[found[words]].level:
                    found[words] = at
        return found

    def index_sections(self) -> list[int]:
        """For each line, the index of the heading above it, or its own if it is one; -1 if there is none."""
        found, above = list[int](), -1
        for at, block in enumerate(self.blocks):
            above = at if block.kind is LineKind.HEADING else above
            found.append(above)
        return found

    def find_first_section(self, titles: Iterable[str]) -> int | None:
        """The index of the first heading of level 2 with one of these titles; None if there is none."""
        wanted = {normalise_heading(title) for title in titles}
        return next(
            (
                at
                for at, block in enumerate(self.blocks)
                if block.kind is LineKind.HEADING
                and block.level == 2
                and normalise_heading(block.title) in wanted
            ),
            None,
        )

    def place_under(self, heading: int) -> tuple[int, str]:
        """Where a new bullet goes in the section (line index), and its mark with indentation and space."""
        blocks = self.blocks
        begin = heading + 1
        while begin < len(blocks) and blocks[begin].kind is LineKind.UNDERLINE:
            begin += 1
        end = next(
            (at for at in range(begin, len(blocks)) if blocks[at].kind is LineKind.HEADING), len(blocks)
        )
        bullets = [block for block in blocks[begin:end] if block.kind is LineKind.BULLET]
        shallow = min((block.indent for block in bullets), default=CODE)
        if shallow >= CODE or _numbered_above(blocks[begin:end], shallow):
            # The section has no list of its own: its bullets are under a numbered item, or in indented code. So the new
            # bullet goes after everything.
            return self._last(begin, end, set(LineKind) - {LineKind.BLANK}, self._find_gap(begin, end)), "- "
        like = next(block for block in reversed(bullets) if block.indent == shallow)
        indent = like.mark[: len(like.mark) - len(like.mark.lstrip())]
        return self._last(begin, end, {LineKind.BULLET, LineKind.MORE}), f"{indent}{like.mark.strip()} "

    def _find_gap(self, begin: int, end: int) -> int:
        """Where a bullet goes in a section that is empty: where its only bullet was removed, a blank line is above and below."""
        blanks = [block.kind is LineKind.BLANK for block in self.blocks[begin:end]]
        is_gap = blanks[:2] == [True, True] or (blanks == [True] and end == len(self.blocks))
        return begin + 1 if is_gap else begin

    def _last(self, begin: int, end: int, kinds: set[LineKind], otherwise: int | None = None) -> int:
        """The index just after the last line of one of these kinds; `otherwise` (None: `begin`) if there is none."""
        found = (at + 1 for at in range(end - 1, begin - 1, -1) if self.blocks[at].kind in kinds)
        return next(found, begin if otherwise is None else otherwise)

    def with_line(self, at: int, line: str) -> bytes:
        """The file with a line inserted at an index. A file without a final newline stays without one."""
        lines = list(self.lines)
        if at == len(lines) and not lines[-1].endswith("\n"):
            lines[-1:] = [lines[-1] + self.newline, line]
        else:
            lines.insert(at, line + self.newline)
            if self._is_underlined(at):
                # Without a blank line, Markdown would read the underlined heading's words as part of the new bullet.
                lines.insert(at + 1, self.newline)
        return MarkdownText(self.bom, lines, self.newline, []).to_bytes()

    def with_sections(
        self, inserted: Mapping[int, Sequence[str]], sections: Sequence[Sequence[str]]
    ) -> bytes:
        """The file with these lines inserted before the lines with these indices, and these sections at its end."""
        lines: list[str] = []
        is_open = not self.lines[-1].endswith("\n")
        for at in range(len(self.lines) + 1):
            if new := inserted.get(at):
                if at == len(self.lines) and is_open:
                    lines[-1] += self.newline
                lines += [line + self.newline for line in new]
                if at == len(self.lines) and is_open:
                    lines[-1] = lines[-1].removesuffix(self.newline)
                elif self._is_underlined(at):
                    lines.append(self.newline)
            if at < len(self.lines):
                lines.append(self.lines[at])
        text = MarkdownText(self.bom, lines, self.newline, self.blocks)
        added = [line for section in sections for line in ("", *section)]
        return text.at_end(added) if added else text.to_bytes()

    def _is_underlined(self, at: int) -> bool:
        pair = [block.kind for block in self.blocks[at : at + 2]]
        return pair == [LineKind.HEADING, LineKind.UNDERLINE]

    def at_end(self, added: list[str]) -> bytes:
        """The file with these lines at its end; without their blank first line if the file ends with a blank line."""
        end = "" if self.lines[-1].endswith("\n") else self.newline
        if not end and self.blocks[-1].kind is LineKind.BLANK:
            added = added[1:]
        return self.to_bytes() + end.encode() + self.join_lines(added)

    def with_section_before(self, at: int, added: Sequence[str]) -> bytes:
        """The file with a section before the heading with this index, and blank lines around it."""
        lines = [line + self.newline for line in added]
        if at > 0 and self.blocks[at - 1].kind is not LineKind.BLANK:
            lines.insert(0, self.newline)
        whole = [*self.lines[:at], *lines, self.newline, *self.lines[at:]]
        return MarkdownText(self.bom, whole, self.newline, []).to_bytes()

    def without_empty_section(self, title: str) -> MarkdownText:
        """The file without the heading of level 2 with this title if only blank lines are below it; otherwise unchanged."""
        wanted = normalise_heading(title)
        same = [
            n
            for n, block in enumerate(self.blocks)
            if block.kind is LineKind.HEADING and normalise_heading(block.title) == wanted
        ]
        # Of two headings with one title, one may be the person's.
        if len(same) != 1 or self.blocks[same[0]].level != 2:
            return self
        at = same[0]
        if at + 1 < len(self.blocks) and self.blocks[at + 1].kind is LineKind.UNDERLINE:
            return self
        end = at + 1
        while end < len(self.blocks) and self.blocks[end].kind is LineKind.BLANK:
            end += 1
        if end < len(self.blocks) and (
            self.blocks[end].kind is not LineKind.HEADING or self.blocks[end].level > 2
        ):
            return self
        # The blank lines below go with it; at the end of the file, those above do instead.
        begin = at
        while end == len(self.blocks) and begin > 0 and self.blocks[begin - 1].kind is LineKind.BLANK:
            begin -= 1
        return MarkdownText.from_lines(self.bom, self.lines[:begin] + self.lines[end:])

    def with_moved_items(self, moves: Mapping[int, MarkdownItem]) -> bytes:
        """The file with other items in the places of some. `moves`: by the first line of a place, the item that goes there.

        Each item that is replaced must be in another place.
        """
        ends = {item.start: item.end for item in self.iter_items()}
        lines: list[str] = []
        at = 0
        while at < len(self.lines):
            item = moves.get(at)
            if item is None:
                lines.append(self.lines[at])
                at += 1
                continue
            moved = list(self.lines[item.start : item.end])
            at = ends[at]
            if not moved[-1].endswith("\n"):
                moved[-1] += self.newline
            lines += moved
        if self.lines and not self.lines[-1].endswith("\n"):
            lines[-1] = lines[-1].removesuffix("\n").removesuffix("\r")
        return MarkdownText(self.bom, lines, self.newline, []).to_bytes()

    def without_items(self, items: Iterable[MarkdownItem]) -> bytes:
        """The file without these bullets. A file without a final newline stays without one."""
        gone = {at for item in items for at in range(item.start, item.end)}
        lines = [line for at, line in enumerate(self.lines) if at not in gone]
        if lines and len(self.lines) - 1 in gone and not self.lines[-1].endswith("\n"):
            lines[-1] = lines[-1].removesuffix("\n").removesuffix("\r")
        return MarkdownText(self.bom, lines, self.newline, []).to_bytes()

    def with_item(self, item: MarkdownItem, new: str) -> MarkdownText:
        last = self.lines[item.end - 1]
        end = last[len(last.rstrip("\r\n")) :]
        line = self.blocks[item.start].mark + new + end
        return MarkdownText.from_lines(self.bom, [*self.lines[: item.start], line, *self.lines[item.end :]])


def _numbered_above(blocks: Iterable[MarkdownLine], indent: int) -> bool:
    """Whether a numbered item is indented less than this, so that bullets at this indentation belong to that item."""
    return any(
        block.kind in (LineKind.TEXT, LineKind.MORE) and block.indent < indent and _NUMBERED.match(block.text)
        for block in blocks
    )


def _lines(text: str) -> list[str]:
    # Not splitlines: it also splits at form feeds and other characters that are part of a line here.
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def is_same_text(one: str, other: str) -> bool:
    return one == other or one.split() == other.split()


def fold_spaces(text: str) -> str:
    """Equal for texts that `is_same_text` takes for the same."""
    return " ".join(text.split())


def normalise_heading(words: str) -> str:
    return words.strip(_DECORATION).casefold()


def _refuse_encoding(data: bytes) -> None:
    hint = "save it as UTF-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileRefusedError("the file is UTF-16, not UTF-8", hint)
    if b"\0" in data:
        raise FileRefusedError("the file contains NUL bytes, so it is not text", hint)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise FileRefusedError(f"the file is not UTF-8 (byte {error.start})", hint) from error
