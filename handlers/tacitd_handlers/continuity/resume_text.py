"""The text for resuming the work in a project: its last session, and an earlier one with open tasks (SPEC P-26).

What a transcript contains is shown as a quotation, line by line, so that it cannot be taken for an instruction.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import SystemClock, parse_utc
from tacitd.files import git
from tacitd.session_context.context_request import ContextRequest, cut_text
from tacitd.session_context.plugin_view import open_rows
from tacitd.state.paths import state_dir
from tacitd.text.wording import format_age
from tacitd_handlers.continuity import make_plugin
from tacitd_handlers.continuity.session_document import DAY, Json, SessionFile, list_sessions
from tacitd_handlers.continuity.session_fold import TranscriptState, Turn, list_last_prompts, load_state
from tacitd_handlers.shared.model_text import clean_lines, clean_text, take_end

if TYPE_CHECKING:
    from tacitd.contract import Rows

_LINE, _PROMPT = 240, 300
"""Characters of a line, and of a prompt's first line."""
_SUMMARY = 2000
"""Characters of a summary: more than tacitd writes."""
_TASKS, _EARLIER, _DECISIONS, _NOTES, _DONE, _FILES = 8, 5, 5, 5, 8, 8
"""How many are shown: tasks, those of an earlier session, the last decisions, notes and done tasks, the most edited files."""


def build_resume_text(
    documents: Sequence[Json], now: float, state: TranscriptState | None = None, prompts: Sequence[Turn] = ()
) -> str:
    """Given the sessions of a project, the newest first, return the text; "" if there are none.

    `now` is seconds since 1970, UTC; the text says how long ago the sessions were. `state` and the last `prompts`, the newest last,
    are of the first one. Without them the text has what the file has.
    """
    if not documents:
        return ""
    return "\n".join(
        [
            *_list_last(documents[0], now, state or TranscriptState(""), prompts),
            *_list_earlier(documents, now),
        ]
    )


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


def _list_last(document: Json, now: float, state: TranscriptState, prompts: Sequence[Turn]) -> list[str]:
    left, blocked, done = _sort_tasks(document["tasks"])
    notes = [clean_text(note, 3 * _LINE) for note in document["context"][-_NOTES:]]
    decisions = [_tell_decision(one) for one in document["decisions"][-_DECISIONS:]]
    files = _list_files(state)
    finished = clean_text("; ".join(done[-_DONE:]), 2 * _LINE)
    where = f", on branch {state.branch}" if state.branch else ""
    return [
        f"## The last session here ({_tell_age(document, now)}{where})",
        *_list_summary(document, state),
        *_quote_end(state, prompts),
        *_list_under("Open:", left, _TASKS),
        *_list_under("Blocked:", blocked, _TASKS),
        *([f"Files edited: {files}"] if files else []),
        *([f"Done: {finished}"] if finished else []),
        *_list_under("Decided:", decisions, _DECISIONS),
        *_list_under("Noted:", notes, _NOTES),
    ]


def _list_summary(document: Json, state: TranscriptState) -> list[str]:
    """The lines of the summary. A person's own is first, with a newer one of tacitd's below it."""
    summary, ours = document.get("summary"), (state.file_summary, state.summary)
    lines = take_end(clean_lines(summary), _SUMMARY).splitlines()
    is_newer = bool(summary) and summary not in ours and state.summary not in ("", state.file_summary)
    return [*lines, *clean_lines(f"Since then: {state.summary}").splitlines()] if is_newer else lines


def _quote_end(state: TranscriptState, prompts: Sequence[Turn]) -> list[str]:
    first_lines = (next((line for line in one.words.splitlines() if line.strip()), "") for one in prompts)
    turns = [f"You: {clean_text(line, _PROMPT)}" for line in first_lines]
    last = prompts[-1] if prompts else None
    if last is not None and last.question and (state.answered or last.question not in state.said):
        turns[-1] += f' (asked: "{last.question}")'
    if state.said:
        turns.insert(len(turns) if state.answered else max(0, len(turns) - 1), f"Assistant: {state.said}")
    lines = [line for turn in turns for line in clean_lines(turn).splitlines() if line]
    return ["It ended with:", *(f"> {line}" for line in lines)] if lines else []


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


# --- for the start of a session, `tacitd sessions resume`, and agents. A session waits for it: no second try at a file that is being written.

BUDGET = 2_500
"""Characters of a new session's text."""
PROMPTS = 2


def make_text(request: ContextRequest) -> str:
    """Return the text for the directory's project; "" if there is no session to resume, other than the one that asks.

    A session that goes on, after a compaction or because it is resumed, needs no hand-off: then it is "" too.
    """
    if request.occasion != "start":
        return ""
    text = resume_project(request.rows, request.cwd, request.session)
    return cut_text(text, min(request.budget, BUDGET))


def read_last_session(cwd: Path, budget: int) -> str:
    """Return the text for a directory's project, at most `budget` characters; "" if there is no session."""
    with open_rows(make_plugin(), state_dir(os.environ)) as rows:
        return cut_text(resume_project(rows, cwd), budget)


def resume_project(rows: Rows, cwd: Path, without: str = "") -> str:
    """Return the text to go on with in a directory's project; "" if there is no session but `without`."""
    now = SystemClock().now()
    here = [
        one for one in select_sessions(list_sessions(rows, now)[0], cwd) if not without or one.id != without
    ]
    state = load_state(rows, here[0].id) if here else None
    prompts = list_last_prompts(rows, state.id, PROMPTS) if state is not None else []
    return build_resume_text([one.document for one in here], now, state, prompts)


def select_sessions(found: Sequence[SessionFile], cwd: Path) -> list[SessionFile]:
    """Return those of the sessions that belong to the project of a directory, in the same order."""
    _root.cache_clear()  # a repository may have been made or moved since the daemon asked last
    root = _root(str(cwd))
    return [one for one in found if one.project and _root(one.project) == root]


@cache
def _root(cwd: str) -> str:
    """The root of the git repository's main work tree; the directory itself if there is none. One that is gone still belongs to the
    repository that it was in."""
    real = Path(os.path.realpath(cwd))
    found = git.find_repository(real)
    return str(found.top if found is not None else real)
