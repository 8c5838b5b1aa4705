"""The profile as text for a person. Pure; a session's start imports this, so nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tacitd.text.plurals import count_noun
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.fields import LABELS

BAR = 10
_LONGEST = 160


def format_rows(profile: Mapping[str, Any], left_out: Collection[str] = ()) -> list[str]:
    """Return one line for each leaf, such as `Languages: Python, Rust`; the seed's fields come first, in its order."""
    found = {path: value for path, value in dot_paths.list_leaves(profile).items() if path not in left_out}
    order = [path for path in LABELS if path in found] + [path for path in found if path not in LABELS]
    return [f"{LABELS.get(path, path)}: {words}" for path in order if (words := format_value(found[path]))]


def format_value(value: Any) -> str:
    """Return a value in one line of at most 160 characters, without control characters."""
    words = ", ".join(map(format_value, value)) if isinstance(value, list) else str(value)
    line = sanitize_line(words)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def format_bar(confidence: float) -> str:
    """Return a confidence from 0 to 1 as ten blocks, such as `███████░░░`."""
    full = round(confidence * BAR)
    return "█" * full + "░" * (BAR - full)


def format_days(left: float) -> str:
    """Return a number of days as `99.7 d`; `due` for 0."""
    return f"{left:.1f} d" if left > 0 else "due"


def format_status_lines(part: Mapping[str, Any]) -> Iterator[str]:
    """Given the handler's status, yield lines for `tacitd status`: paths only, because values are private."""
    if part.get("unreadable"):
        yield f"! profile: {sanitize_line(str(part['unreadable']))}"
        return
    learned, own = part.get("learned", 0), list(part.get("own", ()))
    if not learned and not own:
        return
    line = f"{learned} learned"
    following = part.get("next")
    if following:
        line += f" (next to fade: {following['path']}, in {count_noun(round(following['days']), 'day')})"
    yield line + (f", yours: {', '.join(own)}" if own else "")
