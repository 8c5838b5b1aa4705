"""The prompts as they are sent, with the parts of all plugins, compared with golden files (SPEC S-01, S-20 to S-27)."""

from __future__ import annotations

from support_golden import GOLDEN, assert_golden
from support_learning import EXTRACTION, MORNING, PNPM, SUMMARY, SYNTHESIS, Bench, lines
from tacitd.model.answer_checks import frame_prompt
from tacitd_handlers.learning.settings import LearningSettings

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


def test_summary_as_it_is_sent(bench: Bench) -> None:
    """S-40 to S-44: the seed's sentences in their order, then the directives as data."""
    bench.put("AGENTS.md", "# Rules\n\n- Write small functions\n- Run `make test` before a push\n")
    bench.answer((SUMMARY, "## Coding\n- Write small functions\n"), (EXTRACTION, "NONE"))
    bench.type("use pnpm, not npm")
    prompt = frame_prompt(bench.asked(SUMMARY)[0])
    assert_golden("summary.txt", prompt)
    lines = [prompt.splitlines().index(sentence) for sentence in SUMMARY_SENTENCES]
    assert lines == sorted(lines)


def test_extraction_as_it_is_sent(bench: Bench) -> None:
    """S-01: the seed's kinds and parts in their order, the numbered known facts, and each message fenced."""
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


def test_synthesis_as_it_is_sent(bench: Bench) -> None:
    """S-20 to S-27, S-30, S-36: the files, numbered lines, and numbered facts with their marks and counts."""
    bench.clock.wall = MORNING
    bench.answer((EXTRACTION, f"[1] {PNPM}"), (SYNTHESIS, lines(PNPM)))
    bench.learn("use pnpm, not npm", session="s1")
    bench.answer(
        (
            EXTRACTION,
            f"[1] AGAIN: {PNPM}\n[2] Corrected: Keep answers short\n[2] Freezes the code from tomorrow on",
        ),
        (SYNTHESIS, "NONE"),
    )
    bench.learn("pnpm!", "no, short answers; and the code is frozen from tomorrow on", session="s2")
    bench.learn("pnpm!", "no, short answers; and the code is frozen from tomorrow on", session="s3")
    prompt = frame_prompt(bench.asked(SYNTHESIS)[-1])
    assert_golden("synthesis.txt", prompt)
    at = 0
    for sentence in SYNTHESIS_SENTENCES:
        assert f"\n{sentence}" in prompt[at:], sentence
        at = prompt.index(f"\n{sentence}", at) + 1


def test_a_synthesis_that_is_asked_to_merge_as_it_is_sent(bench: Bench) -> None:
    """S-54: past `learning.max_lines` the same prompt ends with the request to merge, before the other plugins' parts."""
    bench.clock.wall = MORNING
    bench.learning = LearningSettings(max_lines=10)
    old = [f"Use tool{number}x for job{number}y" for number in range(11)]
    for session, facts in (("s1", old), ("s2", ["Use ruff"])):
        said = "\n".join(f"[1] {fact}" for fact in facts)
        bench.answer((EXTRACTION, said), (SYNTHESIS, lines(*facts)))
        bench.learn(". ".join(facts), session=session)
    prompt = frame_prompt(bench.asked(SYNTHESIS)[-1])
    assert_golden("synthesis-merge.txt", prompt)
    plain = (GOLDEN / "synthesis.txt").read_text("utf-8")
    for sentence in SYNTHESIS_SENTENCES:
        assert f"\n{sentence}" in plain and f"\n{sentence}" in prompt
