"""The tasks of sessions: what changed is written into a session's file, a summary is asked for, a person's command is carried out, old
files are removed.

A session's end may never come, so nothing depends on it. What a file contains belongs to `session_document`, the summaries
to `summaries`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loguru import logger
from msgspec.structs import replace

from tacitd.clock import doubt_clock
from tacitd.contract import Cause, Done, FileChange, Later, Outcome, Task, Tools, Tx, nothing
from tacitd.errors import TacitdError
from tacitd.events import Project
from tacitd.files.purge import blank_in_place
from tacitd.handler import Degradation, Notice
from tacitd.model.port import Answer, ModelRequest, NoAnswer, Why
from tacitd.work.messages import send_message
from tacitd_handlers.continuity import session_document as documents
from tacitd_handlers.continuity import session_fold, summaries

BROKEN, CLOCK = "continuity.broken", "continuity.clock"
AT_ONCE = 20
"""Files that one task writes."""
BUSY_AGAIN = 60.0
"""Seconds until a file is written whose last change still waits."""
LAST_PROMPTS = 2
"""Prompts that are kept after a summary, for the text to resume with."""
_HEAD = frozenset(documents.list_leaves(dict.fromkeys(documents.KEYS)))
"""Leaves that are no part of the history: the transcript is."""


def run(task: Task, tools: Tools) -> Outcome:
    match task.kind:
        case "command":
            return _do_command(task, tools)
        case "job":
            return _prune(tools)
        case "purge":
            texts = [str(text) for text in task.data.get("texts", ())]
            changed = [
                path
                for path in sorted(documents.find_folder().glob(documents.PATTERN))
                if blank_in_place(path, texts)
            ]
            return Done(notices=[Notice("purged", str(path)) for path in changed])
    if isinstance(task.project, Project) and tools.write_mode(task.project) == "off":
        return Done()
    if task.kind == "message" and not task.session:
        return _write_all(task, tools)
    state = session_fold.load_state(tools.rows, str(task.data.get("session", task.session)))
    if state is None:
        return Done()
    is_summary = task.kind == "message" and task.data["do"] == "summary"
    # Otherwise something changed, the session ended, or it is about to be compacted.
    done = (
        _summarise(task, tools, state)
        if is_summary
        else _write(task, tools, state, is_over=task.kind != "message")
    )
    tools.clear(BROKEN)
    return done


# --- the file


def _write_all(task: Task, tools: Tools) -> Done:
    """Write what changed in the sessions of a project. The task of one whose file cannot be written says so."""
    now, written, left = tools.clock.now(), list[Done](), list[session_fold.TranscriptState]()
    # A file whose last change still waits, such as for an editor, stops no other.
    planned = {path for (path,) in tools.rows("SELECT DISTINCT path FROM plan")}
    every = session_fold.list_unwritten(tools.rows, task.project_number, AT_ONCE + 1 + len(planned))
    found = [state for state in every if str(documents.find_path(state.id)) not in planned]
    for state in found[:AT_ONCE]:
        try:
            written.append(_write(task, tools, state))
        except (OSError, TacitdError):
            left.append(state)

    def apply(tx: Tx) -> None:
        for one in written:
            one.apply(tx)
        for state in left:
            session_fold.note_written(tx, state)
            session_fold.queue_write(tx, task, state.id, now)
        if len(found) > AT_ONCE:
            session_fold.queue_write(tx, task, "", now)
        elif len(found) < len(every):
            session_fold.queue_write(tx, task, "", now, now + BUSY_AGAIN)

    return Done(apply, [change for one in written for change in one.files])


def _write(
    task: Task,
    tools: Tools,
    state: session_fold.TranscriptState,
    store: Callable[[Tx], None] = nothing,
    decisions: Sequence[Mapping[str, Any]] = (),
    *,
    is_over: bool = False,
    asks: bool = True,
) -> Done:
    """Write what changed in a session into its file, with the model's decisions, and what `store` changes. `asks`: a summary follows
    when it is due."""
    path = documents.find_path(state.id)
    before = documents.read_checked(path)
    after = documents.update_document(before, state, decisions)
    ours = state.summary if str(after.get("summary") or "") == state.summary else state.file_summary
    now, settings = tools.clock.now(), tools.settings["continuity"]

    def apply(tx: Tx) -> None:
        session_fold.note_written(tx, state)
        tx.execute(
            "UPDATE continuity_session SET written = ?, file_summary = ? WHERE id = ?",
            *(session_fold.dump_json(state.tasks), ours, state.id),
        )
        store(tx)
        if asks and settings.summaries and (not is_over or summaries.is_worth_a_summary(state, settings)):
            due = summaries.find_due(state, settings, now, is_over=is_over or state.compacted)
            data = {"do": "summary", "session": state.id, "is_over": is_over}
            about = replace(task, session=state.id)
            send_message(tx, "continuity", "continuity", f"summary {state.id}", about, data, now, due)

    decide = documents.decide_document(lambda document: documents.update_document(document, state, decisions))
    cause = Cause(f"session {state.id} {task.number}", "tacitd", session=state.id)
    change = FileChange(path, documents.LEAVES, decide, cause, theirs=True, unlisted=_HEAD)
    return Done(apply, [change] if after != before else [])


# --- the summary


def _summarise(task: Task, tools: Tools, state: session_fold.TranscriptState) -> Outcome:
    settings, now = tools.settings["continuity"], tools.clock.now()
    is_over = bool(task.data.get("is_over"))
    is_old = state.last < now - documents.MAX_AGE_DAYS * documents.DAY  # read again; its file goes
    if is_old or not summaries.is_worth_a_summary(state, settings):
        return Done()
    if summaries.find_due(state, settings, now, is_over=is_over or state.compacted) > now:
        return _write(task, tools, state, is_over=is_over)
    documents.read_checked(
        documents.find_path(state.id)
    )  # before the call: what cannot be written is not paid for
    turns = session_fold.list_turns(tools.rows, state.id, state.asked_turn)
    lines, times, parts = summaries.excerpt_session(state, turns)
    found = summaries.SummaryAnswer(state.summary, ())
    if parts:
        prompt = summaries.build_prompt(lines, state.tasks)
        said = tools.ask(ModelRequest(prompt, "fast", purpose="session"), parts)
        if isinstance(said, NoAnswer) and said.why is not Why.REPEATED and not said.blames_the_prompt:
            return Later(said.reason, said.hint, said.retry_at)
        answer = (
            summaries.parse_answer(said.text, state.last, times) if isinstance(said, Answer) else said.reason
        )
        if isinstance(answer, str):
            logger.info("no summary of the session {}: {}", state.id, answer)
        else:
            found = answer
    upto = max((one.number for one in turns), default=state.asked_turn)

    def end(tx: Tx) -> None:
        tx.execute(
            "UPDATE continuity_session SET turns = turns - ?, size = size - ?, compacted = 0, asked_at = ?, "
            "asked_turn = ?, summary = ? WHERE id = ?",
            *(state.turns, state.size, now, upto, found.summary, state.id),
        )
        session_fold.forget_turns(tx, state.id, upto, LAST_PROMPTS)

    return _write(task, tools, replace(state, summary=found.summary), end, found.decisions, asks=False)


# --- commands


def _do_command(task: Task, tools: Tools) -> Done:
    session, at = str(task.data["session"]), tools.clock.now()
    path = documents.find_path(session)
    before = documents.read_checked(path)

    def edit(document: documents.Json | None) -> documents.Json:
        if document is None:
            raise TacitdError(f"there is no session {session!r}", "tacitd sessions list")
        return documents.apply_command(document, task.data, at)

    unlisted = _HEAD | documents.list_leaves(edit(before)).keys() | documents.list_leaves(before or {}).keys()
    cause = Cause(task.key, "person", f"sessions {task.data['do']}", session)
    return Done(
        files=[
            FileChange(
                path, documents.LEAVES, documents.decide_document(edit), cause, theirs=True, unlisted=unlisted
            )
        ]
    )


# --- pruning


def _prune(tools: Tools) -> Done:
    """Remove the files and rows of sessions that were last active more than thirty days ago (SPEC P-24)."""
    now = tools.clock.now()
    found, faults = documents.list_sessions(tools.rows, now)
    times = (one.last_active for one in found if one.last_active <= now + documents.DAY)
    doubt = doubt_clock(now, max(times, default=None))
    if doubt:
        tools.degrade(Degradation(CLOCK, doubt, "set the clock; until then no session is removed"))
        return Done()
    tools.clear(CLOCK)
    limit = now - documents.MAX_AGE_DAYS * documents.DAY
    old = [one for one in found if 0.0 < one.last_active < limit]  # exactly 30 stays
    for one in old:
        one.path.unlink(missing_ok=True)
    if faults:
        tools.degrade(Degradation(BROKEN, faults[0], "correct it by hand, or remove it"))
    else:
        tools.clear(BROKEN)
    rows = tools.rows("SELECT id FROM continuity_session WHERE last < ?", limit)
    ids = [(id,) for (id,) in rows if not documents.find_path(id).exists()]

    def apply(tx: Tx) -> None:
        for table, column in (("continuity_session", "id"), ("continuity_turn", "session")):
            tx.executemany(f"DELETE FROM {table} WHERE {column} = ?", ids)
        tx.executemany("DELETE FROM shared_file WHERE path = ?", [(str(one.path),) for one in old])

    return Done(apply)
