"""Blanking words in tacitd's own files."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.files.purge import (
    BLANK,
    blank_in_place,
    blank_value,
    contains_texts,
)

WORDS = "use pnpm, never npm"


def test_words_are_blanked_in_place(tmp_path: Path) -> None:
    """Keys, values, a torn line and one of another program. They keep their length, and other texts stay byte for byte."""
    path = tmp_path / "a.jsonl"
    lines = [
        f'{{"n":1,"words":["{WORDS}","he said: {WORDS}!"],"text":"npm"}}',
        f"# {WORDS}",
        json.dumps([WORDS]),
        f'{{"n":2,"words":["{WORDS}","and the ne',
    ]
    path.write_text("\n".join(lines))
    assert blank_in_place(path, [WORDS]) and not blank_in_place(path, [WORDS])
    dots = "." * len(WORDS.encode())
    spelled = WORDS.replace('"', '\\"')
    expected = [line.replace(spelled, "." * len(spelled.encode())).replace(WORDS, dots) for line in lines]
    assert path.read_text().split("\n") == expected
    path.write_text("use pnpm, never npm. use pnpm, never npm in shop")
    assert blank_in_place(path, [WORDS], keep=[f"{WORDS} in shop"])
    assert path.read_text() == f"{dots}. use pnpm, never npm in shop"


@pytest.mark.parametrize(
    ("text", "value", "after"),
    [
        ("Use tabs", "He said: use it. Use tabs, Use tabs.", f"He said: use it. {BLANK}, {BLANK}."),
        ("Use tabs", "Use tabstops; reUse tabs; Use tabs-only", None),
        ("my repo", "/home/me/my repo/x", None),
        ("my repo", "see ~/my repo", "see ~/my repo"),
        ("pnpm", "use pnpm: always", None),
        ("请用制表符", "一定请用制表符缩进", f"一定{BLANK}缩进"),
        ("Use tabs", "line\nUse tabs\nUse tabs in Go", f"line\n{BLANK}\nUse tabs in Go"),
    ],
)
def test_a_short_text_is_blanked_where_no_word_goes_on(text: str, value: str, after: str | None) -> None:
    """A path and a longer word stay, and so does another item that contains it; a single word is not looked for."""
    assert blank_value({"a": value}, [text], ["Use tabs in Go"]) == {"a": value if after is None else after}
    spelled = json.dumps({"a": value}, ensure_ascii=False)
    assert ("." * len(text.encode()) in spell_in_place(spelled, text)) is (BLANK in (after or ""))


def spell_in_place(data: str, text: str) -> str:
    """A document after the text was blanked in it."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "a.json"
        file.write_text(data)
        blank_in_place(file, [text], keep=["Use tabs in Go"])
        return file.read_text()


def test_a_file_that_is_none_of_tacitds_stays(tmp_path: Path) -> None:
    """A link, a directory, a FIFO, and a file without the words."""
    file, link = tmp_path / "raw.jsonl", tmp_path / "link.jsonl"
    file.write_text(json.dumps({"facts": [WORDS]}) + "\n")
    link.symlink_to(file)
    os.mkfifo(tmp_path / "fifo")
    before = file.read_bytes()
    for path in (link, tmp_path, tmp_path / "gone", tmp_path / "fifo"):
        assert not blank_in_place(path, [WORDS])
    assert not blank_in_place(file, ["", " ", "absent"]) and file.read_bytes() == before
    assert blank_in_place(file, [WORDS]) and file.stat().st_size == len(before)


@examples(100)
@given(
    st.recursive(
        st.one_of(st.none(), st.integers(), st.text(max_size=30), st.just(WORDS), st.just(f"x {WORDS} y")),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_nothing_of_the_words_is_left_in_any_value(value: object) -> None:
    """And a value without them is as before."""
    text = json.dumps(value)
    after = blank_value(value, [WORDS])
    assert WORDS not in json.dumps(after)
    assert WORDS in text or after == value


def test_a_file_that_is_the_persons_is_searched_only(tmp_path: Path) -> None:
    """The text counts as `blank_in_place` would blank it; not within another item's text, nor behind a link."""
    mine = tmp_path / "mine.md"
    mine.write_text("- Prefers ox 4 carts\n")
    assert contains_texts(mine, ["Prefers ox"])
    assert not contains_texts(mine, ["Prefers ox"], keep=["Prefers ox 4 carts"])
    assert not contains_texts(mine, [""]) and not contains_texts(tmp_path / "none", ["Prefers ox"])
    (tmp_path / "link.md").symlink_to(mine)
    assert not contains_texts(tmp_path / "link.md", ["Prefers ox"])
    assert mine.read_text() == "- Prefers ox 4 carts\n"
