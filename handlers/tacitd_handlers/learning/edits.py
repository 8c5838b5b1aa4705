"""What a person's edits of the source files mean for the rows (SPEC S-28): the only place that interprets them.

A line that they deleted, or put something else in the place of, is `removed`, and is not written again. One that they reworded is
theirs for good, and its old text counts as deleted. One that the undo of a move put back where it was stays what it was. What git
took away is `gone`, and may be learned again. Copies and the summary follow. The lines of ~/.agents/LEARNED.md are the part
`person-rules` of the file that every session loads; one that is deleted there is withdrawn here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Rows, Task, Tools, Tx
from tacitd.errors import FileBusyError
from tacitd.files.formats import split_bullet
from tacitd.files.row_history import make_change_key
from tacitd.session_context.context_request import PersonRule
from tacitd.session_context.plugin_view import open_rows
from tacitd.state.paths import state_dir
from tacitd_handlers.learning import make_plugin
from tacitd_handlers.learning.learned_rows import (
    LineRow,
    LineState,
    digest_same,
    list_listeners,
    make_line_id,
    mark_line,
    read_lines_of,
    relocate_line,
    reword_line,
    split_line,
    tell_removed,
)
from tacitd_handlers.learning.sources import LEAVES, find_place, person_root
from tacitd_handlers.reach.client_rules import LEARNED
from tacitd_handlers.reach.copies import queue_copies
from tacitd_handlers.shared.places import read_plain_bytes
from tacitd_handlers.shared.words import share_subject

if TYPE_CHECKING:
    from tacitd.clock import Clock
    from tacitd.contract import Tx

_BACK = "back "
"""The key of the change by which lines are tacitd's again; the number of the undo follows, or the time if git brought them."""
_JUST_NOW = 120.0
"""Seconds: files are looked at once a minute, and after an undo at once."""
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
        return Done(lambda tx: queue_copies(tx, place, now))
    view = tools.look(path, LEAVES)
    there = {split_bullet(leaf)[1] for leaf in view.now}
    present = {row.text: row for row in read_lines_of(tools.rows, str(path))}
    taken = {row.text: row for row in read_lines_of(tools.rows, str(path), _TAKEN) if row.text in there}
    removed = [present[text] for leaf in edits.removed if (text := split_bullet(leaf)[1]) in present]
    reworded = list[tuple[LineRow, Leaf]]()
    for before, (leaf, text) in edits.changed.items():
        if (row := present.get(split_bullet(before)[1])) is None:
            continue
        # What says something else in the place of a line is no other wording of it.
        if share_subject(row.text, text):
            reworded.append((row, leaf))
        else:
            removed.append(row)
    known = {row.number for row in (*removed, *(row for row, _ in reworded))}
    # What the undo of a move put back where it was is the same line.
    moved = [(row, to) for row in removed if (to := _find_move(tools.rows, path, row.text))]
    removed = [row for row in removed if row not in [one for one, _ in moved]]
    places = {to: found for _, to in moved if (found := find_place(to, tools))}
    gone = [row for row in present.values() if row.text not in there and row.number not in known]
    by_git = gone if view.doubt not in ("cut", "missing", "removed once") else []
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
        for row, to in moved:
            relocate_line(tx, row, places[to].number, str(to))
            queue_copies(tx, places[to], now)
        for row, leaf in reworded:
            heading, text = split_bullet(leaf)
            if text in taken:  # the words that it had before, as after an undo
                mark_line(tx, row.number, "removed", taken[text].number)
            elif digest_same(text) == row.same:
                reword_line(tx, row.number, row.path, heading, text)
            else:
                split_line(tx, row, heading, text, now)
        for row in by_git:
            mark_line(tx, row.number, "gone")
        for row in taken.values():
            mark_line(tx, row.number, "present")
            if row.text not in back:
                tx.execute("UPDATE learning_line SET by = 'person' WHERE number = ?", row.number)
        tell_removed(tx, listeners, place, [row.text for row in removed], now)
        queue_copies(tx, place, now)

    # Lines of tacitd that git or an undo brought back are tacitd's again.
    adopted = {text: undo for text, undo in back.items() if taken[text].by == "tacitd"}

    def adopt(there: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        return {leaf: value for leaf, value in there.items() if value in adopted and leaf in edits.added}

    undo = max(adopted.values(), default=0)
    who = "an undo" if undo or moved else "git"
    cause = Cause(f"{_BACK}{undo or now}", "tacitd", f"{who} brought them back")
    files = [FileChange(path, LEAVES, adopt, cause, adopts=True)] if adopted else []
    for to in places:
        texts = {row.text for row, one in moved if one == to and row.by == "tacitd"}
        files.append(FileChange(to, LEAVES, partial(_keep_texts, texts), cause, adopts=True))
    return Done(apply, files)


def _keep_texts(texts: Collection[str], there: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
    return {leaf: value for leaf, value in there.items() if value in texts}


def _find_move(rows: Rows, path: Path, text: str) -> Path | None:
    """The file into which an undo put a text that it took from this one; None if none did. Raises FileBusyError if that undo has not
    written the other file yet, because its disk failed."""
    found = rows(
        "SELECT c.number, c.undoes FROM change_line l JOIN change c ON c.number = l.change "
        "WHERE l.path = ? AND ? IN (l.put, l.taken) ORDER BY c.number DESC LIMIT 1",
        *(str(path), text),
    )
    if not found or found[0][1] is None:
        return None
    to = (found[0][0], str(path), text)
    if planned := rows("SELECT path FROM plan WHERE change = ? AND path <> ? AND put = ?", *to):
        raise FileBusyError(f"a change of {planned[0][0]} is not finished", seconds=1.0)
    found = rows("SELECT path FROM change_line WHERE change = ? AND path <> ? AND put = ?", *to)
    return Path(found[0][0]) if found else None


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
    return 0 if rows("SELECT 1 FROM change WHERE key = ?", make_change_key(f"{_BACK}{undo}", path)) else undo


WITHDRAW = "withdraw"
"""The key of the message begins so."""
LARGEST = 1 << 20
"""Bytes that are read of the file."""


class LearnedRules:
    """The lines of the file, tacitd's and the person's. The id of a rule is that of its line."""

    title = "Learned"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._path, self._clock = person_root(environ) / LEARNED, clock
        self._state = state_dir(environ)

    def list_files(self) -> Sequence[Path]:
        return [self._path]

    def list_rules(self) -> Sequence[PersonRule]:
        """What the person wrote or corrected first, then what was said most often and last. Raises OSError, TacitdError."""
        data = read_plain_bytes(self._path, LARGEST) or b""
        with open_rows(make_plugin(), self._state) as stored:
            rows = {line.text: line for line in read_lines_of(stored, str(self._path))}
        found = list[tuple[tuple[bool, int, float], PersonRule]]()
        for _, text in map(split_bullet, LEAVES.read_leaves(data)):
            row = rows.get(text)
            is_own = row is None or row.by == "person" or row.corrections > 0
            rank = (is_own, row.said if row else 1, row.last_said if row else 0.0)
            found.append((rank, PersonRule(make_line_id(str(self._path), text), text, is_own)))
        found.sort(key=lambda one: one[0], reverse=True)
        return [rule for _, rule in found]

    def withdraw_rule(self, id: str) -> Callable[[Tx], None]:
        """Have the line taken out of the file, by a message to learning."""
        from tacitd.contract import Task
        from tacitd.events import NoProject
        from tacitd.work.messages import send_message

        about = Task(0, "message", id, NoProject("", "it is the person's"), None)
        return lambda tx: send_message(
            tx, "learning", "learning", f"{WITHDRAW} {id}", about, {"id": id}, self._clock.now()
        )


def withdraw_line(task: Task, tools: Tools) -> Done:
    """Take a line out of the person's file that they deleted in the file of rules; it is not learned again."""
    path, id = person_root(os.environ) / LEARNED, str(task.data["id"])

    def decide(now: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
        return {leaf: None for leaf, text in now.items() if make_line_id(str(path), text) == id}

    def apply(tx: Tx) -> None:
        for line in read_lines_of(tx.rows, str(path)):
            if line.id == id:
                mark_line(tx, line.number, "removed")

    cause = Cause(f"{WITHDRAW} {id} {tools.clock.now()}", "copy", "you deleted its copy in rules/tacitd.md")
    return Done(apply, (FileChange(path, LEAVES, decide, cause),))
