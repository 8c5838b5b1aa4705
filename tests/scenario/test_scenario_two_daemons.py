"""Two daemons with two homes learn in one project: both keep the same copy."""

from __future__ import annotations

import pytest

from support_daemon import Daemon, MakeDaemon, bullets, until
from support_waiting import PATIENCE

pytestmark = pytest.mark.scenario
AMBER, BASALT, COBALT, DELTA = "Prefers amber-1", "Prefers basalt-2", "Prefers cobalt-3", "Prefers delta-4"


def test_two_daemons_in_one_project(make: MakeDaemon) -> None:
    """Both add to LEARNED.md, and the copy follows. Nothing is rewritten in turns, and a deleted line stays away."""
    first, second = make(), make()
    project = first.project
    learned, copy = project / "LEARNED.md", project / ".claude" / "rules" / "tacitd-learned.md"
    first.start()
    second.start()

    def learn(daemon: Daemon, session: str, words: str) -> None:
        daemon.begin(session, project)
        daemon.type_(session, words, project)
        daemon.synthesize(project)
        until(lambda: words in bullets(learned), PATIENCE, daemon.said)

    def compare() -> bool:
        """Let both compare the files, which they do by themselves once a minute."""
        return all(daemon.sync() == [] for daemon in (first, second))

    def agree(*lines: str) -> None:
        until(
            lambda: (
                compare() and sorted(bullets(learned)) == sorted(lines) and bullets(copy) == bullets(learned)
            ),
            PATIENCE,
            lambda: f"{learned.read_text()}\n{copy.read_text()}\n{first.said()}\n{second.said()}",
        )

    def look_again() -> None:
        for daemon in (first, second):
            for job in ("recover", "tidy"):
                daemon.call("due", job=job, project=str(project))
            daemon.sync()

    learn(first, "a1", AMBER)
    agree(AMBER)
    learn(second, "b1", BASALT)
    agree(AMBER, BASALT)
    learn(first, "a2", COBALT)
    agree(AMBER, BASALT, COBALT)
    learn(second, "b2", DELTA)
    agree(AMBER, BASALT, COBALT, DELTA)
    look_again()
    before = [(path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in (learned, copy)]
    for _ in range(3):
        look_again()
    after = [(path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in (learned, copy)]
    assert after == before
    learned.write_text(learned.read_text().replace(f"- {BASALT}\n", ""))
    agree(AMBER, COBALT, DELTA)
    learn(first, "a3", "Prefers ebony-5")
    agree(AMBER, COBALT, DELTA, "Prefers ebony-5")

    assert all("not written" not in daemon.cli("status").stdout for daemon in (first, second))
    assert second.cli("exclude", str(project)).returncode == 0
    second.sync()
    agree(AMBER, COBALT, DELTA, "Prefers ebony-5")
    assert first.cli("exclude", str(project)).returncode == 0
    until(lambda: not copy.exists(), PATIENCE, first.said)
    assert first.git("status", "--porcelain", "-uall") == ""
