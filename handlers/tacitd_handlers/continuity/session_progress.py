"""The state of a session, folded from its transcript record by record. Pure.

Records may be delivered again (at least once; a rewritten file is read from its first byte), so folding a batch twice
makes no difference. A tool call waits for its answer, which may be in the next batch. What a tool call changes belongs
to `tasks`; what a person changes in the file belongs to `render` and `task_merge`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tacitd.events import CONTEXT_LIMIT, Prompt, Record, ToolAnswer
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.continuity import tasks
from tacitd_handlers.continuity.client_commands import is_client_command
from tacitd_handlers.continuity.sentences import (
    cut_sentence,
    join_units,
    split_units,
    take_end,
    take_first,
)
from tacitd_handlers.continuity.stored_progress import SHORT, ToolCall, TranscriptProgress
from tacitd_handlers.continuity.stored_text import clean_lines, clean_text

NOTE = 200
"""Characters of an answer in a note. The question before it is as long as the record has it."""
SAID = 600
"""Characters of the end of the assistant's last turn."""
TYPED = 300
"""Characters of a prompt's first line."""
PROMPTS = 2
"""The last prompts that are kept."""
FILES = 100
"""Edited files that are kept; the least edited ones are dropped."""
_TAIL = 6000
"""Characters of the assistant's text in which its end is looked for."""
NOTES = 20
"""Notes that are kept (SPEC P-24)."""
IDS = 200
"""Ids of prompts that are kept, so that a repeated prompt is not counted twice."""
_CLIENT_END = compile_lazily(
    r"</summary>|^[ \t]*(?:If you need specific details from before compaction|The messages after this summary are the most recent"
    r"|(?:Please )?continue the conversation from where (?:it|we) left|Recent messages are preserved verbatim)",
    re.IGNORECASE | re.MULTILINE,
)
"""What the client writes below the model's summary at a compaction; in English, whatever the language of the summary."""
OPEN = 200
"""Calls that may wait for an answer. The oldest are dropped."""


def fold_records(
    before: TranscriptProgress,
    records: Sequence[Record],
    answers: Callable[[Sequence[ToolCall]], Mapping[str, ToolAnswer]],
) -> TranscriptProgress:
    """Return the state after more records.

    `answers` returns the answers to tool calls by call id. It is called once, and only if calls are open.
    """
    now, said = before, ""
    for record in records:
        now, said = _record(now, record), record.text or said
    if said:  # cleaning is slow, so only the last text is cleaned
        now = replace(now, said=end_of_text(said))
    return apply_answers(now, answers(now.open)) if now.open else now


def _record(now: TranscriptProgress, record: Record) -> TranscriptProgress:
    at = record.time if record.time is not None else now.last
    # One change for what most records have: thousands of them are folded when a long session is caught up.
    known: dict[str, Any] = {"size": now.size + record.end - record.start}
    if at is not None:
        known["started"] = at if now.started is None else min(now.started, at)
        known["last"] = at if now.last is None else max(now.last, at)
    if record.cwd and (record.prompts or record.plan or not now.cwd):
        known["cwd"] = record.cwd
    if record.branch and record.branch != "HEAD":  # a detached head has no name
        known["branch"] = clean_text(record.branch, 100)
    if record.text:
        known |= {"turns": now.turns + 1, "answered": True}
    now = replace(now, **known)
    if record.summary:
        summary = end_of_compaction(record.summary)
        now = replace(now, summary=summary, summary_at=at, summary_turns=now.turns)
    if record.plan and record.uuid not in now.ids:
        now = replace(
            now,
            prompts=now.prompts + 1,
            ids=(*now.ids, record.uuid)[-IDS:],
            typed=(*now.typed, name_plan(record.plan))[-PROMPTS:],
            replied="",
            answered=False,
        )
    for prompt in record.prompts:
        if is_client_command(prompt, record.command):
            continue
        if prompt.id not in now.ids:
            typed, is_command = first_line(prompt, record.command), prompt.kind in ("command", "bash")
            now = replace(
                now,
                prompts=now.prompts + 1,
                ids=(*now.ids, prompt.id)[-IDS:],
                typed=(*now.typed, typed)[-PROMPTS:] if typed else now.typed,
                replied=_answered_question(prompt) if len(typed) < SHORT and not is_command else "",
                answered=False,
            )
        if prompt.kind == "answers" and prompt.context:
            now = add_note(
                now, f"{clean_text(prompt.context, CONTEXT_LIMIT)} {clean_text(prompt.text, NOTE)}"
            )
    for use in record.tools:
        call = tasks.call_of(use.id, use.name, use.input, at or 0.0, record.start)
        if call is not None and all(call.id != one.id for one in now.open):
            items = tasks.start_call(now.items, call)
            now = replace(now, items=items, open=(*now.open, call)[-OPEN:])
    return now


def apply_answers(now: TranscriptProgress, results: Mapping[str, ToolAnswer]) -> TranscriptProgress:
    """Return the state after these answers, applied in the order of the calls."""
    items, waiting, edits = now.items, [], dict(now.edits)
    for call in now.open:
        if call.id not in results:
            waiting.append(call)
            continue
        items = tasks.finish_call(items, call, results[call.id])
        if path := _shown_path(tasks.edited_file(call, results[call.id]), now.cwd):
            edits[path] = edits.get(path, 0) + 1
    if len(edits) > FILES:
        edits = dict(sorted(edits.items(), key=lambda one: -one[1])[:FILES])
    return replace(now, items=items, open=tuple(waiting), edits=edits)


def _shown_path(path: str, cwd: str) -> str:
    """A path relative to the working directory if it is below it."""
    return clean_text(path.removeprefix(f"{cwd}/") if cwd else path, 200)


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


def first_line(prompt: Prompt, command: str = "") -> str:
    """Return the first line of a prompt, in whole sentences if it is long. `command`: the slash command it belongs to."""
    text = next((line for line in prompt.text.splitlines() if line.strip()), "")
    mark = {"bash": "!", "command": f"/{command} " if command else ""}.get(prompt.kind, "")
    line = clean_text(f"{mark}{text.strip()}", 8 * TYPED)
    if len(line) <= TYPED:
        return line
    return join_units(take_first(split_units(line), TYPED)) or clean_text(line, TYPED)


def name_plan(plan: str) -> str:
    """Return the line for an accepted plan: its title."""
    lines = (clean_text(line.lstrip("# "), TYPED) for line in plan.splitlines() if line.strip())
    return f"(accepted a plan) {next(lines, '')}".rstrip()


def _answered_question(prompt: Prompt) -> str:
    """The last question of the assistant's text before a prompt; "" if there is none that is whole."""
    units = split_units(clean_lines(prompt.context))
    if len(prompt.context) >= CONTEXT_LIMIT:
        units = units[1:]
    return next((one.text.strip() for one in reversed(units) if one.is_question), "")


def end_of_text(text: str) -> str:
    """Return what a text of the assistant ends with: whole sentences and list items, with the last question if there is one."""
    units = split_units(clean_lines(text[-_TAIL:]))
    if len(text) > _TAIL and len(units) > 1:
        units = units[1:]  # the first one is not whole
    said = join_units(take_end(units, SAID))
    if said.endswith((":", "：")):  # what it announced is a tool's call
        said = said[:-1] + "."
    # One sentence of several kilobytes: its end, which has the question mark.
    return said if len(said) <= 2 * SAID else cut_sentence(said, SAID)


def end_of_compaction(text: str) -> str:
    """Return the end of the summary that the client wrote at a compaction: what is being done and the next step come last."""
    end = _CLIENT_END.search(text)
    return end_of_text(text[: end.start()] if end else text)
