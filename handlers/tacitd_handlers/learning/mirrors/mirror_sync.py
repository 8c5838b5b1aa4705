"""Keep a project's mirrors in step with their sources, and move a person's edits in mirrors to the sources.

The record is written before a mirror changes: after a crash, the file has a text that the record names. A mirror that
cannot be read or written is a problem that `status` shows; it never holds up a line or another mirror.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loguru import logger

from tacitd.clock import Clock
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.files.operations import Operation
from tacitd.files.worktrees import worktree_list
from tacitd.handler import Degradation, Tools
from tacitd_handlers.learning.mirrors.mirror_files import (
    OLD_POINTER,
    FoundMirror,
    inspect_mirror,
    list_trees,
    why_not_ours,
)
from tacitd_handlers.learning.mirrors.mirror_names import MIRROR_PATTERNS, MODULE_MIRRORS, PROJECT_MIRROR
from tacitd_handlers.learning.mirrors.mirror_plan import (
    MirrorPlan,
    plan_changes,
    plan_edits,
    plan_withdrawal,
)
from tacitd_handlers.learning.mirrors.mirror_record import MirrorRecord, MirrorRecords
from tacitd_handlers.learning.mirrors.mirror_survey import MirrorSurvey, find_own_lines, survey_project
from tacitd_handlers.learning.mirrors.trusted_projects import LOG, TrustedProjects
from tacitd_handlers.learning.removals import MIRROR_EDIT
from tacitd_handlers.learning.store import text_of
from tacitd_handlers.learning.visibility import (
    build_excludes,
    exclude_file,
    list_created_patterns,
    list_writable_dirs,
    why_not_hidden,
)

ABSENT = FoundMirror("absent")
HOME = "mirrors"
"""The directory of the records, in the handler's own."""


@dataclass(frozen=True, slots=True)
class JoinedMirrors:
    """The mirrors' part of another transaction."""

    before: tuple[Operation, ...] = ()
    """To be put before the transaction's own: they keep the mirrors out of git."""
    after: tuple[Operation, ...] = ()
    """To be appended. They are best-effort."""
    also: tuple[Path, ...] = ()
    """Directories outside the root that these write in."""


class Mirrors:
    """The mirrors of all projects. Calls for one project must not overlap; calls for different projects may."""

    def __init__(
        self, home: Path, clock: Clock, known_before: Collection[Path], disk: Disk | None = None
    ) -> None:
        """`known_before`: the projects in which tacitd wrote before mirrors existed."""
        self._records = MirrorRecords(home / HOME, disk)
        self._trusted = TrustedProjects(Log(home / LOG, disk), clock)
        self._known_before = frozenset(known_before)
        self._lock = threading.Lock()
        self._shown: dict[Path, MirrorRecord] = {one.root: one for one in self._records.list_records()}

    def keep_in_step(self, project: Project, tools: Tools, *, again: bool = False) -> None:
        """As `follow`. What prevents it is a degradation, and holds nothing else up.

        Raises FileBusyError while a file that an edit is to be moved to is being edited.
        """
        id = f"learning.mirror:{project.root}"
        try:
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

        `again`: make mirrors again that are missing or cut off. `make_empty`: also without lines. Raises OSError, and
        FileRefusedError or FileBusyError if a source cannot be edited; the mirrors are then as before.
        """
        if not project.root.is_dir():
            return
        record = self._records.load(project.root)
        if not _is_wanted(project, tools):
            self._withdraw(project, record, tools)
            return
        survey, plan = self._survey(project, record, tools), MirrorPlan()
        plan_edits(survey, plan)
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
        for operation in operations:
            if operation.path in after:
                after[operation.path], _ = operation.apply(after[operation.path])
        hidden = why_shown_by_git(project)
        plan_changes(survey, after, plan, again=True, make_empty=make_empty, hidden=hidden)
        plan.problems += survey.problems
        # What keeps a person's edit in a mirror is found by `follow`.
        plan.problems += [one for one in record.problems if any(str(path) in one for path in plan.held)]
        self._announce(record, plan)
        hiding = _build_hiding(project) if plan.texts else []
        return JoinedMirrors(tuple(hiding), tuple(plan.changes), tuple(_list_outside(project, plan.changes)))

    def settle(self, project: Project) -> None:
        """After a transaction: keep for each mirror the text that is there now, and name those that were not changed.

        The transaction is done, so a failure is only logged: the record still names the texts before and after it.
        """
        try:
            self._settle(project)
        except OSError as error:
            logger.warning("the record of the mirrors of {} is not up to date: {}", project.root, error)

    def _settle(self, project: Project) -> None:
        record, trees = self._records.load(project.root), list_trees(project)
        for path, texts in list(record.written.items()):
            tree = _tree_of(path, trees)
            found = inspect_mirror(path, tree, record.texts_of(path)) if tree is not None else ABSENT
            if tree is not None and _is_unchanged(found, texts):
                record.problems.append(f"{path} could not be changed: it or its directory is not writable")
            if found.state == "ours" and found.data != OLD_POINTER.encode():
                record.written[path] = [(found.data or b"").decode("utf-8", "replace")]
            elif found.state == "absent" and (tree is None or "" in texts):
                del record.written[path]
        self._save(record)

    def list_watched(self, project: Project) -> list[Path]:
        """The files and directories whose changes concern the project's mirrors."""
        with self._lock:
            record = self._shown.get(project.root)
        found = [project.root / PROJECT_MIRROR]
        if project.git:
            found.append(worktree_list(project.root))
        if record is not None:
            found += [*record.written, *map(Path, (*record.sources, *record.modules))]
        return list(dict.fromkeys(found))

    def list_roots(self) -> list[Path]:
        """The projects that have mirrors, or had."""
        with self._lock:
            return list(self._shown)

    def list_problems(self) -> list[str]:
        """Why mirrors are not written or not read, for a person."""
        with self._lock:
            return [one for record in self._shown.values() for one in record.problems]

    def list_untrusted(self) -> dict[str, int]:
        """By root, the number of lines that came with a project and wait for the person's decision."""
        with self._lock:
            counted = {root: record.withheld for root, record in self._shown.items() if record.withheld}
        return {str(root): n for root, n in counted.items() if self._trusted.get_trust(root) == "unasked"}

    def _survey(
        self,
        project: Project,
        record: MirrorRecord,
        tools: Tools,
        operations: Sequence[Operation] = (),
    ) -> MirrorSurvey:
        survey = survey_project(
            project,
            record,
            tools.history,
            operations,
            trusted=self._trusted.get_trust(project.root) == "trusted",
            shared=tools.write_mode(project) == "shared",
            known_before=project.root in self._known_before,
        )
        record.withheld = survey.count_withheld()
        record.modules = sorted({str(one.source) for one in survey.targets if one.folder})
        return survey

    def _withdraw(self, project: Project, record: MirrorRecord, tools: Tools) -> None:
        """Remove the mirrors whose text is tacitd's, and name the others as problems."""
        trees, looked = list_trees(project), list[tuple[Path, FoundMirror]]()
        for path in dict.fromkeys([*record.written, *(tree / PROJECT_MIRROR for tree in trees)]):
            tree = _tree_of(path, trees)
            if tree is None:
                continue
            found = inspect_mirror(path, tree, record.texts_of(path))
            if found.state == "foreign" and path not in record.written:
                continue
            if found.state == "absent" or not why_not_ours(project, tree, path):
                looked.append((path, found))
        plan = plan_withdrawal(looked)
        if record.written or record.problems or plan.changes:
            record.withheld, record.modules = 0, []
            self._run(project, record, plan, tools)

    def _run(self, project: Project, record: MirrorRecord, plan: MirrorPlan, tools: Tools) -> None:
        """Carry out a plan as one transaction. Raises OSError, FileRefusedError and FileBusyError."""
        self._announce(record, plan)
        if not plan.edits and not plan.changes:
            return
        cause = {"by": "person", "what": MIRROR_EDIT} if plan.edits else {"by": "learning", "what": "mirrors"}
        hiding = _build_hiding(project) if plan.texts else []
        if tools.write_mode(project) == "local":
            created = list_created_patterns(project, _inside(project, plan.edits))
            hiding += build_excludes(project, created)
        operations = [*hiding, *plan.edits, *plan.changes]
        key = f"mirrors:{project.root}:{record.transactions}:{tools.clock.now()}"
        also = _list_outside(project, operations)
        tools.history.run_transaction(project.root, operations, cause, key, also=also)
        self._settle(project)

    def _announce(self, record: MirrorRecord, plan: MirrorPlan) -> None:
        """Write into the record which texts the mirrors may have from now on. Raises OSError."""
        removed = dict.fromkeys((one.path for one in plan.changes if one.path not in plan.texts), "")
        record.written |= {path: [text] for path, text in plan.adopted.items()}
        for path, text in {**plan.texts, **removed}.items():
            record.written[path] = list(dict.fromkeys([*plan.before[path], text]))
        record.problems = list(dict.fromkeys(plan.problems))
        record.transactions += bool(plan.edits or plan.changes)
        self._save(record)

    def _save(self, record: MirrorRecord) -> None:
        self._records.save(record)
        with self._lock:
            self._shown[record.root] = record


def _is_unchanged(found: FoundMirror, texts: Sequence[str]) -> bool:
    """Whether a mirror does not have the last of the texts that it may have, although nobody else changed it."""
    if len(texts) < 2 or found.state not in ("ours", "absent"):
        return False
    return (found.data or b"") != texts[-1].encode()


def sort_mirrors(record: MirrorRecord) -> tuple[list[Path], list[Path]]:
    """The mirrors of a project that exist: those whose text is tacitd's, and the others. For `uninstall`."""
    project = Project(record.root, git=git.git_dir(record.root) is not None)
    trees, mine, others = list_trees(project), list[Path](), list[Path]()
    for path in dict.fromkeys([*record.written, *(tree / PROJECT_MIRROR for tree in trees)]):
        tree = _tree_of(path, trees)
        found = inspect_mirror(path, tree, record.texts_of(path)) if tree is not None else ABSENT
        if found.state == "ours" and tree is not None and not why_not_ours(project, tree, path):
            mine.append(path)
        elif found.state != "absent" and path in record.written:
            others.append(path)
    return mine, others


def why_shown_by_git(project: Project) -> str:
    """Why git would show a new mirror in this project; "" if it can be kept out of git, or outside git."""
    if not project.git:
        return ""
    path = exclude_file(project)
    if path is not None and all(os.access(one, os.W_OK) for one in (path, path.parent) if one.exists()):
        return ""
    if all(git.is_ignored(project.root, project.root / name) for name in (PROJECT_MIRROR, MODULE_MIRRORS)):
        return ""
    return why_not_hidden(project) or f"{path} is read-only"


def _is_wanted(project: Project, tools: Tools) -> bool:
    """Whether the project is to have mirrors."""
    settings = tools.settings.get("reach")
    return tools.write_mode(project) != "off" and (settings is None or settings.project_rules)


def _build_hiding(project: Project) -> list[Operation]:
    """Operations that keep the mirrors out of git; none if they are kept out already."""
    path = exclude_file(project)
    present = text_of(path).splitlines() if path is not None else []
    return build_excludes(project, [one for one in MIRROR_PATTERNS if one not in present])


def _list_outside(project: Project, operations: Iterable[Operation]) -> list[Path]:
    """The directories outside the project's root that these operations write in."""
    places = [one.path.parent for one in operations if not one.path.is_relative_to(project.root)]
    return list(dict.fromkeys([*places, *list_writable_dirs(project)]))


def _inside(project: Project, operations: Iterable[Operation]) -> list[Path]:
    paths = dict.fromkeys(one.path for one in operations)
    return [path for path in paths if path.is_relative_to(project.root)]


def _tree_of(path: Path, trees: Sequence[Path]) -> Path | None:
    """The work tree that contains a mirror; None if it is gone. A work tree may be inside another one."""
    around = [tree for tree in trees if path.is_relative_to(tree)]
    return max(around, key=lambda tree: len(tree.parts), default=None)
