"""The rules of sameness: what is one fact said twice, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.shared.equality import index_texts, is_reversal, make_key, normalise_text


def same_fact(one: str, other: str) -> bool:
    """Whether two lines say the same."""
    return make_key(one) == make_key(other)


SAME = [
    ("Prefers functions over classes", "- **Prefers functions over classes**"),
    ("Prefers functions over classes", "User prefers functions over classes"),
    ("Prefers functions over classes", "Use functions instead of classes"),
    ("Prefers functions over classes", "Prefers functions rather than classes"),
    ("Use pnpm, not npm", "prefers pnpm over npm"),
    ("Use pnpm not npm", "Use pnpm, not npm"),
    ("Use `pnpm`, not `npm`", "use pnpm, not npm"),
    ("Don't use semicolons", "Do not use semicolons."),
    ("Don’t use semicolons", "Avoids semicolons"),
    ("Never commit to main", "Do not commit to main"),
    ("Tests must never sleep", "Tests must not sleep"),
    ("Cannot stand emojis in answers", "Can't stand emojis in answers"),
    ("Use two spaces", "use 2 spaces"),
    ("Use the logging module", "Use logging module"),
    ("Normalise behaviour", "Normalize behavior"),
    ("使用 pnpm，不要用 npm。", "使用pnpm，不要用npm"),
    ("Ｕｓｅ ｔａｂｓ", "use tabs"),
    ("Nutze nicht npm", "nutze nicht npm."),
    ("use\u200b tabs", "Use tabs"),
    ("Lines shorter than 100 characters", "lines shorter than 100 characters"),
]
DIFFERENT = [
    ("use pnpm, not npm", "use npm, not pnpm"),
    ("Prefers npm over pnpm", "Prefers pnpm over npm"),
    ("use two spaces", "use 4 spaces"),
    ("Use Python 3.11", "Use Python 3.12"),
    ("never commit to main", "commit to main"),
    ("Avoids classes", "Prefers classes"),
    ("Does not want docstrings", "Wants docstrings"),
    ("Likes mocks", "Must use mocks"),
    ("Should sort imports", "Must sort imports"),
    ("Use tabs", "Use tabs in Makefiles"),
    ("Use tabs in Makefiles, spaces in Python", "Use spaces in Makefiles, tabs in Python"),
    ("Use case-sensitive names in lookups", "Use case-insensitive names in lookups"),
    ("Prefers mutable defaults", "Prefers immutable defaults"),
    ("Write contract tests", "Write contact tests"),
    ("Always serialize the answers", "Always deserialize the answers"),
    ("Use C++", "Use C#"),
    ("Use C", "Use C++"),
    ("Compare with ===, not ==", "Compare with ==, not ==="),
    ("Keep functions < 50 lines", "Keep functions > 50 lines"),
    ("Keep functions <50 lines", "Keep functions >50 lines"),
    ("Use GitHub, not Github", "Use Github, not GitHub"),
    ("Name tables user, not users", "Name tables users, not user"),
    ("Use ' for strings", 'Use " for strings'),
    ("使用 pnpm", "不使用 pnpm"),
    ("使用制表符", "使用空格"),
    ("タブを使う", "スペースを使う"),
    ("Nutze npm", "Nutze nicht npm"),
    ("Utilise pas npm", "Utilise npm"),
    ("Usa npm", "No usa npm"),
    ("Gebruik geen npm", "Gebruik npm"),
    ("Returns -1 on failure", "Returns 1 on failure"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_clothes(one: str, other: str) -> None:
    """S-06: spelling, marks and the way of saying "prefers" make no new fact."""
    assert same_fact(one, other)
    assert same_fact(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_though_alike(one: str, other: str) -> None:
    """S-06, P10: order, numbers, negations and every content word count."""
    assert not same_fact(one, other)
    assert not same_fact(other, one)


def test_normalise_folds_to_the_words_that_count() -> None:
    """S-06: the normal form is readable, and equal for lines that say the same."""
    assert normalise_text("User prefers functions over classes.") == "function over class"
    assert normalise_text("Don't use semicolons") == normalise_text("Avoids semicolons") == "not semicolon"
    assert normalise_text("...") == ""


def test_known_names_the_line_that_says_it() -> None:
    """S-06: the line that already says it is returned, for `explain`."""
    lines = ["Use tabs", "Prefers pnpm over npm", "Use pnpm, not npm."]
    assert index_texts(lines)[make_key("use pnpm, not npm")] == "Prefers pnpm over npm"
    assert make_key("use npm, not pnpm") not in index_texts(lines)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Use 2 spaces", "Use 4 spaces", False),
        ("Never commit to main", "Commit to main", True),
        ("Avoids type annotations", "Wants type annotations", True),
        ("Use pnpm, not npm", "Use npm, not pnpm", True),
        ("Use pnpm, not npm", "use pnpm over npm", False),
        ("Use tabs", "Use tabs in Makefiles", False),
        ("Prefers pytest", "Prefers unittest", False),
        ("Use tabs in Makefiles, spaces in Python", "Use spaces in Makefiles, tabs in Python", False),
        ("2", "4", False),
    ],
)
def test_turned(one: str, other: str, expected: bool) -> None:
    """S-26: a changed polarity of the same words is an update. Another number is another line."""
    assert is_reversal(one, other) is expected
    assert is_reversal(other, one) is expected


_VOCABULARY = (
    "pnpm npm tabs spaces pytest unittest functions classes user users use uses like a an the not never no "
    "this always two 2 3 GitHub Github github id ID prefer avoid commit commits does do to has over 中文 空格"
)
WORDS = st.sampled_from(_VOCABULARY.split())


@given(
    WORDS, WORDS, st.sampled_from([", not", " not", " over", " instead of", " rather than"]), st.booleans()
)
@examples(200)
def test_swapped_sides_are_never_the_same(one: str, other: str, between: str, capital: bool) -> None:
    """S-06: "use pnpm, not npm" is not "use npm, not pnpm", whatever the two words are."""
    assume(one != other)
    verb = "Use" if capital else "prefers"
    assert not same_fact(f"{verb} {one}{between} {other}", f"{verb} {other}{between} {one}")
