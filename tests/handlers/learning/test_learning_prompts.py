"""The prompts: as they are sent, with the parts of all plugins, compared with golden files, and how they are filled (SPEC S-01, S-20 to S-27)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_golden import assert_golden
from support_heard import list_facts, write_heard, write_proposals
from support_learning import EXTRACTION, MORNING, QUIET, SUMMARY, SYNTHESIS, lines
from tacitd.model.port import ModelRequest, frame_prompt
from tacitd.testing import FakeClock, World
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.answers import (
    ExistingLine,
    Numbered,
    NumberedFact,
    parse_heard,
    parse_proposals,
)
from tacitd_handlers.learning.prompt_templates import (
    PromptMessage,
    PromptName,
    extraction_prompt,
    load_template,
    summary_prompt,
    synthesis_prompt,
)

PNPM = "Use pnpm, not npm"
HEARD = {
    "no, use pnpm": f"Corrected: {PNPM}",
    "no, short answers": "Corrected: Keep answers short",
    "frozen from tomorrow": "Freezes the code from tomorrow on",
}
"""What the model hears in a message with these words."""


def hear(request: ModelRequest) -> str:
    """The first call's answer."""
    found = list[str]()
    for at, part in enumerate(request.prompt.split("\nMessage ")[1:], 1):
        for words, fact in HEARD.items():
            if words in part:
                known = "AGAIN: " if f". {fact.removeprefix('Corrected: ')}\n" in request.prompt else ""
                marked = fact.replace("Corrected: ", f"Corrected: {known}") if known else fact
                found.append(f"[{at}] {marked}")
    return write_heard("\n".join(found) or "NONE", request.prompt)


def propose(request: ModelRequest) -> str:
    """The second call's answer: a line for each fact but those about tomorrow."""
    facts = [one for one in list_facts(request.prompt).values() if "tomorrow" not in one]
    return write_proposals(lines(*facts), request.prompt)


NUMBERED = Numbered(
    {number: NumberedFact(f"Fact {number}") for number in range(1, 6)},
    {f"L{number}": ExistingLine("LEARNED.md", "", f"Line {number}", is_ours=True) for number in range(1, 4)},
    ("LEARNED.md",),
)
NAMES: tuple[PromptName, ...] = ("extraction", "synthesis", "summary")

EXTRACTION_PARTS = (
    "Perform opinion mining and preference extraction on the messages",
    "- Stated preferences (likes, dislikes, wants), beliefs and opinions, stance on topics\n",
    "- Corrections (negations of previous behavior)\n",
    "Already known. Do NOT extract these again",
    "{known_facts_summary}",
    "or NONE",
    "{user_message}",
)
"""Seed 003's kinds of facts and its parts, in their order."""
SYNTHESIS_TASKS = """Tasks:
- Deduplicate semantically similar facts
- Merge related facts into coherent statements
- Detect patterns (repeated corrections = strong preference)
- Compare against existing learned preferences
- Determine SCOPE for each fact: project-level or module-specific
- Output only NEW or UPDATED preferences with their target location

Scoping rules:
- General preferences (coding style, communication) → LEARNED.md (project root)
- Module-specific facts (about a specific folder/package) → {folder}/AGENTS.md
"""
SUMMARY_SENTENCES = (
    "Perform knowledge extraction on the following directive documents.",
    "Extract semantic triples representing:",
    "- Stated preferences and requirements",
    "- Prohibited patterns and anti-patterns",
    "- Required practices and conventions",
    "- Architectural principles",
    "Output as concise natural language statements. One fact per line.",
    'No "User" prefix. Keep under 50 lines total.',
    "Group by category: Coding, Testing, Communication, Architecture.",
    "Documents:",
)
"""Every sentence of seed 003's prompt for the known facts."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, [(EXTRACTION, hear), (SYNTHESIS, propose)], clock=FakeClock(MORNING)) as made:
        yield made


def list_asked(world: World, words: str) -> list[str]:
    """What the model was asked with these words, as it is sent."""
    return [frame_prompt(prompt) for prompt in world.prompts if words in prompt]


def test_summary_as_it_is_sent(world: World) -> None:
    """S-40 to S-44: the seed's sentences, then the directives as data."""
    world.write("AGENTS.md", "# Rules\n\n- Write small functions\n- Run `make test` before a push\n")
    assert world.run("init").code == 0
    (prompt,) = list_asked(world, SUMMARY)
    assert_golden("summary.txt", prompt)


def test_extraction_as_it_is_sent(world: World) -> None:
    """S-01: the seed's kinds and parts, the numbered known facts, and each message fenced."""
    world.write("LEARNED.md", "# Ours\n\n## Coding\n- Run make lint before a commit\n")
    world.type("s1", "I write Go, keep answers short").say("s1", "I ran npm install.")
    world.type("s1", "no, use pnpm, not npm", "run make lint before a commit, I said").wait(QUIET)
    (prompt,) = list_asked(world, EXTRACTION)
    assert_golden("extraction.txt", prompt)


def test_synthesis_as_it_is_sent(world: World) -> None:
    """S-20 to S-27, S-30, S-36: the files, numbered lines, and numbered facts with their marks and counts."""
    world.type("s1", "no, use pnpm, not npm").leave("s1")
    world.type("s3", "no, short answers!", "the code is frozen from tomorrow on").wait(QUIET)
    world.type("s4", "no, short answers!", "no, use pnpm, not npm").leave("s4")
    prompt = list_asked(world, SYNTHESIS)[-1]
    assert_golden("synthesis.txt", prompt)


def test_the_seeds_texts_stand_whole() -> None:
    """S-01, S-36: the prompts are seed 003's, all six tasks and both scoping rules among them."""
    extraction = load_template("extraction")
    places = [extraction.index(part) for part in EXTRACTION_PARTS]
    assert places == sorted(places) and places[0] == 0 and extraction.endswith(EXTRACTION_PARTS[-1])
    examples = parse_heard("\n".join(line for line in extraction.splitlines() if line.startswith('{"')))
    assert isinstance(examples, tuple) and len(examples) == 2
    assert SYNTHESIS_TASKS in load_template("synthesis")
    example = next(line for line in load_template("synthesis").splitlines() if line.startswith('{"'))
    assert isinstance(parse_proposals(example, NUMBERED), tuple)
    summary = load_template("summary").splitlines()
    lines_of_seed = [summary.index(sentence) for sentence in SUMMARY_SENTENCES]
    assert lines_of_seed == sorted(lines_of_seed)
    assert "meant for the task at hand only" in load_template("synthesis")


def test_what_is_not_there_is_none() -> None:
    """S-04: an empty summary, and files without a line, are written as "(none)"."""
    assert "give its number:\n(none)\n" in extraction_prompt("  \n", [PromptMessage("hi")])
    assert "stay:\n(none)\n" in synthesis_prompt(["LEARNED.md"], [], ["1. Use pnpm"])


def test_every_text_that_comes_in_is_blanked_of_secrets() -> None:
    """SPEC S-67: secrets are blanked in every value; the prompts' own words are unchanged."""
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123"
    made = [
        extraction_prompt(f"- {token}", [PromptMessage(f"no {token}", f"I saw {token}.")]),
        synthesis_prompt([f"src/{token}"], [f"{token}/AGENTS.md:", f"L1. {token}"], [f"1. Key {token}"]),
        summary_prompt({f"{token}.md": f"- {token}"}),
    ]
    assert [token in prompt for prompt in made] == [False] * 3
    assert [prompt.count("[secret]") for prompt in made] == [3, 4, 2]
    key = "-----BEGIN RSA PRIVATE KEY-----\nabc"
    prompt = synthesis_prompt([], [f"L1. {key}", "P1. kept"], ["1. Use pnpm"])
    assert "P1. kept" in prompt and "Use pnpm" in prompt and "abc" not in prompt
    assert all(redact_secrets(load_template(name)) == (load_template(name), 0) for name in NAMES)


def test_a_fact_cannot_bring_lines_of_its_own() -> None:
    """S-67: a newline in a fact or a folder's name does not begin a new line."""
    prompt = synthesis_prompt(["a\nb/AGENTS.md"], ["L1. c\nL2. d"], ["1. e\n2. f"])
    assert "\na b/AGENTS.md\n" in prompt and "\nL1. c L2. d\n" in prompt and "\n1. e 2. f\n" in prompt
