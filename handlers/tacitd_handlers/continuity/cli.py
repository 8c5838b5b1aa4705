"""`tacitd sessions …`: list, show and resume sessions, and record tasks, decisions and notes.

This module parses arguments and prints. A command that changes is a task: what it does belongs to `handler`, and the text to go on with to
`resume_text`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import click

from tacitd.cli.common import (
    ask_plugin,
    connect_or_run,
    echo_json,
    echo_message,
    echo_table,
    get_paths,
    json_option,
    resolve_directory,
)
from tacitd.cli.program import OrderedGroup
from tacitd.clock import SystemClock, local_minutes, parse_utc
from tacitd.contract import Rows
from tacitd.errors import UsageError
from tacitd.mcp.agent_caller import find_own_session
from tacitd.mcp.agent_tools import AgentInterface, AgentResource, AgentTool, ToolParameter
from tacitd.session_context.plugin_view import open_rows
from tacitd_handlers.continuity import make_plugin
from tacitd_handlers.continuity import session_document as documents
from tacitd_handlers.continuity.resume_text import resume_project, select_sessions
from tacitd_handlers.shared.model_text import clean_lines, clean_text

SESSION = click.option(
    "--session",
    "id",
    help="A session's id or its beginning; the default is the session of Claude Code that runs the command, otherwise the newest "
    "of this project.",
)


@click.group(
    cls=OrderedGroup,
    alone="list",
    epilog="\b\nExample: tacitd sessions list\nExample: tacitd sessions resume",
)
def sessions() -> None:
    """Show, resume and edit your sessions with Claude Code: tasks, what blocks them, decisions, notes."""


@sessions.command("list", epilog="\b\nExample: tacitd sessions list ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@json_option("As JSON: id, directory, times, summary, number of open tasks.")
def list_(project: str | None, as_json: bool) -> None:
    """List all sessions, or those of a project; the newest first."""
    with _open_rows() as rows:
        found, faults = documents.list_sessions(rows, SystemClock().now())
        readable = _select(rows, found, project) if project else found
    if as_json:
        echo_json([_row(one) for one in readable])
        return
    head = ("LAST ACTIVE", "ID", "OPEN TASKS", "SUMMARY")
    echo_table(head, map(_cells, readable), "there are no sessions yet", right=(2,))
    _echo_faults(faults)


@sessions.command(epilog="\b\nExample: tacitd sessions show 0fae0449 --json")
@click.argument("id", required=False)
@json_option("Print the session's file as it is.")
def show(id: str | None, as_json: bool) -> None:
    """Show a session by the fields of its file. The default is the newest one of this project."""
    one = _session(id)
    if as_json:
        echo_json(one.document)
        return
    for line in _list_lines(one.document):
        click.echo(line)
    ids = {task["id"] for task in one.document["tasks"]}
    named = (child for task in one.document["tasks"] for child in task.get("children") or ())
    for child in (child for child in named if child not in ids):  # it deserves a warning (SPEC P-22)
        echo_message(f"warning: {child!r} is listed in `children` and is not a task of the session")


def _list_lines(document: documents.Json, indent: str = "") -> Iterator[str]:
    """A document's fields by their names in the file, without empty ones; each item of a list on its own, a mark before its first
    field. Nothing that is hidden or looks like a secret."""
    for key, value in document.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield f"{indent}{clean_text(key, 100)}:"
                yield from _list_lines(one, f"{indent}  ")
            elif text := clean_lines(one if isinstance(one, str) else json.dumps(one)):
                below = f"\n{indent}  "
                yield f"{indent}{clean_text(key, 100)}: {text.replace(chr(10), below)}"


@sessions.command(epilog='\b\nExample: claude "$(tacitd sessions resume)"')
@click.argument("project", metavar="[DIR]", required=False)
def resume(project: str | None) -> None:
    """Print a text with which to start the next session of a project."""
    with _open_rows() as rows:
        found, faults = documents.list_sessions(rows, SystemClock().now())
        _select(rows, found, project)
        said = resume_project(rows, resolve_directory(project, missing_ok=project is not None))
    _echo_faults(faults)
    if said:
        click.echo(said)
    else:
        echo_message("there is no session to resume here")


@sessions.command(epilog='\b\nExample: tacitd sessions task "Add users table" --blocked-by "DBA approval"')
@click.argument("title", required=False)
@click.option(
    "--id", "task", help="The id of the task to change. A new id creates the task, and needs a TITLE."
)
@click.option("--status", type=click.Choice(documents.STATUSES))
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
    one = _session(id)
    named = task or documents.new_id(title or "", one.document)
    status = "blocked" if blocked_by is not None else status
    given = {"title": title, "status": status, "notes": notes, "blockedBy": blocked_by}
    _change(one, "task", task=named, given=given, parent=parent)
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
    _record(id, "decide", decision, because=because, instead=list(instead))


@sessions.command(epilog='\b\nExample: tacitd sessions note "Project uses PostgreSQL 15"')
@click.argument("text")
@SESSION
def note(text: str, id: str | None) -> None:
    """Record a note."""
    _record(id, "note", text)


@sessions.command(epilog='\b\nExample: tacitd sessions summary "The parser works; its tests are left."')
@click.argument("text")
@SESSION
def summary(text: str, id: str | None) -> None:
    """Set the summary, which then stays: one of the model's does not replace it."""
    _record(id, "summary", text.strip())


def _open_rows() -> AbstractContextManager[Rows]:
    return open_rows(make_plugin(), get_paths().state_dir)


def _record(id: str | None, do: str, text: str, **more: Any) -> None:
    if not text.strip():
        raise UsageError("there is nothing to record")
    one = _session(id)
    _change(one, do, text=text, **more)
    echo_message(f"recorded in {one.id}")


def _change(one: documents.SessionFile, do: str, **data: Any) -> None:
    with connect_or_run() as call:
        ask_plugin(call, "continuity", do=do, session=one.id, **data)


def _echo_faults(faults: Sequence[str]) -> None:
    for fault in faults:
        echo_message(f"cannot read: {fault}")


def _select(
    rows: Rows, found: Sequence[documents.SessionFile], given: str | None
) -> list[documents.SessionFile]:
    """The sessions of the project of a directory. It may be gone; then UsageError is raised if there are none."""
    here = select_sessions(rows, found, resolve_directory(given, missing_ok=given is not None))
    if not here:
        resolve_directory(given)
    return here


def _session(id: str | None) -> documents.SessionFile:
    """The session with this id, that of the client which runs this process, or this project's newest one. Raises TacitdError."""
    now = SystemClock().now()
    with _open_rows() as rows:
        if id is not None:
            return documents.find_session(rows, id, now)
        if own := find_own_session(os.environ):
            if not documents.find_path(own).exists():
                hint = "the daemon writes it; `--session ID` names another one"
                raise UsageError(f"this session ({own}) has no file yet", hint)
            return documents.find_session(rows, own, now)
        here = _select(rows, documents.list_sessions(rows, now)[0], None)
    if not here:
        raise UsageError("this project has no session yet", "`tacitd sessions list`, and give --session ID")
    return here[0]


def _cells(one: documents.SessionFile) -> tuple[str, ...]:
    about = clean_text(one.document.get("summary"), 80) or clean_text(one.project, 400)
    active = local_minutes(parse_utc(one.document["lastActiveAt"]) or 0.0).replace("T", " ")
    return active, one.id[:8], str(len(documents.open_tasks(one.document))), about


def _row(one: documents.SessionFile) -> documents.Json:
    fields = {key: one.document.get(key) for key in documents.KEYS[:5]}
    return {
        "id": one.id,
        **fields,
        "projectPath": one.project,
        "open": len(documents.open_tasks(one.document)),
    }


# --- what agents can ask and change

ANY_SESSION = ToolParameter(
    "session", "A session's id or its beginning; leave it out for the newest one of this project.", of="id"
)
CONTINUITY = AgentInterface(
    tools=(
        AgentTool(
            "list_sessions",
            "The person's sessions in all projects, the newest first: summary, directory, times, number of open tasks.",
            ("sessions", "list", "--json"),
            (ToolParameter("project", "Only sessions of this directory's project."),),
            is_rare=True,
        ),
        AgentTool(
            "get_session",
            "One session whole: its summary, tasks and what blocks them, decisions with reasons, notes.",
            ("sessions", "show", "--json"),
            (ANY_SESSION,),
        ),
        AgentTool(
            "save_task",
            "Create a task of this session, or change one by its id. Use it for work that outlives the session. "
            "Returns the task's id.",
            ("sessions", "task"),
            (
                ToolParameter("title", "What is to be done; needed for a new task."),
                ToolParameter("id", "The id of the task to change.", of="task"),
                ToolParameter("status"),
                ToolParameter("blocked_by", "What it waits for; makes it blocked."),
                ToolParameter("notes", "What the next session must know to go on."),
                ToolParameter("parent", "The id of the task that this one is a part of."),
                ANY_SESSION,
            ),
            effect="adds",
        ),
        AgentTool(
            "record_decision",
            "Record a decision that was made with the person in this session, with its reason.",
            ("sessions", "decide"),
            (
                ToolParameter("decision", "What was decided."),
                ToolParameter("because", "The reason."),
                ToolParameter("instead", "Alternatives that were considered."),
                ANY_SESSION,
            ),
            effect="adds",
        ),
        AgentTool(
            "record_note",
            "Record what the next session in this project must know: state, traps, next steps.",
            ("sessions", "note"),
            (ToolParameter("text", "One note, of a few sentences at most."), ANY_SESSION),
            effect="adds",
        ),
        AgentTool(
            "set_summary",
            "Set the summary of this session, at a hand-off: what was done, what is left, what is in the way. It replaces "
            "the one that is there, and tacitd writes none over it.",
            ("sessions", "summary"),
            (ToolParameter("text", "At most three sentences."), ANY_SESSION),
            effect="adds",
            is_rare=True,
        ),
    ),
    resources=(
        AgentResource(
            "session",
            "Last session",
            "Where the last session of this project ended: summary, open tasks, decisions.",
            read="tacitd_handlers.continuity.resume_text:read_last_session",
        ),
    ),
)
