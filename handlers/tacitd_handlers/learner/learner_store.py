"""The I/O on the learner's files: the profile, the ledger, and what tacitd knows besides them.

The order of the writes is fixed (SPEC L-37): the report, then the ledger row, each synced; then the profile; then the
state. The next call, from any process, repairs a crash between two of them. A lock admits one tacitd process at a time.
Claude takes no lock, and its edits win (SPEC X-08).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.files.append_text import append_text
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.locks import make_private_dir, wait_for_lock
from tacitd.files.replaced import UNGUARDED, EditGuards, edit_file, replace_file
from tacitd.files.temporary import read_snapshot
from tacitd_handlers.learner.history_splices import find_missing_rows
from tacitd_handlers.learner.learner_paths import LearnerPaths
from tacitd_handlers.learner.learner_state import LearnerState, SessionRecord, decode_state, encode_state
from tacitd_handlers.learner.ledger_file import (
    HEADER,
    BadLine,
    LedgerRow,
    encode_rows,
    newline_of,
    parse_ledger,
)
from tacitd_handlers.learner.notices import format_repairs, format_synced
from tacitd_handlers.learner.practice_sync import SyncResult, sync_profile
from tacitd_handlers.learner.profile_text import LearnerProfile, parse_profile
from tacitd_handlers.learner.session_stamps import SessionStamp, read_session_state, resolve_session
from tacitd_handlers.learner.vocabulary import names_a_session

FileStamp = tuple[int, int, int] | None
"""Time of the last write in nanoseconds, size and inode; None if there is no file."""


class FilesInStep(Struct):
    """What one call of `sync_files` changed."""

    result: SyncResult | None = None
    """None: the files are as they were, or others are still writing."""
    added: list[LedgerRow] = field(default_factory=list)
    """Rows that the ledger lacked."""
    bad: Sequence[BadLine] = ()
    """Lines of the ledger that are no rows."""


class LearnerStore:
    """The two files and the state. For one thread; a lock excludes other processes."""

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
        self._disk = disk or RealDisk()
        self._guards = guards
        self._seen: tuple[FileStamp, FileStamp] | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock between processes, and wait for it; the other methods that write need it. Raises OSError."""
        make_private_dir(self.places.home, self._disk)
        with wait_for_lock(self.places.home / "lock", self._disk):
            yield

    # reading; each raises OSError, and FileRefusedError for what is no ordinary file or no text

    def read_ledger(self) -> bytes:
        """The ledger's bytes, b"" if it does not exist."""
        return self._read(self.places.ledger) or b""

    def list_rows(self) -> list[LedgerRow]:
        """The ledger's rows in file order."""
        return parse_ledger(self.read_ledger()).rows

    def read_profile(self) -> LearnerProfile | None:
        """The profile, None if it does not exist."""
        data = self._read(self.places.profile)
        return parse_profile(data) if data is not None else None

    def load_state(self) -> LearnerState:
        """The state; an empty one if the file is missing or damaged."""
        return decode_state(self._read(self.places.state) or b"")

    def _read(self, path: Path) -> bytes | None:
        seen = read_snapshot(self._disk.resolve(path), self._disk)
        return seen.data if seen is not None else None

    # writing

    def save_state(self, state: LearnerState) -> None:
        """Save the state."""
        replace_file(self.places.state, encode_state(state), mode=0o600, disk=self._disk)

    def change_state(self, change: Callable[[LearnerState], None]) -> LearnerState:
        """Change the state, save it, and return it."""
        state = self.load_state()
        change(state)
        self.save_state(state)
        return state

    def stamp_session(self, session: str, stamp: str, now: str, *, root: str = "") -> SessionStamp:
        """The session's one stamp (SPEC L-48), stored at its first use; `root`: the project in which it teaches."""
        state = self.load_state()
        known = {name: record.stamp for name, record in state.sessions.items()}
        at = resolve_session(session, stamp, known, read_session_state(self.places.session_state), now)
        if names_a_session(at.session) and (at.session not in known or root):
            record = state.sessions.setdefault(at.session, SessionRecord(at.stamp))
            record.root = root or record.root
            self.save_state(state)
        return at

    def check_editable(self) -> None:
        """Raise FileBusyError if an editor has the ledger or the profile open."""
        busy_files = self._guards.busy_files
        if busy_files is None:
            return
        for path in (self.places.ledger, self.places.profile):
            target = self._disk.resolve(path)
            try:
                seen = self._disk.stat(target)
            except FileNotFoundError:
                seen = None
            busy_files.check_file(target, seen)

    def append_rows(self, rows: Sequence[LedgerRow], ledger: bytes) -> None:
        """Append rows to the ledger in one write; durable on return (SPEC L-37, L-54)."""
        end = newline_of(ledger)
        append_text(self.places.ledger, encode_rows(rows, end), begin=HEADER, newline=end, disk=self._disk)

    def write_profile(self, change: Callable[[bytes | None], bytes | None]) -> None:
        """Change the profile; a new one is private. Raises FileBusyError if an editor has it open."""
        mode = 0o600 if self._file_stamp(self.places.profile) is None else None
        edit_file(self.places.profile, change, mode=mode, disk=self._disk, guards=self._guards)

    def write_new_ledger(self) -> None:
        """Make a ledger without rows, unless there is one."""
        edit_file(
            self.places.ledger, lambda data: HEADER if data is None else None, mode=0o600, disk=self._disk
        )

    # both files

    def finish_reports(self) -> list[LedgerRow]:
        """Write the rows that a crash cut off (SPEC L-37), and return them."""
        planned = [report.row for report in self.load_state().reports if not report.is_done]
        if not planned:
            return []
        ledger = self.read_ledger()
        known = {row.key for row in parse_ledger(ledger).rows}
        missing = [row for row in planned if row.key not in known]
        if missing:
            self.append_rows(missing, ledger)
        return missing

    def update_profile(self, *, is_settled: bool = False, fresh: LedgerRow | None = None) -> SyncResult:
        """Bring the profile in step with the ledger, then save the state.

        `is_settled`: nobody else is writing now. `fresh`: the row that is recorded just now.
        """
        rows = self.list_rows()
        before = encode_state(self.load_state())
        results: list[SyncResult] = []

        def change(data: bytes | None) -> bytes | None:
            key = fresh.key if fresh is not None else None
            result = sync_profile(data, decode_state(before), rows, is_settled=is_settled, fresh=key)
            results[:] = [result]
            if result.data != data and data is not None:
                self._save_plan(decode_state(before), result)
            return result.data

        self.write_profile(change)
        result = results[0]
        result.state.add_notices(format_repairs(result.repaired))
        self.save_state(result.state)
        return result

    def _save_plan(self, planned: LearnerState, result: SyncResult) -> None:
        """Save what a profile that is written now does not tell: after a crash an entry that left it must not look as if a
        person had removed it. `planned` is the state before, and counts the same rows.
        """
        if planned.tags == result.state.tags and not result.repaired:
            return
        waited = {tag: record for tag, record in planned.tags.items() if record.waiting_since}
        planned.tags = waited | {tag: one for tag, one in result.state.tags.items() if tag not in waited}
        there = result.state.written or {}
        if planned.written is not None:
            planned.written = {label: dates for label, dates in planned.written.items() if label in there}
        planned.add_notices(format_repairs(result.repaired))
        self.save_state(planned)

    def sync_files(self, *, force: bool = False, first: bool = False) -> FilesInStep:
        """Compare the two files, and add what is missing (SPEC L-37, L-38).

        `force`: a person asks, so it does not wait for other writers. `first`: the daemon starts, so rows that a crash cut
        off are written even if the files are unchanged. Raises FileBusyError if an editor has one of them open.
        """
        seen = (self._file_stamp(self.places.profile), self._file_stamp(self.places.ledger))
        if seen == self._seen and not force and not first:
            return FilesInStep()
        if not force:
            self.check_editable()
        done = FilesInStep(added=self.finish_reports())
        if seen == (None, None) and not done.added:
            self._seen = seen
            return done
        is_settled = force or self._is_settled(seen)
        profile = self.read_profile()  # before the ledger: writers of both begin with the ledger
        ledger = self.read_ledger()
        table = parse_ledger(ledger)
        done.bad = table.bad
        if is_settled and profile is not None and (healed := find_missing_rows(profile, table.rows)):
            self.append_rows(healed, ledger)
            self.change_state(lambda state: state.add_notices(format_synced(healed)))
            done.added += healed
        if not is_settled and all(report.is_done for report in self.load_state().reports):
            return done  # another writer may be between its ledger row and its profile entry
        done.result = self.update_profile(is_settled=is_settled)
        if is_settled:
            self._seen = (self._file_stamp(self.places.profile), self._file_stamp(self.places.ledger))
        return done

    def _is_settled(self, seen: tuple[FileStamp, FileStamp]) -> bool:
        """Whether no file was written for `settle` seconds. A time in the future counts as old: the clock was set back."""
        ages = [self.clock.now() - one[0] / 1e9 for one in seen if one is not None]
        return all(age >= self.settle or age < -60.0 for age in ages)

    def _file_stamp(self, path: Path) -> FileStamp:
        try:
            found = self._disk.stat(self._disk.resolve(path))
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
