"""The fold from records to lessons: later keys of an id override earlier ones (SPEC E-21). Pure.

Records of other writers are tolerated: ids that were never added, unknown keys, numeric ids. Records that do not make
a lesson are left out, and their id is never reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from tacitd.files.log import BLANK
from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.lesson_numbers import name_of, number_of
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.scopes import GLOBAL

KEYS = (
    "id", "scope", "from", "status", "created", "updated", "when", "action", "do", "because", "reason", "promoted_to",
)  # fmt: skip
"""The seed's fields, in the order of its records (SPEC E-25)."""
ACTIVE, DELETED, PROMOTED = "active", "deleted", "promoted"
WAITING = "waiting"
"""An agent added it and it may not be loaded unless a person accepts it: `reason` says why."""
DIGESTS = "digests"
"""The key of a purged lesson's last record: a digest of each of its wordings."""


class Lesson(Struct, frozen=True):
    """The current state of a lesson. Dates are local ISO dates (SPEC E-24), "" for none."""

    id: str
    scope: str
    source: str
    """The record's `from`: ai or user."""
    status: str
    created: str
    parts: Pattern
    updated: str = ""
    reason: str = ""
    promoted_to: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown keys, which are kept."""

    @property
    def text(self) -> str:
        """The canonical pattern."""
        return pattern.format_pattern(self.parts)

    @property
    def is_active(self) -> bool:
        return self.status == ACTIVE

    @property
    def is_firm(self) -> bool:
        """Whether a person stated it (SPEC E-11)."""
        return self.source == "user"

    @property
    def is_ours(self) -> bool:
        """Whether an agent or the daemon made it and nobody changed it since."""
        return not self.is_firm and not self.updated

    @property
    def is_purged(self) -> bool:
        """Whether its words are blanked."""
        return BLANK in (self.parts.when, self.parts.do)

    def to_record(self) -> dict[str, Any]:
        """The lesson as one record, keys in the seed's order (SPEC E-25), without empty values."""
        made: dict[str, Any] = {
            "id": self.id,
            "scope": self.scope,
            "from": self.source,
            "status": self.status,
        }
        made |= {"created": self.created, "updated": self.updated}
        made |= {"when": self.parts.when, "action": self.parts.action, "do": self.parts.do}
        made |= {"because": self.parts.because, "reason": self.reason, "promoted_to": self.promoted_to}
        return {key: value for key, value in made.items() if value != ""} | dict(self.extra)


class FoldedLessons(Struct, frozen=True):
    """The folded log."""

    lessons: Mapping[str, Lesson] = field(default_factory=dict)
    """By id, in the order of their numbers."""
    last: int = 0
    """The highest id of any record (SPEC E-22)."""

    def get(self, id: str) -> Lesson | None:
        """The lesson with this id, or None; `2` and `002` are equal (SPEC E-19)."""
        number = number_of(id)
        return self.lessons.get(name_of(number)) if number is not None else None

    def with_records(self, records: Iterable[Mapping[str, Any]]) -> FoldedLessons:
        """The fold with further records, which must be valid."""
        found, last = dict(self.lessons), self.last
        for record in records:
            id = str(record["id"])
            lesson = _lesson(id, {**(found[id].to_record() if id in found else {}), **record})
            if lesson is not None:
                found[id], last = lesson, max(last, int(id))
        return FoldedLessons(found, last)

    def list_active(self) -> list[Lesson]:
        """The active lessons, by id."""
        return [lesson for lesson in self.lessons.values() if lesson.is_active]


def fold_lessons(records: Iterable[Mapping[str, Any]]) -> FoldedLessons:
    """Fold the records, oldest first."""
    kept: dict[int, dict[str, Any]] = {}
    for record in records:
        number = number_of(record.get("id"))
        if number is None:
            continue
        if (known := kept.get(number)) is not None:
            known.update(record)
        else:
            kept[number] = dict(record)
    found = {name_of(n): lesson for n in sorted(kept) if (lesson := _lesson(name_of(n), kept[n])) is not None}
    return FoldedLessons(found, max(kept, default=0))


def _lesson(id: str, record: Mapping[str, Any]) -> Lesson | None:
    parts = [_text(record, key) for key in ("when", "do", "because")]
    action = record.get("action")
    if not all(parts) or action not in ("do", "dont"):
        return None
    return Lesson(
        id,
        _text(record, "scope").lower() or GLOBAL,
        _text(record, "from") or "ai",
        _text(record, "status") or ACTIVE,
        _text(record, "created"),
        Pattern(parts[0], "do" if action == "do" else "dont", parts[1], parts[2]),
        _text(record, "updated"),
        _text(record, "reason"),
        _text(record, "promoted_to"),
        {key: value for key, value in record.items() if key not in KEYS},
    )


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key, "")
    return pattern.tidy_part(value) if isinstance(value, str) else ""
