"""The prompts as they are sent, with the parts of all plugins, compared with golden files (SPEC S-01, S-20 to S-27)."""

from __future__ import annotations

from support_golden import assert_golden
from support_learning import EXTRACTION, Bench
from tacitd.model.answer_checks import frame_prompt

SENTENCES = (
    "Perform opinion mining and preference extraction on the following user message.",
    "- Stated preferences (likes, dislikes, wants)",
    "- Corrections (negations of previous behavior)",
    "- Beliefs and opinions",
    "- Stance on topics",
    "Context - already known facts (do NOT re-extract these):",
    "Output as semantic triples in natural language. One fact per line.",
    "If no NEW extractable preferences or opinions, output: NONE",
    "Message: ",
)
"""Every sentence of seed 003's prompt for Stage 1."""


def test_extraction_as_it_is_sent(bench: Bench) -> None:
    """S-01: the seed's sentences in their order, the rules before `Message:`, the known facts, and each message fenced."""
    bench.put("tmp/known-facts-summary.md", "# Known facts\n\n## Coding\n- Run make lint before a commit\n")
    records = [
        bench.record("I write Go, keep answers short"),
        bench.record("no, use pnpm, not npm", context="I ran npm install."),
        bench.record("run make lint before a commit, I said"),
    ]
    bench.play(bench.grew(*records, due=True))
    prompt = frame_prompt(bench.asked(EXTRACTION)[0])
    assert_golden("extraction.txt", prompt)
    lines = [
        next(at for at, line in enumerate(prompt.splitlines()) if line.startswith(one.strip()))
        for one in SENTENCES
    ]
    assert lines == sorted(lines)
