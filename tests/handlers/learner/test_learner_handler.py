"""The handler in a real engine: SPEC X-10, L-37, L-38, L-48, L-50."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted
from support_learner import row
from tacitd.clock import local_minutes
from tacitd.events import Due
from tacitd.handler import COMPACTION, Plugin
from tacitd_handlers.learner import make_plugin as learner_slice
from tacitd_handlers.learner.handler import LearnerHandler
from tacitd_handlers.learner.learner_paths import resolve_paths
from tacitd_handlers.learner.learner_state import LearnerState, ReportRecord
from tacitd_handlers.learner.ledger_file import HEADER, LedgerRow, format_row, parse_ledger
from tacitd_handlers.learner.notices import format_status_lines
from tacitd_handlers.learner.profile_text import TEMPLATE
from tacitd_handlers.learner.session_stamps import SessionStamp, state_text

REPORT = {"problem": "two-sum", "pattern": "hash_map", "mode": "recall", "verdict": "pass", "gaps": "edge:a"}


class Class(Scene):
    """An engine with the learner's handler alone, and methods to write a session's transcript."""

    def __init__(self, tmp: Path) -> None:
        self.where = resolve_paths({"HOME": str(tmp), "CLAUDE_CONFIG_DIR": str(tmp.resolve() / "claude")})
        super().__init__(tmp, LEARNER__SETTLE="0s")

    def _slice(self, number: int, handler: object) -> Plugin:
        self.learner = LearnerHandler({"HOME": str(self.tmp), "CLAUDE_CONFIG_DIR": str(self.tmp / "claude")})
        real = learner_slice()
        jobs = [one for one in real.jobs if one.name == COMPACTION]
        return Plugin(
            real.name, lambda: self.learner, settings=real.settings, jobs=jobs, uses_model=real.uses_model
        )

    @property
    def rows(self) -> list[LedgerRow]:
        return parse_ledger(self.where.ledger.read_bytes()).rows if self.where.ledger.exists() else []

    def tool(self, session: str, name: str, **given: str) -> None:
        made = self.said(session, "")
        made["message"]["content"] = [{"type": "tool_use", "id": "t1", "name": name, "input": given}]
        self.append(session, made)

    def teach(self, session: str) -> None:
        self.tool(session, "Skill", skill="leetcode-teacher")

    def report(self, session: str, path: Path | None = None, **more: Any) -> None:
        text = f"Well done.\n\n```json\n{json.dumps({**REPORT, **more})}\n```\n"
        self.append(session, self.said(session, text), path=path)

    def compact(self, session: str) -> None:
        made = self.typed(session, "This session is being continued from a previous conversation. Summary: x")
        self.append(session, made | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True})

    def due(self, job: str) -> None:
        self.post(Due(job), only="learner")
        self.settle(0)

    @property
    def degraded(self) -> set[str]:
        return {one.id for one in self.app.list_degradations()}


def save_a_while_ago(path: Path, data: bytes) -> None:
    """A person's edit: a file that became shorter within the last second is waited for."""
    path.write_bytes(data)
    at = path.stat().st_mtime_ns - 60 * 10**9
    os.utime(path, ns=(at, at))


@pytest.fixture
def lesson(tmp_path: Path) -> Class:
    return Class(tmp_path)


def test_X_10_a_report_of_a_teaching_session_is_recorded(lesson: Class) -> None:
    """SPEC X-10, L-48: with the session's id and its local start time; once, also after a restart."""
    lesson.type("s1", "teach me two-sum")
    began = lesson.clock.wall
    lesson.settle()
    lesson.teach("s1")
    lesson.settle(3000)
    lesson.report("s1", observations="Fine.", tested=["edge:b"])
    lesson.settle()
    assert [(one.session, one.problem, one.gaps) for one in lesson.rows] == [("s1", "two-sum", "edge:a")]
    assert lesson.rows[0].stamp == local_minutes(began) and "Fine." in lesson.where.profile.read_text()
    lesson.restart()
    lesson.report("s1")
    lesson.report("s1", problem="lru")
    lesson.settle()
    assert [one.problem for one in lesson.rows] == ["two-sum", "lru"]
    assert {one.stamp for one in lesson.rows} == {local_minutes(began)}, "L-48: one stamp for a session"


def test_X_10_other_sessions_report_nothing(lesson: Class) -> None:
    """SPEC X-10: no row from a session without the skill, from a person's text, or without a verdict."""
    lesson.report("s1")
    lesson.teach("s2")
    lesson.type("s2", f"```json\n{json.dumps(REPORT)}\n```")
    lesson.append("s2", lesson.said("s2", '```json\n{"problem": "two-sum", "mode": "recall"}\n```'))
    lesson.settle()
    assert not lesson.rows and not lesson.where.profile.exists()


def test_X_10_a_report_from_before_the_skill_counts_for_nothing(lesson: Class) -> None:
    """SPEC X-10: reports before the first use of the skill are ignored, however the records are batched."""
    lesson.report("s1")
    lesson.teach("s1")
    lesson.report("s1", problem="lru")
    lesson.settle()
    assert [one.problem for one in lesson.rows] == ["lru"]
    lesson.report("s2")
    lesson.settle()
    lesson.teach("s2")
    lesson.settle()
    assert [one.problem for one in lesson.rows] == ["lru"]


def test_X_10_a_skill_that_a_person_typed_teaches(lesson: Class) -> None:
    """SPEC X-10, CLAUDE_CODE 6, rule 10: `/leetcode-teacher` with and without arguments, and of a plugin; no other
    command.
    """
    for session, name, args in (
        ("s1", "leetcode-teacher", ""),
        ("s2", "practice:leetcode-teacher", "two-sum"),
    ):
        words = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
        lesson.type(session, f"{words}\n<command-args>{args}</command-args>" if args else words)
        lesson.report(session, problem=session)
    lesson.type(
        "s3", "<command-name>/clear</command-name>\n<command-message>leetcode-teacher</command-message>"
    )
    lesson.type("s3", "what does <command-name>/leetcode-teacher</command-name> mean?")
    lesson.report("s3")
    lesson.settle()
    assert sorted(one.session for one in lesson.rows) == ["s1", "s2"]


def test_L_48_the_start_of_a_session_outlives_the_daemon(lesson: Class) -> None:
    """SPEC L-48: the stamp is the session's start, also if the daemon restarted before the first report."""
    began = lesson.clock.wall
    lesson.type("s1", "teach me")
    lesson.teach("s1")
    lesson.settle(7200)
    lesson.restart()
    lesson.report("s1")
    lesson.settle()
    assert [one.stamp for one in lesson.rows] == [local_minutes(began)]


def test_L_35_a_verdict_of_the_wrong_mode_is_refused_and_said(lesson: Class) -> None:
    """SPEC L-35, X-10: no row is written, `status` shows why, and later reports are taken."""
    lesson.teach("s1")
    lesson.report("s1", verdict="solved_independently")
    lesson.report("s1", problem="lru")
    lesson.settle()
    assert [one.problem for one in lesson.rows] == ["lru"]
    status = lesson.learner.status()
    assert "is not a verdict of the mode recall" in status["refused"][0]
    lesson.restart()
    assert lesson.learner.status()["refused"] == status["refused"]


def test_a_fork_of_a_teaching_session_reports_nothing_twice(lesson: Class) -> None:
    """SPEC L-23: a copied transcript contains the old report under a new session."""
    lesson.teach("s1")
    lesson.report("s1")
    lesson.settle()
    copied = lesson.path("s1").read_text().replace('"s1"', '"s2"').replace('"u', '"v')
    lesson.path("s2").write_text(copied)
    lesson.settle()
    assert len(lesson.rows) == 1


def test_L_48_the_session_state_file_before_a_compaction(lesson: Class) -> None:
    """SPEC L-48: a hook says that a compaction comes: the file is there before it, for a teaching session only."""
    lesson.teach("s1")
    lesson.type("s2", "hello")
    for session in ("s2", "s1"):
        assert not lesson.where.session_state.exists()
        path = str(lesson.path(session))
        lesson.engine.take_hook_inputs(
            [{"hook_event_name": "PreCompact", "session_id": session, "transcript_path": path, "cwd": "/w"}]
        )
        lesson.settle(0)
    assert "s1" in lesson.where.session_state.read_text()


def test_the_project_of_a_teaching_session_is_known(lesson: Class) -> None:
    """Later sessions there get the blocks; noted once, and not for other sessions."""
    lesson.type("s2", "hello", cwd=lesson.project("other"))
    root = lesson.project("practice")
    for _ in range(2):
        lesson.type("s1", "teach me", cwd=root)
        lesson.teach("s1")
        lesson.settle()
    state = lesson.learner._store.load_state()
    assert state.places == [str(root.resolve())] and [*state.sessions] == ["s1"]


def test_L_48_the_session_state_file_at_a_compaction(lesson: Class) -> None:
    """SPEC L-48: written for teaching sessions only, with the stamp of the session's other writes."""
    lesson.type("s1", "hello")
    lesson.compact("s1")
    lesson.settle()
    assert not lesson.where.session_state.exists()
    lesson.teach("s1")
    lesson.report("s1")
    lesson.settle(7200)
    lesson.compact("s1")
    lesson.settle()
    wanted = state_text(SessionStamp("s1", lesson.rows[0].stamp), "~/claude/leetcode-teacher-profile.md")
    assert lesson.where.session_state.read_text() == wanted
    assert lesson.where.session_state.stat().st_mode & 0o777 == 0o600


def test_L_38_the_daemon_keeps_the_files_in_step(lesson: Class) -> None:
    """SPEC L-38: entries that Claude wrote are completed once a minute; unchanged files are not written."""
    lesson.where.ledger.write_bytes(HEADER + (format_row(row(0, "edge:a")) + "\n").encode())
    lesson.where.profile.write_bytes(TEMPLATE)
    lesson.due("check")
    profile = lesson.where.profile.read_text()
    assert "(recovered from ledger)" in profile and "**edge:a**" in profile
    before = lesson.where.profile.stat()
    lesson.due("check")
    assert lesson.where.profile.stat() == before
    assert lesson.learner.status()["rows"] == 1


def test_L_37_a_crash_is_healed_at_the_next_start(lesson: Class) -> None:
    """SPEC L-37: before the first event, without waiting for other writers."""
    lesson.teach("s1")
    lesson.report("s1", observations="Fine.")
    lesson.settle()
    profile = lesson.where.profile.read_text()
    lesson.kill()
    lesson.where.profile.write_text(profile.partition("### 20")[0])
    store = lesson.learner._store
    with store.locked():  # as it was when the row was written
        store.save_state(
            LearnerState(reports=[ReportRecord(lesson.rows[0], observations="Fine.")], written={})
        )
    lesson.start(Scripted())
    assert "(recovered from ledger)\nFine." in lesson.where.profile.read_text()


def test_L_50_retests_are_flagged_daily(lesson: Class) -> None:
    """SPEC L-50: `status` shows them until they are tested."""
    golden = Path(__file__).parents[2] / "fixtures/learner/full.profile.md"
    lesson.where.profile.write_bytes(golden.read_bytes())
    lesson.clock.wall = datetime(2026, 4, 10, 9, 0).timestamp()
    lesson.due("retests")
    status = lesson.learner.status()
    assert status["retests"] == ["window:negative_indices", "heap:tie_break"]
    said = list(format_status_lines(status))
    assert said[1:] == ["retests due: window:negative_indices, heap:tie_break"]


def test_what_is_wrong_is_said_until_it_is_not(lesson: Class) -> None:
    """DESIGN "Control": malformed rows and a profile with conflict markers are degradations until they are fixed."""
    lesson.where.ledger.write_bytes(HEADER + b"| torn\n" + (format_row(row(0)) + "\n").encode())
    lesson.due("check")
    assert lesson.degraded == {"learner.rows"}
    lesson.where.profile.write_bytes(b"<<<<<<< ours\n" + TEMPLATE)
    lesson.due("check")
    assert lesson.degraded == {"learner.rows", "learner.files"}
    save_a_while_ago(lesson.where.profile, TEMPLATE)
    save_a_while_ago(lesson.where.ledger, HEADER + (format_row(row(0)) + "\n").encode())
    lesson.due("check")
    assert not lesson.degraded


def test_a_ledger_that_cannot_be_written_parks_the_report(lesson: Class) -> None:
    """DESIGN "Dispatch": a report that cannot be written is parked, and recorded once it can be."""
    lesson.where.ledger.mkdir()
    lesson.teach("s1")
    lesson.report("s1")
    lesson.settle()
    assert len(lesson.parked()) == 1 and "not an ordinary file" in lesson.parked()[0]
    lesson.where.ledger.rmdir()
    lesson.sync()
    assert len(lesson.rows) == 1 and not lesson.parked()


def test_the_status_lines_of_the_learner(tmp_path: Path) -> None:
    """SPEC L-11, L-27: one line of counts as soon as there is an entry; an entry of a person's own counts."""
    entry = (
        "- **Loop end** — goes too far.\n"
        "  First observed: 2026-02-19T14:30. Last tested: 2026-02-19T14:30. Last failed: 2026-02-19T14:30.\n"
        "  Last clean streak start: . Sessions since last failure: 0.\n  Status: new\n"
    )
    made = Class(tmp_path)
    made.where.profile.parent.mkdir(parents=True, exist_ok=True)
    save_a_while_ago(
        made.where.profile, TEMPLATE.replace(b"### Resolved", entry.encode() + b"\n### Resolved")
    )
    made.due("check")
    assert list(format_status_lines(made.learner.status())) == [
        "0 reviews in the ledger, 1 active weakness, 0 resolved"
    ]
    save_a_while_ago(made.where.ledger, HEADER + format_row(row(0, "edge:off_by_one")).encode() + b"\n")
    made.due("check")
    assert list(format_status_lines(made.learner.status())) == [
        "1 review in the ledger, 2 active weaknesses, 0 resolved"
    ]
