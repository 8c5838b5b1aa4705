"""The session-start text: SPEC L, first page, byte for byte; L-02, L-05, L-27, L-48 to L-52."""

from __future__ import annotations

import fcntl
import os
import sys
from datetime import datetime
from pathlib import Path

import pytest

from support_learner import Desk, stamp
from tacitd.testing import FakeClock
from tacitd_handlers.learner.learner_paths import LearnerPaths, resolve_paths
from tacitd_handlers.learner.learner_store import LearnerStore
from tacitd_handlers.learner.notices import find_retests
from tacitd_handlers.learner.session_stamps import SessionStamp, state_text
from tacitd_handlers.learner.session_start import build_context, hook_session

GOLDEN = Path(__file__).parents[2] / "fixtures/learner"


def at(text: str) -> FakeClock:
    return FakeClock(datetime.fromisoformat(text).timestamp())


def home(tmp_path: Path, profile: str = "") -> LearnerPaths:
    where = resolve_paths({"HOME": str(tmp_path)})
    where.profile.parent.mkdir(parents=True)
    if profile:
        where.profile.write_bytes((GOLDEN / f"{profile}.profile.md").read_bytes())
    return where


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.context.txt").read_bytes().decode()


def test_L_51_fresh(tmp_path: Path) -> None:
    """SPEC L-51: at the first session both files are created, the header says so, and the last line asks for About
    Me.
    """
    where = home(tmp_path)
    said = build_context(where, "5f0c1a77-8d9e-4a55-9a3e-0b6a4f1f2c11", at("2026-02-19T14:30:59"))
    assert said.text == golden("fresh") and not said.trouble
    assert where.profile.read_bytes() == (GOLDEN / "template.profile.md").read_bytes()
    assert where.ledger.read_text().startswith("# Session Ledger\n\n| Timestamp |")
    assert {path.stat().st_mode & 0o777 for path in (where.profile, where.ledger)} == {0o600}


def test_L_51_a_ledger_that_is_there_stays(tmp_path: Path) -> None:
    """SPEC L-04, L-51: if only the profile is lost, the ledger is kept."""
    where = home(tmp_path)
    where.ledger.write_text("mine\n")
    build_context(where, "s", at("2026-02-19T14:30"))
    assert where.ledger.read_text() == "mine\n"


def test_L_51_the_first_session_stays_the_first_after_a_compaction(tmp_path: Path) -> None:
    """SPEC L-51, L-48: a second session start with the same id prints the same stamp and the same request."""
    where = home(tmp_path)
    first = build_context(where, "s", at("2026-02-19T14:30")).text
    assert build_context(where, "s", at("2026-02-19T17:00")).text == first
    assert "[FIRST SESSION]" not in build_context(where, "t", at("2026-02-20T09:00")).text


def test_L_50_new(tmp_path: Path) -> None:
    """SPEC L-50, L-51: the second session: nothing is recorded yet, so nothing is suggested."""
    said = build_context(home(tmp_path, "new"), "second", at("2026-02-20T08:05"))
    assert said.text == golden("new")


def test_L_05_L_50_full(tmp_path: Path) -> None:
    """SPEC L-50: every block, 14 days inclusive; SPEC L-05: an unreadable ledger changes nothing."""
    where = home(tmp_path, "full")
    where.ledger.mkdir()  # opening this for reading fails, also as root
    store = LearnerStore(where, at("2026-04-09T19:00"))
    with store.locked():
        line = "[SYNC] Appended missing ledger row for 2026-04-08T21:15 session (pattern=unknown)."
        store.change_state(lambda state: state.add_notices([line]))
    assert build_context(where, "third", at("2026-04-10T09:00")).text == golden("full")
    again = build_context(where, "third", at("2026-04-10T09:30")).text
    assert "[SYNC]" not in again and again.startswith(golden("full")[:200])


OPENED: list[str] | None = None


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and OPENED is not None:
        OPENED.append(str(arguments[0]))


sys.addaudithook(_audit)


def test_L_05_the_ledger_is_never_opened(tmp_path: Path) -> None:
    """SPEC L-05: Python never opens it, with any profile, and whether it is readable or not."""
    global OPENED
    where = home(tmp_path, "full")
    where.ledger.write_text("x\n")
    where.ledger.chmod(0o000)
    OPENED = []
    try:
        build_context(where, "a", at("2026-04-10T09:00"))
        where.profile.write_bytes(b"## About Me\n")
        build_context(where, "b", at("2026-04-10T09:00"))
    finally:
        opened, OPENED = OPENED, None
    assert str(where.profile) in opened and str(where.ledger) not in opened


def test_L_02_what_is_restored_is_said_and_filled_later(tmp_path: Path) -> None:
    """SPEC L-02: the seed's wording; a section that was restored empty is filled again later."""
    desk = Desk(tmp_path)
    desk.record(gaps="edge:a")
    text = desk.text
    desk.where.profile.write_text(text.partition("## Known Weaknesses")[0] + "## Mine\n\nwords\n")
    said = build_context(desk.where, "s", at("2026-03-01T09:00")).text
    for name in ("Known Weaknesses", "Session History"):
        assert (
            f"[REPAIRED] Restored missing section: {name}. Let the learner know if they didn't intend to remove it.\n"
            in said
        )
    assert "About Me. Let" not in said and "## Mine\n\nwords\n" in said
    desk.look()
    assert desk.entry("edge:a").status == "new" and len(desk.profile.sessions) == 1 and not desk.state.removed


def test_L_27_who_waits_for_room_is_said(tmp_path: Path) -> None:
    """SPEC L-27: the notice suggests entries to archive, most resolved first, until there is room."""
    desk = Desk(tmp_path)
    for number in range(21):
        desk.record(f"p{number}", pattern=f"x{number}", gaps=f"edge:{number}")
    for _ in range(2):
        desk.record("p4", pattern="x4")
    line = (
        "\n[CAP] Known Weaknesses is full (20). Waiting for room: edge:20. To archive, if the learner agrees, "
        "most resolved first: edge:4 (new), edge:0 (new), edge:1 (new). "
        "Command: `tacitd learner archive edge:4`.\n"
    )
    for session in ("a", "b"):
        assert line in build_context(desk.where, session, at("2026-04-01T09:00")).text
    desk.take_out("edge:7")
    desk.record("p4", pattern="x4")
    assert "[CAP]" not in build_context(desk.where, "c", at("2026-04-01T09:00")).text


def test_L_48_a_leftover_state_file_is_another_sessions(tmp_path: Path) -> None:
    """SPEC L-48: the stamp of another session's file is not used, as the original did."""
    where = home(tmp_path, "new")
    where.session_state.write_text(state_text(SessionStamp("old", "2025-01-01T10:00"), "~/x"))
    assert (
        "Session Timestamp: 2026-02-20T08:05" in build_context(where, "second", at("2026-02-20T08:05")).text
    )
    assert "Session Timestamp: 2025-01-01T10:00" in build_context(where, "old", at("2026-02-20T08:05")).text


def test_L_49_no_id(tmp_path: Path) -> None:
    """SPEC L-49: `manual`."""
    assert "Session ID: manual\n" in build_context(home(tmp_path, "new"), "", at("2026-02-20T08:05")).text


def test_L_50_retests_come_from_the_profile(tmp_path: Path) -> None:
    """SPEC L-50: retests are only suggested; nothing is changed."""
    desk = Desk(tmp_path)
    desk.record(days=0, gaps="edge:a")
    for days in (1, 2, 3):
        desk.record(days=days)
    before = desk.text
    assert not find_retests(desk.profile, stamp(16.99)) and len(find_retests(desk.profile, stamp(17))) == 1
    assert desk.text == before


def test_a_profile_that_is_no_text_is_printed_as_it_is(tmp_path: Path) -> None:
    """SPEC L-02: a profile that cannot be parsed is printed unchanged, and nothing in it is repaired."""
    where = home(tmp_path)
    data = b"## About Me\n\xe9\xff\n"
    where.profile.write_bytes(data)
    said = build_context(where, "s", at("2026-02-20T08:05"))
    assert data in said.text.encode("utf-8", "surrogateescape") and said.trouble
    assert where.profile.read_bytes() == data


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 3: with a full disk the blocks are printed."""
    where = home(tmp_path, "full")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert "=== END LEARNER PROFILE ===" in build_context(where, "s", at("2026-02-20T08:05")).text


def test_L_49_the_hooks_input_in_a_process_with_many_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC L-49: `select` refuses descriptors above 1023, and the parent process may leave that many open."""
    ours, theirs = os.pipe()
    os.write(theirs, b'{"session_id":"abc"}')
    os.close(theirs)
    high = fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 1100)
    os.close(ours)
    with os.fdopen(high) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert hook_session(0.5) == "abc"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b'{"session_id":"abc","hook_event_name":"SessionStart","source":"startup"}\n', "abc"),
        (b'{"session_id": 5}', ""),
        (b"{broken}", ""),
        (b"[]", ""),
        (b"", ""),
    ],
)
@pytest.mark.parametrize("closed", [True, False])
def test_L_49_the_hooks_input(
    monkeypatch: pytest.MonkeyPatch, text: bytes, wanted: str, closed: bool
) -> None:
    """SPEC L-49, CLAUDE_CODE 4: the id is read from standard input; a pipe that stays open does not block."""
    ours, theirs = os.pipe()
    os.write(theirs, text)
    if closed:
        os.close(theirs)
    with os.fdopen(ours) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert hook_session(0.5) == wanted
    if not closed:
        os.close(theirs)
