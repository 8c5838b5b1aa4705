"""Pruning of old sessions, and clocks that are not trusted."""

from __future__ import annotations

import pytest

from support_continuity import World, run_job
from tacitd.clock import utc_millis
from tacitd.events import Due

DAY = 86_400.0


@pytest.mark.parametrize(("age", "stays"), [(30.0, True), (30.001, False), (10.0, True)])
def test_old_sessions_go(world: World, age: float, stays: bool) -> None:
    """SPEC P-24: sessions last active more than 30 days ago are removed; exactly 30 stays; unreadable files stay."""
    world.type("s1", "go")
    world.settle()
    stamp = utc_millis(world.clock.wall - age * DAY + 30)
    world.put("s1", world.file("s1") | {"lastActiveAt": stamp, "startedAt": stamp})
    other = world.put("broken", {})
    other.write_text("{")
    world.app.handlers["continuity"].post(Due("sessions"))
    world.settle()
    assert bool(world.file("s1")) is stays
    assert other.exists()


@pytest.mark.parametrize("when", [0.0, 4.1e9])
def test_a_clock_that_is_not_believed_removes_nothing(world: World, when: float) -> None:
    """A clock in 1970 or 2100."""
    world.type("s1", "go")
    world.settle()
    world.clock.wall = when
    world.app.handlers["continuity"].post(Due("sessions"))
    world.settle()
    assert world.file("s1")
    assert "continuity.clock" in world.degraded()


def test_a_session_from_the_future_does_not_stop_the_pruning(world: World) -> None:
    """Times written in 2100 do not stop the pruning after the clock was corrected."""
    world.type("s1", "go")
    world.settle()
    old, far = utc_millis(world.clock.wall - 31 * DAY), "2100-01-01T00:00:00.000Z"
    world.put("old", world.file("s1") | {"sessionId": "old", "startedAt": old, "lastActiveAt": old})
    world.put("far", world.file("s1") | {"sessionId": "far", "startedAt": far, "lastActiveAt": far})
    world.app.handlers["continuity"].post(Due("sessions"))
    world.settle()
    assert (bool(world.file("s1")), bool(world.file("old")), bool(world.file("far"))) == (True, False, True)
    assert world.degraded() == []


def restore_backup(world: World) -> None:
    """A daemon without a state and a transcript starts on a session that is 500 days old."""
    world.type("s1", "go")
    world.settle()
    old = utc_millis(world.clock.wall - 500 * DAY)
    world.put("s1", world.file("s1") | {"startedAt": old, "lastActiveAt": old})
    world.kill()
    world.forget()
    world.transcript("s1").unlink()
    world.start()


def test_a_restored_backup_waits_for_a_session_of_today(world: World) -> None:
    """SPEC P-24: sessions that nothing touched for 400 days are removed when a session of today confirms the clock."""
    restore_backup(world)
    world.settle()
    assert "continuity.clock" in world.degraded()
    assert world.file("s1")
    world.type("s2", "hello")
    world.settle()
    run_job(world, "sessions")
    assert "continuity.clock" not in world.degraded()
    assert not world.file("s1") and world.file("s2")


def test_a_transcript_from_the_future_confirms_no_clock(world: World) -> None:
    """SPEC P-24, bad input: a record's time of another year neither confirms the clock nor makes it doubtful."""
    restore_backup(world)
    world.append("s2", world.record("user", "s2", "hello", timestamp="2100-01-01T00:00:00.000Z"))
    world.settle()
    run_job(world, "sessions")
    assert "continuity.clock" in world.degraded()
    assert world.file("s1")
