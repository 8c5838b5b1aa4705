"""Which learned text reaches a session that starts in a directory, and why some does not: `tacitd reach`, `tacitd doctor`.

Only tacitd's own files are listed: the person's rules, and the project's and its modules' in `.claude/rules`. Nothing is written here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from tacitd.cli.common import echo_json, escape_output, get_paths, json_option, read_store, resolve_directory
from tacitd.clock import SystemClock
from tacitd.contract import Row, Rows, Value
from tacitd.errors import FileRefusedError
from tacitd.files.stalls import Stalls
from tacitd.handler import DoctorFinding
from tacitd.sources.registry import find_codex
from tacitd.state.paths import Paths
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.wording import count_noun
from tacitd.work.project_rows import list_known_projects
from tacitd_handlers.reach.client_rules import (
    AGENTS,
    LEARNED,
    MODULE_RULES,
    PROJECT_RULE,
    SEE_ALSO,
    USER_RULES,
)
from tacitd_handlers.reach.context_files import (
    Directory,
    choose_source,
    count_items,
    find_exclude,
    list_loaded,
    list_rules,
    locate_directory,
)
from tacitd_handlers.reach.copies import HINT, find_obstacle
from tacitd_handlers.reach.user_rules import check_place, find_work_tree
from tacitd_handlers.shared.places import read_text

if TYPE_CHECKING:
    from tacitd.session_context.context_request import ContextFile
    from tacitd_handlers.learning.settings import ReachSettings

_SOURCE = compile_lazily(r"(?m)^<!-- Written by tacitd from (?P<source>[^\n]+?): ")
DAEMON = "it is made while the daemon runs or the next session starts, unless reach.project_rules or projects.write is off"
ELSEWHERE = (
    "A session that adds this directory with --add-dir loads none of it at its start; with "
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1 it loads the project's lines (2.1.63 and later)."
)
_ABOUT = {"person": "about you", "project": "of this project", "module": "of this module"}


class ReachedFile(Struct, frozen=True):
    path: Path
    kind: str
    """`person`, `project` or `module`."""
    when: str
    """`start`, or `read`: when a file in `folder` is read."""
    folder: str | None
    """For `read`: the folder, relative to the work tree."""
    lines: int


class ReachProblem(Struct, frozen=True):
    """Learned text that does not arrive, or not as it should."""

    id: str | None
    """As in `tacitd doctor`; None if the daemon reports it, or it follows from the directory alone."""
    what: str
    why: str
    hint: str


class ReachReport(Struct, frozen=True):
    """What a session in the directory loads."""

    directory: Path
    loads: tuple[ReachedFile, ...]
    missing: tuple[ReachProblem, ...]


def survey_directory(
    client_home: Path, directory: Path, rows: Rows, *, with_codex: bool = False
) -> ReachReport:
    """Return what a session in a directory loads. `with_codex`: whether Codex is used here too."""
    place = locate_directory(client_home, directory)
    ours = (one for each in list_loaded(client_home, place) if (one := _describe(each, client_home, place)))
    person = client_home / USER_RULES
    is_there = count_items(read_text(person)) > 0
    missing = (
        *(_explain_exclude(person, "what is known of you", place) if is_there else ()),
        *_explain_project(place, rows),
        *_explain_modules(place, rows),
        *(_explain_codex(place) if with_codex else ()),
    )
    return ReachReport(place.here, tuple(sorted(ours, key=lambda one: one.when != "start")), missing)


def _describe(one: ContextFile, client_home: Path, place: Directory) -> ReachedFile | None:
    """A file of tacitd's with lines; None for any other, and for one that is about files outside the session's directory."""
    lines, tree = count_items(one.text), place.tree
    if not lines:
        return None
    if one.path == client_home / USER_RULES:
        return ReachedFile(one.path, "person", one.when, None, lines)
    if one.path in (tree / PROJECT_RULE, tree / MODULE_RULES / AGENTS):
        return ReachedFile(one.path, "project", one.when, None, lines)
    folder = _find_folder(one.path, tree)
    is_attached = folder and _is_attached(folder, place)
    return ReachedFile(one.path, "module", one.when, folder, lines) if is_attached else None


def _find_folder(path: Path, tree: Path) -> str:
    found = _SOURCE.search(read_text(path)) if path.parent == tree / MODULE_RULES else None
    return found["source"].rpartition("/")[0] if found is not None else ""


def _is_attached(folder: str, place: Directory) -> bool:
    path = place.tree / folder
    return path.is_relative_to(place.here) or place.here.is_relative_to(path)


# --- why something does not arrive


def _explain_project(place: Directory, rows: Rows) -> Iterator[ReachProblem]:
    tree, path = place.tree, place.tree / PROJECT_RULE
    expected, there = count_items(read_text(choose_source(place, LEARNED))), count_items(read_text(path))
    if not expected and not there:
        return
    what = (
        f"{count_noun(expected - there, 'line')} of {LEARNED}"
        if there < expected
        else f"the lines of {LEARNED}"
    )
    found = list(_explain_copy(path, what, place, rows))
    yield from found
    if found or there >= expected:
        return
    hint = (
        f"for lines that came with the repository, read them, then run `tacitd trust {place.main}`; {DAEMON}"
    )
    if tree != place.main:
        hint = f"for a work tree that lives for one session: `tacitd plugin install` brings them at its start; {hint}"
    yield ReachProblem(None, what, f"{path} does not have them", hint)


def _explain_modules(place: Directory, rows: Rows) -> Iterator[ReachProblem]:
    here, tree = place.here, place.tree
    copies = {
        folder: path for path in list_rules(tree / MODULE_RULES) if (folder := _find_folder(path, tree))
    }
    written = (Path(path) for (path,) in rows("SELECT DISTINCT path FROM shared_leaf"))
    modules = (one.parent for one in written if one.name == AGENTS and one.is_relative_to(place.main))
    known = (one.relative_to(place.main).as_posix() for one in modules if one != place.main / MODULE_RULES)
    for folder in sorted({*copies, *known}):
        what, path = f"the lines for {folder}", copies.get(folder)
        if path is None and not count_items(read_text(choose_source(place, f"{folder}/{AGENTS}"))):
            continue
        if not _is_attached(folder, place):
            hint = f"start the session in {tree}, or with --add-dir {tree}"
            why = f"{folder} is outside {here}, where Claude Code attaches nothing"
            yield ReachProblem(None, what, why, hint)
        elif path is None:
            yield ReachProblem(None, what, f"{tree / MODULE_RULES} has no copy of them", DAEMON)
        else:
            yield from _explain_copy(path, what, place, rows)


def _explain_copy(path: Path, what: str, place: Directory, rows: Rows) -> Iterator[ReachProblem]:
    """Why tacitd does not write a copy, and why the client does not load it."""
    if why := find_obstacle(path, place.tree, rows):
        yield ReachProblem(None, what, f"{path} {why}", HINT)
    yield from _explain_exclude(path, what, place)


def _explain_exclude(path: Path, what: str, place: Directory) -> Iterator[ReachProblem]:
    if found := find_exclude(path, place.patterns):
        why = f"claudeMdExcludes in {found.file} excludes {path} ({found.pattern})"
        hint = f"change claudeMdExcludes in {found.file} if they should be loaded"
        yield ReachProblem("reach.excluded", what, why, hint)


def _explain_codex(place: Directory) -> Iterator[ReachProblem]:
    path = place.tree / AGENTS
    if LEARNED not in read_text(path) and count_items(read_text(choose_source(place, LEARNED))):
        why = f"it loads {AGENTS}, and does not see {LEARNED}"
        hint = f"put this line into {path}: {SEE_ALSO} Or set reach.codex = true, which keeps the lines there"
        yield ReachProblem(None, f"the lines of {LEARNED}, in Codex", why, hint)


# --- the command


@click.command(
    epilog="\b\nExample: tacitd reach ~/work/app/web\nExample: tacitd reach --json | jq '.missing[].why'"
)
@click.argument("directory", metavar="[DIR]", required=False)
@json_option("Print JSON: loads, missing.")
def reach(directory: str | None, as_json: bool) -> None:
    """List what a session that starts in a directory loads of what was learned, and what does not arrive and why.

    Works without a daemon and changes nothing. The newest Claude Code is meant.
    """
    places, here = get_paths(), resolve_directory(directory)
    has_codex = find_codex(os.environ) is not None

    def survey(rows: Rows) -> ReachReport:
        return survey_directory(places.config_dir, here, rows, with_codex=has_codex)

    report = read_store(survey) or survey(_find_nothing)
    mine = tuple(_explain_person(places, _read_settings(places)))
    report = replace(report, missing=(*mine, *report.missing))
    if as_json:
        from msgspec import to_builtins

        echo_json({"schema": 1, **to_builtins(report, enc_hook=str), "notes": [ELSEWHERE]})
        return
    for line in format_report(report, places.home):
        click.echo(escape_output(line))


def format_report(report: ReachReport, home: Path) -> Iterator[str]:
    yield f"A session in {_short(report.directory, home)}"
    read = [one for one in report.loads if one.when == "read"]
    start = [_format_file(one, home) for one in report.loads if one not in read]
    yield from ("loads at its start:", *(start or ["  nothing that was learned"]))
    if read:
        yield from ("loads when a file is read:", *(_format_file(one, home) for one in read))
    if report.missing:
        yield "Does not arrive, or not as it should:"
    for problem in report.missing:
        yield from (f"  {problem.what}: {problem.why}", f"    hint: {problem.hint}")
    yield ELSEWHERE


def _format_file(one: ReachedFile, home: Path) -> str:
    about = f"in {one.folder}/" if one.folder else _ABOUT[one.kind]
    return f"  {_short(one.path, home)}: {count_noun(one.lines, 'line')} {about}"


def _short(path: Path, home: Path) -> str:
    return f"~{os.sep}{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)


# --- doctor


def find_problems(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Check the person's rules file and each known project. Nothing is changed. Raises ConfigError."""
    paths = Paths.from_env(environ)
    settings = _read_settings(paths)
    mine = [
        DoctorFinding(one.id or "", "warning", one.why, one.hint) for one in _explain_person(paths, settings)
    ]
    state = "can be written" if settings.user_rules else "is off (reach.user_rules)"
    yield from mine or [DoctorFinding("reach.user-rules", "ok", f"{paths.config_dir / USER_RULES} {state}")]
    projects = list(check_projects(paths.config_dir, list_known_projects(paths.state_dir)))
    yield from projects
    if not projects:
        yield DoctorFinding("reach.projects", "ok", "learned lines reach the sessions of every known project")


def check_projects(client_home: Path, roots: Iterable[str]) -> Iterator[DoctorFinding]:
    """A warning for each way in which learned lines of projects do not reach sessions, and for each project whose disk does not
    answer."""
    found, roots = dict[str, list[tuple[Path, ReachProblem]]](), list(roots)
    asked = Stalls(SystemClock()).ask_each(
        (root, partial(_list_missing, client_home, Path(root))) for root in roots
    )
    for root, answer in zip(roots, asked, strict=True):
        if answer is None or not answer.done():
            what = f"the file system of {root} does not answer"
            yield DoctorFinding("reach.stuck", "warning", what, "check the mount; everything else goes on")
            continue
        for problem in answer.result():
            if problem.id:
                found.setdefault(problem.id, []).append((Path(root), problem))
    for id, places in found.items():
        place, first = places[0]
        more = f", and {len(places) - 1} more" if len(places) > 1 else ""
        yield DoctorFinding(id, "warning", f"{place}: {first.what}: {first.why}{more}", first.hint)


def _list_missing(client_home: Path, root: Path) -> Sequence[ReachProblem]:
    return survey_directory(client_home, root, _find_nothing).missing if root.is_dir() else ()


def _find_nothing(sql: str, *values: Value) -> list[Row]:
    """The rows of no store."""
    return []


def _explain_person(paths: Paths, settings: ReachSettings) -> Iterator[ReachProblem]:
    """Why the person's rules file is not written."""
    file, what = paths.config_dir / USER_RULES, "what is known of you"
    top = find_work_tree(file) if settings.user_rules else None
    if top is not None and not settings.user_rules_in_git:
        why = f"{file} is not written, because {top} is a git work tree: it could be committed"
        hint = "to allow it, set reach.user_rules_in_git = true and add rules/tacitd.md to .gitignore"
        yield ReachProblem("reach.in-git", what, why, hint)
    elif settings.user_rules:
        try:
            check_place(file)
        except FileRefusedError as error:
            yield ReachProblem("reach.blocked", what, error.what, error.hint)


def _read_settings(paths: Paths) -> ReachSettings:
    from tacitd.service.doctor import load_or_default

    settings: ReachSettings = load_or_default(paths, os.environ).get_section("reach")
    return settings
