"""`lesson add`, `edit`, `wrong`, `promote`, `import`: what changes lessons. Nothing is written for wrong use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

import click

from tacitd.errors import LogDamagedError, TacitdError, UsageError
from tacitd_handlers.lessons import changes, pattern
from tacitd_handlers.lessons.changes import Added
from tacitd_handlers.lessons.folding import DELETED, Lesson
from tacitd_handlers.lessons.origins import Origins, Provenance
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.lessons.shared import ID, SCOPE, Command, document, json_option, settings, store, talk
from tacitd_handlers.lessons.store import Store
from tacitd_handlers.lessons.tables import document as as_document

SESSION = "CLAUDE_CODE_SESSION_ID"
"""Claude Code tells its children which session they belong to."""


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
    "-s", "--scope", type=SCOPE, default=GLOBAL, show_default=True, help="The tool or the skill it is for."
)
@click.option("--firm", is_flag=True, help="A person stated it: it is not questioned.")
@click.option("--force", is_flag=True, help="Also where one says it already, or was marked wrong.")
@json_option
def add_(
    text: str | None, when: str | None, do: str | None, dont: str | None, because: str | None,
    scope: str, firm: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add a lesson: WHEN … -> DO [NOT] … -> BECAUSE …, or its parts by -w, -d or --dont, and -b. It is active at once."""
    parts = _parts(text, when, do, dont, because)
    if parts is None:
        raise UsageError("there is no lesson", "give a pattern, or -w, -d or --dont, and -b")
    at = store()
    done = changes.add(at, parts, scope, "user" if firm else "ai", force=force)
    if not isinstance(done, Added):
        _known(done.lesson, as_json)
        return
    _note_session(at, done.lesson)
    for one in done.against:
        talk(f"warning: lesson {one.id} says the opposite: {one.text}")
    _tell(done.lesson, f"Added lesson {done.lesson.id}", as_json, changed=True)


def _note_session(at: Store, lesson: Lesson) -> None:
    """Where an agent adds it: the correction that it comes from is that session's, and is not counted once more."""
    session = os.environ.get(SESSION, "")
    if session:
        with suppress(OSError, LogDamagedError):  # the lesson stands; only `show` knows less of it
            Origins(at.beside).add(lesson.id, Provenance(session, at.clock.now()))


def _known(lesson: Lesson, as_json: bool) -> None:
    if lesson.status == DELETED:
        why = f": {lesson.reason}" if lesson.reason else ""
        raise TacitdError(
            f"a person marked that wrong (lesson {lesson.id}{why})",
            "lesson add --firm, where a person wants it again",
        )
    _tell(lesson, f"lesson {lesson.id} says that already", as_json, changed=False)


@click.command("edit", cls=Command, epilog='\b\nExample: lesson edit 005 --do "wait 2s"')
@click.argument("id", type=ID)
@click.argument("text", metavar="[PATTERN]", required=False)
@click.option("-w", "--when", help="Another case.")
@click.option("-d", "--do", "do", help="Another action.")
@click.option("--dont", help="Another action, not to be done.")
@click.option("-b", "--because", help="Another reason.")
@click.option("-s", "--scope", type=SCOPE, help="Another scope.")
@click.option("--firm", is_flag=True, help="A person states it from now on.")
@click.option("--force", is_flag=True, help="Also where another one says the same.")
@json_option
def edit_(
    id: str, text: str | None, when: str | None, do: str | None, dont: str | None, because: str | None,
    scope: str | None, firm: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Change a lesson in force. What is not named stays; without anything named, your editor opens."""
    at = store()
    old = changes.in_force(at.folded(), id)
    if all(given is None for given in (text, when, do, dont, because, scope)) and not firm:
        text = _edited(old)
    parts = _parts(text, when, do, dont, because, old)
    new, changed = changes.edit(at, id, parts, scope, "user" if firm else None, force=force)
    _tell(
        new,
        f"Changed lesson {new.id}" if changed else f"lesson {new.id} is as it was",
        as_json,
        changed=changed,
    )


def _edited(old: Lesson) -> str:
    text = click.edit(old.text + "\n")
    return old.text if text is None else text


@click.command("wrong", cls=Command, epilog='\b\nExample: lesson wrong 002 --reason "too specific"')
@click.argument("id", type=ID)
@click.option("--reason", default="", help="Why; kept.")
@json_option
def wrong_(id: str, reason: str, as_json: bool) -> None:
    """Mark a lesson wrong: it is not loaded again, and not drafted again. It stays in the log."""
    lesson, changed = changes.wrong(store(), id, reason)
    if as_json:
        document({"changed": changed, **as_document(lesson)})
    elif changed:
        click.echo(f"Deleted lesson {lesson.id}")
    else:
        talk(f"lesson {lesson.id} was deleted already")


@click.command("promote", cls=Command, epilog="\b\nExample: lesson promote 002 --to=skill/config-edit")
@click.argument("id", type=ID)
@click.option("--to", required=True, metavar="skill/NAME|tool/NAME", help="The skill or the tool.")
@click.option("--reason", default="", help="Why; kept.")
@click.option("--create", is_flag=True, help="Make the file where there is none.")
@json_option
def promote_(id: str, to: str, reason: str, create: bool, as_json: bool) -> None:
    """Make a lesson a line of a skill or a tool. It is not loaded from here any more. For people: nothing else does it."""
    from tacitd_handlers.lessons.promote import promote, target

    skills, tools = _directories()
    into = target(to, skills, tools)
    lesson, changed = promote(store(), id, into, reason=reason, create=create)
    said = (
        f"Promoted lesson {lesson.id} to {into.file}"
        if changed
        else f"lesson {lesson.id} stands there already"
    )
    _tell(lesson, said, as_json, changed=changed)


def _directories() -> tuple[Path, Path]:
    """Where skills and tools are: as configured (`lessons.skills`, `lessons.tools`), else in Claude Code's directory."""
    from tacitd.paths import config_dir, home

    root, said = config_dir(os.environ), settings()
    named = [
        str(home(os.environ)) + each[1:] if each.startswith("~/") else each
        for each in (said.skills, said.tools)
    ]
    return Path(named[0] or root / "skills"), Path(named[1] or root / "tools")


@click.command("import", cls=Command, epilog="\b\nExample: lesson import lessons.jsonl --dry-run")
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", "dry", is_flag=True, help="Say what would be added, and write nothing.")
@json_option
def import_(file: BinaryIO, dry: bool, as_json: bool) -> None:
    """Add the lessons of an export (`-`: from stdin). They get ids of their own; what is here already is left out, and
    what was marked wrong here stays away. One line that is no lesson, and nothing is added."""
    from tacitd_handlers.lessons.portable import read, take_in

    lessons, bad = read(file.read())
    if bad:
        said = "\n".join(f"line {one.line}: {one.why}" for one in bad[:20])
        raise UsageError(f"{len(bad)} lines of {file.name} are no lessons:\n{said}", "nothing was added")
    done = take_in(store(), lessons, dry=dry)
    if as_json:
        document({"dry_run": dry, "added": done.added, "known": done.known, "marked_wrong": done.wrong})
        return
    talk(f"{'would add' if dry else 'added'} {len(done.added)}, known already {len(done.known)}")
    if done.wrong:
        talk(f"marked wrong here, and left out: {', '.join(done.wrong)}")


def _parts(
    text: str | None,
    when: str | None,
    do: str | None,
    dont: str | None,
    because: str | None,
    old: Lesson | None = None,
) -> Pattern | None:
    """The pattern that was given in one of the two ways (SPEC E-10), over that of `old`; None where nothing was."""
    flags = {"-w": when, "-d or --dont": do if do is not None else dont, "-b": because}
    given = [name for name, value in flags.items() if value is not None]
    if do is not None and dont is not None:
        raise UsageError("--do and --dont exclude each other")
    if text is not None:
        if given:
            raise UsageError("give the pattern or its parts, not both")
        return pattern.parse(text)
    if not given:
        return None
    if old is None and len(given) < len(flags):
        missing = ", ".join(name for name in flags if name not in given)
        raise UsageError(f"a part of the lesson is missing: {missing}")
    base = old.parts if old is not None else Pattern("", "do", "", "")
    action: Literal["do", "dont"] = "do" if do is not None else "dont" if dont is not None else base.action
    what = do if do is not None else dont if dont is not None else base.do
    return pattern.compile(
        base.when if when is None else when, action, what, base.because if because is None else because
    )


def _tell(lesson: Lesson, said: str, as_json: bool, *, changed: bool) -> None:
    """The seed prints nothing after `add` and `promote`, so what a person wants to read goes to stderr."""
    if as_json:
        document({"changed": changed, **as_document(lesson)})
    else:
        talk(said)
