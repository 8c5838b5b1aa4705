"""Where a lesson came from: the session, the prompts, and the person's words (redacted), by id.

Kept apart from lessons.jsonl, whose records have the seed's keys and no others (SPEC E-25), and which people share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacitd.clock import local_date
from tacitd.files.log import Log
from tacitd.text.redact import redact
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.lessons import places
from tacitd_handlers.lessons.folding import number_of

WORDS = 5
LONGEST = 300
"""Characters that are kept of each of a person's sentences."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """From which words drafts were made."""

    session: str
    at: float
    """Seconds since 1970, UTC."""
    project: str = ""
    """The project's root."""
    prompts: tuple[str, ...] = ()
    """Ids of the prompts' records."""
    words: tuple[str, ...] = ()
    """What the person typed; redacted and cut before it is kept."""

    def record(self) -> dict[str, Any]:
        """As it is kept. Doing it twice changes nothing."""
        words = [redact(sanitize_line(text))[0][:LONGEST] for text in self.words if text.strip()][:WORDS]
        return {"at": int(self.at), "session": self.session, "project": self.project} | {
            "prompts": list(self.prompts),
            "words": words,
        }


class Origins:
    """origins.jsonl: the first record of an id is where it came from."""

    def __init__(self, beside: Path) -> None:
        self._log = Log(beside / places.ORIGINS)

    def add(self, id: str, provenance: Provenance) -> None:
        """Keep it, durably. Raises OSError."""
        self._log.append({"id": id, **provenance.record()}, sync=True)

    def all(self) -> dict[int, dict[str, Any]]:
        """By the lesson's number."""
        return first_of(self._log.read())

    def of(self, id: str) -> dict[str, Any] | None:
        """Where one lesson came from, with `date` (local) beside the rest; None where that is not known."""
        number = number_of(id)
        found = self.all().get(number) if number is not None else None
        return {**found, "date": local_date(float(found["at"]))} if found is not None else None


def first_of(records: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The first sound record of each number; where it names a session without words, that session's next one."""
    kept: dict[int, dict[str, Any]] = {}
    for record in records:
        number = number_of(record.get("id"))
        sound = isinstance(record.get("at"), int | float) and isinstance(record.get("session"), str)
        if number is None or not sound:
            continue
        known = kept.get(number)
        if known is None or (not known.get("words") and known["session"] == record["session"]):
            kept[number] = dict(record)
    return kept
