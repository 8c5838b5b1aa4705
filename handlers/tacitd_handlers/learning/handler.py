"""The learning handler: which event leads to which stage. The stages themselves are in their own modules."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.clock import local_date, utc_seconds
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import (
    Due,
    Event,
    NoProject,
    Project,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    Told,
    TranscriptGrew,
)
from tacitd.files import git
from tacitd.handler import BaseHandler, Commit, Degradation, Done, Later, Outcome, Tools
from tacitd_handlers.learning import visibility
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.init import init_project
from tacitd_handlers.learning.learned_notices import learned_notices
from tacitd_handlers.learning.project_files import read_spliceable
from tacitd_handlers.learning.raw_ownership import RawOwnership, describe_foreign
from tacitd_handlers.learning.refusals import UNUSABLE, RefusalLog
from tacitd_handlers.learning.removals import check_removals, is_news
from tacitd_handlers.learning.session_folders import folders_of
from tacitd_handlers.learning.stage1.run import extract_facts
from tacitd_handlers.learning.stage2.pending_facts import done_batches
from tacitd_handlers.learning.stage2.run import SYNTHESIZE, Synthesizer, recover_pending
from tacitd_handlers.learning.state import COUNTED_FIELDS, LearningState, SetAsideFacts
from tacitd_handlers.learning.status_text import count_facts
from tacitd_handlers.learning.store import ProjectPaths, RawAccess, append_raw, take_back, why_not_writable

SILENCE_LIMIT = 50
"""Prompts put to the model without a fact before `status` says so: silence must not look like health."""

RECOVER = "recover"
INIT = "init"
RETRY = "retry"
"""Jobs of the handler; `SYNTHESIZE` is another."""


class SessionFolders:
    """Which folders a session worked in, most often touched first (SPEC S-30). Records are offered more than once while
    prompts are gathered, and counted once."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._read: dict[Path, int] = {}

    def count_folders(self, event: TranscriptGrew, project: Project) -> None:
        """Count what the records' tools read and wrote."""
        mark = self._read.get(event.transcript, 0)
        uses = [use for record in event.records if record.start >= mark for use in record.tools]
        self._read[event.transcript] = max(mark, event.end)
        cwd = next((r.cwd for r in reversed(event.records) if r.cwd), "")
        here = git.find_repository(Path(cwd)) if cwd.startswith("/") and uses else None
        worktrees = [str(here.here)] if here is not None and here.top == project.root else []
        for use in uses:
            self._counts.update(folders_of(str(project.root), [use], cwd=cwd, worktrees=worktrees))

    def list_folders(self) -> tuple[str, ...]:
        """At most thirty."""
        return tuple(name for name, _ in self._counts.most_common(30))


class LearningHandler(BaseHandler):
    """Seed 003, as one handler. Events of one project never overlap; those of two may."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._state = LearningState()
        self._session_folders: dict[str, SessionFolders] = {}
        self._projects: dict[Path, Project] = {}
        self._refused_synthesis: dict[Path, str] = {}
        """Why a project's synthesis was refused: a degradation already, that need not be said twice."""
        self._ownership: RawOwnership
        self._bootstrap: Bootstrap
        self._synthesis: Synthesizer
        self._refusals: RefusalLog
        self._tools: Tools

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        """Remember what was done; write facts again that a crash kept from their raw file."""
        self._tools = tools
        for commit in commits:
            try:
                self._state.fold_commit(commit)
            except (KeyError, TypeError, ValueError) as error:  # a newer version's: not ours to judge
                logger.warning("a commit of {} is not understood: {}", commit.event, error)
        self._ownership = RawOwnership(
            tools.home, tools.clock, dict(self._state.first_written_at), tools.disk
        )
        self._bootstrap = Bootstrap(tools.home, self._ownership, tools.disk)
        self._refusals = RefusalLog(tools.home, tools.disk)
        self._load_refusals(tools)
        self._synthesis = Synthesizer(
            self._bootstrap, self._ownership, self._refusals, tools.home, tools.disk
        )
        for root in [root for root, made in self._state.waiting.items() if made]:
            self._project_raw(root, done_batches(tools.history, root))
        self._report_silence(tools)
        self._report_set_aside(tools)

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Answer one event. Raises OSError and TacitdError where the world refuses; then it is offered again."""
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
            case SessionEnded() | Told():
                self._session_folders.pop(event.session, None)
                return Done()
            case SessionStarted():
                return Done()

    def _note(self, project: Project | NoProject) -> None:
        if isinstance(project, Project):
            with self._lock:
                new = project.root not in self._projects
            if new:
                self._inspect(project.root)
            with self._lock:
                self._projects[project.root] = project

    def _inspect(self, root: Path) -> RawAccess:
        """What may be done with the project's raw files, said in `status` where some are left alone.

        Raises OSError and FileRefusedError.
        """
        access = self._ownership.inspect_files(ProjectPaths(root))
        said, id = describe_foreign(ProjectPaths(root), access), f"learning.raw-foreign:{root}"
        if said is None:
            self._tools.clear(id)
        else:
            self._tools.degrade(Degradation(id, *said))
        return access

    # stage 1

    def _handle_growth(self, event: TranscriptGrew, tools: Tools) -> Outcome:
        self._note(event.project)
        try:
            outcome = extract_facts(event, self._folders(event), self._bootstrap, self._refusals, tools)
        except FileBusyError:
            raise
        except TacitdError as error:  # a file is in the way: that is not the fault of these words
            outcome = Later(error.what, error.hint)
        if isinstance(outcome, Later) and outcome.blame == "work":
            hint = "it is asked again, with fewer prompts at a time; what stays in the way is kept: `tacitd rescue`"
            tools.degrade(Degradation("learning.answers", outcome.reason, hint))
        elif isinstance(outcome, Done) and outcome.data.get("asked"):
            tools.clear("learning.answers")
        return outcome

    def _folders(self, event: TranscriptGrew) -> tuple[str, ...]:
        if not isinstance(event.project, Project):
            return ()
        touched = self._session_folders.setdefault(event.session, SessionFolders())
        touched.count_folders(event, event.project)
        return touched.list_folders()

    def committed(self, commit: Commit, tools: Tools) -> None:
        """What was done is durable: write new facts into the raw file, and say what a person should know."""
        kind, root = commit.data.get("kind"), Path(str(commit.data.get("project", "")))
        with self._lock:
            before = root in self._state.first_written_at
            self._state.fold_commit(commit)
            first = root in self._state.first_written_at and not before
        if first:
            logger.info("tacitd writes in {} from now on; `tacitd exclude` ends that", root)
        if kind == "batch":
            self._report_silence(tools)
            if commit.data.get("new"):
                self._project_raw(root)
        if kind == "aside":
            self._report_set_aside(tools)
        if kind == "synthesis":
            for notice in learned_notices(root, commit.data):
                tools.announce(notice)

    def _load_refusals(self, tools: Tools) -> None:
        """A log of refusals that cannot be read keeps nothing else from working: it only counts anew."""
        try:
            self._refusals.load()
            self._refusals.prune(tools.clock.now())
        except (OSError, TacitdError) as error:
            what = f"{self._refusals.path} cannot be read: {getattr(error, 'strerror', None) or error}"
            hint = "make it a file that tacitd may read, or move it away; until then refused texts are not counted"
            tools.degrade(Degradation(UNUSABLE, what, hint))
        else:
            tools.clear(UNUSABLE)

    def _report_silence(self, tools: Tools) -> None:
        asked = self._state.asked_since_fact
        if asked < SILENCE_LIMIT:
            tools.clear("learning.silent")
            return
        what = f"{asked} prompts were put to the model since the last fact"
        hint = "`tacitd prompts` shows what is read; the known-facts summary in `tmp/` what is taken as known"
        tools.degrade(Degradation("learning.silent", what, hint))

    def _report_set_aside(self, tools: Tools) -> None:
        """Facts that no answer could make lines of, as long as their files are there (SPEC S-23)."""
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
        """How a person has facts tried again that were put aside: a raw file that is not ours would not be read."""
        files = ProjectPaths(aside.root)
        try:
            own = self._inspect(aside.root).raw != "closed"
        except (OSError, TacitdError):
            own = True
        if own:
            return f"`tacitd rescue retry --all` tries them again (as does `cat` to {files.raw_file}), or remove them"
        return "`tacitd rescue retry --all` tries them again, or remove them"

    def _project_raw(self, root: Path, done: Iterable[str] = ()) -> None:
        """Write the raw file from the log. Where that fails the facts stay in the log, and `status` says so."""
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
            append_raw(files, batches, self._inspect(root))
        except (OSError, TacitdError) as error:
            why = getattr(error, "what", "") or getattr(error, "strerror", "") or str(error)
            what = f"{files.raw_file} cannot be written: {why}"
            tools.degrade(Degradation(id, what, "the facts are kept, and written when it can be"))
        else:
            tools.clear(id)

    # stage 2

    def _synthesize(self, project: Project, tools: Tools) -> Outcome:
        id = f"learning.file:{project.root}"
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

    # what happens by the clock, and by hand

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
            case "recover", _:
                self._recover(tools)
                return Done()
            case _:
                return Done()

    def _init(self, project: Project, tools: Tools) -> Outcome:
        self._note(project)
        if tools.write_mode(project) == "off":
            return Done()
        init_project(project, tools)
        made = self._bootstrap.refresh_summary(project, tools, ask=True, at_once=True)
        return Done(data={"kind": "summary", "project": str(project.root), "by": made.by})

    def _recover(self, tools: Tools) -> None:
        """SPEC S-52: facts of projects without a live session, in files or in the log alone. Each project's synthesis is
        an event of its own, so that one that fails stops no other, and none overlaps another of its project."""
        self._report_set_aside(tools)
        self._load_refusals(tools)
        recover_pending(tools)
        for project in self._known_projects(tools):
            if self._has_facts(project.root) and not tools.has_live_session(project):
                tools.post(Due(SYNTHESIZE, project))

    def _has_facts(self, root: Path) -> bool:
        """Whether facts wait in the project. Where its files cannot be looked at, its synthesis will say why."""
        with self._lock:
            if self._state.waiting.get(root):
                return True
        try:
            return self._inspect(root).waiting
        except (OSError, TacitdError):
            return True

    def _retry(self, tools: Tools) -> None:
        """A person has the facts tried again that were put aside."""
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
        """Judge our lines, and make the summary anew, before the first words of a session are put to the model.

        Trigger: a session begins. Why: LEARNED.md may have changed while no daemon ran, or before it knew the project, and
        a line that a person deleted would be dropped as known when it is said again. Outcome: as if it changed now.
        """
        if tools.write_mode(project) == "off":
            return Done()
        return self._handle_source_change(
            SourceChanged(project, ProjectPaths(project.root).learned_file), tools
        )

    def _handle_source_change(self, event: SourceChanged, tools: Tools) -> Outcome:
        """A source changed: judge our lines in it, and make the summary anew; own writes change nothing (SPEC S-43)."""
        project, files = event.project, ProjectPaths(event.project.root)
        data: Mapping[str, Any] = {}
        if event.path in (files.learned_file, _reflog(project)):
            data = check_removals(project, self._state, tools.history, tools.clock.now())
            data = data if is_news(data, project, self._state) else {}
        writes = tools.write_mode(project) != "off" and why_not_writable(files) is None
        if event.path != _reflog(project) and files.summary_file.exists() and writes:
            self._bootstrap.refresh_summary(project, tools, ask=event.path != files.learned_file)
        return Done(data=data)

    def sources(self, project: Project) -> Sequence[Path]:
        """SPEC S-40: what the summary is made of. And what moves with HEAD: a line that is missing later was taken out
        by a person only if HEAD stood still meanwhile (SPEC S-28)."""
        files, reflog = ProjectPaths(project.root), _reflog(project)
        found = [*self._tools.directives, files.agents_file, files.learned_file]
        return [*found, reflog] if reflog is not None else found

    # status

    def status(self) -> Mapping[str, Any]:
        """Counts of today and in all, and where what was learned is not seen."""
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
            withheld = sum(len(lines) for lines in state.withheld.values())
            roots = [root for root, seen in state.snapshots.items() if seen]
        found: dict[str, Any] = counted | {
            "refused": dict(self._refusals.count_verdicts()),
            "facts_waiting": {root: n for root, n in waiting.items() if n},
            "waits": [
                {"project": root, "what": count_facts(n), "until": self._until(root), "job": SYNTHESIZE}
                for root, n in waiting.items()
                if n
            ],
            "withheld": withheld,
            "projects": since,
            "not_referred_to": [
                str(root) for root in roots if visibility.is_unreferenced(ProjectPaths(root))
            ],
            "files_refused": [what for root in roots if (what := _why_not_writable(root))],
        }
        reported = [what for what in found["files_refused"] if what in self._refused_synthesis.values()]
        return found | {"files_reported": reported}

    def _until(self, root: str) -> str:
        """What the facts of a project wait for."""
        if self._tools.write_mode(Project(Path(root), False)) == "off":
            return f"`tacitd exclude --undo {root}`"
        return "its session ends"


def _why_not_writable(root: Path) -> str:
    """Why LEARNED.md could not get a line now, "" where it could."""
    try:
        read_spliceable(ProjectPaths(root).learned_file, root)
    except TacitdError as error:
        return error.what
    return ""


def _reflog(project: Project) -> Path | None:
    """A file that changes whenever HEAD moves; None outside git."""
    directory = git.git_dir(project.root) if project.git else None
    return directory / "logs" / "HEAD" if directory is not None else None
