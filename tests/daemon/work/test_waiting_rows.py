"""What waits for a session's end, as `status` shows it."""

from __future__ import annotations

from tacitd.contract import Row
from tacitd.state.settings_in_force import SettingsInForce
from tacitd.work.work_status import DaemonNote, list_endings


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
