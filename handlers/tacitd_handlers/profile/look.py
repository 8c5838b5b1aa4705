"""How a profile looks to a person: a few lines of text. Pure, and light."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import paths
from tacitd_handlers.profile.fields import LABELS

BAR = 10
_LONGEST = 160


def rows(profile: Mapping[str, Any], left_out: Collection[str] = ()) -> list[str]:
    """One line for each leaf, `Languages: Python, Rust`; the seed's fields first, in its order."""
    found = {path: value for path, value in paths.leaves(profile).items() if path not in left_out}
    order = [path for path in LABELS if path in found] + [path for path in found if path not in LABELS]
    return [f"{LABELS.get(path, path)}: {words}" for path in order if (words := text(found[path]))]


def text(value: Any) -> str:
    """A value in one line, cut where it is long."""
    words = ", ".join(map(text, value)) if isinstance(value, list) else str(value)
    line = sanitize_line(words)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def bar(confidence: float) -> str:
    """`███████░░░`: for a terminal."""
    full = round(confidence * BAR)
    return "█" * full + "░" * (BAR - full)


def days(left: float) -> str:
    """`99.7 d`; what is due says so."""
    return f"{left:.1f} d" if left > 0 else "due"
