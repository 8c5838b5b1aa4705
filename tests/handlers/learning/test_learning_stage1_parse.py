"""Parsing the answer of Stage 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.prompt_templates import PromptMessage, extraction_prompt, load_template
from tacitd_handlers.learning.stage1.parse import ParsedFacts, parse_facts
from tacitd_handlers.shared.answer_screening import Unusable, is_none, shorten_to_sentence, strip_marks
from tacitd_handlers.shared.tidy import strip_user

NONES = [
    "NONE", "none", "None.", "none.", '"NONE"', "'none'", "`NONE`", "- None", "* NONE", "1. NONE", "**NONE**",
    "**NONE**.", "NONE - nothing new", "NONE — all known", "None (already known)", "NONE\n", "\n\nNONE\n\n",
    "```\nNONE\n```", "No new preferences.", "No new facts", "No new extractable preferences or opinions.",
    "There are no new preferences or opinions in this message.", "N/A", "nothing", "Output: NONE", "NONE\nNONE",
    "No preferences found.", "", "   \n",
]  # fmt: skip


@pytest.mark.parametrize("heading", ["Coding", "**Testing**", "Communication:", "## Architecture", "General"])
def test_the_name_of_a_group_is_no_fact(heading: str) -> None:
    """S-03: headings in any form are not facts."""
    assert parse_facts(f"{heading}\nUse pnpm") == ParsedFacts(("Use pnpm",))


@pytest.mark.parametrize("answer", NONES)
def test_none_in_all_its_spellings(answer: str) -> None:
    """S-03: NONE is never a fact."""
    assert parse_facts(answer) == ParsedFacts(())


@pytest.mark.parametrize(
    "fact",
    [
        "None of the tests may sleep",
        "Null-safe types everywhere",
        "None.value must be checked",
        "Nothing is committed to main directly",
        "No new dependencies without asking",
        "No comments in generated code",
        "Non-blocking IO only",
    ],
)
def test_facts_that_begin_like_none(fact: str) -> None:
    """S-03: a fact that begins with these letters is a fact."""
    assert parse_facts(fact) == ParsedFacts((fact,))


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("Prefers pnpm\nDislikes npm", ("Prefers pnpm", "Dislikes npm")),
        ("- Prefers pnpm\n* Dislikes npm\n• Wants tests", ("Prefers pnpm", "Dislikes npm", "Wants tests")),
        ("1. Prefers pnpm\n2) Dislikes npm", ("Prefers pnpm", "Dislikes npm")),
        ('"Prefers pnpm"', ("Prefers pnpm",)),
        ("“Prefers pnpm”", ("Prefers pnpm",)),
        ("**Prefers pnpm**", ("Prefers pnpm",)),
        ("```text\nPrefers pnpm\n```", ("Prefers pnpm",)),
        ("Here are the extracted facts:\n\n- Prefers pnpm", ("Prefers pnpm",)),
        ("# Extracted facts\nPrefers pnpm", ("Prefers pnpm",)),
        ("**Corrections:**\n- Prefers pnpm\n\nLet me know if you need more.", ("Prefers pnpm",)),
        ("Prefers pnpm\nNONE", ("Prefers pnpm",)),
        ("Prefers pnpm\nprefers pnpm.\nUser prefers pnpm", ("Prefers pnpm",)),
        ("Prefers pnpm\n{\"fact\": 1}\n---\n[]", ("Prefers pnpm",)),
        ("Bevorzugt Tabs\n使用 pnpm", ("Bevorzugt Tabs", "使用 pnpm")),
        ("Prefers\tpnpm\x1b[31m \u202eover npm", ("Prefers pnpm over npm",)),
        ("`a` over `b`", ("`a` over `b`",)),
        ("NONE\n\n(The message is a question and holds no preference.)", ()),
        ("NONE\n\nThere was nothing new in what was said; all facts are known.", ()),
        ("The message contains no extractable preferences.", ()),
        ("pnpm over npm", ("pnpm over npm",)),
        ("The message format is JSON", ("The message format is JSON",)),
        ("- **Preference:** User wants terse answers\n- **Correction:** no docstrings",
         ("Wants terse answers", "No docstrings")),
        ("Corrected: do Z\nUser's stance: dislikes mocks", ("Do Z", "Dislikes mocks")),
    ],
)  # fmt: skip
def test_one_fact_a_line(answer: str, facts: tuple[str, ...]) -> None:
    """S-03, S-67: bullets, numbers, quotes, fences, introductions and control characters are stripped."""
    parsed = parse_facts(answer)
    assert isinstance(parsed, ParsedFacts) and parsed.facts == facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User prefers pnpm", "Prefers pnpm"),
        ("The user wants tests first", "Wants tests first"),
        ("user: likes tabs", "Likes tabs"),
        ("The user's editor is vim", "Editor is vim"),
        ("User does not want docstrings", "Does not want docstrings"),
        ("User strongly prefers tabs", "Strongly prefers tabs"),
        ("The user is a Go developer", "Is a Go developer"),
        ("User | prefers | pnpm", "Prefers pnpm"),
        ("(User, prefers, pnpm over npm)", "Prefers pnpm over npm"),
        ("User → dislikes → npm", "Dislikes npm"),
        ("User accounts need a uuid", "User accounts need a uuid"),
        ("Users want speed", "Users want speed"),
        ("The user is redirected to login", "The user is redirected to login"),
        ("User", "User"),
    ],
)
def test_no_user_prefix(text: str, expected: str) -> None:
    """S-27: "User" is implicit; a fact about users keeps the word."""
    assert strip_user(text) == expected


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I'm sorry, I can't help with that.", "declined"),
        ("I cannot extract preferences from this.", "declined"),
        ("As an AI, I have no opinions", "declined"),
        ("Could you please provide the message?", "declined"),
        ("Please provide the user message to analyse.", "declined"),
        ("x" * 9000, "longer"),
        ("word " * 200, "prose"),
        ('{"facts": ["Prefers pnpm"]}', "JSON"),
        ("Output as semantic triples in natural language. One fact per line.\nPrefers pnpm", "repeats"),
        (
            "- Stated preferences (likes, dislikes, wants)\n- Corrections (negations of previous behavior)",
            "repeats",
        ),
    ],
)
def test_what_is_no_list_is_unusable(answer: str, reason: str) -> None:
    """S-23, S-35: such an answer is asked for again instead of being taken as empty."""
    parsed = parse_facts(answer)
    assert isinstance(parsed, Unusable) and reason in parsed.reason


def test_the_whole_prompt_echoed_is_refused() -> None:
    """S-35: an answer with the prompt's instructions is an echo, whatever else it contains."""
    assert isinstance(
        parse_facts(extraction_prompt("- Use tabs", [PromptMessage("use pnpm, not npm")])), Unusable
    )
    assert isinstance(parse_facts(load_template("extraction")[:700]), Unusable)


def test_a_person_may_say_the_prompts_sentences() -> None:
    """S-35: a sentence that was in the data is not an echo."""
    said = "please write down: Never widen: words that limit a fact stay in it."
    fact = "Never widen: words that limit a fact stay in it."
    assert isinstance(parse_facts(fact), Unusable)
    assert parse_facts(fact, said) == ParsedFacts((fact,))


def test_a_refusal_is_not_a_strong_opinion() -> None:
    """S-03: "I can't stand" is not a refusal."""
    assert parse_facts("I can't stand semicolons") == ParsedFacts(("I can't stand semicolons",))


def test_caps() -> None:
    """S-03, S-67: 300 characters a fact; their number is limited by the answer's length alone, so none is lost."""
    many = [f"Prefers tool number {n}" for n in range(300)]
    assert parse_facts("\n".join(many)) == ParsedFacts(tuple(many))
    long = parse_facts("Prefers pnpm\nWants " + "very " * 100)
    assert isinstance(long, ParsedFacts) and len(long.facts[1]) <= 300


def test_secrets_are_kept_nowhere() -> None:
    """S-67: a fact that looks like a secret is dropped and counted."""
    parsed = parse_facts("Prefers pnpm\nUses the token ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    assert parsed == ParsedFacts(("Prefers pnpm",), withheld=1)


def test_shortened_ends_at_a_sentence_or_a_word() -> None:
    """S-67: a shortened fact is still readable."""
    assert shorten_to_sentence("Use pnpm here. " + "x" * 40, 30) == "Use pnpm here."
    assert shorten_to_sentence("Use pnpm and never npm at all", 20) == "Use pnpm and never…"
    assert shorten_to_sentence("short", 20) == "short"


@given(st.text(max_size=200))
@examples(100)
def test_any_answer_has_an_outcome(answer: str) -> None:
    """S-03, S-23: no answer raises, and no fact is NONE, empty, too long or of two lines."""
    parsed = parse_facts(answer)
    if isinstance(parsed, ParsedFacts):
        assert all(
            fact == sanitize_line(fact) and 0 < len(fact) <= 300 and not is_none(fact)
            for fact in parsed.facts
        )


@given(st.text(max_size=80))
@examples(100)
def test_marks_are_taken_off_once_and_for_all(text: str) -> None:
    """S-03: stripping twice changes nothing."""
    assert strip_marks(strip_marks(text)) == strip_marks(text)
