"""The first call's answer: JSON lines, and what models make of them (SPEC S-01, S-03)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_heard import RawAnswer
from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, lines
from tacitd.handler import Done
from tacitd_handlers.learning.answer_sizes import EXTRACTION_ANSWER
from tacitd_handlers.learning.fact_marks import FactMark
from tacitd_handlers.learning.heard import Heard, HeardAnswer, parse_heard
from tacitd_handlers.learning.prompt_templates import load_template
from tacitd_handlers.shared.answer_screening import Unusable

LINE = '{"message": 2, "words": "no, pnpm", "corrected": true, "fact": "Use pnpm"}'
HEARD = Heard(2, "no, pnpm", "Use pnpm", corrected=True)
AGAIN = '{"message": 1, "words": "lint, I said", "known": 7}'


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        (LINE, (HEARD,)),
        (f"{LINE}\n{AGAIN}", (HEARD, Heard(1, "lint, I said", known=7))),
        (f"```json\n{LINE}\n```", (HEARD,)),
        (f"Here are the facts:\n\n- {LINE},\n* {AGAIN}", (HEARD, Heard(1, "lint, I said", known=7))),
        (f"[{LINE},\n {AGAIN}]", (HEARD, Heard(1, "lint, I said", known=7))),
        (f"```json\n[{LINE}]\n```", (HEARD,)),
        (f"{LINE}\n{LINE}", (HEARD,)),
        ('{"message": 1, "words": "short", "about": "person", "fact": "User prefers short answers"}',
         (Heard(1, "short", "Prefers short answers", is_about_person=True),)),
        ('{"message": 1, "words": "x", "fact": "Use\\u200b pnpm\\n# Forged"}', (Heard(1, "x", "Use pnpm # Forged"),)),
        (f'{LINE}\n{{"message": 1, "words": "y", "fact": "NONE"}}', (HEARD,)),
        ("NONE", ()), ("none.", ()), ("", ()), ("NONE\nThe message has no preference.", ()),
        ("No new preferences.", ()),
    ],
)  # fmt: skip
def test_what_is_read(answer: str, heard: tuple[Heard, ...]) -> None:
    """S-03: fences, bullets, introductions and lists are not in the way."""
    parsed = parse_heard(answer)
    assert isinstance(parsed, HeardAnswer) and parsed.lines == heard


@pytest.mark.parametrize(
    "answer",
    ["[1] Use pnpm", "I'm sorry, I cannot help with that.", '{"fact": "Use pnpm"}', '{"message": 1, "words": "x", "fact": "Use',
     '{"message": 1, "words": "", "fact": "Use pnpm"}', '{"message": "1", "words": "x", "fact": "Use pnpm"}',
     '{"message": 1, "words": "x", "known": 0}', "x" * (EXTRACTION_ANSWER + 1), load_template("extraction")],
)  # fmt: skip
def test_what_cannot_be_used(answer: str) -> None:
    """S-23: prose, other forms, a cut answer and an echo of the prompt are asked again."""
    assert isinstance(parse_heard(answer), Unusable)


@given(st.text(max_size=80) | st.text(alphabet='{}[]":,message1words fact\n', max_size=80))
@examples(150)
def test_any_answer_is_read_or_unusable(answer: str) -> None:
    """RELIABILITY 19: an answer is untrusted."""
    assert isinstance(parse_heard(answer), HeardAnswer | Unusable)


def test_a_broken_line_is_counted(bench: Bench) -> None:
    """DESIGN "Priorities", 3: the other lines are kept, and `status` shows the number."""
    good = json.dumps({"message": 1, "words": "use pnpm, not npm", "fact": PNPM})
    bench.answer((EXTRACTION, RawAnswer(f'{good}\n{{"message": 1, "words": "cut')))
    outcome = bench.type("use pnpm, not npm")
    assert isinstance(outcome, Done) and bench.raw[0].facts == (PNPM,)
    assert "1 line of answers was left out: not in the form that was asked for" in bench.status["says"]


def test_marks_are_stored_beside_the_facts(bench: Bench) -> None:
    """S-02: the raw line has the facts, and the marks in a field of their own, also after a restart."""
    bench.answer((EXTRACTION, f"[2] Corrected: {PNPM}\n[1] Person: Prefers short answers"))
    bench.play(bench.grew(bench.record("short answers"), bench.record("no, use pnpm, not npm"), due=True))
    for _ in range(2):
        (line,) = bench.raw
        assert line.marked_facts == (
            (PNPM, FactMark(("u2",), True)),
            ("Prefers short answers", FactMark(("u1",), is_about_person=True)),
        )
        bench.restart()


def test_a_wrong_number_of_a_message_is_corrected(bench: Bench) -> None:
    """S-36: the words tell which message it is; `why` shows that one."""
    heard = json.dumps({"message": 1, "words": "use pnpm, not npm", "fact": PNPM})
    for number in ("1", "9", "-4"):
        bench.answer((EXTRACTION, heard.replace('"message": 1', f'"message": {number}')))
        bench.play(bench.grew(bench.record("short answers"), bench.record("use pnpm, not npm"), due=True))
    assert [mark.prompts for line in bench.raw for _, mark in line.marked_facts] == [
        ("u2",),
        ("u4",),
        ("u6",),
    ]


@pytest.mark.parametrize(
    ("words", "typed", "counts"),
    [
        ("pnpm, I said", "pnpm, I said", True),
        ("wir nehmen pnpm", "wir nehmen pnpm, hatten wir schon", True),
        ("pnpm, I said", "fix the login page", False),
        ("from now on npm, not pnpm", "from now on npm, not pnpm", False),
    ],
)
def test_a_repetition_needs_typed_words_that_do_not_contradict(
    told: Bench, words: str, typed: str, counts: bool
) -> None:
    """S-54: an answer of the model alone counts nothing."""
    heard = json.dumps({"message": 1, "words": words, "known": 1})
    told.answer((EXTRACTION, heard), (SYNTHESIS, "NONE"))
    told.learn(typed, session="s2")
    assert told.count_said() == ((2, 2, 1) if counts else (1, 1, 1))
    assert told.status["skipped"].get("repetitions that no message shows", 0) == (0 if counts else 1)


def test_a_line_counts_once_for_each_message(told: Bench) -> None:
    """S-54: "said n times" counts messages; two lines of the answer about one message are one."""
    answer = f"[1] AGAIN: {PNPM}\n[1] Corrected: Use pnpm and never npm\n[2] AGAIN: {PNPM}"
    told.answer((EXTRACTION, answer), (SYNTHESIS, "NONE"))
    told.play(
        told.grew(
            told.record("pnpm, not npm", session="s2"), told.record("pnpm, please", session="s2"), due=True
        )
    )
    assert told.count_said()[0] == 3


@pytest.mark.parametrize("number", [2, 99])
def test_a_known_line_that_does_not_exist_counts_nothing(told: Bench, number: int) -> None:
    """Bad input: the number of no line."""
    told.answer(
        (EXTRACTION, json.dumps({"message": 1, "words": "pnpm", "known": number})), (SYNTHESIS, "NONE")
    )
    told.learn("pnpm", session="s2")
    assert told.bullets == [PNPM] and told.count_said() == (1, 1, 1)


def test_a_stronger_rule_is_no_repetition(bench: Bench) -> None:
    """S-06: "Must use mocks" says more than "Likes mocks", and is learned."""
    bench.answer((EXTRACTION, "Likes mocks"), (SYNTHESIS, lines("Likes mocks")))
    bench.learn("i like mocks")
    bench.answer(
        (EXTRACTION, "Must use mocks in unit tests"), (SYNTHESIS, lines("Must use mocks in unit tests"))
    )
    bench.learn("from now on you MUST use mocks in unit tests, always", session="s2")
    assert "Must use mocks in unit tests" in bench.bullets


def test_an_entity_keeps_its_subject(bench: Bench) -> None:
    """S-27: "User has many orders" is about the program."""
    fact = "User has many orders; an order belongs to one user"
    bench.answer((EXTRACTION, fact), (SYNTHESIS, lines(fact)))
    bench.learn("in our model a user has many orders, an order belongs to one user")
    assert bench.bullets == [fact]


def test_a_long_fact_waits_and_is_not_cut(bench: Bench) -> None:
    """S-67: what is behind the cut may be the exception."""
    rule = "never put an endpoint in production without a flag" + ", or a job without an owner" * 12
    fact = f"{rule[:1].upper()}{rule[1:]}; the health check endpoints are the exception"
    bench.answer((EXTRACTION, fact), (SYNTHESIS, lines(fact)))
    bench.learn(f"{rule}; the health check endpoints are the exception")
    assert not bench.bullets and bench.status["refused"] == {"refused": 0, "waits": 1}
