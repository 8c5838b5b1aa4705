"""Shared code of the learner's commands: configuration, store, standard input, and the calling session. No rules."""

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
"""The variable in which Claude Code passes the session id to its children."""


def settings(environ: Mapping[str, str]) -> LearnerSettings:
    """The section `learner` of the configuration. Raises ConfigError that names the key."""
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
    """The store of this process's environment, and the configured review plan. Raises ConfigError."""
    given = settings(os.environ)
    where = places.places(os.environ, given.profile, given.ledger)
    return Store(where, SystemClock(), settle=given.settle), Plan(
        given.grow_only_when_due, given.longest_interval
    )


def sitting_of(store: Store, session: str, stamp: str) -> Sitting:
    """The calling session and its one stamp, which is stored for later writes (SPEC L-48, L-49)."""
    known = store.notes.known().stamps
    now = store.clock.now()
    named = session or os.environ.get(SESSION, "")
    at = sitting(named, stamp, known, session_state(store.places), local_minutes(now))
    if named and at.session not in known:
        store.notes.stamp(at.session, at.stamp, now)
        store.notes.flush()
    return at


def standard_input() -> str:
    """All of standard input; "" for a terminal."""
    return "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()


def objects(text: str) -> list[Mapping[str, Any]]:
    """Given JSON, one object or a list of objects, return the objects. Raises UsageError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"standard input is not JSON: {error}", 'for example {"problem": "two-sum", …}'
        ) from None
    listed = found if isinstance(found, list) else [found]
    if not listed or not all(isinstance(one, dict) for one in listed):
        raise UsageError("standard input contains no object", 'for example {"problem": "two-sum", …}')
    return listed
