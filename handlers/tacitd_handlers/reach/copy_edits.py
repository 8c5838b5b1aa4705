"""What a person edits in a copy, or in the block of an AGENTS.md, is applied to the source, and then the copies follow."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Tools, Tx
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.formats import bullet, split_bullet
from tacitd_handlers.learning.folders import GENERAL
from tacitd_handlers.learning.learned_rows import (
    list_listeners,
    mark_line,
    read_lines_of,
    reword_line,
    tell_removed,
)
from tacitd_handlers.learning.sources import LEAVES, Place, read_checked
from tacitd_handlers.reach.project_rules import (
    LARGEST,
    Copy,
    describe_kept,
    find_gone,
    match_lines,
    plan_copies,
    queue_project,
    why_block_kept,
    why_kept,
)
from tacitd_handlers.reach.rule_text import COPY, is_line, show_line
from tacitd_handlers.shared.places import read_plain_bytes
from tacitd_handlers.shared.words import share_subject

KEPT_AGAIN = 600.0
"""Seconds until it is tried again whether a line that is gone from a block can be deleted in its source."""


def take_copy_edits(path: Path, edits: Edits, tools: Tools) -> Done:
    """Apply a person's edits of a copy to its source. What cannot be moved there is named, and stays in the copy."""
    found = tools.rows(
        "SELECT p.root, p.number, p.common FROM shared_file f JOIN project p ON p.number = f.project WHERE f.path = ?",
        str(path),
    )
    if not found:
        return Done()
    root, number = Path(found[0][0]), found[0][1]
    project = Project(root, git=found[0][2] is not None)
    now, data = tools.clock.now(), None
    follow = Done(lambda tx: queue_project(tx, project, number, now))
    if not any(edits):
        return follow
    copies = plan_copies(tools.rows, number, root, blocks=tools.settings["reach"].codex)
    copy = next((one for one in copies if one.path == path), None)
    if copy is None or (not copy.is_block and git.read_index_mode(copy.tree, path)):
        return Done()
    if copy.is_block:
        edits = _take_block_edits(copy, edits, project, tools)
    with suppress(FileRefusedError):
        data = read_checked(copy.source, copy.home) if not why_kept(copy, project, tools) else None
    is_cut = not copy.is_block and COPY.is_cut(read_plain_bytes(path, LARGEST) or b"", {})
    moved = _move_edits(edits, LEAVES.read_leaves(data) if data else {}, is_cut=is_cut)
    if data is None or not moved.changes:
        return follow
    lines = {line.text: line for line in read_lines_of(tools.rows, str(copy.source))}
    removed = [lines[text] for text in moved.removed if text in lines]
    listeners = list_listeners(tools)

    def apply(tx: Tx) -> None:
        for line in removed:
            mark_line(tx, line.number, "removed")
        for text, (heading, new) in moved.reworded.items():
            if text in lines:
                reword_line(tx, lines[text].number, str(copy.source), heading, new)
        tell_removed(tx, listeners, Place(number, root, project), [line.text for line in removed], now)
        queue_project(tx, project, number, now)

    cause = Cause(f"edit of {path} {now}", "copy", f"you changed {path.name}")
    change = FileChange(copy.source, LEAVES, lambda now, edits: moved.changes, cause, theirs=True)
    return Done(apply, (change,))


def _take_block_edits(copy: Copy, edits: Edits, project: Project, tools: Tools) -> Edits:
    """What counts of the edits of a block: that lines of tacitd's are gone. Whatever else stands in it may have come with the project,
    and stays there. Raises FileBusyError if a line that is gone is in the source and cannot be deleted there: then it is still noted
    as tacitd's, and is not put back."""
    gone = find_gone(edits)
    why = why_block_kept(copy, project, tools)
    if gone and why:
        shown = set[str]()
        with suppress(FileRefusedError):
            data = read_checked(copy.source, copy.home)
            shown = {show_line(text) for text in LEAVES.read_leaves(data or b"").values()}
        if any(split_bullet(leaf)[1] in shown for leaf in gone):
            raise FileBusyError(describe_kept(copy, why), seconds=KEPT_AGAIN)
        gone = frozenset()
    return Edits({}, {}, gone)


class _Moved(Struct, frozen=True):
    """A person's edits of a copy, as changes of its source."""

    changes: dict[Leaf, str | None]
    removed: list[str]
    """Texts of the source's lines."""
    reworded: dict[str, tuple[str, str]]
    """By the text of the source's line: heading and text in the place of it."""


def _move_edits(edits: Edits, source: Mapping[Leaf, str], *, is_cut: bool) -> _Moved:
    """A copy shows a line without comments and imports, so its lines are found by what is shown. What the source says already, and the
    rest of a line that was cut, is no addition."""
    by_shown = {show_line(text): leaf for leaf, text in source.items()}
    is_known = match_lines(by_shown, is_cut=is_cut)
    moved = _Moved({}, [], {})
    added = list(edits.added)
    for leaf in edits.removed:
        at = by_shown.get(split_bullet(leaf)[1]) if is_line(leaf) else None
        if at is not None:
            moved.changes[at] = None
            moved.removed.append(source[at])
    for leaf, (new, text) in edits.changed.items():
        at = by_shown.get(split_bullet(leaf)[1]) if is_line(leaf) else None
        if at is None or not is_line(new):
            added.append(new)
        elif text in by_shown:
            moved.changes[at] = None
            moved.removed.append(source[at])
        elif share_subject(source[at], text):
            moved.changes[at] = text
            moved.reworded[source[at]] = (split_bullet(at)[0], text)
        else:
            moved.changes[at] = text
            moved.removed.append(source[at])
    for heading, text in map(split_bullet, filter(is_line, added)):
        if not is_known(text):
            moved.changes[bullet(heading or GENERAL, text)] = text
    return moved
