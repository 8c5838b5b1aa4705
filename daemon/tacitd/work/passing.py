"""Which records a person does not want to be read: pause is privacy, whenever a record is read.

A record is of a pause if it was written in one, also if it is read later, in a copy of the session, or by an observer that
raised. What the assistant wrote after a prompt of a pause, up to the next prompt, is of that pause too: it may quote it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd.contract import Tx
from tacitd.events import NoProject, Project, Prompt, Record
from tacitd.text.redact import redact_secrets
from tacitd.work.project_rows import Choices, Passed


class PassedRecords(Struct, frozen=True):
    """Records that follow each other and are all given to plugins, or all passed over for the same reason."""

    records: tuple[Record, ...]
    times: tuple[float | None, ...]
    """When each was written: its own time, that of the nearest record before it that has one, or of the nearest one after it."""
    passed: Passed
    ends_paused: bool
    """Whether what the assistant writes after them answers a prompt of a pause."""


def split_passed(
    tx: Tx, records: Sequence[Record], choices: Choices, place: Project | NoProject, session: str, after: bool
) -> list[PassedRecords]:
    """Split records of one transcript and project by why they are passed over, and remove the assistant's words of a pause from
    the prompts that follow. `after`: whether the record before them ends in a pause (`PassedRecords.ends_paused`)."""
    # A copied history without times must not count as new: it would be paid for without having been asked for.
    known = [record.time for record in records]
    last = next((time for time in known if time is not None), None)
    times = [last := time if time is not None else last for time in known]
    usual = choices.passes(place, session)
    if not choices.spans:
        return [PassedRecords(tuple(records), tuple(times), usual, False)]
    parts = list[PassedRecords]()
    some, when, reason = list[Record](), list[float | None](), usual
    for record, time in zip(records, times, strict=True):
        is_paused = choices.is_paused_at(place, session, time)
        before = after
        if record.prompts:
            after = is_paused or _is_of_pause(tx, record, choices, place, session)
            record = _clean_context(record, choices, place, session, before=before)
        passed: Passed = "paused" if after or is_paused else usual
        if some and passed != reason:
            parts.append(PassedRecords(tuple(some), tuple(when), reason, before))
            some, when = [], []
        reason = passed
        some.append(record)
        when.append(time)
    parts.append(PassedRecords(tuple(some), tuple(when), reason, after))
    return parts


def was_paused(tx: Tx, session: str) -> bool:
    """Whether the newest prompt of a session was typed in a pause."""
    found = tx.rows("SELECT passed FROM prompt WHERE session = ? ORDER BY number DESC LIMIT 1", session)
    return bool(found) and found[0][0] == "paused"


def _is_of_pause(tx: Tx, record: Record, choices: Choices, place: Project | NoProject, session: str) -> bool:
    """Whether one of the prompts was typed in a pause, or is a copy of one that was passed over in another session."""
    return any(
        choices.is_paused_at(place, session, one.time)
        or bool(tx.rows("SELECT 1 FROM prompt WHERE id = ? AND passed = 'paused'", one.id))
        for one in record.prompts
    )


def _clean_context(
    record: Record, choices: Choices, place: Project | NoProject, session: str, *, before: bool
) -> Record:
    prompts = tuple(
        replace(one, context="", context_cwd="", context_time=None)
        if one.context
        and (
            before
            or (one.context_time is not None and choices.is_paused_at(place, session, one.context_time))
        )
        else one
        for one in record.prompts
    )
    return replace(record, prompts=prompts) if prompts != record.prompts else record


def blank_prompt(prompt: Prompt) -> Prompt:
    """The prompt with secrets blanked in what a person typed and in the assistant's words before it."""
    text, found = redact_secrets(prompt.text)
    context, more = redact_secrets(prompt.context) if prompt.context else ("", 0)
    return replace(prompt, text=text, context=context) if found or more else prompt
