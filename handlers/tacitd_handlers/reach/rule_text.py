"""The text of a rule file, made of the text of its source, and the formats of rule files and of the block in AGENTS.md. Pure.

The same source gives the same bytes. Front matter and comments are not copied. A word that begins with `@` would be an import for
the client, so it is put into a code span.

Agents that load no rules, such as Codex, get the lines of LEARNED.md by the root's AGENTS.md: by a line that names LEARNED.md, which
`tacitd init` and `reach` print, or with `reach.codex` by a block at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tacitd.errors import FileRefusedError
from tacitd.files.formats import Bullets, bullet, split_bullet
from tacitd.text.import_words import list_runs, quote_imports
from tacitd.text.markdown import lines_of
from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks

if TYPE_CHECKING:
    from tacitd.contract import Leaf

LIMIT = 36_000
"""Maximum number of characters that are copied. A session pays for all of them, and the client warns above 40,000."""
HEAD_START, FOOT_START = "<!-- Written by tacitd from ", "<!-- End of what tacitd copied from "
"""How the first and the last line begin. If one is missing, the file was cut off."""
TEXT = "\t"
"""In the place of a heading, in the leaf of a line that is no list item. Alone, the leaf under which a plan has the whole text."""
SEVERAL = 3
_BULLETS = Bullets()
_ORDINARY_INDENT = 4
"""Columns: a list item that is indented this far may be a part of the paragraph above it."""


def render_rule(text: str, source: str, matter: Sequence[str] = ()) -> str:
    """Return the text of the copy of a Markdown file; "" if it has nothing but headings.

    `source`: its name, relative to the work tree. `matter`: lines before all others.
    """
    body = list(_list_body(text, source))
    if not any(line and not line.startswith("#") for line in body):
        return ""
    name = source.replace("--", "- -")
    head = f"{HEAD_START}{name}: change that file, not this one. -->"
    return "\n".join([*matter, head, *body, "", f"{FOOT_START}{name}. -->"]) + "\n"


def render_lines(lines: Iterable[tuple[str, str]], title: str) -> str:
    """The text of a source that has only these (heading, line)."""
    groups: dict[str, list[str]] = {}
    for heading, line in lines:
        groups.setdefault(heading, []).append(line)
    made = [f"# {title}"]
    for heading in sorted(groups, key=bool):
        made += ["", *([f"## {heading}"] if heading else []), *(f"- {line}" for line in groups[heading])]
    return "\n".join(made) + "\n"


def show_line(text: str) -> str:
    return quote_imports(_strip_comments(text).rstrip())


def _list_body(text: str, source: str) -> Iterator[str]:
    plain = _strip_comments(text.removeprefix("\ufeff").replace("\r\n", "\n")).replace("<!--", "&lt;!--")
    blocks, runs, left = lines_as_blocks(plain.split("\n")), list_runs(plain), LIMIT
    headings, blank = dict[int, str](), True
    for at, block in list(enumerate(blocks))[find_matter_end(blocks) :]:
        if block.kind is LineKind.HEADING:
            headings = {level: line for level, line in headings.items() if level < block.level}
            headings[block.level] = f"{'#' * block.level} {quote_imports(block.title, runs)}".rstrip()
            continue
        if not block.text.strip() and block.kind is not LineKind.OPAQUE:
            blank = True
            continue
        # A list item of one line: no backtick of another line matters to it.
        is_last = at + 1 == len(blocks) or blocks[at + 1].kind is not LineKind.MORE
        is_item = block.kind is LineKind.BULLET and is_last and block.indent < _ORDINARY_INDENT
        shown = quote_imports(block.text.rstrip(), runs, starts_block=is_item)
        above = [part for line in headings.values() for part in ("", line)]
        added = [*(above or ([""] if blank else [])), shown]
        left -= sum(len(line) + 1 for line in added)
        if left < 0:
            yield from ("", f"(cut here: read the rest in {source} before you work)")
            return
        yield from added
        headings, blank = {}, False


def _strip_comments(text: str) -> str:
    """The text without its closed comments. It takes linear time, unlike a pattern."""
    made, at = list[str](), 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        made.append(text[at:begin])
        at = end + 3
    return "".join([*made, text[at:]])


def find_matter_end(blocks: Sequence[MarkdownLine]) -> int:
    """The index of the line after the front matter; 0 without one."""
    if not blocks or blocks[0].text.rstrip() != "---" or blocks[0].kind is not LineKind.OPAQUE:
        return 0
    ends = (at for at, block in enumerate(blocks[1:], 1) if block.text.rstrip() in ("---", "..."))
    return next(ends, -1) + 1


class RuleFormat:
    """A rule file. A leaf is a list item, as in `Bullets`, or any other line of text, whose heading is `TEXT`.

    The whole text of a change is the leaf `TEXT`. It replaces the file only if all that stands there is a leaf of the change. Otherwise
    something is a person's: it stays, and list items are changed one by one.
    """

    name = f"{__name__}:COPY"
    is_generated = True

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        return {bullet(heading, text): text for heading, text in lines_of(data)} | _list_text(data)

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """See `Format`."""
        now = self.read_leaves(data) if data else {}
        if TEXT in changes and now.keys() <= changes.keys():
            return (changes[TEXT] or "").encode()
        return _BULLETS.splice(data, {leaf: value for leaf, value in changes.items() if is_line(leaf)})

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        return _BULLETS.pair_reworded(base, now)

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """See `Format`: more than half of several lines are gone, or the first or the last line of tacitd's."""
        now, lines = self.read_leaves(data), data.decode(errors="replace").splitlines()
        missing = sum(leaf not in now for leaf in base)
        ends = [any(line.startswith(mark) for line in lines) for mark in (HEAD_START, FOOT_START)]
        return not all(ends) or (missing >= SEVERAL and 2 * missing > len(base))


COPY = RuleFormat()


def is_line(leaf: Leaf) -> bool:
    return split_bullet(leaf)[0] != TEXT


def _list_text(data: bytes) -> dict[Leaf, str]:
    try:
        blocks = lines_as_blocks(data.decode().removeprefix("\ufeff").splitlines())
    except UnicodeDecodeError as error:
        raise FileRefusedError("it is not UTF-8", "move it away; tacitd makes it again") from error
    found: dict[Leaf, str] = {}
    for block in blocks[find_matter_end(blocks) :]:
        words = block.text.strip()
        if block.kind not in (LineKind.TEXT, LineKind.OPAQUE) or not words:
            continue
        if not words.startswith((HEAD_START, FOOT_START)):
            found[bullet(TEXT, words)] = words
    return found


BLOCK_START = "<!-- tacitd: the lines of LEARNED.md begin here. Change that file. -->"
BLOCK_END = "<!-- tacitd: the lines of LEARNED.md end here. -->"
WHOLE = "block"
"""The one leaf of the format: what stands between the marks."""


class BlockFormat:
    """AGENTS.md with a block at its end, which is one leaf: it is tacitd's as a whole, or nobody touches it. What stands before and
    behind it keeps its bytes."""

    name = f"{__name__}:BLOCK"
    is_generated = False

    def read_leaves(self, data: bytes) -> Mapping[Leaf, str]:
        inside = _split_block(data)[1].decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")
        return {WHOLE: inside} if inside else {}

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """See `Format`. The block is put at the end if there is none."""
        before, inside, after = _split_block(data or b"")
        newline = _newline_of(inside or before)
        if WHOLE not in changes:
            return data or b""
        if (text := changes[WHOLE]) is None:
            return _without_block(before, newline, after) if inside else data or b""
        if not inside:
            # The block of a text without a newline at its end has none either: so that text is found again.
            after = newline if before.endswith(b"\n") or not before else b""
            before += (newline if after else newline * 2) if before else b""
        block = (BLOCK_START.encode(), b"", text.encode().replace(b"\n", newline), b"", BLOCK_END.encode())
        return before + newline.join(block) + after

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        return {}

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        return False


BLOCK = BlockFormat()


def strip_block(text: str) -> str:
    """The text of an AGENTS.md as it was before the block was added, whose lines are in LEARNED.md."""
    try:
        before, inside, after = _split_block(text.encode())
    except FileRefusedError:
        return text
    return _without_block(before, _newline_of(inside), after).decode() if inside else text


def _without_block(before: bytes, newline: bytes, after: bytes) -> bytes:
    """What is left without a block and what was put around it."""
    return before.removesuffix(newline if after else newline * 2) + after.removeprefix(newline)


def _newline_of(text: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in text else b"\n"


def _split_block(data: bytes) -> tuple[bytes, bytes, bytes]:
    before, start, rest = data.partition(BLOCK_START.encode())
    inside, end, after = rest.partition(BLOCK_END.encode())
    if start and not end:
        raise FileRefusedError(
            f"the block of tacitd has no end: {BLOCK_END}", "write that line, or delete the block"
        )
    return (before, inside, after) if start else (data, b"", b"")
