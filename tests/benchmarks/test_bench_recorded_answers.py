"""Recorded answers: found by the hash of the prompt, by its data if it was reworded, and dumped if there is none."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from recorded_answers import (
    count_fixed_bytes,
    dump_prompt,
    find_kind,
    list_data_lines,
    load_answers,
    make_rules,
    record_answer,
    save_answers,
    take_answers,
)
from support_claude import StandIn, install_proxy, install_stand_in
from tacitd_handlers.learning.prompt_templates import PromptMessage, extraction_prompt, synthesis_prompt

FIRST = extraction_prompt(
    "", [PromptMessage("use pnpm here, not npm", "I ran npm."), PromptMessage("ok, next")]
)
SECOND = extraction_prompt("", [PromptMessage("tests go to spec/"), PromptMessage("no emojis please")])


def _ask(client: StandIn, prompt: str) -> str:
    done = subprocess.run(
        [client.program, "-p", "--output-format", "text"],
        input=prompt,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    save_answers(
        path,
        [record_answer("b", SECOND, "[1] Put tests into spec/"), record_answer("a", FIRST, "[1] Use pnpm")],
    )
    return path


def test_answers_are_stored_by_name(answers: Path) -> None:
    """Renewed answers replace those of the same name, and the file's order does not change."""
    save_answers(answers, [*load_answers(answers), record_answer("a", FIRST, "NONE")])
    assert [(one.name, one.answer) for one in load_answers(answers)] == [
        ("a", "NONE"),
        ("b", "[1] Put tests into spec/"),
    ]


def test_the_kind_and_the_data_of_a_prompt_are_found() -> None:
    """By the seed's first words, and by the fences."""
    assert find_kind(FIRST) == "extraction"
    assert find_kind(synthesis_prompt([], [], ["1. x"])) == "synthesis" and find_kind("hello") == "other"
    assert list_data_lines(FIRST) == ("I ran npm.", "use pnpm here, not npm", "ok, next")


def test_the_fixed_part_does_not_grow_with_the_messages() -> None:
    """It is what a prompt without messages has."""
    assert count_fixed_bytes(FIRST) == count_fixed_bytes(SECOND)
    # Blank lines at the end.
    assert abs(count_fixed_bytes(FIRST) - len(extraction_prompt("", []).encode())) <= 2


@pytest.mark.parametrize("exact", [True, False])
def test_the_stand_in_answers_the_same_prompt(answers: Path, tmp_path: Path, exact: bool) -> None:
    """The hash identifies the prompt."""
    client = install_stand_in(tmp_path / "bin", make_rules(load_answers(answers), exact=exact))
    assert _ask(client, SECOND) == "[1] Put tests into spec/" and client.calls()[-1]["rule"] == 1


def test_a_reworded_prompt_gets_the_nearest_answer(answers: Path, tmp_path: Path) -> None:
    """Another template with the same messages is recognised; with other messages, or where `exact`, there is no answer."""
    loaded = load_answers(answers)
    client = install_stand_in(tmp_path / "bin", make_rules(loaded, exact=False))
    assert _ask(client, SECOND.replace("stance on topics", "stance")) == "[1] Put tests into spec/"
    assert client.calls()[-1]["rule"] == 3
    assert _ask(client, SECOND.replace("no emojis please", "and then?").replace("spec/", "test/")) == "NONE"
    assert client.calls()[-1]["rule"] == -1
    client.rules(make_rules(loaded, exact=True))
    assert _ask(client, SECOND.replace("stance on topics", "stance")) == "NONE"


def test_prompts_are_dumped_and_their_answers_taken(tmp_path: Path) -> None:
    """The answer of each prompt stands beside it; one without an answer is named."""
    made, missing = dump_prompt(tmp_path, 1, FIRST), dump_prompt(tmp_path, 2, SECOND)
    assert made.read_text("utf-8") == FIRST
    made.with_name(f"{made.stem}.answer.txt").write_text("[1] Use pnpm\n", "utf-8")
    names = {made.name: "a-1 extraction 1", missing.name: "b-1 extraction 1"}
    assert take_answers(tmp_path, names) == (
        [record_answer("a-1 extraction 1", FIRST, "[1] Use pnpm")],
        [missing],
    )


def test_the_proxy_passes_calls_on_and_logs_them(tmp_path: Path) -> None:
    """`--record`: the prompt, the answer and the dollars, as the client reports them."""
    real = install_stand_in(
        tmp_path / "real", [{"match": "pnpm", "reply": "[1] Use pnpm", "usd": 0.25, "raw": True}]
    )
    client = install_proxy(tmp_path / "bin", real.program)
    done = subprocess.run(
        [client.program, "-p", "--output-format", "json"],
        input=FIRST,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["result"] == "[1] Use pnpm"
    (call,) = client.calls()
    assert (call["stdin"], call["answer"], call["usd"], call["rule"]) == (FIRST, "[1] Use pnpm", 0.25, 0)
