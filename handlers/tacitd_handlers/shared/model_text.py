"""Texts for the model and of the model: prompts are filled and data in them fenced, quoted parts of what was typed are left out, and
of an answer its JSON objects are read, or that it says NONE. Pure.

The orders in a pasted document are not the person's. Claude Code marks pastes, but older versions do not, and a terminal may
insert a paste as typed text. Only what nobody types by hand is recognised without a mark: three lines in a row that
are a log's or a stack trace's, and the hunks of a diff. Pasted prose and code look like a person's own; there the model
decides: its prompt asks it to leave out what was pasted.

An answer is untrusted. What an object means is decided in the modules that ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line
from tacitd.text.wording import shorten_line

FACT_LIMIT = 300
"""Characters of one fact or one learned line. A longer one is not cut: what is cut off may be its exception."""
SENTENCE_END = compile_lazily(r"(?<=[.!?…])[\"'”’»)\]*_`]{0,4}\s+(?![a-z\s])|(?<=[。！？])\s*(?=\S)|\s*\n\s*")
"""What stands between two sentences or lines. A small letter goes on with a sentence (`e.g. a list`)."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Return the template with the placeholders of the values replaced, in a single pass; other braces stay."""
    spare = values.keys() - _PLACEHOLDER.findall(text)
    assert not spare, f"values without a placeholder: {spare}"
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def fence_text(data: str) -> str:
    """Return the text between two lines of backticks, more than the longest run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", data)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{data}\n{bar}"


_QUOTED_LINE = compile_lazily(r"^[ \t]*>.*", re.MULTILINE)
_FENCE = compile_lazily(
    r"(?P<inline>`{3,})(?!`)[^\n]*?(?P=inline)`*"
    r"|(?:(?P<ticks>`{3,})|^[ \t]*(?P<tildes>~{3,})).*?(?:^[ \t]*(?:(?P=ticks)`*|(?P=tildes)~*)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""A fence that is not closed extends to the end."""
_LOG_LINE = compile_lazily(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)\]?[ \t:|]"
    r"|(?:npm|pnpm|yarn) (?:ERR!|WARN)|at \S+ ?\(?\S+:\d+\)?[ \t]*$|File \"[^\"]+\", line \d+|Traceback \(most recent call last\)|Caused by: |\S+:\d+:\d+: (?:error|warning)\b)"
)
_BELOW = compile_lazily(r"[ \t]{2,}\S")
"""A line that belongs to the one above it."""
_DIFF_START = compile_lazily(r"diff --git |@@ -\d")
_DIFF_LINE = compile_lazily(r"index |new file|deleted file|similarity|rename |[-+ @\\]")
_LOG_LINES = 3
"""Lines of a log or a stack trace in a row that nobody types by hand."""


def drop_quotes(text: str) -> str:
    """Return a text with its quoted parts replaced by line breaks: also logs, stack traces and diffs."""
    lines, kept, at = _FENCE.sub("\n", _blank_lines(text)).split("\n"), list[str](), 0
    while at < len(lines):
        end, is_paste = at + 1, False
        if len(lines) > 1 and _DIFF_START.match(lines[at]):
            is_paste = True
            while end < len(lines) and _DIFF_LINE.match(lines[end]):
                end += 1
        elif len(lines) > 1 and _LOG_LINE.match(lines[at]):
            found = 1
            while end < len(lines) and (_LOG_LINE.match(lines[end]) or _BELOW.match(lines[end])):
                found += _LOG_LINE.match(lines[end]) is not None
                end += 1
            is_paste = found >= _LOG_LINES
        kept += [""] if is_paste else lines[at:end]
        at = end
    return "\n".join(kept)


def shorten_middle(text: str, limit: int) -> str:
    """Return the text, or its first two thirds and last third of `limit` characters with a note between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"


def _blank_lines(text: str) -> str:
    """Replace quoted lines by spaces: a fence in a quoted line ends there."""
    return _QUOTED_LINE.sub(lambda found: " " * len(found[0]), text)


class Unusable(Struct, frozen=True):
    """An answer that is not one: it is kept, asked for again, then put aside with this reason (SPEC S-23)."""

    reason: str


_BULLET = compile_lazily(r"^\s*(?:(?:[-*+•‣▪·–—>]+|#{1,6}|\(?\d{1,3}[.)])\s+)+")
_QUOTES = "\"'`“”‘’«»„"
_NO_WORDS = "none n/a nil null nothing keine keiner aucun aucune ninguno ninguna geen rien nada"
_NOTHING = frozenset(_NO_WORDS.split())
_NONE = compile_lazily(
    r"(?:output|answer|result|facts?)?[\W_]*(?:(?:none|n/a|nil|null|nothing|keiner?|aucune?|ningun[oa]|geen|rien|nada)(?! of\b)(?!\w)"
    r"|(?:there (?:are|is|were) )?no (?:[a-z]+ ){0,3}?(?:preferences?|facts?|opinions?|beliefs?|corrections?|information)\b)",
)


def list_objects(answer: str) -> Iterator[Any]:
    """Yield the JSON objects of an answer, outermost first; None for one that begins a line or an item of a list and is broken."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    at = answer.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        if value is not None or not answer[answer.rfind("\n", 0, at) + 1 : at].strip(" \t>*•`-[,"):
            yield value
        at = answer.find("{", end)


def _refuse_constant(name: str) -> float:
    """NaN and Infinity are no JSON."""
    raise ValueError(name)


def strip_marks(line: str) -> str:
    """Given a line of a list, return what it says: no bullet, number, quotes or emphasis around it."""
    text = sanitize_line(line)
    before = None
    while text != before:
        before = text
        if not text[:1].isalpha():
            text = _BULLET.sub("", text).strip()
        for mark in ("**", "__", "*"):
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
                text = text[len(mark) : -len(mark)].strip()
        # `"a" and "b"` begins and ends with quotes too, but they are not around all of it.
        if len(text) >= 2 and text[0] in _QUOTES and text[-1] in _QUOTES:
            inner, quotes = text[1:-1], {text[0], text[-1]} - {"'", "’"}
            text = text if any(quote in inner for quote in quotes) else inner.strip()
    return text


_ATTITUDE = (
    "prefers?|wants?|likes?|dislikes|hates|loves|believes|thinks|expects|requires|uses|avoids|request(?:ed|s)|ask(?:ed|s)|correct(?:ed|s)|"
    "state[ds]|says|said|does|doesn[’']t|don[’']t|didn[’']t|would|wishes|insists|values|favou?rs|considers|finds|reject(?:s|ed)|tends|"
    "always|never|opposes|disagrees|agrees|cares|trusts|works|instruct(?:ed|s)|specifie[ds]|decided|chooses|chose|appreciates|objects|"
    "isn[’']t|mentioned|clarified|explained|told"
)
_USER = compile_lazily(
    rf"""(?:the\ )?user
        (?: [’']s\s+
          | \s*(?:[:|→]|-+>|,)\s*
          | \s+(?=(?:also\s+|explicitly\s+|strongly\s+|really\s+|generally\s+)?(?:{_ATTITUDE})\b(?!\s+(?:are|is|were|was)\b))
        )""",
    re.IGNORECASE | re.VERBOSE,
)


def strip_user(text: str) -> str:
    """Given a fact, return it without "User", "The user", "User:" at its beginning.

    "User accounts need a uuid" and "User has many orders" are about the program and stay as they are.
    """
    found = _USER.match(text)
    return capitalise(text[found.end() :]) if found and text[found.end() :].strip() else text


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text; the end of a line ends one too."""
    starts = [0, *(match.end() for match in SENTENCE_END.finditer(text)), len(text)]
    parts = (text[start:end].strip() for start, end in pairwise(starts))
    return [part for part in parts if part]


def is_fence(line: str) -> bool:
    return line.lstrip().startswith(("```", "~~~"))


def is_nothing(text: str) -> bool:
    """Whether a value of an object is "none" in one of its spellings; "None of the tests may sleep" is not (SPEC S-03)."""
    return strip_marks(text).rstrip(".!").casefold() in _NOTHING


def says_none(answer: str) -> bool:
    """Whether an answer without an object is empty, or begins with NONE in one of its spellings."""
    lines = [strip_marks(line) for line in answer.splitlines() if not is_fence(line)]
    first = next((line for line in lines if line), "")
    return not first or _NONE.match(first.casefold()) is not None


# --- untrusted texts made safe to store and show: printable, without secrets, cut at the ends of sentences and lines
#
# A text is a stranger's and may have 100 KB without a full stop, so each function takes time in proportion to its length.

_FENCE_LINE = compile_lazily(r"\s*(```+|~~~+)")
_SKIPPED = compile_lazily(r"\s*(?:\|.*\||(?:[-*_=]\s*){3,})\s*$")
"""A row of a table, or a rule."""
_HEADING = compile_lazily(r"\A\s*#{1,6}\s+")
_WORD = 40
"""Characters. What is longer is not the rest of a word, but a text without spaces."""


def clean_text(text: object, limit: int) -> str:
    """Return a text as one line of at most `limit` characters, without control characters and with secrets blanked.

    "" for anything that is not a text.
    """
    from tacitd.text.redact import redact_secrets  # many patterns: commands that show lines need none

    if not isinstance(text, str):
        return ""
    return shorten_line(redact_secrets(sanitize_line(text[: 8 * limit]))[0], limit)


def clean_lines(text: object, *, is_blanked: bool = False) -> str:
    """Return a text of several lines, each without control characters, with secrets blanked; "" if it is not a text.

    The indentation of a line stays. The length is not limited. `is_blanked`: whether the secrets are blanked already, as in a prompt.
    """
    from tacitd.text.redact import redact_secrets

    if not isinstance(text, str):
        return ""
    lines = (
        " " * (len(line) - len(line.lstrip(" "))) + sanitize_line(line)
        for line in (text if is_blanked else redact_secrets(text)[0]).splitlines()
    )
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def clean_prose(text: str) -> str:
    """Return the lines of a Markdown text without code blocks, tables, rules, empty lines and the marks of headings."""
    lines, fence = list[str](), ""
    for line in clean_lines(text).splitlines():
        mark = _FENCE_LINE.match(line)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and line.strip() and not _SKIPPED.match(line):
            lines.append(_HEADING.sub("", line, count=1))
    return "\n".join(lines)


def take_end(text: str, limit: int) -> str:
    """Return the last whole sentences and lines of a text, at most `limit` characters; of a longer sentence its end, after `…`."""
    if len(text) <= limit:
        return text
    end = text[-limit:]
    boundary = SENTENCE_END.search(end)
    if boundary and end[boundary.end() :].strip():
        return end[boundary.end() :]
    word, space, rest = end[1:].partition(" ")
    return "…" + (rest if space and len(word) < _WORD else end[1:])


def clean_summary(text: object, limit: int, most: int) -> str:
    """Return the last `most` sentences of a text in one line, as many of them as have `limit` characters together."""
    if not isinstance(text, str):
        return ""
    kept = split_sentences(clean_prose(text[-20 * limit :]))[-most:]
    return take_end(sanitize_line(" ".join(kept)), limit)
