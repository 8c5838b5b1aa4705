"""Without `claude` on the machine the daemon runs, reports what is missing, and loses nothing until it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_daemon import MakeDaemon

pytestmark = pytest.mark.scenario
ELSEWHERE = [Path("/usr/local/bin/claude"), Path("/opt/homebrew/bin/claude"), Path("/usr/bin/claude")]


@pytest.mark.skipif(any(one.exists() for one in ELSEWHERE), reason="a real claude is installed system-wide")
def test_without_claude_words_wait_in_sight_and_are_learned_when_it_comes(make: MakeDaemon) -> None:
    """SPEC S-08, DESIGN "Model": without the client other work continues; `status` lists what waits and for what."""
    daemon = make(claude=False)
    daemon.start()
    shown = daemon.cli("status")
    assert shown.returncode == 0
    assert "`claude` was not found" in shown.stdout
    assert "install Claude Code" in shown.stdout
    daemon.type_("s1", "Prefers amber-11")
    synced = daemon.cli("sync")
    assert synced.returncode == 75
    assert "was not found" in synced.stderr
    parked = json.loads(daemon.cli("status", "--json").stdout)["parked"]
    assert [one["handler"] for one in parked] == ["learning"]
    assert not (daemon.project / "LEARNED.md").exists()
    daemon.install_claude()
    assert daemon.cli("sync").returncode == 0
    daemon.synthesize()
    assert daemon.learned == ["Prefers amber-11"]
    assert daemon.status()["degraded"] == []
