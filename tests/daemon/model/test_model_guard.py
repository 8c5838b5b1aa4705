"""The sentinel and the check for echoes (S-35, S-67, RELIABILITY 19)."""

from __future__ import annotations

import pytest

from tacitd.model.guard import SENTINEL, echoes, framed
from tacitd.transcripts.person import Own, judge
from tacitd.transcripts.records import Line, Message

INSTRUCTIONS = [
    "Extract only lasting preferences and corrections of the user.\n- Do not repeat known facts; answer NONE if there is nothing.",
]


@pytest.mark.parametrize(
    "answer",
    [
        "Extract only lasting preferences and corrections of the user.",
        "Sure! **Do not repeat known facts;** answer none\n if there is nothing.",
        "FILE: LEARNED.md\nFACT: extract only LASTING preferences and corrections of the user.",
    ],
)
def test_an_echo_is_seen(answer: str) -> None:
    """S-35: instruction sentences in the answer, whatever their case, spacing and Markdown."""
    assert echoes(INSTRUCTIONS, answer)


@pytest.mark.parametrize("answer", ["NONE", "Prefers pnpm to npm", "Extract only the changed lines", ""])
def test_an_answer_is_no_echo(answer: str) -> None:
    """S-35: words in common are not an echo."""
    assert not echoes(INSTRUCTIONS, answer)


def test_every_prompt_begins_with_the_sentinel() -> None:
    """CLAUDE_CODE 3.3 and ANCHORS P9: never a leading `/`, and the reader recognises tacitd's prompts."""
    assert framed("/cost").split("\n")[0] == SENTINEL
    own = Own("/nonexistent", SENTINEL, set())
    said = {text: judge(Line(type="user", message=Message(text)), own).words for text in ("x", framed("x"))}
    assert said["x"] and not said[framed("x")] and not SENTINEL.startswith("/")
