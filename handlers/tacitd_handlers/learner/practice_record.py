"""The I/O on the learner's files, and what is done to them: record a problem, bring them in step, forget, archive, name.

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
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.files.append_text import append_text
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.locks import make_private_dir, wait_for_lock
from tacitd.files.replaced import UNGUARDED, EditGuards, edit_file, replace_file
from tacitd.files.temporary import read_snapshot
from tacitd_handlers.learner.history_splices import find_unrecorded
from tacitd_handlers.learner.learner_paths import LearnerPaths
from tacitd_handlers.learner.learner_state import (
    LearnerState,
    ReportRecord,
    SessionRecord,
    decode_state,
    encode_state,
)
from tacitd_handlers.learner.ledger_file import (
    HEADER,
    BadLine,
    LedgerRow,
    encode_rows,
    newline_of,
    parse_ledger,
    read_ledger,
)
from tacitd_handlers.learner.notices import format_repairs, format_synced
from tacitd_handlers.learner.practice_report import PracticeReport
from tacitd_handlers.learner.practice_sync import SyncResult, sync_profile
from tacitd_handlers.learner.profile_text import parse_profile
from tacitd_handlers.learner.review_dates import ReviewPlan, describe_trajectory, find_review
from tacitd_handlers.learner.session_stamps import SessionStamp
from tacitd_handlers.learner.vocabulary import (
    HEALED,
    NO_DATE,
    NO_GAPS,
    RECALL,
    UNKNOWN,
    VERDICTS,
    gaps_text,
    name_of,
)

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
    waits: bool = False
    """A file was written recently, so the comparison is postponed."""


class RecordedProblem(Struct, frozen=True):
    """The result of `record_problem`."""

    row: LedgerRow
    again: bool
    """The row was in the ledger already; nothing was added."""
    result: SyncResult | None
    """None: the row is in the ledger, but the profile could not be written."""
    trouble: str = ""
    """Why the profile could not be written."""
    hint: str = ""


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
        self._state_file = places.home / "learner.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock between processes, and wait for it. Raises OSError."""
        make_private_dir(self.places.home, self._disk)
        with wait_for_lock(self.places.home / "lock", self._disk):
            yield

    # reading

    def read_ledger(self) -> bytes:
        """The ledger's bytes, b"" if it does not exist. Raises OSError, FileRefusedError."""
        return read_ledger(self.places.ledger, self._disk)

    def read_profile(self) -> bytes | None:
        """The profile's bytes, None if it does not exist. Raises OSError, FileRefusedError."""
        seen = read_snapshot(self._disk.resolve(self.places.profile), self._disk)
        return seen.data if seen is not None else None

    def load_state(self) -> LearnerState:
        """The state; an empty one if the file is missing or damaged. Raises OSError, FileRefusedError."""
        seen = read_snapshot(self._state_file, self._disk)
        return decode_state(seen.data) if seen is not None else LearnerState()

    # writing

    def save_state(self, state: LearnerState) -> None:
        """Save the state. Call with the lock held."""
        replace_file(self._state_file, encode_state(state), mode=0o600, disk=self._disk)

    def change_state(self, change: Callable[[LearnerState], None]) -> LearnerState:
        """Change the state, save it, and return it. Call with the lock held."""
        state = self.load_state()
        change(state)
        self.save_state(state)
        return state

    def check_editable(self) -> None:
        """Raise FileBusyError if an editor has the ledger or the profile open."""
        if self._guards.busy_files is None:
            return
        for path in (self.places.ledger, self.places.profile):
            target = self._disk.resolve(path)
            try:
                seen = self._disk.stat(target)
            except FileNotFoundError:
                seen = None
            self._guards.busy_files.check_file(target, seen)

    def append_rows(self, rows: Sequence[LedgerRow], ledger: bytes) -> None:
        """Append rows to the ledger in one write; durable on return (SPEC L-37, L-54)."""
        end = newline_of(ledger)
        append_text(self.places.ledger, encode_rows(rows, end), begin=HEADER, newline=end, disk=self._disk)

    def write_profile(self, change: Callable[[bytes | None], bytes | None]) -> None:
        """Change the profile; a new one is private. Raises OSError, FileRefusedError, FileBusyError."""
        mode = 0o600 if self._file_stamp(self.places.profile) is None else None
        edit_file(self.places.profile, change, mode=mode, disk=self._disk, guards=self._guards)

    def write_new_ledger(self) -> None:
        """Make a ledger without rows, unless there is one. Raises OSError, FileRefusedError."""
        edit_file(
            self.places.ledger, lambda data: HEADER if data is None else None, mode=0o600, disk=self._disk
        )

    def finish_reports(self) -> list[LedgerRow]:
        """Write the rows that a crash cut off (SPEC L-37), and return them. Call with the lock held."""
        planned = [report.row for report in self.load_state().reports if not report.is_done]
        if not planned:
            return []
        ledger = self.read_ledger()
        known = {row.key for row in parse_ledger(ledger).rows}
        missing = [row for row in planned if row.key not in known]
        if missing:
            self.append_rows(missing, ledger)
        return missing

    def update_profile(
        self,
        *,
        is_settled: bool = False,
        fresh: LedgerRow | None = None,
        rows: Sequence[LedgerRow] | None = None,
    ) -> SyncResult:
        """Bring the profile in step with the ledger, then save the state. Call with the lock held.

        `is_settled`: nobody else is writing now. `fresh`: the row that is recorded just now. `rows`: those of the ledger,
        if they were read already. Raises OSError, FileRefusedError.
        """
        rows = parse_ledger(self.read_ledger()).rows if rows is None else rows
        before = encode_state(self.load_state())
        results: list[SyncResult] = []

        def change(data: bytes | None) -> bytes | None:
            state = decode_state(before)
            key = fresh.key if fresh is not None else None
            result = sync_profile(data, state, rows, is_settled=is_settled, fresh=key)
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
        """Compare the two files, and add what is missing (SPEC L-37, L-38). Call with the lock held.

        `force`: a person asks, so it does not wait for other writers. `first`: the daemon starts, so rows that a crash cut
        off are written even if the files are unchanged. Raises OSError, FileRefusedError, and FileBusyError if an editor
        has one of them open.
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
        done.bad, rows = table.bad, table.rows
        if is_settled:
            healed = find_missing_rows(profile, rows)
            if healed:
                self.append_rows(healed, ledger)
                rows = parse_ledger(self.read_ledger()).rows
                self.change_state(lambda state: state.add_notices(format_synced(healed)))
                done.added += healed
        elif not any(not report.is_done for report in self.load_state().reports):
            done.waits = True  # another writer may be between its ledger row and its profile entry
            return done
        done.result = self.update_profile(is_settled=is_settled, rows=rows)
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


def record_problem(
    store: LearnerStore, report: PracticeReport, at: SessionStamp, plan: ReviewPlan
) -> RecordedProblem:
    """Write one problem to the ledger, then to the profile. Call with the lock held. The same twice has one effect (SPEC L-23).

    Raises TacitdError if the ledger has the same key with another verdict or other gaps, because it is never edited.
    Raises OSError or FileRefusedError if the ledger cannot be written; then nothing was recorded.
    """
    store.finish_reports()
    ledger = store.read_ledger()
    rows = parse_ledger(ledger).rows
    row = LedgerRow(
        at.stamp,
        at.session,
        report.problem,
        report.pattern,
        report.mode,
        report.verdict,
        gaps_text(report.gaps),
        "",
    )
    same = next((one for one in rows if one.key == row.key), None)
    if same is not None:
        if (same.verdict, same.tags) != (row.verdict, row.tags):
            raise TacitdError(
                f"the ledger has {row.problem} on {row.stamp} with {same.verdict} and gaps {same.gaps}",
                "the ledger is never edited; record another session, or correct the line by hand",
            )
        return _write_to_profile(store, same, again=True)
    past = [one for one in rows if one.problem == row.problem and one.stamp <= row.stamp]
    row = row._replace(review=find_review(row, past, plan))
    trend = describe_trajectory(past) if report.mode == RECALL else ""
    observed = "\n".join(part for part in (report.observations, trend) if part)
    store.check_editable()
    planned = ReportRecord(row, report.tested, observed, dict(report.descriptions))
    store.change_state(lambda state: state.reports.append(planned))
    try:
        store.append_rows([row], ledger)
    except (OSError, FileRefusedError):
        _give_up(store, row)
        raise
    return _write_to_profile(store, row, again=False)


def _give_up(store: LearnerStore, row: LedgerRow) -> None:
    """Forget a report whose caller gets an error, unless its row is in the ledger: it must not be written later."""
    if all(one.key != row.key for one in parse_ledger(store.read_ledger()).rows):
        state = store.load_state()
        state.reports = [report for report in state.reports if report.row.key != row.key]
        store.save_state(state)


def _write_to_profile(store: LearnerStore, row: LedgerRow, *, again: bool) -> RecordedProblem:
    try:
        return RecordedProblem(row, again, store.update_profile(fresh=None if again else row))
    except FileRefusedError as error:
        return RecordedProblem(row, again, None, error.what, error.hint)
    except OSError as error:
        return RecordedProblem(row, again, None, f"{error.filename or 'the profile'}: {error.strerror}")


def find_missing_rows(profile: bytes | None, rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """The rows that the ledger lacks of sessions in the profile, oldest first (SPEC L-38).

    An entry whose mode or verdict is invalid gets none: nothing is invented (SPEC L-35, L-39).
    """
    found = []
    for held in find_unrecorded(parse_profile(profile), rows) if profile is not None else ():
        one = held.session
        if one.verdict in VERDICTS.get(one.mode, ()):
            gaps, review = name_of(one.gaps or "") or NO_GAPS, name_of(one.review or "") or NO_DATE
            found.append(
                LedgerRow(one.stamp, HEALED, one.problem, UNKNOWN, one.mode, one.verdict, gaps, review)
            )
    return sorted(found, key=lambda row: row.stamp)


def note_session(state: LearnerState, at: SessionStamp, *, first: bool = False, root: str = "") -> None:
    """Store a session's stamp at its first use (SPEC L-48), and the project in which it taught."""
    record = state.sessions.setdefault(at.session, SessionRecord(at.stamp, first))
    record.root = root or record.root
