"""Whole sentences and list items: nothing is cut in the middle."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.continuity.parse import SUMMARY
from tacitd_handlers.continuity.sentences import (
    join_units,
    split_sentences,
    split_units,
    take_end,
    take_first,
    take_last,
)
from tacitd_handlers.continuity.session_progress import SAID, end_of_text
from tacitd_handlers.continuity.stored_text import clean_summary


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Uses e.g. Redis, i.e. a cache. Then more.", ["Uses e.g. Redis, i.e. a cache.", "Then more."]),
        ("Version 1.2 of app.py is out. See J. Smith.", ["Version 1.2 of app.py is out.", "See J. Smith."]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("これは終わりました。次はテストです。", ["これは終わりました。", "次はテストです。"]),
        ("  - an item. With two sentences.", ["  - an item.", "With two sentences."]),
        ("1. first", ["1. first"]),
        ("It is Ann's. So be it.", ["It is Ann's.", "So be it."]),
        ("no end", ["no end"]),
        ("", []),
    ],
)
def test_a_line_has_sentences(line: str, sentences: list[str]) -> None:
    """Abbreviations, initials, versions and numbers of items end no sentence."""
    assert split_sentences(line) == sentences


def test_markdown_becomes_units() -> None:
    """SPEC P-26: code and tables are left out, lists stay lists, a wrapped paragraph is one sentence."""
    text = (
        "# Done\nThe parser is\nfinished. I added the import:\n```go\nimport x\n```\n- one\n- two\n\n"
        "| a | b |\n|---|---|\nNext?"
    )
    units = split_units(text)
    assert [one.text for one in units] == [
        "Done", "The parser is finished.", "I added the import.", "- one", "- two", "Next?",
    ]  # fmt: skip
    assert units[0].is_heading and units[-1].is_question and units[3].is_item
    assert join_units(units) == "Done\nThe parser is finished. I added the import.\n- one\n- two\nNext?"


def test_a_heading_does_not_run_into_the_text() -> None:
    """SPEC P-26: Markdown headings and lines that are bold as a whole; one without its text is left out at a cut."""
    text = "**What changed**\nThe parser reads week dates.\n**It is done.**\n### Next\nThe release."
    assert end_of_text(text) == (
        "**What changed**\nThe parser reads week dates. **It is done.**\nNext\nThe release."
    )
    assert join_units(take_first(split_units(text), 70)).endswith("**It is done.**")
    assert clean_summary("## Status\nThe parser works.\n## Left\nThe release.", 600, 3) == (
        "The parser works. The release."
    )
    assert clean_summary("## Status", 600, 3) == "Status"


def test_a_question_far_from_the_end() -> None:
    """SPEC P-26: an open question with many sentences after it is shown, and so is the end of the text."""
    rest = " ".join(
        f"Background number {n} explains in some words why this is to be decided." for n in range(20)
    )
    said = end_of_text(f"The limit works. Shall I keep the old endpoint? {rest}")
    lines = said.splitlines()
    assert lines[:2] == ["Shall I keep the old endpoint?", "…"]
    assert lines[2].endswith("Background number 19 explains in some words why this is to be decided.")
    assert len(said) <= SAID
    options = "\n".join(f"{n}. The way number {n}, which takes some words to tell" for n in range(1, 20))
    said = end_of_text(f"Which way?\n\n{options}")
    assert said.startswith("Which way?\n1. The way number 1,") and said.splitlines()[-1].startswith("… and ")
    short = "Why does it fail? " + "It is late. " * 15
    assert end_of_text(short) == short.strip()


def test_a_number_sign_in_a_line_stays() -> None:
    """SPEC P-26: only at the beginning of a line it marks a heading; `C# ` is a name."""
    assert end_of_text("## Done\nI ported the C# client.\nShall I port the F# one too, see # 12?") == (
        "Done\nI ported the C# client. Shall I port the F# one too, see # 12?"
    )


@pytest.mark.parametrize("part", ["a\n", ".", "? a", ". a", "A. ", "word\n", "- a\n", "。", "# a\n", '."'])
def test_long_texts_take_linear_time(part: str) -> None:
    """A stranger's text: 96 KB without a sentence's end, or of nothing else, are split within seconds."""
    text = part * (96_000 // len(part))
    since = time.process_time()
    assert split_units(text)
    assert time.process_time() - since < 5


def test_what_is_taken_is_whole() -> None:
    """A lead-in without its list, and a quotation without its end, are left out; a list that goes on says so."""
    units = split_units("I had:\n- a\n- b\n- c")
    assert join_units(take_first(units, 14)) == "I had:\n- a\n- b\n… and 1 more"
    assert take_first(units, 8) == []
    quoted = split_units('He asked: "Can you look? It stopped." Then more text follows here.')
    assert join_units(take_first(quoted, 30)) == ""
    assert join_units(take_last(units, 7)) == "- b\n- c"
    assert join_units(take_last(split_units("A very long sentence."), 3)) == "A very long sentence."


def test_a_question_comes_with_its_options() -> None:
    """SPEC P-26: an open question is the best line to go on with, also if its options are longer than the room."""
    text = "I looked at it. Which one?\n" + "\n".join(f"- option {n} with a long text" for n in range(9))
    said = join_units(take_end(split_units(text), 90))
    assert said.startswith("Which one?\n- option 0")
    assert said.endswith("… and 7 more")
    assert join_units(take_end(split_units("Is it? So it is. Fine."), 100)) == "Is it? So it is. Fine."
    assert join_units(take_end(split_units("One. " + "Two. " * 50 + "Last."), 10)) == "Two. Last."


def test_a_question_of_50_kb() -> None:
    """One sentence of 50 KB keeps its end, marked as cut; of many sentences the last stay whole."""
    said = end_of_text("word " * 10_000 + "right?")
    assert said.startswith("…word") and said.endswith("right?") and len(said) <= SAID
    said = end_of_text("それで" * 6000 + "よいですか？")
    assert said.startswith("…") and said.endswith("それでよいですか？") and 500 < len(said) <= SAID
    said = end_of_text("This is a sentence. " * 2500 + "Shall I go on?")
    assert said.startswith("This is a sentence.") and said.endswith("Shall I go on?") and len(said) <= SAID


def test_of_a_long_summary_the_first_sentences_go() -> None:
    """At most three sentences; too many or too long ones lose whole sentences, the first ones first."""
    assert clean_summary("A one. B two. C three. D four.", SUMMARY, 3) == "B two. C three. D four."
    long = f"{'Did much ' * 50}. It stands. The key is missing."
    assert clean_summary(long, SUMMARY, 3) == long.replace(" .", " .").strip()
    longer = f"{'Did much ' * 70}. It stands. The key is missing."
    assert clean_summary(longer, SUMMARY, 3) == "It stands. The key is missing."
    assert clean_summary("Did it. " * 4000 + "The key is missing.", SUMMARY, 1) == "The key is missing."
    one = f"The key is missing{' and so on' * 60}."
    assert len(one) > SUMMARY and clean_summary(f"Did it. {one}", SUMMARY, 3) == one  # whole
    cut = clean_summary(f"Did {'much and ' * 2000}the key is missing.", SUMMARY, 3)
    assert cut.startswith("…much") and cut.endswith("the key is missing.") and len(cut) <= SUMMARY


WORDS = st.text(alphabet='ab.?! \n-`|#:"1é。', max_size=200)


@examples(300)
@given(text=WORDS, limit=st.integers(1, 120))
def test_every_part_is_made_of_whole_units(text: str, limit: int) -> None:
    """For any text: the parts are units of it, in order, and within the limit where more than one is taken."""
    units = split_units(text)
    for taken in (take_first(units, limit), take_last(units, limit), take_end(units, limit)):
        whole = [one for one in taken if not one.text.startswith("… and ")]
        at = next((i for i in range(len(units) + 1) if units[i : i + len(whole)] == whole), None)
        assert at is not None
        if len(whole) > 1:
            assert len(join_units(whole)) <= limit
