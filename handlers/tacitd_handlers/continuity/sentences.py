"""Whole sentences and list items of a text: nothing is cut in the middle (SPEC P-26). Pure.

A text is read as Markdown: code blocks and tables are left out, list items keep their line, other lines are split into
sentences. Cleaning (control characters, secrets) belongs to `stored_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_TABLE = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*(?:[-*_=]\s*){3,}$")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_END = re.compile(r"[.!?…]+[\"'”’»)\]*_`]*\s+|[。！？]+[”’」』）]*\s*")
"""The end of a sentence. Full-width marks need no space after them."""
_NO_END = re.compile(
    r"(?i:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|no|nr|fig|dr|mr|mrs|ms|st|z\.B|d\.h|bzw|ca))\.$"
    r"|(?:^|\s)[A-Z]\.$|^\s*\d{1,3}\.$"
)
"""A text that ends so is an abbreviation, an initial or the number of a list item."""
_COMPLETE = re.compile(r"[.!?…。！？][\"'”’»)\]*_`」』）]*$")


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A sentence, or an item of a list."""

    text: str
    starts_line: bool
    """Whether it begins a line of its own: the first sentence of a paragraph, or an item."""

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
    fence, blank = "", True
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        if mark:
            fence = mark[1]
            _close_last(made)  # "the import:" and then code that is left out
            continue
        if not line.strip():
            blank = True
            continue
        if _TABLE.match(line) or _RULE.match(line):
            _close_last(made)
            blank = True
            continue
        starts = blank or bool(_ITEM.match(line) or _HEADING.match(line) or line.lstrip().startswith(">"))
        if not starts and made and not _COMPLETE.search(made[-1].text):
            # A wrapped paragraph: the sentence goes on in this line.
            line, last = f"{made[-1].text} {line.strip()}", made.pop()
            starts = last.starts_line
        for at, one in enumerate(split_sentences(_HEADING.sub("", line).rstrip())):
            made.append(TextUnit(one, starts and at == 0))
        blank = False
    return made


def _close_last(made: list[TextUnit]) -> None:
    if made and made[-1].text.endswith(":"):
        made[-1] = TextUnit(made[-1].text[:-1] + ".", made[-1].starts_line)


def split_sentences(line: str) -> list[str]:
    """Return the sentences of one line. The indentation and the mark of a list item stay with the first one."""
    made, start = list[str](), 0
    for match in _END.finditer(line):
        end = match.end()
        if not line[end:].strip():
            break
        if _NO_END.search(line[start : match.end()].rstrip()) or line[end : end + 1].islower():
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

    A lead-in without its list and the beginning of a quotation are left out. Of a list that goes on, the last line says so.
    """
    made: list[TextUnit] = []
    for one in units[:most]:
        if len(join_units([*made, one])) > limit:
            break
        made.append(one)
    if len(made) == len(units):
        return made
    while made and (made[-1].text.endswith((":", "：")) or join_units(made).count('"') % 2):
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


def take_end(units: Sequence[TextUnit], limit: int) -> list[TextUnit]:
    """Return what an assistant's text ends with: its last question with what follows, otherwise the last units.

    An open question is the best line to go on with, and its options may be longer than the limit.
    """
    asked = next(
        (at for at in range(len(units) - 1, max(-1, len(units) - 13), -1) if units[at].is_question), None
    )
    if asked is None:
        return take_last(units, limit)
    after = take_first(units[asked:], limit) or [units[asked]]
    room = limit - len(join_units(after))
    before = take_last(units[:asked], room) if asked and room > 0 else []
    return [*before, *after] if len(join_units([*before, *after])) <= limit else after
