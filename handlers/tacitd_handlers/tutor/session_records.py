"""Events of a session as records of its log, and back. Pure.

    {"v": 1, "at": 1763792000.5, "event": "started", "plan": {…}}      the first record
    {"v": 1, "at": …, "event": "Answered", "text": "…"}                one record for each transition

`at` is in seconds since 1970, UTC. A session is replayed from its records. A record that does not parse, or that does not
fit the state, is counted and has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct, to_builtins

from tacitd.text.converter import Converter
from tacitd_handlers.tutor.session_model import SessionEvent, SessionPlan, SessionState
from tacitd_handlers.tutor.session_policy import WrongEventError, advance

VERSION = 1
STARTED = "started"
_EVENTS = {one.__name__: Converter(one) for one in get_args(SessionEvent)}
_PLAN = Converter(SessionPlan)


class TimedEvent(Struct, frozen=True):
    """An event with its time (seconds since 1970, UTC) and the state before it."""

    at: float
    event: SessionEvent
    before: SessionState


class ReplayedSession(Struct, frozen=True):
    """A session read from its log."""

    state: SessionState
    started: float
    """Seconds since 1970, UTC."""
    last: float
    """When its last event happened."""
    events: tuple[TimedEvent, ...]
    bad: int = 0
    """Records that had no effect."""


def encode_start(at: float, plan: SessionPlan) -> dict[str, Any]:
    """The first record of a session."""
    return {"v": VERSION, "at": at, "event": STARTED, "plan": to_builtins(plan)}


def encode_event(at: float, event: SessionEvent) -> dict[str, Any]:
    """The record of an event."""
    return {"v": VERSION, "at": at, "event": type(event).__name__, **to_builtins(event)}


def decode_event(record: Mapping[str, Any]) -> SessionEvent | None:
    """The event of a record; None if it is not one."""
    made = _EVENTS.get(str(record.get("event")))
    if made is None or record.get("v") != VERSION:
        return None
    fields = {key: value for key, value in record.items() if key not in ("v", "at", "event")}
    try:
        event: SessionEvent = made.convert(fields)
    except msgspec.ValidationError:
        return None
    return event


def replay_session(records: Iterable[Mapping[str, Any]]) -> ReplayedSession | None:
    """The session that these records describe; None if they do not begin with the start of one."""
    state: SessionState | None = None
    started = last = 0.0
    events: list[TimedEvent] = []
    bad = 0
    for record in records:
        at = record.get("at")
        when = float(at) if isinstance(at, int | float) and not isinstance(at, bool) else last
        if state is None:
            plan = _decode_plan(record)
            if plan is None:
                return None
            state, started, last = SessionState(plan), when, when
            continue
        event = decode_event(record)
        try:
            after = advance(state, event) if event is not None else None
        except WrongEventError:
            after = None
        if event is None or after is None:
            bad += 1
            continue
        events.append(TimedEvent(when, event, state))
        state, last = after, when
    return ReplayedSession(state, started, last, tuple(events), bad) if state is not None else None


def _decode_plan(record: Mapping[str, Any]) -> SessionPlan | None:
    if record.get("event") != STARTED or record.get("v") != VERSION:
        return None
    try:
        plan: SessionPlan = _PLAN.convert(record.get("plan"))
    except msgspec.ValidationError:
        return None
    return plan if plan.objectives else None
