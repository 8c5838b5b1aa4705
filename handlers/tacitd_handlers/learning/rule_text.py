"""The text of a rule file, made of the text of its source, and the format in which it is written. Pure.

The same source gives the same bytes. Front matter and comments are not copied. A word that begins with `@` would be an import for
the client, so it is put into a code span.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tacitd.contract import Leaf
from tacitd.errors import FileRefusedError
from tacitd.files.formats import Bullets, bullet, split_bullet
from tacitd.text.import_words import list_runs, quote_imports
from tacitd.text.markdown import lines_of
from tacitd.text.markdown_blocks import LineKind, MarkdownLine, lines_as_blocks

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
    """The text of a list item as a copy has it."""
    return quote_imports(_strip_comments(text).rstrip())


def _list_body(text: str, source: str) -> Iterator[str]:
    plain = _strip_comments(text.removeprefix("\ufeff").replace("\r\n", "\n")).replace("<!--", "&lt;!--")
    blocks, runs, left = lines_as_blocks(plain.split("\n")), list_runs(plain), LIMIT
    headings, blank = dict[int, str](), True
    for at, block in list(enumerate(blocks))[find_matter_end(blocks) :]:
        if block.kind is LineKind.UNDERLINE:
            continue
        if block.kind is LineKind.HEADING:
            headings = {level: line for level, line in headings.items() if level < block.level}
            headings[block.level] = f"{'#' * block.level} {quote_imports(block.title, runs)}".rstrip()
            continue
        if not block.text.strip() and block.kind is not LineKind.OPAQUE:
            blank = True
            continue
        shown = quote_imports(block.text.rstrip(), runs, starts_block=_starts_block(blocks, at))
        above = [part for line in headings.values() for part in ("", line)]
        added = [*(above or ([""] if blank else [])), shown]
        left -= sum(len(line) + 1 for line in added)
        if left < 0:
            yield from ("", f"(cut here: read the rest in {source} before you work)")
            return
        yield from added
        headings, blank = {}, False


def _starts_block(blocks: Sequence[MarkdownLine], at: int) -> bool:
    """Whether it is a list item of one line: no backtick of another line matters to it."""
    following = blocks[at + 1].kind if at + 1 < len(blocks) else LineKind.BLANK
    is_one = blocks[at].kind is LineKind.BULLET and following is not LineKind.MORE
    return is_one and blocks[at].indent < _ORDINARY_INDENT


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
        """See `Format`."""
        return {bullet(heading, text): text for heading, text in lines_of(data)} | _list_text(data)

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """See `Format`."""
        now = self.read_leaves(data) if data else {}
        if TEXT in changes and now.keys() <= changes.keys():
            return (changes[TEXT] or "").encode()
        return _BULLETS.splice(data, {leaf: value for leaf, value in changes.items() if is_line(leaf)})

    def pair_reworded(self, base: Sequence[Leaf], now: Sequence[Leaf]) -> Mapping[Leaf, Leaf]:
        """See `Format`."""
        return _BULLETS.pair_reworded(base, now)

    def is_cut(self, data: bytes, base: Mapping[Leaf, str]) -> bool:
        """See `Format`: more than half of several lines are gone, or the first or the last line of tacitd's."""
        now, lines = self.read_leaves(data), data.decode(errors="replace").splitlines()
        missing = sum(leaf not in now for leaf in base)
        ends = [any(line.startswith(mark) for line in lines) for mark in (HEAD_START, FOOT_START)]
        return not all(ends) or (missing >= SEVERAL and 2 * missing > len(base))


COPY = RuleFormat()


def is_line(leaf: Leaf) -> bool:
    """Whether a leaf is a list item."""
    return split_bullet(leaf)[0] != TEXT


def _list_text(data: bytes) -> dict[Leaf, str]:
    try:
        blocks = lines_as_blocks(data.decode().removeprefix("\ufeff").splitlines())
    except UnicodeDecodeError as error:
        raise FileRefusedError("it is not UTF-8", "move it away; tacitd makes it again") from error
    found = dict[Leaf, str]()
    for block in blocks[find_matter_end(blocks) :]:
        words = block.text.strip()
        if block.kind not in (LineKind.TEXT, LineKind.OPAQUE) or not words:
            continue
        if not words.startswith((HEAD_START, FOOT_START)):
            found[bullet(TEXT, words)] = words
    return found
