"""What a person's edits of the source files mean for the rows (SPEC S-28): the only place that interprets them.

A line that they deleted, or put something else in the place of, is `removed`, and is not written again. One that they reworded is theirs for good, and its old text counts as
deleted. What git took away is `gone`, and may be learned again. Copies and the summary follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Rows, Tools, Tx
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.formats import bullet, split_bullet
from tacitd_handlers.learning.folders import GENERAL
from tacitd_handlers.learning.learned_rows import (
    LineRow,
    LineState,
    digest_same,
    mark_line,
    queue_message,
    read_lines_of,
    reword_line,
    split_line,
)
from tacitd_handlers.learning.plugin_messages import list_listeners, tell_removed
from tacitd_handlers.learning.project_rules import (
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
from tacitd_handlers.learning.rule_text import COPY, is_line, show_line
from tacitd_handlers.learning.sources import LEAVES, Place, find_place, read_checked
from tacitd_handlers.shared.safe_read import read_plain_bytes
from tacitd_handlers.shared.words import share_subject

_BACK = "back "
"""The key of the change by which lines are tacitd's again; the number of the undo follows, or the time if git brought them."""
_JUST_NOW = 120.0
"""Seconds: files are looked at once a minute, and after an undo at once."""
KEPT_AGAIN = 600.0
"""Seconds until it is tried again whether a line that is gone from a block can be deleted in its source."""
_TAKEN: tuple[LineState, ...] = ("removed", "gone", "replaced", "withheld")


def take_edits(path: Path, edits: Edits, tools: Tools) -> Done:
    """Take over a change of a source file. It is called after every change, also one of tacitd's own."""
    place = find_place(path, tools)
    if place is None:
        return Done()
    now = tools.clock.now()
    if (
        not path.exists() and not edits.removed
    ):  # what is missing as a whole was not deleted line by line: the copies decide
        return Done(lambda tx: queue_message(tx, "copies", place, now))
    view = tools.look(path, LEAVES)
    there = {split_bullet(leaf)[1] for leaf in view.now}
    present = {row.text: row for row in read_lines_of(tools.rows, str(path))}
    taken = {row.text: row for row in read_lines_of(tools.rows, str(path), _TAKEN) if row.text in there}
    removed = [present[text] for leaf in edits.removed if (text := split_bullet(leaf)[1]) in present]
    changed = [
        (present[old], leaf)
        for before, (leaf, _) in edits.changed.items()
        if (old := split_bullet(before)[1]) in present
    ]
    # What says something else in the place of a line is no other wording of it.
    reworded = [(row, leaf) for row, leaf in changed if share_subject(row.text, split_bullet(leaf)[1])]
    removed += [row for row, leaf in changed if not share_subject(row.text, split_bullet(leaf)[1])]
    known = {row.number for row in (*removed, *(row for row, _ in reworded))}
    by_git = [
        row
        for row in present.values()
        if row.text not in there
        and row.number not in known
        and view.doubt not in ("cut", "missing", "removed once")
    ]
    listeners = list_listeners(tools)
    # Of those that are there again, the ones that no person typed: git or an undo brought them.
    back = {
        text: undo
        for text, row in taken.items()
        if (undo := _find_undo(tools.rows, path, text, now)) or row.state == "gone"
    }

    def apply(tx: Tx) -> None:
        for row in removed:
            mark_line(tx, row.number, "removed")
        for row, leaf in reworded:
            _take_reworded(tx, row, leaf, taken, now)
        for row in by_git:
            mark_line(tx, row.number, "gone")
        for row in taken.values():
            mark_line(tx, row.number, "present")
            if row.text not in back:
                tx.execute("UPDATE learning_line SET by = 'person' WHERE number = ?", row.number)
        tell_removed(tx, listeners, place, [row.text for row in removed], now)
        for what in ("copies", "temporary"):
            queue_message(tx, what, place, now)

    adopted = {text: undo for text, undo in back.items() if taken[text].by == "tacitd"}
    return Done(apply, _adopt(path, adopted, now) if adopted else ())


def _find_undo(rows: Rows, path: Path, text: str, now: float) -> int:
    """The number of the undo that put a text into a file just now; 0 if none did, or if it was taken account of: then a person typed it."""
    found = rows(
        "SELECT c.number, c.undoes, l.put FROM change_line l JOIN change c ON c.number = l.change "
        "WHERE l.path = ? AND ? IN (l.put, l.taken) AND c.at > ? ORDER BY c.number DESC, l.put IS NULL LIMIT 1",
        *(str(path), text, now - _JUST_NOW),
    )
    if not found or found[0][1] is None or found[0][2] != text:
        return 0
    undo = int(found[0][0])
    return 0 if rows("SELECT 1 FROM change WHERE key = ?", f"{_BACK}{undo} {path}") else undo


def _take_reworded(tx: Tx, row: LineRow, leaf: Leaf, taken: Mapping[str, LineRow], now: float) -> None:
    """A line has other words or another heading now."""
    heading, text = split_bullet(leaf)
    if text in taken:  # the words that it had before, as after an undo
        mark_line(tx, row.number, "removed", taken[text].number)
    elif digest_same(text) == row.same:
        reword_line(tx, row.number, row.path, heading, text)
    else:
        split_line(tx, row, heading, text, now)


def _adopt(path: Path, texts: Mapping[str, int], now: float) -> list[FileChange]:
    """Lines of tacitd that git or an undo brought back are tacitd's again. `texts`: with the number of the undo; 0: git did."""

    def decide(there: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        return {leaf: value for leaf, value in there.items() if value in texts and leaf in edits.added}

    undo = max(texts.values())
    cause = Cause(
        f"{_BACK}{undo or now}", "tacitd", "an undo brought them back" if undo else "git brought them back"
    )
    return [FileChange(path, LEAVES, decide, cause, adopts=True)]


# --- what a person edits in a copy


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
