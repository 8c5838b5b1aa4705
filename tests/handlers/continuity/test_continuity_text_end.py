"""The ends of texts: whole sentences and lines, without code and tables (SPEC P-26)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.continuity.session_fold import END, end_of_text
from tacitd_handlers.continuity.text_end import clean_summary, split_sentences, take_end


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Uses e.g. a cache. Then more.", ["Uses e.g. a cache.", "Then more."]),
        ("Version 1.2 of app.py is out. See it.", ["Version 1.2 of app.py is out.", "See it."]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("これは終わりました。次はテストです。", ["これは終わりました。", "次はテストです。"]),
        ("- an item\n- another one", ["- an item", "- another one"]),
        ("no end", ["no end"]),
        ("", []),
    ],
)
def test_a_text_has_sentences(text: str, sentences: list[str]) -> None:
    """Versions, file names and abbreviations before a small letter end no sentence."""
    assert split_sentences(text) == sentences


def test_code_and_tables_are_left_out() -> None:
    """A question with its options is whole, and what announced a tool's call ends with a full stop."""
    text = "# Done\nI ported the C# client:\n```go\nimport x\n```\n| a | b |\n|---|---|\nWhich one?\n- a\n- b\n---\nNow I run it:"
    assert end_of_text(text) == "Done\nI ported the C# client:\nWhich one?\n- a\n- b\nNow I run it."


def test_a_text_that_is_too_long_begins_with_a_sentence() -> None:
    """One sentence of 50 KB keeps its end, marked as cut; of many sentences the last stay whole."""
    said = end_of_text("This is a sentence. " * 2500 + "Shall I go on?")
    assert said.startswith("This is a sentence.") and said.endswith("Shall I go on?") and len(said) <= END
    said = end_of_text("word " * 10_000 + "right?")
    assert said.startswith("…word") and said.endswith("right?") and len(said) <= END
    said = end_of_text("それで" * 6000 + "よいですか？")
    assert said.startswith("…") and said.endswith("それでよいですか？") and 500 < len(said) <= END


def test_of_a_long_summary_the_first_sentences_go() -> None:
    """P-26: three sentences at most, in one line; too long ones lose whole sentences, the first ones first."""
    assert clean_summary("## Now\nA one. B two.\nC three. D four.", 600, 3) == "B two. C three. D four."
    long = f"{'Did much ' * 70}. It stands. The key is missing."
    assert clean_summary(long, 600, 3) == "It stands. The key is missing."
    assert clean_summary(3, 600, 3) == ""


@pytest.mark.parametrize(
    "part", ["a\n", ".", "? a", ". a", "A. ", "word\n", "- a\n", "。", "# a\n", '."', "\n "]
)
def test_long_texts_take_linear_time(part: str) -> None:
    """A stranger's text: 96 KB without a sentence's end, or of nothing else, are split within seconds."""
    text = part * (96_000 // len(part))
    since = time.process_time()
    split_sentences(text)
    assert len(end_of_text(text)) <= END
    assert time.process_time() - since < 5


@examples(300)
@given(text=st.text(alphabet='ab.?! \n-`|#:"1é。', max_size=200), limit=st.integers(2, 120))
def test_an_end_is_an_end(text: str, limit: int) -> None:
    """For any text: within the limit, and the text's own end."""
    end = take_end(text, limit)
    assert len(end) <= limit and text.endswith(end.removeprefix("…"))
