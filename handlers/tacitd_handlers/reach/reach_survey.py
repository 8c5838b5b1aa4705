"""Which learned text reaches a session that starts in a directory, and why some does not: `tacitd reach`, the tasks of reach, `tacitd doctor`.

Only tacitd's own files are listed: the person's rules, and the project's and its modules' in `.claude/rules`. Nothing is written here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from tacitd.cli.common import echo_json, escape_output, get_paths, resolve_directory
from tacitd.config.settings import load_config
from tacitd.contract import Done, Outcome, Task, Tools
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.files.git import find_repository, read_index_mode
from tacitd.handler import Degradation, DoctorFinding
from tacitd.sources.registry import find_codex, make_source
from tacitd.state.paths import Paths
from tacitd.store import open_readonly
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.work.project_rows import list_known_projects
from tacitd_handlers.learning.settings import ReachSettings
from tacitd_handlers.reach import client_rules
from tacitd_handlers.reach.client_rules import (
    AGENTS,
    LEARNED,
    MODULE_RULES,
    PROJECT_RULE,
    SEE_ALSO,
    USER_RULES,
)
from tacitd_handlers.reach.context_files import (
    ExcludePattern,
    count_items,
    find_defect,
    find_exclude,
    find_link,
    list_loaded,
    list_rules,
    locate_directory,
    read_patterns,
)
from tacitd_handlers.reach.user_rules import check_place, find_work_tree, update_rules
from tacitd_handlers.shared.places import leads_out, read_text

if TYPE_CHECKING:
    from tacitd.session_context.context_request import ContextFile
    from tacitd.sources.source import ClientUse

_SOURCE = compile_lazily(r"(?m)^<!-- Written by tacitd from (?P<source>[^\n]+?): ")
DAEMON = "it is made while the daemon runs, unless reach.project_rules or projects.write is off"


class ReachedFile(Struct, frozen=True):
    path: Path
    kind: str
    """`person`, `project` or `module`."""
    when: str
    """`start`, or `read`: when a file in `folder` is read."""
    lines: int
    folder: str = ""
    """For `read`: the folder, relative to the work tree."""


class ReachProblem(Struct, frozen=True):
    """Learned text that does not arrive, or not as it should."""

    id: str
    """As in `tacitd doctor`; "" if it follows from the directory alone."""
    what: str
    why: str
    hint: str = ""


class ReachReport(Struct, frozen=True):
    """What a session in the directory loads."""

    directory: Path
    files: tuple[ReachedFile, ...]
    problems: tuple[ReachProblem, ...]
    clients: tuple[ClientUse, ...] = ()
    """The clients that were used here lately, the newest first."""


def survey_directory(
    client_home: Path,
    directory: Path,
    clients: Sequence[ClientUse] = (),
    list_folders: Callable[[Path], Iterable[str]] = lambda main: (),
    *,
    with_codex: bool = False,
) -> ReachReport:
    """Given a directory, return what a session there loads.

    `clients`: those that were used on this machine lately. `list_folders`: given a project's root, the folders whose AGENTS.md
    has lines of tacitd's. `with_codex`: whether Codex is used here too.
    """
    place = here, tree, main = locate_directory(directory)
    patterns = read_patterns(client_home, dict.fromkeys([tree, here]))
    found = list_loaded(client_home, place, client_rules.NESTED_AGENTS_SINCE, patterns)
    ours = (one for each in found if (one := _describe(each, client_home, here, tree)) is not None)
    files = tuple(sorted(ours, key=lambda one: one.when != "start"))
    mine = tuple(use for use in clients if _belongs_to(use.cwd, tree, main))
    problems = (
        *_explain_person(client_home, patterns),
        *_explain_project(tree, main, patterns),
        *_explain_modules(here, tree, main, patterns, list_folders(main)),
        *_judge_clients(mine, files),
        *(_explain_codex(tree, main) if with_codex else ()),
    )
    return ReachReport(here, files, problems, mine)


def _describe(one: ContextFile, client_home: Path, here: Path, tree: Path) -> ReachedFile | None:
    """A file of tacitd's with lines; None for any other, and for one that is about files outside the session's directory."""
    lines = count_items(one.text)
    if not lines:
        return None
    if one.path == client_home / USER_RULES:
        return ReachedFile(one.path, "person", one.when, lines)
    if one.path == tree / PROJECT_RULE or one.path == tree / MODULE_RULES / AGENTS:
        return ReachedFile(one.path, "project", one.when, lines)
    folder = _find_folder(one.path, tree)
    if not folder or not _is_attached(tree / folder, here):
        return None
    return ReachedFile(one.path, "module", one.when, lines, folder)


def _find_folder(path: Path, tree: Path) -> str:
    found = _SOURCE.search(read_text(path)) if path.parent == tree / MODULE_RULES else None
    return found["source"].rpartition("/")[0] if found is not None else ""


def _is_attached(place: Path, here: Path) -> bool:
    return place.is_relative_to(here) or here.is_relative_to(place)


def _explain_person(client_home: Path, patterns: list[ExcludePattern]) -> Iterator[ReachProblem]:
    path, what = client_home / USER_RULES, "what is known of you"
    if os.path.lexists(path) and not path.is_file():
        hint = "move it away; tacitd then makes its own"
        yield ReachProblem("", what, f"{path} {find_defect(path)}", hint)
    elif count_items(read_text(path)):
        yield from _explain_exclude(path, what, patterns)


def _explain_project(tree: Path, main: Path, patterns: list[ExcludePattern]) -> Iterator[ReachProblem]:
    path, what = tree / PROJECT_RULE, f"the lines of {LEARNED}"
    source = tree / LEARNED if (tree / LEARNED).is_file() else main / LEARNED
    expected, there = count_items(read_text(source)), count_items(read_text(path))
    link = find_link(path, tree)
    if link is not None and (expected or there):
        away = leads_out(path.parent, tree) or link == path
        why = f"{link} is a link, and tacitd writes nothing through one"
        if leads_out(path.parent, tree):
            why = f"{link} leads out of the project, where newer clients load no rules"
        hint = "remove it; tacitd then makes a file" if link == path else "make it a directory of the project"
        if away or not there:
            yield ReachProblem("reach.linked" if away else "", what, why, hint)
            return
    excluded = list(_explain_exclude(path, what, patterns)) if expected or there else []
    yield from excluded
    if there:
        yield from _explain_tracked(path, tree, what)
    if excluded or there >= expected:
        return
    trust = f"; for lines that came with the repository, read them, then run `tacitd trust {main}`"
    if not os.path.lexists(path):
        hint = f"{DAEMON}{trust}"
        if tree != main:
            hint = f"for a work tree that lives for one session: `tacitd plugin install` brings them at its start; {hint}"
        yield ReachProblem("", what, f"{path} does not exist", hint)
    elif not there:
        hint = "it is made again when the next session starts" if path.is_file() else "move it away"
        yield ReachProblem("", what, f"{path} {find_defect(path)}", hint)
    else:
        number = "1 line" if expected - there == 1 else f"{expected - there} lines"
        hint = f"a change is copied within a minute while the daemon runs{trust}"
        yield ReachProblem("", f"{number} of {LEARNED}", f"{path} does not have them", hint)


def _explain_modules(
    here: Path, tree: Path, main: Path, patterns: list[ExcludePattern], known: Iterable[str]
) -> Iterator[ReachProblem]:
    copies = {
        folder: path for path in list_rules(tree / MODULE_RULES) if (folder := _find_folder(path, tree))
    }
    for folder in sorted({*copies, *known}):
        what, path = f"the lines for {folder}", copies.get(folder)
        source = tree / folder / AGENTS if (tree / folder / AGENTS).is_file() else main / folder / AGENTS
        if path is None and not count_items(read_text(source)):
            continue
        if not _is_attached(tree / folder, here):
            hint = f"start the session in {tree}, or with --add-dir {tree}"
            why = f"{folder} is outside {here}, where Claude Code attaches nothing"
            yield ReachProblem("", what, why, hint)
        elif path is None:
            yield ReachProblem("", what, f"{tree / MODULE_RULES} has no copy of them", DAEMON)
        else:
            yield from _explain_exclude(path, what, patterns)
            yield from _explain_tracked(path, tree, what)


def _explain_exclude(path: Path, what: str, patterns: list[ExcludePattern]) -> Iterator[ReachProblem]:
    found = find_exclude(path, patterns)
    if found is not None:
        why = f"claudeMdExcludes in {found.file} excludes {path} ({found.pattern})"
        hint = f"change claudeMdExcludes in {found.file} if they should be loaded"
        yield ReachProblem("reach.excluded", what, why, hint)


def _explain_tracked(path: Path, tree: Path, what: str) -> Iterator[ReachProblem]:
    if read_index_mode(tree, path):
        why = f"git tracks {path}, so it is what the repository has: tacitd neither reads nor writes it"
        hint = f"git rm --cached {path.relative_to(tree)}, and commit that"
        yield ReachProblem("reach.committed", f"{what} as they are now", why, hint)


def _judge_clients(clients: Sequence[ClientUse], files: Sequence[ReachedFile]) -> Iterator[ReachProblem]:
    """What the clients that were used here do not load."""
    known = [(version, use) for use in clients if (version := client_rules.parse_version(use.version))]
    old = {use.version for version, use in known if not client_rules.loads_rules(version)}
    never = {
        use.version
        for version, use in known
        if use.version not in old and client_rules.when_paths_load(version, headless=use.headless) == "never"
    }
    if old and files:
        since = client_rules.format_version(client_rules.RULES_SINCE)
        why = f"Claude Code {', '.join(sorted(old))}, used here, does not load rules (known from {since} on)"
        yield ReachProblem("reach.old-client", "nothing of this", why, "update Claude Code")
    if never and any(one.kind == "module" for one in files):
        since = client_rules.format_version(client_rules.ATTACHED_SINCE)
        why = f"`claude -p` of {', '.join(sorted(never))}, used here, attaches no rules for paths (known from {since} on)"
        yield ReachProblem("reach.old-client", "the lines for modules", why, "update Claude Code")


def _explain_codex(tree: Path, main: Path) -> Iterator[ReachProblem]:
    """Codex loads AGENTS.md, and nothing else of these files."""
    source = tree / LEARNED if (tree / LEARNED).is_file() else main / LEARNED
    text = read_text(tree / AGENTS)
    if LEARNED not in text and count_items(read_text(source)):
        why = f"it loads {AGENTS}, and does not see {LEARNED}"
        hint = f"put this line into {tree / AGENTS}: {SEE_ALSO} Or set reach.codex = true, which keeps the lines there"
        yield ReachProblem("", f"the lines of {LEARNED}, in Codex", why, hint)


def _belongs_to(cwd: str, tree: Path, main: Path) -> bool:
    """Whether a session in this directory works in the project."""
    if not cwd.startswith("/"):
        return False
    place = Path(os.path.realpath(cwd))
    found = find_repository(next(one for one in (place, *place.parents) if one.is_dir()))
    return found.top == main if found is not None else place.is_relative_to(tree)


RECENT = 30 * 86_400.0
"""Seconds: clients that were used within this time count."""
ELSEWHERE = (
    "A session that adds this directory with --add-dir loads none of it at its start; with "
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1 it loads the project's lines (2.1.63 and later)."
)
_SOURCES = {"person": "about you", "project": "of this project", "module": "of this module"}


@click.command(
    epilog="\b\nExample: tacitd reach ~/work/app/web\nExample: tacitd reach --json | jq '.missing[].why'"
)
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: loads, missing, clients.")
def reach(directory: str | None, as_json: bool) -> None:
    """List what a session that starts in a directory loads of what was learned, and what does not arrive and why.

    Works without a daemon and changes nothing. Clients are those that wrote transcripts here within 30 days.
    """
    places = get_paths()
    clients = make_source(places.config_dir).list_clients(time.time() - RECENT)
    folders = partial(_list_module_folders, places.state_dir)
    codex = find_codex(os.environ) is not None
    here = resolve_directory(directory)
    report = survey_directory(places.config_dir, here, clients, folders, with_codex=codex)
    if as_json:
        echo_json(as_document(report))
        return
    for line in format_report(report, places.home):
        click.echo(line)


def _list_module_folders(state_dir: Path, root: Path) -> set[str]:
    """The folders of a project whose AGENTS.md has a line that tacitd wrote."""
    store = open_readonly(state_dir)
    if store is None:
        return set()
    with store:
        found = [Path(path) for (path,) in store.rows("SELECT DISTINCT path FROM shared_leaf")]
    modules = (path.parent for path in found if path.name == AGENTS and path.is_relative_to(root))
    return {one.relative_to(root).as_posix() for one in modules if one != root / MODULE_RULES}


def as_document(report: ReachReport) -> dict[str, Any]:
    loads = [
        {
            "path": str(one.path),
            "kind": one.kind,
            "when": one.when,
            "folder": one.folder or None,
            "lines": one.lines,
        }
        for one in report.files
    ]
    missing = [
        {"id": one.id or None, "what": one.what, "why": one.why, "hint": one.hint} for one in report.problems
    ]
    versions = dict.fromkeys((use.version, use.headless) for use in report.clients)
    clients = [{"version": version, "headless": headless} for version, headless in versions]
    return {
        "schema": 1,
        "directory": str(report.directory),
        "loads": loads,
        "missing": missing,
        "clients": clients,
        "notes": [ELSEWHERE],
    }


def format_report(report: ReachReport, home: Path) -> Iterator[str]:
    yield f"A session in {_short(report.directory, home)}"
    start = [one for one in report.files if one.when == "start"]
    read = [one for one in report.files if one.when == "read"]
    yield "loads at its start:"
    yield from (_format_file(one, home) for one in start)
    yield from [] if start else ["  nothing that was learned"]
    if read:
        yield "loads when a file is read:"
        yield from (_format_file(one, home) for one in read)
    if report.problems:
        yield "Does not arrive, or not as it should:"
        for one in report.problems:
            yield f"  {escape_output(one.what)}: {escape_output(one.why)}"
            if one.hint:
                yield f"    hint: {escape_output(one.hint)}"
    yield ELSEWHERE


def _format_file(one: ReachedFile, home: Path) -> str:
    about = f"in {one.folder}/" if one.folder else _SOURCES[one.kind]
    lines = "1 line" if one.lines == 1 else f"{one.lines} lines"
    return f"  {_short(one.path, home)}: {lines} {escape_output(about)}"


def _short(path: Path, home: Path) -> str:
    """The path with `~` for the home."""
    inside = path.is_relative_to(home) and path != home
    return escape_output(f"~{os.sep}{path.relative_to(home)}" if inside else str(path))


CHECK = "reach-check"
PROBLEMS = ("reach.committed", "reach.excluded", "reach.linked", "reach.old-client")


def run(task: Task, tools: Tools) -> Outcome:
    """Bring the person's file up to date, or check the projects."""
    if task.key.partition(" ")[0] == CHECK:
        report_problems(tools)
        return Done()
    return update_rules(tools, restore=task.kind == "session-started", forced=task.kind == "purge")


def find_problems(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Check the person's rules file and each known project. Nothing is changed. Raises ConfigError."""
    paths = Paths.from_env(environ)
    user = list(_check_user_rules(paths, _load_settings(paths, environ)))
    projects = list(check_projects(paths.config_dir, list_known_projects(paths.state_dir), time.time()))
    yield from user
    yield from projects
    if not projects:
        yield DoctorFinding("reach.projects", "ok", "learned lines reach the sessions of every known project")


def check_projects(client_home: Path, roots: Iterable[str], now: float) -> Iterator[DoctorFinding]:
    """A warning for each way in which learned lines of projects do not reach sessions. `now`: seconds since 1970, UTC."""
    present = [root for root in map(Path, roots) if root.is_dir()]
    # Clients are looked up among all transcripts, which takes a tenth of a second for 10,000.
    clients = make_source(client_home).list_clients(now - RECENT) if present else ()
    found: dict[str, list[tuple[Path, ReachProblem]]] = {}
    for root in present:
        for problem in survey_directory(client_home, root, clients).problems:
            if problem.id:
                found.setdefault(problem.id, []).append((root, problem))
    for id, places in found.items():
        root, first = places[0]
        more = f", and {len(places) - 1} more" if len(places) > 1 else ""
        yield DoctorFinding(id, "warning", f"{root}: {first.what}: {first.why}{more}", first.hint)


def _check_user_rules(paths: Paths, settings: ReachSettings) -> Iterator[DoctorFinding]:
    file = paths.config_dir / USER_RULES
    if not settings.user_rules:
        yield DoctorFinding("reach.user-rules", "ok", f"{file} is off (reach.user_rules)")
        return
    top = find_work_tree(file)
    if top is not None and not settings.user_rules_in_git:
        what = f"{file} is not written, because {top} is a git work tree: it could be committed"
        hint = "to allow it, set reach.user_rules_in_git = true and add rules/tacitd.md to .gitignore"
        yield DoctorFinding("reach.in-git", "warning", what, hint)
        return
    try:
        check_place(file)
    except FileRefusedError as error:
        yield DoctorFinding("reach.blocked", "warning", error.what, error.hint)
        return
    yield DoctorFinding("reach.user-rules", "ok", f"{file} can be written")


def _load_settings(paths: Paths, environ: Mapping[str, str]) -> ReachSettings:
    """The settings; the defaults if the configuration is wrong, which doctor reports by itself."""
    from tacitd.plugins import find_plugins

    with suppress(TacitdError):
        found = load_config(paths.config_file, environ, find_plugins().collect_sections(), broken=True)
        made: ReachSettings = found.get_section("reach")
        return made
    return ReachSettings()


def report_problems(tools: Tools) -> None:
    """Report what does not reach the sessions of known projects, until it is gone."""
    roots = [root for (root,) in tools.rows("SELECT root FROM project ORDER BY root")]
    found = {one.id: one for one in check_projects(tools.client_home, roots, tools.clock.now())}
    for id in PROBLEMS:
        if id in found:
            tools.degrade(Degradation(id, found[id].what, found[id].hint))
        else:
            tools.clear(id)
