"""Files that people edit too: one way to look at them and to change them, in the order in which a change passes it.

A change is decided from what is in the file, and committed as rows of `plan` together with what decided it. Then the
file is swapped, and what was written is committed as the new base, with the history. A crash leaves a plan that is
finished leaf by leaf, without the code that made it: a leaf that still equals what was expected gets the new value, any other
is the person's.

The base is what tacitd wrote last, never what it saw. A removal is not concluded while it is in doubt: git may have made it, the
file may have been cut off, an editor may be saving it right now, or an older copy was put back. Several leaves that are gone at
once count as removed when the person has edited the file again without them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from tacitd.clock import Clock, utc_seconds
from tacitd.contract import Database, Done, Edits, FileChange, Format, Leaf, Task, Tx, View
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files import git
from tacitd.files.append_file import finish_lines, forget_failure, note_failure, plan_lines
from tacitd.files.atomic import FileSnapshot, edit_file, read_snapshot, remove_empty
from tacitd.files.disk import DISK
from tacitd.files.editors import Editors
from tacitd.files.formats import find_format
from tacitd.files.locks import is_alive, name_process
from tacitd.files.row_history import name_change, note_change
from tacitd.files.stalls import Stalls
from tacitd.files.write_checks import refuse_leading_away
from tacitd.text.hashes import blake2b

TWO_LOOKS = 2.0
"""Seconds between two looks that must agree before a removal counts."""
NO_EDITS = Edits({}, {}, frozenset())


class Look(NamedTuple):
    """What a look at a file found."""

    view: View
    head: str
    """What git has checked out."""
    target: Path
    """The file with every link resolved."""
    snapshot: FileSnapshot | None = None
    doubt_of: bytes | None = None
    """The digest of the person's leaves, 16 bytes, then those of the leaves that are in doubt, 8 bytes each, in ascending order."""
    by_git: bool = False
    """Whether git may have changed the file: what is there becomes the base."""


class Planned(NamedTuple):
    """A change that was decided and is not committed yet."""

    change: FileChange
    leaves: Mapping[Leaf, tuple[str | None, str | None]]
    """By leaf: what was expected there, and what is put; None: absent."""
    project: int | None
    look: Look
    changes: int
    """How many changes of the file were planned when this one was decided."""


class PlannedLeaf(NamedTuple):
    expected: str | None
    put: str | None
    theirs: int
    listed: int


class SharedFiles:
    """Looks at shared files and changes them. Any thread; one change at a time for each path."""

    def __init__(
        self,
        store: Database,
        clock: Clock,
        *,
        editors: Editors | None = None,
        on_step: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._editors = editors
        self._on_step = on_step
        self._process = name_process()
        self._decided: dict[tuple[str, int], list[Planned]] = {}
        self._lock = threading.Lock()
        self._swapping: dict[Path, threading.Lock] = {}

    # --- looking

    def look(self, path: Path, format: Format) -> View:
        """Read a file and say what a person changed. Nothing is stored. Raises FileBusyError, FileRefusedError, OSError."""
        return self.take_look(path, format).view

    def read_stamp(self, path: Path) -> str:
        """A text that differs when the file or what git has checked out is another one; "" if the file cannot be examined."""
        try:
            found = DISK.resolve(path).stat()
        except (OSError, FileRefusedError):
            return ""
        checkout = git.look_at(path.parent).checkout
        return f"{found.st_size} {found.st_mtime_ns} {found.st_ino} {checkout}"

    def take_look(self, path: Path, format: Format) -> Look:
        """As `look`, with what is in doubt."""
        rows, key = self._store.rows, str(path)
        base: dict[Leaf, str] = dict(
            rows("SELECT leaf, written FROM shared_leaf WHERE path = ? ORDER BY place", key)
        )
        sql = "SELECT head, doubt, coalesce(doubt_of, x''), coalesce(doubt_since, 0.0) FROM shared_file WHERE path = ?"
        head_then, doubt_then, doubt_of, since = (*rows(sql, key), ("", None, b"", 0.0))[0]
        # Before the file is read: what git takes away in between is found by the next look.
        root, tree, mark, head = git.look_at(path.parent)
        if mark is not None:
            what = f"git changes files of {tree} ({mark} is there)"
            raise FileBusyError(what, git.UNSETTLED_HINT, seconds=git.UNSETTLED)
        target = DISK.resolve(path)
        snapshot = read_snapshot(target)
        if snapshot is None:
            return Look(View({}, NO_EDITS, exists=False, doubt="missing" if base else ""), head, target)
        now = format.read_leaves(snapshot.data)
        if base and head != head_then and git.is_tracked(root, path):
            # What differs is git's: it becomes the base, and what it took away may be learned again.
            added = {leaf: value for leaf, value in now.items() if leaf not in base}
            return Look(
                View(now, Edits(added, {}, frozenset()), exists=True), head, target, snapshot, by_git=True
            )
        seen = {leaf for (leaf,) in rows("SELECT leaf FROM shared_seen WHERE path = ?", key)}
        edits = _find_edits(base, now, format, seen)
        is_cut = (edits.removed or (base and format.is_generated)) and format.is_cut(snapshot.data, base)
        if not edits.removed and not is_cut:
            return Look(View(now, edits, exists=True), head, target, snapshot)
        theirs = "\0".join(sorted(leaf for leaf in now if leaf not in base))
        in_doubt = _digest(theirs) + b"".join(sorted(_digest(leaf)[:8] for leaf in edits.removed))
        doubt: Literal["cut", "removed once"] = "cut" if is_cut else "removed once"
        if not is_cut:
            again = doubt_of[16:] == in_doubt[16:] and head == head_then
        else:
            again = not format.is_generated and self._is_second_sign(
                key, edits.removed, doubt_of, in_doubt, since
            )
        if doubt == doubt_then and again and self._clock.now() - since >= TWO_LOOKS:
            return Look(View(now, edits, exists=True), head, target, snapshot)
        view = View(now, edits._replace(removed=frozenset()), exists=True, doubt=doubt)
        return Look(view, head, target, snapshot, in_doubt)

    def _is_second_sign(
        self, path: str, removed: Collection[Leaf], before: bytes, now: bytes, since: float
    ) -> bool:
        """Whether the person has edited the file since several of its leaves were missing, and has put none of them back. That what
        tacitd wrote since is gone again is no sign: the same copy may have been put back again."""
        if not before:
            return False
        gone = {before[at : at + 8] for at in range(16, len(before), 8)}
        fresh = [leaf for leaf in removed if _digest(leaf)[:8] not in gone]
        if len(removed) - len(fresh) < len(gone):
            return False
        written = "SELECT 1 FROM change_line l JOIN change c ON c.number = l.change WHERE l.path = ? AND l.leaf = ? AND c.at > ?"
        return before[:16] != now[:16] or any(
            not self._store.rows(written, path, leaf, since) for leaf in fresh
        )

    def store_look(
        self, tx: Tx, path: Path, plugin: str, format: Format, project: int | None, found: Look
    ) -> None:
        """Store a look whose edits are passed on in this transaction: they are no part of the base any more."""
        doubt = found.view.doubt or None
        tx.execute(
            "INSERT INTO shared_file(path, plugin, format, project, head, doubt, doubt_of, doubt_since) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(path) DO UPDATE SET head = excluded.head, "
            "doubt_since = CASE WHEN doubt IS excluded.doubt AND doubt_of IS excluded.doubt_of THEN doubt_since "
            "ELSE excluded.doubt_since END, doubt = excluded.doubt, doubt_of = excluded.doubt_of",
            *(str(path), plugin, format.name, project, found.head),
            *(doubt, found.doubt_of, self._clock.now() if doubt else None),
        )
        gone = {*found.view.edits.removed, *found.view.edits.changed}
        if found.by_git:
            _take_over(tx, path, found.view.now)
        tx.executemany(
            "DELETE FROM shared_leaf WHERE path = ? AND leaf = ?", [(str(path), leaf) for leaf in gone]
        )

    # --- 1. deciding, in the worker

    def read(self, plugin: str, task: Task, done: Done) -> None:
        """Read the files of an outcome and decide their changes. Raises FileBusyError, FileRefusedError, OSError."""
        for change in done.files:
            self.settle(change.path)
        self._decided[plugin, task.number] = [
            self._decide(plugin, change, task.project_number) for change in done.files
        ]

    def _decide(self, plugin: str, change: FileChange, project: int | None) -> Planned:
        changes = _count_changes(self._store, str(change.path))
        look = self.take_look(change.path, change.format)
        if _is_made(self._store, change):
            return Planned(change, {}, project, look, changes)
        if self._editors is not None:
            # Before it is planned: what is planned waits longer than until the file is at rest.
            self._editors.check_at_rest(look.target, look.snapshot)
        view = look.view
        if view.doubt == "removed once":
            # Lines were just removed: a change that is decided now may write them again, so it waits for the second look.
            only_doubt = look._replace(view=view._replace(edits=NO_EDITS))
            with self._store.write() as tx:
                self.store_look(tx, change.path, plugin, change.format, project, only_doubt)
            raise FileBusyError(f"lines of {change.path} were removed a moment ago", seconds=TWO_LOOKS)
        wanted = change.decide(view.now, view.edits)
        leaves = {leaf: (view.now.get(leaf), value) for leaf, value in wanted.items()}
        changed = {
            leaf: (before, value)
            for leaf, (before, value) in leaves.items()
            if before != value or (value is not None and (change.theirs or change.adopts))
        }
        is_left = view.exists and not view.now and not any(wanted.values())
        if change.format.is_generated:
            written = "SELECT 1 FROM change_line WHERE path = ? LIMIT 1"
            if changed or view.doubt == "cut" or is_left or not self._store.rows(written, str(change.path)):
                changed = leaves  # all of it, in its order: what stands there already is tacitd's too
        return Planned(change, changed, project, look, changes)

    # --- 2. planning, in the transaction of the task's end

    def plan(self, tx: Tx, plugin: str, task: Task, done: Done) -> None:
        """Store what was decided. Raises FileBusyError if another change of one of the paths is not finished."""
        decided = self._decided.get((plugin, task.number), ())
        numbers = dict[str, int]()
        for planned in [one for one in decided if one.leaves and not _is_made(tx, one.change)]:
            self._plan(tx, plugin, planned, numbers)
        plan_lines(tx, done.lines, self._process)

    def _plan(self, tx: Tx, plugin: str, planned: Planned, numbers: dict[str, int]) -> None:
        """`numbers`: those of the changes that this task made already, by their keys."""
        change, path, name = planned.change, str(planned.change.path), planned.change.format.name
        for (process,) in tx.rows("SELECT DISTINCT process FROM plan WHERE path = ?", path):
            raise _make_busy_error(path, process)
        if _count_changes(tx, path) != planned.changes:
            raise FileBusyError(f"{path} was changed a moment ago", seconds=0.1)
        key = name_change(change)
        if key not in numbers:
            numbers[key] = self._insert_change(tx, plugin, planned, key)
        number = numbers[key]
        common = (path, name, number, self._process, change.theirs)
        tx.executemany(
            "INSERT INTO plan(path, format, change, process, theirs, leaf, listed, expected, put, place) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (*common, leaf, leaf not in change.unlisted, expected, put, place)
                for place, (leaf, (expected, put)) in enumerate(planned.leaves.items())
            ],
        )
        tx.execute(
            "INSERT OR IGNORE INTO shared_file(path, plugin, format, project, head) VALUES(?, ?, ?, ?, ?)",
            *(path, plugin, name, planned.project, planned.look.head),
        )
        tx.execute("UPDATE shared_file SET changes = changes + 1 WHERE path = ?", path)
        if planned.look.by_git:
            _take_over(tx, change.path, planned.look.view.now)
            tx.execute("UPDATE shared_file SET head = ? WHERE path = ?", planned.look.head, path)

    def _insert_change(self, tx: Tx, plugin: str, planned: Planned, key: str) -> int:
        now, cause = self._clock.now(), planned.change.cause
        stamp = utc_seconds(now)[:19].replace("-", "").replace(":", "")
        number = tx.execute(
            "INSERT INTO change(id, key, at, plugin, project, by, cause, session, undoes) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(f"{stamp}-{os.urandom(3).hex()}", key, now, plugin, planned.project),
            *(cause.by, cause.what, cause.session, cause.undoes),
        ).row
        tx.executemany(
            "INSERT OR IGNORE INTO change_prompt(change, prompt) VALUES(?, ?)",
            [(number, prompt) for prompt in cause.prompts],
        )
        return number

    # --- 3. swapping, after the commit

    def swap(self, plugin: str, task: Task) -> None:
        """Write what was planned for a task. What cannot be written now stays planned. Raises nothing but store errors."""
        self._finish_paths(planned.change.path for planned in self._decided.pop((plugin, task.number), ()))

    def finish_all(self, stalls: Stalls | None = None) -> list[Path]:
        """Finish what this process and those that are gone had planned; return the paths that cannot be changed now. `stalls`: without
        it, each takes as long as its disk needs."""
        found = self._store.rows("SELECT DISTINCT path, process FROM plan")
        paths = (Path(path) for path, process in found if process == self._process or not is_alive(process))
        return self._finish_paths(paths, stalls)

    def _finish_paths(self, paths: Iterable[Path], stalls: Stalls | None = None) -> list[Path]:
        left, stalls = list[Path](), stalls or Stalls(self._clock, threads=False)
        for path in paths:
            try:
                stalls.ask(str(path.parent), partial(self._finish_path, path))
            except (FileBusyError, FileRefusedError, OSError):
                left.append(path)
        with self._lock:
            finish_lines(self._store, self._process, self._clock.now(), self._on_step)
        return left

    def settle(self, path: Path) -> None:
        """Finish what is planned for a path, if its process is gone or this one. Raises FileBusyError, FileRefusedError, OSError."""
        for (process,) in self._store.rows("SELECT DISTINCT process FROM plan WHERE path = ?", str(path)):
            if process != self._process and is_alive(process):
                raise _make_busy_error(str(path), process)
            self._finish_path(path)

    def _finish_path(self, path: Path) -> None:
        """Apply the plan of a path and commit what was written. The plan stays if the file cannot be changed now."""
        with self._lock:
            lock = self._swapping.setdefault(path, threading.Lock())
        with lock:
            try:
                self._apply_plan(path)
            except (FileBusyError, FileRefusedError, OSError) as error:
                note_failure(self._store, str(path), error, self._clock.now())
                raise

    def _apply_plan(self, path: Path) -> None:
        rows = self._store.rows(
            "SELECT p.leaf, p.expected, p.put, p.theirs, p.listed, p.format, p.change, r.root FROM plan p "
            "JOIN shared_file f ON f.path = p.path LEFT JOIN project r ON r.number = f.project "
            "WHERE p.path = ? ORDER BY p.place",
            str(path),
        )
        if not rows:
            return
        name, number, root = rows[0][5:]
        format = find_format(name)
        plan = {row[0]: PlannedLeaf(*row[1:5]) for row in rows}
        seen = {
            leaf for (leaf,) in self._store.rows("SELECT leaf FROM shared_seen WHERE path = ?", str(path))
        }
        written: dict[Leaf, str | None] = {}
        is_emptied = not any(leaf.put for leaf in plan.values())  # a crash may have come before its removal

        def change(data: bytes | None) -> bytes | None:
            nonlocal written, is_emptied
            now = format.read_leaves(data) if data else {}
            changes = {
                leaf: one.put
                for leaf, one in plan.items()
                if now.get(leaf) == one.expected and (one.put != one.expected or format.is_generated)
            }
            written = changes | {
                leaf: one.put for leaf, one in plan.items() if _is_written(leaf, one.put, now, seen)
            }
            after = format.splice(data, changes) if changes else data
            is_emptied = is_emptied or bool(data and after == b"")
            return after

        self._on_step("before swap")
        if root is not None:  # since the decision something else may have been put there, as after a crash
            refuse_leading_away(path, Path(root))
        # A file outside of the project is the person's, whatever project it was changed for.
        is_private = root is None or not path.is_relative_to(root)
        mode = 0o600 if is_private and not path.exists() else None
        edit_file(path, change, mode=mode, editors=self._editors)
        if is_emptied:
            remove_empty(DISK.resolve(path))
        self._on_step("swapped")
        self._commit_written(path, format, plan, written, number)

    # --- 4. committing what was written

    def _commit_written(
        self,
        path: Path,
        format: Format,
        plan: Mapping[Leaf, PlannedLeaf],
        written: Mapping[Leaf, str | None],
        number: int,
    ) -> None:
        snapshot = read_snapshot(DISK.resolve(path))
        now = format.read_leaves(snapshot.data) if snapshot is not None else {}
        places = {leaf: place for place, leaf in enumerate(now)}
        by_text = {value: leaf for leaf, value in now.items()}
        key = str(path)
        with self._store.write() as tx:
            # Undoing is a person's act: what it changes is found and reported as an edit of theirs.
            undoes = bool(tx.rows("SELECT 1 FROM change WHERE number = ? AND undoes IS NOT NULL", number))
            ((first,),) = tx.rows(
                "SELECT coalesce(max(number) + 1, 0) FROM change_line WHERE change = ?", number
            )
            for at, (leaf, put) in enumerate(written.items(), first):
                one = plan[leaf]
                named = leaf if leaf in now else by_text.get(put or "")
                if not undoes:
                    tx.execute("DELETE FROM shared_leaf WHERE path = ? AND leaf = ?", key, leaf)
                if put is not None and named is not None and not undoes and not one.theirs:
                    place = places.get(named, len(places))
                    tx.execute(
                        "INSERT OR REPLACE INTO shared_leaf VALUES(?, ?, ?, ?)", key, named, put, place
                    )
                if one.listed and one.expected != put:
                    heading = _name_heading(leaf)
                    tx.execute(
                        "INSERT OR IGNORE INTO change_line(change, number, path, leaf, heading, taken, put) "
                        "VALUES(?, ?, ?, ?, ?, ?, ?)",
                        *(number, at, key, leaf, heading, one.expected, put),
                    )
            tx.execute("DELETE FROM plan WHERE path = ?", key)
            forget_failure(tx, key)
            if not tx.rows("SELECT 1 FROM plan WHERE change = ?", number):
                tx.execute("UPDATE change SET state = 'done' WHERE number = ?", number)
                note_change(tx, number, self._clock.now())


def _find_edits(
    base: Mapping[Leaf, str], now: Mapping[Leaf, str], format: Format, seen: Collection[Leaf]
) -> Edits:
    """Given what tacitd wrote and what is there now, return a person's edits. `seen`: leaves of the person that were there before, of
    which none is a leaf of tacitd's in other words."""
    pairs = format.pair_reworded(list(base), [leaf for leaf in now if leaf not in seen]) if base else {}
    changed = {leaf: (leaf, now[leaf]) for leaf, value in base.items() if leaf in now and now[leaf] != value}
    changed |= {leaf: (other, now[other]) for leaf, other in pairs.items()}
    new = set(pairs.values())
    added = {leaf: value for leaf, value in now.items() if leaf not in base and leaf not in new}
    removed = frozenset(leaf for leaf in base if leaf not in now and leaf not in pairs)
    return Edits(added, changed, removed)


def _is_written(leaf: Leaf, put: str | None, now: Mapping[Leaf, str], seen: Collection[Leaf]) -> bool:
    """Whether a leaf is as planned already, as after a crash between the swap and the commit. A reworded line is there as the leaf of
    its new text; if the person had that one before (`seen`), it is theirs."""
    if leaf in now or put is None:
        return now.get(leaf) == put
    new = f"{_name_heading(leaf)}\n{put}"
    return new in now and new not in seen


def _name_heading(leaf: Leaf) -> str:
    return leaf.partition("\n")[0] if "\n" in leaf else ""


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="replace"), digest_size=16).digest()


def _take_over(tx: Tx, path: Path, now: Mapping[Leaf, str]) -> None:
    """Git changed the file: of what tacitd wrote, what is there now is the base."""
    key = str(path)
    base = tx.rows("SELECT path, leaf FROM shared_leaf WHERE path = ?", key)
    gone = [(place, leaf) for place, leaf in base if leaf not in now]
    tx.executemany("DELETE FROM shared_leaf WHERE path = ? AND leaf = ?", gone)
    sql = "UPDATE shared_leaf SET written = ? WHERE path = ? AND leaf = ?"
    tx.executemany(sql, [(value, key, leaf) for leaf, value in now.items()])


def _count_changes(rows: Database | Tx, path: str) -> int:
    found = rows.rows("SELECT changes FROM shared_file WHERE path = ?", path)
    return int(found[0][0]) if found else 0


def _is_made(rows: Database | Tx, change: FileChange) -> bool:
    return bool(rows.rows("SELECT 1 FROM change WHERE key = ?", name_change(change)))


def _make_busy_error(path: str, process: str) -> FileBusyError:
    return FileBusyError(f"{path} is being changed by the process {process.partition(' ')[0]}", seconds=1.0)
