"""The origin of each lesson: the session, the prompts, and the person's words (redacted), by id.

It is not stored in lessons.jsonl, because its records have the seed's keys alone (SPEC E-25) and people share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tacitd.clock import local_date
from tacitd.files.log import Log
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_numbers import number_of

WORDS = 5
LONGEST = 300
"""Maximum characters of each quoted sentence of a person."""


class Provenance(Struct, frozen=True):
    """The origin of drafts."""

    session: str
    at: float
    """Seconds since 1970, UTC."""
    project: str = ""
    """The project's root."""
    prompts: tuple[str, ...] = ()
    """Ids of the prompts' records."""
    words: tuple[str, ...] = ()
    """What the person typed. `record` redacts and cuts it."""
    lines: tuple[str, ...] = ()
    """Lines of the project's files that were made of the same facts. Who deletes one withdraws the lesson."""

    def to_record(self) -> dict[str, Any]:
        """The record to store, redacted and cut. Idempotent."""
        from tacitd.text.redact import redact_secrets  # the commands that only read need none of its modules

        words = [redact_secrets(sanitize_line(text))[0][:LONGEST] for text in self.words if text.strip()][
            :WORDS
        ]
        made: dict[str, Any] = {"at": int(self.at), "session": self.session, "project": self.project}
        made |= {"prompts": list(self.prompts), "words": words}
        return made | ({"lines": list(self.lines)} if self.lines else {})


class LessonOrigins:
    """origins.jsonl: the first record of an id is its origin."""

    def __init__(self, beside: Path) -> None:
        self._log = Log(beside / lesson_paths.ORIGINS)

    def add(self, id: str, provenance: Provenance) -> None:
        """Append an origin, durably. Raises OSError, LogDamagedError."""
        self._log.append_and_close({"id": id, **provenance.to_record()})

    def read_all(self) -> dict[int, dict[str, Any]]:
        """By the lesson's number. Raises OSError."""
        return first_of(self._log.read())

    def find_origin(self, id: str) -> dict[str, Any] | None:
        """The origin of one lesson, with `date` (local ISO date) added; None if unknown. Raises OSError."""
        number = number_of(id)
        found = self.read_all().get(number) if number is not None else None
        return {**found, "date": local_date(float(found["at"]))} if found is not None else None


def first_of(records: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The first valid record of each number. If it has no words, a later record replaces it, of the same session if it has one."""
    kept: dict[int, dict[str, Any]] = {}
    for record in records:
        number = number_of(record.get("id"))
        sound = isinstance(record.get("at"), int | float) and isinstance(record.get("session"), str)
        if number is None or not sound:
            continue
        known = kept.get(number)
        if known is None or (not known.get("words") and known["session"] in ("", record["session"])):
            kept[number] = dict(record)
    return kept
