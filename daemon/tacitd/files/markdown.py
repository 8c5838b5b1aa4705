"""Splicing lines into Markdown that people share: bytes in, bytes out, every byte that is not ours kept.

Putting a bullet under a heading, taking it out and swapping it belong here. No file is opened, and nothing
is re-flowed, re-ordered or tidied up (SPEC S-28): newline style, byte order mark, indentation and whatever
is not understood stay as they are.

A line is the text of one bullet. It is found again after a formatter wrapped it over several lines. A bullet
that a person built upon (words added below it, bullets nested under it) is theirs from then on: it still
counts as being there, and it is neither taken out nor swapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tacitd.errors import FileRefusedError
from tacitd.files.markdown_blocks import Kind, Line, lines_as_blocks, opens_fence

_BOM = b"\xef\xbb\xbf"
_CONFLICT = re.compile(rb"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)
_NUMBERED = re.compile(r"[ \t]*\d{1,9}[.)][ \t]")
_DECORATION = " \t*_:#"
CODE = 4
"""Columns: what is indented as far is code, or part of an item."""


def put_line(data: bytes | None, heading: str, line: str, title: str) -> bytes:
    """Put `- line` at the end of the list under `## heading`; unchanged where the line is there already.

    Without a file (None, or empty) one is begun with `# title`; a missing heading is added at the end. Raises
    FileRefusedError where the file cannot be spliced, or the line could not be read back as one bullet.
    """
    line, heading, title = clean(line), clean(heading), clean(title)
    _refuse_line(line)
    _refuse_halves(heading + title)
    text = _Text.of(data or b"", for_writing=True)
    if text.items_with(line):
        return data or b""
    if not text.lines:
        return text.bom + text.joined([f"# {title}", "", f"## {heading}", f"- {line}"])
    at = text.heading(heading)
    if at is None:
        return _checked(text.at_end(["", f"## {heading}", f"- {line}"]), line)
    where, mark = text.place_under(at)
    return _checked(text.with_line(where, mark + line), line)


def take_line(data: bytes, line: str) -> bytes:
    """Take the bullet with this text out, wherever it stands; unchanged where there is none that is ours."""
    text = _Text.of(data, for_writing=True)
    for item in reversed(text.items_with(clean(line))):
        if not item.built_upon:
            text = text.without(item)
    return text.encoded()


def swap_line(data: bytes, old: str, new: str) -> tuple[bytes, bool]:
    """Put `new` in the place of the bullet `old`, keeping its mark and indentation.

    False: there is no such bullet that is ours, and nothing was changed. Where `new` stands elsewhere
    already, `old` is only taken out.
    """
    old, new = clean(old), clean(new)
    _refuse_line(new)
    text = _Text.of(data, for_writing=True)
    items = [item for item in text.items_with(old) if not item.built_upon]
    if not items:
        return data, False
    if _same(old, new):
        return data, True
    if text.items_with(new):
        return take_line(data, old), True
    return _checked(text.with_item(items[0], new).encoded(), new), True


def has_line(data: bytes | None, line: str) -> bool:
    """Whether a bullet with this text stands anywhere in the file. FileRefusedError: it is not UTF-8."""
    return bool(data) and bool(_Text.of(data or b"").items_with(clean(line)))


def lines_of(data: bytes | None) -> list[tuple[str, str]]:
    """Every bullet as (the words of the heading above it, its text). FileRefusedError: it is not UTF-8."""
    found: list[tuple[str, str]] = []
    if data:
        text = _Text.of(data)
        items = {item.start: item for item in text.items()}
        heading = ""
        for at, block in enumerate(text.blocks):
            if block.kind is Kind.HEADING:
                heading = block.title
            elif at in items:
                found.append((heading, items[at].joined))
    return found


def clean(line: str) -> str:
    """The text as it stands in one bullet: no newline, no white space around it."""
    return re.sub(r"\s*[\r\n]+\s*", " ", line).strip()


@dataclass(frozen=True, slots=True)
class _Item:
    """A bullet: its first line, its end (exclusive), and what a formatter or a person made of it."""

    start: int
    end: int
    first: str
    joined: str
    parent: bool
    """Bullets are nested under it."""
    wrapped: bool
    """The line looked for is the whole of it; False: words were added below."""

    @property
    def built_upon(self) -> bool:
        return self.parent or not self.wrapped


@dataclass(frozen=True, slots=True)
class _Text:
    """A file, cut into lines that keep their newlines, so that joining them gives back every byte."""

    bom: bytes
    lines: list[str]
    newline: str
    blocks: list[Line]

    @classmethod
    def of(cls, data: bytes, *, for_writing: bool = False) -> _Text:
        _refuse_encoding(data)
        if for_writing and _CONFLICT.search(data):
            raise FileRefusedError("the file has conflict markers", "resolve the conflict, or undo the merge")
        bom = _BOM if data.startswith(_BOM) else b""
        return cls.cut(bom, _lines(data[len(bom) :].decode()))

    @classmethod
    def cut(cls, bom: bytes, lines: list[str]) -> _Text:
        crlf = sum(line.endswith("\r\n") for line in lines)
        newline = "\r\n" if crlf * 2 > sum(line.endswith("\n") for line in lines) else "\n"
        return cls(bom, lines, newline, lines_as_blocks([line.rstrip("\r\n") for line in lines]))

    def encoded(self) -> bytes:
        return self.bom + "".join(self.lines).encode()

    def joined(self, lines: list[str]) -> bytes:
        return "".join(line + self.newline for line in lines).encode()

    def items(self) -> Iterator[_Item]:
        """Every bullet."""
        for at, block in enumerate(self.blocks):
            if block.kind is Kind.BULLET:
                yield self._item(at)

    def items_with(self, line: str) -> list[_Item]:
        """Every bullet that has this text, on its first line or as a whole."""
        found = [item for item in self.items() if _same(item.first, line) or _same(item.joined, line)]
        return [self._item(item.start, wrapped=_same(item.joined, line)) for item in found]

    def _item(self, start: int, *, wrapped: bool = True) -> _Item:
        blocks, bullet = self.blocks, self.blocks[start]
        end = start + 1
        while end < len(blocks) and blocks[end].kind is Kind.MORE:
            end += 1
        after = next((block for block in blocks[end:] if block.kind is not Kind.BLANK), None)
        nested = after is not None and after.kind in (Kind.BULLET, Kind.MORE) and after.indent > bullet.indent
        words = [bullet.title, *(block.text.strip() for block in blocks[start + 1 : end])]
        return _Item(start, end, bullet.title, " ".join(words), nested, wrapped)

    def heading(self, words: str) -> int | None:
        """The line of the heading with these words: of the second level, else of a lower one."""
        wanted = _bare(words)
        found = [
            at
            for at, block in enumerate(self.blocks)
            if block.kind is Kind.HEADING and block.level >= 2 and _bare(block.title) == wanted
        ]
        return min(found, key=lambda at: (self.blocks[at].level, at), default=None)

    def place_under(self, heading: int) -> tuple[int, str]:
        """Where a new bullet goes in the section, and how its mark is written."""
        blocks = self.blocks
        begin = heading + 1
        while begin < len(blocks) and blocks[begin].kind is Kind.UNDERLINE:
            begin += 1
        end = next((at for at in range(begin, len(blocks)) if blocks[at].kind is Kind.HEADING), len(blocks))
        bullets = [block for block in blocks[begin:end] if block.kind is Kind.BULLET]
        shallow = min((block.indent for block in bullets), default=CODE)
        if shallow >= CODE or _numbered_above(blocks[begin:end], shallow):
            # No bullet of the section's own: those there are stand under a number, or in indented code.
            return self._last(begin, end, set(Kind) - {Kind.BLANK}), "- "
        like = next(block for block in reversed(bullets) if block.indent == shallow)
        indent = like.mark[: len(like.mark) - len(like.mark.lstrip())]
        return self._last(begin, end, {Kind.BULLET, Kind.MORE}), f"{indent}{like.mark.strip()} "

    def _last(self, begin: int, end: int, kinds: set[Kind]) -> int:
        """Just after the last line of one of these kinds."""
        return next((at + 1 for at in range(end - 1, begin - 1, -1) if self.blocks[at].kind in kinds), begin)

    def with_line(self, at: int, line: str) -> bytes:
        """A file without a newline at its end stays without one."""
        lines = list(self.lines)
        if at == len(lines) and not lines[-1].endswith("\n"):
            lines[-1:] = [lines[-1] + self.newline, line]
        else:
            lines.insert(at, line + self.newline)
            if self._is_underlined(at):
                # Without a blank line the heading's words would become part of our bullet.
                lines.insert(at + 1, self.newline)
        return _Text(self.bom, lines, self.newline, []).encoded()

    def _is_underlined(self, at: int) -> bool:
        pair = [block.kind for block in self.blocks[at : at + 2]]
        return pair == [Kind.HEADING, Kind.UNDERLINE]

    def at_end(self, added: list[str]) -> bytes:
        """A blank line before, unless there is one; a newline after."""
        end = "" if self.lines[-1].endswith("\n") else self.newline
        if not end and self.blocks[-1].kind is Kind.BLANK:
            added = added[1:]
        return self.encoded() + end.encode() + self.joined(added)

    def without(self, item: _Item) -> _Text:
        lines = self.lines[: item.start] + self.lines[item.end :]
        if item.end == len(self.lines) and lines and not self.lines[-1].endswith("\n"):
            lines[-1] = lines[-1].removesuffix("\n").removesuffix("\r")
        return _Text.cut(self.bom, lines)

    def with_item(self, item: _Item, new: str) -> _Text:
        last = self.lines[item.end - 1]
        end = last[len(last.rstrip("\r\n")) :]
        line = self.blocks[item.start].mark + new + end
        return _Text.cut(self.bom, [*self.lines[: item.start], line, *self.lines[item.end :]])


def _numbered_above(blocks: Iterable[Line], indent: int) -> bool:
    """Whether a numbered item stands further left: bullets at this indentation are parts of what it says."""
    return any(
        block.kind in (Kind.TEXT, Kind.MORE) and block.indent < indent and _NUMBERED.match(block.text)
        for block in blocks
    )


def _lines(text: str) -> list[str]:
    # Not splitlines: it also cuts at form feeds and other marks that are part of a line here.
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _same(one: str, other: str) -> bool:
    return one == other or one.split() == other.split()


def _bare(words: str) -> str:
    return words.strip(_DECORATION).casefold()


def _refuse_encoding(data: bytes) -> None:
    hint = "save it as UTF-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileRefusedError("the file is UTF-16, not UTF-8", hint)
    if b"\0" in data:
        raise FileRefusedError("the file holds NUL bytes: it is no text", hint)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise FileRefusedError(f"the file is not UTF-8 (byte {error.start})", hint) from error


def _refuse_line(line: str) -> None:
    """A line that would not be read back as one bullet with this very text is refused, not written."""
    _refuse_halves(line)
    block = lines_as_blocks([f"- {line}"])[0]
    read_back = block.kind is Kind.BULLET and _same(block.title, line)
    if "\0" in line or not read_back or opens_fence(line):
        raise FileRefusedError(f"{line!r} cannot stand as one bullet in Markdown")


def _refuse_halves(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FileRefusedError("the line holds half a character, which UTF-8 cannot say") from error


def _checked(data: bytes, line: str) -> bytes:
    """The file after a splice, refused where its oddities (a comment left open, an indented heading right
    below) would swallow our line, or make our bullet swallow what a person wrote."""
    items = _Text.of(data).items_with(line)
    if not items:
        raise FileRefusedError("the file has an open comment or code block that would swallow a new line")
    if all(item.built_upon for item in items):
        raise FileRefusedError(
            "a new line would run into the indented text below it", "take its indentation out"
        )
    return data
