"""What a person's edits of the source files mean for the rows (SPEC S-28): the only place that interprets them.

A line that they deleted, or put something else in the place of, is `removed`, and is not written again. One that they reworded is theirs for good, and its old text counts as
deleted. What git took away is `gone`, and may be learned again. Copies and the summary follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Tools, Tx
from tacitd.files.formats import split_bullet
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
from tacitd_handlers.learning.sources import LEAVES, Place, find_place
from tacitd_handlers.shared.words import share_subject

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

    def apply(tx: Tx) -> None:
        for row in removed:
            mark_line(tx, row.number, "removed")
        for row, leaf in reworded:
            _take_reworded(tx, row, leaf, taken, now)
        for row in by_git:
            mark_line(tx, row.number, "gone")
        for row in taken.values():
            mark_line(tx, row.number, "present")
            if row.state != "gone":
                tx.execute("UPDATE learning_line SET by = 'person' WHERE number = ?", row.number)
        tell_removed(tx, listeners, place, [row.text for row in removed], now)
        for what in ("copies", "temporary"):
            queue_message(tx, what, place, now)

    back = frozenset(text for text, row in taken.items() if row.state == "gone" and row.by == "tacitd")
    return Done(apply, _adopt(path, back, place, now) if back else ())


def _take_reworded(tx: Tx, row: LineRow, leaf: Leaf, taken: Mapping[str, LineRow], now: float) -> None:
    """A line has other words or another heading now."""
    heading, text = split_bullet(leaf)
    if text in taken:  # the words that it had before, as after an undo
        mark_line(tx, row.number, "removed", taken[text].number)
    elif digest_same(text) == row.same:
        reword_line(tx, row.number, row.path, heading, text)
    else:
        split_line(tx, row, heading, text, now)


def _adopt(path: Path, texts: frozenset[str], place: Place, now: float) -> list[FileChange]:
    """Lines of tacitd that git took away and brought back are tacitd's again."""

    def decide(there: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        return {leaf: value for leaf, value in there.items() if value in texts and leaf in edits.added}

    cause = Cause(f"back {path} {now}", "tacitd", "git brought them back")
    return [FileChange(path, LEAVES, decide, cause, adopts=True)]
