"""Splicing bullets into Markdown that people edit too: bytes in, bytes out. Pure.

Adding a bullet under a heading, removing it and replacing it belong here. Opening files does not. Nothing is re-flowed,
re-ordered or tidied (S-28): newline style, byte order mark, indentation and text that is not understood are kept byte
for byte.

A line is the text of one bullet. It is also found after a formatter wrapped it over several lines. If a person extended
a bullet (added words below it, or nested bullets under it), it belongs to the person from then on. It still counts as
present, but it is neither removed nor replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacitd.errors import FileRefusedError
from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks, opens_fence

_BOM = b"\xef\xbb\xbf"
_CONFLICT = re.compile(rb"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)
_NUMBERED = re.compile(r"[ \t]*\d{1,9}[.)][ \t]")
_DECORATION = " \t*_:#"
CODE = 4
"""Columns: text that is indented this far is code, or part of an item."""


def put_line(data: bytes | None, heading: str, line: str, title: str) -> bytes:
    """Add `- line` at the end of the list under `## heading`; unchanged if the file has the line already.

    For no file (None) or an empty one, the result begins with `# title`. A missing heading is added at the end. Raises
    FileRefusedError if the file cannot be spliced, or if the line could not be read back as one bullet.
    """
    line, heading, title = clean_line(line), clean_line(heading), clean_line(title)
    _refuse_line(line)
    _refuse_halves(heading + title)
    text = _Text.parse_bytes(data or b"", for_writing=True)
    if text.items_with(line):
        return data or b""
    if not text.lines:
        return text.bom + text.join_lines([f"# {title}", "", f"## {heading}", f"- {line}"])
    at = text.find_heading(heading)
    if at is None:
        return _check_spliced(text.at_end(["", f"## {heading}", f"- {line}"]), line)
    where, mark = text.place_under(at)
    return _check_spliced(text.with_line(where, mark + line), line)


def put_lines(
    data: bytes | None, lines: Sequence[tuple[str, str]], title: str
) -> tuple[bytes | None, list[bool]]:
    """Add each (heading, line) in order, as `put_line` does one after the other, with one pass over the file.

    Returns (bytes, whether each line was added). Raises FileRefusedError if any of them is refused; nothing is added then.
    """
    after, added = data, list[bool]()
    if lines and not (data or b"").removeprefix(_BOM):
        # The first line makes the file.
        after = put_line(data, *lines[0], title)
        added, lines = [True], lines[1:]
    if len(lines) < 2:
        for heading, line in lines:
            before, after = after, put_line(after, heading, line, title)
            added.append(after != before)
        return after, added
    spliced = _splice_all(after or b"", [(clean_line(h), clean_line(line)) for h, line in lines], title)
    if spliced is not None:
        return spliced[0], added + spliced[1]
    # One of the lines does not read back. Which one, and why, is found one by one.
    for heading, line in lines:
        before, after = after, put_line(after, heading, line, title)
        added.append(after != before)
    return after, added


def _splice_all(data: bytes, lines: Sequence[tuple[str, str]], title: str) -> tuple[bytes, list[bool]] | None:
    """Splice cleaned lines into a file that is not empty; None if one of them would not read back as one bullet."""
    _refuse_halves(clean_line(title))
    text = _Text.parse_bytes(data, for_writing=True)
    there = {_folded(words) for item in text.iter_items() for words in (item.first, item.joined)}
    sections = text.index_headings()
    under: dict[int, tuple[int, str]] = {}
    """By heading: where its new bullets go, and their mark."""
    inserted: dict[int, list[str]] = {}
    """By index of a line: the bullets that go before it."""
    appended: dict[str, list[str]] = {}
    """By heading, without decoration: the lines of a new section at the end."""
    added: list[bool] = []
    for heading, line in lines:
        _refuse_line(line)
        _refuse_halves(heading)
        added.append(_folded(line) not in there)
        if not added[-1]:
            continue
        there.add(_folded(line))
        name = _normalise_heading(heading)
        at = sections.get(name)
        if at is None:
            appended.setdefault(name, [f"## {heading}"]).append(f"- {line}")
        else:
            where, mark = under.setdefault(at, text.place_under(at)) if at not in under else under[at]
            inserted.setdefault(where, []).append(mark + line)
    after = text.with_sections(inserted, list(appended.values()))
    items = {_folded(item.joined): item for item in _Text.parse_bytes(after).iter_items()}
    new = [items.get(_folded(line)) for (_, line), is_new in zip(lines, added, strict=True) if is_new]
    return (after, added) if all(item and not item.parent for item in new) else None


def take_line(data: bytes, line: str) -> bytes:
    """Remove every bullet with this text that no person extended; unchanged if there is none.

    Raises FileRefusedError if the file cannot be spliced.
    """
    text = _Text.parse_bytes(data, for_writing=True)
    # From the end, so that the line numbers of the remaining items stay valid.
    for item in reversed(text.items_with(clean_line(line))):
        if not item.built_upon:
            text = text.without_item(item)
    return text.to_bytes()


def swap_line(data: bytes, old: str, new: str) -> tuple[bytes, bool]:
    """Replace the bullet `old` with `new`, with the same mark and indentation. Returns (bytes, whether `old` was found).

    A bullet that a person extended does not count. If the file has `new` already, `old` is only removed. Raises
    FileRefusedError as `put_line`.
    """
    old, new = clean_line(old), clean_line(new)
    _refuse_line(new)
    text = _Text.parse_bytes(data, for_writing=True)
    items = [item for item in text.items_with(old) if not item.built_upon]
    if not items:
        return data, False
    if _is_same_text(old, new):
        return data, True
    mine = {item.start for item in items}
    if any(item.start not in mine for item in text.items_with(new)):
        return take_line(data, old), True
    return _check_spliced(text.with_item(items[0], new).to_bytes(), new), True


def append_block(data: bytes | None, block: str) -> bytes:
    """Append lines that are not bullets at the end, after a blank line; unchanged if the file has them in this order.

    Raises FileRefusedError if the file cannot be spliced, or ends in an open code fence or comment.
    """
    text = _Text.parse_bytes(data or b"", for_writing=True)
    added = block.replace("\r\n", "\n").strip("\n").split("\n")
    _refuse_halves(block)
    present = [line.rstrip("\r\n") for line in text.lines]
    if any(present[at : at + len(added)] == added for at in range(len(present) - len(added) + 1)):
        return data or b""
    if not text.lines:
        return text.bom + text.join_lines(added)
    after = text.at_end(["", *added])
    kinds = [block.kind for block in _Text.parse_bytes(after).blocks[: len(present)]]
    if kinds != [block.kind for block in text.blocks]:
        raise FileRefusedError("an unclosed comment or code block in the file would contain the new lines")
    return after


def has_line(data: bytes | None, line: str) -> bool:
    """Whether the file has a bullet with this text. Raises FileRefusedError if it is not UTF-8."""
    return bool(data) and bool(_Text.parse_bytes(data or b"").items_with(clean_line(line)))


def lines_of(data: bytes | None) -> list[tuple[str, str]]:
    """Every bullet as (words of the heading above it, text). Raises FileRefusedError if the file is not UTF-8."""
    found: list[tuple[str, str]] = []
    if data:
        text = _Text.parse_bytes(data)
        items = {item.start: item for item in text.iter_items()}
        heading = ""
        for at, block in enumerate(text.blocks):
            if block.kind is LineKind.HEADING:
                heading = block.title
            elif at in items:
                found.append((heading, items[at].joined))
    return found


def clean_line(line: str) -> str:
    """The text as one bullet has it: without newlines and surrounding white space."""
    return re.sub(r"\s*[\r\n]+\s*", " ", line).strip()


@dataclass(frozen=True, slots=True)
class _Item:
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


@dataclass(frozen=True, slots=True)
class _Text:
    """A file as lines that include their newlines, so that joining them gives the same bytes."""

    bom: bytes
    lines: list[str]
    newline: str
    blocks: list[MarkdownLine]

    @classmethod
    def parse_bytes(cls, data: bytes, *, for_writing: bool = False) -> _Text:
        _refuse_encoding(data)
        if for_writing and _CONFLICT.search(data):
            raise FileRefusedError(
                "the file has conflict markers", "resolve the conflict, or abort the merge"
            )
        bom = _BOM if data.startswith(_BOM) else b""
        return cls.from_lines(bom, _lines(data[len(bom) :].decode()))

    @classmethod
    def from_lines(cls, bom: bytes, lines: list[str]) -> _Text:
        crlf = sum(line.endswith("\r\n") for line in lines)
        newline = "\r\n" if crlf * 2 > sum(line.endswith("\n") for line in lines) else "\n"
        return cls(bom, lines, newline, lines_as_blocks([line.rstrip("\r\n") for line in lines]))

    def to_bytes(self) -> bytes:
        return self.bom + "".join(self.lines).encode()

    def join_lines(self, lines: list[str]) -> bytes:
        return "".join(line + self.newline for line in lines).encode()

    def iter_items(self) -> Iterator[_Item]:
        for at, block in enumerate(self.blocks):
            if block.kind is LineKind.BULLET:
                yield self._item(at)

    def items_with(self, line: str) -> list[_Item]:
        """Every bullet whose first line or whole text is `line`."""
        found = [
            item
            for item in self.iter_items()
            if _is_same_text(item.first, line) or _is_same_text(item.joined, line)
        ]
        return [self._item(item.start, wrapped=_is_same_text(item.joined, line)) for item in found]

    def _item(self, start: int, *, wrapped: bool = True) -> _Item:
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
        return _Item(start, end, bullet.title, " ".join(words), nested, wrapped)

    def find_heading(self, words: str) -> int | None:
        """The index of the heading with these words: level 2 first, then deeper levels; None if there is none.

        Level 1 does not count: it is the file's title.
        """
        wanted = _normalise_heading(words)
        found = [
            at
            for at, block in enumerate(self.blocks)
            if block.kind is LineKind.HEADING
            and block.level >= 2
            and _normalise_heading(block.title) == wanted
        ]
        return min(found, key=lambda at: (self.blocks[at].level, at), default=None)

    def index_headings(self) -> dict[str, int]:
        """What `find_heading` returns, by the words of each heading."""
        found: dict[str, int] = {}
        for at, block in enumerate(self.blocks):
            if block.kind is LineKind.HEADING and block.level >= 2:
                words = _normalise_heading(block.title)
                if words not in found or block.level < self.blocks[found[words]].level:
                    found[words] = at
        return found

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
            return self._last(begin, end, set(LineKind) - {LineKind.BLANK}), "- "
        like = next(block for block in reversed(bullets) if block.indent == shallow)
        indent = like.mark[: len(like.mark) - len(like.mark.lstrip())]
        return self._last(begin, end, {LineKind.BULLET, LineKind.MORE}), f"{indent}{like.mark.strip()} "

    def _last(self, begin: int, end: int, kinds: set[LineKind]) -> int:
        """The index just after the last line of one of these kinds, or `begin`."""
        return next((at + 1 for at in range(end - 1, begin - 1, -1) if self.blocks[at].kind in kinds), begin)

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
        return _Text(self.bom, lines, self.newline, []).to_bytes()

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
        text = _Text(self.bom, lines, self.newline, self.blocks)
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

    def without_item(self, item: _Item) -> _Text:
        lines = self.lines[: item.start] + self.lines[item.end :]
        if item.end == len(self.lines) and lines and not self.lines[-1].endswith("\n"):
            lines[-1] = lines[-1].removesuffix("\n").removesuffix("\r")
        return _Text.from_lines(self.bom, lines)

    def with_item(self, item: _Item, new: str) -> _Text:
        last = self.lines[item.end - 1]
        end = last[len(last.rstrip("\r\n")) :]
        line = self.blocks[item.start].mark + new + end
        return _Text.from_lines(self.bom, [*self.lines[: item.start], line, *self.lines[item.end :]])


def _numbered_above(blocks: Iterable[MarkdownLine], indent: int) -> bool:
    """Whether a numbered item is indented less than this, so that bullets at this indentation belong to that item."""
    return any(
        block.kind in (LineKind.TEXT, LineKind.MORE) and block.indent < indent and _NUMBERED.match(block.text)
        for block in blocks
    )


def _lines(text: str) -> list[str]:
    # Not splitlines: it also splits at form feeds and other characters that are part of a line here.
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _is_same_text(one: str, other: str) -> bool:
    return one == other or one.split() == other.split()


def _folded(text: str) -> str:
    """Equal for texts that `_is_same_text` takes for the same."""
    return " ".join(text.split())


def _normalise_heading(words: str) -> str:
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


def _refuse_line(line: str) -> None:
    """Raise FileRefusedError if the line would not be read back as one bullet with exactly this text."""
    _refuse_halves(line)
    block = lines_as_blocks([f"- {line}"])[0]
    read_back = block.kind is LineKind.BULLET and _is_same_text(block.title, line)
    if "\0" in line or not read_back or opens_fence(line):
        raise FileRefusedError(f"{line!r} cannot be written as one Markdown bullet")


def _refuse_halves(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FileRefusedError("the line contains a lone surrogate, which UTF-8 cannot encode") from error


def _check_spliced(data: bytes, line: str) -> bytes:
    """Return the file after a splice, or raise FileRefusedError if the splice does not read back as intended.

    Trigger: an unclosed comment or code block, or indented text right below the new bullet.
    Why: Markdown would read the new bullet as part of the comment, or the person's text as part of the bullet.
    Outcome: refused, nothing is written.
    """
    items = _Text.parse_bytes(data).items_with(line)
    if not items:
        raise FileRefusedError("an unclosed comment or code block in the file would contain the new line")
    if all(item.built_upon for item in items):
        raise FileRefusedError(
            "the indented text below would become part of the new line", "remove its indentation"
        )
    return data
