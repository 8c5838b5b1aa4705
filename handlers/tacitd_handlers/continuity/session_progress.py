"""The state of a session, folded from its transcript record by record. Pure.

Records may be delivered again (at least once; a rewritten file is read from its first byte), so folding a batch twice
makes no difference. A tool call waits for its answer, which may be in the next batch. What a tool call changes belongs
to `tasks`; what a person changes in the file belongs to `render`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tacitd.events import Record, ToolAnswer
from tacitd_handlers.continuity import tasks
from tacitd_handlers.continuity.stored_text import clean_text, first_sentences
from tacitd_handlers.continuity.tasks import Items, TaskItem, ToolCall

NOTE = 200
"""Characters of a note."""
SUMMARY = 600
"""Characters of a summary."""
NOTES = 20
"""Notes that are kept (SPEC P-24)."""
IDS = 200
"""Ids of prompts that are kept, so that a repeated prompt is not counted twice."""
OPEN = 200
"""Calls that may wait for an answer. The oldest are dropped."""
_INTENT = ("Primary Request and Intent:", "Summary:", "Analysis:")
"""Headings in a compaction's summary, in order of preference: its content begins after them."""


@dataclass(frozen=True, slots=True)
class TranscriptProgress:
    """The state of one session, from its transcript."""

    session: str
    cwd: str = ""
    started: float | None = None
    """The time of the first record: seconds since 1970, UTC."""
    last: float | None = None
    """The time of the last record: seconds since 1970, UTC."""
    prompts: int = 0
    """The number of prompts that a person typed."""
    items: Items = ()
    open: tuple[ToolCall, ...] = ()
    """Tool calls without an answer yet."""
    notes: tuple[str, ...] = ()
    summary: str = ""
    told: str = ""
    """The summary that was written to the file last. Only another one is written, so that an edit by hand stays."""
    told_notes: tuple[str, ...] = ()
    """The notes that were written to the file. Each is written once, so that one that a person removes stays removed."""
    decisions: tuple[Mapping[str, Any], ...] = ()
    """The model's decisions that are not written to the file yet."""
    ids: tuple[str, ...] = ()
    """The ids of the newest counted prompts."""
    asked: int = 0
    """The value of `prompts` when a summary was last asked for."""
    asked_upto: int = 0
    """The byte offset up to which that summary reaches."""


def fold_records(
    before: TranscriptProgress,
    records: Sequence[Record],
    answers: Callable[[Sequence[ToolCall]], Mapping[str, ToolAnswer]],
) -> TranscriptProgress:
    """Return the state after more records.

    `answers` returns the answers to tool calls by call id. It is called once, and only if calls are open.
    """
    now = before
    for record in records:
        now = _record(now, record)
    return apply_answers(now, answers(now.open)) if now.open else now


def _record(now: TranscriptProgress, record: Record) -> TranscriptProgress:
    at = record.time if record.time is not None else now.last
    if at is not None:
        started = at if now.started is None else min(now.started, at)
        now = replace(now, started=started, last=at if now.last is None else max(now.last, at))
    if record.cwd and (record.prompts or not now.cwd):
        now = replace(now, cwd=record.cwd)
    if record.summary:
        now = replace(now, summary=shorten_summary(record.summary))
    for prompt in record.prompts:
        if prompt.id not in now.ids:
            now = replace(now, prompts=now.prompts + 1, ids=(*now.ids, prompt.id)[-IDS:])
        if prompt.kind == "answers" and prompt.context:
            now = add_note(
                now, f"{clean_text(prompt.context, NOTE // 2)} {clean_text(prompt.text, NOTE // 2)}"
            )
    for use in record.tools:
        call = tasks.call_of(use.id, use.name, use.input, at or 0.0, record.start)
        if call is not None and all(call.id != one.id for one in now.open):
            items = tasks.start_call(now.items, call)
            now = replace(now, items=items, open=(*now.open, call)[-OPEN:])
    return now


def apply_answers(now: TranscriptProgress, results: Mapping[str, ToolAnswer]) -> TranscriptProgress:
    """Return the state after these answers, applied in the order of the calls."""
    items, waiting = now.items, []
    for call in now.open:
        if call.id in results:
            items = tasks.finish_call(items, call, results[call.id])
        else:
            waiting.append(call)
    return replace(now, items=items, open=tuple(waiting))


def end_session(now: TranscriptProgress) -> TranscriptProgress:
    """Return the state at the session's end: an unanswered TodoWrite counts, other open calls are dropped."""
    items = now.items
    for call in now.open:
        if call.name == "TodoWrite":
            items = tasks.replace_todos(items, call)
    return replace(now, items=items, open=())


def add_note(now: TranscriptProgress, note: str) -> TranscriptProgress:
    """Return the state with one more note; the newest is last, and each occurs once."""
    kept = [one for one in now.notes if one != note]
    return replace(now, notes=(*kept, note)[-NOTES:])


def shorten_summary(summary: str) -> str:
    """Return the first three sentences of a compaction's summary, which say what the person asked for."""
    text = summary
    for heading in _INTENT:
        _, found, behind = text.partition(heading)
        if found:
            text = behind
            break
    return first_sentences(clean_text(text, SUMMARY), 3)


def as_data(now: TranscriptProgress) -> dict[str, Any]:
    """Return the state as a JSON object."""
    return asdict(now)


def from_data(data: Mapping[str, Any]) -> TranscriptProgress:
    """Return the state from its JSON object. Raises KeyError, TypeError or ValueError for another object."""
    items = tuple(TaskItem(**{**one, "blocked_by": tuple(one["blocked_by"])}) for one in data["items"])
    calls = tuple(ToolCall(**one) for one in data["open"])
    rest = {**data, "items": items, "open": calls}
    for name in ("notes", "told_notes", "decisions", "ids"):
        rest[name] = tuple(data.get(name, ()))
    return TranscriptProgress(**rest)
