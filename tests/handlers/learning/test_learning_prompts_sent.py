"""The prompts as they are sent, with the parts of all plugins, compared with golden files (SPEC S-01, S-20 to S-27)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_golden import assert_golden
from support_heard import list_facts, write_heard, write_proposals
from support_learning import EXTRACTION, MORNING, QUIET, SUMMARY, SYNTHESIS, lines
from tacitd.model.port import ModelRequest, frame_prompt
from tacitd.testing import FakeClock, World

PNPM = "Use pnpm, not npm"
HEARD = {
    "no, use pnpm": f"Corrected: {PNPM}",
    "no, short answers": "Corrected: Keep answers short",
    "frozen from tomorrow": "Freezes the code from tomorrow on",
}
"""What the model hears in a message with these words."""

SENTENCES = (
    "Perform opinion mining and preference extraction on the messages",
    "- Stated preferences",
    "- Corrections (negations of previous behavior)",
    "Already known. Do NOT extract these again",
    "1. Run make lint before a commit",
    "Answer with one JSON object a line, or NONE:",
    "Message 1",
)
"""Every sentence of seed 003's prompt for Stage 1."""

SYNTHESIS_SENTENCES = (
    "Perform knowledge synthesis on the facts at the end.",
    "Tasks:",
    "- Deduplicate semantically similar facts",
    "- Merge related facts into coherent statements",
    "- Detect patterns (repeated corrections = strong preference)",
    "- Compare against existing learned preferences",
    "- Determine SCOPE for each fact: project-level or module-specific",
    "- Output only NEW or UPDATED preferences with their target location",
    "Scoping rules:",
    "- General preferences (coding style, communication) → LEARNED.md (project root)",
    "- Module-specific facts (about a specific folder/package) → {folder}/AGENTS.md",
    "Answer with one JSON object for each line, or NONE:",
    "Files:",
    "Existing lines.",
    "Facts, with the day",
)
"""The six tasks and two scoping rules of seed 003's prompt for Stage 2, and its parts in their order: the data are the last."""

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


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, [(EXTRACTION, hear), (SYNTHESIS, propose)], clock=FakeClock(MORNING)) as made:
        yield made


def list_asked(world: World, words: str) -> list[str]:
    """What the model was asked with these words, as it is sent."""
    return [frame_prompt(prompt) for prompt in world.prompts if words in prompt]


def test_summary_as_it_is_sent(world: World) -> None:
    """S-40 to S-44: the seed's sentences in their order, then the directives as data."""
    world.write("AGENTS.md", "# Rules\n\n- Write small functions\n- Run `make test` before a push\n")
    assert world.run("init").code == 0
    (prompt,) = list_asked(world, SUMMARY)
    assert_golden("summary.txt", prompt)
    at = [prompt.splitlines().index(sentence) for sentence in SUMMARY_SENTENCES]
    assert at == sorted(at)


def test_extraction_as_it_is_sent(world: World) -> None:
    """S-01: the seed's kinds and parts in their order, the numbered known facts, and each message fenced."""
    world.write("LEARNED.md", "# Ours\n\n## Coding\n- Run make lint before a commit\n")
    world.type("s1", "I write Go, keep answers short").say("s1", "I ran npm install.")
    world.type("s1", "no, use pnpm, not npm", "run make lint before a commit, I said").wait(QUIET)
    (prompt,) = list_asked(world, EXTRACTION)
    assert_golden("extraction.txt", prompt)
    at = [
        next(at for at, line in enumerate(prompt.splitlines()) if line.startswith(one.strip()))
        for one in SENTENCES
    ]
    assert at == sorted(at)


def test_synthesis_as_it_is_sent(world: World) -> None:
    """S-20 to S-27, S-30, S-36: the files, numbered lines, and numbered facts with their marks and counts."""
    world.type("s1", "no, use pnpm, not npm").leave("s1")
    world.type("s3", "no, short answers!", "the code is frozen from tomorrow on").wait(QUIET)
    world.type("s4", "no, short answers!", "no, use pnpm, not npm").leave("s4")
    prompt = list_asked(world, SYNTHESIS)[-1]
    assert_golden("synthesis.txt", prompt)
    at = 0
    for sentence in SYNTHESIS_SENTENCES:
        assert f"\n{sentence}" in prompt[at:], sentence
        at = prompt.index(f"\n{sentence}", at) + 1
