"""The profile's texts: for the start of a session, for the rules file that every session loads, and for `tacitd status`.

A session waits for the first: no model, no lock, no second try at a file that is being written, and without a profile nothing that
reads one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.errors import TacitdError
from tacitd.handler import StoredItem
from tacitd.session_context.context_request import ContextRequest, PersonRule, cut_text
from tacitd.state.paths import state_dir
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.places import memory_dir

if TYPE_CHECKING:
    from tacitd.clock import Clock
    from tacitd.contract import Done, Rows, Tools, Tx
    from tacitd.handler import Decision
    from tacitd_handlers.profile.profile_files import ProfileState

LINES, LONGEST, VALUE = 12, 1_200, 160
"""Lines and characters of a session's text, and characters of a value."""
HEADING = "## The person you work with"
LEAST = 0.3
"""The confidence from which on a learned value is loaded into sessions."""
BIOGRAPHY = "bio"
"""It is left out of the rules file: it is text for a person, not a preference."""


def make_text(request: ContextRequest) -> str:
    """Return the values that the client does not load from the rules file; "" if there are none. The same in every directory."""
    if request.occasion in ("agent", "failure") or not (memory_dir(os.environ) / "profile.json").exists():
        return ""
    from tacitd_handlers.profile.profile_files import read_state

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
    from tacitd_handlers.profile import profile_confidence
    from tacitd_handlers.profile.profile_files import find_clock_doubt, find_path, list_values

    doubted = find_clock_doubt(rows, state, now)
    found = profile_confidence.read_confidences(state.meta).values()
    weak = {one.path for one in found if (one.confidence if doubted else one.confidence_at(now)) < least}
    gone = {leaf for leaf in state.learned if find_path(leaf) in weak}
    return list_values({leaf: value for leaf, value in state.values.items() if leaf not in gone})


def format_values(values: Mapping[str, Any]) -> dict[str, str]:
    """One line for each value by its path, such as `Languages: Python, Rust`; the seed's fields come first, in its order."""
    from tacitd_handlers.profile.fields import LABELS

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
        return [memory_dir(self._environ) / name for name in ("profile.json", "profile-meta.json")]

    def list_rules(self) -> list[PersonRule]:
        """A rule for each value with a confidence of 0.3 or more, or of the person's own; the seed's fields first. Raises OSError,
        NotUnderstoodError."""
        from tacitd.session_context.plugin_view import open_rows
        from tacitd_handlers.profile import make_plugin
        from tacitd_handlers.profile.profile_files import read_state

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
    """Paths only, because values are private. `own`: the paths that are the person's, also in part; `next`: what decay removes next, with
    the days until then; `suspended`: why nothing fades."""
    from tacitd.text.wording import count_noun
    from tacitd_handlers.profile import profile_confidence
    from tacitd_handlers.profile.profile_files import find_clock_doubt, list_values, read_state

    made: dict[str, Any] = {"directory": str(memory_dir(os.environ))}
    try:
        state = read_state(rows, now=now)
    except (OSError, TacitdError) as error:
        return made | {"unreadable": str(error), "lines": [f"! profile: {error}"]}
    paths = list_values(state.values)
    own = sorted(path for path in paths if state.is_own(path) or state.list_own(path))
    found = profile_confidence.read_confidences(state.meta).values()
    ends = sorted((one.days_left(now), one.path) for one in found if not state.is_own(one.path))
    following = {"path": ends[0][1], "days": round(ends[0][0], 2)} if ends else None
    suspended = find_clock_doubt(rows, state, now)
    line = f"{len(ends)} learned"
    if ends:
        line += f" (next to fade: {ends[0][1]}, in {count_noun(round(ends[0][0]), 'day')})"
    line += f", yours: {', '.join(own)}" if own else ""
    made |= {"learned": len(ends), "own": own, "next": following, "suspended": suspended}
    return made | {"lines": [line] if paths else []}


# --- its values for `tacitd forget`, `accept`, `review` and `why`

KIND, PROFILE = "profile value", "profile.json"


def list_items(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """What waits, and an item for each value; its id is the dot path. They belong to the person, in every project. Raises OSError,
    NotUnderstoodError."""
    for id, path, value, reason in rows("SELECT id, path, value, reason FROM profile_waiting ORDER BY at"):
        why = f"an agent wants to set it, and it waits for you: {reason}"
        yield StoredItem(id, KIND, _describe(path, json.loads(value)), PROFILE, None, "proposed", review=why)
    if not (memory_dir(environ) / PROFILE).exists():
        return
    from tacitd_handlers.profile.profile_files import list_values, read_state

    state = read_state(rows, environ)
    for path, each in list_values(state.values).items():
        yield StoredItem(path, KIND, _describe(path, each), PROFILE, by_person=state.is_own(path))


def _describe(path: str, value: Any) -> str:
    return format_values({path: value}).get(path, path)


def decide(decision: Decision, tools: Tools) -> Done:
    """See `handler:decide_value`: who only lists values loads less."""
    from tacitd_handlers.profile.handler import decide_value

    return decide_value(decision, tools)


def explain(rows: Rows, asked: str, root: Path | None) -> Iterator[dict[str, Any]]:
    """The values that match a path or a part of a value, with who set them last: the hook `why`."""
    if not (memory_dir(os.environ) / PROFILE).exists():
        return
    from tacitd.clock import utc_seconds
    from tacitd_handlers.profile.profile_files import list_values, read_state

    state, wanted = read_state(rows), asked.strip().casefold()
    for path, value in list_values(state.values).items():
        text = _describe(path, value)
        if len(wanted) < 3 or (wanted != path.casefold() and wanted not in text.casefold()):
            continue
        leaves = state.find_leaves(path)
        found = rows(
            "SELECT c.at, c.by, c.session FROM change_line l JOIN change c ON c.number = l.change "
            f"WHERE l.path = ? AND l.put IS NOT NULL AND l.leaf IN ({', '.join('?' * len(leaves))}) ORDER BY c.number DESC LIMIT 1",
            str(state.directory / PROFILE),
            *leaves,
        )
        at, by, session = found[0] if found else (None, "", "")
        who = "an agent set it: you did not type it" if by == "agent" else "learned"
        yield {
            "id": path,
            "what": text,
            "where": f"{PROFILE}, {'yours' if state.is_own(path) else who}",
            "at": utc_seconds(at) if at is not None else "",
            "sessions": [session] if session else [],
            "words": [],
        }
