"""What the model's parts know of earlier calls."""

from __future__ import annotations

from pathlib import Path

from tacitd.files.log import Log
from tacitd.model_factory import OWN_SESSIONS_KEPT, load_own_sessions
from tacitd.state.layout import StateLayout
from tacitd.testing import FakeClock


def write_sessions(root: Path, clock: FakeClock, count: int) -> Log:
    """Half of them are older than what is kept, and one line is of another form."""
    log = Log(root / "own-sessions.jsonl")
    old = clock.now() - OWN_SESSIONS_KEPT - 10.0
    for number in range(count):
        log.append({"at": old if number < count // 2 else clock.now() - 5.0, "session": f"s{number}"})
    log.append({"session": "without a time"})
    log.close()
    return log


def test_a_year_of_own_sessions_is_not_kept(tmp_path: Path) -> None:
    """Transcripts of old calls no longer exist, so their ids need not be known."""
    clock = FakeClock()
    log = write_sessions(tmp_path, clock, 10_000)
    before = log.size
    known = load_own_sessions(StateLayout(tmp_path), clock)
    assert known == {f"s{number}" for number in range(5_000, 10_000)} | {"without a time"}
    assert log.size < 0.6 * before and load_own_sessions(StateLayout(tmp_path), clock) == known


def test_a_clock_that_is_ahead_forgets_none(tmp_path: Path) -> None:
    """The age counts from the newest record."""
    clock = FakeClock()
    log = write_sessions(tmp_path, clock, 10_000)
    clock.jump(10 * OWN_SESSIONS_KEPT)
    assert len(load_own_sessions(StateLayout(tmp_path), clock)) == 5_001
    assert log.size > 0


def test_a_short_log_is_left_alone(tmp_path: Path) -> None:
    """It is only read."""
    log = write_sessions(tmp_path, FakeClock(), 10)
    before = log.path.read_bytes()
    load_own_sessions(StateLayout(tmp_path), FakeClock())
    assert log.path.read_bytes() == before
