"""Hooks with a real daemon: installed by the command, run by a shell as the client runs them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support_daemon import Daemon, MakeDaemon, append, line
from support_rights import bound
from support_sources import ROOT

pytestmark = pytest.mark.scenario
PLUGIN = ROOT / "plugin"
SETTINGS = '{\n  "model": "opus"\n}\n'


def run_hooks(daemon: Daemon, event: str, session: str, **fields: str) -> str:
    """Run every command that the settings name for this event, as the client does; none may fail. Return the output."""
    settings = json.loads((daemon.home / ".claude/settings.json").read_text())
    return run_commands(daemon, settings["hooks"][event], None, event, session, **fields)


def run_commands(
    daemon: Daemon, groups: list[Any], environ: dict[str, str] | None, event: str, session: str, **fields: str
) -> str:
    """Run the commands of these groups with the input of an event; `environ`: None for this process's own."""
    data = {
        "session_id": session,
        "transcript_path": str(daemon.transcript(session)),
        "cwd": str(daemon.project),
        "hook_event_name": event,
        **fields,
    }
    said = ""
    for group in groups:
        for one in group["hooks"]:
            done = subprocess.run(
                ["/bin/sh", "-c", one["command"]],
                env=environ,
                input=json.dumps(data, separators=(",", ":")).encode(),
                capture_output=True,
                timeout=30,
            )
            assert (done.returncode, done.stderr) == (0, b"")
            said += done.stdout.decode()
    return said


def write_settings(daemon: Daemon) -> Path:
    """A person's settings."""
    path = daemon.home / ".claude/settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SETTINGS)
    return path


def test_the_end_of_a_session_is_known_at_once(make: MakeDaemon) -> None:
    """S-20: without hooks the session would end after its idle time of an hour; the facts are lines before that."""
    daemon = make(SESSION__IDLE="1h")
    write_settings(daemon)
    daemon.start()
    assert daemon.cli("hooks", "install").returncode == 0
    daemon.type_("s1", "Prefers amber-1")
    run_hooks(daemon, "UserPromptSubmit", "s1")
    run_hooks(daemon, "Stop", "s1")
    run_hooks(daemon, "SessionEnd", "s1")
    daemon.wait_for_lines("Prefers amber-1")


def test_hooks_without_a_daemon_lose_nothing(make: MakeDaemon) -> None:
    """The program keeps nothing; the next start finds the same words in the transcript."""
    daemon = make(SESSION__IDLE="3s")
    write_settings(daemon)
    daemon.start()
    daemon.stop()
    assert daemon.cli("hooks", "install").returncode == 0
    daemon.type_("s1", "Prefers amber-2")
    run_hooks(daemon, "SessionEnd", "s1")
    daemon.start()
    daemon.wait_for_lines("Prefers amber-2")


def test_a_session_gets_its_context_once(make: MakeDaemon) -> None:
    """The same text as `tacitd context` prints; nothing again for a resumed session whose transcript has it, nothing without
    a daemon."""
    daemon = make(SESSION__IDLE="1h")
    write_settings(daemon)
    daemon.start()
    assert daemon.cli("hooks", "install").returncode == 0
    assert daemon.cli("profile", "set", "bio", "Builds engines").returncode == 0  # not in the rules file
    shown = daemon.cli("context", str(daemon.project), "--session", "s1").stdout
    assert "Builds engines" in shown and shown.startswith('<tacitd-context session="s1"')
    assert run_hooks(daemon, "SessionStart", "s1", source="startup") == shown
    assert run_hooks(daemon, "SessionStart", "s1", source="resume") == shown  # an old client, which forgot it
    append(
        daemon.begin("s1"),
        line({"type": "attachment", "attachment": {"type": "hook_success", "stdout": shown}}),
    )
    assert run_hooks(daemon, "SessionStart", "s1", source="resume") == ""
    for event in ("UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"):
        assert run_hooks(daemon, event, "s1") == ""
    daemon.stop()
    assert run_hooks(daemon, "SessionStart", "s2", source="startup") == ""


def test_an_account_of_its_own(make: MakeDaemon) -> None:
    """A session of another `CLAUDE_CONFIG_DIR` learns nothing of this one's profile; installing there says so."""
    daemon = make()
    write_settings(daemon)
    daemon.start()
    assert daemon.cli("hooks", "install").returncode == 0
    assert daemon.cli("profile", "set", "bio", "Builds engines").returncode == 0
    other = daemon.home / ".claude-work"
    other.mkdir()
    path = str(other / "projects/p/s1.jsonl")
    assert run_hooks(daemon, "SessionStart", "s1", source="startup", transcript_path=path) == ""
    daemon.environ["CLAUDE_CONFIG_DIR"] = str(other)
    said = daemon.cli("hooks", "install")
    assert said.returncode == 0 and "warning: the daemon watches" in said.stderr
    del daemon.environ["CLAUDE_CONFIG_DIR"]


def test_two_accounts_at_once(make: MakeDaemon) -> None:
    """Two directories of one person, each with a daemon and hooks of its own, and sessions in both at the same time, in one
    project: each session gets what its account knows, and the words of both become lines."""
    first, second = make(SESSION__IDLE="1h"), make(SESSION__IDLE="1h")
    other = first.home / ".claude-work"
    second.environ |= {"HOME": str(first.home), "CLAUDE_CONFIG_DIR": str(other)}
    second.home, second.project, second.projects = first.home, first.project, other / "projects"
    second.projects.mkdir(parents=True)
    places = {first: first.home / ".claude", second: other}
    bios = {first: "Builds engines", second: "Sells engines"}
    for daemon, place in places.items():
        place.mkdir(exist_ok=True)
        (place / "settings.json").write_text(SETTINGS)
        daemon.start()
        assert daemon.cli("hooks", "install").returncode == 0
        assert daemon.cli("profile", "set", "bio", bios[daemon]).returncode == 0

    def run(daemon: Daemon, event: str, **fields: str) -> str:
        hooks = json.loads((places[daemon] / "settings.json").read_text())["hooks"]
        return run_commands(daemon, hooks[event], None, event, "s1", **fields)

    for daemon in places:
        shown = run(daemon, "SessionStart", source="startup")
        assert [bio for bio in bios.values() if bio in shown] == [bios[daemon]]
    first.type_("s1", "Prefers amber-1")
    second.type_("s1", "Prefers zebra-2")
    for daemon in places:
        run(daemon, "SessionEnd")
    for daemon in places:
        daemon.wait_until(
            lambda _: {"Prefers amber-1", "Prefers zebra-2"} <= set(first.learned),
            "the lines of both accounts",
        )
    for daemon, place in places.items():
        assert daemon.cli("hooks", "uninstall").returncode == 0
        assert (place / "settings.json").read_text() == SETTINGS
        daemon.stop()


def test_hooks_come_and_go_by_command(make: MakeDaemon) -> None:
    """Byte-equal settings afterwards; `uninstall` takes them out; hooks that stand after that are silent."""
    daemon = make()
    settings = write_settings(daemon)
    assert daemon.cli("hooks", "status", "--json").returncode == 0
    said = daemon.cli("hooks", "install")
    assert said.returncode == 0 and "added SessionStart, UserPromptSubmit" in said.stderr
    status = json.loads(daemon.cli("hooks", "status", "--json").stdout)
    assert not status["stale"] and len(status["events"]) == 5 and status["settings"] == str(settings)
    assert daemon.cli("hooks", "uninstall").returncode == 0
    assert settings.read_text() == SETTINGS
    assert daemon.cli("hooks", "install").returncode == 0
    with_hooks = settings.read_text()
    gone = daemon.cli("uninstall", "--purge", "--yes")
    assert gone.returncode == 0 and f"removed the hooks from {settings}" in gone.stderr
    assert settings.read_text() == SETTINGS and not (daemon.state / "hooks").exists()
    settings.write_text(with_hooks)
    run_hooks(daemon, "UserPromptSubmit", "s1")
    settings.write_text("{,}")
    wrong = daemon.cli("hooks", "install")
    assert wrong.returncode == 1 and "hint:" in wrong.stderr and settings.read_text() == "{,}"


def test_the_plugin_runs_the_daemons_program(make: MakeDaemon) -> None:
    """Without `hooks install`: the plugin's script finds the program that the daemon wrote, and prints the same context.

    With the same hooks in the settings it does nothing, and `hooks install` is refused while the plugin is enabled.
    """
    daemon = make(SESSION__IDLE="1h")
    settings = write_settings(daemon)
    daemon.start()
    assert daemon.cli("profile", "set", "bio", "Builds engines").returncode == 0
    shown = daemon.cli("context", str(daemon.project), "--session", "s1").stdout
    assert "Builds engines" in shown and run_plugin(daemon, "SessionStart", "s1", source="startup") == shown
    daemon.type_("s1", "Prefers amber-1")
    assert run_plugin(daemon, "SessionEnd", "s1") == ""
    daemon.wait_for_lines("Prefers amber-1")
    assert daemon.cli("hooks", "install").returncode == 0
    assert run_plugin(daemon, "SessionStart", "s2", source="startup") == ""
    assert daemon.cli("hooks", "uninstall").returncode == 0
    settings.write_text(json.dumps({"enabledPlugins": {"tacitd@tacitd": True}}))
    refused = daemon.cli("hooks", "install")
    assert refused.returncode == 1 and "brings the same hooks" in refused.stderr
    assert json.loads(daemon.cli("hooks", "status", "--json").stdout)["plugin"] is True
    assert "brings the hooks" in daemon.cli("hooks", "status").stderr
    daemon.stop()
    assert run_plugin(daemon, "SessionStart", "s3", source="startup") == ""


def run_plugin(daemon: Daemon, event: str, session: str, **fields: str) -> str:
    """Run the plugin's hook as the client does, with its environment; it may not fail. Return the output."""
    (group,) = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"][event]
    environ = daemon.environ | {"CLAUDE_PLUGIN_ROOT": str(PLUGIN), "CLAUDE_PROJECT_DIR": str(daemon.project)}
    return run_commands(daemon, [group], environ, event, session, **fields)


def test_read_only_settings_stay(make: MakeDaemon) -> None:
    """A person's `chmod a-w` is meant, although the directory would allow to replace the file."""
    daemon = make()
    settings = write_settings(daemon)
    settings.chmod(0o444)
    daemon.before = bound()
    said = daemon.cli("hooks", "install")
    assert said.returncode == 1 and "read-only" in said.stderr and "hint:" in said.stderr
    assert settings.read_text() == SETTINGS
    settings.chmod(0o644)
    assert daemon.cli("hooks", "install").returncode == 0
    with_hooks = settings.read_text()
    settings.chmod(0o444)
    assert daemon.cli("hooks", "uninstall").returncode == 1 and settings.read_text() == with_hooks
    settings.chmod(0o644)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_a_hook_of_another_user_says_nothing(make: MakeDaemon) -> None:
    """It does not reach the socket: no output, no trace, exit code 0."""
    daemon = make()
    write_settings(daemon)
    daemon.start()
    assert daemon.cli("hooks", "install").returncode == 0
    hooks = json.loads((daemon.home / ".claude/settings.json").read_text())["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    as_nobody = f"setpriv --reuid=65534 --regid=65534 --clear-groups /bin/sh -c {shlex.quote(command)}"
    groups = [{"hooks": [{"command": as_nobody}]}]
    assert run_commands(daemon, groups, None, "SessionStart", "s1", source="startup") == ""
