"""What the learner's commands need first: the configuration, the store, and the session that calls. No rules."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tacitd.clock import SystemClock, local_minutes
from tacitd.errors import ConfigError, UsageError
from tacitd_handlers.learner import places
from tacitd_handlers.learner.context import session_state
from tacitd_handlers.learner.recording import Plan
from tacitd_handlers.learner.settings import LearnerSettings
from tacitd_handlers.learner.sittings import Sitting, sitting
from tacitd_handlers.learner.store import Store

SESSION = "CLAUDE_CODE_SESSION_ID"
"""Claude Code tells its children which session they belong to."""


def settings(environ: Mapping[str, str]) -> LearnerSettings:
    """The slice's section. Raises ConfigError that names the key."""
    try:
        return LearnerSettings.model_validate(places.said(environ))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(("learner", *(str(part) for part in first["loc"])))
        raise ConfigError(
            f"{key} = {first['input']!r} is not allowed: {first['msg']}",
            "`tacitd config show` lists all settings",
        ) from None


def opened() -> tuple[Store, Plan]:
    """The store of this process's environment, and how reviews are planned."""
    given = settings(os.environ)
    where = places.places(os.environ, given.profile, given.ledger)
    return Store(where, SystemClock(), settle=given.settle), Plan(
        given.grow_only_when_due, given.longest_interval
    )


def sitting_of(store: Store, session: str, stamp: str) -> Sitting:
    """The session that calls, with its one stamp, which is remembered (SPEC L-48, L-49)."""
    known = store.notes.known().stamps
    now = store.clock.now()
    named = session or os.environ.get(SESSION, "")
    at = sitting(named, stamp, known, session_state(store.places), local_minutes(now))
    if named and at.session not in known:
        store.notes.stamp(at.session, at.stamp, now)
        store.notes.flush()
    return at


def standard_input() -> str:
    """What comes in on standard input, to its end; "" for a terminal."""
    return "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()


def objects(text: str) -> list[Mapping[str, Any]]:
    """Given JSON, one object or a list of them, return the objects. Raises UsageError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"standard input is no JSON: {error}", 'for example {"problem": "two-sum", …}'
        ) from None
    listed = found if isinstance(found, list) else [found]
    if not listed or not all(isinstance(one, dict) for one in listed):
        raise UsageError("standard input holds no object", 'for example {"problem": "two-sum", …}')
    return listed
