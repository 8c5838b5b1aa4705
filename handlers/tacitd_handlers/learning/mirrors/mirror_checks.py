"""What commands find out about mirrors without the daemon: the state directory and the projects are read, nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tacitd.clock import SystemClock
from tacitd.config.settings import Config, load_config
from tacitd.errors import TacitdError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.log import Log
from tacitd.files.transaction import History
from tacitd.service.finding import DoctorFinding
from tacitd.state.paths import Paths
from tacitd.work.write_modes import WriteModes
from tacitd_handlers.learning.inventory import state_of
from tacitd_handlers.learning.mirrors.displaced_sources import list_displaced
from tacitd_handlers.learning.mirrors.mirror_hiding import (
    IncludedMirrors,
    list_shown_files,
    why_shown_by_git,
)
from tacitd_handlers.learning.mirrors.mirror_plan import MirrorPlan, plan_changes, plan_edits
from tacitd_handlers.learning.mirrors.mirror_record import HOME, MirrorRecord, MirrorRecords
from tacitd_handlers.learning.mirrors.mirror_survey import MirrorSurvey, survey_project
from tacitd_handlers.learning.mirrors.trusted_projects import LOG, TrustedProjects

HINT = "move it away or mend it; the copy is made when the next session starts"


def find_problems(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """A warning for each mirror that is not written or not read, and why. Raises OSError."""
    paths, found = Paths.from_env(environ), False
    config = _load_settings(paths, environ)
    for record in open_records(paths.state_dir).list_records():
        for what in find_mirror_problems(record, paths.state_dir, config):
            found = True
            yield DoctorFinding("learning.copies", "warning", what, HINT)
    if not found:
        yield DoctorFinding("learning.copies", "ok", "the copies of learned lines can be written")


def find_mirror_problems(record: MirrorRecord, state: Path, config: Config | None) -> list[str]:
    """What prevents a project's mirrors from being in step now. Raises OSError."""
    project = Project(record.root, git=git.git_dir(record.root) is not None)
    if not record.root.is_dir():
        return []
    mode = WriteModes(state, SystemClock()).get_mode(project)
    if mode == "off" or (config is not None and not _wants_mirrors(config)):
        return record.problems
    trusted = TrustedProjects(Log(state / "handlers" / "learning" / LOG), SystemClock())
    survey = survey_state(project, state, trusted=trusted.get_trust(project) == "trusted")
    plan = MirrorPlan()
    plan_edits(survey, plan)
    hidden = why_shown_by_git(project)
    plan_changes(survey, survey.sources, plan, again=True, make_empty=False, hidden=hidden)
    return list(dict.fromkeys([*plan.problems, *survey.problems]))


def survey_state(project: Project, state: Path, *, trusted: bool) -> MirrorSurvey:
    """Look at a project as the daemon does, and keep nothing of it. `state`: the state directory. Raises OSError."""
    clock, included = SystemClock(), IncludedMirrors()
    shared = WriteModes(state, clock).get_mode(project) == "shared"
    survey = survey_project(
        project,
        open_records(state).load(project.root),
        History(Log(state / "history.jsonl"), clock),
        trusted=trusted,
        shared=shared,
        known_before=project.root in state_of(state).first_written_at,
        why_shown=lambda target: included.explain(project, target.tree, target.path),
    )
    survey.problems += list_displaced(survey.record)
    survey.problems += list_shown_files(project, included) if not shared else []
    return survey


def open_records(state: Path) -> MirrorRecords:
    """The records of all projects in a state directory."""
    return MirrorRecords(state / "handlers" / "learning" / HOME)


def _wants_mirrors(config: Config) -> bool:
    wants: bool = config.get_section("reach").project_rules
    return wants


def _load_settings(paths: Paths, environ: Mapping[str, str]) -> Config | None:
    """The settings; None if the configuration is wrong, which doctor reports by itself."""
    from tacitd.plugins import find_plugins

    try:
        return load_config(paths.config_file, environ, find_plugins().collect_sections(), broken=True)
    except TacitdError:
        return None
