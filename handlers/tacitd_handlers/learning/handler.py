"""The learning handler: which event starts which stage.

The stages are in `stage1/run.py` and `synthesize.py`. Only events, commits, degradations and the status are handled here.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.clock import local_date, utc_seconds
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import (
    Due,
    Event,
    Message,
    NoProject,
    Project,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    TranscriptGrew,
)
from tacitd.files import git
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd.text.plurals import count_noun
from tacitd_handlers.learning.adopted_rules import AdoptedRules
from tacitd_handlers.learning.bootstrap import Bootstrap, SummaryFocus
from tacitd_handlers.learning.folders import SessionFolders
from tacitd_handlers.learning.init import init_project
from tacitd_handlers.learning.learned_notices import describe_commit
from tacitd_handlers.learning.mirrors.mirror_sync import Mirrors
from tacitd_handlers.learning.open_questions import count_open_questions
from tacitd_handlers.learning.pending_facts import done_batches
from tacitd_handlers.learning.person_decisions import LineDecisions, read_line_decisions
from tacitd_handlers.learning.project_files import read_spliceable
from tacitd_handlers.learning.raw_ownership import RawOwnership, describe_foreign
from tacitd_handlers.learning.refusals import UNUSABLE, RefusalLog
from tacitd_handlers.learning.removal_messages import add_removal_messages
from tacitd_handlers.learning.removals import check_removals, is_news
from tacitd_handlers.learning.stage1.run import extract_facts
from tacitd_handlers.learning.state import COUNTED_FIELDS, LearningState, SetAsideFacts
from tacitd_handlers.learning.state_snapshot import encode_state, fold_commits
from tacitd_handlers.learning.store import ProjectPaths, RawAccess, append_raw, take_back, why_not_writable
from tacitd_handlers.learning.synthesize import SYNTHESIZE, Synthesizer, recover_pending

SILENCE_LIMIT = 50
"""Number of prompts put to the model without a fact after which `status` warns: the cause may be a fault."""

RETRY = "retry"
MIRROR = "mirror"
RESTORE = "restore"
"""Names of the handler's jobs. `SYNTHESIZE` is another."""


class LearningHandler(BaseHandler):
    """The handler of seed 003. Events of one project do not overlap; events of different projects may."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._state = LearningState()
        self._session_folders: dict[str, SessionFolders] = {}
        self._projects: dict[Path, Project] = {}
        self._refused_synthesis: dict[Path, str] = {}
        """Why a project's synthesis was refused. It is a degradation already, so `status` does not repeat it."""
        self._ownership: RawOwnership
        self._bootstrap: Bootstrap
        self._mirrors: Mirrors
        self._synthesis: Synthesizer
        self._refusals: RefusalLog
        self._tools: Tools

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Fold the commits, and write facts into raw files that a crash prevented. Raises OSError."""
        self._tools = tools
        self._state = fold_commits(
            commits, partial(logger.warning, "skipped a commit of {0.event} that cannot be read: {1}")
        )
        self._ownership = RawOwnership(
            tools.home, tools.clock, dict(self._state.first_written_at), tools.disk
        )
        self._bootstrap = Bootstrap(tools.home, self._ownership, tools.disk)
        self._refusals = RefusalLog(tools.home, tools.disk)
        self._load_refusals(tools)
        self._mirrors = Mirrors(tools.home, tools.clock, self._state.first_written_at.keys(), tools.disk)
        self._synthesis = Synthesizer(
            self._bootstrap, self._ownership, self._refusals, self._mirrors, tools.home, tools.disk
        )
        for root in [root for root, made in self._state.waiting.items() if made]:
            self._project_raw(root, done_batches(tools.history, root))
        self._report_silence(tools)
        self._report_set_aside(tools)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Handle one event. Raises OSError and TacitdError; the engine then offers the event again."""
        match event:
            case TranscriptGrew():
                return self._handle_growth(event, tools)
            case SessionEnded(project=Project() as project):
                self._note(project)
                outcome = self._synthesize(project, tools)
                if isinstance(outcome, Done):
                    self._session_folders.pop(event.session, None)
                return outcome
            case SourceChanged():
                return self._handle_source_change(event, tools)
            case Due():
                return self._run_job(event, tools)
            case SessionStarted(project=Project() as project):
                self._note(project)
                return self._check_at_start(project, tools)
            case SessionEnded() | Message():
                self._session_folders.pop(event.session, None)
                return Done()
            case SessionStarted():
                return Done()

    def _note(self, project: Project | NoProject) -> None:
        if isinstance(project, Project):
            with self._lock:
                new = project.root not in self._projects
            if new:
                self.inspect_raw_files(project.root)
            with self._lock:
                self._projects[project.root] = project

    def inspect_raw_files(self, root: Path) -> RawAccess:
        """Return what may be done with the project's raw files. Degrade while some of them are not ours.

        Raises OSError and FileRefusedError.
        """
        access = self._ownership.inspect_files(ProjectPaths(root))
        foreign, id = describe_foreign(ProjectPaths(root), access), f"learning.raw-foreign:{root}"
        if foreign is None:
            self._tools.clear(id)
        else:
            self._tools.degrade(Degradation(id, *foreign))
        return access

    @property
    def mirrors(self) -> Mirrors:
        """The copies of learned lines, for a person's decision about a line."""
        return self._mirrors

    # stage 1

    def _handle_growth(self, event: TranscriptGrew, tools: Tools) -> Outcome:
        self._note(event.project)
        folders = self._folders(event, tools)
        if isinstance(event.project, Project):
            with self._lock:
                repeated = self._state.list_repeated_lines(event.project.root)
            self._bootstrap.set_focus(event.project.root, SummaryFocus(folders, repeated))
        try:
            outcome = extract_facts(
                event, folders, self._bootstrap, self._refusals, self._wants_rewording, tools
            )
        except FileBusyError:
            raise
        except TacitdError as error:
            # A file cannot be read or written. The prompts are not the cause, so no retry is counted against them.
            outcome = Later(error.what, error.hint)
        if isinstance(outcome, Later) and outcome.blame == "work":
            hint = "the model is asked again with fewer prompts at a time; `tacitd rescue` lists prompts that are given up"
            tools.degrade(Degradation("learning.answers", outcome.reason, hint))
        elif isinstance(outcome, Done) and outcome.data.get("asked"):
            tools.clear("learning.answers")
        return outcome

    def _wants_rewording(self, root: Path, line: str) -> bool:
        with self._lock:
            return self._state.wants_rewording(root, line)

    def _folders(self, event: TranscriptGrew, tools: Tools) -> tuple[str, ...]:
        if not isinstance(event.project, Project):
            return ()
        folders = self._session_folders.setdefault(event.session, SessionFolders())
        folders.count_growth(event, event.project, tools)
        return folders.list_folders()

    def committed(self, commit: Commit, tools: Tools) -> None:
        """After a durable commit: write new facts into the raw file, and log, degrade and announce. Safe to repeat."""
        kind, root = commit.data.get("kind"), Path(str(commit.data.get("project", "")))
        with self._lock:
            before = root in self._state.first_written_at
            self._state.fold_commit(commit)
            first = root in self._state.first_written_at and not before
        if first:
            logger.info("tacitd writes in {} from now on; `tacitd exclude` stops that", root)
        if kind == "batch":
            self._report_silence(tools)
            if commit.data.get("new"):
                self._project_raw(root)
        if kind == "aside":
            self._report_set_aside(tools)
        for notice in describe_commit(commit):
            tools.announce(notice)

    def take_snapshot(self) -> Mapping[str, Any]:
        """The state as JSON."""
        with self._lock:
            return encode_state(self._state)

    def _load_refusals(self, tools: Tools) -> None:
        """Load the log of refusals. If it cannot be read, degrade and continue with a count of zero."""
        try:
            self._refusals.load()
            self._refusals.prune(tools.clock.now())
        except (OSError, TacitdError) as error:
            what = f"{self._refusals.path} cannot be read: {getattr(error, 'strerror', None) or error}"
            hint = "make it a file that tacitd can read, or move it away; until then refused texts are not counted"
            tools.degrade(Degradation(UNUSABLE, what, hint))
        else:
            tools.clear(UNUSABLE)

    def _report_silence(self, tools: Tools) -> None:
        asked = self._state.asked_since_fact
        if asked < SILENCE_LIMIT:
            tools.clear("learning.silent")
            return
        what = f"{asked} prompts were put to the model since the last fact"
        hint = "`tacitd prompts` shows what is read; the known-facts summary in `tmp/` shows what counts as known"
        tools.degrade(Degradation("learning.silent", what, hint))

    def _report_set_aside(self, tools: Tools) -> None:
        """Degrade for each set of facts that were put aside, as long as their files exist (SPEC S-23)."""
        with self._lock:
            aside = list(self._state.set_aside)
        for one in aside:
            files = [ProjectPaths(one.root).tmp_dir / name for name in one.names]
            left = [str(path) for path in files if path.exists()]
            id = f"learning.aside:{one.root}:{','.join(one.names)}"
            if left:
                tools.degrade(
                    Degradation(
                        id, f"facts were put aside in {', '.join(left)}: {one.reason}", self._retry_hint(one)
                    )
                )
            else:
                tools.clear(id)

    def _retry_hint(self, aside: SetAsideFacts) -> str:
        """How to have facts that were put aside tried again. Appending to a raw file that is not ours has no effect."""
        files = ProjectPaths(aside.root)
        try:
            own = self.inspect_raw_files(aside.root).raw != "closed"
        except (OSError, TacitdError):
            own = True
        if own:
            return f"run `tacitd rescue retry --all` (or append them to {files.raw_file}), or delete them"
        return "run `tacitd rescue retry --all`, or delete them"

    def _project_raw(self, root: Path, done: Iterable[str] = ()) -> None:
        """Write waiting batches into the raw file, without those in `done`. On failure, degrade; the log keeps the facts."""
        tools, files, id = (
            self._tools,
            ProjectPaths(root, self._tools.disk),
            f"learning.raw-unwritable:{root}",
        )
        with self._lock:
            batches = [b for b in self._state.waiting.get(root, {}).values() if b.id not in set(done)]
        if tools.write_mode(Project(root, False)) == "off" or not root.is_dir():
            return
        try:
            append_raw(files, batches, self.inspect_raw_files(root))
        except (OSError, TacitdError) as error:
            why = getattr(error, "what", "") or getattr(error, "strerror", "") or str(error)
            what = f"{files.raw_file} cannot be written: {why}"
            tools.degrade(Degradation(id, what, "the facts are kept and are written once it can be"))
        else:
            tools.clear(id)

    # stage 2

    def _synthesize(self, project: Project, tools: Tools) -> Outcome:
        id = f"learning.file:{project.root}"
        # What a person deleted in a mirror is not written again; what git removed is known again.
        self._mirrors.keep_in_step(project, tools, again=self._mirrors.has_cleaned(project))
        try:
            outcome = self._synthesis.synthesize_project(project, self._state, tools)
        except FileBusyError:
            raise
        except TacitdError as error:
            self._refused_synthesis[project.root] = error.what
            tools.degrade(Degradation(id, error.what, error.hint))
            return Later(error.what, error.hint)
        self._refused_synthesis.pop(project.root, None)
        tools.clear(id)
        if isinstance(outcome, Done):
            tools.clear(f"learning.raw-unwritable:{project.root}")
        return outcome

    # jobs: from the schedule, from commands, and posted by the handler

    def _run_job(self, event: Due, tools: Tools) -> Outcome:
        match event.job, event.project:
            case "init", Project() as project:
                return self._init(project, tools)
            case "synthesize", Project() as project:
                self._note(project)
                return self._synthesize(project, tools)
            case "retry", _:
                self._retry(tools)
                return Done()
            case ("mirror" | "restore") as job, Project() as project:
                self._mirrors.keep_in_step(project, tools, again=job == RESTORE)
                return Done(data=self._check_removals(project, tools))
            case "unfinished-mirrors", _:
                self._post_mirrors(self._mirrors.list_unfinished(tools), tools)
                self._post_mirrors(self._mirrors.list_cleaned(), tools, RESTORE)
                return Done()
            case "recover", _:
                self._recover(tools)
                return Done()
            case _:
                return Done()

    def _init(self, project: Project, tools: Tools) -> Outcome:
        self._note(project)
        if tools.write_mode(project) == "off":
            return Done()
        init_project(project, tools, self._mirrors)
        made = self._bootstrap.refresh_summary(project, tools, ask=True, at_once=True)
        return Done(data={"kind": "summary", "project": str(project.root), "by": made.by})

    def _recover(self, tools: Tools) -> None:
        """Post a synthesis for each project with facts and without a live session (SPEC S-52).

        Each synthesis is its own event: a failure does not stop the others, and two of one project do not overlap.
        """
        self._report_set_aside(tools)
        self._load_refusals(tools)
        recover_pending(tools)
        for project in self._known_projects(tools):
            if self._has_facts(project.root) and not tools.has_live_session(project):
                tools.post(Due(SYNTHESIZE, project))
        self._post_mirrors(self._mirrors.list_roots(), tools)

    def _post_mirrors(self, roots: Iterable[Path], tools: Tools, job: str = MIRROR) -> None:
        for root in roots:
            if root.is_dir():
                tools.post(Due(job, Project(root, git.git_dir(root) is not None)))

    def _has_facts(self, root: Path) -> bool:
        """Whether facts wait in the project. True if its files cannot be inspected; its synthesis then reports why."""
        with self._lock:
            if self._state.waiting.get(root):
                return True
        try:
            return self.inspect_raw_files(root).waiting
        except (OSError, TacitdError):
            return True

    def _retry(self, tools: Tools) -> None:
        """Claim all facts again that were put aside, and post a synthesis for their projects."""
        with self._lock:
            aside = list(self._state.set_aside)
        for one in aside:
            files = ProjectPaths(one.root, tools.disk)
            note = partial(self._ownership.note_made, files)
            if why_not_writable(files) is None and take_back(files, one.names, tools.clock.now(), note):
                project = tools.project_of(str(one.root))
                if isinstance(project, Project):
                    tools.post(Due(SYNTHESIZE, project))
        self._report_set_aside(tools)

    def _known_projects(self, tools: Tools) -> list[Project]:
        with self._lock:
            roots = dict.fromkeys([*self._state.waiting, *self._state.first_written_at])
            known = dict(self._projects)
        for root in roots:
            if root not in known and root.is_dir():
                place = tools.project_of(str(root))
                if isinstance(place, Project):
                    known[place.root] = place
        return [p for p in known.values() if tools.write_mode(p) != "off" and p.root.is_dir()]

    def _check_at_start(self, project: Project, tools: Tools) -> Outcome:
        """Check our lines and regenerate the summary before a session's first prompts are put to the model.

        Trigger: a session begins. Why: LEARNED.md may have changed while no daemon ran, or before the project was known. A
        line that the user deleted would be dropped as known if it is learned again. Outcome: the start is handled as a
        change of LEARNED.md.
        """
        self._mirrors.keep_in_step(project, tools, again=True)
        if tools.write_mode(project) == "off":
            return Done()
        return self._handle_source_change(
            SourceChanged(project, ProjectPaths(project.root).learned_file), tools
        )

    def _handle_source_change(self, event: SourceChanged, tools: Tools) -> Outcome:
        """Check our lines for removals, and regenerate the summary (SPEC S-43).

        Our own write of LEARNED.md triggers this too. It has no effect then: the lines are as expected, and the model is not
        asked for LEARNED.md.
        """
        project, files = event.project, ProjectPaths(event.project.root)
        data: Mapping[str, Any] = {}
        is_document = event.path in tools.directives or event.path == files.agents_file
        if not is_document:
            self._mirrors.keep_in_step(project, tools)
            data = self._check_removals(project, tools)
        writes = tools.write_mode(project) != "off" and why_not_writable(files) is None
        if (is_document or event.path == files.learned_file) and files.summary_file.exists() and writes:
            self._bootstrap.refresh_summary(project, tools, ask=is_document)
        return Done(data=data)

    def _check_removals(self, project: Project, tools: Tools) -> Mapping[str, Any]:
        """The data of a commit with the lines that the person removed since the last check; {} if nothing changed."""
        data = check_removals(project, self._state, tools.history, tools.clock.now())
        return add_removal_messages(data, tools) if is_news(data, project, self._state) else {}

    def sources(self, project: Project) -> Sequence[Path]:
        """The files to watch: the documents that the summary is made of (SPEC S-40), mirrors and their sources, and HEAD's
        reflog.

        A missing line counts as removed by the user only if HEAD has not moved since the last check (SPEC S-28).
        """
        files, reflog = ProjectPaths(project.root), _reflog(project)
        found = [*self._tools.directives, files.agents_file, files.learned_file]
        found += [path for path in self._mirrors.list_watched(project) if path not in found]
        return [*found, reflog] if reflog is not None else found

    # status

    def status(self) -> Mapping[str, Any]:
        """The handler's part of the status document: counts of today and in total, what waits, and what needs attention."""
        decisions = LineDecisions()
        with suppress(OSError):
            decisions = read_line_decisions(self._tools.home)
        with self._lock:
            state = self._state
            today = state.days.get(local_date(self._tools.clock.now()), Counter())
            waiting = {
                str(root): sum(len(b.facts) for b in made.values()) for root, made in state.waiting.items()
            }
            counted = {
                "today": {name: today[name] for name in COUNTED_FIELDS},
                "total": {name: state.total[name] for name in COUNTED_FIELDS},
                "skipped": dict(state.skipped),
            }
            since = {str(root): utc_seconds(at) for root, at in state.first_written_at.items()}
            asked = count_open_questions(state, self._refusals, decisions)
            roots = [root for root, seen in state.snapshots.items() if seen]
        found: dict[str, Any] = (
            counted
            | asked
            | {
                "facts_waiting": {root: n for root, n in waiting.items() if n},
                "waits": [
                    {"project": root, "what": count_noun(n, "fact"), **self._until(root)}
                    for root, n in waiting.items()
                    if n
                ],
                "offers": self._count_offers(),
                "projects": since,
                "rules_problems": self._mirrors.list_problems(),
                "untrusted": self._mirrors.list_untrusted(),
                "files_refused": [what for root in roots if (what := _why_not_writable(root))],
            }
        )
        reported = [what for what in found["files_refused"] if what in self._refused_synthesis.values()]
        return found | {"files_reported": reported}

    def _count_offers(self) -> int:
        """Number of lines that were learned in three projects and that the person has not decided on (SPEC S-55)."""
        try:
            with self._lock:
                return len(AdoptedRules(self._tools.home).list_open_offers(self._state))
        except OSError:
            return 0

    def _until(self, root: str) -> Mapping[str, str]:
        """What the facts of a project wait for, as text, and the job that writes them; an excluded project has none."""
        if self._tools.write_mode(Project(Path(root), False)) == "off":
            return {"until": f"`tacitd exclude --undo {root}`", "job": ""}
        return {"until": "its session ends", "job": SYNTHESIZE}


def _why_not_writable(root: Path) -> str:
    """Why no line can be put into LEARNED.md now; "" if one can."""
    try:
        read_spliceable(ProjectPaths(root).learned_file, root)
    except TacitdError as error:
        return error.what
    return ""


def _reflog(project: Project) -> Path | None:
    """HEAD's reflog, which changes whenever HEAD moves; None outside git."""
    directory = git.git_dir(project.root) if project.git else None
    return directory / "logs" / "HEAD" if directory is not None else None
