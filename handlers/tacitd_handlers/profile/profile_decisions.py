"""Removing a value of the profile with `tacitd forget`: the hook `decide`.

A value that is removed has no tombstone: a preference that the person states again is a preference again (SPEC P-10).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from tacitd.errors import UsageError
from tacitd.handler import Decided, Decision, Handler, Tools
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.agent_values import decide_waiting
from tacitd_handlers.profile.profile_items import read_waiting
from tacitd_handlers.profile.profile_reader import PROFILE
from tacitd_handlers.profile.store import ProfileStore


def decide_value(handler: Handler, tools: Tools, decision: Decision) -> Decided:
    """Remove a value. Raises UsageError for another choice or an unknown path, OSError, FileRefusedError."""
    store = ProfileStore.from_environ(os.environ, tools.clock)
    store.by_person = True
    if (waiting := read_waiting(store).get(decision.id)) is not None:
        with closing(store.log):
            accept = decision.choice in ("keep", "edit")
            done = decide_waiting(store, waiting, decision.text, accept=accept)
        return Decided(done, () if accept else tuple(_list_texts(waiting["value"])))
    if decision.choice != "drop":
        raise UsageError(
            f"{decision.choice} does not apply to a profile value", "`tacitd profile set` sets values"
        )
    value = dot_paths.get_value(store.read_profile(), decision.id)
    with closing(store.log):
        plan = store.remove_value(decision.id)
    if plan.entry is None:
        raise UsageError(f"the profile has no {decision.id}", "`tacitd profile show` lists the values")
    return Decided(
        f"{decision.id} is removed from {PROFILE}; said again, it is learned again. Without --purge, changelog.jsonl keeps "
        "it for 90 days",
        tuple(_list_texts(value)),
    )


def _list_texts(value: Any) -> Iterator[str]:
    """The texts of a value."""
    return (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
