"""Several real clients at once beside one daemon: each session is read by itself, and its lines are in its own project.

Over three versions of the client. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from real_install import need_terminal
from real_tui import onboarded, wait_for
from real_world import VERSIONS, Machine, open_machine

from support_daemon import EXTRACTION, SYNTHESIS
from support_heard import say_fact, say_lines
from support_waiting import PATIENCE

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(600)]
SAID = {
    "always use podman in this repository": "Use podman",
    "never squash commits here": "Never squash commits",
    "in this project we indent with three spaces": "Indent with three spaces",
}
"""Typed words, with the line that is made of them. The first two are typed in one project, the last in another."""


def match_all(*words: str) -> str:
    """A pattern for a prompt that has all of these words, in any order."""
    return "(?s)" + "".join(f"(?=.*{one})" for one in words)


def make_rules() -> list[dict[str, Any]]:
    """What the model answers: first for prompts with the words of both sessions of one project, then for one."""
    together = [[*SAID][:2], *([words] for words in SAID)]
    facts = [("\n".join(say_fact(one, SAID[one]) for one in words), words) for words in together]
    synthesised = [
        (
            say_lines(*(SAID[one] for one in words)),
            [SAID[one] for one in words],
        )
        for words in together
    ]
    return [
        {"match": match_all(stage, *found), "steps": [{"text": answer}]}
        for stage, answers in ((EXTRACTION, facts), (SYNTHESIS, synthesised))
        for answer, found in answers
    ]


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with a client of this version and hooks."""
    with open_machine(tmp_path, request.param, make_rules(), plugin=True) as one:
        yield one


def list_lines(project: Path) -> list[str]:
    """The learned lines of a project, sorted."""
    file = project / "LEARNED.md"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return sorted(line[2:] for line in text.splitlines() if line.startswith("- "))


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_each_of_several_clients_is_read_by_itself(machine: Machine) -> None:
    """Three people's worth of terminals: two in one project and one in another, all open while each is typed into."""
    need_terminal()
    other = machine.root / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    onboarded(machine.home, other)  # before the first client starts, which writes the same file
    places = [machine.project, machine.project, other]
    with ExitStack() as stack:
        clients = [stack.enter_context(machine.person(place)) for place in places]
        for client, words in zip(clients, SAID, strict=True):
            client.say(words)
        wait_for(
            lambda: clients[0].recorded(b'"type":"assistant"') >= len(SAID),
            PATIENCE,
            "all answers",
            lambda: "\n".join(client.screen() for client in clients),
        )
        for client in clients:
            client.leave("/exit")
    expected = {machine.project: sorted([*SAID.values()][:2]), other: [*SAID.values()][2:]}
    machine.wait_until(
        lambda _: {place: list_lines(place) for place in expected} == expected, "the lines", 2 * PATIENCE
    )
    fired = machine.fired()
    sessions = {session for session, event in fired if event == "UserPromptSubmit"}
    assert len(sessions) == len(SAID)
    assert [fired[one, event] for one in sessions for event in ("UserPromptSubmit", "SessionEnd")] == [1] * 6
    assert machine.sync() == []
    asked = [one.prompt or "" for one in machine.calls() if EXTRACTION in (one.prompt or "")]
    assert sorted(sum(words in prompt for prompt in asked) for words in SAID) == [1, 1, 1], "paid for once"
