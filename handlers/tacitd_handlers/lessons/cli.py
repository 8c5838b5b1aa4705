"""The command group `lesson`, which is also the program of that name: the seed's seven commands.

Options and output only. Wrong use exits with 2, prints the usage on stderr and writes nothing (SPEC E-04). Data goes to stdout
and messages to stderr, because the seed prints nothing on stdout after `add` and `promote`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from tacitd.cli.common import echo_json, echo_message, echo_text, json_option, show_argument
from tacitd.cli.program import OrderedGroup, run_and_exit
from tacitd.errors import TacitdError, UsageError
from tacitd.mcp.agent_caller import find_own_session, is_agent, require_person
from tacitd.mcp.agent_tools import AgentInterface, AgentTool, ToolParameter
from tacitd_handlers.entry_point import use_utf8
from tacitd_handlers.lessons.lesson_log import DELETED, Lesson, LessonLog
from tacitd_handlers.lessons.lesson_origins import Origin, ProjectLessons, load_origins, note_origin
from tacitd_handlers.lessons.lesson_text import LINES, build_document, format_lesson, format_list, format_load
from tacitd_handlers.lessons.pattern import (
    GLOBAL,
    Pattern,
    PatternError,
    build_pattern,
    normalise_scope,
    parse_pattern,
)

F = TypeVar("F", bound=Callable[..., Any])


class LessonCommand(click.Command):
    """A command that exits with 2 and prints its usage on stderr on wrong use."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # whose usage is shown
            raise

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PatternError as error:
            what = f"this is not a lesson: {error.what}\n{error.show_position()}\n{error.hint}"
            raise click.UsageError(what, ctx) from error
        except UsageError as error:
            raise click.UsageError(f"{error.what}\n{error.hint}".strip(), ctx) from error


class LessonGroup(OrderedGroup):
    command_class = LessonCommand


def _read_scope(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    scope = normalise_scope(value) if value is not None else None
    if value is not None and scope is None:
        what = f"“{show_argument(value)}” is not a scope: one word of letters, digits and . _ - + : / @ #"
        raise click.BadParameter(what, ctx, param)
    return scope


@click.group(
    cls=LessonGroup,
    alone="list",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExample: lesson load\n\n\b\nExit codes: 0 done, 1 failed, 2 wrong use.",
)
def lesson() -> None:
    """Lessons: WHEN -> DO -> BECAUSE rules that agents load and people can override.

    A lesson is valid until a person overrides it: `lesson wrong` deletes it, `lesson promote` makes it part of a
    skill.
    """


def _example(line: str) -> str:
    return f"\b\nExample: {line}"


def _scope_option(help: str, **more: Any) -> Callable[[F], F]:
    return click.option("-s", "--scope", metavar="SCOPE", callback=_read_scope, help=help, **more)


_JSON = json_option("As JSON, with a schema version.")
_EVERY = click.option("--all", "every", is_flag=True, help="Deleted, promoted and waiting ones too.")
_REASON = click.option("--reason", default="", help="The reason; it is stored.")


@lesson.command(
    "add", epilog=_example('lesson add -w "editing config" -d "read first" -b "know what is there"')
)
@click.argument("text", metavar="[PATTERN]", required=False)
@click.option("-w", "--when", help="The case.")
@click.option("-d", "--do", "do", help="What to do.")
@click.option("--dont", help="What not to do; not together with --do.")
@click.option("-b", "--because", help="The reason.")
@_scope_option("The tool, skill or project it is for.", default=GLOBAL, show_default=True)
@click.option("--firm", is_flag=True, help="A person stated it. Not for agents.")
@click.option("--force", is_flag=True, help="Add it even if it exists or is marked wrong.")
@_JSON
def add_(
    text: str | None, when: str | None, do: str | None, dont: str | None, because: str | None,
    scope: str, firm: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add a lesson: WHEN … -> DO [NOT] … -> BECAUSE …, or its parts with -w, -d or --dont, and -b.

    Without --firm it counts as an agent's, also with it in a session of Claude Code. It is active at once, unless it is
    dangerous as an order, runs a command, names an address or has a tag, and nobody types it in a terminal: then it
    waits in `tacitd review`.
    """
    from tacitd_handlers.lessons.lesson_actions import add_lesson

    parts = _read_parts(text, when, do, dont, because)
    log, by_agent = _open_log(), is_agent(os.environ)
    project = ProjectLessons(None, load_origins(log))
    source = "user" if firm and not by_agent else "ai"
    options = {"force": force and not by_agent, "by_hand": not by_agent and sys.stdin.isatty()}
    done = add_lesson(log, parts, scope, source, **options, project=project)
    made = done.lesson
    if not done.is_new:
        if made.state == DELETED:
            why = f": {made.reason}" if made.reason and not made.is_purged else ""
            hint = "to add it again, a person runs: lesson add --firm"
            raise TacitdError(f"a person marked that wrong (lesson {made.id}{why})", hint)
        return _report(made, f"lesson {made.id} already says that", as_json, changed=False)
    # The session, so that the correction behind the lesson is not counted again, and the project of the scope.
    session, root = find_own_session(os.environ), str(project.root) if scope == project.name else ""
    if session or root:
        note_origin(log, made.id, Origin(session, log.clock.now(), root))
    if firm and by_agent:
        echo_message("it is not firm: only a person says so, in a terminal of their own")
    for one in done.opposites:
        echo_message(f"warning: lesson {one.id} ({one.scope}) says the opposite: {one.text}")
    waits = f"Lesson {made.id} is not active: it waits for the person, because {made.reason}"
    return _report(made, waits if made.reason else f"Added lesson {made.id}", as_json, changed=True)


def _read_parts(
    text: str | None, when: str | None, do: str | None, dont: str | None, because: str | None
) -> Pattern:
    """The pattern given as text or as options (SPEC E-10). Raises UsageError, PatternError."""
    what = do if do is not None else dont
    parts = {"-w": when, "-d or --dont": what, "-b": because}
    missing = [name for name, value in parts.items() if value is None]
    if do is not None and dont is not None:
        raise UsageError("--do and --dont exclude each other")
    if text is not None and len(missing) < len(parts):
        raise UsageError("give the pattern or its parts, not both")
    if text is not None:
        return parse_pattern(text)
    if missing:
        raise UsageError(
            f"a part of the lesson is missing: {', '.join(missing)}", "or give the whole pattern"
        )
    return build_pattern(when or "", "do" if do is not None else "dont", what or "", because or "")


@lesson.command("list", epilog=_example("lesson list --scope=tmux"))
@_scope_option("Of this scope only.")
@click.option(
    "--from",
    "source",
    type=click.Choice(["ai", "user"]),
    help="Only those added by an agent, or by a person.",
)
@_EVERY
@_JSON
def list_(scope: str | None, source: str | None, every: bool, as_json: bool) -> None:
    """List active lessons, by id."""
    _print_list(scope, every, as_json, lambda one: source in (None, one.source))


@lesson.command("show", epilog=_example("lesson show 002"))
@click.argument("id")
@_JSON
def show_(id: str, as_json: bool) -> None:
    """Show a lesson, active or not: its record and its parts. `tacitd why ID` shows where it came from."""
    from tacitd_handlers.lessons.lesson_actions import get_lesson

    found = get_lesson(_open_log().read_lessons(), id)
    if as_json:
        echo_json({"schema": 1, **build_document(found)})
    else:
        echo_text(format_lesson(found), nl=False)


@lesson.command("wrong", epilog=_example('lesson wrong 002 --reason "too specific"'))
@click.argument("id")
@_REASON
@_JSON
def wrong_(id: str, reason: str, as_json: bool) -> None:
    """Mark a lesson wrong: it is not loaded or drafted again. It stays in the log."""
    from tacitd_handlers.lessons.lesson_actions import mark_wrong

    found, changed = mark_wrong(_open_log(), id, reason)
    if changed and not as_json:
        echo_text(f"Deleted lesson {found.id}")
    else:
        _report(found, f"lesson {found.id} was already deleted", as_json, changed=changed)


@lesson.command("promote", epilog=_example("lesson promote 002 --to=skill/config-edit"))
@click.argument("id")
@click.option("--to", required=True, metavar="skill/NAME|tool/NAME", help="The target skill or tool.")
@_REASON
@click.option("--create", is_flag=True, help="Create the file if it does not exist.")
@_JSON
def promote_(id: str, to: str, reason: str, create: bool, as_json: bool) -> None:
    """Move a lesson into a skill or a tool file. It is not loaded from here any more. Nothing is promoted automatically."""
    from tacitd_handlers.lessons.promotion import parse_target, promote_lesson

    into = parse_target(to, *_find_directories())
    require_person(os.environ, "promoting a lesson")
    found, changed = promote_lesson(_open_log(), id, into, reason=reason, create=create)
    done = f"Promoted lesson {found.id} to" if changed else f"lesson {found.id} is already in"
    _report(found, f"{done} {into.file}", as_json, changed=changed)


def _find_directories() -> tuple[Path, Path]:
    """Claude Code's directory of skills, and the directory of tools as configured. Raises ConfigError."""
    from tacitd.config.settings import load_config
    from tacitd.plugins import find_plugins
    from tacitd.state.paths import config_dir, config_file, find_home

    config = load_config(config_file(os.environ), os.environ, find_plugins().collect_sections())
    root, tools = config_dir(os.environ), str(config.get_section("lessons").tools)
    tools = f"{find_home(os.environ)}{tools[1:]}" if tools.startswith("~/") else tools
    return root / "skills", Path(tools or root / "tools")


@lesson.command("search", epilog=_example("lesson search tmux"))
@click.argument("query")
@_scope_option("Of this scope only.")
@_EVERY
@_JSON
def search_(query: str, scope: str | None, every: bool, as_json: bool) -> None:
    """Search lessons for all words, in any case, in any part or in the scope."""
    words = query.casefold().split()
    if not words:
        raise UsageError("the query contains no word")
    _print_list(
        scope,
        every,
        as_json,
        lambda one: all(word in f"{one.scope}\n{one.text}".casefold() for word in words),
    )


@lesson.command("load", epilog=_example("lesson load --scope=tmux"))
@_scope_option("Also lessons of this scope.", default=GLOBAL)
@click.option(
    "--lines",
    type=click.IntRange(0),
    default=LINES,
    show_default=True,
    help="Maximum number of lines; 0: no limit.",
)
@_JSON
def load_(scope: str, lines: int, as_json: bool) -> None:
    """Load lessons for an agent: the global ones and those of a scope, by id."""
    log = _open_log()
    active = log.read_lessons().list_active()
    groups = {GLOBAL: [one for one in active if one.scope == GLOBAL]}  # first, and only once (SPEC E-18)
    if scope != GLOBAL:
        groups[scope] = ProjectLessons(None, load_origins(log)).select_scope(active, scope)
    text, shown = format_load(groups, lines)
    if as_json:
        rows = [{"id": x.id, "scope": x.scope, "firm": x.is_firm, "pattern": x.text} for x in shown]
        echo_json({"schema": 1, "active": sum(map(len, groups.values())), "lessons": rows})
    else:
        echo_text(text, nl=False)


def _print_list(scope: str | None, every: bool, as_json: bool, is_wanted: Callable[[Lesson], bool]) -> None:
    log = _open_log()
    lessons = log.read_lessons()
    given: Iterable[Lesson] = lessons.all.values() if every else lessons.list_active()
    found = [one for one in given if scope in (None, one.scope) and is_wanted(one)]
    if lessons.odd:
        echo_message(log.describe_odd(lessons.odd))
    if as_json:
        echo_json({"schema": 1, "lessons": [build_document(one) for one in found]})
    elif found:
        echo_text(format_list(found, with_status=every), nl=False)
    else:
        echo_message("no lessons")


def _open_log() -> LessonLog:
    return LessonLog.from_environ(os.environ)


def _report(found: Lesson, message: str, as_json: bool, *, changed: bool) -> None:
    if as_json:
        echo_json({"schema": 1, "changed": changed, **build_document(found)})
    else:
        echo_message(message)


# --- what agents can do: promoting a lesson is a person's decision, so it is no tool (SPEC E-16)

SCOPE = ToolParameter(
    "scope", "A tool's, skill's or project's name, one word such as `tmux`; default `global`."
)

LESSONS = AgentInterface(
    tools=(
        AgentTool(
            "load_lessons",
            "The lessons to heed before you judge a plan or act: the global ones and those of a scope. Call it once "
            "before you work with a tool or skill for the first time in a session.",
            ("lesson", "load"),
            (SCOPE,),
        ),
        AgentTool(
            "search_lessons",
            "Find lessons in all scopes by words.",
            ("lesson", "search", "--json"),
            (
                ToolParameter("query", "Words; all of them must occur."),
                ToolParameter("scope", "Only of this scope."),
                ToolParameter("every", "Deleted and promoted ones too."),
            ),
            is_rare=True,
        ),
        AgentTool(
            "add_lesson",
            "Add a lesson after a mistake: the person corrected how you work, or you found out what prevents a failure. "
            "It is a rule of behaviour for next time, not a fact. It is active at once, unless it runs a command, names an "
            "address or weakens a check: then it waits for the person. Search first.",
            ("lesson", "add", "--json"),
            (
                ToolParameter("when", "The case, such as `editing tmux.conf`.", required=True),
                ToolParameter("do", "What to do. Either this or `dont`."),
                ToolParameter("dont", "What not to do."),
                ToolParameter("because", "The reason.", required=True),
                SCOPE,
            ),
            effect="adds",
        ),
        AgentTool(
            "mark_lesson_wrong",
            "Delete a lesson because the person says that it is wrong. It is not learned again.",
            ("lesson", "wrong", "--json"),
            (
                ToolParameter("id", "The lesson's id, such as 002."),
                ToolParameter("reason", "Why it is wrong."),
            ),
            effect="removes",
            is_rare=True,
        ),
    )
)


def main() -> None:
    use_utf8()
    run_and_exit(lesson, "lesson")
