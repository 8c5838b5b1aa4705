"""The pattern `WHEN … -> DO … -> BECAUSE …`, and scopes: parsing and formatting (SPEC E-01 to E-04). Pure text.

Accepted are keywords in any case, `->` or `→`, newlines between the parts, and a part in brackets. The stored form is
rebuilt from the parts: `parse(format(p)) == p` for every pattern that `parse` returns.

A keyword ends at white space or at a bracket, so `DO notify` is not `DO NOT`. Arrows may occur inside a part: the
text is split at the first `-> DO` and at the last `-> BECAUSE`.

A scope is `global`, or the name of a tool, a skill or a project: one word in lower case. Upper case is folded, so that a
lesson is found however its scope is typed. Spaces are refused, because `lesson list` prints columns.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

from tacitd.errors import USAGE, TacitdError
from tacitd.text.sanitize import find_control, sanitize_line
from tacitd.text.wording import measure_width

Action = Literal["do", "dont"]

LONGEST = 4000
"""Maximum characters of a pattern."""
FIRM = " [firm]"
"""The suffix that `lesson load` prints after a lesson stated by a person. It is not part of the reason."""
GLOBAL = "global"
SCOPE_LIMIT = 64
"""Maximum characters of a scope."""
_SCOPE_SIGNS = frozenset("._-+:/@#")
_END = r"(?=[\s\[]|$)"


class PatternError(TacitdError):
    """Text that is not a pattern: what is missing, and where (SPEC E-04)."""

    code = USAGE

    def __init__(self, what: str, text: str, at: int) -> None:
        super().__init__(what, "WHEN <context> -> DO [NOT] <action> -> BECAUSE <reason>")
        self.text = text
        self.at = at
        """Offset in `text`, in characters, of the error."""

    def show_position(self) -> str:
        """The text on one line with a caret below the error, at most 76 columns of it."""
        begin = max(0, self.at - 50)
        before = ("…" if begin else "") + _visible(self.text[begin : self.at])
        line = before + _visible(self.text[self.at : self.at + 25])
        return f"  {line}\n  {' ' * measure_width(before)}^"


class Pattern(NamedTuple):
    """The parts of a lesson: each is one line, not empty, without its keyword."""

    when: str
    action: Action
    do: str
    because: str


def parse_pattern(text: str) -> Pattern:
    if len(text) > LONGEST:
        raise PatternError(f"it is longer than {LONGEST} characters", text, LONGEST)
    if (at := find_control(text)) is not None:
        raise PatternError(f"it contains an unprintable character (U+{ord(text[at]):04X})", text, at)
    found = _parse_once(text)
    # Removing brackets may expose a keyword: `DO [NOT x]` is `DO NOT x`. Each round shortens the text, so this ends.
    while (again := _parse_once(format_pattern(found))) != found:
        found = again
    return found


def format_pattern(pattern: Pattern) -> str:
    verb = "DO" if pattern.action == "do" else "DO NOT"
    return f"WHEN {pattern.when} -> {verb} {pattern.do} -> BECAUSE {pattern.because}"


def build_pattern(when: str, action: Action, do: str, because: str) -> Pattern:
    for name, part in (("WHEN", when), ("DO", do), ("BECAUSE", because)):
        if not part.strip():
            raise PatternError(f"{name} is empty", part, len(part))
    return parse_pattern(format_pattern(Pattern(when, action, do, because)))


def _parse_once(text: str) -> Pattern:
    when = re.match(rf"\s*WHEN{_END}", text, re.IGNORECASE)
    if when is None:
        raise PatternError("it does not start with WHEN", text, len(text) - len(text.lstrip()))
    dos = _find_all("DO", text, when.end())
    if not dos:
        wrong = re.search(r"(?:->|→)\s*DON['’]?T\b", text[when.end() :], re.IGNORECASE)
        what = '"DO NOT" is written in two words' if wrong else '"-> DO" or "-> DO NOT" is missing here'
        raise _missing(what, text, when.end() + (wrong.start() if wrong else 0))
    do = dos[0]
    negation = re.compile(rf"\s*NOT{_END}", re.IGNORECASE).match(text, do.end())
    action_at = negation.end() if negation else do.end()
    reasons = _find_all("BECAUSE", text, action_at)
    if not reasons:
        raise _missing('"-> BECAUSE" is missing here', text, action_at)
    because = reasons[-1]
    return Pattern(
        _read_part(text, when.end(), do.start(), "WHEN"),
        "dont" if negation else "do",
        _read_part(text, action_at, because.start(), "DO NOT" if negation else "DO"),
        _read_part(text, because.end(), len(text), "BECAUSE"),
    )


def _find_all(word: str, text: str, at: int) -> list[re.Match[str]]:
    """The places of a keyword with its arrow. If any arrow has white space before it, only such (`obj->do`)."""
    for before in (r"\s", ""):
        if found := [*re.compile(rf"{before}(?:->|→)\s*{word}{_END}", re.IGNORECASE).finditer(text, at)]:
            return found
    return []


def _missing(what: str, text: str, at: int) -> PatternError:
    """The error at the next arrow, otherwise at the end of the text."""
    arrow = re.compile("->|→").search(text, at)
    return PatternError(what, text, arrow.start() if arrow else len(text.rstrip()))


def _read_part(text: str, start: int, end: int, name: str) -> str:
    part = sanitize_line(text[start:end])
    while _is_enclosed(part):
        part = part[1:-1].strip()
    if name == "BECAUSE" and part.endswith(FIRM):
        part = part[: -len(FIRM)].rstrip()
    if not part:
        raise PatternError(f"there is nothing after {name}", text, min(start + 1, len(text)))
    return part


def _is_enclosed(part: str) -> bool:
    """Whether one pair of brackets encloses the whole part; not so for `[a] and [b]` (SPEC E-01)."""
    if not (part.startswith("[") and part.endswith("]")):
        return False
    depth = 0
    for at, char in enumerate(part):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return at == len(part) - 1
    return False


def _visible(text: str) -> str:
    return "".join(
        "·" if find_control(char) is not None else " " if char.isspace() else char for char in text
    )


def normalise_scope(scope: str) -> str | None:
    """The scope in lower case, or None if the text is not a valid scope."""
    name = unicodedata.normalize("NFC", scope.strip()).lower()
    if not name or len(name) > SCOPE_LIMIT or not name[0].isalnum():
        return None
    # Marks are letters to a reader (Devanagari, a decomposed accent); isalnum does not count them.
    sound = all(
        char in _SCOPE_SIGNS or char.isalnum() or unicodedata.category(char).startswith("M") for char in name
    )
    return name if sound else None


def scope_of_name(name: str) -> str:
    """The scope for a project whose folder has this name: `my-app` for `My App`; "" if nothing remains."""
    if valid := normalise_scope(name):
        return valid
    kept = "".join(char if char.isalnum() or char in "._-+" else "-" for char in name.strip().lower())
    kept = re.sub("-+", "-", kept)
    return normalise_scope(kept.strip("-._+")[:SCOPE_LIMIT].rstrip("-._+")) or ""
