"""`tacitd sessions …`: look at sessions, go on with one, and say what the transcript does not."""

from __future__ import annotations

import os
from typing import Any

import click

from tacitd.cli import Ordered
from tacitd.cli.places import data, directory, talk
from tacitd.clock import local_minutes, parse_utc
from tacitd.errors import UsageError
from tacitd_handlers.continuity import changes, resuming
from tacitd_handlers.continuity.choose import of_project
from tacitd_handlers.continuity.render import Json
from tacitd_handlers.continuity.store import Session, Store, open_tasks
from tacitd_handlers.continuity.words import plain


@click.group(cls=Ordered, epilog="\b\nExample: tacitd sessions list\nExample: tacitd sessions resume")
def sessions() -> None:
    """Your sessions with Claude Code, to be picked up again: tasks, what blocks them, decisions, notes."""


def store() -> Store:
    """The store of this process's environment."""
    return Store.of(os.environ)


SESSION = click.option(
    "--session", "id", help="A session's id, or its beginning; the newest of this project if not given."
)


@sessions.command("list", epilog="\b\nExample: tacitd sessions list ~/work/app")
@click.argument("project", metavar="[DIR]", required=False)
@click.option(
    "--json", "as_json", is_flag=True, help="Id, directory, times, summary, how many tasks are open."
)
def list_(project: str | None, as_json: bool) -> None:
    """All sessions, or those of a project; the newest first."""
    found = store().all()
    if project is not None:
        found = of_project(found, directory(project))
    if as_json:
        data([_row(one) for one in found])
        return
    for one in found:
        left = len(open_tasks(one.document))
        about = plain(one.document.get("summary"), 80) or one.project
        click.echo(f"{_when(one)}  {one.id[:8]:<8}  {left} open  {about}")
    for what in store().broken():
        talk(f"not readable: {what}")
    if not found:
        talk("there is no session yet")


@sessions.command(epilog="\b\nExample: tacitd sessions show 0fae0449 --json")
@click.argument("id", required=False)
@click.option("--json", "as_json", is_flag=True, help="The session's file as it stands.")
def show(id: str | None, as_json: bool) -> None:
    """A session; the newest of this project if none is named."""
    one = _session(id)
    if as_json:
        data(one.document)
        return
    click.echo(f"{one.id}  {one.project}")
    if summary := one.document.get("summary"):
        click.echo(str(summary))
    for task in one.document.get("tasks", ()):
        click.echo(_task(task))
    for decision in one.document.get("decisions", ()):
        click.echo(f"decided: {plain(decision.get('decision'), 200)}")
    for note in one.document.get("context", ()):
        click.echo(f"noted: {plain(note, 200)}")
    _warn(one)


@sessions.command(epilog='\b\nExample: claude "$(tacitd sessions resume)"')
@click.argument("project", metavar="[DIR]", required=False)
def resume(project: str | None) -> None:
    """The text to begin the next session of a project with."""
    at = store()
    for one in of_project(at.all(), directory(project)):
        if said := resuming.text(one.document, at.clock.now()):
            click.echo(said)
            return
    talk("there is nothing to go on with here")


@sessions.command(epilog='\b\nExample: tacitd sessions task "Add users table" --blocked-by "DBA approval"')
@click.argument("title", required=False)
@click.option("--id", "task", help="The task's id: changes that one; with a new id and a title, makes it.")
@click.option("--status", type=click.Choice(changes.STATUSES))
@click.option("--blocked-by", help="What is in the way; the task is blocked then.")
@click.option("--notes", help="About the task.")
@click.option("--parent", help="The id of the task that it is a part of.")
@SESSION
def task(
    title: str | None, task: str | None, status: str | None, blocked_by: str | None, notes: str | None,
    parent: str | None, id: str | None,
) -> None:  # fmt: skip
    """Make a task, or change one. What is not named stays."""
    if title is None and task is None:
        raise UsageError("there is neither a title nor an id", "tacitd sessions task TITLE, or --id ID")
    if blocked_by is not None and status not in (None, "blocked"):
        raise UsageError(f"what is {status} is not blocked", "leave out --status or --blocked-by")
    at, one = store(), _session(id)
    named = task or changes.new_id(title or "", one.document)
    said = changes.Task(named, title, status, blocked_by, notes, parent)
    at.edit(one.id, lambda document: changes.with_task(document, said, at.clock.now()))
    click.echo(named)


@sessions.command(
    epilog='\b\nExample: tacitd sessions decide "Use JWT" --because "stateless" --instead "Session cookies"'
)
@click.argument("decision")
@click.option("--because", default="", help="Why.")
@click.option("--instead", multiple=True, help="What was considered; may be given several times.")
@SESSION
def decide(decision: str, because: str, instead: tuple[str, ...], id: str | None) -> None:
    """Record a decision."""
    _edit(id, decision, lambda document, at: changes.with_decision(document, decision, because, instead, at))


@sessions.command(epilog='\b\nExample: tacitd sessions note "Project uses PostgreSQL 15"')
@click.argument("text")
@SESSION
def note(text: str, id: str | None) -> None:
    """Record a note."""
    _edit(id, text, lambda document, at: changes.with_note(document, text))


def _edit(id: str | None, text: str, make: Any) -> None:
    if not text.strip():
        raise UsageError("there is nothing to record")
    at, one = store(), _session(id)
    at.edit(one.id, lambda document: make(document, at.clock.now()))
    talk(f"recorded in {one.id}")


def _session(id: str | None) -> Session:
    """The session that is meant. Raises UsageError where there is none."""
    at = store()
    if id is not None:
        return at.find(id)
    found = of_project(at.all(), directory(None))
    if not found:
        raise UsageError("this project has no session yet", "tacitd sessions list, and --session ID")
    return found[0]


def _row(one: Session) -> Json:
    row: Json = {"sessionId": one.id, "projectPath": one.project}
    row |= {key: one.document.get(key) for key in ("startedAt", "lastActiveAt", "summary")}
    return row | {"open": len(open_tasks(one.document))}


def _when(one: Session) -> str:
    at = parse_utc(one.document.get("lastActiveAt"))
    return local_minutes(at).replace("T", " ") if at is not None else "?" * 16


def _task(task: Json) -> str:
    mark = {"completed": "x", "in_progress": ">", "blocked": "!"}.get(str(task.get("status")), " ")
    why = f"  (waits for: {plain(task['blockedBy'], 120)})" if task.get("blockedBy") else ""
    return f"[{mark}] {task.get('id')}  {plain(task.get('title'), 160)}{why}"


def _warn(one: Session) -> None:
    from tacitd_handlers.continuity.schema import dangling

    for child in dangling(one.document):
        talk(f"warning: {child!r} is named as a part, and is no task of the session")
