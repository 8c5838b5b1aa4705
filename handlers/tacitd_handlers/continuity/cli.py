"""`tacitd sessions …`: list, show and resume sessions, and record tasks, decisions and notes.

This module parses arguments and prints. Changes belong to `session_edits`, the text of a session to `resume_text`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from tacitd.cli.common import echo_json, echo_message, resolve_directory
from tacitd.cli.program import OrderedGroup
from tacitd.clock import local_minutes, parse_utc
from tacitd.errors import UsageError
from tacitd.text.text_table import format_table
from tacitd_handlers.continuity import resume_text, session_edits
from tacitd_handlers.continuity.render import with_summary
from tacitd_handlers.continuity.session_choice import find_unreadable_last, select_sessions
from tacitd_handlers.continuity.store import SessionFile, SessionStore, open_tasks
from tacitd_handlers.continuity.stored_progress import Json, list_summary_notes
from tacitd_handlers.continuity.stored_text import clean_lines, clean_text


@click.group(cls=OrderedGroup, epilog="\b\nExample: tacitd sessions list\nExample: tacitd sessions resume")
def sessions() -> None:
    """Show, resume and edit your sessions with Claude Code: tasks, what blocks them, decisions, notes."""


def open_store() -> SessionStore:
    """Return the store of this process's environment."""
    return SessionStore.from_environ(os.environ)


OWN_SESSION = "CLAUDE_CODE_SESSION_ID"
"""The variable in which Claude Code passes the session id to its children."""
SESSION = click.option(
    "--session",
    "id",
    help="A session's id or its beginning; the default is the session of Claude Code that runs the command, otherwise the newest "
    "of this project.",
)


@sessions.command("list", epilog="\b\nExample: tacitd sessions list ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option(
    "--json", "as_json", is_flag=True, help="As JSON: id, directory, times, summary, number of open tasks."
)
def list_(project: str | None, as_json: bool) -> None:
    """List all sessions, or those of a project; the newest first."""
    found, unreadable = open_store().read_sessions()
    if project is not None:
        found = select_sessions(found, resolve_directory(project))
    if as_json:
        echo_json([_row(one) for one in found])
        return
    for line in format_table(("LAST ACTIVE", "ID", "OPEN TASKS", "SUMMARY"), map(_cells, found), right=(2,)):
        click.echo(line)
    for each in unreadable:
        echo_message(f"cannot read: {each.what}")
    if not found:
        echo_message("there are no sessions yet")


@sessions.command(epilog="\b\nExample: tacitd sessions show 0fae0449 --json")
@click.argument("id", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the session's file as it is.")
def show(id: str | None, as_json: bool) -> None:
    """Show a session: summary, tasks with their notes, decisions with their reasons, notes. The default is the newest one of
    this project."""
    one = _session(id)
    if as_json:
        echo_json(one.document)
        return
    click.echo(f"{one.id}  {one.project}")
    if summary := clean_lines(one.document.get("summary")):
        click.echo(summary)
    for task in one.document.get("tasks", ()):
        click.echo(_task(task))
    for decision in one.document.get("decisions", ()):
        click.echo("\n".join(_decision(decision)))
    for note in one.document.get("context", ()):
        click.echo(f"noted: {_indented(note)}")
    _warn(one)


@sessions.command(epilog='\b\nExample: claude "$(tacitd sessions resume)"')
@click.argument("project", metavar="[DIR]", required=False)
def resume(project: str | None) -> None:
    """Print a text with which to start the next session of a project."""
    at, cwd = open_store(), resolve_directory(project)
    readable, unreadable = at.read_sessions()
    found = select_sessions(readable, cwd)
    last = find_unreadable_last(at, found, unreadable, cwd)
    documents, why = [one.document for one in found], last.what if last is not None else ""
    state = at.load_progress(found[0].id) if found else None
    said = resume_text.build_resume_text(documents, at.clock.now(), unreadable=why, state=state)
    for one in unreadable:
        if one is not last and (not one.project or select_sessions([one], cwd)):
            echo_message(f"cannot read: {one.what}")
    if said:
        click.echo(said)
    else:
        echo_message("there is no session to resume here")


@sessions.command(epilog='\b\nExample: tacitd sessions task "Add users table" --blocked-by "DBA approval"')
@click.argument("title", required=False)
@click.option(
    "--id", "task", help="The id of the task to change. A new id creates the task, and needs a TITLE."
)
@click.option("--status", type=click.Choice(session_edits.STATUSES))
@click.option("--blocked-by", help="What blocks the task; sets its status to blocked.")
@click.option("--notes", help="Notes on the task.")
@click.option("--parent", help="The id of the task that this one is a part of.")
@SESSION
def task(
    title: str | None, task: str | None, status: str | None, blocked_by: str | None, notes: str | None,
    parent: str | None, id: str | None,
) -> None:  # fmt: skip
    """Create or change a task. Values that are not given stay."""
    if title is None and task is None:
        raise UsageError("a title or an id is missing", "tacitd sessions task TITLE, or --id ID")
    if blocked_by is not None and status not in (None, "blocked"):
        raise UsageError(f"a task that is {status} cannot be blocked", "leave out --status or --blocked-by")
    at, one = open_store(), _session(id)
    named = task or session_edits.new_id(title or "", one.document)
    said = session_edits.TaskChange(named, title, status, blocked_by, notes, parent)
    at.edit_session(one.id, lambda document: session_edits.with_task(document, said, at.clock.now()))
    click.echo(named)


@sessions.command(
    epilog='\b\nExample: tacitd sessions decide "Use JWT" --because "stateless" --instead "Session cookies"'
)
@click.argument("decision")
@click.option("--because", default="", help="The reason.")
@click.option("--instead", multiple=True, help="An alternative that was considered; may be repeated.")
@SESSION
def decide(decision: str, because: str, instead: tuple[str, ...], id: str | None) -> None:
    """Record a decision."""
    _edit_session(
        id,
        decision,
        lambda document, at: session_edits.with_decision(document, decision, because, instead, at),
    )


@sessions.command(epilog='\b\nExample: tacitd sessions note "Project uses PostgreSQL 15"')
@click.argument("text")
@SESSION
def note(text: str, id: str | None) -> None:
    """Record a note."""
    state = open_store().load_progress(_session(id).id)
    own = {*list_summary_notes(state), *state.written_notes} if state is not None else set[str]()
    _edit_session(id, text, lambda document, at: session_edits.with_note(document, text, own))


@sessions.command(epilog='\b\nExample: tacitd sessions summary "The parser works; its tests are left."')
@click.argument("text")
@SESSION
def summary(text: str, id: str | None) -> None:
    """Set the summary, which then stays: a later one of the model becomes a note."""
    _edit_session(id, text, lambda document, at: with_summary(document, text.strip()))


def _edit_session(id: str | None, text: str, make: Any) -> None:
    if not text.strip():
        raise UsageError("there is nothing to record")
    at, one = open_store(), _session(id)
    at.edit_session(one.id, lambda document: make(document, at.clock.now()))
    echo_message(f"recorded in {one.id}")


def _session(id: str | None) -> SessionFile:
    """The session with this id, that of the client which runs this process, or this project's newest one.

    Raises UsageError if there is none, or it cannot be read.
    """
    at, cwd = open_store(), resolve_directory(None)
    if id is not None:
        return at.find_session(id)
    if own := os.environ.get(OWN_SESSION, ""):
        if not at.session_path(own).exists():
            raise UsageError(
                f"this session ({own}) has no file yet",
                "the daemon writes it; `--session ID` names another one",
            )
        return at.find_session(own)
    readable, unreadable = at.read_sessions()
    found = select_sessions(readable, cwd)
    last = find_unreadable_last(at, found, unreadable, cwd)
    if last is not None:
        raise UsageError(
            f"the newest session of this project cannot be read: {last.what}",
            "correct the file, or name another session (`tacitd sessions list`)",
        )
    if not found:
        raise UsageError(
            "this project has no session yet", "find one with `tacitd sessions list`, and give --session ID"
        )
    return found[0]


def _cells(one: SessionFile) -> tuple[str, ...]:
    about = clean_text(one.document.get("summary"), 80) or clean_text(one.project, 400)
    return _when(one), clean_text(one.id[:8], 8), str(len(open_tasks(one.document))), about


def _row(one: SessionFile) -> Json:
    row: Json = {"id": one.id, "sessionId": one.id, "projectPath": one.project}
    row |= {key: one.document.get(key) for key in ("startedAt", "lastActiveAt", "summary")}
    return row | {"open": len(open_tasks(one.document))}


def _when(one: SessionFile) -> str:
    at = parse_utc(one.document.get("lastActiveAt"))
    return local_minutes(at).replace("T", " ") if at is not None else "?" * 16


def _task(task: Json) -> str:
    mark = {"completed": "x", "in_progress": ">", "blocked": "!"}.get(str(task.get("status")), " ")
    why = f"  (waits for: {clean_text(task['blockedBy'], 120)})" if task.get("blockedBy") else ""
    notes = f"\n    notes: {_indented(task['notes'])}" if task.get("notes") else ""
    return f"[{mark}] {task.get('id')}  {clean_text(task.get('title'), 160)}{why}{notes}"


def _decision(decision: Json) -> Iterator[str]:
    at = parse_utc(decision.get("timestamp"))
    when = f"  ({local_minutes(at).replace('T', ' ')})" if at is not None else ""
    yield f"decided: {clean_text(decision.get('decision'), 400)}{when}"
    if rationale := clean_text(decision.get("rationale"), 400):
        yield f"    because: {rationale}"
    others = decision.get("alternatives")
    for other in others if isinstance(others, list) else ():
        yield f"    instead of: {clean_text(other, 400)}"


def _indented(text: object) -> str:
    """A text of several lines; the further ones are indented."""
    return clean_lines(text).replace("\n", "\n    ")


def _warn(one: SessionFile) -> None:
    from tacitd_handlers.continuity.session_schema import find_dangling

    for child in find_dangling(one.document):
        echo_message(f"warning: {child!r} is listed in `children` and is not a task of the session")
