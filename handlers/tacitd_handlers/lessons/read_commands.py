"""The commands of `lesson` that change no lesson: list, show, search, load.

Options and output only.
"""

from __future__ import annotations

import os
from typing import Any

import click

from tacitd.errors import UsageError
from tacitd_handlers.lessons import lesson_operations
from tacitd_handlers.lessons.command_support import (
    ID,
    SCOPE,
    Command,
    echo_error,
    json_option,
    open_store,
    print_document,
    print_text,
)
from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.load_output import FIRM, LINES, make_row, render_lessons
from tacitd_handlers.lessons.project_lessons import ProjectLessons
from tacitd_handlers.lessons.render import build_document as as_document
from tacitd_handlers.lessons.render import format_lesson, format_list
from tacitd_handlers.lessons.scopes import GLOBAL
from tacitd_handlers.lessons.store import LessonStore


@click.command("list", cls=Command, epilog="\b\nExample: lesson list --scope=tmux")
@click.option("-s", "--scope", type=SCOPE, help="Of this scope only.")
@click.option(
    "--from",
    "source",
    type=click.Choice(["ai", "user"]),
    help="Only those added by an agent, or by a person.",
)
@click.option("--all", "every", is_flag=True, help="Deleted and promoted ones too.")
@json_option
def list_(scope: str | None, source: str | None, every: bool, as_json: bool) -> None:
    """List active lessons, by id."""
    at = open_store()
    chosen = [x for x in _chosen(at, scope, every=every) if source in (None, x.source)]
    _listed(at, chosen, every=every, as_json=as_json)


@click.command("search", cls=Command, epilog="\b\nExample: lesson search tmux")
@click.argument("query")
@click.option("-s", "--scope", type=SCOPE, help="Of this scope only.")
@click.option("--all", "every", is_flag=True, help="Deleted and promoted ones too.")
@json_option
def search_(query: str, scope: str | None, every: bool, as_json: bool) -> None:
    """Search lessons for all words, in any case, in any part or in the scope."""
    words = query.casefold().split()
    if not words:
        raise UsageError("the query contains no word")
    at = open_store()
    found = [x for x in _chosen(at, scope, every=every) if _contains_words(x, words)]
    _listed(at, found, every=every, as_json=as_json)


def _contains_words(lesson: Lesson, words: list[str]) -> bool:
    parts = lesson.parts
    text = "\n".join((parts.when, parts.do, parts.because, lesson.scope)).casefold()
    return all(word in text for word in words)


def _chosen(at: LessonStore, scope: str | None, *, every: bool) -> list[Lesson]:
    chosen = (x for x in at.read_lessons().lessons.values() if every or x.is_active)
    return [x for x in chosen if scope in (None, x.scope)]


def _listed(at: LessonStore, lessons: list[Lesson], *, every: bool, as_json: bool) -> None:
    if at.log.bad:
        echo_error(f"{at.log.bad} lines of {at.log.path} are not records and are skipped")
    if as_json:
        print_document({"lessons": [as_document(one) for one in lessons]})
    elif lessons:
        print_text(format_list(lessons, status=every))
    else:
        echo_error("no lessons")


@click.command("show", cls=Command, epilog="\b\nExample: lesson show 002")
@click.argument("id", type=ID)
@json_option
def show_(id: str, as_json: bool) -> None:
    """Show a lesson, active or not: its record, its parts, and its origin."""
    at = open_store()
    lesson = lesson_operations.get_lesson(at.read_lessons(), id)
    origin = LessonOrigins(at.state_dir).find_origin(lesson.id)
    if as_json:
        print_document({**as_document(lesson), "origin": origin})
    else:
        print_text(format_lesson(lesson, origin))


@click.command("load", cls=Command, epilog="\b\nExample: lesson load --scope=tmux")
@click.option("-s", "--scope", type=SCOPE, default="global", help="Also lessons of this scope.")
@click.option(
    "--lines",
    type=click.IntRange(0),
    default=LINES,
    show_default=True,
    help="Maximum number of lines; 0: no limit.",
)
@json_option
def load_(scope: str, lines: int, as_json: bool) -> None:
    """Load lessons for an agent: the global ones and those of a scope, by id."""
    at = open_store()
    active = at.read_lessons().list_active()
    chosen = {GLOBAL: [one for one in active if one.scope == GLOBAL]}  # first, and only once (SPEC E-18)
    if scope != GLOBAL:
        chosen[scope] = ProjectLessons.from_environ(os.environ).select_scope(active, scope)
    found = {name: [make_row(one) for one in lessons] for name, lessons in chosen.items()}
    text, ids = render_lessons(found, lines)
    if as_json:
        rows = [_row(scope, id, line) for scope, rows in found.items() for id, line in rows if id in set(ids)]
        print_document({"active": sum(map(len, found.values())), "lessons": rows})
    else:
        print_text(text)


def _row(scope: str, id: str, line: str) -> dict[str, Any]:
    firm = line.endswith(FIRM)
    return {"id": id, "scope": scope, "firm": firm, "pattern": line[2 : -len(FIRM) if firm else None]}
