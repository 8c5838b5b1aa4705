"""`tacitd hooks` with the real client: its hooks run, the facts of an ended session are lines at once, nothing else changes.

Over the oldest and the newest client that are supported, and two between them. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_install import need_terminal, real_client
from real_tui import wait_for
from real_world import Machine

from support_daemon import EXTRACTION, SYNTHESIS
from support_heard import say_fact

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]
VERSIONS = ["2.0.76", "2.1.63", "2.1.197", "2.1.328"]
PNPM, FACT = "in this repository we use pnpm, never npm", "Uses pnpm instead of npm"
RULES = [
    {"match": EXTRACTION, "steps": [{"text": say_fact(PNPM, FACT)}]},
    {"match": SYNTHESIS, "steps": [{"text": f"FILE: LEARNED.md\nFACT: {FACT}\n"}]},
]


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with a client of this version, on which a session would only end after an hour."""
    need_terminal()
    one = Machine(tmp_path, real_client(request.param), RULES)
    one.environ["TACITD_SESSION__IDLE"] = "1h"
    try:
        one.start()
        yield one
    finally:
        one.finish()


def is_learned(machine: Machine, seconds: float) -> None:
    """Wait until the fact is a line."""
    wait_for(
        lambda: FACT in machine.learned,
        seconds,
        f"{FACT} in LEARNED.md",
        lambda: json.dumps(machine.status(), indent=1),
    )


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_facts_are_lines_soon_after_the_session_ends(machine: Machine) -> None:
    """Typed in a terminal, left with /exit: far sooner than the process is found to be gone (2 minutes)."""
    settings = machine.home / ".claude/settings.json"
    before = settings.read_bytes()
    assert machine.cli("hooks", "install").returncode == 0
    with machine.person() as client:
        client.say(PNPM)
        wait_for(
            lambda: sum(machine.fired()[key] for key in machine.fired() if key[1] == "Stop") >= 1,
            30,
            "the answer",
        )
        client.leave("/exit")
    is_learned(machine, 60)
    assert [event for _, event in machine.fired()].count("SessionEnd") == 1
    machine.cli("hooks", "uninstall")
    document = json.loads(settings.read_text())
    assert document["hooks"] == json.loads(before)["hooks"]
    assert "tacitd" not in json.dumps(document)


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_client_goes_on_undisturbed_when_the_package_is_gone(machine: Machine) -> None:
    """The entries stand, the program and the daemon are gone: `-p` answers as without hooks, and prints nothing more."""
    assert machine.cli("hooks", "install").returncode == 0
    machine.stop()
    for path in (machine.state / "hooks").glob("tacitd-hook.py"):
        path.unlink()
    done = machine.run_client("hello")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK from the fake API.", "")
