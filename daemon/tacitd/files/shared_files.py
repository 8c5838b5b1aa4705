"""Files that people edit too: one way to look at them and to change them, for tasks and for commands.

A change is decided from what is in the file, and committed as rows of `plan` together with what decided it. Then the
file is swapped, and what was written is committed as the new base, with the history. A crash at any point leaves a plan that is
finished leaf by leaf, without the code that made it: a leaf that still equals what was expected gets the new value, any other
is the person's.

The base is what tacitd wrote last, never what it saw. A person's edits are what differs from it. A removal is not concluded
while it is in doubt: git may have made it, the file may have been cut off, or an editor may be saving it right now.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from tacitd.clock import Clock, utc_seconds
from tacitd.contract import Cause, Database, Done, Edits, FileChange, Format, Leaf, Task, Tx, View
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files import git
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.formats import FORMATS, find_format
from tacitd.files.line_plans import finish_lines, is_alive, name_process, plan_lines
from tacitd.files.rename import remove_empty
from tacitd.files.replaced import UNGUARDED, EditGuards, edit_file
from tacitd.files.row_history import note_change
from tacitd.files.temporary import read_snapshot

TWO_LOOKS = 2.0
"""Seconds between two looks that must agree before a removal counts."""
UNSETTLED = 30.0
"""Seconds until the next look while git merges or has a lock."""
ID_BYTES = 3


class Planned(Struct, frozen=True):
    """A change that was decided and is not committed yet."""

    change: FileChange
    leaves: Mapping[Leaf, tuple[str | None, str | None]]
    """By leaf: what was expected there, and what is put; None: absent."""
    project: int | None
    look: Look
    changes: int = 0
    """How many changes of the file were planned when this one was decided."""


class Look(NamedTuple):
    """What a look at a file found."""

    view: View
    head: str
    """What git has checked out."""
    doubt: str | None
    """Why edits are not concluded."""
    doubt_of: bytes | None
    by_git: bool = False
    """Whether git may have changed the file since the base was noted: what is there becomes the base."""


class PlannedLeaf(NamedTuple):
    """A row of `plan`."""

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
        formats: Mapping[str, Format] = FORMATS,
        disk: Disk | None = None,
        guards: EditGuards = UNGUARDED,
        on_step: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._formats = formats
        self._disk = disk or RealDisk()
        self._guards = guards
        self._on_step = on_step
        self._process = name_process()
        self._decided: dict[tuple[str, int], list[Planned]] = {}
        self._lock = threading.Lock()
        self._swapping: dict[Path, threading.Lock] = {}

    # --- looking

    def look(self, path: Path, format: Format) -> View:
        """Read a file and say what a person changed. Nothing is stored. Raises FileBusyError, FileRefusedError, OSError."""
        look = self.take_look(path, format)
        doubts: Mapping[str, Any] = {"cut": "cut", "missing": "missing", "removed once": "removed once"}
        return look.view._replace(doubt=doubts.get(look.doubt or "", ""))

    def read_stamp(self, path: Path) -> str:
        """A text that differs when the file or what git has checked out is another one; "" if there is no file, or if it cannot be
        examined. Raises nothing."""
        try:
            found = self._disk.resolve(path).stat()
        except (OSError, FileRefusedError):
            return ""
        head = git.read_checkout(git.find_project_root(path.parent))
        return f"{found.st_size} {found.st_mtime_ns} {found.st_ino} {head}"

    def take_look(self, path: Path, format: Format) -> Look:
        """Read a file, and find what a person changed and what is in doubt. Raises FileBusyError, FileRefusedError, OSError."""
        rows = self._store.rows(
            "SELECT leaf, written FROM shared_leaf WHERE path = ? ORDER BY place", str(path)
        )
        base: dict[Leaf, str] = dict(rows)
        stored = self._store.rows(
            "SELECT head, doubt, doubt_of, doubt_since FROM shared_file WHERE path = ?", str(path)
        )
        head_then, doubt_then, doubt_of, since = stored[0] if stored else ("", None, None, None)
        root = git.find_project_root(path.parent)
        if (mark := git.find_unsettled(root)) is not None:
            hint = "finish or abort the merge or rebase; remove a lock if no git runs"
            raise FileBusyError(f"git changes files of {root} ({mark} is there)", hint, seconds=UNSETTLED)
        snapshot = read_snapshot(self._disk.resolve(path), self._disk)
        head = git.read_checkout(root)
        if snapshot is None:
            return Look(
                View({}, Edits({}, {}, frozenset()), exists=False), head, "missing" if base else None, None
            )
        now = format.read_leaves(snapshot.data)
        if base and head != head_then and git.is_tracked(root, path):
            # What differs is git's: it becomes the base, and what it took away may be learned again.
            added = {leaf: value for leaf, value in now.items() if leaf not in base}
            return Look(View(now, Edits(added, {}, frozenset()), exists=True), head, None, None, by_git=True)
        seen = {
            leaf for (leaf,) in self._store.rows("SELECT leaf FROM shared_seen WHERE path = ?", str(path))
        }
        edits = find_edits(base, now, format, seen)
        if not edits.removed and not (base and format.is_generated):
            return Look(View(now, edits, exists=True), head, None, None)
        if format.is_cut(snapshot.data, base):
            return Look(View(now, edits._replace(removed=frozenset()), exists=True), head, "cut", None)
        if not edits.removed:
            return Look(View(now, edits, exists=True), head, None, None)
        removed = _digest(edits.removed)
        agrees = doubt_then == "removed once" and doubt_of == removed and head == head_then
        if agrees and self._clock.now() - (since or 0.0) >= TWO_LOOKS:
            return Look(View(now, edits, exists=True), head, None, None)
        return Look(
            View(now, edits._replace(removed=frozenset()), exists=True), head, "removed once", removed
        )

    def store_look(
        self, tx: Tx, path: Path, plugin: str, format: Format, project: int | None, found: Look
    ) -> None:
        """Store a look whose edits are passed on in this transaction: they are the person's now, and no part of the base. What is in
        doubt is stored too, so that the next look can confirm it."""
        now = self._clock.now()
        tx.execute(
            "INSERT INTO shared_file(path, plugin, format, project, head, doubt, doubt_of, doubt_since) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(path) DO UPDATE SET head = excluded.head, "
            "doubt_since = CASE WHEN doubt IS excluded.doubt AND doubt_of IS excluded.doubt_of THEN doubt_since "
            "ELSE excluded.doubt_since END, doubt = excluded.doubt, doubt_of = excluded.doubt_of",
            str(path),
            plugin,
            format.name,
            project,
            found.head,
            found.doubt,
            found.doubt_of,
            now if found.doubt else None,
        )
        gone = {*found.view.edits.removed, *found.view.edits.changed}
        if found.by_git:
            _take_over(tx, path, found.view.now)
        tx.executemany(
            "DELETE FROM shared_leaf WHERE path = ? AND leaf = ?", [(str(path), leaf) for leaf in gone]
        )

    # --- deciding and planning (FileSteps)

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
        if self._store.rows("SELECT 1 FROM change WHERE key = ?", f"{change.cause.key} {change.path}"):
            return Planned(change, {}, project, look, changes)
        if look.doubt == "removed once":
            # Lines were just removed: a change that is decided now may write them again, so it waits for the second look.
            with self._store.write() as tx:
                self.store_look(tx, change.path, plugin, change.format, project, _only_doubt(look))
            raise FileBusyError(f"lines of {change.path} were removed a moment ago", seconds=TWO_LOOKS)
        view = look.view
        wanted = change.decide(view.now, view.edits)
        leaves = {
            leaf: (view.now.get(leaf), value)
            for leaf, value in wanted.items()
            if view.now.get(leaf) != value or (value is not None and (change.theirs or change.adopts))
        }
        is_left = view.exists and not view.now and not any(wanted.values())
        if change.format.is_generated and (
            leaves or look.doubt == "cut" or is_left or not self._is_known(change.path)
        ):
            # All of it, in its order: what stands there already is tacitd's too.
            leaves = {leaf: (view.now.get(leaf), value) for leaf, value in wanted.items()}
        return Planned(change, leaves, project, look, changes)

    def _is_known(self, path: Path) -> bool:
        """Whether tacitd has written the file before, as far as the store knows."""
        return bool(self._store.rows("SELECT 1 FROM change_line WHERE path = ? LIMIT 1", str(path)))

    def plan(self, tx: Tx, plugin: str, task: Task, done: Done) -> None:
        """Store what was decided. Raises FileBusyError if another change of one of the paths is not finished."""
        for planned in self._decided.get((plugin, task.number), ()):
            self._plan(tx, plugin, planned)
        plan_lines(tx, done.lines, self._process)

    def _plan(self, tx: Tx, plugin: str, planned: Planned) -> None:
        change, path = planned.change, str(planned.change.path)
        cause = change.cause
        if not planned.leaves or tx.rows("SELECT 1 FROM change WHERE key = ?", f"{cause.key} {path}"):
            return
        for (process,) in tx.rows("SELECT DISTINCT process FROM plan WHERE path = ?", path):
            pid = process.partition(" ")[0]
            raise FileBusyError(f"{path} is being changed by the process {pid}", seconds=1.0)
        if _count_changes(tx, path) != planned.changes:
            raise FileBusyError(f"{path} was changed a moment ago", seconds=0.1)
        number = self._store_change(tx, plugin, planned, cause)
        tx.executemany(
            "INSERT INTO plan(path, leaf, format, expected, put, change, process, place, theirs, listed) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    path,
                    leaf,
                    change.format.name,
                    expected,
                    put,
                    number,
                    self._process,
                    place,
                    change.theirs,
                    leaf not in change.unlisted,
                )
                for place, (leaf, (expected, put)) in enumerate(planned.leaves.items())
            ],
        )
        tx.execute(
            "INSERT OR IGNORE INTO shared_file(path, plugin, format, project, head) VALUES(?, ?, ?, ?, ?)",
            path,
            plugin,
            change.format.name,
            planned.project,
            planned.look.head,
        )
        tx.execute("UPDATE shared_file SET changes = changes + 1 WHERE path = ?", path)
        if planned.look.by_git:
            _take_over(tx, change.path, planned.look.view.now)
            tx.execute("UPDATE shared_file SET head = ? WHERE path = ?", planned.look.head, path)

    def _store_change(self, tx: Tx, plugin: str, planned: Planned, cause: Cause) -> int:
        now = self._clock.now()
        stamp = utc_seconds(now)[:19].replace("-", "").replace(":", "")
        id = f"{stamp}-{os.urandom(ID_BYTES).hex()}"
        done = tx.execute(
            "INSERT INTO change(id, key, at, plugin, project, by, cause, session, undoes) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            id,
            f"{cause.key} {planned.change.path}",
            now,
            plugin,
            planned.project,
            cause.by,
            cause.what,
            cause.session,
            cause.undoes,
        )
        tx.executemany(
            "INSERT OR IGNORE INTO change_prompt(change, prompt) VALUES(?, ?)",
            [(done.row, prompt) for prompt in cause.prompts],
        )
        return done.row

    # --- swapping

    def swap(self, plugin: str, task: Task) -> None:
        """Write what was planned for a task. What cannot be written now stays planned. Raises nothing but store errors."""
        for planned in self._decided.pop((plugin, task.number), ()):
            self.finish_path(planned.change.path)
        self._finish_lines()

    def _finish_lines(self) -> None:
        with self._lock:
            finish_lines(self._store, self._process, self._disk, self._on_step)

    def change_now(self, plugin: str, changes: Sequence[FileChange], project: int | None = None) -> None:
        """Change files for a command: decide, plan and swap. Raises FileBusyError, FileRefusedError, OSError, UnwritableError."""
        for change in changes:
            self.settle(change.path)
        planned = [self._decide(plugin, change, project) for change in changes]
        with self._store.write() as tx:
            for one in planned:
                self._plan(tx, plugin, one)
        for one in planned:
            self.finish_path(one.change.path, must=True)

    def list_unfinished(self) -> list[Path]:
        """The paths with a plan of a process that is gone, or of this one."""
        found = self._store.rows("SELECT DISTINCT path, process FROM plan")
        return [Path(path) for path, process in found if process == self._process or not is_alive(process)]

    def settle(self, path: Path) -> None:
        """Finish what is planned for a path, if its process is gone or this one. Raises FileBusyError, FileRefusedError, OSError."""
        for (process,) in self._store.rows("SELECT DISTINCT process FROM plan WHERE path = ?", str(path)):
            if process != self._process and is_alive(process):
                pid = process.partition(" ")[0]
                raise FileBusyError(f"{path} is being changed by the process {pid}", seconds=1.0)
            self.finish_path(path, must=True)

    def finish_path(self, path: Path, *, must: bool = False) -> bool:
        """Apply the plan of a path and commit what was written. False if the file cannot be changed now; the plan stays then.

        `must`: raise FileBusyError, FileRefusedError or OSError instead.
        """
        with self._lock:
            lock = self._swapping.setdefault(path, threading.Lock())
        with lock:
            return self._finish_path(path, must=must)

    def _finish_path(self, path: Path, *, must: bool) -> bool:
        rows = self._store.rows(
            "SELECT p.leaf, p.format, p.expected, p.put, p.change, p.theirs, p.listed, r.root FROM plan p "
            "JOIN shared_file f ON f.path = p.path LEFT JOIN project r ON r.number = f.project "
            "WHERE p.path = ? ORDER BY p.place",
            str(path),
        )
        if not rows:
            return True
        try:
            format = find_format(rows[0][1], self._formats)
        except FileRefusedError:
            if must:
                raise
            return False
        plan = {
            leaf: PlannedLeaf(expected, put, theirs, listed)
            for leaf, _, expected, put, _, theirs, listed, _ in rows
        }
        written: dict[Leaf, str | None] = {}
        emptied = list[bytes]()

        def change(data: bytes | None) -> bytes | None:
            now = format.read_leaves(data) if data else {}
            changes = {
                leaf: put
                for leaf, (expected, put, *_) in plan.items()
                if now.get(leaf) == expected and (put != expected or format.is_generated)
            }
            written.clear()
            written.update(changes)
            # After a crash between the swap and the commit, the leaf is there already.
            written.update({leaf: put for leaf, (_, put, *_) in plan.items() if now.get(leaf) == put})
            after = format.splice(data, changes) if changes else data
            emptied[:] = [data] if data and after == b"" else []
            return after

        self._on_step("before swap")
        try:
            # A file outside of the project is the person's, whatever project it was changed for.
            is_private = rows[0][-1] is None or not path.is_relative_to(rows[0][-1])
            new = 0o600 if is_private and not self._disk.resolve(path).exists() else None
            edit_file(path, change, mode=new, disk=self._disk, guards=self._guards)
            if emptied or not any(
                one.put for one in plan.values()
            ):  # a crash may have come before its removal
                remove_empty(self._disk.resolve(path), self._disk)
        except (FileBusyError, FileRefusedError, OSError):
            if must:
                raise
            return False
        self._on_step("swapped")
        self._commit_written(path, format, plan, written, {row[4] for row in rows})
        return True

    def _commit_written(
        self,
        path: Path,
        format: Format,
        plan: Mapping[Leaf, PlannedLeaf],
        written: Mapping[Leaf, str | None],
        numbers: set[int],
    ) -> None:
        snapshot = read_snapshot(self._disk.resolve(path), self._disk)
        now = format.read_leaves(snapshot.data) if snapshot is not None else {}
        places = {leaf: place for place, leaf in enumerate(now)}
        by_text = {value: leaf for leaf, value in now.items()}
        number = max(numbers)
        with self._store.write() as tx:
            # Undoing is a person's act: what it changes is found and reported as an edit of theirs.
            undoes = bool(tx.rows("SELECT 1 FROM change WHERE number = ? AND undoes IS NOT NULL", number))
            for at, (leaf, put) in enumerate(written.items()):
                named = leaf if leaf in now else by_text.get(put or "")
                if not undoes:
                    tx.execute("DELETE FROM shared_leaf WHERE path = ? AND leaf = ?", str(path), leaf)
                if put is not None and named is not None and not undoes and not plan[leaf].theirs:
                    tx.execute(
                        "INSERT OR REPLACE INTO shared_leaf VALUES(?, ?, ?, ?)",
                        str(path),
                        named,
                        put,
                        places.get(named, len(places)),
                    )
                if not plan[leaf].listed or plan[leaf].expected == put:
                    continue
                heading = leaf.partition("\n")[0] if "\n" in leaf else ""
                tx.execute(
                    "INSERT OR IGNORE INTO change_line(change, number, path, leaf, heading, taken, put) "
                    "VALUES(?, ?, ?, ?, ?, ?, ?)",
                    number,
                    at,
                    str(path),
                    leaf,
                    heading,
                    plan[leaf].expected,
                    put,
                )
            tx.execute("DELETE FROM plan WHERE path = ?", str(path))
            tx.executemany("UPDATE change SET state = 'done' WHERE number = ?", [(one,) for one in numbers])
            note_change(tx, number, self._clock.now())

    def finish_all(self) -> list[Path]:
        """Finish what processes that are gone had planned; return the paths that cannot be changed now."""
        left = [path for path in self.list_unfinished() if not self.finish_path(path)]
        self._finish_lines()
        return left


def find_edits(
    base: Mapping[Leaf, str], now: Mapping[Leaf, str], format: Format, seen: Collection[Leaf] = ()
) -> Edits:
    """Given what tacitd wrote and what is there now, return a person's edits. `seen`: leaves of the person that were there before, of
    which none is a leaf of tacitd's in other words. Pure."""
    pairs = format.pair_reworded(list(base), [leaf for leaf in now if leaf not in seen]) if base else {}
    changed = {leaf: (leaf, now[leaf]) for leaf, value in base.items() if leaf in now and now[leaf] != value}
    changed |= {leaf: (other, now[other]) for leaf, other in pairs.items()}
    new = set(pairs.values())
    added = {leaf: value for leaf, value in now.items() if leaf not in base and leaf not in new}
    removed = frozenset(leaf for leaf in base if leaf not in now and leaf not in pairs)
    return Edits(added, changed, removed)


def _only_doubt(look: Look) -> Look:
    """The look without its edits, which are passed on by another one."""
    return look._replace(view=look.view._replace(edits=Edits({}, {}, frozenset())), by_git=False)


def _take_over(tx: Tx, path: Path, now: Mapping[Leaf, str]) -> None:
    """Git changed the file: of what tacitd wrote, what is there now is the base."""
    for (leaf,) in tx.rows("SELECT leaf FROM shared_leaf WHERE path = ?", str(path)):
        if leaf in now:
            tx.execute(
                "UPDATE shared_leaf SET written = ? WHERE path = ? AND leaf = ?", now[leaf], str(path), leaf
            )
        else:
            tx.execute("DELETE FROM shared_leaf WHERE path = ? AND leaf = ?", str(path), leaf)


def _count_changes(rows: Database | Tx, path: str) -> int:
    found = rows.rows("SELECT changes FROM shared_file WHERE path = ?", path)
    return int(found[0][0]) if found else 0


def _digest(leaves: frozenset[Leaf]) -> bytes:
    return blake2b("\0".join(sorted(leaves)).encode(errors="replace"), digest_size=16).digest()
