"""The profile as text for a person. Pure; a session's start imports this, so nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.fields import LABELS

_LONGEST = 160


def format_leaves(profile: Mapping[str, Any]) -> dict[str, str]:
    """Return one line for each leaf by its path, such as `Languages: Python, Rust`; the seed's fields come first, in its order."""
    found = dot_paths.list_leaves(profile)
    order = [*(path for path in LABELS if path in found), *sorted(found.keys() - LABELS.keys())]
    words = {path: format_value(found[path]) for path in order}
    return {path: f"{LABELS.get(path, path)}: {text}" for path, text in words.items() if text}


def format_value(value: Any) -> str:
    """Return a value in one line of at most 160 characters, without control characters."""
    words = ", ".join(map(format_value, value)) if isinstance(value, list) else str(value)
    line = sanitize_line(words)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def format_days(left: float) -> str:
    """Return a number of days as `99.7 d`; `due` for 0."""
    return f"{left:.1f} d" if left > 0 else "due"
