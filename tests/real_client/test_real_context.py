"""What reaches a session by hooks with the real client, and what its end brings: once, in budget, in every way out.

Over three versions of the client. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from real_install import need_terminal
from real_tui import RealClient, wait_for
from real_world import PERSON_MARK, PROJECT_MARK, VERSIONS, Machine, Request, open_machine

from support_daemon import EXTRACTION, SYNTHESIS, bullets
from support_heard import say_fact, say_lines
from support_waiting import PATIENCE
from tacitd.session_context.context_request import measure_text, normalise_line
from tacitd.session_context.plugin_view import BUDGET
from tacitd.store import open_readonly

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(900)]
KEEPS_CONTEXT = ("2.1.197", "2.1.331")
"""These write what hooks printed into the transcript, and send it again when the session is resumed."""
PNPM, FACT = "in this repository we use pnpm, never npm", "Uses pnpm instead of npm"
BIO = "Builds zebra engines"
LESSON = "WHEN the shop's tests fail -> DO run them alone -> BECAUSE they share a port"
FAILING = "echo 'the tests of the shop fail: the port is used' >&2; exit 3"
SHORT_WORDS, SHORT_FACT = "please keep answers short", "Keep answers short"
FENCE = re.compile(r"<tacitd-context.*?</tacitd-context>", re.DOTALL)
RULES: list[dict[str, Any]] = [
    {
        "match": f"{EXTRACTION}.*{SHORT_WORDS}",
        "steps": [{"text": json.dumps(json.loads(say_fact(SHORT_WORDS, SHORT_FACT)) | {"about": "person"})}],
    },
    {"match": f"{SYNTHESIS}.*{SHORT_FACT}", "steps": [{"text": say_lines(SHORT_FACT)}]},
    {"match": EXTRACTION, "steps": [{"text": say_fact(PNPM, FACT)}]},
    {"match": SYNTHESIS, "steps": [{"text": say_lines(FACT)}]},
    {"match": "run the tests", "steps": [{"tool": "Bash", "input": {"command": FAILING}}, {"text": "done"}]},
]


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with a client of this version and hooks. What is known of the person: a biography, which is in no file that a session
    loads, and a lesson of the project."""
    with open_machine(tmp_path, request.param, RULES, plugin=True) as one:
        assert one.cli("profile", "set", "bio", BIO).returncode == 0
        assert one.cli("lesson", "add", "--scope=app", LESSON).returncode == 0
        yield one


def ask(machine: Machine, words: str, *options: str) -> Request:
    """One `claude -p`; return its request for the answer."""
    before = len(machine.asked_by_person())
    done = machine.run_client(words, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(
        one for one in machine.asked_by_person()[before:] if one.body.get("tools") and words in one.text
    )


def ask_until_in_time(machine: Machine, words: str, *options: str) -> Request:
    """The same, until the hook got its answer in time: on a busy machine it may give up after 50 ms and print nothing, as it
    must for a daemon that hangs. Whatever it prints, it prints once."""
    for _ in range(8):
        found = ask(machine, words, *options)
        fences = FENCE.findall(found.text)
        assert len(fences) <= 1
        if fences:
            return found
    pytest.fail("in eight sessions no hook was answered within 50 ms")


def read_loaded_lines(machine: Machine) -> set[str]:
    """The lines of all files that the client loads by itself, or that tacitd mirrors into such files."""
    roots = [machine.project, machine.home / ".claude"]
    names = ("LEARNED.md", "AGENTS.md", "CLAUDE.md", "rules/*.md", ".claude/rules/**/*.md")
    files = {path for root in roots for name in names for path in root.glob(name)}
    lines = (line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    return {words for line in lines if len(words := normalise_line(line)) > 3}


def type_and_leave(machine: Machine, words: str, way_out: str) -> None:
    """A person types in a terminal, waits for the answer, and leaves."""
    with machine.person() as client:
        client.say(words)
        wait_for(lambda: client.recorded(b'"type":"assistant"') >= 1, PATIENCE, "the answer", client.screen)
        client.leave(way_out)


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_session_gets_what_belongs_to_no_file_once(
    machine: Machine, request: pytest.FixtureRequest
) -> None:
    """The second session's request holds what the first one taught, by the client, and what the hook prints, in budget; no line
    of the latter is in a file that the client loads. A resumed session has it once too, whoever repeats it."""
    need_terminal()
    type_and_leave(machine, PNPM, "/exit")
    machine.wait_for_line(FACT)
    machine.wait_until(lambda _: (machine.project / ".claude/rules/tacitd-learned.md").exists(), "the mirror")
    found = ask_until_in_time(machine, "hello two")
    (fence,) = FENCE.findall(found.text)
    assert f"- {FACT}" in found.text.replace(fence, "") and found.text.count(f"- {FACT}") == 1
    assert BIO in fence and "run them alone" in fence and found.text.count(BIO) == 1
    assert 0 < measure_text(fence) <= BUDGET
    mine = {words for line in fence.splitlines() if len(words := normalise_line(line)) > 3}
    assert mine & read_loaded_lines(machine) == set()
    session = re.search(r'session="([^"]+)"', fence)
    assert session is not None and f"{session[1]}.jsonl" in {
        path.name for path in machine.projects.rglob("*.jsonl")
    }
    resumed = ask(machine, "hello again", "--resume", session[1])
    repeated = FENCE.findall(resumed.text)
    if any(f"[{one}]" in request.node.name for one in KEEPS_CONTEXT):
        assert repeated == [fence]  # the client's own copy; the hook printed nothing
    else:
        assert len(repeated) <= 1  # the hook's, unless it gave up


@pytest.mark.parametrize("machine", VERSIONS[-1:], indirect=True)
def test_what_is_said_about_the_person_holds_in_another_project(machine: Machine) -> None:
    """Issue 39, point 7: said in one project, it is in the first request of the next session of another, once; in no project's file."""
    need_terminal()
    other = machine.new_project("other")
    type_and_leave(machine, SHORT_WORDS, "/exit")
    mine = machine.home / ".agents" / "LEARNED.md"
    rules = machine.home / ".claude" / "rules" / "tacitd.md"
    machine.wait_until(lambda _: SHORT_FACT in bullets(mine) and SHORT_FACT in bullets(rules), str(mine))
    with machine.person(other) as client:
        found = say(machine, client, "hello from another project")
        client.leave("/exit")
    assert found.text.count(f"- {SHORT_FACT}") == 1 and str(other) in found.text
    assert machine.learned == [] and not (other / "LEARNED.md").exists()


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_after_a_compaction_it_is_there_once(machine: Machine) -> None:
    """The client drops what it had, and the hook gives all again but the hand-off; a file of the client's is not repeated."""
    need_terminal()
    with machine.person() as client:
        for words in ("hello one", "hello two"):  # 2.1.197 compacts no shorter conversation
            say(machine, client, words)
        before = len(machine.asked_by_person())
        client.enter("/compact")
        client.press_enter_until(lambda: len(machine.asked_by_person()) > before)
        wait_for(lambda: has_compacted(machine), PATIENCE, "the hook of the compaction", client.screen)
        found = say(machine, client, "hello after that")
        client.leave("KILL")  # some versions take a typed /exit for words after a compaction
    fences = FENCE.findall(found.text)
    assert len(fences) <= 1 and found.text.count(BIO) == len(fences)
    assert machine.fired().keys() >= {(session, "PreCompact") for session in list_sessions(machine)}


def say(machine: Machine, client: RealClient, words: str) -> Request:
    """Type words; return the request that they are in for the first time.

    They are typed again if no request has them: a client that has just compacted may drop what is typed at that moment.
    """
    before = len(machine.asked_by_person())

    def requests() -> list[Request]:
        new = machine.asked_by_person()[before:]
        return [one for one in new if one.body.get("tools") and words in "\n".join(one.user_texts)]

    for _ in range(3):
        client.enter(words)
        client.press_enter_until(lambda: len(requests()) > 0)
        if requests():
            break
    wait_for(lambda: client.recorded(b'"type":"assistant"') >= 1, PATIENCE, "the answer", client.screen)
    assert requests(), client.screen()
    return requests()[0]


def has_compacted(machine: Machine) -> bool:
    lines = machine.hooks.read_text(encoding="utf-8").splitlines() if machine.hooks.exists() else []
    return any(json.loads(one).get("source") == "compact" for one in lines if one.strip())


def list_sessions(machine: Machine) -> set[str]:
    return {session for session, event in machine.fired() if event == "PreCompact"}


@pytest.mark.parametrize("machine", KEEPS_CONTEXT, indirect=True)
def test_a_failed_call_gets_the_lesson_that_fits(machine: Machine) -> None:
    """SPEC E-31, in the versions that tell hooks of a failed call: the model reads the lesson before its next step, once."""
    for _ in range(8):
        ask(machine, "run the tests", "--allowedTools", "Bash")
        last = machine.asked_by_person()[-1].text
        advice = [fence for fence in FENCE.findall(last) if "may help with the error" in fence]
        assert len(advice) <= 1
        if advice:
            assert "run them alone" in advice[0]
            return
    pytest.fail("in eight sessions no hook was answered within 50 ms")


@pytest.mark.parametrize("way_out", ["/exit", "TERM", "CLOSE", "KILL"])
@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_an_ended_session_is_learned_in_every_way_out(machine: Machine, way_out: str) -> None:
    """With the hook of the end within ten seconds on a machine that is not busy. Killed, no hook runs: after the idle time."""
    need_terminal()
    is_hooked = way_out != "KILL"
    if not is_hooked:
        machine.restart(SESSION__IDLE="10s")
    type_and_leave(machine, PNPM, way_out)
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    began = time.monotonic()
    machine.wait_for_line(FACT)
    took = time.monotonic() - began
    logging.getLogger(__name__).info("%s: %.1f s at %.1f times the cores' load", way_out, took, busy)
    ended = [event for _, event in machine.fired()].count("SessionEnd")
    assert not is_hooked or (ended == 1 and took < 10 * busy), f"{took:.1f} s at {busy:.1f} times the load"
    assert way_out != "KILL" or ended == 0


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_the_daemons_own_calls_are_lean(machine: Machine) -> None:
    """With hooks, the plugin's MCP server and CLAUDE.md files on the machine: the calls have none of it, and leave nothing behind."""
    need_terminal()
    type_and_leave(machine, PNPM, "/exit")
    machine.wait_for_line(FACT)
    assert machine.sync() == []
    calls = machine.calls()
    assert len(calls) >= 2
    for call in calls:
        prompt = call.prompt or ""
        assert call.bytes <= len(prompt.encode()) + 2048 and call.body["tools"] == []
        assert not [mark for mark in (PROJECT_MARK, PERSON_MARK, "tacitd-context", BIO) if mark in call.text]
    own = [one for one in machine.asked_by_person() if PNPM not in one.text]
    assert [one.user_texts[-1][:80] for one in own if one.body.get("tools")] == []
    (session,) = {one for one in machine.transcripts().values() if one}
    assert {one for one, _ in machine.fired()} == {session}
    with open_readonly(machine.state) or nullcontext() as store:
        shown = (
            store.rows("SELECT DISTINCT session FROM shown WHERE session NOT LIKE 'review of %'")
            if store
            else []
        )
    assert {one for (one,) in shown} <= {session}
