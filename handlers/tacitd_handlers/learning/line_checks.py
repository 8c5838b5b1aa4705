"""A hook of Claude Code that enforces a line which sessions do not heed: what `tacitd learned --check ID` prints. Pure.

A line that forbids something is checked where it happens: a command that contains the forbidden word is refused, and the client shows
the model the line. Of any other line the model is reminded with each prompt.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_FORBIDDEN = re.compile(
    r"\b(?:never|not|don['’]t|do not|avoid|without|no|instead of|rather than)\s+(?:use|run|call|add|with|the|a)?\s*`?([\w][\w./-]*)`?",
    re.IGNORECASE,
)
_PLAIN = frozenset(
    [
        "a",
        "an",
        "the",
        "any",
        "to",
        "be",
        "in",
        "on",
        "it",
        "that",
        "this",
        "for",
        "of",
        "or",
        "and",
        "more",
        "than",
        "only",
    ]
)


class LineCheck(NamedTuple):
    """What to put into a project's `.claude/settings.json`."""

    about: str
    """For a person."""
    hooks: dict[str, Any]


def make_check(line: str) -> LineCheck:
    """The hook for a line."""
    words = [word.strip(".-/") for word in _FORBIDDEN.findall(line)]
    words = [word for word in dict.fromkeys(words) if len(word) > 1 and word.casefold() not in _PLAIN]
    if not words:
        about = "put this into .claude/settings.json: each prompt brings the line with it. A rule of your linter holds better"
        return LineCheck(about, _hook("UserPromptSubmit", "", f"echo {_quote(f'Remember: {line}')}"))
    found = "|".join(re.escape(word) for word in words)
    program = f"jq -r .tool_input.command | grep -qwE {_quote(found)} && {{ echo {_quote(line)} >&2; exit 2; }}; exit 0"
    about = (
        f"put this into .claude/settings.json: a command with {' or '.join(words)} is refused, with the line as the reason "
        "(it needs jq). Try it with a command of that kind, and change the pattern if it refuses too much"
    )
    return LineCheck(about, _hook("PreToolUse", "Bash", program))


def _hook(event: str, matcher: str, program: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"matcher": matcher} if matcher else {}
    return {"hooks": {event: [{**entry, "hooks": [{"type": "command", "command": program}]}]}}


def _quote(text: str) -> str:
    """For a shell: in single quotes."""
    plain = " ".join(text.split())
    return "'" + plain.replace("'", "'\\''") + "'"
