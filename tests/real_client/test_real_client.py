"""The main job with the real client: typed into Claude Code, learned by the daemon through the same client.

Claude Code (2.1.328, installed from npm) runs in a terminal driven through tmux, against a stand-in of the Messages
API on loopback; the daemon runs beside it before the first word is typed. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_install import need_terminal, real_client
from real_tui import RealClient, wait_for
from real_world import PERSON_MARK, PROJECT_MARK, USAGE, Machine, Request

from support_daemon import EXTRACTION, SYNTHESIS, messages, raw_files
from support_heard import say_fact, say_lines

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]

PNPM, TABS = "in this repository we use pnpm, never npm", "and please indent with tabs, not spaces"
QUESTION = "what do you know about me"
PNPM_FACT, TABS_FACT = "Uses pnpm instead of npm", "Indents with tabs instead of spaces"
PAGE = 2048
"""Bytes: what a request may hold beside the prompt."""


def rules() -> list[dict[str, Any]]:
    """What the stand-in API answers to the daemon; a person's prompt gets "OK", or what its own directives say."""

    def asked(kind: str, *words: str) -> str:
        return rf"{kind}(?=.*{'.*'.join(map(re.escape, words))})"

    def facts(*lines: str) -> list[dict[str, Any]]:
        return [{"text": "\n".join(lines), "usage": USAGE}]

    def plan(*lines: str) -> list[dict[str, Any]]:
        return facts(say_lines(*lines))

    none = [{"text": "NONE", "usage": USAGE}]
    pnpm, tabs = say_fact(PNPM, PNPM_FACT), say_fact(TABS, TABS_FACT)
    return [
        {"match": asked(EXTRACTION, PNPM, TABS), "steps": facts(pnpm, tabs)},
        {"match": asked(EXTRACTION, PNPM), "steps": facts(pnpm)},
        {"match": asked(EXTRACTION, TABS), "steps": facts(tabs)},
        {"match": EXTRACTION, "steps": none},
        {"match": asked(SYNTHESIS, PNPM_FACT, TABS_FACT), "steps": plan(PNPM_FACT, TABS_FACT)},
        {"match": asked(SYNTHESIS, TABS_FACT, PNPM_FACT), "steps": plan(TABS_FACT, PNPM_FACT)},
        {"match": asked(SYNTHESIS, PNPM_FACT), "steps": plan(PNPM_FACT)},
        {"match": asked(SYNTHESIS, TABS_FACT), "steps": plan(TABS_FACT)},
        {"match": SYNTHESIS, "steps": none},
    ]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A person's machine with the real client, and the daemon running before the person types."""
    need_terminal()
    one = Machine(tmp_path, real_client(), rules())
    try:
        one.start()
        yield one
    finally:
        one.finish()


def learned(machine: Machine, *lines: str) -> None:
    """Wait until LEARNED.md holds these lines, once each and nothing else, and the daemon is at rest."""

    def there() -> bool:
        return set(lines) <= set(machine.learned) and not raw_files(machine.project)

    wait_for(there, 60, f"{lines} in LEARNED.md", lambda: f"{json.dumps(machine.status(), indent=1)}")
    assert machine.sync() == []
    assert sorted(machine.learned) == sorted(lines)


def type_session(machine: Machine, way_out: str) -> str:
    """A person types two prompts and leaves; return the session's id."""
    with machine.person() as client:
        client.say(PNPM)
        client.say(TABS)
        answered(machine, 2)
        client.leave(way_out)
    (session,) = machine.transcripts().values()
    return session


def answered(machine: Machine, times: int) -> None:
    """Wait until the client has got so many answers: who leaves sooner may take the last one along."""

    def replies() -> int:
        lines = [x for path in machine.projects.rglob("*.jsonl") for x in path.read_bytes().splitlines()]
        return sum(json.loads(x)["type"] == "assistant" for x in lines)

    wait_for(lambda: replies() >= times, 30, f"{times} answers in the transcript")


@pytest.mark.parametrize("way_out", ["/exit", "KILL"])
def test_typed_words_become_learned_lines(machine: Machine, way_out: str) -> None:
    """Typed words become learned lines; nothing of the daemon's shows up at the person's.

    SPEC S-60 to S-63. `KILL`: no SessionEnd, and `sessions/<pid>.json` is left behind (CLAUDE_CODE 4.1, fact 18).
    """
    first = type_session(machine, way_out)
    learned(machine, PNPM_FACT, TABS_FACT)
    only_the_persons(machine, first, way_out)
    assert said_to_the_model(machine) == Counter({PNPM: 1, TABS: 1})
    counts_are_the_clients(machine)
    the_next_session_knows(machine)
    assert machine.sync() == [] and said_to_the_model(machine) == Counter({PNPM: 1, TABS: 1, QUESTION: 1})
    assert len(machine.transcripts()) == 2
    for call in machine.calls():
        is_lean(call, machine)
    assert machine.git("status", "--porcelain") == ""


def test_a_session_that_was_left_while_no_daemon_ran_is_written_soon(machine: Machine) -> None:
    """README: about two minutes after the person left, counted from the next start; not after the half hour of an idle session."""
    machine.kill9()
    type_session(machine, "/exit")
    machine.start(SESSION__IDLE="30m")
    begun = time.monotonic()
    machine.wait_for_line(PNPM_FACT, 240)
    assert TABS_FACT in machine.learned
    logging.getLogger(__name__).info("%.0f s", time.monotonic() - begun)


def only_the_persons(machine: Machine, session: str, way_out: str) -> None:
    """One transcript, the person's; and no hook but the person's, each as often as a person's session fires it."""
    assert list(machine.transcripts().values()) == [session]
    events = {"SessionStart": 1, "UserPromptSubmit": 2, "Stop": 2}
    if way_out != "KILL":
        events["SessionEnd"] = 1
    assert machine.fired() == Counter({(session, event): times for event, times in events.items()})


def is_lean(call: Request, machine: Machine) -> None:
    """CLAUDE_CODE 3.1: the prompt, and at most 2 KB beside it; no tool, no file of anybody."""
    prompt = call.prompt or ""
    assert call.bytes <= len(prompt.encode()) + PAGE
    assert call.body["tools"] == []
    assert PROJECT_MARK not in call.text and PERSON_MARK not in call.text
    assert "Contents of " not in call.text
    beside = call.text.replace(prompt, "")
    assert PNPM_FACT not in beside and str(machine.project) not in beside


def said_to_the_model(machine: Machine) -> Counter[str]:
    """How often each of the person's messages stood in a prompt of stage 1."""
    return Counter(one for call in machine.calls() for one in messages(call.prompt or ""))


def counts_are_the_clients(machine: Machine) -> None:
    """`tacitd status`: as many calls as the API was asked, and dollars as the client itself reckons them."""
    status = json.loads(machine.cli("status", "--json").stdout)
    calls = machine.calls()
    stage2 = sum(SYNTHESIS in (call.prompt or "") for call in calls)
    stage1 = sum(EXTRACTION in (call.prompt or "") for call in calls)
    assert stage1 >= 1 and stage2 >= 1 and stage1 + stage2 == len(calls)
    assert status["budget"]["calls_today"] == len(calls)
    usd = stage1 * price(machine, "haiku", EXTRACTION) + stage2 * price(machine, "sonnet", SYNTHESIS)
    assert status["budget"]["usd_today"] == pytest.approx(usd, abs=1e-6) and usd > 0
    counted = status["slices"]["learning"]["total"]
    assert counted == {"asked": 2, "facts": 2, "lines": 2}
    assert status["parked"] == [] and status["degraded"] == []


def price(machine: Machine, model: str, words: str) -> float:
    """What the client says that one such call costs, asked without the daemon."""
    command = [str(machine.client), "-p", "--model", model, "--output-format", "json", "--tools", ""]
    command += ["--no-session-persistence", "--setting-sources", "", "--strict-mcp-config"]
    done = subprocess.run(
        command, input=words, env=machine.environ, cwd=machine.bin, capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout)["total_cost_usd"])


def the_next_session_knows(machine: Machine) -> None:
    """The mirror `.claude/rules/tacitd-learned.md`: what was learned is in the first request."""
    before = len(machine.asked_by_person())
    with machine.person() as client:
        client.say(QUESTION)
        wait_for(lambda: len(machine.asked_by_person()) > before, 20, "the person's request")
        client.leave()
    first = machine.asked_by_person()[before]
    assert PNPM_FACT in first.text and TABS_FACT in first.text


BUSY = {
    "user": "[[reply:On it, step by step.]] [[slow:0.5]]",
    "attachment": '[[tool:Read {"file_path":"CLAUDE.md"}]] [[reply:done]] [[slow:0.5]]',
}
"""Replies that take some seconds, so that the next words are typed while the model is busy; by the type of the record
in which these words arrive: a prompt of its own after the turn, or part of the turn between two requests."""


@pytest.mark.parametrize("arrives_as", BUSY)
def test_words_typed_while_the_model_is_busy_are_learned_once(machine: Machine, arrives_as: str) -> None:
    """CLAUDE_CODE 6, rules 4, 5 and 14: a queued message is written up to three times, and said once."""
    with machine.person() as client:
        client.say(f"{PNPM} {BUSY[arrives_as]}")
        client.say(TABS)
        assert was_queued(machine, client), "the second prompt was not typed while the model was busy"
        wait_for(
            lambda: TABS in asked_texts(machine), 30, "the second prompt to reach the model", client.screen
        )
        wait_for(lambda: "esc to interrupt" not in client.screen(), 30, "the end of the turn", client.screen)
        client.leave()
    assert arrives_as in types_of_records(machine, TABS)
    learned(machine, PNPM_FACT, TABS_FACT)
    said = said_to_the_model(machine)
    assert said[TABS] == 1 and sum(said.values()) == 2
    assert len(machine.transcripts()) == 1


def was_queued(machine: Machine, client: RealClient) -> bool:
    """Whether the client has put words into its queue that the model has not seen yet."""
    return client.recorded(b'"operation":"enqueue"') > 0 and TABS not in asked_texts(machine)


def asked_texts(machine: Machine) -> str:
    """The texts of the person's requests so far."""
    return "\n".join(text for one in machine.asked_by_person() for text in one.user_texts)


def types_of_records(machine: Machine, words: str) -> set[str]:
    """The types of the records that hold these words."""
    records = [x for path in machine.projects.rglob("*.jsonl") for x in path.read_bytes().splitlines()]
    return {json.loads(x)["type"] for x in records if words.encode() in x}


ASKS_ABOUT = {
    "a call": '[[tool:Bash {"command":"touch made.txt"}]] [[reply:done]]',
    "a question": '[[tool:AskUserQuestion {"questions":[{"question":"Which one?","header":"Which","multiSelect":false,'
    '"options":[{"label":"yarn","description":"new"},{"label":"npm","description":"old"}]}]}]] [[reply:fine]]',
}
"""What makes the client ask the person."""
SAYS_NO = {
    "a call": ("Do you want to proceed?", "4. No", "Tab"),
    "a question": ("Which one?", "3. Type something", ""),
}
"""What the client shows then, the choice with which the person writes an answer, and the key that opens the text."""


@pytest.mark.parametrize("about", ASKS_ABOUT)
def test_what_a_person_writes_to_reject_or_answer_is_learned(machine: Machine, about: str) -> None:
    """CLAUDE_CODE 6, rule 8: the words of a rejection, and a typed answer to the model's question."""
    asks, choice, key = SAYS_NO[about]
    options = ("--permission-mode", "default")
    with RealClient(machine.client, machine.home, machine.project, machine.person_environ, options) as client:
        client.say(f"please begin {ASKS_ABOUT[about]}")
        wait_for(lambda: asks in client.screen() and choice in client.screen(), 30, asks, client.screen)
        for _ in range(int(choice[0]) - 1):
            client.tmux("send-keys", "-t", "c", "Down")
        wait_for(lambda: f"❯ {choice}" in client.screen(), 10, choice, client.screen)
        if key:
            client.tmux("send-keys", "-t", "c", key)
            wait_for(lambda: f"❯ {choice}," in client.screen(), 10, "the place for a reason", client.screen)
        client.enter(PNPM)
        wait_for(lambda: said_beside_a_tool(machine, PNPM), 30, "the words in a tool's result", client.screen)
        client.leave()
    learned(machine, PNPM_FACT)


def said_beside_a_tool(machine: Machine, words: str) -> bool:
    """Whether a tool's result has these words."""
    records = [x for path in machine.projects.rglob("*.jsonl") for x in path.read_bytes().splitlines()]
    return any(b'"tool_result"' in x and words.encode() in x for x in records)
