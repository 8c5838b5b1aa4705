"""The first call's answer: JSON lines, and what models make of them (SPEC S-01, S-03)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.answers import EXTRACTION_ANSWER, Heard, HeardAnswer, parse_heard
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
     '{"message": 1, "words": "x", "known": 0}', "x" * (EXTRACTION_ANSWER + 1)],
)  # fmt: skip
def test_what_cannot_be_used(answer: str) -> None:
    """S-23: prose, other forms, and a cut answer are asked again."""
    assert isinstance(parse_heard(answer), Unusable)


@given(st.text(max_size=80) | st.text(alphabet='{}[]":,message1words fact\n', max_size=80))
@examples(150)
def test_any_answer_is_read_or_unusable(answer: str) -> None:
    """RELIABILITY 19: an answer is untrusted."""
    assert isinstance(parse_heard(answer), HeardAnswer | Unusable)
