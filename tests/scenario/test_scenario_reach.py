"""What is known of the person reaches every session: a real daemon, the profile and the lessons, and the rules file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_daemon import Daemon, MakeDaemon, until
from support_waiting import PATIENCE

pytestmark = pytest.mark.scenario
LESSON = "WHEN editing a config -> DO read it first -> BECAUSE others edit it too"


def known_daemon(make: MakeDaemon) -> Daemon:
    """A daemon, started after the person set two values of the profile and added a lesson."""
    daemon = make()
    assert daemon.cli("profile", "set", "tools.editor", "zebra-3").returncode == 0
    assert daemon.cli("profile", "set", "work.role", "nurse").returncode == 0
    assert daemon.cli("lesson", "add", "--firm", LESSON).returncode == 0
    daemon.start()
    return daemon


def rules(daemon: Daemon) -> Path:
    return daemon.home / ".claude" / "rules" / "tacitd.md"


def bullets(daemon: Daemon) -> list[str]:
    path = rules(daemon)
    return [x[2:] for x in path.read_text().splitlines() if x.startswith("- ")] if path.exists() else []


def wait_for_lines(daemon: Daemon, *lines: str) -> None:
    """Run the job until the file has these lines: it comes every 20 s by itself."""

    def there() -> bool:
        daemon.sync()  # a person's edits of the file are found, and counted when a second look agrees
        daemon.call("due", job="user-rules")
        return bullets(daemon) == list(lines)

    until(there, PATIENCE, lambda: f"{lines} in {bullets(daemon)}\n{daemon.said()}")


def save(path: Path, text: str) -> None:
    """As an editor that writes a new file."""
    new = path.with_name("tacitd.md~")
    new.write_text(text)
    new.replace(path)


def test_it_follows_the_profile_and_the_lessons(make: MakeDaemon) -> None:
    """Made at the start, followed within a minute by itself, private; the banner names it."""
    daemon = known_daemon(make)
    until(lambda: len(bullets(daemon)) == 3, PATIENCE, daemon.said)
    assert bullets(daemon) == ["Role: nurse", "Editor: zebra-3", LESSON]
    assert rules(daemon).stat().st_mode & 0o777 == 0o600
    assert str(rules(daemon)) in daemon.said()
    assert daemon.cli("profile", "set", "tools.editor", "amber-1").returncode == 0
    until(lambda: "Editor: amber-1" in bullets(daemon), PATIENCE, daemon.said)


def test_a_deleted_line_is_gone_everywhere(make: MakeDaemon) -> None:
    """A deletion clears the path of the profile and marks the lesson wrong; also after a kill; a person's line stays."""
    daemon = known_daemon(make)
    wait_for_lines(daemon, "Role: nurse", "Editor: zebra-3", LESSON)
    save(rules(daemon), rules(daemon).read_text().replace("- Role: nurse\n", "- mine\n"))
    wait_for_lines(daemon, "mine", "Editor: zebra-3", LESSON)

    def shown() -> str:
        daemon.sync()
        return json.dumps(json.loads(daemon.cli("profile", "show", "--json").stdout))

    until(lambda: "nurse" not in shown(), PATIENCE, daemon.said)
    assert "zebra-3" in shown()
    daemon.kill9()
    save(rules(daemon), rules(daemon).read_text().replace(f"- {LESSON}\n", ""))
    daemon.start()
    wait_for_lines(daemon, "mine", "Editor: zebra-3")
    until(lambda: LESSON not in daemon.cli("lesson", "list").stdout, PATIENCE, daemon.said)
    assert daemon.cli("lesson", "add", LESSON).returncode != 0, "it was marked wrong"


def test_it_leaves_with_tacitd(make: MakeDaemon) -> None:
    """`uninstall` removes the file, and a file with a person's line is kept and named."""
    daemon = known_daemon(make)
    wait_for_lines(daemon, "Role: nurse", "Editor: zebra-3", LESSON)
    daemon.stop()
    whole = rules(daemon).read_text()
    save(rules(daemon), whole + "- mine\n")
    said = daemon.cli("uninstall")
    assert rules(daemon).exists() and said.returncode == 0, said.stderr
    assert f"kept {rules(daemon)}" in said.stderr
    save(rules(daemon), whole)
    said = daemon.cli("uninstall", "--purge", "--yes")
    assert not rules(daemon).exists() and str(rules(daemon)) in said.stdout + said.stderr
