"""What a person released, and for how long that is remembered. More is tested in test_state_logs.py."""

from __future__ import annotations

from pathlib import Path

from tacitd.dispatch.pauses import PausedScopes
from tacitd.files.log import Log
from tacitd.testing import DAY, FakeClock


def test_a_released_session_is_remembered_for_30_days(tmp_path: Path) -> None:
    """CLAUDE_CODE section 0 fact 5: by then the client has deleted its transcript."""
    clock, log = FakeClock(), Log(tmp_path / "paused.jsonl")
    PausedScopes(log, clock).let_go(["s"])
    clock.advance(30 * DAY - 5.0)
    assert PausedScopes(log, clock).list_let_go() == ["s"]
    clock.advance(10.0)
    assert PausedScopes(log, clock).list_let_go() == []
