"""What the person said of themselves, as a part of Stage 1's call (SPEC P-05 to P-07, S-67): the prompt extension, and its finding.

The extension adds a part to the prompt and takes its part out of the answer; the other lines are facts and are not changed. An
answer is untrusted data: a leaf is left out if it is not a field of the seed, not of the field's kind, too long, a secret, not
printable, or not mentioned by the person; the other leaves count. What cannot be parsed is an empty finding and not an error, which
would lose the facts of the same answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct, field

from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile.fields import (
    CHOICES,
    FIELDS,
    NAMES,
    SAYABLE_FIELDS,
    Json,
    fold_spelling,
    get_value,
    nest_values,
)
from tacitd_handlers.shared.words import Sources, find_unknown_names, word_value

name = "profile"
"""The plugin that gets the finding."""
NO_LONGER = "noLonger"
"""The key in a finding whose partial profile names what is no longer true."""
LONGEST = 80
"""Characters of one value. A longer one is left out."""
MOST = 20
"""Elements of one array in one finding. Further ones are left out."""
_MARK = re.compile(r"^[ \t>*_`#-]*(PROFILE)[ \t*_`]*:[ \t*_`]*", re.IGNORECASE | re.MULTILINE)
_OPEN = re.compile(r"\s*(?:(?:```|~~~)\w*\s*)?(?=\{)")
_CLOSE = re.compile(r"[^\n]*(?:\n[ \t]*(?:```|~~~)[ \t]*(?=\n|\Z))?")
_BROKEN = re.compile(r"[^\n]*(?:\n[ \t]*(?:[\"{}\[\]][^\n]*|```[ \t]*))*")
"""The rest of the line, and lines below it that look like more of the object."""
_BARE = re.compile(r"^(?:[ \t]*(?:```|~~~)\w*\n)?[ \t]*(?=\{)", re.MULTILINE)
_KEYS = {path.split(".")[0] for path in FIELDS} | {NO_LONGER}
_ECHO = 30
"""Characters. A line of the prompt with at least this length is not part of an answer (SPEC S-35)."""


class Finding(Struct, frozen=True):
    """A partial profile by path."""

    values: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Values by path: a string for a scalar, a sequence for an array."""
    gone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is no longer true: for each path the values to remove. An empty sequence removes whatever is there."""

    def __bool__(self) -> bool:
        return bool(self.values or self.gone)


def parse_finding(found: Any) -> Finding:
    """The usable part of a finding as JSON; an empty one if there is none."""
    if not isinstance(found, Mapping):
        return Finding()
    values: dict[str, str | tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    over = found.get(NO_LONGER)
    for path in SAYABLE_FIELDS:
        if (value := _parse_value(path, get_value(found, path))) is not None:
            values[path] = value
        named = get_value(over, path)
        if named is True:
            gone[path] = ()
        elif elements := _parse_elements(named if isinstance(named, list) else [named]):
            gone[path] = tuple(elements)
    return Finding(values, gone)


def _parse_value(path: str, value: Any) -> str | tuple[str, ...] | None:
    match FIELDS[path]:
        case "list":
            return tuple(_parse_elements(value if isinstance(value, list) else [value])) or None
        case "choice":
            wanted = fold_spelling(value) if isinstance(value, str) else ""
            return wanted if wanted in CHOICES[path] else None
        case "text":
            return next(iter(_parse_elements([value])), None)


def _parse_elements(values: list[Any]) -> list[str]:
    """The values that are one printable line, not too long, and do not look like a secret."""
    lines = [sanitize_line(one) for one in values[:MOST] if isinstance(one, str)]
    return [one for one in lines if 0 < len(one) <= LONGEST and not has_secret(one)]


def as_json(what: Finding) -> Json:
    """The reverse of `parse_finding`."""
    values = {path: one if isinstance(one, str) else list(one) for path, one in what.values.items()}
    made = nest_values(values)
    over = nest_values({path: list(values) or True for path, values in what.gone.items()})
    return made | ({NO_LONGER: over} if over else {})


# --- the prompt, and the answer


@cache
def render_addition(project: str = "") -> str:
    """The Markdown to append to the prompt, in every project the same."""
    prompts = files("tacitd_handlers.profile") / "prompts"
    return (prompts / "question.md").read_text("utf-8").rstrip("\n") + "\n"


def extract_finding(answer: str) -> tuple[Any | None, str]:
    """Given the whole answer, return the finding as JSON (None: none) and the answer without it. Raises nothing."""
    ours = {line.strip() for line in render_addition().splitlines() if len(line) >= _ECHO}
    text = "\n".join(line for line in answer.splitlines() if line.strip() not in ours)
    found, rest = _take_out(text, _MARK)
    if rest == text:  # some models leave the mark out
        found, rest = _take_out(text, _BARE)
    return found, rest.strip("\n")


def _take_out(text: str, begins: re.Pattern[str]) -> tuple[Any | None, str]:
    """The first finding, and the text without any. Without a mark, an object could be a fact's: all its keys must be a profile's."""
    found, left, at = None, list[str](), 0
    for mark in begins.finditer(text):
        opened = _OPEN.match(text, mark.end())
        value, end, rest = None, mark.end(), _BROKEN
        with suppress(ValueError, RecursionError):
            value, end = json.JSONDecoder().raw_decode(text, opened.end() if opened else end)
            rest = _CLOSE
        if begins is _MARK:
            is_finding = rest is _CLOSE or opened is not None or mark[1].isupper()
        else:
            is_finding = isinstance(value, dict) and value.keys() <= _KEYS
        if is_finding and mark.start() >= at and (closed := rest.match(text, end)):
            left.append(text[at : mark.start()])
            found, at = found or as_json(parse_finding(value)) or None, closed.end()
    return found, "".join([*left, text[at:]])


def ground_finding(found: Any, sources: Sources) -> tuple[Any | None, int]:
    """Given a finding, return the values in it that the person mentioned, and the others (SPEC S-67).

    A choice such as the tone is not judged: it is one of three words of the schema and not the model's text.
    """
    what, refused = parse_finding(found), list[str]()

    def judged(path: str, values: Sequence[str]) -> tuple[str, ...]:
        kept = list[str]()
        for value in values:
            check = find_unknown_names if path in NAMES else word_value
            is_said = FIELDS[path] == "choice" or check(value, sources) is None
            (kept if is_said else refused).append(value)
        return tuple(kept)

    values: dict[str, str | tuple[str, ...]] = {}
    for path, value in what.values.items():
        if kept := judged(path, (value,) if isinstance(value, str) else value):
            values[path] = kept[0] if isinstance(value, str) else kept
    gone = {path: judged(path, named) for path, named in what.gone.items()}
    # An empty tuple means the whole path, so one whose values were all refused must be dropped.
    gone = {path: named for path, named in gone.items() if named or not what.gone[path]}
    return as_json(Finding(values, gone)) or None, len(refused)
