"""`lesson add`, `wrong`, `promote`: the commands that change lessons.

Options and output only; wrong use writes nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

import click

from tacitd.errors import LogDamagedError, TacitdError, UsageError
from tacitd.mcp.agent_caller import is_agent
from tacitd.text.redact import has_secret
from tacitd_handlers.lessons import lesson_operations, pattern
from tacitd_handlers.lessons.command_support import (
    ID,
    SCOPE,
    Command,
    echo_error,
    json_option,
    load_settings,
    open_store,
    print_document,
)
from tacitd_handlers.lessons.lesson_fold import DELETED, WAITING, Lesson
from tacitd_handlers.lessons.lesson_operations import AddedLesson
from tacitd_handlers.lessons.lesson_origins import LessonOrigins, Provenance
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.project_lessons import ProjectLessons
from tacitd_handlers.lessons.render import build_document as as_document
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.lessons.store import LessonStore

SESSION = "CLAUDE_CODE_SESSION_ID"
"""The variable in which Claude Code passes the session id to its children."""


@click.command(
    "add",
    cls=Command,
    epilog='\b\nExample: lesson add -w "editing config" -d "read first" -b "know what is there"',
)
@click.argument("text", metavar="[PATTERN]", required=False)
@click.option("-w", "--when", help="The case.")
@click.option("-d", "--do", "do", help="What to do.")
@click.option("--dont", help="What not to do; not together with --do.")
@click.option("-b", "--because", help="The reason.")
@click.option(
    "-s",
    "--scope",
    type=SCOPE,
    default=GLOBAL,
    show_default=True,
    help="The tool, skill or project it is for.",
)
@click.option("--firm", is_flag=True, help="A person stated it. Not for agents.")
@click.option("--force", is_flag=True, help="Add it even if it exists or is marked wrong.")
@json_option
def add_(
    text: str | None, when: str | None, do: str | None, dont: str | None, because: str | None,
    scope: str, firm: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add a lesson: WHEN … -> DO [NOT] … -> BECAUSE …, or its parts with -w, -d or --dont, and -b.

    Without --firm it counts as an agent's, also with it in a session of Claude Code. It is active at once, unless it is
    dangerous as an order, runs a command, names an address or has a tag: then it waits in `tacitd review`.
    """
    parts = _parts(text, when, do, dont, because)
    if parts is None:
        raise UsageError("no lesson is given", "give a pattern, or -w, -d or --dont, and -b")
    at = open_store()
    project = ProjectLessons.from_environ(os.environ)
    by_agent = is_agent(os.environ)
    source = "user" if firm and not by_agent else "ai"
    if source == "ai" and has_secret(pattern.format_pattern(parts)):
        raise TacitdError("the lesson has what looks like a secret", "leave it out")
    done = lesson_operations.add_lesson(
        at, parts, scope, source, force=force and not by_agent, project=project
    )
    if not isinstance(done, AddedLesson):
        _report_known(done.lesson, as_json)
        return
    _note_origin(at, done.lesson, project)
    if firm and by_agent:
        echo_error("it is not firm: only a person says so, in a terminal of their own")
    if done.lesson.status == WAITING:
        message = (
            f"Lesson {done.lesson.id} is not active: it waits for the person, because {done.lesson.reason}"
        )
        _report_change(done.lesson, message, as_json, changed=True)
        return
    for one in done.opposites:
        where = "" if one.scope == scope else f" ({one.scope})"
        echo_error(f"warning: lesson {one.id}{where} says the opposite: {one.text}")
    _report_change(done.lesson, f"Added lesson {done.lesson.id}", as_json, changed=True)


def _note_origin(at: LessonStore, lesson: Lesson, project: ProjectLessons) -> None:
    """Note the calling session, so that the correction behind the lesson is not counted again, and the project of its scope."""
    session = os.environ.get(SESSION, "")
    root = str(project.root) if lesson.scope in project.names else ""
    if session or root:
        with suppress(OSError, LogDamagedError):  # the lesson is added; only its origin is missing
            LessonOrigins(at.state_dir).add(lesson.id, Provenance(session, at.clock.now(), root))


def _report_known(lesson: Lesson, as_json: bool) -> None:
    if lesson.status == DELETED:
        why = f": {lesson.reason}" if lesson.reason else ""
        raise TacitdError(
            f"a person marked that wrong (lesson {lesson.id}{why})",
            "to add it again, a person runs: lesson add --firm",
        )
    _report_change(lesson, f"lesson {lesson.id} already says that", as_json, changed=False)


@click.command("wrong", cls=Command, epilog='\b\nExample: lesson wrong 002 --reason "too specific"')
@click.argument("id", type=ID)
@click.option("--reason", default="", help="The reason; it is stored.")
@json_option
def wrong_(id: str, reason: str, as_json: bool) -> None:
    """Mark a lesson wrong: it is not loaded or drafted again. It stays in the log."""
    lesson, changed = lesson_operations.mark_wrong(open_store(), id, reason)
    if as_json:
        print_document({"changed": changed, **as_document(lesson)})
    elif changed:
        click.echo(f"Deleted lesson {lesson.id}")
    else:
        echo_error(f"lesson {lesson.id} was already deleted")


@click.command("promote", cls=Command, epilog="\b\nExample: lesson promote 002 --to=skill/config-edit")
@click.argument("id", type=ID)
@click.option("--to", required=True, metavar="skill/NAME|tool/NAME", help="The target skill or tool.")
@click.option("--reason", default="", help="The reason; it is stored.")
@click.option("--create", is_flag=True, help="Create the file if it does not exist.")
@json_option
def promote_(id: str, to: str, reason: str, create: bool, as_json: bool) -> None:
    """Move a lesson into a skill or a tool file. It is not loaded from here any more. Nothing is promoted automatically."""
    from tacitd_handlers.lessons.promote import parse_target, promote_lesson

    skills, tools = _directories()
    into = parse_target(to, skills, tools)
    lesson, changed = promote_lesson(open_store(), id, into, reason=reason, create=create)
    message = (
        f"Promoted lesson {lesson.id} to {into.file}"
        if changed
        else f"lesson {lesson.id} is already in {into.file}"
    )
    _report_change(lesson, message, as_json, changed=changed)


def _directories() -> tuple[Path, Path]:
    """The directories of skills and of tools, in this order.

    They are as configured (`lessons.skills`, `lessons.tools`), otherwise in Claude Code's directory.
    """
    from tacitd.state.paths import config_dir, find_home

    root, settings = config_dir(os.environ), load_settings()
    named = [
        str(find_home(os.environ)) + each[1:] if each.startswith("~/") else each
        for each in (settings.skills, settings.tools)
    ]
    return Path(named[0] or root / "skills"), Path(named[1] or root / "tools")


def _parts(
    text: str | None,
    when: str | None,
    do: str | None,
    dont: str | None,
    because: str | None,
) -> Pattern | None:
    """The pattern given as text or as options (SPEC E-10); None if neither is given.

    Raises UsageError.
    """
    flags = {"-w": when, "-d or --dont": do if do is not None else dont, "-b": because}
    given = [name for name, value in flags.items() if value is not None]
    if do is not None and dont is not None:
        raise UsageError("--do and --dont exclude each other")
    if text is not None:
        if given:
            raise UsageError("give the pattern or its parts, not both")
        return pattern.parse_pattern(text)
    if not given:
        return None
    if len(given) < len(flags):
        missing = ", ".join(name for name in flags if name not in given)
        raise UsageError(f"a part of the lesson is missing: {missing}")
    action: Literal["do", "dont"] = "do" if do is not None else "dont"
    return pattern.build_pattern(when or "", action, (do if do is not None else dont) or "", because or "")


def _report_change(lesson: Lesson, message: str, as_json: bool, *, changed: bool) -> None:
    """Print the result on stderr, because the seed prints nothing on stdout after `add` and `promote`."""
    if as_json:
        print_document({"changed": changed, **as_document(lesson)})
    else:
        echo_error(message)
