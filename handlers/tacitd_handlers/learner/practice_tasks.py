"""The learner's tasks: reports of transcripts and of commands become rows of the ledger, and the profile follows.

It calls no model. What a session means is decided in `practice_sync.py`. A row is appended by one task, and the profile is
changed by the next one: the ledger is the source of truth, and is written first (SPEC L-37).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec.structs import replace

from tacitd.clock import local_minutes
from tacitd.contract import (
    Batch,
    Cause,
    Done,
    Edits,
    FileChange,
    Later,
    Leaf,
    NewLine,
    Outcome,
    Task,
    Tools,
    Tx,
)
from tacitd.errors import FileBusyError, FileRefusedError, TacitdError, describe_failure
from tacitd.events import Project
from tacitd.files.atomic import replace_file
from tacitd.files.disk import DISK
from tacitd.files.editors import Editors
from tacitd.handler import Degradation, Notice
from tacitd.work.messages import send_message
from tacitd_handlers.learner.learner_paths import (
    LEDGER,
    PROFILE,
    LearnerPaths,
    read_file,
    resolve_paths,
    shorten_path,
)
from tacitd_handlers.learner.learner_state import (
    ReportRecord,
    add_notices,
    add_reports,
    note_session,
    read_state,
    store_state,
)
from tacitd_handlers.learner.ledger_file import (
    LedgerRow,
    LedgerTable,
    format_row,
    make_ledger,
    newline_of,
    parse_ledger,
)
from tacitd_handlers.learner.ledger_replay import Replay
from tacitd_handlers.learner.notices import format_repairs, format_synced
from tacitd_handlers.learner.practice_report import (
    find_reports,
    parse_report,
    plan_report,
    report_id,
    uses_skill,
)
from tacitd_handlers.learner.practice_sync import (
    Act,
    SyncResult,
    find_missing_rows,
    sync_profile,
)
from tacitd_handlers.learner.profile_text import PROFILE_FORMAT, list_sessions
from tacitd_handlers.learner.session_stamps import SessionStamp, find_stamp, state_text
from tacitd_handlers.learner.settings import LearnerSettings
from tacitd_handlers.learner.vocabulary import names_a_session
from tacitd_handlers.learner.weakness_entries import EntryBook

FILES, ROWS = "learner.files", "learner.rows"


# --- transcripts


def observe(batch: Batch, tx: Tx) -> None:
    """Note the sessions that teach, from the first use of the skill on, and their reports (SPEC X-10)."""
    if batch.passed in ("paused", "excluded") or not batch.session:
        return
    records, session = batch.records, batch.session
    known = tx.rows("SELECT teaches, began FROM learner_session WHERE session = ?", session)
    if not (known and known[0][0]):
        marks = tx.rows("SELECT name, is_file FROM learner_mark") or [
            *((name, 0) for name in LearnerSettings().skills),
            (PROFILE, 1),
            (LEDGER, 1),
        ]
        skills = {name for name, is_file in marks if not is_file}
        files = {name for name, is_file in marks if is_file}
        at = next((n for n, one in enumerate(records) if uses_skill(one, skills, files)), len(records))
        records = records[at:]
    if not records:
        return
    ((started,),) = tx.rows("SELECT coalesce(min(started), 0.0) FROM session WHERE id = ?", session)
    root = str(batch.project.root) if isinstance(batch.project, Project) else ""
    note_session(tx, session, teaches=1, **({"root": root} if root else {}))
    if not (known and known[0][1]):
        note_session(tx, session, began=local_minutes(started))
    about = Task(0, "message", "", batch.project, batch.project_number, session)
    if any(one.summary for one in records):
        send_message(tx, "learner", "learner", f"state {session}", about, {"do": "state"}, started)
    for one in records:
        for given in find_reports(one.text):
            tx.execute(
                "INSERT OR IGNORE INTO learner_found(id, session, given) VALUES(?, ?, ?)",
                *(report_id(one, given), one.session or session, json.dumps(given, ensure_ascii=False)),
            )
            send_message(tx, "learner", "learner", "reports", about, {"do": "reports"}, started)


# --- tasks


def run(task: Task, tools: Tools) -> Outcome:
    """Do a task. What cannot be read or written now is a problem, and the task waits."""
    desk = Desk(task, tools)
    try:
        if task.kind == "command":
            return desk.do_command()
        match task.kind, task.data.get("do", ""):
            case ("compaction", _) | (_, "state"):
                done = desk.save_session_state()
            case _, "reports":
                done = desk.take_reports()
            case _, "sync":
                done = desk.sync()
            case _:
                done = desk.check()
    except FileBusyError:
        raise
    except (OSError, FileRefusedError) as error:
        what, hint = describe_failure(error)
        if task.kind == "command":
            raise FileRefusedError(what, hint) from error
        tools.degrade(Degradation(FILES, f"the learner's files: {what}", hint))
        # The job comes again in a minute.
        return Done() if task.kind == "job" else Later(f"the learner's files: {what}", hint)
    tools.clear(FILES)
    return done


class Desk:
    """The two files, for one task."""

    def __init__(self, task: Task, tools: Tools) -> None:
        self._task = task
        self._tools = tools
        self._settings: LearnerSettings = tools.settings["learner"]
        self.places: LearnerPaths = resolve_paths(os.environ, self._settings.profile, self._settings.ledger)
        self._now = tools.clock.now()
        self._planned = list[ReportRecord]()
        self._stamps = list[SessionStamp]()
        """Those of the sessions that something was planned for."""
        self._made = list[SyncResult]()
        """What the last comparison decided."""

    @cached_property
    def _ledger(self) -> bytes:
        return read_file(self.places.ledger) or b""

    @cached_property
    def table(self) -> LedgerTable:
        """The ledger's rows."""
        return parse_ledger(self._ledger)

    # --- rows of the ledger

    def take_reports(self) -> Done:
        """Record the reports that were found in transcripts."""
        found = self._tools.rows(
            "SELECT number, session, given FROM learner_found WHERE given NOT NULL ORDER BY number"
        )
        taken = list[tuple[str, int]]()
        for number, session, given in found:
            why = ""
            try:
                self._plan(json.loads(given), session)
            except TacitdError as error:
                logger.warning("refused a report of session {}: {}", session, error.what)
                why = f"{session}: {error.what}"
            taken.append((why, number))

        def apply(tx: Tx) -> None:
            tx.executemany("UPDATE learner_found SET given = NULL, refused = ? WHERE number = ?", taken)
            self._store_planned(tx)
            if self._planned:
                self._queue(tx, "sync")

        return self._append([one.row for one in self._planned], apply)

    def _record(self) -> Done:
        """Record a problem for a command; the notice has its row."""
        made = self._plan(dict(self._task.data["report"]))
        row, did = (made, "again") if isinstance(made, LedgerRow) else (made.row, "recorded")
        notice = Notice(did, f"{row.problem} ({row.mode}, {row.verdict})", LEDGER, item=format_row(row))
        done = self._append([one.row for one in self._planned], self._store_planned)
        return replace(done, notices=[notice])

    def _plan(self, given: Mapping[str, Any], session: str = "") -> ReportRecord | LedgerRow:
        """Plan what a report says; return the row that is there already if it was recorded. Raises TacitdError."""
        report = parse_report(given)
        at = self._find_stamp(report.session or session, report.stamp)
        rows = [*self.table.rows, *(one.row for one in self._planned)]
        made = plan_report(report, at, rows, self._settings.plan)
        self._stamps.append(at)
        self._planned += [made] if isinstance(made, ReportRecord) else []
        return made

    def _find_stamp(self, session: str, stamp: str) -> SessionStamp:
        now = local_minutes(self._now)
        return find_stamp(self._tools.rows, session, stamp, self.places.session_state, now)

    def _store_planned(self, tx: Tx) -> None:
        add_reports(tx, self._planned)
        for at in self._stamps:
            if names_a_session(at.session) and not tx.rows(
                "SELECT 1 FROM learner_session WHERE session = ? AND stamp <> ''", at.session
            ):
                note_session(tx, at.session, stamp=at.stamp)

    def _append(self, rows: Sequence[LedgerRow], apply: Callable[[Tx], None]) -> Done:
        """Append rows to the ledger, which is made if it is missing (SPEC L-37, L-54). Raises FileBusyError: an editor has it open."""
        if rows and self._ledger:
            target = DISK.resolve(self.places.ledger)
            editors = Editors(self._tools.clock)
            editors.check_at_rest(target, target.stat())
            editors.check_marks(target)
        end = "\r" if newline_of(self._ledger) == b"\r\n" else ""
        lines = [NewLine(self.places.ledger, format_row(row) + end) for row in rows]
        files = [make_ledger(self.places.ledger, self._cause())] if lines and not self._ledger else []
        return Done(apply, files, lines)

    def _queue(self, tx: Tx, do: str) -> None:
        send_message(tx, "learner", "learner", do, self._task, {"do": do}, self._now)

    def _cause(self, what: str = "") -> Cause:
        by = "person" if self._task.kind == "command" else "tacitd"
        return Cause(f"learner {self._task.key} {self._now}", by, what, self._task.session)  # type: ignore[arg-type]

    # --- the profile

    def check(self) -> Done:
        """Compare the two files once others have not written them for a while (SPEC L-38)."""
        done = self._compare()
        return replace(done, apply=self._note_marks(done.apply))

    def _compare(self) -> Done:
        found = [_examine(path) for path in (self.places.profile, self.places.ledger)]
        stamps, state = " ".join(_stamp(one) for one in found), read_state(self._tools.rows)
        if stamps == state.stamps and found[0] is not None:
            return Done()
        self._report_bad_lines()
        if found[0] is None and not self.table.rows:
            is_first = self._tools.rows("SELECT 1 FROM learner_session WHERE first_start")
            return self.sync(makes=True) if is_first else Done()
        # A time in the future counts as old: the clock was set back.
        ages = [self._now - one.st_mtime for one in found if one is not None]
        if all(age >= self._settings.settle or age < -60.0 for age in ages):
            return self.heal() or self.sync(is_settled=True, stamps=stamps)
        return self.sync() if any(not report.is_done for report in state.reports) else Done()

    def heal(self) -> Done | None:
        """Append the rows that the ledger lacks of sessions in the profile; None if it lacks none (SPEC L-38)."""
        view = self._tools.look(self.places.profile, PROFILE_FORMAT)
        missing = find_missing_rows(list_sessions(view.now), self.table.rows)
        if not missing:
            return None
        logger.info("appending {} missing rows to the ledger", len(missing))

        def apply(tx: Tx) -> None:
            add_notices(tx, format_synced(missing))
            self._queue(tx, "sync")

        return self._append(missing, apply)

    def sync(
        self, *, is_settled: bool = False, act: Act | None = None, stamps: str = "", makes: bool = False
    ) -> Done:
        """Bring the profile in step with the ledger, and do what a command asks. Raises what `act` raises.

        `makes`: files that do not exist are made, without rows and entries (SPEC L-51).
        """
        rows, before = self._tools.rows, read_state(self._tools.rows)
        path = self.places.profile
        base = {leaf for (leaf,) in rows("SELECT leaf FROM shared_leaf WHERE path = ?", str(path))}
        view = self._tools.look(path, PROFILE_FORMAT)
        made = self._made

        def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
            if not made or (now, edits) != (view.now, view.edits):
                leaves, kept = now if now or view.exists else None, base - now.keys() - edits.removed
                state, is_asked = deepcopy(before), makes or act is not None
                made[:] = [sync_profile(leaves, state, self.table.rows, kept, is_settled, is_asked, act)]
            return made[0].changes

        def apply(tx: Tx) -> None:
            result = made[0]
            if not result.changes and not view.doubt:
                result.state.stamps = stamps
            store_state(tx, result.state, before)
            add_notices(tx, format_repairs(result.repaired))

        decide(view.now, view.edits)
        for notice in made[0].notices:
            logger.info("weakness {}: {}", notice.text, notice.did)
        cause = self._cause(str(self._task.data.get("do", "")))
        files = [FileChange(path, PROFILE_FORMAT, decide, cause)] if made[0].changes or view.doubt else []
        if makes and not os.path.lexists(self.places.ledger):
            files.append(make_ledger(self.places.ledger, cause))
        return Done(apply, files, notices=made[0].notices if self._task.kind == "command" else ())

    def save_session_state(self) -> Done:
        """At a compaction, write the session-state file, so that the session keeps its id and stamp (SPEC L-48)."""
        session = self._task.session
        if not self._tools.rows("SELECT 1 FROM learner_session WHERE session = ? AND teaches", session):
            return Done()
        at = self._find_stamp(session, "")
        self._stamps.append(at)
        text = state_text(at, shorten_path(self.places.profile, self.places.user))
        replace_file(self.places.session_state, text.encode(), mode=0o600)
        return Done(self._store_planned)

    # --- commands

    def do_command(self) -> Done:
        """Do what a person or an agent asks. Raises UsageError, TacitdError, FileRefusedError, OSError."""
        name, second = str(self._task.data.get("name", "")), str(self._task.data.get("tag", ""))
        acts: dict[str, Callable[[EntryBook, Replay], Sequence[str]]] = {
            "forget": lambda book, made: [book.forget(name)],
            "restore": lambda book, made: [book.bring_back(name, made)],
            "archive": lambda book, made: [book.archive(name)],
            "join": lambda book, made: book.join(name, second),
            "separate": lambda book, made: book.separate(name),
        }
        do = self._task.data["do"]
        match do:
            case "record":
                return self._record()
            case "follow":
                if name not in map(format_row, self.table.rows):
                    raise FileRefusedError(
                        "the ledger could not be written", "it is written as soon as possible"
                    )
                return self.sync()
            case "prepare":
                return self.sync(makes=True)
            case "heal":
                return self.heal() or Done()
            case "check":
                return self.sync(is_settled=True)
            case _:
                done = self.sync(is_settled=True, act=acts[do])
        result = self._made[0]
        named = [*result.named, *(result.state.waiting if do == "archive" else ())]
        return replace(done, notices=[Notice("done", one, PROFILE) for one in named])

    # --- small parts

    def _note_marks(self, also: Callable[[Tx], None]) -> Callable[[Tx], None]:
        """What also stores the names of the skills and of the two files, if they are others than those that are known."""
        files = (self.places.profile.name, self.places.ledger.name)
        marks = sorted({*((name, 0) for name in self._settings.skills), *((name, 1) for name in files)})

        def apply(tx: Tx) -> None:
            also(tx)
            if sorted(tx.rows("SELECT name, is_file FROM learner_mark")) != marks:
                tx.execute("DELETE FROM learner_mark")
                tx.executemany("INSERT INTO learner_mark VALUES(?, ?)", marks)

        return apply

    def _report_bad_lines(self) -> None:
        if self.table.bad:
            what = f"{len(self.table.bad)} lines of {self.places.ledger} are not rows and are skipped"
            self._tools.degrade(Degradation(ROWS, what, "`tacitd learner check` lists them"))
        else:
            self._tools.clear(ROWS)


def _examine(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _stamp(found: os.stat_result | None) -> str:
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}" if found is not None else "-"
