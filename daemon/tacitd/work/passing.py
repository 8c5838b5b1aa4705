"""Which records a person does not want to be read: pause is privacy, whenever a record is read.

A record is of a pause if it was written in one, also if it is read later, in a copy of the session, or by an observer that
raised. What the assistant wrote after a prompt of a pause, up to the next prompt, is of that pause too: it may quote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

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
    marked = list[tuple[Passed, Record, float | None, bool]]()
    for record, time in zip(records, times, strict=True):
        is_paused, before = choices.is_paused_at(place, session, time), after
        if record.prompts:
            after, prompts = is_paused, list[Prompt]()
            for one in record.prompts:
                known_passed = "SELECT 1 FROM prompt WHERE id = ? AND passed = 'paused'"  # of another session
                after = after or choices.is_paused_at(place, session, one.time)
                after = after or bool(tx.rows(known_passed, one.id))
                said = one.context_time
                if before or (said is not None and choices.is_paused_at(place, session, said)):
                    one = drop_context(one)
                prompts.append(one)
            record = replace(record, prompts=tuple(prompts))
        marked.append(("paused" if after or is_paused else usual, record, time, after))
    parts = list[PassedRecords]()
    for passed, some in groupby(marked, key=itemgetter(0)):
        _, chosen, when, ends = zip(*some, strict=True)
        parts.append(PassedRecords(chosen, when, passed, ends[-1]))
    return parts


def was_paused(tx: Tx, session: str) -> bool:
    """Whether the newest prompt of a session was typed in a pause."""
    ((newest,),) = tx.rows("SELECT max(number) FROM prompt WHERE session = ? AND passed = 'paused'", session)
    later = "SELECT 1 FROM prompt WHERE number > ? AND session = ? LIMIT 1"
    return newest is not None and not tx.rows(later, newest, session)


def drop_context(prompt: Prompt) -> Prompt:
    """The prompt without the assistant's words before it."""
    return replace(prompt, context="", context_cwd="", context_time=None)


def keep_context(prompt: Prompt, place: object, places: Mapping[str, object]) -> Prompt:
    """The prompt without the assistant's words if they were said in another project, which the person may have excluded. `place`: its
    project. `places`: the projects of directories."""
    is_here = not prompt.context_cwd or places[prompt.context_cwd] == place
    return prompt if is_here else drop_context(prompt)


def blank_prompt(prompt: Prompt) -> Prompt:
    """The prompt with secrets blanked in what a person typed and in the assistant's words before it."""
    text, found = redact_secrets(prompt.text)
    context, more = redact_secrets(prompt.context) if prompt.context else ("", 0)
    return replace(prompt, text=text, context=context) if found or more else prompt
