"""The generated text: in at most 2 KB, the same bytes for the same facts, nothing that the client would interpret."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_reach import format_toys
from tacitd.files.formats import bullet
from tacitd.session_context.context_request import PersonRule
from tacitd_handlers.reach.user_rules import (
    LIMIT,
    LIST,
    RuleSection,
    choose_lines,
    make_section,
)


def section(plugin: str, *texts: str) -> RuleSection:
    return make_section(plugin, plugin.title(), [PersonRule(str(n), text) for n, text in enumerate(texts)])


def render(sections: list[RuleSection]) -> str:
    """The file with these lines."""
    put = {bullet(one.title, line.text): line.text for one in sections for line in one.lines}
    return LIST.splice(None, put).decode("utf-8", "replace") if put else ""


def test_the_text_as_it_stands() -> None:
    """The head names the source and what a deletion means; a section without lines is left out."""
    made = [section("toys", "Likes: red, blue", "Tone: direct"), section("none")]
    assert render(made) == format_toys("Likes: red, blue", "Tone: direct")


def test_words_with_an_at_sign_are_no_imports() -> None:
    """Claude Code imports the file that `@name` names; in backticks it does not."""
    made = section("toys", "use @scope/pkg, run `npm i @x/y`", "an open ` and @x")
    assert [line.text for line in made.lines] == [
        "use `@scope/pkg`, run `npm i @x/y`",
        "an open ` and `` @x ``",
    ]


def test_what_would_hide_or_reveal_is_left_out() -> None:
    """A comment would hide the lines after it; a secret is never stored; a repeated line stands once."""
    texts = ["a <!-- b", "c --> d", "token ghp_0123456789abcdefABCDEF0123456789abcd", "same", "same", "  "]
    assert [line.text for line in section("toys", *texts).lines] == ["same"]
    assert [line.text for line in section("toys", "two\nlines \x1b[31mred").lines] == ["two lines red"]


def test_a_section_does_not_displace_another() -> None:
    """2 KB: lines are taken in turn, and one that is too long does not end the section."""
    long = section("long", *(f"{n} " + "x" * 150 for n in range(40)))
    short = section("short", "y" * 3000, *(f"z{n}" for n in range(20)))
    chosen = choose_lines([long, short])
    assert len(render(chosen).encode()) <= LIMIT
    assert len(chosen[0].lines) >= 5
    assert [line.text for line in chosen[1].lines] == [f"z{n}" for n in range(20)]


texts = st.lists(st.text(max_size=300), max_size=30)


@examples(100)
@given(texts, texts)
def test_any_rules_make_a_text_within_the_limit(one: list[str], other: list[str]) -> None:
    """At most 2 KB, the same facts give the same bytes, and each rule is one line."""
    sections = [section("one", *one), section("other", *other)]
    made = render(choose_lines(sections))
    assert len(made.encode("utf-8", "replace")) <= LIMIT
    assert made == render(choose_lines(sections))
    assert sum(line.startswith("<!--") for line in made.splitlines()) == (1 if made else 0)
