"""What waits for an end or a job, as lines. More is tested in test_cli_parked_lines.py."""

from __future__ import annotations

from pathlib import Path

from tacitd.clock import parse_utc
from tacitd.contract import Row
from tacitd.events import Project
from tacitd.state.settings_in_force import SettingsInForce
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.project_rows import list_known_projects
from tacitd.work.work_status import DaemonNote, describe_waiting, list_endings, local_time
from tacitd.work.write_modes import WriteModes


def test_the_earliest_end_of_several_sessions_is_named() -> None:
    """The rows come in any order."""
    times = ["2026-02-19T15:00:00Z", "2026-02-19T14:00:00Z", "2026-02-19T16:00:00Z"]
    sessions = [{"session": str(n), "project": "/p", "lines_about": time} for n, time in enumerate(times)]
    earliest = local_time(parse_utc(times[1]) or 0.0)
    (line,) = describe_waiting([], sessions)
    assert line == (
        f"prompts of 3 sessions in /p: until its session ends (at {earliest}, if it stays idle until then)"
    )


# --- What waits for a session's end, as `status` shows it.


def test_a_session_ends_when_it_is_idle_or_its_client_is_gone() -> None:
    """The soonest first; what the daemon says of a client that has ended counts before the idle time."""

    def rows(sql: str, *values: object) -> list[Row]:
        if "FROM setting" in sql:
            return [("session.idle", "1800.0")]
        return [
            (name, "/app", last, "Codex")
            for name, last in (("idle", 1000.0), ("gone", 1500.0), ("over", 10.0))
        ]

    note = DaemonNote("1", 1, 0.0, 0.0, "/", 3, ends={"gone": 1620.0})
    found = list_endings(rows, note, SettingsInForce(rows), 1600.0)
    assert [(name, at) for name, _, at, _ in found] == [("gone", 1620.0), ("over", 1810.0), ("idle", 2800.0)]
    assert found[0] == ("gone", "/app", 1620.0, "Codex")


# --- The projects that the daemon knows.


def test_the_projects_of_the_store_are_known(tmp_path: Path) -> None:
    """Sorted; none without a store, and none of a file that is no store."""
    assert list_known_projects(tmp_path) == []
    store = Store.open(tmp_path, FakeClock())
    with store.write() as tx:
        for root in ("/w/lib", "/w/app"):
            tx.execute("INSERT INTO project(root, first_seen) VALUES(?, 1)", root)
    store.close()
    assert list_known_projects(tmp_path) == ["/w/app", "/w/lib"]
    (tmp_path / "tacitd.sqlite").write_bytes(b"x" * 9000)
    assert list_known_projects(tmp_path) == []


# --- The write modes of projects, as `tacitd share` and `tacitd exclude` choose them.


ROOT = Path("/w")


def test_choices_are_read_by_a_running_daemon(tmp_path: Path) -> None:
    """`tacitd share` is another process; `off` in the configuration overrides every choice; `exclude --undo` goes back to the choice
    before."""
    tmp_path.chmod(0o700)
    here, there = WriteModes(tmp_path, FakeClock()), WriteModes(tmp_path, FakeClock())
    off, project = WriteModes(tmp_path, FakeClock(), "off"), Project(ROOT, True)
    modes = []
    for choice in ("shared", "off", ""):
        there.set_mode(ROOT, choice)
        modes.append(here.get_mode(project))
    assert modes == ["shared", "off", "shared"] and off.get_mode(project) == "off"
