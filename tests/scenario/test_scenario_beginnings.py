"""Sessions as the client begins them, with a real daemon: first records that name no directory, later prompts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from support_beginnings import SHAPES
from support_daemon import Daemon, MakeDaemon
from tacitd.clock import parse_utc
from tacitd.sources.sessions import GONE_FOR

pytestmark = pytest.mark.scenario


def open_session(daemon: Daemon, session: str, shape: str) -> None:
    """The client opens a session, and the daemon reads that before anything is typed."""
    daemon.begins = shape
    daemon.begin(session)
    daemon.sync()


@pytest.mark.parametrize("shape", ["2.1.328", "2.1.328 cleared", "2.1.197", "2.0.76"])
def test_a_line_that_a_person_deleted_is_no_longer_known(make: MakeDaemon, shape: str) -> None:
    """SPEC S-41, S-43: the project is watched, so a fact whose line was removed is not dropped as known."""
    assert shape in SHAPES
    daemon = make()
    daemon.start()
    open_session(daemon, "s1", shape)
    daemon.type_("s1", "Prefers amber-1")
    daemon.type_("s1", "Prefers basalt-2")
    daemon.synthesize()
    summary, learned = daemon.project / "tmp/known-facts-summary.md", daemon.project / "LEARNED.md"
    assert "Prefers amber-1" in summary.read_text()
    learned.write_text(learned.read_text().replace("- Prefers amber-1\n", ""))
    daemon.sync()
    daemon.wait_until(
        lambda _: "Prefers amber-1" not in summary.read_text(), "the line is not known any more"
    )
    assert "Prefers basalt-2" in summary.read_text()
    assert daemon.status()["watching"]["projects"] == [str(daemon.project)]


def test_a_session_of_a_second_ends_two_minutes_later(make: MakeDaemon) -> None:
    """CLAUDE_CODE fact 18: its client is found when its transcript first grows; `status` names the time of its lines."""
    daemon = make()
    daemon.start()
    folder = daemon.home / ".claude" / "sessions"
    folder.mkdir()
    daemon.type_("other", "Prefers basalt-2")  # open already: the files were just read
    daemon.wait_until(lambda status: len(status["sessions"]) == 1)
    client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        claim = folder / f"{client.pid}.json"
        claim.write_text(json.dumps({"pid": client.pid, "sessionId": "s1", "kind": "interactive"}))
        daemon.type_("s1", "Prefers amber-1")
        daemon.wait_until(lambda status: len(status["sessions"]) == 2)
        claim.unlink()
    finally:
        client.communicate()

    def soon(status: dict[str, object]) -> bool:
        rows = {row["session"]: parse_utc(row["lines_about"]) for row in status["sessions"]}  # type: ignore[attr-defined]
        return (rows["s1"] or 0.0) - (parse_utc(status["as_of"]) or 0.0) <= GONE_FOR

    status = daemon.wait_until(soon, "the client is gone")
    said = daemon.cli("status").stdout
    assert f"waits     prompts of 2 sessions in {daemon.project}: until its session ends (at " in said
    assert status["sessions"][0]["project"] == str(daemon.project)
