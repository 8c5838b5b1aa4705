"""The profile's prompt extension: it adds a part to the prompt of Stage 1 and takes its part out of the answer.

The answer's other lines are facts and are not changed. A line that cannot be parsed is an empty finding and not an
error, which would lose the facts of the same answer. Which values of a finding are valid belongs to `profile_finding`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tacitd_handlers.profile.fields import FIELDS
from tacitd_handlers.profile.profile_finding import NO_LONGER, Finding, as_json, parse_finding
from tacitd_handlers.shared.words import Sources, find_unknown_names, word_value

name = "profile"
"""The plugin that gets the finding."""

_MARK = re.compile(r"^[ \t>*_`#-]*(PROFILE)[ \t*_`]*:[ \t*_`]*", re.IGNORECASE | re.MULTILINE)
_OPEN = re.compile(r"\s*(?:(?:```|~~~)\w*\s*)?(?=\{)")
_CLOSE = re.compile(r"[^\n]*(?:\n[ \t]*(?:```|~~~)[ \t]*(?=\n|\Z))?")
_BROKEN = re.compile(r"[^\n]*(?:\n[ \t]*(?:[\"{}\[\]][^\n]*|```[ \t]*))*")
"""The rest of the line, and lines below it that look like more of the object."""
_BARE = re.compile(r"^(?:[ \t]*(?:```|~~~)\w*\n)?[ \t]*(?=\{)", re.MULTILINE)
_KEYS = {path.split(".")[0] for path in FIELDS} | {NO_LONGER}
_NAMES = frozenset({"work.languages", "codePreferences.preferredStacks", "tools.editor", "tools.infra"})
"""Fields whose values are names of tools and languages: each word in them is concrete (SPEC S-67)."""
_ECHO = 30
"""Characters. A line of the prompt with at least this length is not part of an answer (SPEC S-35)."""


@cache
def render_addition(project: str = "") -> str:
    """Return the Markdown to append to the prompt. It is the same in every project."""
    prompts = files("tacitd_handlers.profile") / "prompts"
    return (prompts / "question.md").read_text("utf-8").rstrip("\n") + "\n"


def extract_finding(answer: str) -> tuple[Any | None, str]:
    """Given the whole answer, return the finding as JSON (None: none) and the answer without it. Raises nothing."""
    ours = {line.strip() for line in render_addition().splitlines() if len(line) >= _ECHO}
    text = "\n".join(line for line in answer.splitlines() if line.strip() not in ours)
    found, rest = _taken_out(text, _MARK, marked=True)
    if rest == text:
        # Some models leave the mark out and answer with the bare object.
        found, rest = _taken_out(text, _BARE, marked=False)
    return found, rest.strip("\n")


def ground_finding(found: Any, sources: Sources) -> tuple[Any | None, int]:
    """Given a finding, return the values in it that the person mentioned, and the number of the others (SPEC S-67).

    A choice such as the tone is not judged: it is one of three words of the schema and not the model's text.
    """
    what, refused = parse_finding(found), list[str]()

    def judged(path: str, values: Sequence[str]) -> tuple[str, ...]:
        kept = list[str]()
        for value in values:
            check = find_unknown_names if path in _NAMES else word_value
            is_said = FIELDS[path] == "choice" or check(value, sources) is None
            (kept if is_said else refused).append(value)
        return tuple(kept)

    values: dict[str, str | tuple[str, ...]] = {}
    for path, value in what.values.items():
        kept = judged(path, (value,) if isinstance(value, str) else value)
        if kept:
            values[path] = kept[0] if isinstance(value, str) else kept
    gone = {path: judged(path, named) for path, named in what.gone.items()}
    # An empty tuple means the whole path, so one whose values were all refused must be dropped.
    gone = {path: named for path, named in gone.items() if named or not what.gone[path]}
    return as_json(Finding(values, gone)) or None, len(refused)


def _taken_out(text: str, begins: re.Pattern[str], *, marked: bool) -> tuple[Any | None, str]:
    """The first finding, and the text without any of them."""
    found, left, at = None, list[str](), 0
    for match in begins.finditer(text):
        if match.start() < at:
            continue
        partial, end = _finding(text, match, marked=marked)
        if end > match.start():
            left.append(text[at : match.start()])
            found, at = found or partial, end
    return found, "".join([*left, text[at:]])


def _finding(text: str, match: re.Match[str], *, marked: bool) -> tuple[Any | None, int]:
    """The finding after a mark, and its end. If the end is the match's start, there is nothing to take out.

    Without a mark, an object counts only if all its keys are a profile's: it could be a fact's otherwise.
    """
    opened = _OPEN.match(text, match.end())
    try:
        value, end = json.JSONDecoder().raw_decode(text, opened.end() if opened else match.end())
    except (ValueError, RecursionError):
        said_nothing = marked and (opened is not None or match[1].isupper())
        return None, _end_of(_BROKEN, text, match.end()) if said_nothing else match.start()
    if not marked and not (isinstance(value, dict) and set(value) <= _KEYS):
        return None, match.start()
    return as_json(parse_finding(value)) or None, _end_of(_CLOSE, text, end)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
