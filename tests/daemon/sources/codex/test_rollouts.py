"""Whose words a Codex rollout has, and what becomes of its other lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_codex import PARENT, SESSION, START, Rollout
from support_examples import examples
from support_transcripts import list_prompts
from tacitd.events import Prompt
from tacitd.sources.codex.rollouts import Codex
from tacitd.sources.source import OwnCalls
from tacitd.sources.transcript import Tail, judge_transcript, read_prompts, read_records

VERSIONS = ("0.42.0", "0.98.0", "0.157.0", "0.169.0")
RECORDED = Path(os.environ.get("TACITD_CODEX_TRANSCRIPTS", "/nonexistent"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found = tmp_path / ".codex"
    found.mkdir()
    return found


def prompts(home: Path, path: Path, own: OwnCalls | None = None) -> list[Prompt]:
    return list(read_prompts(Codex(home, own or OwnCalls()), path))


def texts(home: Path, path: Path, own: OwnCalls | None = None) -> list[str]:
    return [one.text for one in prompts(home, path, own)]


def reasons(home: Path, path: Path) -> list[str]:
    return [one.verdict.reason for one in judge_transcript(path, Codex(home))]


@pytest.mark.parametrize("version", VERSIONS)
def test_typed_prompts_are_the_persons(home: Path, version: str) -> None:
    talk = Rollout(home, "/home/dev/proj", version)
    talk.ask("use tabs please")
    talk.answer("done one")
    talk.type("also check the tests")  # typed while it works
    talk.ask("then write docs")
    first, second, third = prompts(home, talk.path)
    assert [first.text, second.text, third.text] == [
        "use tabs please",
        "also check the tests",
        "then write docs",
    ]
    assert (first.session, first.cwd, first.kind) == (SESSION, "/home/dev/proj", "typed")
    assert second.context == "done one" and first.context == ""
    assert first.time is not None and START < first.time < START + 10
    assert len({one.id for one in (first, second, third)}) == 3


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_program_and_a_sub_agent_are_nobody(home: Path, version: str) -> None:
    program = Rollout(home, "/p", version, source="exec", id=SESSION[:-1] + "1")
    program.ask("do it", "exec", typed=False)
    agent = Rollout(
        home,
        "/p",
        version,
        source={"subagent": {"thread_spawn": {}}},
        parent_thread_id=PARENT,
        id=SESSION[:-1] + "2",
    )
    agent.ask("count files", "user", typed=False)
    agent.patch("a.py")
    assert texts(home, program.path) == texts(home, agent.path) == []
    assert read_records(Codex(home), agent.path, 0, agent.path.stat().st_size) == []
    tail = Tail(program.path, 0, Codex(home))
    tail.read_next_slice()
    assert tail.assembler.is_headless and tail.assembler.recognition.answers == 0


def test_a_turn_of_exec_in_a_persons_session_is_a_programs(home: Path) -> None:
    talk = Rollout(home, "/p")
    talk.ask("mine")
    talk.ask("a script's", "exec", typed=False)
    talk.ask("a script's with the terminal's id", "exec")
    talk.ask("mine again")
    assert texts(home, talk.path) == ["mine", "mine again"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "text",
    [
        "Generate a file named AGENTS.md that serves as a contributor guide for this repository.",
        "<environment_context>\n<cwd>/p</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /p\n\nnever push",
        "<turn_aborted>\nThe user interrupted\n</turn_aborted>",
        "<user_shell_command>\nls\n</user_shell_command>",
        "Another language model started to solve this problem",
        "<skill>\nalways deploy\n</skill>",
    ],
)
def test_the_clients_texts_are_nobodys(home: Path, version: str, text: str) -> None:
    talk = Rollout(home, "/p", version)
    talk.ask(text)
    assert texts(home, talk.path) == []


def test_words_behind_what_an_editor_adds(home: Path) -> None:
    talk = Rollout(home, "/p")
    talk.ask("# Context from my IDE:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nuse tabs")
    assert texts(home, talk.path) == ["use tabs"]


def test_copies_of_a_fork_are_not_said_again(home: Path) -> None:
    parent = Rollout(home, "/p", "0.98.0", id=PARENT)
    parent.ask("said before")
    fork = Rollout(home, "/p", "0.98.0")
    fork.path.write_text(fork.path.read_text().splitlines(keepends=True)[0])
    stamp = json.loads(fork.path.read_text())["timestamp"]
    with fork.path.open("a") as file:
        for raw in parent.path.read_text().splitlines():
            file.write(json.dumps(json.loads(raw) | {"timestamp": stamp}) + "\n")
    fork.at = START + 60
    fork.ask("in the fork")
    assert texts(home, fork.path) == ["in the fork"]
    assert "a fork's copy of the talk of its parent" in reasons(home, fork.path)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "user_message", "message": "words", "kind": "heartbeat"},
        {"type": "user_message", "message": ["words"]},
        {"type": "item_completed", "item": {"type": "UserMessage", "client_id": "c", "content": "words"}},
        {
            "type": "item_completed",
            "item": {"type": "UserMessage", "client_id": "c", "content": [{"audio": 1}]},
        },
    ],
)
def test_what_is_unknown_is_refused_and_counted(home: Path, event: dict[str, object]) -> None:
    """SPEC S-05: unknown is not a person, and visible."""
    talk = Rollout(home, "/p")
    talk.begin_turn()
    talk.add("event_msg", **event)
    talk.answer("yes")
    tail = Tail(talk.path, 0, Codex(home))
    tail.read_next_slice()
    assert list_prompts(tail, 0) == () and sum(tail.assembler.counts.values()) == 1
    assert not tail.assembler.recognition.recognised


def test_an_unknown_trigger_is_no_person(home: Path) -> None:
    talk = Rollout(home, "/p")
    talk.ask("words", "cron")
    assert texts(home, talk.path) == []
    assert reasons(home, talk.path) == ["unknown turn_trigger: cron"]


def test_a_version_that_writes_no_event_is_said(home: Path) -> None:
    """Words that only the model's input has are not read, and after some answers `status` says so."""
    talk = Rollout(home, "/p", "0.98.0")
    talk.say_as_user("use tabs")
    talk.answer("yes")
    talk.answer("done")
    tail = Tail(talk.path, 0, Codex(home))
    tail.read_next_slice()
    assert list_prompts(tail, 0) == () and tail.assembler.recognition.answers == 2


@pytest.mark.parametrize("damage", [b"", b'{"timestamp":"x","type":"event_msg","payl', b"\0\0\0"])
def test_records_that_share_a_line_are_read(home: Path, damage: bytes) -> None:
    """RELIABILITY row 9: two records without a newline between them, a torn one, a run of NUL bytes."""
    talk = Rollout(home, "/p")
    talk.ask("use tabs")
    talk.answer("yes")
    talk.ask("and be brief")
    lines = talk.path.read_bytes().splitlines()
    at = next(
        number for number, line in enumerate(lines) if b"and be brief" in line and b"UserMessage" in line
    )
    talk.path.write_bytes(
        b"\n".join([*lines[: at - 1], lines[at - 1] + damage + lines[at], *lines[at + 1 :], b""])
    )
    assert texts(home, talk.path) == ["use tabs", "and be brief"]


def test_tacitds_own_calls_are_nobodys(home: Path) -> None:
    talk = Rollout(home, "/state/model/work")
    talk.ask("judge these")
    assert texts(home, talk.path, OwnCalls(cwd="/state/model/work")) == []
    assert texts(home, talk.path, OwnCalls(sentinel="judge")) == []


def test_files_of_patches_are_what_tools_touch(home: Path) -> None:
    talk = Rollout(home, "/p")
    talk.ask("change it")
    talk.patch("pkg/cart/a.py", "/p/b.py")
    records = read_records(Codex(home), talk.path, 0, talk.path.stat().st_size)
    used = [json.loads(use.input)["file_path"] for record in records for use in record.tools]
    assert used == ["/p/pkg/cart/a.py", "/p/b.py"]


def test_a_summary_is_no_context(home: Path) -> None:
    talk = Rollout(home, "/p")
    talk.answer("a summary of everything")
    talk.add("compacted", message="", replacement_history=[])
    talk.ask("go on")
    assert prompts(home, talk.path)[0].context == ""


@examples(100)
@given(cut=st.integers(1, 6000), version=st.sampled_from(VERSIONS))
def test_where_bytes_are_cut_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, cut: int, version: str
) -> None:
    home = tmp_path_factory.mktemp("codex")
    talk = Rollout(home, "/p", version, base_url="x" * 1000)
    for number in range(4):
        talk.ask(f"prompt {number} – ümläut")
        talk.answer(f"answer {number}")
    data, source = talk.path.read_bytes(), Codex(home)
    whole = read_records(source, talk.path, 0, len(data))
    talk.path.write_bytes(data[: cut % len(data)])
    tail = Tail(talk.path, 0, source)
    tail.read_next_slice()
    at, found = tail.safe_end, list(tail.list_records(0))
    talk.path.write_bytes(data)
    found += read_records(source, talk.path, at, len(data))
    assert [(one.start, one.prompts, one.text) for one in found] == [
        (one.start, one.prompts, one.text) for one in whole
    ]


def test_the_middle_of_a_long_rollout_has_its_beginning(home: Path) -> None:
    """What its first line says holds although the reader begins far behind it."""
    kinds: tuple[dict[str, Any], ...] = ({"source": {"subagent": "x"}}, {"source": "exec"}, {})
    for number, kind in enumerate(kinds):
        talk = Rollout(home, "/p", "0.98.0", id=SESSION[:-1] + str(number), **kind)
        for _ in range(40):
            talk.answer("x" * 10_000)
        at = talk.path.stat().st_size
        talk.ask("words")
        tail = Tail(talk.path, at, Codex(home))
        tail.read_next_slice()
        assert [one.text for one in list_prompts(tail, at)] == (["words"] if not kind else [])
        assert tail.assembler.session == talk.id and tail.assembler.cwd == "/p"


def list_recorded() -> Iterator[tuple[str, list[dict[str, str]]]]:
    if (RECORDED / "manifest.json").is_file():
        listed = json.loads((RECORDED / "manifest.json").read_text())
        yield from ((name, said) for name, said in listed.items() if not name.startswith("0.22"))


@pytest.mark.skipif(not RECORDED.is_dir(), reason="recorded rollouts are not here")
def test_recorded_rollouts_have_the_prompts_of_their_manifest() -> None:
    listed = list(list_recorded())
    assert len(listed) > 20
    for name, said in listed:
        found = [one.text for one in read_prompts(Codex(RECORDED / name.partition("/")[0]), RECORDED / name)]
        assert found == [one["text"] for one in said if one["kind"] == "typed"], name
