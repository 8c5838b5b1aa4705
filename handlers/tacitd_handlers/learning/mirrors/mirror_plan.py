"""What is to be done about a project's mirrors: operations on their sources for a person's edits, and on the mirrors.

The decisions follow from a survey; nothing is written here. Git is asked about a mirror only if it is to be written or
if a person's edit in it is to be moved.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from tacitd.errors import FileRefusedError
from tacitd.files.disk import RealDisk
from tacitd.files.operations import (
    AppendBlock,
    Operation,
    PutLine,
    RewriteFile,
    SwapLine,
    TakeLine,
    WithdrawFile,
    apply_all,
    digest_of,
)
from tacitd.files.write_checks import refuse_unwritable
from tacitd_handlers.learning.mirrors.mirror_edits import (
    MirrorEdit,
    find_edit,
    find_lost_line,
    to_source,
)
from tacitd_handlers.learning.mirrors.mirror_files import (
    NOT_WRITTEN,
    FoundMirror,
    MirrorTarget,
    came_through_git,
    find_unsettled,
    inspect_mirror,
    is_mirror_tracked,
    why_not_ours,
)
from tacitd_handlers.learning.mirrors.mirror_survey import MirrorSurvey
from tacitd_handlers.learning.mirrors.mirror_text import map_shown_bullets
from tacitd_handlers.learning.project_files import is_tracked_source, title_for


class MirrorPlan(Struct):
    """The operations of one pass."""

    edits: list[Operation] = field(default_factory=list)
    """On the sources: what a person changed in mirrors."""
    changes: list[Operation] = field(default_factory=list)
    """On the mirrors."""
    texts: dict[Path, str] = field(default_factory=dict)
    """The text that each changed mirror is to have. One that is to be removed is not here."""
    before: dict[Path, list[str]] = field(default_factory=dict)
    """The texts that each changed mirror may have if the change is not carried out. "" means that there is no file."""
    adopted: dict[Path, str] = field(default_factory=dict)
    """Mirrors that already have their text, although it is not known that tacitd wrote it, or a person's edit gave it."""
    problems: list[str] = field(default_factory=list)
    held: set[Path] = field(default_factory=set)
    """Mirrors with a person's edit that cannot be moved now. They are left as they are."""
    unsettled: dict[Path, Path] = field(default_factory=dict)
    """Those of them that wait for git: the file in the git directory that says that it is not done."""
    forgotten: set[Path] = field(default_factory=set)
    """Mirrors that git wrote. What tacitd wrote there does not count any more: they are tacitd's again when they are gone."""


def plan_edits(survey: MirrorSurvey, plan: MirrorPlan) -> None:
    """Add the operations that move a person's edits in mirrors to their sources."""
    for target in survey.targets:
        found = survey.found[target.path]
        if found.state != "edited":
            continue
        edit = _read_edit(survey, target, found, plan)
        if edit is not None:
            _move_edit(survey, target, found, edit, plan)


def _read_edit(
    survey: MirrorSurvey, target: MirrorTarget, found: FoundMirror, plan: MirrorPlan
) -> MirrorEdit | None:
    """The edit that is to be moved; None if nothing follows from the mirror's text, or not now."""
    if (mark := find_unsettled(survey.project, target.tree)) is not None:
        plan.held.add(target.path)
        plan.unsettled[target.path] = mark
        return None
    if why := _why_not_persons(survey, target, found, plan):
        plan.held.add(target.path)
        plan.problems.append(why)
        return None
    try:
        # A copy that was cut off within a character is cut off, not in another encoding.
        text = codecs.getincrementaldecoder("utf-8")().decode(found.data or b"")
    except UnicodeDecodeError:
        plan.held.add(target.path)
        plan.problems.append(f"{target.path} is not UTF-8, so what you changed there is not moved")
        return None
    try:
        return find_edit(survey.record.texts_of(target.path), text, title=title_for(target.name))
    except FileRefusedError as error:
        plan.held.add(target.path)
        plan.problems.append(f"{target.path}: {error.what}")
        return None


def _why_not_persons(survey: MirrorSurvey, target: MirrorTarget, found: FoundMirror, plan: MirrorPlan) -> str:
    """Why a mirror's text is not a person's edit of tacitd's; "" if it is."""
    project, tree, path = survey.project, target.tree, target.path
    if is_mirror_tracked(project, tree, path):
        # Trigger: git tracks it. Why: git may change it, and it stays there when git does not track it any more. Outcome:
        # nothing is concluded from it, now or later.
        plan.forgotten.add(path)
    if why := why_not_ours(project, tree, path):
        return why
    match came_through_git(project, tree, path, found.data or b"", survey.record.texts_of(path)):
        case None:
            return f"git cannot say whether it wrote {path}"
        case True:
            plan.forgotten.add(path)
            return f"{path} {NOT_WRITTEN}"
        case False:
            return ""


def _move_edit(
    survey: MirrorSurvey, target: MirrorTarget, found: FoundMirror, edit: MirrorEdit, plan: MirrorPlan
) -> None:
    """Add the operations of one edit, or hold the mirror if its source cannot take them."""
    source = target.source
    written, now = survey.record.texts_of(target.path), (found.data or b"").decode("utf-8", "replace")
    if not edit and find_lost_line(written, now, edit, "") is None:
        return
    tracked = not survey.shared and is_tracked_source(survey.project, source)
    if source not in survey.sources or not source.parent.is_dir() or tracked:
        plan.held.add(target.path)
        why = ": git tracks it" if tracked else ""
        plan.problems.append(f"what you changed in {target.path} cannot be moved to {source}{why}")
        return
    try:
        made = _list_edit_operations(
            target, to_source(edit, map_shown_bullets(survey.parse(survey.sources[source])))
        )
        made, data = _fit_operations(made, survey.sources[source])
        after = (data or b"").decode("utf-8", "replace")
        if (lost := find_lost_line(written, now, edit, after)) is not None:
            raise FileRefusedError(f"{lost.strip()!r} would be lost, so move it by hand")
    except FileRefusedError as error:
        plan.held.add(target.path)
        plan.problems.append(f"what you changed in {target.path} cannot be moved to {source}: {error.what}")
        return
    survey.sources[source] = data
    plan.edits = list(dict.fromkeys([*plan.edits, *made]))


def _list_edit_operations(target: MirrorTarget, edit: MirrorEdit) -> list[Operation]:
    title = title_for(target.name)
    made: list[Operation] = [TakeLine(target.source, text) for text in edit.removed]
    made += [SwapLine(target.source, one.old, one.new, one.heading, title) for one in edit.reworded]
    made += [PutLine(target.source, one.heading, one.text, title) for one in edit.added]
    return made + [AppendBlock(target.source, block) for block in edit.blocks]


def _fit_operations(
    operations: Sequence[Operation], data: bytes | None
) -> tuple[list[Operation], bytes | None]:
    """The operations, and the bytes that they give. Text that cannot be written as one bullet is appended as it is."""
    try:
        return list(operations), apply_all(operations, data)[0]
    except FileRefusedError:
        fitting = [_fit_operation(each, data) for each in operations]
        return fitting, apply_all(fitting, data)[0]


def _fit_operation(operation: Operation, data: bytes | None) -> Operation:
    try:
        operation.apply(data)
    except FileRefusedError:
        match operation:
            case PutLine(path=path, line=text) | SwapLine(path=path, new=text):
                return AppendBlock(path, f"- {text}")
            case _:
                raise
    return operation


def plan_changes(
    survey: MirrorSurvey,
    sources: Mapping[Path, bytes | None],
    plan: MirrorPlan,
    *,
    again: bool,
    make_empty: bool,
    hidden: str,
) -> None:
    """Add the operations that give each mirror its text, given the bytes that the sources will have.

    `again`: whether mirrors that are missing or cut off are made again. `make_empty`: whether a project without lines gets
    a mirror. `hidden`: why git would show a new mirror; "" if it would not.
    """
    for target in survey.targets:
        found = survey.found[target.path]
        if target.path in plan.held or target.source not in sources:
            continue
        text = survey.render_target(target, sources, make_empty=make_empty)
        if text is not None and (why := survey.why_shown(target)):
            plan.problems.append(f"{target.path} is left out, because git would show it: {why}")
            text = None
        _plan_change(survey, target, found, text, plan, again=again, hidden=hidden)
    for path in survey.leftovers:
        tree = next(tree for tree in reversed(survey.trees) if path.is_relative_to(tree))
        _plan_removal(survey, tree, path, plan)


def _plan_change(
    survey: MirrorSurvey,
    target: MirrorTarget,
    found: FoundMirror,
    text: str | None,
    plan: MirrorPlan,
    *,
    again: bool,
    hidden: str,
) -> None:
    path, written = target.path, survey.record.texts_of(target.path)
    match found.state:
        case "foreign":
            if text is not None and found.data == text.encode():
                plan.adopted[path] = text
            elif text is not None:
                tracked = found.data is not None and is_mirror_tracked(survey.project, target.tree, path)
                why = why_not_ours(survey.project, target.tree, path) if tracked else found.why
                plan.problems.append(why)
            return
        case "absent" if text is None or (written and not again):
            return
        case "absent" if hidden:
            plan.problems.append(f"{path} is not written, because git would show it: {hidden}")
            return
        case "edited" if not again and not _is_moved(survey, target, found):
            return
        case _:
            pass
    if found.data == (text.encode() if text is not None else None):
        if text is not None and found.state == "edited":
            plan.adopted[path] = text
        return
    if why := why_not_ours(survey.project, target.tree, path) or _why_unwritable(path):
        plan.problems.append(why)
        return
    note_before(plan, path, found, written)
    if text is None:
        plan.changes.append(WithdrawFile(path, digest_of(found.data)))
    else:
        plan.changes.append(RewriteFile(path, text, digest_of(found.data)))
        plan.texts[path] = text


def _why_unwritable(path: Path) -> str:
    """Why a mirror cannot be changed; "" if it can. Otherwise each look would make a transaction without effect."""
    try:
        refuse_unwritable(path, RealDisk())
    except FileRefusedError as error:
        return f"{path} is not up to date: {error.what}"
    return ""


def _is_moved(survey: MirrorSurvey, target: MirrorTarget, found: FoundMirror) -> bool:
    """Whether the edit in a mirror was understood. A cut-off mirror is made again at the next session, not at once."""
    text = (found.data or b"").decode("utf-8", "replace")
    edit = find_edit(survey.record.texts_of(target.path), text, title=title_for(target.name))
    return bool(edit) or not edit.cut


def _plan_removal(survey: MirrorSurvey, tree: Path, path: Path, plan: MirrorPlan) -> None:
    """Remove a mirror whose text is tacitd's; name another one."""
    found = inspect_mirror(path, tree, survey.record.texts_of(path))
    if found.state == "ours" and (why := _why_unwritable(path)):
        plan.problems.append(why)
    elif found.state == "ours" and not why_not_ours(survey.project, tree, path):
        note_before(plan, path, found, ())
        plan.changes.append(WithdrawFile(path, digest_of(found.data)))
    elif found.state == "edited":
        plan.problems.append(f"{path} is not needed any more and was changed by hand, so it stays")


def note_before(plan: MirrorPlan, path: Path, found: FoundMirror, written: Sequence[str]) -> None:
    """Note what a mirror may have if it is not changed. What is there now if it is tacitd's; otherwise the known texts."""
    match found.state:
        case "absent":
            plan.before[path] = [""]
        case "ours":
            plan.before[path] = [(found.data or b"").decode("utf-8", "replace")]
        case _:
            plan.before[path] = list(written)
