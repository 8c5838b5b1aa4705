"""The learner's tasks: reports of transcripts and of commands become rows of the ledger, and the profile follows.

It calls no model. What a session means is decided in `practice_sync.py`. A row is appended by one task, and the profile is
changed by the next one: the ledger is the source of truth, and is written first (SPEC L-37).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cached_property
from pathlib import Path

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field

from tacitd.clock import local_minutes
from tacitd.contract import Batch, Cause, Done, Edits, FileChange, Leaf, NewLine, Outcome, Task, Tools, Tx
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.events import Project
from tacitd.files.atomic import read_snapshot, replace_file
from tacitd.files.disk import DISK
from tacitd.files.editors import Editors
from tacitd.handler import Degradation, Notice
from tacitd.work.messages import send_message
from tacitd_handlers.learner.entry_texts import RESOLVED
from tacitd_handlers.learner.learner_state import (
    LEDGER,
    PROFILE,
    SessionStamp,
    add_notices,
    add_reports,
    find_stamp,
    format_state,
    note_session,
    read_state,
    resolve_paths,
    store_state,
)
from tacitd_handlers.learner.ledger_file import (
    LedgerRow,
    format_row,
    lacks_header,
    make_ledger,
    newline_of,
    parse_ledger,
)
from tacitd_handlers.learner.practice_report import (
    find_reports,
    parse_report,
    plan_report,
    report_id,
    uses_skill,
)
from tacitd_handlers.learner.practice_sync import Act, SyncResult, find_missing_rows, sync_profile
from tacitd_handlers.learner.profile_text import PROFILE_FORMAT, SECTIONS, list_sessions
from tacitd_handlers.learner.session_start import format_repairs, format_synced
from tacitd_handlers.shared.places import read_plain_bytes

ROWS = "learner.rows"
QUIET = 300.0
"""Seconds without a write after which entries written by others are completed in both files."""
_CAUSES = {
    "follow": "practice was recorded",
    "prepare": "the first session",
    "check": "you had both files completed",
    "restore": "you restored it",
    "archive": "you archived it",
    "join": "you said which gap a label is",
    "forget": "you forgot it",
    "sync": "practice of a session",
}
"""What a person reads in the history."""
_HEADINGS = frozenset({*SECTIONS, RESOLVED})


class LearnerSettings(BaseModel):
    """`learner`: the paths of its two files, and how reviews are planned."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str = Field(
        default="",
        description="Path of the profile. Empty: `leetcode-teacher-profile.md` in Claude Code's directory.",
    )
    ledger: str = Field(
        default="",
        description="Path of the ledger. Empty: `leetcode-teacher-ledger.md` in Claude Code's directory.",
    )
    grow_only_when_due: bool = Field(
        default=False, description="A review before its due date does not lengthen the next interval."
    )
    longest_interval: int | None = Field(
        default=None, ge=1, description="Maximum days until the next review. Default: no maximum."
    )


# --- transcripts


def observe(batch: Batch, tx: Tx, settings: Mapping[str, LearnerSettings]) -> None:
    """Note the sessions that teach, from the first use of the skill on, and their reports (SPEC X-10)."""
    if batch.passed in ("paused", "excluded") or not batch.session:
        return
    records, session = batch.records, batch.session
    if not tx.rows("SELECT 1 FROM learner_session WHERE session = ? AND teaches", session):
        own = settings["learner"]
        files = {Path(own.profile or PROFILE).name, Path(own.ledger or LEDGER).name}
        uses = (n for n, one in enumerate(records) if uses_skill(one, files))
        records = records[next(uses, len(records)) :]
    if not records:
        return
    ((started,),) = tx.rows("SELECT coalesce(min(started), 0.0) FROM session WHERE id = ?", session)
    root = str(batch.project.root) if isinstance(batch.project, Project) else ""
    note_session(tx, session, teaches=True, root=root)
    about = Task(0, "message", "", batch.project, batch.project_number, session)
    if any(one.summary for one in records):
        send_message(tx, "learner", "learner", f"state {session}", about, {"do": "state"}, started)
    for one in records:
        for given in find_reports(one.text):
            id = report_id(one, given)
            if tx.execute("INSERT OR IGNORE INTO learner_found VALUES(?)", id).changed:
                data = {"do": "record", "report": given, "session": one.session or session}
                send_message(tx, "learner", "learner", f"report {id}", about, data, started)


# --- tasks


def run(task: Task, tools: Tools) -> Outcome:
    return Desk(task, tools).do()


class Desk:
    """One task, with the ledger as it is at its beginning."""

    def __init__(self, task: Task, tools: Tools) -> None:
        self._task = task
        self._tools = tools
        self._settings: LearnerSettings = tools.settings["learner"]
        self._places = resolve_paths(os.environ, self._settings.profile, self._settings.ledger)
        self._now = tools.clock.now()
        self._is_command = task.kind == "command"

    @cached_property
    def _ledger(self) -> bytes:
        return read_plain_bytes(self._places.ledger) or b""

    @cached_property
    def _rows(self) -> list[LedgerRow]:
        return parse_ledger(self._ledger).rows

    def do(self) -> Done:
        """Do the task. Raises UsageError, TacitdError, FileRefusedError, OSError."""
        data = self._task.data
        name, tag = str(data.get("name", "")), str(data.get("tag", ""))
        match "state" if self._task.kind == "compaction" else data.get("do", ""):
            case "state":
                return self._save_session_state()
            case "record":
                return self._record()
            case "follow" if name not in map(format_row, self._rows):
                hint = "it is written as soon as possible"
                raise FileRefusedError("the ledger could not be written", hint)
            case "follow" | "sync":
                return self._sync()
            case "prepare":
                return self._sync(makes=True)
            case "heal":
                return self._heal() or Done()
            case "check":
                return self._sync(is_settled=True)
            case "forget" | "restore" | "archive" | "join" as do:
                return self._sync(is_settled=True, act=lambda book: book.decide(do, name, tag))
            case _:
                return self._compare()

    # --- rows of the ledger

    def _record(self) -> Done:
        """Append the row of a report, of a command or of a transcript; the notice has it, also if it is there already."""
        rows, data = self._rows, self._task.data
        try:
            report = parse_report(data["report"])
            at = self._find_stamp(report.row.session or data.get("session", ""), report.row.stamp)
            made = plan_report(report, at, rows, self._settings)
        except TacitdError as error:
            if self._is_command:
                raise
            return Done(
                notices=[Notice("refused", f"a report of {data.get('session')}: {error.what}", LEDGER)]
            )
        row, new = made.row, [made] if made.row not in rows else []
        what = f"{row.problem} ({row.mode}, {row.verdict})"
        notice = Notice("recorded" if new else "again", what, LEDGER, item=format_row(row))

        def apply(tx: Tx) -> None:
            add_reports(tx, new)
            note_session(tx, at.session, stamp=at.stamp)
            if new and not self._is_command:
                self._queue_sync(tx)

        return self._append([one.row for one in new], apply, notice)

    def _find_stamp(self, session: str, stamp: str) -> SessionStamp:
        now = local_minutes(self._now)
        return find_stamp(self._tools.rows, session, stamp, self._places.session_state, now)

    def _append(self, rows: list[LedgerRow], apply: Callable[[Tx], None], *notices: Notice) -> Done:
        """Append rows to the ledger, which is made if it is missing (SPEC L-37, L-54). Raises FileBusyError: an editor has it open."""
        if rows and self._ledger:
            target = DISK.resolve(self._places.ledger)
            editors = Editors(self._tools.clock)
            editors.check_at_rest(target, read_snapshot(target))
            editors.check_marks(target)
        end = "\r" if newline_of(self._ledger) == b"\r\n" else ""
        lines = [NewLine(self._places.ledger, format_row(row) + end) for row in rows]
        if rows and lacks_header(self._ledger):
            make_ledger(self._places.ledger)
        return Done(apply, lines=lines, notices=list(notices))

    def _queue_sync(self, tx: Tx) -> None:
        send_message(tx, "learner", "learner", "sync", self._task, {"do": "sync"}, self._now)

    # --- the profile

    def _compare(self) -> Done:
        """Compare the two files once others have not written them for a while (SPEC L-38)."""
        rows, found = (
            self._tools.rows,
            [_examine(path) for path in (self._places.profile, self._places.ledger)],
        )
        stamps = " ".join(f"{one.st_mtime_ns}:{one.st_size}:{one.st_ino}" if one else "-" for one in found)
        if found[0] is not None and rows("SELECT 1 FROM learner_compared WHERE stamps = ?", stamps):
            return Done()
        if bad := parse_ledger(self._ledger).bad:
            what = f"{len(bad)} lines of {self._places.ledger} are not rows and are skipped"
            self._tools.degrade(Degradation(ROWS, what, "`tacitd learner check` lists them"))
        else:
            self._tools.clear(ROWS)
        if found[0] is None and not self._rows:
            return Done()
        # A time in the future counts as old: the clock was set back.
        ages = [self._now - one.st_mtime for one in found if one is not None]
        if all(age >= QUIET or age < -60.0 for age in ages):
            return self._heal() or self._sync(is_settled=True, stamps=stamps)
        return self._sync() if rows("SELECT 1 FROM learner_report WHERE NOT done") else Done()

    def _heal(self) -> Done | None:
        """Append the rows that the ledger lacks of sessions in the profile; None if it lacks none (SPEC L-38)."""
        view = self._tools.look(self._places.profile, PROFILE_FORMAT)
        missing = find_missing_rows(list_sessions(view.now), self._rows)
        if not missing:
            return None
        logger.info("appending {} missing rows to the ledger", len(missing))

        def apply(tx: Tx) -> None:
            add_notices(tx, format_synced(missing))
            self._queue_sync(tx)

        return self._append(missing, apply)

    def _sync(
        self, *, is_settled: bool = False, act: Act | None = None, stamps: str = "", makes: bool = False
    ) -> Done:
        """Bring the profile in step with the ledger, and do what a command asks. Raises what `act` raises.

        `makes`: files that do not exist are made, without rows and entries (SPEC L-51). `stamps`: those of both files, which are stored
        if nothing changes.
        """
        rows, path, before = self._tools.rows, self._places.profile, read_state(self._tools.rows)
        base: dict[Leaf, str] = dict(rows("SELECT leaf, written FROM shared_leaf WHERE path = ?", str(path)))
        view, is_asked = self._tools.look(path, PROFILE_FORMAT), makes or act is not None

        def sync(now: Mapping[Leaf, str], edits: Edits) -> SyncResult:
            return sync_profile(
                now if now or view.exists else None,
                base,
                edits.removed,
                deepcopy(before),
                self._rows,
                is_settled=is_settled,
                makes=is_asked,
                act=act,
            )

        made = [sync(view.now, view.edits)]

        def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
            if (now, edits) != (view.now, view.edits):
                made[:] = [sync(now, edits)]
            return made[0].changes

        def apply(tx: Tx) -> None:
            result = made[0]
            store_state(tx, result.state)
            if not result.changes and not view.doubt:
                tx.execute("DELETE FROM learner_compared")
                tx.execute("INSERT INTO learner_compared VALUES(?)", stamps)
            add_notices(tx, format_repairs(result.repaired))

        result = made[0]
        do = str(self._task.data.get("do", ""))
        cause = Cause(
            f"learner {self._task.key} {self._now}",
            "person" if self._is_command else "tacitd",
            _CAUSES.get(do, "what only one file had"),
            self._task.session,
        )
        change = FileChange(path, PROFILE_FORMAT, decide, cause, adopts=True, unlisted=_HEADINGS)
        files = [change] if result.changes or view.doubt else []
        if makes:
            make_ledger(self._places.ledger)
        return Done(apply, files, notices=[Notice("done", one, PROFILE) for one in result.named])

    def _save_session_state(self) -> Done:
        session = self._task.session
        if not self._tools.rows("SELECT 1 FROM learner_session WHERE session = ? AND teaches", session):
            return Done()
        at = self._find_stamp(session, "")
        text = format_state(at, self._places.shorten_profile())
        replace_file(self._places.session_state, text.encode(), mode=0o600)
        return Done(lambda tx: note_session(tx, at.session, stamp=at.stamp))


def _examine(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
