"""The answers of both calls, and the numbers that a synthesis gives (SPEC S-01, S-03, S-20, S-23 to S-26, S-36)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.answers import (
    ANSWER_LIMIT,
    EXTRACTION_ANSWER,
    ExistingLine,
    Heard,
    Numbered,
    NumberedFact,
    Proposal,
    choose_facts,
    number_facts,
    number_lines,
    parse_heard,
    parse_proposals,
)
from tacitd_handlers.learning.learned_rows import FactRow, digest_same
from tacitd_handlers.shared.model_text import Unusable

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
        (f'{LINE}\n{{"words": "y"}}\n{AGAIN[:-4]}', (HEARD, None)),
        ('{"message": 1, "words": "short", "about": "person", "fact": "User prefers short answers"}',
         (Heard(1, "short", "Prefers short answers", is_about_person=True),)),
        ('{"message": 1, "words": "x", "fact": "Use\\u200b pnpm\\n# Forged"}', (Heard(1, "x", "Use pnpm # Forged"),)),
        (f'{LINE}\n{{"message": 1, "words": "y", "fact": "NONE"}}', (HEARD, None)),
        ("NONE", ()), ("none.", ()), ("", ()), ("NONE\nThe message has no preference.", ()),
        ("No new preferences.", ()),
    ],
)  # fmt: skip
def test_what_is_read(answer: str, heard: tuple[Heard | None, ...]) -> None:
    """S-03: fences, bullets, introductions and lists are not in the way."""
    assert parse_heard(answer) == heard


@pytest.mark.parametrize(
    "answer",
    ["[1] Use pnpm", "I'm sorry, I cannot help with that.", '{"fact": "Use pnpm"}', '{"message": 1, "words": "x", "fact": "Use',
     '{"message": 1, "words": "", "fact": "Use pnpm"}', '{"message": "1", "words": "x", "fact": "Use pnpm"}',
     '{"message": 1, "words": "x", "known": 0}', "x" * (EXTRACTION_ANSWER + 1)],
)  # fmt: skip
def test_what_cannot_be_used(answer: str) -> None:
    """S-23: prose, other forms, and a cut answer are asked again."""
    assert isinstance(parse_heard(answer), Unusable)


@given(st.text(max_size=80) | st.text(alphabet='{}[]":,message1words fact\n', max_size=80))
@examples(150)
def test_any_answer_is_read_or_unusable(answer: str) -> None:
    """RELIABILITY 19: an answer is untrusted."""
    assert isinstance(parse_heard(answer), tuple | Unusable)


NOON = 1_795_176_000.0
"""2026-11-20T12:00:00Z."""


def fact(
    number: int,
    text: str,
    *,
    prompt: int | None = 1,
    session: str = "s1",
    at: float = NOON,
    corrected: bool = False,
    line: int | None = None,
) -> FactRow:
    """A fact that waits."""
    same = digest_same(text)
    return FactRow(number, 1, session, prompt, 1, at, text, "", same, corrected, line, "waiting", "", 0)


def test_equal_facts_are_one_with_its_count() -> None:
    """S-36: said by two messages in two sessions, as corrections; one message says it once."""
    (one,) = number_facts(
        [
            fact(1, "Use pnpm"),
            fact(2, "use pnpm.", corrected=True),
            fact(3, "Use pnpm", prompt=2, session="s2", at=NOON + 86_400, corrected=True),
        ]
    )
    assert (
        one.describe()
        == "Corrected: Use pnpm (2026-11-20, said 2 times in 2 sessions, 2 of them corrections)"
    )
    assert one.rows == (1, 2, 3) and one.prompts == {1, 2}
    (one,) = number_facts([fact(1, "Use pnpm", prompt=None), fact(2, "Use pnpm", prompt=None)])
    assert (one.said, one.prompts) == (2, frozenset()), "what other programs say has no message"
    (one,) = number_facts([fact(1, "Use pnpm", line=4, corrected=True)])
    assert one.line == 4 and "an L line, said again" in one.describe()


def test_what_was_left_out_counts_once_it_is_said_again() -> None:
    """S-36: the count continues, and only the new fact becomes a line's; what was not said again is numbered last."""
    left_out = [fact(1, "Use pnpm"), fact(2, "Likes tabs", prompt=7)]
    found = number_facts([fact(3, "Use pnpm", prompt=2)], left_out)
    assert [(one.text, one.is_new, one.said, one.rows) for one in found] == [
        ("Use pnpm", True, 2, (3,)),
        ("Likes tabs", False, 1, (2,)),
    ]
    assert "left out before" in found[1].describe()


@given(st.integers(0, 40), st.integers(0, 5), st.integers(20, 200))
@examples(60)
def test_each_new_fact_is_in_one_call(new: int, old: int, limit: int) -> None:
    """S-23: each call has the facts that were left out before."""
    facts = number_facts(
        [fact(n, f"Use tool{n} for job{n}") for n in range(new)],
        [fact(100 + n, f"Likes thing{n}") for n in range(old)],
    )
    waiting, calls = [one for one in facts if one.is_new], list[tuple[NumberedFact, ...]]()
    left = [one for one in facts if not one.is_new]
    while chosen := choose_facts([*waiting, *left], limit):
        calls.append(tuple(one for one in chosen if one.is_new))
        assert [one for one in chosen if not one.is_new] == left
        waiting = [one for one in waiting if one not in chosen]
    assert [one for call in calls for one in call] == [one for one in facts if one.is_new]


def test_facts_of_a_failed_call_come_in_its_halves() -> None:
    """S-23: first those that were not asked about, then each half alone."""
    facts = [NumberedFact(f"Use tool{n}", (n,), tries=tries) for n, tries in enumerate((2, 1, 0, 1))]
    asked = list[list[int]]()
    while facts:
        chosen = choose_facts(facts)
        asked.append([one.rows[0] for one in chosen])
        facts = [one for one in facts if one not in chosen]
    assert asked == [[2], [1, 3], [0]]


def test_lines_are_numbered_below_their_files_and_headings() -> None:
    """S-36: L are tacitd's, P the person's. A newline begins no line; the number means the line itself."""
    lines = [
        ExistingLine("LEARNED.md", "Coding", "Use yarn", is_ours=True),
        ExistingLine("LEARNED.md", "Coding", "Use tabs", is_ours=False),
        ExistingLine("src/AGENTS.md", "", "Two\nlines", is_ours=False),
    ]
    numbered = Numbered({}, number_lines(lines, 10_000), ("LEARNED.md",))
    assert numbered.lines["P1"].text == "Use tabs"
    shown = numbered.show_lines()
    assert shown[:3] == ["LEARNED.md:", "## Coding", "L1. Use yarn"] and shown[-1] == "P2. Two lines"


@given(st.integers(0, 400))
@examples(60)
def test_lines_that_do_not_fit_are_left_out_the_persons_first(limit: int) -> None:
    """S-36: a line of the person's is shown only if all of tacitd's are."""
    lines = [ExistingLine("LEARNED.md", "Coding", f"Line {n}", is_ours=n % 2 == 0) for n in range(12)]
    found = number_lines(lines, limit)
    ours = [name for name in found if name.startswith("L")]
    assert len(ours) == 6 or not any(name.startswith("P") for name in found)


PNPM_FACT, TABS_FACT, OLD_FACT = (
    NumberedFact(text, is_new=text != "Prefers Go") for text in ("Use pnpm", "Use tabs", "Prefers Go")
)
MINE, MORE = (ExistingLine("LEARNED.md", "Coding", text, is_ours=True) for text in ("Use npm", "Use yarn"))
THEIRS = ExistingLine("LEARNED.md", "", "Use spaces", is_ours=False)
NUMBERED = Numbered(
    {1: PNPM_FACT, 2: TABS_FACT, 3: OLD_FACT},
    {"L1": MINE, "L2": MORE, "P1": THEIRS},
    ("LEARNED.md", "src/AGENTS.md"),
)
WHOLE = {"FILE": "src/AGENTS.md", "SECTION": "Coding", "FACT": "Use pnpm", "FROM": [1], "REPLACES": ["L1"]}


def parse(answer: str) -> tuple[Proposal, ...]:
    """The proposals of an answer that can be used."""
    made = parse_proposals(answer, NUMBERED)
    assert not isinstance(made, Unusable), made
    return made


def test_numbers_are_what_they_named() -> None:
    """S-24, S-26: the file, the section, the facts and the lines."""
    assert parse(json.dumps(WHOLE)) == (
        Proposal("src/AGENTS.md", "Coding", "Use pnpm", (PNPM_FACT,), (MINE,)),
    )


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps(WHOLE),
        f"```json\n{json.dumps(WHOLE)}\n```",
        f"Here it is:\n- {json.dumps(WHOLE)},",
        json.dumps([WHOLE], indent=2),
        json.dumps(WHOLE, indent=2),
        json.dumps({key.lower(): value for key, value in WHOLE.items()}),
        json.dumps({**WHOLE, "FROM": "1", "REPLACES": "l1"}),
        json.dumps({**WHOLE, "FROM": ["[1]", 1, 99], "REPLACES": ["[L1]", "L9", "Use npm"]}),
        json.dumps({**WHOLE, "FACT": "Use pnpm\n", "NOTE": "x"}),
        json.dumps({**WHOLE, "FACT": "Corrected: Use pnpm (2026-11-20)"}),
        json.dumps(
            {**WHOLE, "FACT": "[1] Use pnpm (2026-11-20, said 2 times in 2 sessions, 1 of them a correction)"}
        ),
    ],
)
def test_forms_that_models_write(answer: str) -> None:
    """S-24: fences, lists, single values, small letters, numbers beside others that do not exist, and marks of the prompt."""
    assert parse(answer) == parse(json.dumps(WHOLE))


@pytest.mark.parametrize(
    "odd",
    [
        *({"FROM": one} for one in ([], [0], [99], [-1], [True], [[1]], {"1": 1}, [3])),
        *({"FACT": one} for one in ("", "NONE", "...", ["Use pnpm"], None)),
        {"FROM": None, "REPLACES": ["L1"]},
        {"FROM": None, "REPLACES": ["L1", "P1"]},
        {"FROM": [3], "REPLACES": ["L1", "L2"]},
    ],
)
def test_a_proposal_without_a_new_fact_is_none(odd: dict[str, Any]) -> None:
    """S-67: a line without a number that exists has no source; what was left out before needs a new fact beside it."""
    assert isinstance(parse_proposals(json.dumps({**WHOLE, **odd}), NUMBERED), Unusable)
    made = parse(f"{json.dumps({**WHOLE, **odd})}\n{json.dumps(WHOLE)}")
    assert len(made) == 1


def test_a_wrong_number_costs_no_fact() -> None:
    """S-36: a line that says a new fact is made of it, even if the answer names another one."""
    (one,) = parse(json.dumps({**WHOLE, "FACT": "use tabs.", "FROM": [1]}))
    assert one.facts == (TABS_FACT,)
    (one,) = parse(json.dumps({**WHOLE, "FACT": "use tabs.", "FROM": [1, 2]}))
    assert one.facts == (PNPM_FACT, TABS_FACT)


def test_lines_are_merged_without_a_fact() -> None:
    """S-54: two lines of tacitd's at least."""
    (one,) = parse(json.dumps({"FACT": "Use npm or yarn", "REPLACES": ["L1", "L2"]}))
    assert one.facts == () and one.replaces == (MINE, MORE) and one.file == ""


@pytest.mark.parametrize("answer", ["", " \n", "NONE", "none.", "```\nNONE\n```", "NONE\n\nNothing is new."])
def test_nothing_new(answer: str) -> None:
    """S-24."""
    assert parse(answer) == ()


@pytest.mark.parametrize(
    "answer",
    ["words", "I'm sorry, I can't help.", "{}", "[]", "{" * 5000, '{"FACT": "Use pnpm", "FROM": [1]',
     "FILE: LEARNED.md\nFACT: Use pnpm\nFROM: 1", "x" * (ANSWER_LIMIT + 1)],
)  # fmt: skip
def test_an_unusable_answer_of_a_synthesis(answer: str) -> None:
    """S-23, S-35: prose, a refusal, a broken or another form; the facts are kept."""
    assert isinstance(parse_proposals(answer, NUMBERED), Unusable)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda each: (
            st.lists(each, max_size=3) | st.dictionaries(st.sampled_from([*WHOLE, "x"]), each, max_size=5)
        ),
        max_leaves=12,
    )
)
@examples(200)
def test_no_json_breaks_the_parser(value: Any) -> None:
    """Bad input: each line has a new fact of the prompt, or merges two lines of it, whatever the answer is."""
    made = parse_proposals(json.dumps(value, ensure_ascii=False), NUMBERED)
    for one in () if isinstance(made, Unusable) else made:
        assert any(fact.is_new for fact in one.facts) or len(one.replaces) >= 2
        assert set(one.facts) <= {PNPM_FACT, TABS_FACT, OLD_FACT} and set(one.replaces) <= {
            MINE,
            MORE,
            THEIRS,
        }
