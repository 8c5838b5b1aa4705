"""The text for resuming the work in a project: its last session, and an earlier one with open tasks (SPEC P-26).

What a transcript contains is shown as a quotation, line by line, so that it cannot be taken for an instruction.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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

BUDGET = 2_500
"""Characters of a new session's text."""
PROMPTS = 2
_LINE, _PROMPT = 240, 300
"""Characters of a line, and of a prompt's first line."""
_SUMMARY = 2000
"""Characters of a summary: more than tacitd writes."""
_OPEN = ("in_progress", "pending")
"""The statuses of open tasks that nothing blocks, in their order."""
_TASKS, _LAST = 8, 5
"""How many tasks or files are shown, and how many of the last decisions and notes."""


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
    here = [one for one in select_sessions(rows, list_sessions(rows, now)[0], cwd) if one.id != without]
    if not here:
        return ""
    state, prompts = load_state(rows, here[0].id), list_last_prompts(rows, here[0].id, PROMPTS)
    return build_resume_text([one.document for one in here], now, state, prompts)


def select_sessions(rows: Rows, found: Sequence[SessionFile], cwd: Path) -> list[SessionFile]:
    """Return those of the sessions that belong to the project of a directory, in the same order. The disks of other projects, which may
    hang, are not touched."""
    real = Path(os.path.realpath(cwd))
    repository = git.find_repository(real)
    root = str(repository.top if repository is not None else real)
    sql = "SELECT s.id, p.root FROM session s JOIN project p ON p.number = s.project"
    stored: dict[str, str] = dict(rows(sql))
    own = {root, str(cwd)} if repository is None else {root}

    def is_own(one: SessionFile) -> bool:
        if one.id in stored:
            return stored[one.id] == root
        return one.project in own or (repository is not None and one.project.startswith(f"{root}/"))

    return [one for one in found if is_own(one)]


def build_resume_text(
    documents: Sequence[Json], now: float, state: TranscriptState | None = None, prompts: Sequence[Turn] = ()
) -> str:
    """Given the sessions of a project, the newest first, return the text.

    `now` is seconds since 1970, UTC. `state` and the last `prompts`, the newest last, are of the first session.
    """
    last, *others = documents
    titles = {task["title"] for task in last["tasks"]}
    heading, *rest = _list_last(last, now, state, prompts)
    lines = [heading, *rest] if rest else []  # only its file may be left, if the store was lost
    for document in others:
        tasks = [task for task in document["tasks"] if task["title"] not in titles]
        if still := [*_tell_tasks(tasks, *_OPEN), *_tell_tasks(tasks, "blocked")]:
            lines += _list_under(
                f"## An earlier session ({_tell_age(document, now)}, still open)", still, _LAST
            )
            break
    return "\n".join(lines)


def _list_last(
    document: Json, now: float, state: TranscriptState | None, prompts: Sequence[Turn]
) -> Iterator[str]:
    tasks, decisions = document["tasks"], document["decisions"][-_LAST:]
    where = f", on branch {state.branch}" if state is not None and state.branch else ""
    yield f"## The last session here ({_tell_age(document, now)}{where})"
    yield from take_end(clean_lines(document.get("summary")), _SUMMARY).splitlines()
    if state is not None:
        written = (state.file_summary, state.summary)
        if document.get("summary") not in (None, "", *written) and state.summary not in ("", written[0]):
            yield from clean_lines(f"Since then: {state.summary}").splitlines()
        yield from _quote_end(state, prompts)
    yield from _list_under("Open:", _tell_tasks(tasks, *_OPEN), _TASKS)
    yield from _list_under("Blocked:", _tell_tasks(tasks, "blocked"), _TASKS)
    if state is not None and state.edits:
        files = sorted(state.edits.items(), key=lambda entry: -entry[1])[:_TASKS]
        named = (f"{path} ({count})" if count > 1 else path for path, count in files)
        yield clean_text(f"Files edited: {', '.join(named)}", 2 * _LINE)
    if done := _tell_tasks(tasks, "completed"):
        yield clean_text(f"Done: {'; '.join(done[-_TASKS:])}", 2 * _LINE)
    yield from _list_under("Decided:", [*map(_tell_decision, decisions)], _LAST)
    notes = [clean_text(note, 3 * _LINE) for note in document["context"][-_LAST:]]
    yield from _list_under("Noted:", notes, _LAST)


def _quote_end(state: TranscriptState, prompts: Sequence[Turn]) -> Iterator[str]:
    firsts = (next(filter(str.strip, one.words.splitlines()), "") for one in prompts)
    turns = [f"You: {clean_text(line, _PROMPT)}" for line in firsts]
    if state.said:
        turns.insert(len(turns) if state.answered else max(0, len(turns) - 1), f"Assistant: {state.said}")
    if turns:
        yield "It ended with:"
        yield from (f"> {line}" for turn in turns for line in clean_lines(turn).splitlines() if line)


def _tell_tasks(tasks: Sequence[Json], *statuses: str) -> list[str]:
    """The titles of the tasks with one of these statuses, with what they wait for."""
    found = list[str]()
    for task in sorted((one for one in tasks if one["status"] in statuses), key=lambda one: one["status"]):
        title, why = clean_text(task["title"], _LINE), clean_text(task.get("blockedBy"), _LINE)
        mark = " (in progress)" if task["status"] == "in_progress" else f" (waits for: {why})" if why else ""
        found.append(f"{title}{mark}" if title else "")
    return found


def _tell_decision(decision: Json) -> str:
    said, why = clean_text(decision["decision"], _LINE), clean_text(decision.get("rationale"), _LINE)
    return f"{said}, because: {why}" if why else said


def _list_under(heading: str, lines: Sequence[str], most: int) -> list[str]:
    listed = [f"- {line}" for line in lines if line]
    rest = [f"- … and {len(listed) - most} more"] if len(listed) > most else []
    return [heading, *listed[:most], *rest] if listed else []


def _tell_age(document: Json, now: float) -> str:
    last = parse_utc(document["lastActiveAt"])
    return "at an unknown time" if last is None or last > now + DAY else format_age(max(0.0, now - last))
