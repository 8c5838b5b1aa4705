"""What each session got from tacitd, so that nothing is repeated to one that goes on: a log of digests, no text.

    {"at","session","sections":{plugin:crc}}     the sections of a start or of a resumption
    {"at","session","advice":[key]}              advice about failed calls; keys of the plugins' own

`at` is in seconds since 1970, UTC. The log is read once, at its first use.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any
from zlib import crc32

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.files.log import Log

KEPT = 500
"""Sessions that are remembered, the newest."""
LARGE = 256 << 10
"""Bytes above which the log is compacted."""


class _Shown(Struct):
    sections: dict[str, int] = field(default_factory=dict)
    advice: set[str] = field(default_factory=set)


class ShownTexts:
    """Thread-safe. What cannot be written is only remembered until the daemon ends: a text is then repeated."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, _Shown] | None = None

    def select_changed(self, session: str, texts: Mapping[str, str]) -> dict[str, str]:
        """The sections that the session did not get in this form."""
        with self._lock:
            before = self._load().get(session, _Shown()).sections
        return {name: text for name, text in texts.items() if before.get(name) != _digest(text)}

    def select_new(self, originals: Collection[str], texts: Mapping[str, str]) -> dict[str, str]:
        """The sections that a copy of one of these sessions did not get with its history; all if none of them got any."""
        with self._lock:
            known = [self._load()[session].sections for session in originals if session in self._load()]
        return {
            name: text
            for name, text in texts.items()
            if not known or any(sections.get(name) != _digest(text) for sections in known)
        }

    def note_sections(self, session: str, texts: Mapping[str, str]) -> None:
        """The session gets these sections now. Raises OSError."""
        sections = {name: _digest(text) for name, text in texts.items()}
        self._append({"at": self._clock.now(), "session": session, "sections": sections})

    def list_advice(self, session: str) -> frozenset[str]:
        """The keys of the advice that the session got."""
        with self._lock:
            return frozenset(self._load().get(session, _Shown()).advice)

    def note_advice(self, session: str, keys: Collection[str]) -> None:
        """The session gets advice with these keys now. Raises OSError."""
        self._append({"at": self._clock.now(), "session": session, "advice": sorted(keys)})

    def _load(self) -> dict[str, _Shown]:
        if self._sessions is None:
            self._sessions = {}
            for record in self._log.read():
                _fold(self._sessions, record)
            _forget_old(self._sessions)
        return self._sessions

    def _append(self, record: dict[str, Any]) -> None:
        with self._lock:
            known = self._load()
            _fold(known, record)
            _forget_old(known)
            self._log.append(record)
            self._log.flush()
            if self._log.size > LARGE:
                self._log.compact([_record(session, one) for session, one in known.items()])


def _fold(known: dict[str, _Shown], record: Mapping[str, Any]) -> None:
    match record:
        case {"session": str(session), **rest}:
            one = known.pop(session, None) or _Shown()
            known[session] = one  # the newest is the last
            sections, advice = rest.get("sections"), rest.get("advice")
            if isinstance(sections, Mapping):
                one.sections |= {str(name): crc for name, crc in sections.items() if isinstance(crc, int)}
            if isinstance(advice, list):
                one.advice |= set(map(str, advice))
        case _:
            pass


def _forget_old(known: dict[str, _Shown]) -> None:
    for session in list(known)[:-KEPT]:
        del known[session]


def _record(session: str, one: _Shown) -> dict[str, Any]:
    return {"session": session, "sections": one.sections, "advice": sorted(one.advice)}


def _digest(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))
