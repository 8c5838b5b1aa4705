"""The profile's texts: for the start of a session, for the rules file that every session loads, and for `tacitd status`.

A session waits for the first: no model, no lock, no second try at a file that is being written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.errors import TacitdError
from tacitd.state.paths import state_dir
from tacitd.text.sanitize import sanitize_line
from tacitd.text.wording import count_noun
from tacitd_handlers.profile import make_plugin, profile_confidence
from tacitd_handlers.profile.fields import LABELS
from tacitd_handlers.profile.profile_files import (
    META,
    PROFILE,
    ProfileState,
    find_clock_doubt,
    find_path,
    list_values,
    read_state,
)
from tacitd_handlers.shared.places import memory_dir

if TYPE_CHECKING:
    from tacitd.clock import Clock
    from tacitd.contract import Rows, Tx
    from tacitd.session_context.context_request import ContextRequest, PersonRule

LINES, LONGEST, VALUE = 12, 1_200, 160
"""Lines and characters of a session's text, and characters of a value."""
HEADING = "## The person you work with"
LEAST = 0.3
"""The confidence from which on a learned value is loaded into sessions."""
BIOGRAPHY = "bio"
"""It is left out of the rules file: it is text for a person, not a preference."""


def make_text(request: ContextRequest) -> str:
    """Return the values that the client does not load from the rules file; "" if there are none. The same in every directory."""
    from tacitd.session_context.context_request import cut_text  # not for `status`

    if request.occasion in ("agent", "failure") or not (memory_dir(os.environ) / PROFILE).exists():
        return ""
    now = time.time()
    try:
        state = read_state(request.rows, now=now)
    except (OSError, TacitdError):
        return ""
    rows = (f"- {row}" for row in format_values(_list_trusted(state, request.rows, now, 0.1)).values())
    lines = [HEADING, *(row for row in rows if not request.is_loaded(row))][:LINES]
    said = cut_text("\n".join(lines), min(request.budget, LONGEST))
    return said if "\n" in said else ""


def _list_trusted(state: ProfileState, rows: Rows, now: float, least: float) -> dict[str, Any]:
    """The values by path without learned ones whose confidence is less; an own element of such a list stays. While the clock is not
    believed, nothing fades, and the confidence is the stored one."""
    doubted = find_clock_doubt(rows, state, now)
    found = profile_confidence.read_confidences(state.meta).values()
    weak = {one.path for one in found if (one.confidence if doubted else one.confidence_at(now)) < least}
    gone = {leaf for leaf in state.learned if find_path(leaf) in weak}
    return list_values({leaf: value for leaf, value in state.values.items() if leaf not in gone})


def format_values(values: Mapping[str, Any]) -> dict[str, str]:
    """One line for each value by its path, such as `Languages: Python, Rust`; the seed's fields come first, in its order."""
    order = [*(path for path in LABELS if path in values), *sorted(values.keys() - LABELS.keys())]
    words = {path: format_value(values[path]) for path in order}
    return {path: f"{LABELS.get(path, path)}: {text}" for path, text in words.items() if text}


def format_value(value: Any) -> str:
    """A value in one line of at most 160 characters, without control characters."""
    line = sanitize_line(", ".join(map(format_value, value)) if isinstance(value, list) else str(value))
    return line if len(line) <= VALUE else line[: VALUE - 1] + "…"


# --- the rules file


class ProfileRules:
    """The profile's lines for the rules file that every session loads: the part `person-rules`. A rule's id is the dot path."""

    title = "Preferences"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ = environ
        self._clock = clock

    def list_files(self) -> Sequence[Path]:
        return [memory_dir(self._environ) / name for name in (PROFILE, META)]

    def list_rules(self) -> list[PersonRule]:
        """A rule for each value with a confidence of 0.3 or more, or of the person's own; the seed's fields first. Raises OSError,
        NotUnderstoodError."""
        from tacitd.session_context.context_request import PersonRule
        from tacitd.session_context.plugin_view import open_rows

        now = self._clock.now()
        with open_rows(make_plugin(), state_dir(self._environ)) as rows:
            state = read_state(rows, self._environ, now)
            values = _list_trusted(state, rows, now, LEAST)
        rules = format_values(values).items()
        return [PersonRule(path, row, state.is_own(path)) for path, row in rules if path != BIOGRAPHY]

    def withdraw_rule(self, id: str) -> Callable[[Tx], None]:
        """Have the path removed from the profile, by a message to it."""
        from tacitd.contract import Task
        from tacitd.events import NoProject
        from tacitd.work.messages import send_message

        about = Task(0, "message", id, NoProject("", "it is the person's"), None)
        return lambda tx: send_message(
            tx, "profile", "profile", f"withdraw {id}", about, {"withdraw": id}, self._clock.now()
        )


# --- status


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """How many values were learned, and which paths are the person's, also in part. Paths only, because values are private."""
    try:
        state = read_state(rows, now=now)
    except (OSError, TacitdError) as error:
        return {"lines": [f"! profile: {error}"]}
    paths = list_values(state.values)
    learned = sum(not state.is_own(path) for path in paths)
    own = sorted(path for path in paths if state.is_own(path) or state.list_own(path))
    line = f"{learned} learned" + (f", yours: {', '.join(own)}" if own else "")
    ((waiting,),) = rows("SELECT count(*) FROM profile_waiting")
    asks = f"! {count_noun(waiting, 'value')} waiting for your decision: `tacitd review`"
    return {"lines": [*([line] if paths else []), *([asks] if waiting else [])]}
