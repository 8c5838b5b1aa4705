"""A model's word that a line was said again counts only where a message shows it (SPEC S-54)."""

from __future__ import annotations

import pytest

from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench
from tacitd_handlers.learning import repetition_checks
from tacitd_handlers.learning.prompt_templates import PromptMessage
from tacitd_handlers.learning.repetition_checks import RepetitionVerdict, judge_repetition, says_contrary
from tacitd_handlers.learning.state import UNSUPPORTED_REPETITION

SAID, UNPROVEN, UNSUPPORTED = RepetitionVerdict
TABS = "Indent with tabs"
MAIN = "Never commit to main"
GERMAN = "Tests liegen immer neben dem Quelltext"
JAPANESE = "テストはpytestで書く"


@pytest.mark.parametrize(
    ("line", "messages", "named", "verdict"),
    [
        # The mark names a message.
        (PNPM, ["I said pnpm"], [1], SAID),
        (PNPM, ["I said pnpm"], [], SAID),
        (PNPM, ["fix the parser", "pnpm!!"], [2], SAID),
        (PNPM, ["fix the parser", "pnpm!!"], [2, 9], SAID),
        (PNPM, ["I said pnpm"], [7], UNSUPPORTED),
        (PNPM, ["fix the parser", "pnpm!!"], [1], UNSUPPORTED),
        # The message has a word of the line.
        (PNPM, ["the parser fails on empty input"], [1], UNSUPPORTED),
        (PNPM, ["> use pnpm\nthe parser fails on this input"], [1], UNSUPPORTED),
        (TABS, ["we indent with tabs, as I said"], [1], SAID),
        (TABS, ["why is there no tab again?"], [1], SAID),
        # The message does not order the contrary.
        (PNPM, ["from now on use npm, not pnpm"], [1], UNSUPPORTED),
        (PNPM, ["use npm instead of pnpm"], [1], UNSUPPORTED),
        ("Use pnpm for installs, never npm", ["from now on npm for installs, not pnpm"], [1], UNSUPPORTED),
        ("Use pnpm for installs, never npm", ["you used npm for installs, not pnpm"], [1], SAID),
        (PNPM, ["we use npm now"], [1], UNSUPPORTED),
        (PNPM, ["stop using npm!"], [1], SAID),
        (PNPM, ["you used npm again"], [1], SAID),
        (PNPM, ["why do you use npm?"], [1], SAID),
        ("Use pnpm for installs, never npm", ["no, use pnpm for installs, never npm"], [1], SAID),
        (TABS, ["no, indent with tabs"], [1], SAID),
        (TABS, ["don't indent with tabs"], [1], UNSUPPORTED),
        (
            "Run the tests before each commit",
            ["don't run the tests before each commit"],
            [1],
            UNSUPPORTED,
        ),
        ("Never force-push to main", ["force-push to main"], [1], UNSUPPORTED),
        ("Never force-push to main", ["do not force-push, I said"], [1], SAID),
        (
            "Reply without emojis and without a summary",
            ["and again an emoji and a summary. stop that"],
            [1],
            SAID,
        ),
        # What is there, or what somebody does, is no order.
        (MAIN, ["you committed to main"], [1], SAID),
        (MAIN, ["there is a commit on main"], [1], SAID),
        (MAIN, ["the commit went to main"], [1], SAID),
        (MAIN, ["I see commits on main"], [1], SAID),
        (MAIN, ["don't, that commit is on main"], [1], SAID),
        ("Never mock the database in tests", ["you are mocking the database in the tests"], [1], SAID),
        ("No usar comentarios en el código", ["hay comentarios en el código"], [1], SAID),
        (MAIN, ["you should commit to main"], [1], UNSUPPORTED),
        (MAIN, ["you can commit to main from now on"], [1], UNSUPPORTED),
        (PNPM, ["this project uses npm, not pnpm"], [1], UNSUPPORTED),
        # The person says that it was said before.
        ("Keep answers short", ["less text please, as I said"], [1], UNPROVEN),
        ("Keep answers short", ["I told you twice: be brief"], [1], UNPROVEN),
        ("Keep answers short", ["how often do I have to say it: be brief"], [1], UNPROVEN),
        ("Keep answers short", ["too much, I said the parser first"], [1], UNSUPPORTED),
        # Words cannot show it.
        (PNPM, ["paketmanager: immer noch der gleiche wie gestern, bitte"], [1], UNPROVEN),
        (GERMAN, ["put the specs next to their modules, as always"], [1], UNPROVEN),
        (GERMAN, ["die Tests bitte neben den Quelltext"], [1], SAID),
        (JAPANESE, ["pytestと言いました"], [1], SAID),
        (JAPANESE, ["テストは前に言った通りに書く"], [1], SAID),
        (JAPANESE, ["as I told you yesterday"], [1], UNPROVEN),
    ],
)
def test_what_the_messages_show(
    line: str, messages: list[str], named: list[int], verdict: RepetitionVerdict
) -> None:
    """S-54: the mark names a message, the message has a word of the line, and it does not order the contrary."""
    assert judge_repetition(line, named, [PromptMessage(text, "") for text in messages]) is verdict


def test_a_reply_to_what_the_assistant_did() -> None:
    """S-54: "not again!" has no word of the line, but what the assistant said before it has."""
    reply = PromptMessage("not again!", "I ran `npm install` for you.")
    assert judge_repetition(PNPM, [1], [reply]) is UNPROVEN
    assert judge_repetition(PNPM, [1], [PromptMessage("not again!", "I fixed it.")]) is UNSUPPORTED


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("use pnpm, not npm", "Use pnpm, not npm"),
        ("no, pnpm", PNPM),
        ("npm again?", PNPM),
        ("the tests are green", PNPM),
        ("use npm? never! use pnpm", PNPM),
        ("", PNPM),
    ],
)
def test_what_is_no_contrary(text: str, line: str) -> None:
    """S-54: only a whole message that orders the contrary is one."""
    assert not says_contrary(text, line)


def test_a_long_message_without_sentences_is_judged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pasted word list has no clauses. Only the words of the line are looked up in it."""
    looked_up: list[str] = []

    def note(clause: str, _: int) -> bool:
        looked_up.append(clause)
        return False

    monkeypatch.setattr(repetition_checks, "is_odd", note)
    words = " ".join(f"word{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}" for number in range(600))
    assert judge_repetition(PNPM, [1], [PromptMessage(f"{words} pnpm", "")]) is SAID
    assert len(looked_up) < 10


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("I said pnpm", f"[7] Corrected: AGAIN: {PNPM}"),
        ("I said pnpm", f"[0] AGAIN: {PNPM}"),
        ("from now on use npm, not pnpm", f"[1] Corrected: AGAIN: {PNPM}"),
        ("the parser fails on empty input", f"[1] Corrected: AGAIN: {PNPM}"),
        ("the parser fails on empty input", f"[1] Corrected: {PNPM}"),
        ("the parser fails on empty input", f"[1] {PNPM}"),
        ("the parser fails on empty input", PNPM),
    ],
)
def test_a_repetition_that_no_message_shows_counts_nothing(told: Bench, typed: str, answer: str) -> None:
    """Bad input: neither the count nor the corrections rise, nothing is reworded, and `status` counts it."""
    told.answer((EXTRACTION, answer), (SYNTHESIS, "NONE"))
    told.learn(typed, session="s2")
    assert told.status["skipped"][UNSUPPORTED_REPETITION] == 1
    assert told.count_said() == (1, 1, 1)
    assert told.bullets == [PNPM] and len(told.asked(SYNTHESIS)) == 1 and not told.raw


def test_a_message_in_another_language_counts_once_in_a_session(told: Bench) -> None:
    """S-54: the answer is trusted, but not for a second time in the session; a rule is made in the next one."""
    typed = "der gleiche Paketmanager wie immer, bitte"
    told.answer((EXTRACTION, f"[1] Corrected: AGAIN: {PNPM}"), (SYNTHESIS, "NONE"))
    told.learn(typed, session="s1")
    assert told.count_said() == (1, 1, 1) and len(told.asked(SYNTHESIS)) == 1
    for _ in range(2):
        told.learn(typed, session="s2")
    assert told.count_said() == (2, 2, 2) and len(told.asked(SYNTHESIS)) == 2


def test_a_correction_in_no_message_is_a_plain_fact(bench: Bench) -> None:
    """Bad input: the fact is judged by its words, but nothing shows that somebody corrected the assistant."""
    bench.answer((EXTRACTION, f"[7] Corrected: {PNPM}"))
    bench.type("use pnpm, not npm")
    assert bench.raw[0].facts == (PNPM,) and not any(mark.corrected for _, mark in bench.raw[0].marked_facts)
