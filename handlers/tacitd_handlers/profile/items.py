"""The profile's values for `tacitd forget`, `accept`, `review` and `why`. Without a profile, nothing that reads one is imported."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import utc_seconds
from tacitd.handler import StoredItem
from tacitd_handlers.shared.user_memory import memory_dir

if TYPE_CHECKING:
    from tacitd.contract import Done, Rows, Tools, Tx
    from tacitd.handler import Decision
    from tacitd_handlers.profile.changes import ProfilePlan
    from tacitd_handlers.profile.profile_files import ProfileState

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
    from tacitd_handlers.profile.profile_texts import format_values

    return format_values({path: value}).get(path, path)


def decide(decision: Decision, tools: Tools) -> Done:
    """Remove a value, or decide about one that waits. A removed value that the person states again is a preference again (SPEC
    P-10). Raises UsageError for another choice or an unknown path, OSError, FileRefusedError."""
    from tacitd.contract import Cause  # a list needs none of these modules
    from tacitd.errors import UsageError
    from tacitd.handler import Notice
    from tacitd_handlers.profile.changes import ProfilePlan, plan_removal
    from tacitd_handlers.profile.handler import read_settled, write_plan

    state, now, id = read_settled(tools), tools.clock.now(), decision.id
    cause = Cause(f"{decision.choice} {id} {now}", "person", decision.choice)
    waiting = tools.rows("SELECT path, value FROM profile_waiting WHERE id = ?", id)
    if waiting:
        ((path, value),) = waiting
        accept = decision.choice in ("keep", "edit")
        plan = _accept(state, path, json.loads(value), decision.text, now) if accept else None

        def end(tx: Tx) -> None:
            tx.execute("DELETE FROM profile_waiting WHERE id = ?", id)

        notice = Notice("set, and yours" if accept else "not set", path, PROFILE)
        return write_plan(state, plan or ProfilePlan(state.meta), cause, tools, [notice], end)
    if decision.choice != "drop":
        raise UsageError(
            f"{decision.choice} does not apply to a profile value", "`tacitd profile set` sets values"
        )
    plan = plan_removal(state, id, None, now)
    if plan.entry is None:
        raise UsageError(f"the profile has no {id}", "`tacitd profile show` lists the values")
    about = "said again, it is learned again. Without --purge, changelog.jsonl keeps it for 90 days"
    return write_plan(state, plan, cause, tools, [Notice("removed", f"{id}; {about}", PROFILE)])


def _accept(state: ProfileState, path: str, value: Any, text: str, now: float) -> ProfilePlan:
    from tacitd.errors import UsageError
    from tacitd_handlers.profile.changes import plan_additions, plan_update

    try:
        if isinstance(value, str):
            return plan_update(state, path, text or value, now)
        return plan_additions(state, path, [text] if text else value, now)
    except ValueError as error:
        raise UsageError(f"{path} cannot be set: {error}", "tacitd profile show --json") from None


def explain(rows: Rows, asked: str, root: Path | None) -> Iterator[dict[str, Any]]:
    """The values that match a path or a part of a value, with who set them last: the hook `why`."""
    if not (memory_dir(os.environ) / PROFILE).exists():
        return
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
