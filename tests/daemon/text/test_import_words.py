"""Words that the client would import are put into code spans."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.import_words import list_runs, quote_imports


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("use @scope/pkg and @../x.md", "use `@scope/pkg` and `@../x.md`"),
        ("mail a@b.c, run `npm i @x/y` now", "mail a@b.c, run `npm i @x/y` now"),
        ("see @docs/x.md, (@y) or @z!", "see `@docs/x.md`, (`@y`) or `@z`!"),
        ("**@~/x.md** and [@/etc/x](y)", "**`@~/x.md**` and [`@/etc/x](y`)"),
        ("_@x_ and ~~@y~~", "_`@x_` and ~~`@y~~`"),
        ("`a`@x and `b`", "`a` `@x` and `b`"),
        ("@`", "`` @` ``"),
        ("@`a` b", "@`a` b"),
        ("@``", "` @`` `"),
        ("an open ` and @x", "an open ` and `` @x ``"),
        ("a `` b ` c @x", "a `` b ` c ``` @x ```"),
        ("packages/@acme/ui and ./@x and HEAD@{1}", "packages/@acme/ui and ./@x and HEAD@{1}"),
        ("escaped \\.@x", "escaped \\.`@x`"),
        ("escaped \\@x and \\\\@y", "escaped `\\@x` and `\\\\@y`"),
        ("no span \\` @x `", "no span \\` `` @x `` `"),
        ('<a href="`"> @x `', '<a href="`"> `` @x `` `'),
        ("alone @ and @.", "alone @ and `@.`"),
    ],
)
def test_a_line_of_its_own(line: str, shown: str) -> None:
    """Code spans stay; a word is quoted wherever a part of the text can begin with it."""
    assert quote_imports(line) == shown
    assert quote_imports(shown) == shown or "<" in line or "\\" in line


def test_a_line_of_a_longer_text() -> None:
    """A backtick of a line above may turn the spans of this one inside out."""
    text = "a ` b\nc `@x` d `\n``"
    assert quote_imports("c `@x` d `", list_runs(text), starts_block=False) == "c ` ``` @x` ``` d `"
    assert quote_imports("c `@x` d `", list_runs(text)) == "c `@x` d `"


@examples(300)
@given(st.text(alphabet="`@ a\\<*_", max_size=40))
def test_each_word_is_in_a_span_that_no_other_backtick_touches(line: str) -> None:
    """Whatever the backticks of the text are, the client finds no `@` at the beginning of a part or after white space."""
    shown = quote_imports(line, starts_block=False)
    length = next(n for n in range(1, 50) if n not in list_runs(line))
    # After a backslash, a backtick does not begin a span.
    inside = rf"(?<![`\\])(?:\\\\)*`{{{length}}}(?!`) ?.*?(?<!`)`{{{length}}}(?!`)"
    rest = re.sub(inside, "=", shown)
    assert not re.search(r"(?:^|[\s`*\\<])@\S", rest), (shown, rest)
    assert [x for x in shown.split("`") if x.strip()] or not line.strip(" `")
    assert re.sub(r"[` ]", "", shown) == re.sub(r"[` ]", "", line)


@examples(200)
@given(st.text(alphabet="`@ a*.", max_size=30))
def test_quoting_again_changes_nothing(line: str) -> None:
    """A line that was quoted when it was learned is copied as it is."""
    once = quote_imports(line)
    assert quote_imports(once) == once
