"""The plugin's hooks with the real client: the facts of an ended session are lines at once, and nothing disturbs a session.

Over the oldest client that the plugin supports, the newest, and one between them. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_install import need_terminal, real_client
from real_tui import wait_for
from real_world import Machine

from support_daemon import EXTRACTION, SYNTHESIS
from support_heard import say_fact, say_lines
from tacitd.state.socket_file import SCRIPT
from tacitd.state.store_files import STORE

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]
VERSIONS = ["2.1.110", "2.1.197", "2.1.331"]
PNPM, FACT = "in this repository we use pnpm, never npm", "Uses pnpm instead of npm"
RULES = [
    {"match": EXTRACTION, "steps": [{"text": say_fact(PNPM, FACT)}]},
    {"match": SYNTHESIS, "steps": [{"text": say_lines(FACT)}]},
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
    machine.add_plugin()
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


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_session_without_a_daemon_knows_since_when(machine: Machine) -> None:
    """The daemon ended three days ago: the model reads the line once, and the session is not disturbed."""
    machine.add_plugin()
    machine.stop()
    last = time.time() - 3 * 86_400.0
    os.utime(machine.state / STORE, (last, last))
    done = machine.run_client("hello")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK from the fake API.", "")
    day = time.strftime("%Y-%m-%d", time.localtime(last))
    texts = [one.text for one in machine.asked_by_person() if "hello" in one.text]
    assert any(text.count(f"tacitd has not run since {day}") == 1 for text in texts)


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_client_goes_on_undisturbed_when_the_interpreter_is_gone(machine: Machine) -> None:
    """The plugin stands, and what its hooks run is not there any more: `-p` answers as without hooks, and prints nothing more."""
    machine.add_plugin()
    machine.stop()
    (machine.state / "hooks" / SCRIPT).write_text("exec /gone/python3 -I -S /gone/hook_program.py /gone\n")
    done = machine.run_client("hello")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK from the fake API.", "")
