"""Whole sentences and list items of a text: nothing is cut in the middle (SPEC P-26). Pure.

A text is read as Markdown: code blocks and tables are left out, list items keep their line, other lines are split into
sentences. Cleaning (control characters, secrets) belongs to `stored_text`.

A text is a stranger's and may have 100 KB without a full stop, or of nothing else, so the time that splitting takes is
proportional to its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd.text.lazy_pattern import compile_lazily

_ITEM = compile_lazily(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_FENCE = compile_lazily(r"\s*(```+|~~~+)")
_TABLE = compile_lazily(r"\s*\|.*\|\s*$")
_RULE = compile_lazily(r"\s*(?:[-*_=]\s*){3,}$")
_HEADING = compile_lazily(r"\A\s*#{1,6}\s+")
_BOLD = compile_lazily(r"\s*\*\*[^*\n]*[^*\n.!?…。！？]\*\*:?\s*$")
"""A line that is bold as a whole and not a sentence: a heading in what models write."""
_END = compile_lazily(r"(?<![.!?…])([.!?…]++[\"'”’»)\]*_`]*+)\s+|[。！？]+[”’」』）]*\s*")
"""The end of a sentence; the group is its marks. Full-width marks need no space after them."""
_NO_END = compile_lazily(
    r"(?i:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|no|nr|fig|dr|mr|mrs|ms|st|z\.B|d\.h|bzw|ca))\.$"
    r"|(?:^|\s)[A-Z]\.$|^\s*\d{1,3}\.$"
)
"""A text that ends so is an abbreviation, an initial or the number of a list item."""
_WORD = 40
"""Characters. What is longer is not the rest of a word, but a text without spaces."""
_ABBREVIATED = 24
"""Characters before the end of a sentence in which `_NO_END` is looked for: more than the longest abbreviation."""
_FOLLOWING = 12
"""Units after a question from which on it may be far from the end of the text."""
_COMPLETE = compile_lazily(r"[.!?…。！？][\"'”’»)\]*_`」』）]*$")


class TextUnit(Struct, frozen=True):
    """A sentence, or an item of a list."""

    text: str
    starts_line: bool
    """Whether it begins a line of its own: the first sentence of a paragraph, or an item."""
    is_heading: bool = False
    """Whether it is the heading of what follows."""

    @property
    def is_item(self) -> bool:
        """Whether it is an item of a list."""
        return bool(_ITEM.match(self.text))

    @property
    def is_question(self) -> bool:
        """Whether it asks something."""
        return self.text.rstrip("\"'”’»)*_` 」』）").endswith(("?", "？"))


def split_units(text: str) -> list[TextUnit]:
    """Return the sentences and list items of a Markdown text, in order."""
    made: list[TextUnit] = []
    paragraph: list[str] = []
    fence, blank, starts = "", True, True
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        if mark:
            fence = mark[1]
            _close_paragraph(paragraph)  # "the import:" and then code that is left out
            continue
        if not _HEADING.sub("", line).strip():
            blank = True
            continue
        if _TABLE.match(line) or _RULE.match(line):
            _close_paragraph(paragraph)
            blank = True
            continue
        if _HEADING.match(line) or _BOLD.match(line):
            _add_paragraph(made, paragraph, starts)
            made.append(TextUnit(_HEADING.sub("", line).strip(), True, is_heading=True))
            blank = starts = True
            continue
        begins = blank or bool(_ITEM.match(line) or line.lstrip().startswith(">"))
        if paragraph and not begins and not _COMPLETE.search(paragraph[-1]):
            paragraph.append(line.strip())  # a wrapped paragraph: the sentence goes on in this line
        else:
            _add_paragraph(made, paragraph, starts)
            paragraph.append(line.rstrip())
            starts = begins
        blank = False
    _add_paragraph(made, paragraph, starts)
    return made


def _add_paragraph(made: list[TextUnit], lines: list[str], starts: bool) -> None:
    """Add the sentences of a paragraph, and clear it. `starts`: whether it begins a line of its own."""
    for at, one in enumerate(split_sentences(" ".join(lines))):
        made.append(TextUnit(one, starts and at == 0))
    lines.clear()


def _close_paragraph(lines: list[str]) -> None:
    """Replace the colon at the end of a paragraph by a full stop."""
    if lines and lines[-1].endswith(":"):
        lines[-1] = lines[-1][:-1] + "."


def split_sentences(line: str) -> list[str]:
    """Return the sentences of one line. The indentation and the mark of a list item stay with the first one."""
    made, start, last = list[str](), 0, len(line.rstrip())
    for match in _END.finditer(line):
        end, marks = match.end(), match.end(1)  # -1 after full-width marks
        if end >= last:
            break
        if line[end].islower():
            continue
        if marks >= 0 and _NO_END.search(line[max(start, marks - _ABBREVIATED) : marks]):
            continue
        made.append(line[start:end].strip() if made else line[start:end].rstrip())
        start = end
    rest = line[start:].strip() if made else line[start:].rstrip()
    return [*made, rest] if rest else made


def join_units(units: Iterable[TextUnit]) -> str:
    """Return the units as text: each that starts a line on a line of its own."""
    made = ""
    for one in units:
        made += ("\n" if one.starts_line and made else " " if made else "") + one.text
    return made.strip("\n")


def take_first(units: Sequence[TextUnit], limit: int, most: int = 1000) -> list[TextUnit]:
    """Return the first units that together have at most `limit` characters.

    A lead-in without its list, a heading without its text and the beginning of a quotation are left out. Of a list that goes
    on, the last line says so.
    """
    made: list[TextUnit] = []
    for one in units[:most]:
        if len(join_units([*made, one])) > limit:
            break
        made.append(one)
    if len(made) == len(units):
        return made
    while made and (
        made[-1].is_heading or made[-1].text.endswith((":", "：")) or join_units(made).count('"') % 2
    ):
        made.pop()
    if made and made[-1].is_item and units[len(made)].is_item:
        left = sum(one.is_item for one in units[len(made) :])
        made.append(TextUnit(f"… and {left} more", True))
    return made


def take_last(units: Sequence[TextUnit], limit: int, most: int = 1000) -> list[TextUnit]:
    """Return the last units that together have at most `limit` characters; the last one always, whatever its length."""
    made: list[TextUnit] = []
    for one in reversed(units[-most:] if most else ()):
        if made and len(join_units([one, *made])) > limit:
            break
        made.insert(0, one)
    return made


def cut_sentence(text: str, limit: int) -> str:
    """Return the end of a sentence that is far too long, marked as cut, as at most `limit` characters.

    It begins with a whole word where the language has spaces.
    """
    end = text[1 - limit :]
    word, space, rest = end.partition(" ")
    return "…" + (rest if space and len(word) < _WORD else end)


def take_end(units: Sequence[TextUnit], limit: int) -> list[TextUnit]:
    """Return what a text of the assistant ends with: its last question with what follows, otherwise the last units.

    An open question is the best line to go on with, and its options may be longer than the limit. If much follows that is not
    a list of options, the question and the end of the text are returned, with `…` in between.
    """
    asked = next((at for at in range(len(units) - 1, -1, -1) if units[at].is_question), None)
    if asked is None:
        return take_last(units, limit)
    rest = units[asked + 1 :]
    if len(rest) >= _FOLLOWING and not rest[0].is_item and len(join_units(rest)) > limit:
        question = (
            cut_sentence(units[asked].text, limit) if len(units[asked].text) > limit else units[asked].text
        )
        room = max(limit - len(question), limit // 3)
        return [TextUnit(question, True), TextUnit("…", True), *_begin_line(take_last(rest, room))]
    after = take_first(units[asked:], limit) or [units[asked]]
    room = limit - len(join_units(after))
    before = take_last(units[:asked], room) if asked and room > 0 else []
    return [*before, *after] if len(join_units([*before, *after])) <= limit else after


def _begin_line(units: list[TextUnit]) -> list[TextUnit]:
    return [replace(one, starts_line=one.starts_line or at == 0) for at, one in enumerate(units)]
