"""`claudeMdExcludes` in Claude Code's settings: files that a person excluded from loading. Read only.

The patterns of all settings files count together. They are globs over absolute paths: `*` stays within a folder, `**`
does not, `{a,b}` is either.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.safe_read import read_text

KEY = "claudeMdExcludes"
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
_TOKEN = compile_lazily(r"\*\*/|/\*\*\Z|\*\*|\*|\?|\[[^\]/]+\]|\{[^{}]*\}|.", re.DOTALL)
_GLOBS = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class ExcludePattern(Struct, frozen=True):
    """A pattern, and the settings file that has it."""

    pattern: str
    file: Path


def read_patterns(client_home: Path, directories: Iterable[Path]) -> list[ExcludePattern]:
    """The patterns that count in a session: of the managed settings, the person's, and those of these directories. A file that is
    missing or cannot be parsed has none."""
    names = ("settings.json", "settings.local.json")
    project = [one / ".claude" / name for one in directories for name in names]
    files = dict.fromkeys([MANAGED, client_home / "settings.json", *project])
    return [ExcludePattern(pattern, file) for file in files for pattern in _list_patterns(file)]


def find_exclude(path: Path, patterns: Iterable[ExcludePattern]) -> ExcludePattern | None:
    """The first pattern that excludes this absolute path; None if the client loads it."""
    text = path.as_posix()
    return next((one for one in patterns if re.fullmatch(translate_glob(one.pattern), text)), None)


def translate_glob(pattern: str) -> str:
    """The regular expression of a glob over whole paths."""
    made: list[str] = []
    for token in _TOKEN.findall(pattern):
        if token in _GLOBS:
            made.append(_GLOBS[token])
        elif len(token) > 1 and token[0] == "{":
            made.append("(?:" + "|".join(map(translate_glob, token[1:-1].split(","))) + ")")
        elif len(token) > 1 and token[0] == "[":
            inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            made.append("[" + ("^" + inner[1:] if inner[0] in "!^" and len(inner) > 1 else inner) + "]")
        else:
            made.append(re.escape(token))
    return "".join(made)


def _list_patterns(file: Path) -> list[str]:
    found = list[str]()
    with suppress(ValueError, RecursionError, AttributeError, TypeError):
        said = json.loads(read_text(file) or "{}").get(KEY) or ()
        found = [one for one in said if isinstance(one, str) and one] if isinstance(said, list) else []
    return [one for one in found if _is_valid(one)]


def _is_valid(pattern: str) -> bool:
    try:
        re.compile(translate_glob(pattern))
    except re.error:
        return False
    return True
