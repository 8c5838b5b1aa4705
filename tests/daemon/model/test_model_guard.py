"""Guards on the model's words (SPEC S-35, S-67, RELIABILITY 19)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.model.guard import SENTINEL, clean, echoes, framed
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
    """SPEC S-35: instruction sentences in the answer, whatever their case, spacing and Markdown."""
    assert echoes(INSTRUCTIONS, answer)


@pytest.mark.parametrize("answer", ["NONE", "Prefers pnpm to npm", "Extract only the changed lines", ""])
def test_an_answer_is_no_echo(answer: str) -> None:
    """SPEC S-35: words in common are not an echo."""
    assert not echoes(INSTRUCTIONS, answer)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("title\x1b]0;evil\x07 done", "title done"),
        ("one\ntwo\r\n\tthree", "one two three"),
        ("a\u202egnp.exe\u2066b\u200b\ufeff\u00adc", "agnp.exebc"),
        ("hid\U000e0041\U000e0042den\x00\x07", "hidden"),
        ("a\u200db", "ab"),
        ("a\u2028b", "a b"),
        ("👩\u200d💻 ok ❤\ufe0f", "👩\u200d💻 ok ❤\ufe0f"),
        ("نمی\u200cخواهم", "نمی\u200cخواهم"),
        ("Grüße, 日本語, naïve", "Grüße, 日本語, naïve"),
        ("\ud800x", "x"),
    ],
)
def test_clean(text: str, line: str) -> None:
    """SPEC S-67: control characters, escapes, overrides and invisible ones go; scripts and emoji stay whole."""
    assert clean(text, 100) == line


def test_a_long_text_is_cut_at_a_word() -> None:
    """SPEC S-67: length cap."""
    assert clean("alpha beta gamma", 12) == "alpha beta…"
    assert clean("x" * 50, 10) == "x" * 9 + "…"


@examples(100)
@given(st.text(max_size=60), st.integers(0, 40))
def test_what_is_clean_is_safe(text: str, limit: int) -> None:
    """RELIABILITY 19: no control character, one line, never longer than allowed, and stable."""
    line = clean(text, limit)
    assert len(line) <= limit
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in line)
    assert clean(line, limit) == line


def test_every_prompt_begins_with_the_sentinel() -> None:
    """CLAUDE_CODE 3.3 and ANCHORS P9: never a leading `/`, and the reader knows our own words."""
    assert framed("/cost").split("\n")[0] == SENTINEL
    own = Own("/nonexistent", SENTINEL, set())
    said = {text: judge(Line(type="user", message=Message(text)), own).words for text in ("x", framed("x"))}
    assert said["x"] and not said[framed("x")] and not SENTINEL.startswith("/")
