"""The second call's answer: numbers are resolved, and what is no proposal is named as such."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.answers import (
    ANSWER_LIMIT,
    ExistingLine,
    Numbered,
    NumberedFact,
    Proposal,
    parse_proposals,
)
from tacitd_handlers.shared.model_text import Unusable

PNPM, TABS, OLD = (
    NumberedFact(text, is_new=text != "Prefers Go") for text in ("Use pnpm", "Use tabs", "Prefers Go")
)
MINE, MORE = (ExistingLine("LEARNED.md", "Coding", text, is_ours=True) for text in ("Use npm", "Use yarn"))
THEIRS = ExistingLine("LEARNED.md", "", "Use spaces", is_ours=False)
NUMBERED = Numbered(
    {1: PNPM, 2: TABS, 3: OLD}, {"L1": MINE, "L2": MORE, "P1": THEIRS}, ("LEARNED.md", "src/AGENTS.md")
)
WHOLE = {"FILE": "src/AGENTS.md", "SECTION": "Coding", "FACT": "Use pnpm", "FROM": [1], "REPLACES": ["L1"]}


def parse(answer: str) -> tuple[Proposal, ...]:
    """The proposals of an answer that can be used."""
    made = parse_proposals(answer, NUMBERED)
    assert not isinstance(made, Unusable), made
    return made


def test_numbers_are_what_they_named() -> None:
    """S-24, S-26: the file, the section, the facts and the lines."""
    assert parse(json.dumps(WHOLE)) == (Proposal("src/AGENTS.md", "Coding", "Use pnpm", (PNPM,), (MINE,)),)


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
        {"FROM": []},
        {"FROM": [0]},
        {"FROM": [99]},
        {"FROM": [-1]},
        {"FROM": [True]},
        {"FROM": [[1]]},
        {"FROM": {"1": 1}},
        {"FROM": [3]},
        {"FROM": None, "REPLACES": ["L1"]},
        {"FROM": None, "REPLACES": ["L1", "P1"]},
        {"FROM": [3], "REPLACES": ["L1", "L2"]},
        {"FACT": ""},
        {"FACT": "NONE"},
        {"FACT": "..."},
        {"FACT": ["Use pnpm"]},
        {"FACT": None},
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
    assert one.facts == (TABS,)
    (one,) = parse(json.dumps({**WHOLE, "FACT": "use tabs.", "FROM": [1, 2]}))
    assert one.facts == (PNPM, TABS)


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
    [
        "words",
        "I'm sorry, I can't help.",
        "{}",
        "[]",
        "{" * 5000,
        '{"FACT": "Use pnpm", "FROM": [1]',
        "FILE: LEARNED.md\nFACT: Use pnpm\nFROM: 1",
        "x" * (ANSWER_LIMIT + 1),
    ],
)
def test_an_unusable_answer(answer: str) -> None:
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
        assert set(one.facts) <= {PNPM, TABS, OLD} and set(one.replaces) <= {MINE, MORE, THEIRS}
