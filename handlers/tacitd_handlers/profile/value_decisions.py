"""What a person decides about the profile's values: they are removed, and what waits is set or dropped."""

from __future__ import annotations

import json
from typing import Any

from tacitd.contract import Cause, Done, Tools, Tx
from tacitd.errors import UsageError
from tacitd.handler import Decision, Notice
from tacitd_handlers.profile.changes import ProfilePlan, plan_additions, plan_removal, plan_update
from tacitd_handlers.profile.handler import read_settled, write_plan
from tacitd_handlers.profile.profile_files import PROFILE, ProfileState


def decide_value(decision: Decision, tools: Tools) -> Done:
    """Remove a value, or decide about one that waits. A removed value that the person states again is a preference again (SPEC
    P-10). Raises UsageError for another choice or an unknown path, OSError, FileRefusedError."""
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
        return write_plan(state, plan or ProfilePlan(state.profile, state.meta), cause, tools, [notice], end)
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
    try:
        if isinstance(value, str):
            return plan_update(state, path, text or value, now)
        return plan_additions(state, path, [text] if text else value, now)
    except ValueError as error:
        raise UsageError(f"{path} cannot be set: {error}", "tacitd profile show --json") from None
