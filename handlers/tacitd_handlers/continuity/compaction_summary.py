"""The summary that the client writes at a compaction, reduced to what is needed to go on (SPEC P-26). Pure.

The client puts fixed English sentences around the model's text, also in other languages. The text has up to nine numbered
headings; the model may translate them, leave some out, or write no headings at all. What is being done, the next step and the
pending tasks are the most useful parts, and they come last, so they are taken first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.shorten import shorten_line
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

_BLOCK_TAG = compile_lazily(
    r"^[ \t]*<(?P<begun>analysis)\b[^<>]*>|<(?P<inside>system-reminder)\b[^<>]*>|</(?P<closed>analysis|system-reminder)>",
    re.MULTILINE | re.IGNORECASE,
)
_TAGS = compile_lazily(r"^[ \t]*</?(?:summary|analysis|example)\b[^<>]*>|</?system-reminder\b[^<>]*>"
                   r"|</summary>[ \t]*$", re.MULTILINE | re.IGNORECASE)  # fmt: skip
_BEFORE = compile_lazily(
    r"\A\s*This session is being continued from a previous conversation[^\n]*\n?"
    r"(?:[ \t]*The (?:conversation is summarized|summary)[^\n]*\n?)?",
    re.IGNORECASE,
)
_AFTER = compile_lazily(
    r"^[ \t]*(?:If you need specific details from before compaction"
    r"|(?:Please )?continue the conversation from where (?:it|we) left (?:it )?off"
    r"|The messages after this summary are the most recent"
    r"|Recent messages are preserved verbatim)",
    re.IGNORECASE | re.MULTILINE,
)
_SUMMARY = compile_lazily(
    r"^[ \t#*]*Summary[ \t*]*:[ \t*]*$|^[ \t#*]*Summary[ \t*]*:[ \t*]*(?=\S)", re.MULTILINE | re.IGNORECASE
)
_NUMBERED = compile_lazily(
    r"^(?:#{1,6} |\*\*)?(\d{1,2})[.)] ?(?:\*\*)?([^\n:：]{2,70}?)(?:\*\*)?[ \t]*[:：](?:\*\*)?", re.MULTILINE
)
_NAMED = compile_lazily(r"^(?:#{1,6} +|\*\*)([^\n:*]{2,60}?)(?:\*\*)?:?(?:\*\*)?[ \t]*$", re.MULTILINE)
_WORDS = (
    ("pending", compile_lazily(r"pending|outstanding|remaining|open tasks|to-?dos?\b", re.IGNORECASE)),
    ("current", compile_lazily(r"current (?:work|state|status)|work in progress|in progress", re.IGNORECASE)),
    ("next", compile_lazily(r"next step", re.IGNORECASE)),
    ("request", compile_lazily(r"primary request|user'?s? request|intent", re.IGNORECASE)),
)
_NUMBERS = {1: "request", 7: "pending", 8: "current", 9: "next"}
"""The client's headings by number, where their words are in another language."""
_NOTHING = compile_lazily(
    r"\W*(?:n/a\b"
    r"|none(?=\W*$|\s*[.,;:(–—-]|\s+(?:explicit|specif|stated|mentioned|pending|remaining|outstanding|known|left|at th"
    r"|current|right now|so far|identified|requested|were|was|are|is)\w*)"
    r"|(?:there (?:are|is) )?no (?:(?:explicit|specific|pending|outstanding|remaining|further|additional|other|open"
    r"|immediate|next|current|new|explicitly|specifically|requested|stated)(?:ly)?,? ){1,4}"
    r"(?:tasks?|steps?|work|items?|to-?dos?|requests?|actions?)\b)"
    r"(?!.*\b(?:but|except|until|unless|other than|besides|apart from|only)\b)",
    re.IGNORECASE,
)
"""A section that says that there is nothing: `None explicitly stated.`, `No pending tasks.`, and not `None of the tests pass`."""
_OTHERS = compile_lazily(
    r"key technical|technical concept|files and code|errors? and fix|problem solving|all user messages",
    re.IGNORECASE,
)
"""The client's other headings."""


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
        kept = take_first(units, min(share, room)) or take_first(units, min(3 * share, room), 1)
        if not kept and room >= share:  # a sentence that is far too long: its beginning, marked as cut
            text = shorten_line(units[0].text, share)
            kept = [replace(units[0], text=text)]
        if kept:
            made.append(_label(label, kept))
    return "\n".join(made)


def _strip_client_text(text: str) -> str:
    body = _TAGS.sub("", _drop_blocks(_BEFORE.sub("", text)))
    end = next((match.start() for match in _AFTER.finditer(body)), None)
    body = body[:end] if end is not None else body
    # The model's analysis comes before the summary, and may have numbered paragraphs of its own.
    starts = [match.end() for match in _SUMMARY.finditer(body)]
    return (body[starts[-1] :] if starts else body).strip("\n")


def _drop_blocks(text: str) -> str:
    """Remove the blocks that are closed. A tag that is only named in the text begins none."""
    made, start, opened = list[str](), 0, dict[str, int]()
    for tag in _BLOCK_TAG.finditer(text):
        name, closed = (tag["begun"] or tag["inside"] or "").lower(), (tag["closed"] or "").lower()
        if name:
            opened.setdefault(name, tag.start())
        elif closed in opened:
            if opened[closed] >= start:
                made.append(text[start : opened[closed]])
                start = tag.end()
            opened.clear()
    return "".join([*made, text[start:]])


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
    unnamed: list[tuple[int, str]] = []
    for (number, title, _, start), end in zip(heads, ends, strict=True):
        name = next((name for name, words in _WORDS if words.search(title)), "")
        if name:
            found.setdefault(name, body[start:end])
        elif not _OTHERS.search(title):
            unnamed.append((number, body[start:end]))
    for number, text in unnamed if by_number else ():  # headings in another language, all or some of them
        if number in _NUMBERS:
            found.setdefault(_NUMBERS[number], text)
    return found


def _sequence(heads: list[tuple[int, str, int, int]]) -> list[tuple[int, str, int, int]]:
    """The headings with rising numbers: a numbered list in a section begins with 1 again."""
    made: list[tuple[int, str, int, int]] = []
    for one in heads:
        known = any(words.search(one[1]) for _, words in _WORDS)
        if not made or made[-1][0] < one[0] <= made[-1][0] + (9 if known else 2):
            made.append(one)
    return made


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
