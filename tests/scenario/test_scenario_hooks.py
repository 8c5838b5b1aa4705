"""The plugin's hooks with a real daemon, run by a shell as the client runs them."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import time

import pytest

from support_daemon import Daemon, MakeDaemon, append, line
from support_sources import ROOT
from tacitd.state.store_files import STORE

pytestmark = pytest.mark.scenario
PLUGIN = ROOT / "plugin"


def run_hooks(daemon: Daemon, event: str, session: str, *, before: str = "", **fields: str) -> str:
    """Run the plugin's hook for this event as the client does, with its environment; it may not fail. Return the output.

    `before`: a command of the shell that runs the hook.
    """
    data = {
        "session_id": session,
        "transcript_path": str(daemon.transcript(session)),
        "cwd": str(daemon.project),
        "hook_event_name": event,
        **fields,
    }
    (group,) = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"][event]
    (hook,) = group["hooks"]
    done = subprocess.run(
        [*shlex.split(before), "/bin/sh", "-c", hook["command"]],
        env=daemon.environ | {"CLAUDE_PLUGIN_ROOT": str(PLUGIN), "CLAUDE_PROJECT_DIR": str(daemon.project)},
        input=json.dumps(data, separators=(",", ":")).encode(),
        capture_output=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def start_session(daemon: Daemon, session: str, source: str = "startup") -> str:
    """What the session gets; asked again if a busy machine let the hook's second for the answer pass."""
    return next(
        filter(None, (run_hooks(daemon, "SessionStart", session, source=source) for _ in range(10))), ""
    )


def test_the_end_of_a_session_is_known_at_once(make: MakeDaemon) -> None:
    """S-20: without hooks the session would end after its idle time of an hour; the facts are lines before that."""
    daemon = make(SESSION__IDLE="1h")
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    run_hooks(daemon, "UserPromptSubmit", "s1")
    run_hooks(daemon, "Stop", "s1")
    run_hooks(daemon, "SessionEnd", "s1")
    daemon.wait_for_lines("Prefers amber-1")


def test_hooks_without_a_daemon_lose_nothing(make: MakeDaemon) -> None:
    """The program keeps nothing; the next start finds the same words in the transcript."""
    daemon = make(SESSION__IDLE="3s")
    daemon.start()
    daemon.stop()
    daemon.type_("s1", "Prefers amber-2")
    run_hooks(daemon, "SessionEnd", "s1")
    daemon.start()
    daemon.wait_for_lines("Prefers amber-2")


def test_a_session_gets_its_context_once(make: MakeDaemon) -> None:
    """The same text as `tacitd context` prints; nothing again for a resumed session whose transcript has it, nothing without
    a daemon."""
    daemon = make(SESSION__IDLE="1h")
    daemon.start()
    assert daemon.cli("profile", "set", "bio", "Builds engines").returncode == 0  # not in the rules file
    printed = daemon.cli("context", str(daemon.project)).stdout
    shown = start_session(daemon, "s1")
    assert "Builds engines" in printed and shown.startswith('<tacitd-context session="s1"')
    assert shown.splitlines()[1:-1] == printed.splitlines()[1:-1]
    assert start_session(daemon, "s1", "resume") == shown  # an old client, which forgot it
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
    """A session of another `CLAUDE_CONFIG_DIR` learns nothing of this one's profile; `plugin status` there says why."""
    daemon = make()
    daemon.start()
    assert daemon.cli("profile", "set", "bio", "Builds engines").returncode == 0
    other = daemon.home / ".claude-work"
    other.mkdir()
    (other / "settings.json").write_text('{"enabledPlugins": {"tacitd@tacitd": true}}')
    path = str(other / "projects/p/s1.jsonl")
    assert run_hooks(daemon, "SessionStart", "s1", source="startup", transcript_path=path) == ""
    status = daemon.cli("plugin", "status", CLAUDE_CONFIG_DIR=str(other))
    assert status.returncode == 1 and f"the daemon watches {daemon.home}/.claude" in status.stdout


def test_two_accounts_at_once(make: MakeDaemon) -> None:
    """Two directories of one person, each with a daemon and hooks of its own, and sessions in both at the same time, in one
    project: each session gets what its account knows, and the words of both become lines."""
    first, second = make(SESSION__IDLE="1h"), make(SESSION__IDLE="1h")
    other = first.home / ".claude-work"
    second.environ |= {"HOME": str(first.home), "CLAUDE_CONFIG_DIR": str(other)}
    second.home, second.project, second.projects = first.home, first.project, other / "projects"
    second.projects.mkdir(parents=True)
    bios = {first: "Builds engines", second: "Sells engines"}
    for daemon in bios:
        daemon.start()
        assert daemon.cli("profile", "set", "bio", bios[daemon]).returncode == 0
    for daemon in bios:
        shown = start_session(daemon, "s1")
        assert [bio for bio in bios.values() if bio in shown] == [bios[daemon]]
    first.type_("s1", "Prefers amber-1")
    second.type_("s1", "Prefers zebra-2")
    for daemon in bios:
        run_hooks(daemon, "SessionEnd", "s1")
    for daemon in bios:
        daemon.wait_until(
            lambda _: {"Prefers amber-1", "Prefers zebra-2"} <= set(first.learned),
            "the lines of both accounts",
        )
        daemon.stop()


def test_the_hook_finds_the_daemon_wherever_its_socket_is(make: MakeDaemon) -> None:
    """The client's environment has no TACITD_SOCKET; after a restart the socket is elsewhere."""
    daemon = make(SESSION__IDLE="1h")
    for number, place in enumerate(("one", "two")):
        daemon.environ["TACITD_SOCKET"] = str(daemon.root / f"{place}.sock")
        daemon.start()
        client = {name: value for name, value in daemon.environ.items() if name != "TACITD_SOCKET"}
        kept, daemon.environ = daemon.environ, client
        assert daemon.cli("profile", "set", "bio", f"Builds engine {number}").returncode == 0
        assert f"Builds engine {number}" in start_session(daemon, f"s{number}")
        daemon.environ = kept
        daemon.stop()


def test_doctor_compares_the_hooks_daemon_with_the_one_that_answers(make: MakeDaemon) -> None:
    """Where the client starts with another state directory, hooks find nobody."""
    daemon = make()
    settings = daemon.home / ".claude/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"enabledPlugins": {"tacitd@tacitd": true}}')
    daemon.start()
    assert daemon.cli("plugin", "status").returncode == 0
    elsewhere = str(daemon.root / "elsewhere")
    doctor = daemon.cli("doctor", "--json", TACITD_STATE_DIR=elsewhere, TACITD_SOCKET=str(daemon.socket))
    found = json.loads(doctor.stdout)
    (astray,) = [one for one in found if one["id"] == "plugin.astray"]
    assert elsewhere in astray["what"] and "TACITD_STATE_DIR" in astray["hint"]


def test_a_session_that_starts_long_after_the_daemon_ended_says_so(make: MakeDaemon) -> None:
    """Also after `uninstall --purge` nothing fails: then nothing is said."""
    daemon = make()
    daemon.start()
    daemon.stop()
    assert run_hooks(daemon, "SessionStart", "s1", source="startup") == ""
    long_ago = 86_400.0 * 365
    os.utime(daemon.state / STORE, (long_ago, long_ago))
    printed = start_session(daemon, "s1")
    assert printed.startswith("tacitd has not run since 197") and "`tacitd start`" in printed
    assert run_hooks(daemon, "UserPromptSubmit", "s1") == ""
    assert daemon.cli("uninstall", "--purge", "--yes").returncode == 0
    assert not (daemon.state / "hooks").exists()
    assert run_hooks(daemon, "SessionStart", "s1", source="startup") == ""


def test_a_persons_files_in_the_hooks_folder_stay(make: MakeDaemon) -> None:
    """TACITD_STATE_DIR may name a directory with other files in it."""
    daemon = make()
    daemon.start()
    daemon.stop()
    mine = daemon.state / "hooks" / "pre-commit"
    mine.write_text("mine")
    mine.chmod(0o600)
    gone = daemon.cli("uninstall", "--purge", "--yes")
    assert gone.returncode == 0 and mine.read_text() == "mine" and f"kept {mine.parent}" in gone.stderr
    assert [path.name for path in mine.parent.iterdir()] == ["pre-commit"]


PYENV = '#!/bin/bash\nfor n in 1 2 3 4 5 6 7 8; do v=$(printf %s $n); done\nexec {python} "$@"\n'
"""As a shim of pyenv does: it starts other programs before Python."""
ROUNDS, RUNS = 12, 5


def test_the_hook_takes_at_most_twice_a_start_of_python(make: MakeDaemon) -> None:
    """Whatever `python3` is first on the PATH: also a shim of pyenv. The fastest runs are compared, in turns."""
    daemon = make(SESSION__IDLE="1h")
    daemon.start()
    shims = daemon.root / "shims"
    shims.mkdir()
    (shims / "python3").write_text(PYENV.format(python=sys.executable))
    (shims / "python3").chmod(0o755)
    daemon.environ["PATH"] = f"{shims}:{daemon.environ['PATH']}"
    plain = [os.path.realpath(sys.executable), "-S", "-c", "pass"]
    took: dict[str, float] = {"plain": math.inf, "hook": math.inf}
    for _ in range(ROUNDS * RUNS):
        began = time.perf_counter()
        subprocess.run(plain, check=True, env=daemon.environ)
        middle = time.perf_counter()
        run_hooks(daemon, "UserPromptSubmit", "s1")
        took["plain"] = min(took["plain"], middle - began)
        took["hook"] = min(took["hook"], time.perf_counter() - middle)
        if took["hook"] <= 2 * took["plain"]:
            return
    pytest.fail(f"{took}")


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_a_hook_of_another_user_says_nothing(make: MakeDaemon) -> None:
    """It does not reach the socket: no output, no trace, exit code 0."""
    daemon = make()
    daemon.start()
    as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    assert run_hooks(daemon, "SessionStart", "s1", before=as_nobody, source="startup") == ""
