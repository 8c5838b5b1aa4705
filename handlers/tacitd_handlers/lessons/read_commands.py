"""The commands of `lesson` that change no lesson: list, show, search, load, stats, stale.

Options and output only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

import click
from msgspec.structs import replace

from tacitd.errors import UsageError
from tacitd_handlers.lessons import evidence, lesson_operations, lesson_paths, load_counts
from tacitd_handlers.lessons.command_support import (
    ID,
    SCOPE,
    Command,
    echo_error,
    json_option,
    load_settings,
    open_store,
    print_document,
    print_text,
)
from tacitd_handlers.lessons.evidence import EvidenceLog, LessonUsage
from tacitd_handlers.lessons.fast_path import select_for_load
from tacitd_handlers.lessons.lesson_fold import Lesson
from tacitd_handlers.lessons.lesson_origins import LessonOrigins
from tacitd_handlers.lessons.load_output import FIRM, LINES, render_lessons
from tacitd_handlers.lessons.project_scopes import ProjectRegistry, show_scopes
from tacitd_handlers.lessons.render import build_document as as_document
from tacitd_handlers.lessons.render import format_lesson, format_list, format_rows
from tacitd_handlers.lessons.store import LessonStore

UNKNOWN = "unknown"


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
    shown = _show(at, chosen)
    return [x for x, named in zip(*shown, strict=True) if scope is None or scope in (x.scope, named.scope)]


def _show(at: LessonStore, lessons: Iterable[Lesson]) -> tuple[list[Lesson], list[Lesson]]:
    """The lessons, and the same with the names by which their scopes are shown."""
    found = list(lessons)
    known = ProjectRegistry(at.state_dir).read_all()
    return found, show_scopes(found, at.read_lessons().lessons.values(), known)


def _listed(at: LessonStore, lessons: list[Lesson], *, every: bool, as_json: bool) -> None:
    if at.log.bad:
        echo_error(f"{at.log.bad} lines of {at.log.path} are not records and are skipped")
    if as_json:
        print_document({"lessons": [as_document(one) for one in lessons]})
    elif lessons:
        print_text(format_list(_show(at, lessons)[1], status=every))
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
        print_text(format_lesson(_show(at, [lesson])[1][0], origin))


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
    found = select_for_load(at.load_index(), scope, os.environ)
    text, ids = render_lessons(found, lines)
    load_counts.record_load(str(at.state_dir / lesson_paths.HITS), time.time(), ids, "load")
    if as_json:
        rows = [_row(scope, id, line) for scope, rows in found.items() for id, line in rows if id in set(ids)]
        print_document({"active": sum(map(len, found.values())), "lessons": rows})
    else:
        print_text(text)


def _row(scope: str, id: str, line: str) -> dict[str, Any]:
    firm = line.endswith(FIRM)
    return {"id": id, "scope": scope, "firm": firm, "pattern": line[2 : -len(FIRM) if firm else None]}


@click.command("stats", cls=Command, epilog="\b\nExample: lesson stats --json")
@click.option("-s", "--scope", type=SCOPE, help="Of this scope only.")
@json_option
def stats_(scope: str | None, as_json: bool) -> None:
    """Show for each lesson how often it was loaded, and how often it was corrected again.

    LOADED counts `lesson load` and session starts. AGAIN is the number of sessions in which a person corrected the
    same again, SESSIONS the number of sessions examined for that. Without an examined session AGAIN is unknown.
    """
    at = open_store()
    records, _ = _records(at, scope)
    if as_json:
        print_document({"lessons": [_usage_document(one) for one in records]})
        return
    rows = (_cells(one) for one in _show_usage(at, records))
    print_text(format_rows(("ID", "SCOPE", "FROM", "LOADED", "LAST", "AGAIN", "SESSIONS", "PATTERN"), rows))
    if not records:
        echo_error("no lessons")


@click.command("stale", cls=Command, epilog="\b\nExample: lesson stale --days 60")
@click.option(
    "--days", type=click.IntRange(1, 3650), help="Not loaded for this many days  [default: lessons.stale, 90]"
)
@json_option
def stale_(days: int | None, as_json: bool) -> None:
    """List active lessons that were not loaded for a long time. None is removed automatically."""
    at = open_store()
    days = days or _stale_days()
    records, since = _records(at, None)
    found = evidence.find_stale(records, since, at.clock.now(), days)
    if as_json:
        print_document(
            {"days": days, "counted_since": since, "lessons": [_usage_document(one) for one in found]}
        )
        return
    print_text(
        format_rows(
            ("ID", "SCOPE", "FROM", "CREATED", "LAST", "PATTERN"),
            (_stale_cells(one) for one in _show_usage(at, found)),
        )
    )
    if since is None or since > at.clock.now() - days * 86_400:
        echo_error(f"unknown: loads have not been counted for {days} days yet")
    elif not found:
        echo_error("no lesson is stale")


def _stale_days() -> int:
    return load_settings().stale


def _records(at: LessonStore, scope: str | None) -> tuple[list[LessonUsage], float | None]:
    lessons = _chosen(at, scope, every=False)
    loads = evidence.count_loads(at.state_dir)
    return evidence.judge_lessons(
        lessons, loads, EvidenceLog(at.state_dir).read(), LessonOrigins(at.state_dir).read_all()
    ), loads[1]


def _show_usage(at: LessonStore, records: list[LessonUsage]) -> list[LessonUsage]:
    shown = _show(at, [one.lesson for one in records])[1]
    return [replace(one, lesson=lesson) for one, lesson in zip(records, shown, strict=True)]


def _usage_document(record: LessonUsage) -> dict[str, Any]:
    """The `--json` form; null means unknown."""
    usage = {"loaded": record.loaded, "last": record.last or None, "corrected_again": record.again}
    return as_document(record.lesson) | usage | {"sessions_looked_at": record.sessions}


def _cells(record: LessonUsage) -> tuple[str, ...]:
    lesson = record.lesson
    loaded = UNKNOWN if record.loaded is None else str(record.loaded)
    again = UNKNOWN if record.again is None else str(record.again)
    return (
        lesson.id,
        lesson.scope,
        lesson.source,
        loaded,
        record.last or "-",
        again,
        str(record.sessions),
        lesson.text,
    )


def _stale_cells(record: LessonUsage) -> tuple[str, ...]:
    lesson = record.lesson
    return lesson.id, lesson.scope, lesson.source, lesson.created, record.last or "never", lesson.text
