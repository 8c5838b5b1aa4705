"""The profile's handler: findings, the clock, `.processed_turns`, status; and the text for a session's start."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support_profile import DAY, GOLDEN, NOW, Box
from tacitd.events import Due, NoProject, Record, SessionStarted, TranscriptGrew
from tacitd.handler import Done, Later, Notice
from tacitd.session_context.context_request import ContextRequest
from tacitd.testing import ScriptedModel
from tacitd_handlers.profile import make_plugin as make
from tacitd_handlers.profile import turn_counts
from tacitd_handlers.profile.context import build_section

NOWHERE = NoProject("", "")


def grew(box: Box, session: str, lines: int, at: float = NOW) -> TranscriptGrew:
    path = box.root / "claude" / "projects" / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{}\n" * lines)
    record = Record(0, 3 * lines, "user", session=session, time=at)
    return TranscriptGrew(path, session, NOWHERE, (record,), 0, 3 * lines, False)


def test_a_finding_is_taken_in_once(box: Box) -> None:
    """SPEC P-30: a finding is validated, merged and logged once. The model is not called."""
    box.start()
    for _ in range(2):
        assert isinstance(box.told("t1", {"tools": {"editor": "vi"}, "work": {"role": 3}}, "s9"), Done)
    assert box.profile["tools"] == {"editor": "vi"}
    assert box.meta["tools.editor"]["seenCount"] == 1
    assert [one["session_id"] for one in box.changelog] == ["s9"]
    assert isinstance(box.model, ScriptedModel)
    assert box.model.asked == []


def test_what_was_learned_is_said_by_its_path_only(box: Box) -> None:
    """Only the path is announced: others may read the log, and the value stays in its 0600 file."""
    box.start()
    box.told("t1", {"tools": {"editor": "vi"}, "work": {"role": "nurse"}})
    assert box.notices == [
        Notice("learned", "your work.role", "profile.json", item="work.role"),
        Notice("learned", "your tools.editor", "profile.json", item="tools.editor"),
    ]


@pytest.mark.parametrize("data", [{}, {"facts": 1}, {"codePreferences": {"tone": "rude"}}])
def test_nothing_usable_is_no_error(box: Box, data: dict[str, object]) -> None:
    """SPEC P-06: an answer without a usable leaf is an empty finding."""
    box.start()
    assert isinstance(box.told("t1", data), Done)
    assert not box.directory.exists()
    assert box.handler.status()["found"]["nothing"] == 1


def test_a_broken_profile_waits_and_is_said(box: Box) -> None:
    """The finding waits, status lists the file, and after the repair nothing is lost."""
    path = box.put("profile.json", "{")
    box.start()
    outcome = box.told("t1", {"tools": {"editor": "vi"}})
    assert isinstance(outcome, Later)
    assert "profile.broken" in box.degraded
    assert "unreadable" in box.handler.status()
    path.write_text("{}")
    assert isinstance(box.told("t1", {"tools": {"editor": "vi"}}), Done)
    assert box.degraded == {}
    assert box.profile["tools"] == {"editor": "vi"}


def test_time_passes_daily_and_what_is_due_goes_at_once(box: Box) -> None:
    """SPEC P-16: runs are at least 24 hours apart and missed ones are one; a value under 0.1 goes within an hour."""
    box.learn(tools__editor="vi")
    box.start()
    box.clock.advance(3600)
    box.play(Due("fade"))
    assert box.meta["tools.editor"]["confidence"] == 1.0
    box.clock.advance(5 * DAY)
    box.play(Due("fade"))
    assert box.meta["tools.editor"]["confidence"] == pytest.approx(0.5 ** ((5 + 1 / 24) / 30))
    box.clock.advance(94.6 * DAY)
    box.play(Due("fade"))
    assert "tools" in box.profile
    box.clock.advance(3600)
    box.play(Due("fade"))
    assert "tools" not in box.profile


def test_a_clock_that_is_not_believed_is_said(box: Box) -> None:
    """SPEC P-13: a clock more than 400 days after the newest transcript suspends decay and is a degradation."""
    box.learn(tools__editor="vi")
    box.start()
    box.play(grew(box, "s1", 3))
    box.clock.jump(70 * 365 * DAY)
    box.play(Due("fade"))
    assert "profile.clock" in box.degraded
    assert box.handler.status()["suspended"]
    box.clock.jump(-70 * 365 * DAY + 30 * DAY)
    box.play(Due("fade"))
    assert box.degraded == {}
    assert box.meta["tools.editor"]["confidence"] == pytest.approx(0.5, rel=1e-6)


def test_processed_turns_are_published(box: Box) -> None:
    """SPEC P-27 to P-31: the seed's format, in place, complete lines; a removed transcript's line is removed."""
    assert turn_counts.parse_counts((GOLDEN / "processed_turns").read_text()) == {
        "abc123": 45,
        "def456": 128,
        "ghi789": 23,
    }
    box.directory.mkdir(mode=0o700)
    path = box.directory / ".processed_turns"
    path.write_bytes((GOLDEN / "processed_turns").read_bytes())
    for name in ("def456", "ghi789"):
        grew(box, name, 1)
    box.start()
    box.play(grew(box, "ghi789", 25))
    box.play(grew(box, "new", 2))
    box.play(Due("turns"))
    assert path.read_text() == "def456:128\nghi789:25\nnew:2\n"
    box.play(grew(box, "new", 1))  # rewritten: counted from zero (SPEC P-29)
    (box.root / "claude" / "projects" / "p" / "def456.jsonl").unlink()
    box.play(Due("changelog"))
    assert path.read_text() == "ghi789:25\nnew:1\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_processed_turns_are_complete_after_a_crash(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC P-28, P-30: what was read before a crash and not published is in the next file; counted lines are not read again."""
    path = box.directory / ".processed_turns"
    box.start()
    box.play(grew(box, "a", 3))
    box.play(Due("turns"))
    events = [grew(box, "a", 5), grew(box, "b", 2)]
    # And b's position was committed by an engine that died before its event was published.
    box.play(events[0])
    box.positions = [(one.session, one.transcript, one.end) for one in events]
    read: list[tuple[int, int]] = []
    pread = os.pread

    def watched(fd: int, size: int, offset: int) -> bytes:
        read.append((size, offset))
        return pread(fd, size, offset)

    monkeypatch.setattr(os, "pread", watched)
    box.start()
    box.play(Due("turns"))
    assert path.read_text() == "a:5\nb:2\n"
    size = events[0].end // 5
    assert (2 * size, 3 * size) in read
    assert (5 * size, 0) not in read


def test_old_files_wait_for_a_fresh_record_only(box: Box) -> None:
    """SPEC P-13: a profile that nothing touched for 400 days is no wrong clock once a transcript grows."""
    box.learn(tools__editor="vi")
    box.clock.advance(500 * DAY)
    box.start()
    box.play(Due("fade"))
    assert "profile.clock" in box.degraded
    assert "tools" in box.profile
    box.play(grew(box, "s1", 3, box.clock.now()))
    assert box.posted == [Due("fade")]
    box.play(box.posted[0])
    assert box.degraded == {}
    assert "tools" not in box.profile


def test_files_from_the_future_wait_for_a_fresh_record_only(box: Box) -> None:
    """SPEC P-13: files that a machine with a wrong clock wrote are no wrong clock once a transcript grows, and fade from then on."""
    box.clock.advance(3000 * DAY)
    box.learn(tools__editor="vi")
    box.clock.advance(-3000 * DAY)
    box.start()
    box.play(Due("fade"))
    assert "profile.clock" in box.degraded
    box.play(grew(box, "s1", 3, box.clock.now()))
    box.play(box.posted[0])
    assert box.degraded == {}
    assert box.profile["tools"] == {"editor": "vi"}
    box.clock.advance(101 * DAY)
    box.play(grew(box, "s1", 6, box.clock.now()))
    box.play(Due("fade"))
    assert "tools" not in box.profile


def test_a_crash_is_finished_at_the_start(box: Box) -> None:
    """RELIABILITY row 2: an interrupted change is finished at the next start, without a further finding."""
    from tacitd.testing import Crash, FaultyDisk

    box.learn(tools__editor="vi")
    at = box.store
    at.disk = FaultyDisk(crash_at=9)
    with pytest.raises(Crash):
        at.set_value("tools.editor", "helix")
    assert json.loads(next((box.root / "state" / "handlers" / "profile").glob("*.json")).read_text())[
        "intent"
    ]
    box.start()
    assert box.profile["tools"] == {"editor": "helix"}
    assert box.meta == {}
    assert box.changelog[-1]["action"] == "update"


def test_the_slice(box: Box) -> None:
    """DESIGN "Plugins": the profile never calls the model; events that it does not handle are done."""
    one = make()
    assert (one.name, one.uses_model, [job.name for job in one.jobs]) == (
        "profile",
        False,
        ["fade", "changelog", "turns"],
    )
    box.start()
    assert isinstance(box.play(SessionStarted("s", Path("/x"), NOWHERE, NOW)), Done)
    assert box.handler.sources is not None
    assert box.handler.status() == {
        "directory": str(box.directory), "found": {}, "learned": 0, "own": [], "next": None, "suspended": "",
    }  # fmt: skip


@pytest.fixture
def here(box: Box, monkeypatch: pytest.MonkeyPatch) -> Box:
    for name, value in box.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("time.time", box.clock.now)
    return box


def test_the_context_is_short_and_leaves_out_what_has_faded(here: Box) -> None:
    """At most 12 lines, within the budget, without values whose confidence is under 0.1."""
    assert build_section(ContextRequest(Path("/"), 9000)) == ""
    here.learn(tools__editor="vi", work__languages=("Go", "Rust"))
    here.store.set_value("custom.note", "a\nb\x1b[0m")
    assert build_section(ContextRequest(Path("/"), 9000)).splitlines() == [
        "## The person you work with", "- Languages: Go, Rust", "- Editor: vi", "- custom.note: a b",
    ]  # fmt: skip
    assert (
        build_section(ContextRequest(Path("/"), 60)) == "## The person you work with\n- Languages: Go, Rust"
    )
    assert build_section(ContextRequest(Path("/"), 10)) == ""
    for n in range(30):
        here.store.set_value(f"custom.n{n}", "x")
    assert len(build_section(ContextRequest(Path("/"), 9000)).splitlines()) == 12
    here.clock.advance(100 * DAY)
    assert "Editor" not in build_section(ContextRequest(Path("/"), 9000))
    here.put("profile.json", "{")
    assert build_section(ContextRequest(Path("/"), 9000)) == ""


def test_the_context_keeps_what_is_the_persons_in_a_faded_list(here: Box) -> None:
    """SPEC P-17: until decay is written, a faded list still shows the elements that the person added."""
    here.learn(interests=("chess",), tools__editor="vi")
    here.edit(interests=["chess", "tea"])
    assert build_section(ContextRequest(Path.cwd(), 9000)).splitlines()[1:] == [
        "- Editor: vi",
        "- Interests: chess, tea",
    ]
    meta = here.read("profile-meta.json")
    for one in meta["preferences"]:
        one["confidence"] = 0.01
    here.put("profile-meta.json", meta)
    assert build_section(ContextRequest(Path.cwd(), 9000)).splitlines()[1:] == ["- Interests: tea"]


def test_the_context_writes_nothing(here: Box) -> None:
    """A session's start must not create or change a file."""
    build_section(ContextRequest(Path("/"), 9000))
    assert not here.directory.exists()
    assert not os.path.exists(here.root / "state")
