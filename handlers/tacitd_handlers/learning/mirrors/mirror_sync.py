"""Keep a project's mirrors in step with their sources, and move a person's edits in mirrors to the sources.

The record is written before a mirror changes: after a crash, the file has a text that the record names. A mirror that
cannot be read or written is a problem that `status` shows; it never holds up a line or another mirror.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import Project
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.files.operations import MakeFile, Operation, apply_all, group_by_file
from tacitd.files.transaction_records import Transaction
from tacitd.files.worktrees import worktree_list
from tacitd.handler import Degradation, Tools
from tacitd_handlers.learning.folders import RULES
from tacitd_handlers.learning.inherited_origins import MIRROR_EDIT
from tacitd_handlers.learning.mirrors.cleaned_sources import (
    find_cleaned,
    has_lost_sources,
    has_missing,
    is_being_removed,
    note_texts,
    read_sources,
)
from tacitd_handlers.learning.mirrors.displaced_sources import (
    find_displaced,
    has_displaced,
    list_displaced,
    note_displaced,
)
from tacitd_handlers.learning.mirrors.mirror_hiding import (
    IncludedMirrors,
    build_hiding,
    list_outside,
    list_shown_files,
    why_shown_by_git,
)
from tacitd_handlers.learning.mirrors.mirror_names import PROJECT_MIRROR
from tacitd_handlers.learning.mirrors.mirror_plan import (
    MirrorPlan,
    plan_changes,
    plan_edits,
)
from tacitd_handlers.learning.mirrors.mirror_record import HOME, MirrorRecord, MirrorRecords
from tacitd_handlers.learning.mirrors.mirror_survey import MirrorSurvey, survey_project
from tacitd_handlers.learning.mirrors.mirror_waits import MirrorWaits
from tacitd_handlers.learning.mirrors.mirror_withdrawal import plan_withdrawal
from tacitd_handlers.learning.mirrors.nested_agents import NestedAgents, loads_source
from tacitd_handlers.learning.mirrors.own_lines import find_own_lines
from tacitd_handlers.learning.mirrors.possible_texts import (
    UNCHANGED,
    adopt_texts,
    announce_plan,
    settle_record,
)
from tacitd_handlers.learning.mirrors.trusted_projects import LOG, TrustedProjects
from tacitd_handlers.learning.visibility import (
    build_excludes,
    list_created_patterns,
    list_writable_dirs,
)

RESTORED = "restored after git clean"
"""What a transaction's cause names if it makes sources again that git removed."""
RETURNED = "restored after git replaced it"
"""The same if git had put its own file in place of one."""


class JoinedMirrors(Struct, frozen=True):
    """The mirrors' part of another transaction."""

    before: tuple[Operation, ...] = ()
    """To be put before the transaction's own: they keep the mirrors out of git."""
    after: tuple[Operation, ...] = ()
    """To be appended. They are best-effort."""
    also: tuple[Path, ...] = ()
    """Directories outside the root that these write in."""


class Mirrors:
    """The mirrors of all projects. `keep_in_step` and `run_with_copies` may be called by any thread; the others must not
    overlap with other calls for the same project."""

    def __init__(
        self, home: Path, clock: Clock, known_before: Collection[Path], disk: Disk | None = None
    ) -> None:
        """`known_before`: the projects in which tacitd wrote before mirrors existed."""
        self._records = MirrorRecords(home / HOME, disk)
        self._trusted = TrustedProjects(Log(home / LOG, disk), clock)
        self._known_before = frozenset(known_before)
        self._nested = NestedAgents()
        self._included = IncludedMirrors()
        self._waits = MirrorWaits(clock)
        self._lost: set[Path] = set()
        self._records.list_known()  # now, because `status` must not wait for the disk
        self._lock = threading.Lock()
        self._changing: dict[Path, threading.RLock] = {}

    def keep_in_step(self, project: Project, tools: Tools, *, again: bool = False) -> None:
        """As `follow`. What prevents it is a degradation, and holds nothing else up.

        Raises FileBusyError while a file that an edit is to be moved to is being edited.
        """
        id = f"learning.mirror:{project.root}"
        try:
            with self._change_lock(project.root):
                self.follow(project, tools, again=again)
        except FileBusyError:
            raise
        except (OSError, TacitdError) as error:
            what = getattr(error, "what", "") or getattr(error, "strerror", "") or str(error)
            hint = getattr(error, "hint", "") or "it is tried again at the next change"
            tools.degrade(Degradation(id, f"the rules of {project.root} are not up to date: {what}", hint))
        else:
            tools.clear(id)

    def follow(
        self, project: Project, tools: Tools, *, again: bool = False, make_empty: bool = False
    ) -> None:
        """Bring sources and mirrors in step. What cannot be done is kept as a problem of the project.

        `again`: make mirrors again that are missing or cut off, and sources that git removed with them. `make_empty`: also
        without lines. Raises OSError, and FileRefusedError or FileBusyError if a source cannot be edited; the mirrors are
        then as before.
        """
        if not project.root.is_dir():
            return
        record = self._records.load(project.root)
        if not _is_wanted(project, tools):
            self._waits.note_waits(project.root, {}, tools)
            self._withdraw(project, record, tools)
            return
        if again:
            self._nested.forget()
            note_displaced(project, record, read_sources(record))
            self._restore(project, record, tools)
        if has_lost_sources(record):
            # They are to be restored, so the mirrors in linked work trees stay, and nothing is moved to a new source.
            return
        survey, plan = self._survey(project, record, tools), MirrorPlan()
        plan_edits(survey, plan)
        self._waits.note_waits(project.root, plan.unsettled, tools)
        if plan.edits:
            survey.own = find_own_lines(tools.history, project, plan.edits)
            survey.admit_lines(plan.edits)
        hidden = why_shown_by_git(project)
        plan_changes(survey, survey.sources, plan, again=again, make_empty=make_empty, hidden=hidden)
        plan.problems += survey.problems
        self._run(project, record, plan, tools)

    def join(
        self,
        project: Project,
        operations: Sequence[Operation],
        tools: Tools,
        *,
        make_empty: bool = False,
    ) -> JoinedMirrors:
        """Given operations on the sources, return those that keep the mirrors in step, for the same transaction.

        A mirror with an edit of the person's is left to `follow`. If the mirrors cannot be planned, there are none: they
        never hold up a line. After the transaction, call `settle`.
        """
        try:
            return self._join(project, operations, tools, make_empty=make_empty)
        except (OSError, TacitdError) as error:
            logger.warning("the mirrors of {} stay as they are: {}", project.root, error)
            return JoinedMirrors()

    def _join(
        self, project: Project, operations: Sequence[Operation], tools: Tools, *, make_empty: bool
    ) -> JoinedMirrors:
        if not _is_wanted(project, tools):
            return JoinedMirrors()
        record = self._records.load(project.root)
        survey = self._survey(project, record, tools, operations)
        plan = MirrorPlan(held={path for path, found in survey.found.items() if found.state == "edited"})
        after = dict(survey.sources)
        for run in group_by_file(operations):
            if run[0].path in after:
                after[run[0].path], _ = apply_all(run, after[run[0].path])
        hidden = why_shown_by_git(project)
        plan_changes(survey, after, plan, again=True, make_empty=make_empty, hidden=hidden)
        plan.problems += survey.problems
        # What keeps a person's edit in a mirror is found by `follow`.
        plan.problems += [one for one in record.problems if any(str(path) in one for path in plan.held)]
        self._announce(record, plan)
        hiding = build_hiding(project) if plan.texts else []
        return JoinedMirrors(tuple(hiding), tuple(plan.changes), tuple(list_outside(project, plan.changes)))

    def run_with_copies(
        self,
        project: Project,
        operations: Sequence[Operation],
        cause: Mapping[str, Any],
        key: str,
        tools: Tools,
        *,
        make_empty: bool = False,
    ) -> Transaction:
        """Run operations on sources and on their mirrors as one transaction. New files are kept out of git.

        `make_empty`: make mirrors also without lines. Raises as `History.run_transaction` does.
        """
        with self._change_lock(project.root):
            if self.has_cleaned(project):
                self.follow(project, tools, again=True)
            joined = self.join(project, operations, tools, make_empty=make_empty)
            hidden = [*_hide_created(project, operations, tools), *joined.before]
            also = [*list_writable_dirs(project), *joined.also]
            done = tools.history.run_transaction(
                project.root, [*hidden, *operations, *joined.after], cause, key, also=also
            )
            self.settle(project)
            return done

    def _change_lock(self, root: Path) -> threading.RLock:
        """The lock of a project's mirrors: a person's command may come while the handler works on the project."""
        with self._lock:
            return self._changing.setdefault(root, threading.RLock())

    def settle(self, project: Project) -> None:
        """After a transaction: keep for each mirror the text that is there now, and name those that were not changed.

        The transaction is done, so a failure is only logged: the record still names the texts before and after it.
        """
        try:
            self._settle(project)
        except OSError as error:
            logger.warning("the record of the mirrors of {} is not up to date: {}", project.root, error)

    def _settle(
        self, project: Project, adopted: Mapping[Path, str] = MappingProxyType({}), *, wanted: bool = True
    ) -> None:
        record = self._records.load(project.root)
        adopt_texts(record, adopted)
        settle_record(record, project)
        note_texts(project, record, read_sources(record) if wanted else {})
        self._records.save(record)

    def list_watched(self, project: Project) -> list[Path]:
        """The files and directories whose changes concern the project's mirrors."""
        found = [project.root / PROJECT_MIRROR, project.root / RULES]
        if project.git:
            found.append(worktree_list(project.root))
        if (record := self._records.find_known(project.root)) is not None:
            found += [*record.written, *map(Path, (*record.sources, *record.modules))]
        return list(dict.fromkeys(found))

    def list_roots(self) -> list[Path]:
        """The projects that have mirrors, or had."""
        return [record.root for record in self._records.list_known()]

    def list_unfinished(self, tools: Tools) -> list[Path]:
        """The projects with a mirror that could not be changed when it was to be, such as one that an editor had open, or whose
        edit waited for git."""
        known = self._records.list_known()
        unchanged = [one.root for one in known if any(what.endswith(UNCHANGED) for what in one.problems)]
        return list(dict.fromkeys([*unchanged, *self._waits.list_due(tools)]))

    def has_cleaned(self, project: Project) -> bool:
        """Whether sources of the project are gone since the last look, or after git replaced them."""
        record = self._records.find_known(project.root)
        return record is not None and (has_displaced(record) or has_missing(record))

    def list_cleaned(self) -> list[Path]:
        """The projects whose sources have been gone with their mirrors since the last call. The command that removes them
        may take a while, and may be removing the whole project."""
        known = self._records.list_known()
        lost = {one.root for one in known if has_lost_sources(one) or has_displaced(one)}
        settled = lost & self._lost
        self._lost = lost - settled
        return [root for root in settled if not is_being_removed(root)]

    def list_problems(self) -> list[str]:
        """Why mirrors are not written or not read, for a person."""
        return [one for record in self._records.list_known() for one in record.problems]

    def list_untrusted(self) -> dict[str, int]:
        """By root, the number of lines that came with a project and wait for the person's decision."""
        known = self._records.list_known()
        return {str(one.root): one.withheld for one in known if one.withheld and one.asks}

    def _survey(
        self,
        project: Project,
        record: MirrorRecord,
        tools: Tools,
        operations: Sequence[Operation] = (),
    ) -> MirrorSurvey:
        trust, shared = self._trusted.get_trust(project), tools.write_mode(project) == "shared"
        survey = survey_project(
            project,
            record,
            tools.history,
            operations,
            trusted=trust == "trusted",
            shared=shared,
            known_before=project.root in self._known_before,
            needless=lambda target: (
                loads_source(target, tools.client_home) and self._nested.loads_them(project, tools)
            ),
            why_shown=lambda target: self._included.explain(project, target.tree, target.path),
        )
        survey.problems += list_shown_files(project, self._included) if not shared else []
        record.withheld = len(survey.list_withheld(survey.main))
        record.asks = trust == "unasked"
        record.modules = sorted({str(one.source) for one in survey.targets if one.folder})
        note_displaced(project, record, survey.sources)
        survey.problems += list_displaced(record)
        note_texts(project, record, survey.sources)
        return survey

    def _restore(self, project: Project, record: MirrorRecord, tools: Tools) -> None:
        """Make the sources again that git removed, together with their mirrors or after it replaced them. Raises as `follow`."""
        found = find_cleaned(project, record) if has_lost_sources(record) else {}
        returned = find_displaced(project, record)
        found |= returned
        if not found:
            return
        record.transactions += 1
        self._records.save(record)
        operations = [MakeFile(path, text) for path, text in found.items()]
        cause = {"by": "learning", "what": RETURNED if returned else RESTORED}
        key = f"restored:{project.root}:{record.transactions}:{tools.clock.now()}"
        tools.history.run_transaction(project.root, operations, cause, key)
        for path in returned:
            del record.displaced[str(path)]
        self._records.save(record)
        logger.info("restored {}, which git removed", ", ".join(map(str, found)))

    def _withdraw(self, project: Project, record: MirrorRecord, tools: Tools) -> None:
        """Remove the mirrors whose text is tacitd's, and name the others as problems."""
        plan = plan_withdrawal(project, record)
        if record.written or record.problems or record.kept or record.displaced or plan.changes:
            record.withheld, record.modules, record.kept, record.displaced = 0, [], {}, {}
            self._run(project, record, plan, tools, wanted=False)

    def _run(
        self, project: Project, record: MirrorRecord, plan: MirrorPlan, tools: Tools, *, wanted: bool = True
    ) -> None:
        """Carry out a plan as one transaction. `wanted`: whether the project is to have mirrors. Raises as `follow`."""
        self._announce(record, plan)
        if not plan.edits and not plan.changes:
            return
        cause = {"by": "person", "what": MIRROR_EDIT} if plan.edits else {"by": "learning", "what": "mirrors"}
        hiding = build_hiding(project) if plan.texts else []
        if tools.write_mode(project) == "local":
            created = list_created_patterns(project, _inside(project, plan.edits))
            hiding += build_excludes(project, created)
        operations = [*hiding, *plan.edits, *plan.changes]
        key = f"mirrors:{project.root}:{record.transactions}:{tools.clock.now()}"
        also = list_outside(project, operations)
        tools.history.run_transaction(project.root, operations, cause, key, also=also)
        self._settle(project, plan.adopted, wanted=wanted)

    def _announce(self, record: MirrorRecord, plan: MirrorPlan) -> None:
        """Write into the record which texts the mirrors may have from now on. Raises OSError."""
        announce_plan(record, plan)
        self._records.save(record)


def _is_wanted(project: Project, tools: Tools) -> bool:
    """Whether the project is to have mirrors."""
    settings = tools.settings.get("reach")
    return tools.write_mode(project) != "off" and (settings is None or settings.project_rules)


def _hide_created(project: Project, operations: Iterable[Operation], tools: Tools) -> list[Operation]:
    """Operations that keep the files out of git that these operations create, unless they are shared through git."""
    if tools.write_mode(project) != "local":
        return []
    targets = list(dict.fromkeys(operation.path for operation in operations))
    return build_excludes(project, list_created_patterns(project, targets))


def _inside(project: Project, operations: Iterable[Operation]) -> list[Path]:
    paths = dict.fromkeys(one.path for one in operations)
    return [path for path in paths if path.is_relative_to(project.root)]
