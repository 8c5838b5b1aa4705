"""The text for resuming the work in a project: its last session, and an earlier one with open tasks (SPEC P-26). Pure.

What a transcript contains is shown as a quotation, line by line, so that it cannot be taken for an instruction. Which
sessions belong to a project is decided in `last_session`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tacitd.clock import parse_utc
from tacitd.text.wording import format_age
from tacitd_handlers.continuity.session_document import DAY, Json
from tacitd_handlers.continuity.session_rows import TranscriptState, Turn
from tacitd_handlers.continuity.text_end import clean_lines, clean_text, take_end

_LINE, _PROMPT = 240, 300
"""Characters of a line, and of a prompt's first line."""
_SUMMARY = 2000
"""Characters of a summary: more than tacitd writes."""
_TASKS, _EARLIER, _DECISIONS, _NOTES, _DONE, _FILES = 8, 5, 5, 5, 8, 8
"""How many are shown: tasks, those of an earlier session, the last decisions, notes and done tasks, the most edited files."""


class SessionEnd(Struct, frozen=True):
    """What is known of a session from its transcript."""

    state: TranscriptState
    prompts: Sequence[Turn] = ()
    """The last ones, the newest last."""


def build_resume_text(documents: Sequence[Json], now: float, end: SessionEnd | None = None) -> str:
    """Given the sessions of a project, the newest first, return the text; "" if there are none.

    `now` is seconds since 1970, UTC; the text says how long ago the sessions were. `end`: of the first one. Without it the text has
    what the file has.
    """
    if not documents:
        return ""
    return "\n".join([*_list_last(documents[0], now, end), *_list_earlier(documents, now)])


def _list_earlier(documents: Sequence[Json], now: float) -> list[str]:
    """The lines of the newest earlier session with open tasks that the last one does not have."""
    titles = {clean_text(task.get("title"), _LINE) for task in documents[0]["tasks"]}
    for document in documents[1:]:
        tasks = [one for one in document["tasks"] if clean_text(one.get("title"), _LINE) not in titles]
        left, blocked, _ = _sort_tasks(tasks)
        if left or blocked:
            heading = f"## An earlier session ({_tell_age(document, now)}, still open)"
            return _list_under(heading, [*left, *blocked], _EARLIER)
    return []


def _list_last(document: Json, now: float, end: SessionEnd | None) -> list[str]:
    left, blocked, done = _sort_tasks(document["tasks"])
    notes = [clean_text(note, 3 * _LINE) for note in document["context"][-_NOTES:]]
    decisions = [_tell_decision(one) for one in document["decisions"][-_DECISIONS:]]
    files = _list_files(end.state) if end is not None else ""
    finished = clean_text("; ".join(done[-_DONE:]), 2 * _LINE)
    where = f", on branch {end.state.branch}" if end is not None and end.state.branch else ""
    return [
        f"## The last session here ({_tell_age(document, now)}{where})",
        *_list_summary(document, end),
        *(_quote_end(end) if end is not None else []),
        *_list_under("Open:", left, _TASKS),
        *_list_under("Blocked:", blocked, _TASKS),
        *([f"Files edited: {files}"] if files else []),
        *([f"Done: {finished}"] if finished else []),
        *_list_under("Decided:", decisions, _DECISIONS),
        *_list_under("Noted:", notes, _NOTES),
    ]


def _list_summary(document: Json, end: SessionEnd | None) -> list[str]:
    """The lines of the summary. A person's own is first, with a newer one of tacitd's below it."""
    lines = take_end(clean_lines(document.get("summary")), _SUMMARY).splitlines()
    if end is None or not end.state.kept_summary or document.get("summary") != end.state.kept_summary:
        return lines
    return [*lines, *clean_lines(f"Since then: {end.state.summary}").splitlines()]


def _quote_end(end: SessionEnd) -> list[str]:
    """The last words of the session, as a quotation."""
    state, turns = end.state, [f"You: {_tell_prompt(one)}" for one in end.prompts]
    last = end.prompts[-1] if end.prompts else None
    if last is not None and last.question and (state.answered or last.question not in state.said):
        turns[-1] += f' (asked: "{last.question}")'
    if state.said:
        turns.insert(len(turns) if state.answered else max(0, len(turns) - 1), f"Assistant: {state.said}")
    lines = [line for turn in turns for line in clean_lines(turn).splitlines() if line]
    return ["It ended with:", *(f"> {line}" for line in lines)] if lines else []


def _tell_prompt(turn: Turn) -> str:
    first = next((line for line in turn.words.splitlines() if line.strip()), "")
    return clean_text(first, _PROMPT)


def _list_files(state: TranscriptState) -> str:
    """The most edited files with the number of their edits, in one line."""
    files = sorted(state.edits.items(), key=lambda entry: -entry[1])[:_FILES]
    named = (f"{path} ({count})" if count > 1 else path for path, count in files)
    return clean_text(", ".join(named), 2 * _LINE)


def _sort_tasks(tasks: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str], list[str]]:
    """The titles of the tasks that are left (those in progress first), blocked, and done."""
    started, left, blocked, done = list[str](), list[str](), list[str](), list[str]()
    for task in tasks:
        title = clean_text(task.get("title"), _LINE)
        match task.get("status"):
            case "completed":
                done.append(title)
            case "blocked":
                why = clean_text(task.get("blockedBy"), _LINE)
                blocked.append(f"{title} (waits for: {why})" if why else title)
            case "in_progress":
                started.append(f"{title} (in progress)")
            case _:
                left.append(title)
    return [*started, *left], blocked, done


def _tell_decision(decision: Mapping[str, Any]) -> str:
    said, why = clean_text(decision.get("decision"), _LINE), clean_text(decision.get("rationale"), _LINE)
    return f"{said}, because: {why}" if said and why else said


def _list_under(heading: str, lines: Sequence[str], most: int) -> list[str]:
    shown = [f"- {line}" for line in lines if line]
    rest = [f"- … and {len(shown) - most} more"] if len(shown) > most else []
    return [heading, *shown[:most], *rest] if shown else []


def _tell_age(document: Json, now: float) -> str:
    last = parse_utc(document.get("lastActiveAt"))
    return "at an unknown time" if last is None or last > now + DAY else format_age(max(0.0, now - last))
