"""Transactions: several files changed as one, and the record of why.

The intent and its cause are one record in the history log; then the files are changed; then the record is
marked done. What was not done when the process ended is finished at the next start. The same records answer
"why is this line here", "what was written" and "take that back".

Checking, ordering, recording and finishing belong here; what an operation does to bytes is operations.py's,
how bytes get under a name is replaced.py's, the records are intents.py's, and which lines are wanted is the handlers'.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacitd.clock import Clock, utc_millis
from tacitd.errors import FileBusyError, FileRefusedError, LogDamagedError, UsageError, said_by_system
from tacitd.files import operations as ops
from tacitd.files.busy import AGAIN, retry_while_changing
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.guard import real_target, refuse_aliased, refuse_unwritable, removal
from tacitd.files.intents import (
    Pending,
    Transaction,
    done_record,
    ended,
    intent_record,
    part_record,
    read_intent,
    read_part,
)
from tacitd.files.log import Log
from tacitd.files.operations import Effect, Operation
from tacitd.files.provenance import LineHistory, fold
from tacitd.files.replaced import UNGUARDED, EditGuards, edit
from tacitd.files.second_look import SecondLook
from tacitd.files.temporary import look


class History:
    """All transactions, one at a time. Thread-safe: handlers call it from worker threads."""

    def __init__(
        self,
        log: Log,
        clock: Clock,
        disk: Disk | None = None,
        second: SecondLook | None = None,
        *,
        guards: EditGuards = UNGUARDED,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`second` is short for guards with nothing but it; `sleep` waits for files that changed a moment ago."""
        self._log = log
        self._clock = clock
        self._disk = disk or RealDisk()
        self._guards = EditGuards(second, guards.busy) if second is not None else guards
        self._sleep = sleep
        self.on_busy: Callable[[], None] = lambda: None
        """Called when a transaction begins to wait for a file that is being edited. Any thread."""
        self._lock = threading.RLock()
        self._loaded = False
        self._done: dict[str, str] = {}
        """Key to id."""
        self._open: dict[str, Transaction] = {}
        self._pending: dict[str, Pending] = {}
        self._parts: dict[str, tuple[Effect, ...]] = {}
        """By id, what the first operations of an open one did; they are not done again."""

    def run(
        self,
        root: Path,
        operations: Sequence[Operation],
        cause: Mapping[str, Any],
        key: str,
        also: Sequence[Path] = (),
    ) -> Transaction:
        """Change files below `root` (or `also`), all of them or, after a crash, all of them at the next start.

        The same key again returns what was done then and writes nothing, or finishes what was begun then.
        Raises FileRefusedError before anything is recorded or written where a path leads out, a file cannot
        be spliced or written, or an unfinished transaction holds one of the files. Raises OSError or
        FileRefusedError later where the world changed meanwhile: it then stays open, in `pending`. So it does where
        it raises FileBusyError because somebody edits a file; a file that changed a moment ago is waited for here,
        outside of the lock, for a few seconds.
        """
        return retry_while_changing(lambda: self._run(root, operations, cause, key, also), self._sleep)

    def _run(
        self,
        root: Path,
        operations: Sequence[Operation],
        cause: Mapping[str, Any],
        key: str,
        also: Sequence[Path],
    ) -> Transaction:
        with self._lock:
            self._load()
            if key in self._done:
                return self._find(self._done[key])
            begun = next((each for each in self._open.values() if each.key == key), None)
            if begun is not None:
                return self._finish(begun, resumed=True)
            return self._finish(self._begin(root, tuple(operations), cause, key, tuple(also)), resumed=False)

    def recover(
        self, wanted: Callable[[Path], bool] = lambda root: True, *, only_busy: bool = False
    ) -> list[Transaction]:
        """Finish what was begun and not done, in the projects that are wanted, given by their root.

        What cannot be finished now stays in `pending`, with its reason, and stops no other. With `only_busy` only those
        are tried that wait for a file that is being edited. Returns what was finished. Raises OSError where the log
        cannot be read or written.
        """
        with self._lock:
            self._load()
            finished: list[Transaction] = []
            for each in [each for each in self._open.values() if wanted(each.root)]:
                if only_busy and not self._pending[each.id].busy:
                    continue
                try:
                    finished.append(self._finish(each, resumed=True))
                except (FileRefusedError, OSError) as error:
                    self._waits(each, error)
            return finished

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What waits to be finished, oldest first, as the last attempt left it."""
        with self._lock:
            self._load()
            return tuple(self._pending.values())

    @property
    def has_busy(self) -> bool:
        """Whether a transaction waits for a file that is being edited."""
        return any(each.busy for each in list(self._pending.values()))

    def check_editable(self, root: Path, path: Path) -> None:
        """Raise FileBusyError while an editor has `path` open, or a transaction in this project waits for that.

        For whoever is about to pay for what goes into the file: it is to be made from what a person saves.
        """
        busy = next((each for each in self.pending if each.busy and each.root == root), None)
        if busy is not None:
            raise FileBusyError(busy.reason, busy.hint, seconds=AGAIN)
        if self._guards.busy is not None:
            self._guards.busy.check_editors(self._disk.resolve(path))

    def drop(self, id: str, reason: str) -> None:
        """Give up a transaction that can never be finished. UsageError: none with this id is open."""
        with self._lock:
            self._load()
            if id not in self._pending:
                raise UsageError(f"no unfinished transaction {id}", "its id stands in history.jsonl")
            self._log.append({"id": id, "state": "dropped", "at": self._now(), "reason": reason}, sync=True)
            self._forget(id)

    def undo(self, id: str) -> Transaction:
        """Take back the lines of a transaction, as a new transaction; what others wrote since stays.

        Generated files and exclude lines are not taken back. Raises UsageError where there is no such
        transaction or nothing in it to take back, and what `run` raises.
        """
        with self._lock:
            past = self._find(id)
            pairs = zip(past.operations, past.effects, strict=True)
            back = [ops.reversed_operation(each, effect, "Learned") for each, effect in pairs]
            operations = [each for each in reversed(back) if each is not None]
            if past.state != "done" or not operations:
                raise UsageError(f"nothing in transaction {id} can be taken back")
            return self.run(past.root, operations, {"undo": id}, f"undo:{id}", past.also)

    def entries(self, root: Path | None = None) -> Iterator[Transaction]:
        """Every transaction (of one project), in the order in which they were done; then the open ones."""
        begun: dict[str, Transaction] = {}
        for record in self._log.read():
            id = str(record.get("id"))
            if record.get("state") == "intent":
                read = read_intent(record)
                if isinstance(read, Transaction) and root in (None, read.root):
                    begun[id] = read
            elif id in begun and record.get("state") != "part":
                intent = begun.pop(id)
                if record.get("state") == "done":
                    yield ended(intent, record)
        yield from begun.values()

    def lines(self, root: Path) -> dict[tuple[Path, str], LineHistory]:
        """By (file, text): every bullet that we ever put or took in this project. For provenance, and to know
        which lines that are missing now a person removed."""
        done = (each for each in self.entries(root) if each.state == "done")
        return fold((each.at, each.cause, each.operations, each.effects) for each in done)

    def was_done(self, key: str) -> bool:
        """Whether a transaction with this key was done."""
        with self._lock:
            self._load()
            return key in self._done

    def places(self) -> set[Path]:
        """Every directory in which a transaction ever changed a file."""
        return {operation.path.parent for each in self.entries() for operation in each.operations}

    def flush(self) -> None:
        """Make the log durable. Intents always are; a done mark that is lost is only made again."""
        self._log.flush()

    def _begin(
        self,
        root: Path,
        operations: tuple[Operation, ...],
        cause: Mapping[str, Any],
        key: str,
        also: tuple[Path, ...],
    ) -> Transaction:
        targets = [real_target(each, root, also, self._disk) for each in operations]
        self._clear_the_way(set(targets))
        effects = self._rehearse(operations, targets)
        at = self._clock.now()
        id = f"{utc_millis(at)[:19].replace('-', '').replace(':', '')}-{secrets.token_hex(3)}"
        begun = Transaction(id, key, at, root, also, operations, cause, "intent", effects)
        # Should the log fail here, the record may stand in it all the same: then look again before the next.
        self._loaded = False
        self._log.append(intent_record(begun), sync=True)
        self._loaded = True
        self._open[id] = begun
        self._pending[id] = Pending(id, key, root, "not finished yet")
        return begun

    def _clear_the_way(self, targets: set[Path]) -> None:
        """An older transaction on the same files goes first, or the newer one waits: never the other way."""
        for each in list(self._open.values()):
            places = {self._disk.resolve(operation.path) for operation in each.operations}
            if places.isdisjoint(targets):
                continue
            try:
                self._finish(each, resumed=True)
            except FileBusyError:
                raise
            except (FileRefusedError, OSError) as error:
                what, hint = _in_words(error)
                raise FileRefusedError(f"waits for transaction {each.id}: {what}", hint) from error

    def _rehearse(self, operations: tuple[Operation, ...], targets: list[Path]) -> tuple[Effect, ...]:
        """What each operation would do, one after the other, without writing anything."""
        files: dict[Path, bytes | None] = {}
        effects: list[Effect] = []
        for operation, target in zip(operations, targets, strict=True):
            try:
                if isinstance(operation, ops.RemoveFile):
                    files[target], effect = None, removal(target, self._disk)
                else:
                    if target not in files:
                        seen = look(target, self._disk)
                        if self._guards.busy is not None:
                            # Of half a file more would be refused than of the whole one.
                            self._guards.busy.check_at_rest(target, seen.stat if seen else None)
                        files[target] = seen.data if seen else None
                    files[target], effect = ops.applied(operation, files[target])
                if effect != ops.NOTHING:
                    refuse_unwritable(target, self._disk)
                    if isinstance(operation, ops.PutLine | ops.SwapLine | ops.TakeLine):
                        refuse_aliased(target, self._disk)
            except OSError as error:
                raise FileRefusedError(f"{operation.path}: {error.strerror or error}") from error
            except FileRefusedError as error:
                raise _named(operation, error) from error
            effects.append(effect)
        return tuple(effects)

    def _finish(self, begun: Transaction, *, resumed: bool) -> Transaction:
        """Apply every operation and mark it done. Raises OSError or FileRefusedError; it then stays open."""
        effects = list(self._parts.get(begun.id, ()))[: len(begun.operations)]
        before = len(effects)
        try:
            for each in begun.operations[before:]:
                effects.append(self._apply(each, begun))
            paths = [
                each.path
                for each, effect in zip(begun.operations, effects, strict=True)
                if effect.did != "nothing"
            ]
            if resumed:
                # What had been done before the crash does nothing now; the intent says what it was.
                pairs = zip(effects[before:], begun.effects[before:], strict=True)
                effects[before:] = [was if now == ops.NOTHING else now for now, was in pairs]
            done = replace(begun, state="done", effects=tuple(effects), written=tuple(dict.fromkeys(paths)))
            self._log.append(done_record(done, self._now()))
        except (FileRefusedError, OSError) as error:
            if len(effects) > before:
                self._remember(begun, effects)
            self._waits(begun, error)
            raise
        self._forget(done.id)
        self._done[done.key] = done.id
        return done

    def _remember(self, begun: Transaction, effects: Sequence[Effect]) -> None:
        """What is done of it, while it waits for the rest: days, perhaps, in which a person may take a line out."""
        self._parts[begun.id] = tuple(effects)
        with suppress(
            OSError, LogDamagedError
        ):  # known in memory; after a restart it would be done once more
            self._log.append(part_record(begun, effects))

    def _apply(self, operation: Operation, begun: Transaction) -> Effect:
        # Checked once more: a link may have been put in the way since.
        target = real_target(operation, begun.root, begun.also, self._disk)
        if isinstance(operation, ops.RemoveFile):
            return self._remove(target)
        effect = ops.NOTHING

        def change(data: bytes | None) -> bytes | None:
            nonlocal effect
            after, effect = ops.applied(operation, data)
            return after

        try:
            changed = edit(target, change, disk=self._disk, guards=self._guards)
        except FileRefusedError as error:
            raise _named(operation, error) from error
        return effect if changed else ops.NOTHING

    def _remove(self, target: Path) -> Effect:
        try:
            self._disk.unlink(target)
        except FileNotFoundError:
            return ops.NOTHING
        self._disk.sync_dir(target.parent)
        return Effect("removed")

    def _load(self) -> None:
        if self._loaded:
            return
        self._done.clear()
        self._open.clear()
        self._pending.clear()
        self._parts.clear()
        keys: dict[str, str] = {}
        for record in self._log.read():
            self._take_in(record, keys)
        # A key that was done under another id: its intent was written twice because the log failed.
        for each in [each for each in self._open.values() if each.key in self._done]:
            self._forget(each.id)
        self._loaded = True

    def _take_in(self, record: Mapping[str, Any], keys: dict[str, str]) -> None:
        id = str(record.get("id"))
        match record.get("state"):
            case "intent":
                keys[id] = str(record.get("key"))
                intent = read_intent(record)
                if isinstance(intent, Transaction):
                    self._open[id] = intent
                    self._pending[id] = Pending(id, intent.key, intent.root, "not finished yet")
                else:
                    self._pending[id] = intent
            case "part":
                self._parts[id] = read_part(record)
            case "done":
                self._forget(id)
                if id in keys:
                    self._done[keys.pop(id)] = id
            case _:
                self._forget(id)

    def _waits(self, begun: Transaction, error: FileRefusedError | OSError) -> None:
        what, hint = _in_words(error)
        busy = isinstance(error, FileBusyError)
        self._pending[begun.id] = Pending(begun.id, begun.key, begun.root, what, hint, busy)
        if busy:
            self.on_busy()

    def _forget(self, id: str) -> None:
        self._open.pop(id, None)
        self._pending.pop(id, None)
        self._parts.pop(id, None)

    def _find(self, id: str) -> Transaction:
        found = next((each for each in self.entries() if each.id == id), None)
        if found is None:
            raise UsageError(f"no transaction {id}", "its id stands in history.jsonl")
        return found

    def _now(self) -> str:
        return utc_millis(self._clock.now())


def _in_words(error: FileRefusedError | OSError) -> tuple[str, str]:
    return (error.what, error.hint) if isinstance(error, FileRefusedError) else said_by_system(error)


def _named(operation: Operation, error: FileRefusedError) -> FileRefusedError:
    if str(operation.path) in error.what or isinstance(error, FileBusyError):
        return error
    return FileRefusedError(f"{operation.path}: {error.what}", error.hint)
