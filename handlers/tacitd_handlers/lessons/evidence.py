"""Evidence about lessons: how often each was loaded, and whether a person corrected the same again.

A correction counts when it was seen. That none was seen counts only for sessions that were examined; without such a
session the result is "unknown", never "followed" (ANCHORS P2).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tacitd.clock import local_date
from tacitd.files.log import BLANK, Log
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.lessons import lesson_paths, load_counts
from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.lesson_numbers import number_of
from tacitd_handlers.lessons.lesson_origins import LONGEST

AGAIN, EXAMINED = "again", "looked"


class EvidenceLog:
    """The log evidence.jsonl: what the synthesis found about active lessons."""

    def __init__(self, beside: Path) -> None:
        self._log = Log(beside / lesson_paths.EVIDENCE)

    def record_correction(self, lesson_id: str, at: float, session: str, words: str = "") -> None:
        """Note that a person corrected in this session what the lesson is about.

        `at`: seconds since 1970, UTC. `words` are redacted and cut. Repeated for one session it counts once. Raises
        OSError.
        """
        redacted = redact_secrets(sanitize_line(words))[0][:LONGEST]
        record = {"at": int(at), "kind": AGAIN, "id": lesson_id, "session": session}
        self._log.append_and_close(record | ({"words": redacted} if redacted else {}))

    def record_session(self, at: float, session: str) -> None:
        """Note that this session's facts were compared with the active lessons.

        `at`: seconds since 1970, UTC. Raises OSError.
        """
        self._log.append_and_close({"at": int(at), "kind": EXAMINED, "session": session})

    def list_words(self, lesson_id: str) -> list[str]:
        """The person's words with which a lesson was corrected again. Raises OSError."""
        mine = (one for one in self._log.read() if number_of(one.get("id")) == number_of(lesson_id))
        return [str(one["words"]) for one in mine if one.get("words", BLANK) != BLANK]

    def read(self) -> FoldedEvidence:
        """Read and fold the log. Raises OSError."""
        return fold_evidence(self._log.read())


class FoldedEvidence(Struct, frozen=True):
    """The folded evidence. Dates are local ISO dates."""

    again: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """By the lesson's number and the session: the date of the correction."""
    examined: Mapping[str, str] = field(default_factory=dict)
    """By session: the last date on which it was examined."""
    dates: tuple[str, ...] = ()
    """The dates of `examined`, sorted."""


def fold_evidence(records: Iterable[Mapping[str, Any]]) -> FoldedEvidence:
    """Fold the records of evidence.jsonl, oldest first. Foreign and malformed ones are skipped."""
    again: dict[int, dict[str, str]] = {}
    examined: dict[str, str] = {}
    for record in records:
        at, session = record.get("at"), record.get("session")
        if not isinstance(at, int | float) or not isinstance(session, str):
            continue
        number = number_of(record.get("id"))
        if record.get("kind") == AGAIN and number is not None:
            again.setdefault(number, {}).setdefault(session, local_date(at))
        examined[session] = max(local_date(at), examined.get(session, ""))
    return FoldedEvidence(again, examined, tuple(sorted(examined.values())))


class LessonUsage(Struct, frozen=True):
    """The evidence about one lesson. None: unknown."""

    lesson: Lesson
    loaded: int | None
    last: str
    """The local date of the last load, "" for none."""
    again: int | None
    """Sessions since its date, other than its own, in which a person corrected the same again."""
    sessions: int
    """Examined sessions since its date, other than its own."""


def judge_lessons(
    lessons: Iterable[Lesson],
    loads: tuple[Mapping[int, tuple[int, float]], float | None],
    evidence: FoldedEvidence,
    origins: Mapping[int, Mapping[str, Any]],
) -> list[LessonUsage]:
    """The evidence about each lesson. `loads` is the result of `sum_loads`, `origins` that of `LessonOrigins.read_all`."""
    return [_judged(lesson, loads, evidence, origins.get(int(lesson.id), {})) for lesson in lessons]


def _judged(
    lesson: Lesson,
    loads: tuple[Mapping[int, tuple[int, float]], float | None],
    evidence: FoldedEvidence,
    origin: Mapping[str, Any],
) -> LessonUsage:
    counted, since = loads
    times, last = counted.get(int(lesson.id), (0, 0.0))
    own = str(origin.get("session", ""))
    after = len(evidence.dates) - bisect_left(evidence.dates, lesson.created)
    # Its own session proves nothing. Subtract it only if the line above counted it.
    after -= own in evidence.examined and evidence.examined[own] >= lesson.created
    again = evidence.again.get(int(lesson.id), {})
    broken = sum(session != own and date >= lesson.created for session, date in again.items())
    return LessonUsage(
        lesson,
        times if since is not None else None,
        local_date(last) if times else "",
        broken if after else None,
        after,
    )


def find_stale(
    records: Iterable[LessonUsage], since: float | None, today: float, days: int
) -> list[LessonUsage]:
    """The lessons not loaded for `days` days, if loads were counted for that long and the lesson is at least as old.

    `since` and `today` are seconds since 1970, UTC.
    """
    limit = today - days * 86_400
    if since is None or since > limit:
        return []
    edge = local_date(limit)
    return [r for r in records if r.lesson.created <= edge and (r.last or "") <= edge]


def count_loads(beside: Path) -> tuple[dict[int, tuple[int, float]], float | None]:
    """How often lessons were loaded, from hits.jsonl, as `sum_loads` returns it."""
    return load_counts.sum_loads(Log(beside / lesson_paths.HITS).read())
