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
    find_left_texts,
    purge_texts,
)

WORDS = "use pnpm, never npm"


def test_lines_of_a_log_are_blanked_in_place(tmp_path: Path) -> None:
    """Keys, values, a torn line and one of another program. They keep their length, and other texts stay byte for byte."""
    path = tmp_path / "deep" / "a.jsonl"
    path.parent.mkdir()
    lines = [
        f'{{"n":1,"words":["{WORDS}","he said: {WORDS}!"],"text":"npm"}}',
        f"# {WORDS}",
        f'["{WORDS}"]',
        f'{{"n":2,"words":["{WORDS}","and the ne',
    ]
    path.write_text("\n".join(lines))
    assert purge_texts(tmp_path, [WORDS]) == [path]
    dots = "." * len(WORDS)
    assert path.read_text().split("\n") == [line.replace(WORDS, dots) for line in lines]
    assert purge_texts(tmp_path, [WORDS]) == []


def test_other_files_keep_their_length(tmp_path: Path) -> None:
    """A process may have them open; a document of JSON stays one, also where the words are escaped in it."""
    text, document = tmp_path / "tacitd.log", tmp_path / "status.json"
    words = 'use "pnpm" für alles'
    text.write_text(f"learned: {words}\nend\n")
    document.write_text(json.dumps({"made": [words]}))
    sizes = [text.stat().st_size, document.stat().st_size]
    assert purge_texts(tmp_path, [words]) == [document, text]
    assert [text.stat().st_size, document.stat().st_size] == sizes
    assert "pnpm" not in text.read_text() and text.read_text().endswith("\nend\n")
    assert "pnpm" not in json.loads(document.read_text())["made"][0]


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


def test_what_is_left_is_named(tmp_path: Path) -> None:
    """Single words that are a part of other texts, with the files; a text that was blanked is not left."""
    path = tmp_path / "a.json"
    path.write_text('{"state": "done", "words": ["no, use tabs", "unknown"]}')
    texts = ["done", "no", "use tabs", "tab"]
    purge_texts(tmp_path, texts)
    assert find_left_texts(tmp_path, texts) == {"done": [path], "no": [path]}


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


def test_a_file_that_is_replaced_meanwhile_ends_no_purge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon writes its files anew under a temporary name, which is gone before its turn comes."""
    words = "never use the old gateway"
    for name in "abc":
        (tmp_path / f"{name}.json").write_text(json.dumps({"text": words}))
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        (tmp_path / "b.json").unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert purge_texts(tmp_path, [words]) == [tmp_path / "a.json", tmp_path / "c.json"]
    assert words not in (tmp_path / "c.json").read_text()


def test_links_and_empty_texts_change_nothing(tmp_path: Path) -> None:
    """A link could lead out of the directory."""
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps({"w": WORDS}) + "\n")
    inside = tmp_path / "state"
    inside.mkdir()
    (inside / "link.jsonl").symlink_to(outside)
    assert purge_texts(inside, [WORDS]) == [] and WORDS in outside.read_text()
    assert purge_texts(tmp_path, ["", " "]) == []


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
