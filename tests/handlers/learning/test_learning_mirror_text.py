"""The text of a mirror: which lines of the source it has, and in which form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.mirrors.mirror_text import (
    LIMIT,
    has_lines,
    map_shown_bullets,
    mirror_foot,
    mirror_head,
    render_mirror,
    show_line,
)
from tacitd_handlers.learning.mirrors.mirror_units import parse_source

HEAD, FOOT = mirror_head("LEARNED.md"), mirror_foot("LEARNED.md")


def render(text: str | bytes | None, *hidden: str) -> str:
    """The body of the mirror of LEARNED.md, without the lines in `hidden`."""
    data = text.encode() if isinstance(text, str) else text
    made = render_mirror(
        parse_source(data),
        lambda words: words not in hidden,
        source="LEARNED.md",
        title="Learned Preferences",
    )
    assert made.startswith(f"{HEAD}\n\n# Learned Preferences\n") and made.endswith(f"\n\n{FOOT}\n")
    return made[len(f"{HEAD}\n\n# Learned Preferences\n") : -len(f"\n\n{FOOT}\n")]


def test_headings_and_bullets_are_copied_in_order() -> None:
    """The mirror of a file of tacitd's is that file."""
    source = "# Learned Preferences\n\n## Coding\n- Use pnpm\n- Use uv\n\n## Testing\n- No mocks\n"
    assert render(source) == "\n## Coding\n- Use pnpm\n- Use uv\n\n## Testing\n- No mocks"


def test_what_is_not_for_sessions_is_left_out() -> None:
    """Front matter would limit the rule to some files, and comments are the person's notes."""
    source = (
        "---\npaths: x\n---\n# Learned Preferences\n<!-- a\n- no\n-->\n- one <!-- b --> two\n\n---\n\ntext\n"
    )
    assert render(source) == "\n- one  two\n\ntext"


def test_code_is_copied_as_it_is() -> None:
    """A code block is one unit: a part of it would be nonsense."""
    source = "## Coding\n\n```sh\n@x <!-- y -->\n```\n\n- after\n"
    assert render(source) == "\n## Coding\n```sh\n`@x` <!-- y -->\n```\n\n- after"
    assert render(source, "```sh @x <!-- y --> ```") == "\n## Coding\n- after"


def test_a_word_that_would_be_an_import_is_in_backticks() -> None:
    """The client imports the file that a word after `@` names, and asks the person about files outside the project."""
    assert render("- see @docs/x.md, not a@b.c\n").strip() == "- see `@docs/x.md`, not a@b.c"
    assert render("- a ` b @x\n").strip() == "- a ` b `` @x ``"
    assert render("- a `b`\n@x `` y\n").strip().split("\n") == ["- a `b`", "``` @x ``` `` y"]
    assert render("@LEARNED.md\n").strip() == "`@LEARNED.md`"
    assert render("- **@~/x.md** and [@/etc/x](y)\n").strip() == "- **`@~/x.md**` and [`@/etc/x](y`)"


@pytest.mark.parametrize(
    "source",
    [
        "## Notes\n\n    ```\n@../../x.md\n    ```\n",
        "1. a\n   ```\n@../../x.md\n   ```\n",
        "<pre>\n```\n</pre>\n@../../x.md\n```\n",
        "<div>\n```\n\n@../../x.md\n```\n",
        "```\n    ```\n```\n@../../x.md\n```\n",
    ],
)
def test_what_only_looks_like_code_has_no_import(source: str) -> None:
    """CommonMark: a fence is none in indented code and in HTML, and a fence in a list ends with its item."""
    assert "\n`` @../../x.md ``\n" in render(source) or "\n`@../../x.md`\n" in render(source)


@examples(300)
@given(st.text(alphabet="`@ a\n-~", max_size=40))
def test_no_line_has_an_import(text: str) -> None:
    """Whatever the backticks of a source are, a word that begins with `@` is between runs that the source has not."""
    data = parse_source(text.encode())
    runs = {len(run) for run in "".join(c if c == "`" else " " for c in text).split()}
    for unit in data.units:
        for line in unit.lines:
            shown = show_line(line, unit, data)
            if unit.starts_block:  # its own code spans count
                shown = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", " ", shown)
            for word in re.finditer(r"(?<!\S)@\S", shown):
                tail = shown[: word.start()].rstrip(" ")
                assert len(tail) - len(tail.rstrip("`")) not in runs | {0}


def test_lines_that_may_not_be_shown_take_nothing_along() -> None:
    """Below a heading that is left out, lines come under General: the heading is a stranger's text too."""
    source = "# Theirs\n\n## Coding\n- a\n- b\n\n## Evil words\n- c\n\nsome text\n"
    assert render(source, "Theirs", "b", "some text") == "\n## Coding\n- a\n\n## Evil words\n- c"
    assert render(source, "Theirs", "b", "some text", "Evil words") == "\n## Coding\n- a\n\n## General\n- c"
    assert render(source, "Theirs", "Evil words", "a", "b", "c", "some text") == ""


def test_a_wrapped_bullet_is_judged_as_a_whole_too() -> None:
    """A formatter may wrap a line of tacitd's; a line that was added below is judged alone."""
    made = render_mirror(
        parse_source(b"- one\n  two\n- three\n  four\n"),
        lambda words: words in ("one two", "three"),
        source="LEARNED.md",
        title="T",
    )
    assert "- one\n  two\n- three\n" in made and "four" not in made


def test_a_huge_source_is_cut_between_lines() -> None:
    """A session pays for each character, so a mirror has a limit, and names the file for the rest."""
    made = render("".join(f"- line number {n} of many\n" for n in range(60_000)))
    assert len(made) < LIMIT + 200 and made.endswith(
        "(cut here: read the rest in LEARNED.md before you work)"
    )
    assert made.split("\n")[-3].startswith("- line number")


def test_bytes_that_are_no_text_raise_nothing() -> None:
    """Bad input: whatever the file contains, its mirror is UTF-8 text."""
    assert "\ufffd" in render(b"- \xff\n") and render(None) == "" and render(b"") == ""
    assert render(b"\xef\xbb\xbf- a\r\n- b\r\n").split("\n")[-2:] == ["- a", "- b"]


def test_bullets_are_mapped_to_what_the_source_has() -> None:
    """A line that is deleted in the mirror is found in the source although the mirror shows it differently."""
    assert map_shown_bullets(parse_source(b"- see @x\n- a\n  b\n")) == {"see `@x`": "see @x", "a b": "a b"}


def test_a_mirror_without_lines_is_recognised() -> None:
    """The head and the title are not lines."""
    empty = render_mirror(parse_source(b"# T\n"), lambda words: True, source="LEARNED.md", title="T")
    full = render_mirror(parse_source(b"- a\n"), lambda words: True, source="LEARNED.md", title="T")
    assert not has_lines(empty) and has_lines(full)


def test_a_source_s_name_cannot_end_the_comment() -> None:
    """A folder may be called `-->`."""
    made = render_mirror(parse_source(b"- a\n"), lambda words: True, source="-->/AGENTS.md", title="T")
    assert made.split("\n")[0].count("-->") == 1 and made.split("\n")[0].endswith("-->")
