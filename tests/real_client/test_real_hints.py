"""What hooks tell during a session, with the real client: a prompt is in the status at once, and sub-agents get their part.

Over three versions of the client. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_install import need_terminal
from real_tui import RealClient, wait_for
from real_world import VERSIONS, Machine, Request, open_machine

from support_daemon import EXTRACTION, SYNTHESIS
from support_heard import say_fact, say_lines
from support_waiting import PATIENCE

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(600)]
WITHOUT_WATCHES = 'echo 0 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"'
"""Run in a user namespace of its own, so that the limit is not the machine's."""
CORRECTIONS = ("use pnpm, not npm", "no, indent with tabs", "and never squash commits")
PNPM, FACT = "in this repository we use pnpm. never publish from a laptop", "Uses pnpm"
NEVER = "Never publish from a laptop"
BIO = "Builds zebra engines"
LESSON = "WHEN the shop's tests fail -> DO run them alone -> BECAUSE they share a port"
FENCE = re.compile(r"<tacitd-context.*?</tacitd-context>", re.DOTALL)
AGENTS = {"Explore": "count the zebras", "general-purpose": "count the otters"}
"""The prompt of each kind of sub-agent. `Explore` loads no rules by itself."""
RULES: list[dict[str, Any]] = [
    {"match": EXTRACTION, "steps": [{"text": f"{say_fact(PNPM, FACT)}\n{say_fact(NEVER, NEVER)}"}]},
    {"match": SYNTHESIS, "steps": [{"text": say_lines(FACT, NEVER)}]},
    {
        "match": "ask the helpers",
        "steps": [
            *(
                {
                    "tool": "Agent",
                    "input": {"description": "count", "prompt": words, "subagent_type": kind},
                }
                for kind, words in AGENTS.items()
            ),
            {"text": "done"},
        ],
    },
]


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with a client of this version; the daemon does not run."""
    with open_machine(tmp_path, request.param, RULES, starts=False) as one:
        yield one


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_correction_is_in_the_status_within_a_second(machine: Machine) -> None:
    """Typed in a terminal, while the file system reports nothing to the daemon, which then looks itself every two seconds."""
    need_terminal()
    machine.environ["TACITD_EXTRACTION__SETTLE"] = "1h"
    machine.before = ["unshare", "-Ur", "sh", "-c", WITHOUT_WATCHES]
    if subprocess.run([*machine.before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    machine.start()
    machine.before = []
    assert "watch." in json.dumps(machine.status()["degraded"])
    machine.add_plugin()
    with machine.person() as client:
        took = [measure_prompt(machine, client, words, n) for n, words in enumerate(CORRECTIONS)]
        client.leave("TERM")
    logging.getLogger(__name__).info("%s", took)
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert max(took) < busy, f"{took} at {busy:.1f} times the cores' load"


def measure_prompt(machine: Machine, client: RealClient, words: str, before: int) -> float:
    """Type words; return the seconds from the run of the person's own hook until the status counts one more prompt."""
    client.enter(words)
    client.press_enter_until(lambda: count_submitted(machine) > before)
    submitted = time.monotonic()
    wait_for(lambda: count_waiting(machine) > before, PATIENCE, f"{words!r} in the status", client.screen)
    return time.monotonic() - submitted


def count_submitted(machine: Machine) -> int:
    return sum(times for (_, event), times in machine.fired().items() if event == "UserPromptSubmit")


def count_waiting(machine: Machine) -> int:
    return int(machine.status()["handlers"]["learning"]["waiting"])


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_sub_agents_get_lessons_and_prohibitions(machine: Machine) -> None:
    """Nothing about the person, and of learned lines the prohibitions, where the client does not load the rules itself."""
    need_terminal()
    machine.start()
    with machine.person() as client:
        client.say(PNPM)
        wait_for(lambda: client.recorded(b'"type":"assistant"') >= 1, PATIENCE, "the answer", client.screen)
        client.leave("/exit")
    machine.add_plugin()
    machine.synthesize()
    assert machine.learned == [FACT, NEVER]
    assert machine.cli("profile", "set", "bio", BIO).returncode == 0
    assert machine.cli("lesson", "add", "--scope=app", LESSON).returncode == 0
    for _ in range(8):
        before = len(machine.asked_by_person())
        ask(machine, "ask the helpers")
        asked = {kind: find_request(machine.asked_by_person()[before:], kind) for kind in AGENTS}
        fences = {kind: FENCE.findall(one.text) for kind, one in asked.items()}
        assert max(map(len, fences.values())) <= 1
        for kind, one in asked.items():
            assert BIO not in one.text and one.text.count(NEVER) <= 1, kind
        if all(fences.values()):
            assert all("run them alone" in found[0] and FACT not in found[0] for found in fences.values())
            assert {kind: one.text.count(NEVER) for kind, one in asked.items()} == dict.fromkeys(AGENTS, 1)
            assert NEVER in fences["Explore"][0] and NEVER not in fences["general-purpose"][0]
            return
    pytest.fail("in eight sessions no hook was answered within 50 ms")


def ask(machine: Machine, words: str) -> None:
    """One `claude -p`."""
    done = machine.run_client(words, "--allowedTools", "Agent")
    # 2.1.328 runs them beside, and answers once more when they are done.
    assert done.returncode == 0 and done.stdout.startswith("done"), done.stdout + done.stderr


def find_request(requests: list[Request], kind: str) -> Request:
    """The first request of the sub-agent itself."""
    words = AGENTS[kind]
    return next(
        one
        for one in requests
        if any(words in text for text in one.user_texts) and "ask the helpers" not in one.text
    )
