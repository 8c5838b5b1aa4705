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
from tacitd_handlers.learner import learner_paths
from tacitd_handlers.learner.context import read_session_state
from tacitd_handlers.learner.recording import ReviewPlan
from tacitd_handlers.learner.rules.session_stamps import SessionStamp, resolve_session
from tacitd_handlers.learner.settings import LearnerSettings
from tacitd_handlers.learner.store import LearnerStore

SESSION = "CLAUDE_CODE_SESSION_ID"
"""The variable in which Claude Code passes the session id to its children."""


def load_settings(environ: Mapping[str, str]) -> LearnerSettings:
    """The section `learner` of the configuration. Raises ConfigError that names the key."""
    try:
        return LearnerSettings.model_validate(learner_paths.read_section(environ))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(("learner", *(str(part) for part in first["loc"])))
        raise ConfigError(
            f"{key} = {first['input']!r} is not allowed: {first['msg']}",
            "`tacitd config show` lists all settings",
        ) from None


def open_store() -> tuple[LearnerStore, ReviewPlan]:
    """The store of this process's environment, and the configured review plan. Raises ConfigError."""
    given = load_settings(os.environ)
    where = learner_paths.resolve_paths(os.environ, given.profile, given.ledger)
    return LearnerStore(where, SystemClock(), settle=given.settle), ReviewPlan(
        given.grow_only_when_due, given.longest_interval
    )


def stamp_session(store: LearnerStore, session: str, stamp: str) -> SessionStamp:
    """The calling session and its one stamp, which is stored for later writes (SPEC L-48, L-49)."""
    known = store.notes.read_state().stamps
    now = store.clock.now()
    named = session or os.environ.get(SESSION, "")
    at = resolve_session(named, stamp, known, read_session_state(store.places), local_minutes(now))
    if named and at.session not in known:
        store.notes.record_stamp(at.session, at.stamp, now)
        store.notes.flush()
    return at


def standard_input() -> str:
    """All of standard input; "" for a terminal."""
    return "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()


def parse_objects(text: str) -> list[Mapping[str, Any]]:
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
