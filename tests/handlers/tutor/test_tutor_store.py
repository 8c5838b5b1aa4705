"""The tutor's files: every transition is durable, one writer, damaged logs, crashes (SPEC T-24)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_tutor import KEY, lead_to, make_plan, make_store
from tacitd.errors import TacitdError, UnavailableError
from tacitd.testing import FakeClock
from tacitd_handlers.tutor.session_model import Answered, Step


def test_a_torn_last_record_costs_one_transition(tmp_path: Path) -> None:
    """SPEC T-24: the process was killed in the middle of a write."""
    store = make_store(tmp_path)
    with store.start_session(make_plan()) as session:
        before = lead_to(session, Step.PROBE_ANSWER)
        session.record_event(Answered("lost"))
    log = tmp_path / "tutor" / "sessions" / f"{before.plan.session}.jsonl"
    log.write_bytes(log.read_bytes()[:-5])
    with store.open_session(before.plan.session) as again:
        assert again.state == before
        again.record_event(Answered("kept"))
    with store.open_session(before.plan.session) as third:
        assert third.state.answer == "kept"


def test_two_terminals_on_one_session(tmp_path: Path) -> None:
    """SPEC T-24: the second is refused with a sentence; after the first has left, the session can be opened."""
    store = make_store(tmp_path)
    with store.start_session(make_plan()) as session:
        id = session.state.plan.session
        with (
            pytest.raises(UnavailableError, match="is open in process"),
            make_store(tmp_path).open_session(id),
        ):
            pass
    with store.open_session(id):
        pass
    assert list(store.sessions.glob("*.lock")) == []


def test_the_readable_log_is_complete_and_has_keys_only_at_the_end(tmp_path: Path) -> None:
    """SPEC T-19: every question, answer and score; the keys when the session is over."""
    store = make_store(tmp_path)
    with store.start_session(make_plan()) as session:
        file = tmp_path / "tutor" / "sessions" / f"{session.state.plan.session}.md"
        lead_to(session, Step.GRADE)
        store.write_copy(session.found)
    assert KEY not in file.read_text()
    with store.open_session(session.state.plan.session) as session:
        lead_to(session, Step.FINISHED)
        store.write_copy(session.found)
    text = file.read_text()
    wanted = [
        "Check?",
        "micro-quiz-mark?",
        "Test of o1?",
        "**Incorrect.** Because.",
        "- 0.80 Objective number 1",
        KEY,
    ]
    assert [one for one in wanted if one not in text] == []
    assert text.count("\n> ") == len([e for e in session.found.events if isinstance(e.event, Answered)])


def test_the_readable_log_of_an_expired_session(tmp_path: Path) -> None:
    """SPEC T-24: a copy that was written while it was open says in the end that it is over."""
    clock = FakeClock()
    store = make_store(tmp_path, clock)
    with store.start_session(make_plan()) as session:
        lead_to(session, Step.PROBE_ANSWER)
        assert "The session is open." in store.write_copy(session.found).read_text()
    clock.jump(31 * 86400.0)
    (found,) = store.list_sessions()
    assert "The session is expired." in store.write_copy(found).read_text()


@pytest.mark.parametrize("id", ["../x", "nothing", "20260101-1200-two-ffff", ""])
def test_an_unknown_session(id: str, tmp_path: Path) -> None:
    """DESIGN "Priorities": an id is no path."""
    with pytest.raises(TacitdError, match="no session"), make_store(tmp_path).open_session(id):
        pass


@pytest.mark.parametrize(
    "record",
    [
        "not json",
        "[" * 100_000,
        '{"v":2,"at":1,"event":"Skipped"}',
        '{"v":1,"at":1,"event":"Spoke"}',
        '{"v":1,"at":1,"event":"QuestionsMade","questions":[]}',
        '{"v":1,"at":1,"event":"Scored","scores":{}}',
    ],
)
def test_a_damaged_record_is_counted_and_stops_nothing(tmp_path: Path, record: str) -> None:
    """SPEC T-24, X-07: nor is what a newer version wrote guessed."""
    store = make_store(tmp_path)
    with store.start_session(make_plan()) as session:
        before = lead_to(session, Step.BUILD_QUIZ)
    log = store.sessions / f"{before.plan.session}.jsonl"
    with log.open("a") as file:
        file.write(f"{record}\n")
    with store.open_session(before.plan.session) as again:
        assert (again.state, again.found.bad) == (before, 1)
    (found,) = store.list_sessions()
    assert found.state == before and store.bad == 1


@pytest.mark.parametrize(
    "change", [("-two-", "-one-"), ('"v":1', '"v":2'), ('"objectives":[', '"objectives":[],"x":[')]
)
def test_a_damaged_log_is_counted_and_stops_nothing(tmp_path: Path, change: tuple[str, str]) -> None:
    """SPEC T-24: one that names another session, of a newer version, without objectives."""
    store = make_store(tmp_path)
    with store.start_session(make_plan()) as session:
        id = session.state.plan.session
    log = store.sessions / f"{id}.jsonl"
    log.write_text(log.read_text().replace(*change))
    assert store.list_sessions() == [] and store.bad == 1
    with pytest.raises(TacitdError, match="no session"), store.open_session(id):
        pass
