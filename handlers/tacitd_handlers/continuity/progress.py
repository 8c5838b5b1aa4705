"""What a transcript says of its session, record by record. Pure.

Records may come again (at least once; a rewritten file is read from its first byte): to fold a batch in twice makes no
difference. A tool's call waits for its answer, which may be in the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tacitd.events import Record
from tacitd_handlers.continuity import tasks
from tacitd_handlers.continuity.tasks import Call, Item, Items, Result
from tacitd_handlers.continuity.words import plain, sentences

NOTE = 200
SUMMARY = 600
NOTES = 20
IDS = 200
OPEN = 200
"""Calls that may wait for an answer."""
_INTENT = ("Primary Request and Intent:", "Summary:", "Analysis:")
"""Headings of a compaction's summary behind which the substance begins."""


@dataclass(frozen=True, slots=True)
class Progress:
    """All that is known of one session from its transcript."""

    session: str
    cwd: str = ""
    started: float | None = None
    """Seconds since 1970, UTC."""
    last: float | None = None
    prompts: int = 0
    """How many a person typed."""
    items: Items = ()
    open: tuple[Call, ...] = ()
    notes: tuple[str, ...] = ()
    summary: str = ""
    told: str = ""
    """The summary that was written into the file last: what differs from it there is a person's."""
    told_notes: tuple[str, ...] = ()
    """The notes that were written into the file: each is written once, and whoever takes it out there is heard."""
    decisions: tuple[Mapping[str, Any], ...] = ()
    """The model's, not written into the file yet."""
    ids: tuple[str, ...] = ()
    """The newest prompts that were counted."""
    asked: int = 0
    """`prompts` when a summary was last asked for."""
    asked_upto: int = 0
    """The offset up to which that one reaches."""


def folded(
    before: Progress, records: Sequence[Record], answers: Callable[[Sequence[Call]], Mapping[str, Result]]
) -> Progress:
    """The progress after more records. `answers` is asked once for the answers to the calls that are open."""
    now = before
    for record in records:
        now = _record(now, record)
    return answered(now, answers(now.open)) if now.open else now


def _record(now: Progress, record: Record) -> Progress:
    at = record.time if record.time is not None else now.last
    if at is not None:
        started = at if now.started is None else min(now.started, at)
        now = replace(now, started=started, last=at if now.last is None else max(now.last, at))
    if record.cwd and (record.prompts or not now.cwd):
        now = replace(now, cwd=record.cwd)
    if record.summary:
        now = replace(now, summary=compacted(record.summary))
    for prompt in record.prompts:
        if prompt.id not in now.ids:
            now = replace(now, prompts=now.prompts + 1, ids=(*now.ids, prompt.id)[-IDS:])
        if prompt.kind == "answers" and prompt.context:
            now = noted(now, f"{plain(prompt.context, NOTE // 2)} {plain(prompt.text, NOTE // 2)}")
    for use in record.tools:
        call = tasks.call_of(use.id, use.name, use.input, at or 0.0, record.start)
        if call is not None and all(call.id != one.id for one in now.open):
            items = tasks.begun(now.items, call)
            now = replace(now, items=items, open=(*now.open, call)[-OPEN:])
    return now


def answered(now: Progress, results: Mapping[str, Result]) -> Progress:
    """The progress after the answers that are there, in the order of the calls."""
    items, waiting = now.items, []
    for call in now.open:
        if call.id in results:
            items = tasks.done(items, call, results[call.id])
        else:
            waiting.append(call)
    return replace(now, items=items, open=tuple(waiting))


def over(now: Progress) -> Progress:
    """The session is over: a list that was written and never answered counts; nothing waits any longer."""
    items = now.items
    for call in now.open:
        if call.name == "TodoWrite":
            items = tasks.written(items, call)
    return replace(now, items=items, open=())


def noted(now: Progress, note: str) -> Progress:
    """With a note more, the newest last, each once."""
    kept = [one for one in now.notes if one != note]
    return replace(now, notes=(*kept, note)[-NOTES:])


def compacted(summary: str) -> str:
    """The summary that a compaction wrote, in three sentences: what was wanted comes first in it."""
    text = summary
    for heading in _INTENT:
        _, found, behind = text.partition(heading)
        if found:
            text = behind
            break
    return sentences(plain(text, SUMMARY), 3)


def as_data(now: Progress) -> dict[str, Any]:
    """The progress as JSON."""
    return asdict(now)


def from_data(data: Mapping[str, Any]) -> Progress:
    """The reverse. Raises KeyError, TypeError, ValueError for what is none."""
    items = tuple(Item(**{**one, "blocked_by": tuple(one["blocked_by"])}) for one in data["items"])
    calls = tuple(Call(**one) for one in data["open"])
    rest = {**data, "items": items, "open": calls}
    for name in ("notes", "told_notes", "decisions", "ids"):
        rest[name] = tuple(data.get(name, ()))
    return Progress(**rest)
