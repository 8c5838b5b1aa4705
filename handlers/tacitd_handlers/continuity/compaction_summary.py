"""The summary that the client writes at a compaction, reduced to what is needed to go on (SPEC P-26). Pure.

The client puts fixed English sentences around the model's text, also in other languages. The text has up to nine numbered
headings; the model may translate them, leave some out, or write no headings at all. What is being done, the next step and the
pending tasks are the most useful parts, and they come last, so they are taken first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tacitd_handlers.continuity.sentences import (
    TextUnit,
    cut_sentence,
    join_units,
    split_units,
    take_first,
    take_last,
)
from tacitd_handlers.continuity.stored_text import clean_lines

LIMIT = 1500
"""Characters of the result."""
INPUT = 96 << 10
"""Characters that are read: the last ones of a longer summary."""
_SHARES = (
    ("current", "In progress", 480),
    ("next", "Next", 360),
    ("pending", "Pending", 600),
    ("request", "Asked", 300),
)
"""The parts in the order in which they are taken, with their labels and the characters for each."""

_BLOCKS = re.compile(
    r"<(system-reminder|analysis|example)\b[^<>]*>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_TAGS = re.compile(r"</?(?:summary|system-reminder|analysis)\b[^<>]*>", re.IGNORECASE)
_BEFORE = re.compile(
    r"\A\s*This session is being continued from a previous conversation[^\n]*\n?"
    r"(?:[ \t]*The (?:conversation is summarized|summary)[^\n]*\n?)?",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^[ \t]*(?:If you need specific details from before compaction"
    r"|(?:Please )?continue the conversation from where (?:it|we) left (?:it )?off"
    r"|The messages after this summary are the most recent"
    r"|Recent messages are preserved verbatim)",
    re.IGNORECASE | re.MULTILINE,
)
_SUMMARY = re.compile(
    r"^[ \t#*]*Summary[ \t*]*:[ \t*]*$|^[ \t#*]*Summary[ \t*]*:[ \t*]*(?=\S)", re.MULTILINE | re.IGNORECASE
)
_NUMBERED = re.compile(
    r"^(?:#{1,6} |\*\*)?(\d{1,2})[.)] ?(?:\*\*)?([^\n:：]{2,70}?)(?:\*\*)?[ \t]*[:：](?:\*\*)?", re.MULTILINE
)
_NAMED = re.compile(r"^(?:#{1,6} +|\*\*)([^\n:*]{2,60}?)(?:\*\*)?:?(?:\*\*)?[ \t]*$", re.MULTILINE)
_WORDS = (
    ("pending", re.compile(r"pending|outstanding|remaining|open tasks|to-?dos?\b", re.IGNORECASE)),
    ("current", re.compile(r"current (?:work|state|status)|work in progress|in progress", re.IGNORECASE)),
    ("next", re.compile(r"next step", re.IGNORECASE)),
    ("request", re.compile(r"primary request|user'?s? request|intent", re.IGNORECASE)),
)
_NUMBERS = {1: "request", 7: "pending", 8: "current", 9: "next"}
"""The client's headings by number, where their words are in another language."""
_NOTHING = re.compile(r"\W*(?:none|no (?:explicit|specific|pending)|n/a)\b", re.IGNORECASE)


def shorten_compaction(text: str) -> str:
    """Given a compaction's summary, return its useful parts in whole sentences and list items, at most `LIMIT` characters.

    Lines begin with `In progress:`, `Next:`, `Pending:`, `Asked:`; a summary without headings gives its last sentences.
    """
    body = _strip_client_text(text if len(text) <= INPUT else text[-INPUT:])
    sections = _find_sections(body)
    if not sections:
        said = join_units(take_last(split_units(clean_lines(body)), LIMIT // 2, 5))
        return said if len(said) <= LIMIT else cut_sentence(said, LIMIT // 2)
    made: list[str] = []
    for name, label, share in _SHARES:
        units = _plain_units(clean_lines(sections.get(name, "")))
        room = LIMIT - len("\n".join(made))
        if not units or _NOTHING.match(units[0].text) or (name == "request" and room < 2 * share):
            continue
        kept = take_first(units, min(share, room)) or take_first(units, min(2 * share, room), 1)
        if kept:
            made.append(_label(label, kept))
    return "\n".join(made)


def _strip_client_text(text: str) -> str:
    body = _BLOCKS.sub("", _BEFORE.sub("", text))
    body = _TAGS.sub("", body)
    end = next((match.start() for match in _AFTER.finditer(body)), None)
    body = body[:end] if end is not None else body
    # The model's analysis comes before the summary, and may have numbered paragraphs of its own.
    starts = [match.end() for match in _SUMMARY.finditer(body)]
    return (body[starts[-1] :] if starts else body).strip("\n")


def _find_sections(body: str) -> Mapping[str, str]:
    """The sections by their names in `_SHARES`; none if there are no known headings."""
    numbered = _sequence([(int(m[1]), m[2], m.start(), m.end()) for m in _NUMBERED.finditer(body)])
    named = [(0, m[1], m.start(), m.end()) for m in _NAMED.finditer(body)]
    heads = numbered if len(numbered) >= 2 or not named else named
    if not heads:
        return {}
    ends = [start for _, _, start, _ in heads[1:]] + [len(body)]
    # Numbers mean something only in the client's own list, which is nearly complete.
    by_number = bool(numbered) and numbered[-1][0] >= 8 and len(numbered) >= 7
    found: dict[str, str] = {}
    for (number, title, _, start), end in zip(heads, ends, strict=True):
        name = next((name for name, words in _WORDS if words.search(title)), "")
        name = name or (_NUMBERS.get(number, "") if by_number and not _is_english(heads) else "")
        if name and name not in found:
            found[name] = body[start:end]
    return found


def _sequence(heads: list[tuple[int, str, int, int]]) -> list[tuple[int, str, int, int]]:
    """The headings with rising numbers: a numbered list in a section begins with 1 again."""
    made: list[tuple[int, str, int, int]] = []
    for one in heads:
        known = any(words.search(one[1]) for _, words in _WORDS)
        if not made or made[-1][0] < one[0] <= made[-1][0] + (9 if known else 2):
            made.append(one)
    return made


def _is_english(heads: Sequence[tuple[int, str, int, int]]) -> bool:
    return any(words.search(title) for _, title, _, _ in heads for _, words in _WORDS)


def _plain_units(text: str) -> list[TextUnit]:
    """The units, with the indentation of the first level taken off."""
    lines = text.splitlines()
    least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    first = lines[0].lstrip() if lines else ""  # on the heading's own line
    rest = [line[least:] if not line[:least].strip() else line.lstrip() for line in lines[1:]]
    if lines and len(lines) > 1 and not first[:1].isspace():
        inner = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
        rest = [line[inner:] for line in lines[1:]]
    return split_units("\n".join([first, *rest]))


def _label(label: str, kept: Sequence[TextUnit]) -> str:
    said = join_units(kept)
    return f"{label}:\n{said}" if kept[0].is_item else f"{label}: {said}"
