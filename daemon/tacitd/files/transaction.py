"""Transactions: several files changed as one, with a record of the cause (DESIGN "Files", S-31).

The intent and its cause are one record in the history log. Then the files are changed, and then a record marks the
transaction as done. What was not finished when the process ended is finished at the next start. The same records answer
why a line is there and what was written, and allow undoing it.

The log is folded once (history_fold.py), and again if another process changed it. A start shortens it (history_archive.py).

Checking, ordering, recording and finishing transactions belong here. What an operation does to bytes is in operations.py,
how a file gets new bytes in replaced.py, and the records in transaction_records.py. Handlers decide which lines they want.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.clock import Clock, utc_millis
from tacitd.errors import FileBusyError, FileRefusedError, LogDamagedError, UsageError, describe_failure
from tacitd.files.busy_files import AGAIN, retry_while_changing
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.history_archive import HistoryArchive, shorten_history
from tacitd.files.history_compaction import LARGE
from tacitd.files.history_fold import FoldedHistory
from tacitd.files.log import Log, encode_record
from tacitd.files.operations import (
    NOTHING,
    Effect,
    LineOperation,
    Operation,
    RemoveFile,
    WithdrawFile,
    apply_all,
    group_by_file,
)
from tacitd.files.provenance import LineHistory
from tacitd.files.replaced import UNGUARDED, EditGuards, edit_file
from tacitd.files.temporary import read_snapshot
from tacitd.files.transaction_records import (
    UNDONE,
    PendingTransaction,
    Transaction,
    done_record,
    intent_record,
    part_record,
)
from tacitd.files.undo import find_chain_end, find_undo_conflicts, plan_undo
from tacitd.files.write_checks import plan_removal, real_target, refuse_aliased, refuse_unwritable
from tacitd.text.markdown import clean_line


class History:
    """Runs and records all transactions, one at a time. Thread-safe: handlers call it from worker threads."""

    def __init__(
        self,
        log: Log,
        clock: Clock,
        disk: Disk | None = None,
        *,
        guards: EditGuards = UNGUARDED,
        sleep: Callable[[float], None] = time.sleep,
        on_done: Callable[[Transaction], None] = lambda done: None,
        on_busy: Callable[[], None] = lambda: None,
        is_local: Callable[[Path], bool] = lambda root: False,
    ) -> None:
        """`sleep` (seconds) waits for files that just changed. `on_done` is called after each transaction that changed a
        file, in the thread that ran it; it must not raise. `on_busy` is called when a transaction has to wait for a file that
        is being edited, in any thread. `is_local`: whether a project is not shared through git."""
        self._log = log
        self._clock = clock
        self._disk = disk or RealDisk()
        self._guards = guards
        self._sleep = sleep
        self._on_done = on_done
        self._on_busy = on_busy
        self._is_local = is_local
        self._lock = threading.RLock()
        self._folded = FoldedHistory()
        self._archive = HistoryArchive(log)
        self._stamp: tuple[int, ...] | None = None
        """Of the log when it was folded; None: not yet."""

    def run_transaction(
        self,
        root: Path,
        operations: Sequence[Operation],
        cause: Mapping[str, Any],
        key: str,
        also: Sequence[Path] = (),
    ) -> Transaction:
        """Change files below `root` (or `also`): all of them, or after a crash the rest of them at the next start.

        A key that is done returns that transaction and writes nothing; a key that began is finished (S-29).

        Raises FileRefusedError before anything is recorded or written if a path leads out of the project, if a file
        cannot be spliced or written, or if an unfinished transaction on one of the files cannot be finished first. Raises
        OSError or FileRefusedError later if something changed after the checks. FileBusyError is raised while a file is
        being edited; for a file that just changed, this waits up to `busy_files.RESTLESS_LIMIT` seconds first, without holding
        the lock. A transaction that has begun then stays in `pending`.

        An operation that is `best_effort` raises nothing of this. If it cannot be done, it is left out, or has no effect.
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
            folded = self._fold()
            if folded.is_done(key):
                return self._find_done(folded, key, root)
            begun = next((each for each in folded.open.values() if each.key == key), None)
            if begun is not None:
                return self._finish(begun, resumed=True)
            return self._finish(self._begin(root, tuple(operations), cause, key, tuple(also)), resumed=False)

    def _find_done(self, folded: FoldedHistory, key: str, root: Path) -> Transaction:
        if folded.is_in_archive(key):
            old = self._archive.find_transaction(key=key)
            # Without its archive, all that is known of it is that it is done.
            return old or Transaction("", key, self._clock.now(), root, (), (), {}, "done", ())
        if (done := folded.find_key(key)) is None:
            raise UsageError(f"a newer version did the transaction {key}", "history.jsonl lists the ids")
        return done

    def recover(
        self, wanted: Callable[[Path], bool] = lambda root: True, *, only_busy: bool = False
    ) -> list[Transaction]:
        """Finish the unfinished transactions of the projects whose root is `wanted`, and return them.

        One that cannot be finished now stays in `pending` with its reason; the others go on. `only_busy`: only those that
        wait for a file that is being edited. Raises OSError if the log cannot be read, LogDamagedError if it cannot be
        opened for writing.
        """
        with self._lock:
            folded = self._fold()
            finished: list[Transaction] = []
            for each in [each for each in folded.open.values() if wanted(each.root)]:
                if only_busy and not folded.pending[each.id].busy:
                    continue
                try:
                    finished.append(self._finish(each, resumed=True))
                except (FileRefusedError, OSError) as error:
                    self._note_waiting(each, error)
            return finished

    @property
    def pending(self) -> tuple[PendingTransaction, ...]:
        """The unfinished transactions, oldest first, with the reason from the last attempt."""
        with self._lock:
            return tuple(self._fold().pending.values())

    @property
    def known_pending(self) -> tuple[PendingTransaction, ...]:
        """`pending` as this process knows it, for `status`: it waits for no change that is being written."""
        return tuple(self._folded.pending.values())

    @property
    def has_busy(self) -> bool:
        """Whether a transaction waits for a file that is being edited."""
        return any(each.busy for each in self.known_pending)

    def check_editable(self, root: Path, path: Path) -> None:
        """Raise FileBusyError if an editor has `path` open, or if a transaction of this project waits for a busy file.
        Called before a model call whose answer goes into the file, so that the call uses what the person saves.
        """
        busy = next((each for each in self.pending if each.busy and each.root == root), None)
        if busy is not None:
            raise FileBusyError(busy.reason, busy.hint, seconds=AGAIN)
        if self._guards.busy_files is not None:
            self._guards.busy_files.check_editors(self._disk.resolve(path))

    def undo_transaction(self, id: str, *, dry_run: bool = False) -> Transaction:
        """Undo a transaction's changes of lines in a new transaction; later changes by others are kept.

        Generated files and exclude lines are not undone. A transaction that is undone already returns the one that undid it.
        `dry_run`: check and return the transaction that would run, with its expected effects; write nothing.

        Raises UsageError if there is no such transaction, if it has nothing to undo, or if its undo was undone;
        FileRefusedError if a line is no longer as it left it; and what `run_transaction` raises.
        """
        return retry_while_changing(lambda: self._undo(id, dry_run=dry_run), self._sleep)

    def _undo(self, id: str, *, dry_run: bool) -> Transaction:
        with self._lock:
            folded = self._fold()
            past, key = folded.find_id(id), f"{UNDONE}:{id}"
            if is_old := past is None or id in folded.reduced:
                past = self._archive.find_transaction(id=id) or past
            if past is None:
                raise UsageError(f"no transaction {id}", "`tacitd history` lists the ids")
            later = self.list_all_transactions(past.root) if is_old else folded.list_transactions(past.root)
            if (end := find_chain_end(id, later)) != id:
                done = folded.find_key(key)
                if done is not None and done.id == end:
                    return done
                raise UsageError(
                    f"{id} was undone and restored", f"`tacitd undo {end}` undoes the last of these"
                )
            operations = plan_undo(past)
            if not operations:
                what = f"{id} only changed files that tacitd makes from others: there is nothing to undo"
                raise UsageError(
                    what, "undo the change of the lines; `tacitd history` shows which changes have lines"
                )
            self._refuse_conflicts(past, operations, later)
            if not dry_run:
                return self._run(past.root, operations, {UNDONE: id}, key, past.also)
            return replace(
                past,
                id="",
                key=key,
                at=self._clock.now(),
                operations=operations,
                cause={UNDONE: id},
                state="intent",
                effects=self._rehearse_undo(past, operations),
                written=(),
            )

    def _refuse_conflicts(
        self, past: Transaction, operations: tuple[Operation, ...], transactions: Sequence[Transaction]
    ) -> None:
        """Raise FileRefusedError if a line that the undo would change is no longer as `past` left it."""
        effects = self._rehearse_undo(past, operations)
        missing = [
            each.path
            for each in operations
            if read_snapshot(self._disk.resolve(each.path), self._disk) is None
        ]
        later: dict[tuple[Path, str], str] = {}
        known = [each for each in transactions if each.state == "done"]
        for each in known[known.index(past) + 1 :] if past in known else ():
            for operation, effect in zip(each.operations, each.effects, strict=True):
                if (taken := operation.find_changed_lines(effect).taken) is not None:
                    later[operation.path, clean_line(taken)] = each.id
        if conflicts := find_undo_conflicts(operations, effects, missing, later):
            raise FileRefusedError("; ".join(conflicts), f"`tacitd show {past.id}` shows the whole change")

    def _rehearse_undo(self, past: Transaction, operations: Sequence[Operation]) -> tuple[Effect, ...]:
        runs = list(group_by_file(operations))
        return self._rehearse(runs, [self._find_target(run[0], past.root, past.also) for run in runs])

    def list_transactions(self, root: Path | None = None) -> list[Transaction]:
        """The transactions (of one project) of the log: the finished ones in the order of finishing, then the open ones.

        An old one has only the operations that still count, or is in the archive only. Dropped ones are left out, and so is
        the text that a finished one wrote into a generated file. Raises OSError if the log cannot be read.
        """
        with self._lock:
            return self._fold().list_transactions(root)

    def list_all_transactions(self, root: Path | None = None) -> list[Transaction]:
        """The same with the archive, and the old ones whole: for what a person asks. It reads all of it. Raises OSError."""
        with self._lock:
            return FoldedHistory(self._archive.read_all()).list_transactions(root)

    def list_lines(self, root: Path) -> dict[tuple[Path, str], LineHistory]:
        """By (file, text), every bullet that tacitd ever added or removed in this project.

        For provenance, and for lines that a person removed (S-28). A compaction leaves out what tacitd removed long ago.
        Raises OSError if the log cannot be read.
        """
        with self._lock:
            return self._fold().list_lines(root)

    def list_directories(self) -> set[Path]:
        """The directory of every operation."""
        return {operation.path.parent for each in self.list_transactions() for operation in each.operations}

    def flush(self) -> None:
        """Make the log durable. Intents always are; a lost done record is written again by `recover`. Raises OSError."""
        self._log.flush()

    def compact_log(self, *, large: int = LARGE) -> bool:
        """Shorten a log of more than `large` bytes, as `shorten_history` says and raises. Returns whether it was."""
        with self._lock:
            return shorten_history(self._log, self._clock.now(), large=large)

    def _begin(
        self,
        root: Path,
        operations: tuple[Operation, ...],
        cause: Mapping[str, Any],
        key: str,
        also: tuple[Path, ...],
    ) -> Transaction:
        operations = tuple(each for each in operations if self._is_possible(each, root, also))
        runs = list(group_by_file(operations))
        targets = [self._find_target(run[0], root, also) for run in runs]
        self._clear_the_way(set(targets))
        # Everything that can be refused is refused before the intent is in the log: an intent that can never be finished
        # would hold up all later changes of the same files.
        effects = self._rehearse(runs, targets)
        at = self._clock.now()
        id = f"{utc_millis(at)[:19].replace('-', '').replace(':', '')}-{os.urandom(3).hex()}"
        begun = Transaction(id, key, at, root, also, operations, cause, "intent", effects)
        # If this raises, the record may be in the log all the same (log.py). The log's stamp then differs from `_stamp`,
        # so the next call folds the log again.
        self._append(intent_record(begun), sync=True)
        self._folded.begin(begun)
        return begun

    def _find_target(self, operation: Operation, root: Path, also: Sequence[Path]) -> Path:
        return real_target(operation, root, also, self._disk, local=self._is_local(root))

    def _is_possible(self, operation: Operation, root: Path, also: tuple[Path, ...]) -> bool:
        """Whether an operation that is `best_effort` can be done now; True for any other. Writes nothing."""
        if not operation.best_effort:
            return True
        try:
            target = self._find_target(operation, root, also)
            self._clear_the_way({target})
            return self._rehearse([(operation,)], [target]) != (NOTHING,)
        except (FileRefusedError, OSError):
            return False

    def _clear_the_way(self, targets: set[Path]) -> None:
        """Finish the open transactions on the same files first, so that changes are applied in order.

        Raises FileBusyError or FileRefusedError if one cannot be finished now; then the new one waits.
        """
        for each in list(self._folded.open.values()):
            places = {self._disk.resolve(path) for path in {operation.path for operation in each.operations}}
            if places.isdisjoint(targets):
                continue
            try:
                self._finish(each, resumed=True)
            except FileBusyError:
                raise
            except (FileRefusedError, OSError) as error:
                what, hint = describe_failure(error)
                raise FileRefusedError(f"waits for transaction {each.id}: {what}", hint) from error

    def _rehearse(self, runs: Sequence[tuple[Operation, ...]], targets: Sequence[Path]) -> tuple[Effect, ...]:
        """The effect that each operation would have, one after the other. Writes nothing.

        `runs`: the operations, by file; `targets`: the file of each run. Everything that would be refused is refused here,
        before the intent is recorded. Raises FileRefusedError.
        """
        files: dict[Path, bytes | None] = {}
        effects: list[Effect] = []
        for run, target in zip(runs, targets, strict=True):
            try:
                if isinstance(run[0], RemoveFile):
                    files[target], made = None, [plan_removal(target, self._disk)]
                else:
                    if target not in files:
                        seen = read_snapshot(target, self._disk)
                        if self._guards.busy_files is not None:
                            # Half of a file may be refused (cut UTF-8, an unclosed comment) where the whole is not.
                            self._guards.busy_files.check_at_rest(target, seen.stat if seen else None)
                        files[target] = seen.data if seen else None
                    files[target], made = apply_all(run, files[target])
                changing = [each for each, effect in zip(run, made, strict=True) if effect != NOTHING]
                if changing:
                    refuse_unwritable(target, self._disk)
                if any(isinstance(each, LineOperation) for each in changing):
                    refuse_aliased(target, self._disk)
            except OSError as error:
                raise FileRefusedError(f"{run[0].path}: {error.strerror or error}") from error
            except FileRefusedError as error:
                raise _name_file(run[0], error) from error
            effects += made
        return tuple(effects)

    def _finish(self, begun: Transaction, *, resumed: bool) -> Transaction:
        """Apply the remaining operations and mark the transaction done. Raises OSError or FileRefusedError; it then
        stays open.

        The done record is not synced. If it is lost in a crash, `recover` applies the operations again, which does
        nothing because they are idempotent.
        """
        effects = list(self._folded.parts.get(begun.id, ()))[: len(begun.operations)]
        before = len(effects)
        try:
            for run in group_by_file(begun.operations[before:]):
                effects += self._apply(run, begun) if not run[0].best_effort else self._try(run, begun)
            paths = [
                each.path
                for each, effect in zip(begun.operations, effects, strict=True)
                if effect.did != "nothing"
            ]
            if resumed:
                # An operation that was done before the crash has no effect now. The intent has its expected effect, which
                # is recorded instead, so that the transaction can be explained and undone.
                pairs = zip(effects[before:], begun.effects[before:], strict=True)
                effects[before:] = [was if now == NOTHING else now for now, was in pairs]
            done = replace(begun, state="done", effects=tuple(effects), written=tuple(dict.fromkeys(paths)))
            self._append(done_record(done, self._now()))
        except (FileRefusedError, OSError) as error:
            if len(effects) > before:
                self._record_part(begun, effects)
            self._note_waiting(begun, error)
            raise
        self._folded.complete(done)
        if done.written:
            self._on_done(done)
        return done

    def _record_part(self, begun: Transaction, effects: Sequence[Effect]) -> None:
        """Record which operations are done while the transaction waits for the rest.

        It may wait for days. If a person removes a line meanwhile, a repeated operation would put it back (S-28).
        """
        self._folded.parts[begun.id] = tuple(effects)
        # Kept in memory; only after a restart would the operations be repeated.
        with suppress(OSError, LogDamagedError):
            self._append(part_record(begun, effects))

    def _try(self, run: tuple[Operation, ...], begun: Transaction) -> list[Effect]:
        """Apply an operation that is `best_effort`: what cannot be done now has no effect, and holds nothing else up."""
        try:
            return self._apply(run, begun)
        except (FileRefusedError, OSError):
            return [NOTHING for _ in run]

    def _apply(self, run: tuple[Operation, ...], begun: Transaction) -> list[Effect]:
        """Apply operations on one file in one edit of it, and return their effects."""
        # Checked again, because a link may have been created since the first check.
        target = self._find_target(run[0], begun.root, begun.also)
        if isinstance(run[0], RemoveFile):
            return [self._remove(target)]
        if isinstance(run[0], WithdrawFile):
            found = read_snapshot(target, self._disk)
            _, effect = run[0].apply(found.data if found is not None else None)
            return [effect if effect == NOTHING else self._remove(target)]
        effects: list[Effect] = []

        def change(data: bytes | None) -> bytes | None:
            nonlocal effects
            after, effects = apply_all(run, data)
            return after

        try:
            changed = edit_file(target, change, disk=self._disk, guards=self._guards)
        except FileRefusedError as error:
            raise _name_file(run[0], error) from error
        return effects if changed else [NOTHING for _ in run]

    def _remove(self, target: Path) -> Effect:
        try:
            self._disk.unlink(target)
        except FileNotFoundError:
            return NOTHING
        # Until then a power cut may bring the name back, and the done record would be wrong.
        self._disk.sync_dir(target.parent)
        return Effect("removed")

    def _fold(self) -> FoldedHistory:
        """The log, folded in memory. It is read again only if it changed otherwise than by `_append`. Raises OSError."""
        stamp = self._log.read_stamp()
        if stamp != self._stamp:
            folded = FoldedHistory(self._log.read())
            folded.carry_over(self._folded)
            self._folded, self._stamp = folded, stamp
        return self._folded

    def _append(self, record: Mapping[str, Any], *, sync: bool = False) -> None:
        """Append a record that the caller adds to the fold itself. Raises as `Log.append`.

        Trigger: the file is not the folded one plus this record.
        Why: another process appended too, or the log was written anew.
        Outcome: `_stamp` stays as it was, so the next call folds the log again.
        """
        before = self._stamp or ()
        self._log.append(record, sync=sync)
        after = self._log.read_stamp()
        grown = sum(before[-1:]) + len(encode_record(record)) + 1
        if after[-1:] == (grown,) and before[:2] in (after[:2], ()):
            self._stamp = after

    def _note_waiting(self, begun: Transaction, error: FileRefusedError | OSError) -> None:
        what, hint = describe_failure(error)
        busy = isinstance(error, FileBusyError)
        self._folded.pending[begun.id] = PendingTransaction(begun.id, begun.key, begun.root, what, hint, busy)
        if busy:
            self._on_busy()

    def _now(self) -> str:
        return utc_millis(self._clock.now())


def _name_file(operation: Operation, error: FileRefusedError) -> FileRefusedError:
    if str(operation.path) in error.what or isinstance(error, FileBusyError):
        return error
    return FileRefusedError(f"{operation.path}: {error.what}", error.hint)
