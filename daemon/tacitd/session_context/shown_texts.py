"""What each session got from tacitd, so that nothing is repeated to one that goes on: rows of `shown`, digests and no text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from tacitd.clock import Clock
from tacitd.errors import TacitdError

if TYPE_CHECKING:
    from tacitd.store import Store

KEPT = 30 * 86_400.0
"""Seconds for which it is remembered: the client deletes older transcripts."""
_ADVICE = "advice "
"""What the name of a row of advice begins with; its key follows."""


class ShownTexts:
    """Thread-safe. What cannot be written or read counts as not shown: a text is then repeated."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def select_changed(self, session: str, texts: Mapping[str, str]) -> dict[str, str]:
        """The sections that the session did not get in this form."""
        before = self._read(session)
        return {name: text for name, text in texts.items() if before.get(name) != _digest(text)}

    def select_new(self, originals: Collection[str], texts: Mapping[str, str]) -> dict[str, str]:
        """The sections that a copy of one of these sessions did not get with its history; all if none of them got any."""
        known = [found for session in originals if (found := self._read(session))]
        return {
            name: text
            for name, text in texts.items()
            if not known or any(sections.get(name) != _digest(text) for sections in known)
        }

    def note_sections(self, session: str, texts: Mapping[str, str]) -> None:
        """The session gets these sections now. Raises TacitdError."""
        self._note(session, {name: _digest(text) for name, text in texts.items()})

    def list_advice(self, session: str) -> frozenset[str]:
        """The keys of the advice that the session got."""
        return frozenset(
            name.removeprefix(_ADVICE) for name in self._read(session) if name.startswith(_ADVICE)
        )

    def note_advice(self, session: str, keys: Collection[str]) -> None:
        """The session gets advice with these keys now. Raises TacitdError."""
        self._note(session, {_ADVICE + key: b"" for key in keys})

    def _read(self, session: str) -> dict[str, bytes]:
        with suppress(TacitdError):
            return dict(self._store.rows("SELECT name, digest FROM shown WHERE session = ?", session))
        return {}

    def _note(self, session: str, digests: Mapping[str, bytes]) -> None:
        now = self._clock.now()
        with self._store.write() as tx:
            tx.execute("DELETE FROM shown WHERE at < ?", now - KEPT)
            tx.executemany(
                "INSERT OR REPLACE INTO shown(session, name, digest, at) VALUES(?, ?, ?, ?)",
                [(session, name, digest, now) for name, digest in digests.items()],
            )


def _digest(text: str) -> bytes:
    return crc32(text.encode("utf-8", "replace")).to_bytes(4)
