"""The tasks of reach, and what `tacitd doctor` and `tacitd status` say about learned text that does not reach sessions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tacitd.config.settings import load_config
from tacitd.contract import Done, Outcome, Task, Tools
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.handler import Degradation, DoctorFinding
from tacitd.sources.registry import make_source
from tacitd.state.paths import Paths
from tacitd.work.project_rows import list_known_projects
from tacitd_handlers.learning.settings import ReachSettings
from tacitd_handlers.reach.client_rules import USER_RULES
from tacitd_handlers.reach.reach_survey import ReachProblem, survey_directory
from tacitd_handlers.reach.user_rules import check_place, find_work_tree, update_rules

JOB, CHECK = "user-rules", "reach-check"
PROBLEMS = ("reach.committed", "reach.excluded", "reach.linked", "reach.old-client")
RECENT = 30 * 86_400.0
"""Seconds: clients that were used within this time count."""


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
