"""`claudeMdExcludes` in Claude Code's settings: files that a person excluded from loading. Read only.

The patterns of all settings files count together. They are globs over absolute paths: `*` stays within a folder, `**`
does not, `{a,b}` is either.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily

KEY = "claudeMdExcludes"
LARGEST = 1 << 20
"""Bytes of a settings file that are read."""
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
_TOKEN = compile_lazily(r"\*\*/|/\*\*\Z|\*\*|\*|\?|\[[^\]/]+\]|\{[^{}]*\}|.", re.DOTALL)


class ExcludePattern(Struct, frozen=True):
    """A pattern, and the settings file that has it."""

    pattern: str
    file: Path


def list_settings_files(client_home: Path, directories: Iterable[Path]) -> list[Path]:
    """The settings files that count in a session: the managed one, the person's, and those of these directories."""
    names = ("settings.json", "settings.local.json")
    project = [one / ".claude" / name for one in directories for name in names]
    return list(dict.fromkeys([MANAGED, client_home / "settings.json", *project]))


def read_patterns(files: Iterable[Path]) -> list[ExcludePattern]:
    """The patterns of these files. A file that is missing or cannot be parsed has none."""
    return [ExcludePattern(pattern, file) for file in files for pattern in _patterns_of(file)]


def find_exclude(path: Path, patterns: Iterable[ExcludePattern]) -> ExcludePattern | None:
    """The first pattern that excludes this absolute path; None if the client loads it."""
    text = path.as_posix()
    return next((one for one in patterns if re.fullmatch(translate_glob(one.pattern), text)), None)


def translate_glob(pattern: str) -> str:
    """The regular expression of a glob over whole paths."""
    made: list[str] = []
    for token in _TOKEN.findall(pattern):
        match token:
            case "**/":
                made.append("(?:.*/)?")
            case "/**":
                made.append("(?:/.*)?")
            case "**":
                made.append(".*")
            case "*":
                made.append("[^/]*")
            case "?":
                made.append("[^/]")
            case _ if len(token) > 1 and token[0] == "{":
                made.append("(?:" + "|".join(map(translate_glob, token[1:-1].split(","))) + ")")
            case _ if len(token) > 1 and token[0] == "[":
                inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
                made.append("[" + ("^" + inner[1:] if inner[0] in "!^" and len(inner) > 1 else inner) + "]")
            case _:
                made.append(re.escape(token))
    return "".join(made)


def _patterns_of(file: Path) -> list[str]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        said = json.loads(os.read(descriptor, LARGEST)) if regular else None
    except (OSError, ValueError, RecursionError):
        return []
    finally:
        os.close(descriptor)
    found = said.get(KEY) if isinstance(said, dict) else None
    texts = [one for one in found if isinstance(one, str) and one] if isinstance(found, list) else []
    return [text for text in texts if _is_valid(text)]


def _is_valid(pattern: str) -> bool:
    try:
        re.compile(translate_glob(pattern))
    except re.error:
        return False
    return True
