"""The I/O on the learner's files: read, append, edit. The pure modules decide what is written.

The order of the writes is fixed (SPEC L-37): the intent, then the ledger row, each synced; then the profile; then the
state. The next call, from any process, repairs a crash between two of them. A lock admits one tacitd process at a
time. Claude takes no lock, and its edits win (SPEC X-08).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from msgspec import Struct, field
from msgspec.structs import replace as replace_fields

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files.append_text import append_text
from tacitd.files.disk import Disk, RealDisk, is_regular
from tacitd.files.locks import make_private_dir, wait_for_lock
from tacitd.files.log import Log
from tacitd.files.replaced import UNGUARDED, EditGuards, edit_file, replace_file
from tacitd.files.temporary import read_snapshot as look_at
from tacitd_handlers.learner import session_details as intent_log
from tacitd_handlers.learner.formats.ledger_md import HEADER, LedgerRow, RowKey, format_row, newline_of
from tacitd_handlers.learner.formats.profile_md import SECTIONS
from tacitd_handlers.learner.learner_paths import LearnerPaths
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.ledger_repair import find_missing_rows, find_unwritten_rows
from tacitd_handlers.learner.reconcile import reconcile_profile
from tacitd_handlers.learner.reconcile_types import ReconcileInput, ReconcileResult
from tacitd_handlers.learner.session_details import Intent, given_up
from tacitd_handlers.learner.session_notes import SessionNotes
from tacitd_handlers.learner.start_lines import format_questions, format_repairs, format_synced
from tacitd_handlers.learner.state import LearnerState, decode_state, encode_state


class SyncResult(Struct):
    """What one call of `sync_files` changed."""

    result: ReconcileResult | None = None
    """None: nothing was compared, or others are still writing."""
    healed: list[LedgerRow] = field(default_factory=list)
    """Rows that the ledger lacked."""
    completed: list[LedgerRow] = field(default_factory=list)
    """Rows that a crash had cut off."""
    waits: bool = False
    """A file was written recently, so the comparison is postponed."""


FileStamp = tuple[int, int, int] | None


class LearnerStore:
    """The two files and tacitd's state about them. For one thread; a lock excludes other processes."""

    def __init__(
        self,
        places: LearnerPaths,
        clock: Clock,
        *,
        settle: float = 300.0,
        disk: Disk | None = None,
        guards: EditGuards = UNGUARDED,
    ) -> None:
        self.places = places
        self.clock = clock
        self.settle = settle
        self.notes = SessionNotes(places.home, disk)
        self._disk = disk or RealDisk()
        self._guards = guards
        self._intents = Log(places.home / "records.jsonl", disk)
        self._seen: tuple[FileStamp, FileStamp] | None = None
        self._state_file = places.home / "state.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock between processes, and wait for it. Raises OSError."""
        make_private_dir(self.places.home, self._disk)
        with wait_for_lock(self.places.home / "lock", self._disk):
            self._finish_interrupted()
            yield

    def close(self) -> None:
        """Close the logs. Raises OSError."""
        self._intents.close()
        self.notes.close()

    # reading

    def read_ledger(self, before: Ledger | None = None) -> Ledger:
        """The ledger; empty if the file does not exist.

        `before` is a ledger read earlier under the same lock: then only the bytes appended since are read. Raises
        OSError, FileRefusedError.
        """
        target = self._disk.resolve(self.places.ledger)
        try:
            if not is_regular(self._disk.stat(target)):
                raise FileRefusedError(f"{target} is not an ordinary file", "move it away")
            fd = self._disk.open_read(target)
        except FileNotFoundError:
            return Ledger()
        try:
            if before is not None and self._disk.fstat(fd).st_size >= len(before):
                return before.with_tail(self._read(fd, len(before)))
            return Ledger(self._read(fd, 0))
        finally:
            self._disk.close(fd)

    def _read(self, fd: int, offset: int) -> bytes:
        """Read from an offset to the end, if possible with one system call."""
        data = self._disk.pread(fd, max(0, self._disk.fstat(fd).st_size - offset), offset)
        while more := self._disk.pread(fd, 1 << 16, offset + len(data)):
            data += more
        return data

    def read_profile(self) -> bytes | None:
        """The profile's bytes, None if it does not exist. Raises OSError, FileRefusedError."""
        seen = look_at(self._disk.resolve(self.places.profile), self._disk)
        return seen.data if seen is not None else None

    def load_state(self) -> LearnerState:
        """The state; an empty one if the file is missing or damaged. Raises OSError, FileRefusedError."""
        return decode_state(self._state_bytes()) or LearnerState()

    def read_intents(self) -> dict[RowKey, Intent]:
        """The intents of `records.jsonl`, by the keys of their rows."""
        return intent_log.fold_intents(self._intents.read())

    def _state_bytes(self) -> bytes:
        seen = look_at(self._state_file, self._disk)
        return seen.data if seen is not None else b""

    # writing

    def check_editable(self) -> None:
        """Raise FileBusyError if an editor has the ledger or the profile open."""
        busy = self._guards.busy_files
        if busy is None:
            return
        for path in (self.places.ledger, self.places.profile):
            target = self._disk.resolve(path)
            try:
                seen = self._disk.stat(target)
            except FileNotFoundError:
                seen = None
            busy.check_file(target, seen)

    def add_intent(self, intent: Intent, ledger: Ledger, *, whole: bool) -> ReconcileResult:
        """Record one problem in the ledger, then in the profile. Call with the lock held.

        `ledger` is the one from which the row was planned. `whole`: all of it is folded already. Raises OSError,
        FileRefusedError. If the error concerns the profile, the row is in the ledger and the profile is updated
        later.
        """
        self.check_editable()
        self._intents.append(intent.as_record(self.clock.now()), sync=True)
        try:
            self.append_rows([intent.row], ledger)
        except (OSError, FileRefusedError):
            self._give_up(intent)
            raise
        now, own = self.read_ledger(ledger), {intent.row.key: intent}
        # If only our row was added, the other intents are folded already and need not be read.
        alone = whole and now.data.endswith(encode_rows([intent.row], ledger))
        alone = alone and len(now) == len(ledger) + len(encode_rows([intent.row], ledger))
        return self._reconcile(
            ReconcileInput(now, own if alone else {**self.read_intents(), **own}, settled=False)
        )

    def update_profile(self, ledger: Ledger | None = None) -> ReconcileResult:
        """Reconcile the files, as far as rows written by `record` are concerned. Call with the lock held."""
        return self._reconcile(
            ReconcileInput(ledger or self.read_ledger(), self.read_intents(), settled=False)
        )

    def append_rows(self, rows: Sequence[LedgerRow], ledger: Ledger) -> None:
        """Append rows to the ledger in one write; durable on return (SPEC L-37, L-54)."""
        end = newline_of(ledger.data)
        text = b"".join(format_row(row).encode() + end for row in rows)
        append_text(self.places.ledger, text, begin=HEADER, newline=end, disk=self._disk)

    def write_unfinished(self) -> list[LedgerRow]:
        """Write the rows that a crash cut off (SPEC L-37), and return them.

        Call with the lock held. Raises as `add` does.

        A row that was written and then removed by a person is not written again.
        """
        cut_off = self._unfinished()
        if not cut_off:
            return []
        ledger = self.read_ledger()
        rows = find_unwritten_rows(cut_off, ledger)
        if rows:
            self.append_rows(rows, ledger)
        return rows

    def _unfinished(self) -> dict[RowKey, Intent]:
        """The intents appended since the state was last saved."""
        remembered = decode_state(self._state_bytes())
        if remembered is not None and remembered.records == self._intents.size:
            return {}
        if remembered is None:
            # There is no state: this is the first record of all, or the state was lost. Older intents were finished before
            # the newest one was appended.
            return dict(list(self.read_intents().items())[-1:])
        fd = self._disk.open_read(self._intents.path)
        try:
            tail = self._read(fd, min(remembered.records, self._intents.size))
        finally:
            self._disk.close(fd)
        return intent_log.fold_intents(intent_log.parse_records(tail))

    def _give_up(self, intent: Intent) -> None:
        """Cancel an intent, unless its row is in the ledger.

        The caller gets an error, so the row must not be written later.
        """
        if self.read_ledger().find_row(intent.row.key) is None:
            self._intents.append(given_up(intent.row, self.clock.now()), sync=True)

    def sync_files(
        self, *, force: bool = False, first: bool = False, archives_surplus: bool = False
    ) -> SyncResult:
        """Compare the two files, and add what is missing (SPEC L-37, L-38). Call with the lock held.

        `force`: a person asks, so it does not wait for other writers. `first`: the daemon starts, so rows that a
        crash cut off are written even if the files are unchanged. `archives_surplus`: bring the active weaknesses down to
        the cap, also those that a person wrote. Raises OSError, FileRefusedError, and FileBusyError
        if an editor has one of them open.
        """
        seen = (self._file_stamp(self.places.profile), self._file_stamp(self.places.ledger))
        if seen == self._seen and not force and not first:
            return SyncResult()
        if not force:
            self.check_editable()
        done = SyncResult()
        known = self.read_intents() if force or first else {}
        done.completed = self.write_unfinished()
        if seen == (None, None) and not done.completed:
            self._seen = seen
            return done
        settled = force or self._settled(seen)
        if settled:
            profile = self.read_profile()  # read before the ledger: writers of both begin with the ledger
            ledger = self.read_ledger()
            done.healed = find_missing_rows(profile, ledger, self.load_state().folded.newest)
            if done.healed:
                self.append_rows(done.healed, ledger)
        elif not self._only_ours(known):
            # Another writer may be between its ledger row and its profile entry.
            done.waits = True
            return done
        done.result = self._reconcile(
            ReconcileInput(
                self.read_ledger(),
                known or self.read_intents(),
                settled=settled,
                archives_surplus=archives_surplus,
            )
        )
        self.queue_lines(format_synced(row.stamp for row in done.healed))
        if settled:
            self._seen = (self._file_stamp(self.places.profile), self._file_stamp(self.places.ledger))
        return done

    def plan_comparison(self) -> ReconcileResult | None:
        """What comparing the files would change now; None if the profile does not exist or cannot be read as text.

        Nothing is written. Call with the lock held. Raises OSError, FileRefusedError.
        """
        profile = self.read_profile()
        if profile is None:
            return None
        news = ReconcileInput(self.read_ledger(), self.read_intents())
        try:
            return reconcile_profile(profile, self.load_state(), news)
        except FileRefusedError:
            return None

    def count_unfolded(self) -> int:
        """Bytes of the ledger that are not folded yet. 0 if unknown; `sync_files` reports the error."""
        seen = self._file_stamp(self.places.ledger)
        try:
            return max(0, (seen[1] if seen is not None else 0) - self.load_state().size)
        except (OSError, FileRefusedError):
            return 0

    def _only_ours(self, known: Mapping[RowKey, Intent]) -> bool:
        """Whether `record` wrote every row that is not folded yet, so that no other writer is active."""
        ledger, state = self.read_ledger(), self.load_state()
        fresh = ledger.parse_rows(state.size).rows if len(ledger) > state.size else []
        ours = known or self.read_intents()
        return bool(fresh) and all(row.key in ours for row in fresh)

    def _settled(self, seen: tuple[FileStamp, FileStamp]) -> bool:
        """Whether no file was written for `settle` seconds.

        A modification time in the future counts as old: the clock was set back.
        """
        ages = [self.clock.now() - one[0] / 1e9 for one in seen if one is not None]
        return all(age >= self.settle or age < -60.0 for age in ages)

    def _file_stamp(self, path: Path) -> FileStamp:
        try:
            found = self._disk.stat(self._disk.resolve(path))
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _reconcile(self, news: ReconcileInput) -> ReconcileResult:
        """Reconcile and write the profile, then save the state."""
        remembered = self._state_bytes()
        restored = self.notes.read_state().restored
        news = replace_fields(news, restored=frozenset(restored))
        results: list[ReconcileResult] = []

        def change(data: bytes | None) -> bytes | None:
            results[:] = [reconcile_profile(data, decode_state(remembered) or LearnerState(), news)]
            if results[0].data != data:
                # A crash must not leave the profile without the state that belongs to it.
                before = decode_state(remembered) or LearnerState(records=self._intents.size)
                results[0].state.records = self._intents.size
                self.save_state(before, results[0].state)
            return results[0].data

        new = self._file_stamp(self.places.profile) is None
        fresh = (decode_state(remembered) or LearnerState()).is_new if new else False
        edit_file(
            self.places.profile, change, mode=0o600 if new else None, disk=self._disk, guards=self._guards
        )
        result = results[0]
        if new and result.data is not None and not fresh:
            result.repaired = list(SECTIONS)
        if restored:
            self.notes.record_restored((), self.clock.now())
        self._remember(result)
        return result

    def _remember(self, result: ReconcileResult) -> None:
        if result.queue_changed:
            self.notes.record_waiting(result.state.lists.pending, self.clock.now())
            self.notes.flush()
        self.queue_lines([*format_repairs(result.repaired), *format_questions(result.questions)])
        result.state.records = self._intents.size
        self.save_state(result.state)

    def _finish_interrupted(self) -> None:
        """Trigger: a state was planned and not saved. Why: the process ended around the write of the profile, and a profile
        alone does not tell which changes in it are a person's. Outcome: if the profile is the one that the planned state
        describes, that is the state; otherwise the profile was not written, or was changed since.
        """
        state, earlier = self.load_state(), self.places.home / "state.next.json"
        found = look_at(earlier, self._disk)  # an earlier version stored it there
        planned = state.planned if found is None else decode_state(found.data)
        if planned is None and found is None:
            return
        try:
            profile = self.read_profile()
        except (OSError, FileRefusedError):
            profile = None
        if planned is not None and profile is not None and crc32(profile) == planned.profile:
            self.notes.record_waiting(planned.lists.pending, self.clock.now())
            self.notes.flush()
            self.queue_lines(format_questions(pair for pair in planned.asked if pair not in state.asked))
            state = planned
        self.save_state(state)
        if found is not None:
            self._disk.unlink(earlier)

    def queue_lines(self, lines: Iterable[str]) -> None:
        """Print these lines at the next session start. Durable on return."""
        lines = list(lines)
        if lines:
            self.notes.queue_lines(lines, self.clock.now())
            self.notes.flush()

    def edit_profile(self, change: Callable[[bytes | None], bytes]) -> None:
        """Change the profile as a person would. Call with the lock held. Raises OSError, FileRefusedError."""
        edit_file(self.places.profile, change, disk=self._disk, guards=self._guards)

    def save_state(self, state: LearnerState, planned: LearnerState | None = None) -> None:
        """Save the state if it is not the file's, with the one that is planned. Call with the lock held."""
        state.planned = planned
        replace_file(self._state_file, encode_state(state), mode=0o600, disk=self._disk)


def encode_rows(rows: Sequence[LedgerRow], ledger: Ledger) -> bytes:
    """The bytes that `append` adds to this ledger (SPEC L-54)."""
    end = newline_of(ledger.data)
    begin = HEADER if not ledger.data else b"" if ledger.data.endswith(b"\n") else end
    return begin + b"".join(format_row(row).encode() + end for row in rows)
