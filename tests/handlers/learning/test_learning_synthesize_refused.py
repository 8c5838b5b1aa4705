"""Stage 2 on the bench: unusable answers, and text that must not leave the machine."""

from __future__ import annotations

import json

import pytest

from support_heard import list_facts
from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, lines
from tacitd.handler import Later, Rejected
from tacitd.model.port import ModelRequest, NoAnswer, Why

# --- unusable answers ---------------------------------------------------------------------------------------

ECHO = '{"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": "Use pnpm, not npm", "FROM": [2, 5], "REPLACES": ["L3"]}'
"""The example of the prompt. Its numbers are not those of the facts."""


@pytest.mark.parametrize(
    "said",
    [
        "words, no form",
        ECHO,
        "I'm sorry, I can't help.",
        '{"FILE": "LEARNED.md"}',
        '{"FACT": "Use pnpm", "FROM": [0, -1, 99, "x", null]}',
        '{"FACT": "Use pnpm", "FROM": [1',
        "- Output only NEW or UPDATED preferences with their target location",
        "x" * 10_000_000,
    ],
)
def test_an_answer_that_is_none_is_kept_asked_again_and_then_put_aside(bench: Bench, said: str) -> None:
    """SPEC S-23, S-35: after two answers the facts are put aside, shown in `status`, and not paid for again."""
    bench.answer((SYNTHESIS, said), (EXTRACTION, PNPM))
    bench.type("use pnpm, not npm")
    outcome = bench.end()
    assert isinstance(outcome, Later) and outcome.blame == "work"
    assert "learning.answers" in bench.degraded and len(bench.claimed) == 1
    outcome = bench.end()
    assert isinstance(outcome, Rejected) and "the facts are in" in outcome.reason
    dead = list(bench.files.tmp_dir.glob("*.dead.jsonl"))
    assert len(dead) == 1 and PNPM in dead[0].read_text() and not bench.files.learned_file.exists()
    asked = len(bench.model.asked)
    bench.restart()
    bench.end()
    assert len(bench.model.asked) == asked and not bench.files.raw_file.exists()
    assert str(dead[0]) in next(d.what for id, d in bench.degraded.items() if id.startswith("learning.aside"))


@pytest.mark.parametrize("poison", range(4))
def test_one_poison_prompt_costs_the_others_nothing_more(bench: Bench, poison: int) -> None:
    """Of four batches one makes every answer useless. The batches are asked about once together and once in halves: the half without
    it is written, and no fact is paid for three times."""
    facts = [f"Prefers tool{number}x" for number in range(4)]

    def say(ask: ModelRequest) -> str:
        listed = list_facts(ask.prompt).values()
        return "useless" if facts[poison] in listed else lines(*listed)

    for number, fact in enumerate(facts):
        bench.answer((EXTRACTION, fact))
        bench.type(f"I prefer tool{number}x", session=f"s{number}")
    bench.answer((SYNTHESIS, say))
    assert isinstance(bench.end(), Later)
    assert isinstance(bench.end(), Rejected)
    bench.play_posted()
    half = poison // 2 * 2
    assert sorted(bench.bullets) == [fact for at, fact in enumerate(facts) if at not in (half, half + 1)]
    paid = [fact for prompt in bench.asked(SYNTHESIS) for fact in list_facts(prompt).values()]
    assert {fact: paid.count(fact) for fact in facts} == dict.fromkeys(facts, 2)
    assert not bench.claimed and "learning.answers" not in bench.degraded


def test_what_was_put_aside_can_be_tried_again(bench: Bench) -> None:
    """SPEC S-23: facts are never lost; the hint names a command that works."""
    bench.answer((SYNTHESIS, "nonsense"), (EXTRACTION, PNPM))
    bench.type("use pnpm, not npm")
    for _ in range(2):
        bench.end()
    dead = next(bench.files.tmp_dir.glob("*.dead.jsonl"))
    dead.rename(bench.files.raw_file)
    bench.answer((SYNTHESIS, lines(PNPM)))
    bench.due("recover")
    assert not any(id.startswith("learning.aside") for id in bench.degraded)
    bench.play_posted()
    assert bench.bullets == [PNPM]


@pytest.mark.parametrize("why", [Why.ABSENT, Why.LIMIT, Why.BUDGET, Why.LOGGED_OUT, Why.STOPPING])
def test_a_model_that_is_away_makes_the_facts_wait(bench: Bench, why: Why) -> None:
    """SPEC S-23: the claimed file is kept, no try is counted, and the synthesis continues later."""
    bench.answer((SYNTHESIS, NoAnswer(why, "d", "h", 9.0)), (EXTRACTION, PNPM))
    bench.type("use pnpm, not npm")
    for _ in range(6):
        outcome = bench.end()
        assert isinstance(outcome, Later) and outcome.blame == "world" and outcome.not_before == 9.0
    bench.answer((SYNTHESIS, lines(PNPM)))
    bench.end()
    assert bench.bullets == [PNPM] and not bench.claimed


def test_a_call_that_was_begun_twice_is_not_begun_a_third_time(bench: Bench) -> None:
    """RELIABILITY 16: the facts are put aside at once and shown in `status`."""
    bench.answer((SYNTHESIS, NoAnswer(Why.REPEATED, "killed")), (EXTRACTION, PNPM))
    bench.type("use pnpm, not npm")
    assert isinstance(bench.end(), Rejected) and list(bench.files.tmp_dir.glob("*.dead.jsonl"))


# --- secrets ------------------------------------------------------------------------------------------------

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123"


@pytest.mark.parametrize("where", ["LEARNED.md", "src/AGENTS.md", "folder", "fact"])
def test_no_secret_leaves_the_machine_with_a_synthesis(bench: Bench, where: str) -> None:
    """SPEC S-67: secrets are blanked in every text that is sent; the file itself keeps every byte."""
    folder = f"src/{TOKEN}" if where == "folder" else "src"
    (bench.root / folder).mkdir(parents=True)
    if where.endswith(".md"):
        bench.put(where, f"- The token: {TOKEN}\n- Use tabs\n")
    facts = [PNPM, *([f"Key {TOKEN}"] if where == "fact" else [])]
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": facts, "folders": [folder]}) + "\n")
    bench.due("synthesize", bench.project)
    prompt = bench.asked(SYNTHESIS)[0]
    assert "ghp_" not in prompt and ("[secret]" in prompt) == (where != "fact") and PNPM in prompt
    if where.endswith(".md"):
        assert f"- The token: {TOKEN}\n- Use tabs\n" in (bench.root / where).read_text()


def test_a_blanked_line_that_the_model_says_again_is_not_new(bench: Bench) -> None:
    """A line with a secret is shown blanked. Said again as it was shown, it is no new line."""
    bench.put("LEARNED.md", f"## Coding\n- The token: {TOKEN}\n")
    again = lines("The token: [secret]") + "\n\n" + lines(PNPM) + "\nREPLACES: The token: [secret]"
    bench.answer((SYNTHESIS, again), (EXTRACTION, PNPM))
    bench.learn()
    assert bench.bullets == [f"The token: {TOKEN}", PNPM]


def test_our_line_is_still_replaced(bench: Bench) -> None:
    """SPEC S-26: blanking does not change other lines, so REPLACES finds them."""
    bench.learn()
    bench.files.learned_file.write_text(bench.learned + f"- The token: {TOKEN}\n")
    bench.answer(
        (SYNTHESIS, lines("Use bun, never npm") + f"\nREPLACES: {PNPM}"), (EXTRACTION, "Use bun, never npm")
    )
    bench.learn("use bun, not npm", session="s2")
    assert bench.bullets == ["Use bun, never npm", f"The token: {TOKEN}"]


def test_facts_of_other_tools_with_a_secret_are_counted_once(bench: Bench) -> None:
    """SPEC S-21, S-67: facts with a secret are dropped and counted; a retry does not count them twice."""
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [f"Key {TOKEN}", PNPM]}) + "\n")
    bench.answer((SYNTHESIS, NoAnswer(Why.OVERLOADED, "busy")))
    bench.due("synthesize", bench.project)
    bench.answer((SYNTHESIS, lines(PNPM)))
    bench.due("synthesize", bench.project)
    assert bench.status["skipped"] == {"looks like a secret": 1} and TOKEN not in json.dumps(bench.status)
    bench.put("tmp/learning-raw.jsonl", json.dumps({"facts": [f"Key {TOKEN}"]}) + "\n")
    bench.due("synthesize", bench.project)
    bench.restart()
    assert bench.status["skipped"] == {"looks like a secret": 2}
