"""The sentinel and the check for echoes (S-35, S-67, RELIABILITY 19)."""

from __future__ import annotations

import pytest

from tacitd.model.answer_checks import SENTINEL, frame_prompt, is_echo
from tacitd.sources.base import OwnCalls
from tacitd.sources.claude_code.prompts import judge_line
from tacitd.sources.claude_code.records import LineMessage, TranscriptLine

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
    assert is_echo(INSTRUCTIONS, answer)


@pytest.mark.parametrize("answer", ["NONE", "Prefers pnpm to npm", "Extract only the changed lines", ""])
def test_an_answer_is_no_echo(answer: str) -> None:
    """S-35: words in common are not an echo."""
    assert not is_echo(INSTRUCTIONS, answer)


def test_every_prompt_begins_with_the_sentinel() -> None:
    """CLAUDE_CODE 3.3 and ANCHORS P9: never a leading `/`, and the reader recognises tacitd's prompts."""
    assert frame_prompt("/cost").split("\n")[0] == SENTINEL
    own = OwnCalls("/nonexistent", SENTINEL, set())
    said = {
        text: judge_line(TranscriptLine(type="user", message=LineMessage(text)), own).words
        for text in ("x", frame_prompt("x"))
    }
    assert said["x"] and not said[frame_prompt("x")] and not SENTINEL.startswith("/")
