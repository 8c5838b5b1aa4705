"""The generated text: in at most 2 KB, the same bytes for the same facts, nothing that the client would interpret."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_reach import format_toys
from tacitd.session_context.context_request import PersonRule
from tacitd_handlers.reach.user_rules import (
    LIMIT,
    LIST,
    RuleLine,
    choose_lines,
    make_lines,
)


def section(*texts: str) -> list[RuleLine]:
    return make_lines("toys", [PersonRule(str(n), text) for n, text in enumerate(texts)])


def render(**sections: list[RuleLine]) -> str:
    """The file with the lines that are chosen."""
    put = {leaf: line.text for leaf, line in choose_lines(sections).items()}
    return LIST.splice(None, put).decode("utf-8", "replace") if put else ""


def test_the_text_as_it_stands() -> None:
    """The head names the source and what a deletion means; a section without lines is left out."""
    assert render(Toys=section("Likes: red, blue", "Tone: direct"), None_=[]) == format_toys(
        "Likes: red, blue", "Tone: direct"
    )


def test_words_with_an_at_sign_are_no_imports() -> None:
    """Claude Code imports the file that `@name` names; in backticks it does not."""
    made = section("use @scope/pkg, run `npm i @x/y`", "an open ` and @x")
    assert [line.text for line in made] == [
        "use `@scope/pkg`, run `npm i @x/y`",
        "an open ` and `` @x ``",
    ]


def test_what_would_hide_or_reveal_is_left_out() -> None:
    """A comment or a fence would hide the lines after it; a secret is never stored; a repeated line stands once."""
    texts = [
        "~~~",
        "a <!-- b",
        "c --> d",
        "token ghp_0123456789abcdefABCDEF0123456789abcd",
        "same",
        "same",
        "  ",
    ]
    assert [line.text for line in section(*texts)] == ["same"]
    assert [line.text for line in section("two\nlines \x1b[31mred")] == ["two lines red"]


def test_a_section_does_not_displace_another() -> None:
    """2 KB: lines are taken in turn, and one that is too long does not end the section."""
    long = section(*(f"{n} " + "x" * 150 for n in range(40)))
    short = section("y" * 3000, *(f"z{n}" for n in range(20)))
    chosen = [line.text for line in choose_lines({"Long": long, "Short": short}).values()]
    assert len(render(Long=long, Short=short).encode()) <= LIMIT
    assert len(chosen) >= 25 and chosen[-20:] == [f"z{n}" for n in range(20)]


texts = st.lists(st.text(max_size=300), max_size=30)


@examples(100)
@given(texts, texts)
def test_any_rules_make_a_text_within_the_limit(one: list[str], other: list[str]) -> None:
    """At most 2 KB, the same facts give the same bytes, and each rule is one line."""
    made = render(One=section(*one), Other=section(*other))
    assert len(made.encode("utf-8", "replace")) <= LIMIT
    assert made == render(One=section(*one), Other=section(*other))
    assert sum(line.startswith("<!--") for line in made.splitlines()) == (1 if made else 0)
