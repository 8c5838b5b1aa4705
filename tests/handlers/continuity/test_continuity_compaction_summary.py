"""The client's summary at a compaction: what is taken of it, in the shapes that clients and models write."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tacitd_handlers.continuity.compaction_summary import INPUT, LIMIT, shorten_compaction

BEFORE = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\n"
)
AFTER = (
    "\n\nIf you need specific details from before compaction (like exact code snippets, error messages, or content you "
    "generated), read the full transcript at: /home/dev/x.jsonl\nPlease continue the conversation from where we left it off "
    "without asking the user any further questions. Continue with the last task that you were asked to work on."
)
ANALYSIS = "Analysis:\nLet me go through the conversation:\n\n1. **Initial Request**: a parser.\n2. **Next**: tests.\n\n"
BODY = """Summary:
1. Primary Request and Intent:
   The user wants a parser for dates. It must be strict.

2. Key Technical Concepts:
   - ISO 8601

3. Files and Code Sections:
   - `dates.py`
     ```python
     7. Pending Tasks:
     ```

4. Errors and fixes:
   - None

5. Problem Solving:
   Solved.

6. All user messages:
   - "write a parser"

7. Pending Tasks:
   - Handle leap seconds
   - Write the documentation:
     - README.md
     - docs/dates.md

8. Current Work:
   I was adding the tests for week dates. `test_week` fails, because the year is wrong. I had just written:
   ```python
   assert parse("2020-W53")
   ```

9. Optional Next Step:
   Fix `parse_week` so that it uses the ISO year. The user said: "week dates first"
"""
TAKEN = """In progress: I was adding the tests for week dates. `test_week` fails, because the year is wrong. I had just written.
Next: Fix `parse_week` so that it uses the ISO year. The user said: "week dates first"
Pending:
- Handle leap seconds
- Write the documentation:
  - README.md
  - docs/dates.md
Asked: The user wants a parser for dates. It must be strict."""


def test_what_is_being_done_comes_first() -> None:
    """SPEC P-26: Current Work, Next Step and Pending Tasks, then the request; without the client's text and the analysis."""
    assert shorten_compaction(BEFORE + ANALYSIS + BODY + AFTER) == TAKEN


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("Summary:\n", "<summary>\n") + "</summary>",
        lambda text: "<analysis>\nPending Tasks: x\n</analysis>\n\n" + text,
        lambda text: "<system-reminder>\n<tools-used-before-summary>Bash</tools-used-before-summary>\n</system-reminder>\n" + text,
        lambda text: text.replace("7. Pending", "## 7. Pending").replace("8. Current", "## 8. Current"),
        lambda text: text.replace("   - ", "- ").replace("\n   ", "\n"),
    ],
    ids=["tags", "analysis", "reminder", "headings", "flat"],
)  # fmt: skip
def test_other_shapes_of_the_same(change: Callable[[str], str]) -> None:
    """The shapes of several client versions: tags, an analysis, a reminder, Markdown headings, no indentation."""
    made = shorten_compaction(BEFORE + change(BODY) + AFTER)
    assert made.startswith("In progress: I was adding the tests for week dates.")
    assert "Next: Fix `parse_week`" in made
    assert "- Handle leap seconds" in made
    assert "<" not in made


def test_another_language() -> None:
    """The model translates the headings, and the client's sentences stay English."""
    names = {
        "Primary Request and Intent": "Hauptanliegen", "Key Technical Concepts": "Technische Konzepte",
        "Files and Code Sections": "Dateien", "Errors and fixes": "Fehler", "Problem Solving": "Lösungen",
        "All user messages": "Nachrichten", "Pending Tasks": "Offene Aufgaben", "Current Work": "Aktuelle Arbeit",
        "Optional Next Step": "Nächster Schritt",
    }  # fmt: skip
    text = BODY
    for english, german in names.items():
        text = text.replace(english, german)
    text = text.replace("I was adding the tests for week dates.", "Ich schrieb die Tests für Wochendaten.")
    made = shorten_compaction(BEFORE + text + AFTER)
    assert made.startswith("In progress: Ich schrieb die Tests für Wochendaten.")
    assert "Next: Fix" in made and "- Handle leap seconds" in made
    japanese = BODY.replace("Current Work:", "現在の作業：").replace(
        "I was adding the tests for week dates. ", "テストを追加していました。"
    )
    for english in ("Pending Tasks", "Optional Next Step", "Primary Request and Intent"):
        japanese = japanese.replace(english, "項目")
    assert shorten_compaction(BEFORE + japanese + AFTER).startswith("In progress: テストを追加していました。")


def test_without_headings() -> None:
    """A summary without headings gives its last sentences, which say where the work stands."""
    made = shorten_compaction(
        BEFORE
        + "We wrote a parser. "
        + "It took a while to get it right. " * 30
        + "The release waits for a key."
        + AFTER
    )
    assert made.endswith("It took a while to get it right. The release waits for a key.")
    assert "We wrote" not in made
    assert "continued" not in made


def test_nothing_is_left() -> None:
    """`None` under a heading is left out; a summary of nothing is empty."""
    text = BODY.replace("- Handle leap seconds\n", "- None explicitly stated.\n")
    assert "Pending:" not in shorten_compaction(text)
    assert shorten_compaction(BEFORE + AFTER) == ""
    assert shorten_compaction("") == ""


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [
        ("None", True), ("None.", True), ("- None explicitly stated.", True), ("N/A", True), ("None - all is done.", True),
        ("No pending tasks.", True), ("No explicit, pending tasks were requested.", True), ("None at this time.", True),
        ("There are no remaining tasks.", True),
        ("None of the tests pass yet.", False), ("No specific tests were written for the parser.", False),
        ("No pending tasks except the release.", False), ("No work on the parser has begun.", False),
    ],
)  # fmt: skip
def test_what_says_that_there_is_nothing(text: str, is_empty: bool) -> None:
    """SPEC P-26: a sentence that begins with `None` or `No` may be the most important one."""
    made = shorten_compaction(f"Summary:\n8. Current Work:\n   {text}\n9. Optional Next Step:\n   Go on.\n")
    assert made == ("Next: Go on." if is_empty else f"In progress: {text}\nNext: Go on.")


@pytest.mark.parametrize(
    "named",
    [
        "`<example>`",
        "an <example> of it",
        "\n   <example>\n   x",
        "`<analysis>`",
        "<analysis> and </analysis>",
        "`<summary>`",
    ],
)
def test_a_tag_that_is_only_named_takes_nothing_away(named: str) -> None:
    """SPEC P-26: what follows a tag in the text stays."""
    made = shorten_compaction(BEFORE + BODY.replace("It must be strict.", f"It reads {named}.") + AFTER)
    assert made.startswith("In progress: I was adding the tests for week dates.")
    assert "- Handle leap seconds" in made and "Asked: The user wants" in made


def test_a_long_sentence_is_kept() -> None:
    """SPEC P-26: one of 1,060 characters is whole; one that is far too long ends at a word, marked as cut."""
    sentence = "I was adding " + "the tests for week dates and " * 36 + "so on."
    assert len(sentence) == 1063
    made = shorten_compaction(BODY.replace("I was adding the tests for week dates.", sentence))
    assert sentence in made
    made = shorten_compaction(BODY.replace("I was adding the tests for week dates.", sentence * 4 + " x."))
    first = made.splitlines()[0]
    assert first.startswith("In progress: I was adding") and first.endswith("…")
    assert first[:-1].split()[-1] in sentence.split()
    assert "Next: Fix" in made and "- Handle leap seconds" in made


def test_headings_in_two_languages() -> None:
    """The model translates some of the headings."""
    text = BODY.replace("Current Work", "Aktuelle Arbeit").replace("Optional Next Step", "Nächster Schritt")
    assert shorten_compaction(BEFORE + text + AFTER) == TAKEN


def test_a_summary_of_200_kb() -> None:
    """Its last parts are read, and the result stays short and whole."""
    text = BODY.replace("   - ISO 8601\n", "   - ISO 8601 and much more of it\n" * 6500)
    assert len(text) > 200_000
    made = shorten_compaction(BEFORE + text + AFTER)
    assert len(made) <= LIMIT + 100
    assert made.startswith("In progress: I was adding the tests for week dates.")


@pytest.mark.parametrize("part", ["word\n", ".", "<example", "</summary", "1. ab\n", "## a", " \n"])
def test_a_summary_of_anything_takes_linear_time(part: str) -> None:
    """A stranger's text: a part without a sentence's end, or of unclosed tags, is read within seconds."""
    since = time.process_time()
    for text in (
        part * (INPUT // len(part)),
        BODY.replace("It must be strict.", part * (80_000 // len(part))),
    ):
        assert len(shorten_compaction(text)) <= LIMIT + 100
    assert time.process_time() - since < 5


def test_a_long_list_says_what_is_left_out() -> None:
    """Lists stay lists: whole items, and the number of those that have no room."""
    items = "".join(f"   - Do the thing number {n} with great care\n" for n in range(40))
    made = shorten_compaction(BODY.replace("   - Handle leap seconds\n", items))
    assert "- Do the thing number 3 with great care\n" in made
    assert "\n… and " in made
    assert all(line.endswith("care") for line in made.splitlines() if line.startswith("- Do"))
