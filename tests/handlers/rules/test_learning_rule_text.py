"""The names and texts of rule files, as the client reads them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.files.formats import bullet
from tacitd_handlers.reach.client_rules import front_matter, name_module_rules
from tacitd_handlers.reach.rule_text import (
    COPY,
    FOOT_START,
    HEAD_START,
    LIMIT,
    TEXT,
    is_line,
    render_rule,
    show_line,
)


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("pkg/cart", "/pkg/cart/**"),
        ("app/(auth)/a b", "/app/(auth)/a b/**"),
        ("app/[id]", "/app/\\\\[id\\\\]/**"),
        ("a{b,c}", "/a?b?c?/**"),
        ('say "x"', '/say \\"x\\"/**'),
        ("größe/ñ", "/größe/ñ/**"),
        ("#x/!y", "/#x/!y/**"),
        ("a*b\\c", "/a?b?c/**"),
    ],
)
def test_patterns_are_written_as_the_client_reads_them(folder: str, pattern: str) -> None:
    """Observed with three versions of the client: braces expand, a comma splits, brackets need two backslashes in YAML."""
    assert front_matter(folder)[2] == f'  - "{pattern}"'
    assert front_matter(folder) == ["---", "paths:", f'  - "{pattern}"', "---", ""]


def test_names_that_collide_get_digits() -> None:
    """`pkg-cart` and `pkg/cart` are two folders; a file system may ignore case; a leading dot would hide the file."""
    folders = ["pkg/cart", "pkg-cart", "Src", "src", ".github", "x" * 300, "one"]
    named = name_module_rules(folders)
    assert len({name.casefold() for name in named.values()}) == len(folders)
    assert named["one"] == ".claude/rules/tacitd/one.md"
    for folder in folders[:-1]:
        stem = named[folder].removeprefix(".claude/rules/tacitd/").removesuffix(".md")
        assert len(stem.rpartition("-")[2]) == 6 and not stem.startswith(".") and len(stem) < 130
    assert named == name_module_rules(reversed(folders))


def body(text: str) -> str:
    """The text of the copy without its first and its last line."""
    made = render_rule(text, "LEARNED.md")
    if not made:
        return ""
    lines = made.split("\n")
    assert lines[0] == f"{HEAD_START}LEARNED.md: change that file, not this one. -->"
    assert lines[-3:] == ["", f"{FOOT_START}LEARNED.md. -->", ""]
    return "\n".join(lines[1:-3])


def test_headings_and_bullets_are_copied_in_order() -> None:
    """The copy of a file of tacitd's is that file; a heading without text below it is left out."""
    source = (
        "# Learned Preferences\n\n## Coding\n- Use pnpm\n- Use uv\n\n## Testing\n- No mocks\n\n## Empty\n"
    )
    assert (
        body(source) == "\n# Learned Preferences\n\n## Coding\n- Use pnpm\n- Use uv\n\n## Testing\n- No mocks"
    )
    assert render_rule("# Learned Preferences\n\n## Coding\n", "x") == render_rule("", "x") == ""


def test_what_is_not_for_sessions_is_left_out() -> None:
    """Front matter would limit the rule to some files, and comments are the person's notes."""
    source = "---\npaths: x\n---\n# L\n<!-- a\n- no\n-->\n- one <!-- b --> two\n\ntext <!-- open\n"
    assert body(source) == "\n# L\n- one  two\n\ntext &lt;!-- open"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("- see @docs/x.md, not a@b.c\n", "- see `@docs/x.md`, not a@b.c"),
        ("- a ` b @x\n", "- a ` b `` @x ``"),
        ("- a `b`\n@x `` y\n", "- a `b`\n``` @x ``` `` y"),
        ("@LEARNED.md\n", "`@LEARNED.md`"),
        ("## See @x.md\n- a\n", "## See `@x.md`\n- a"),
        ("```sh\n@x\n\ny\n```\n", "```sh\n`@x`\n\ny\n```"),
        ("## Notes\n\n    ```\n@../../x.md\n    ```\n", "## Notes\n    ```\n`@../../x.md`\n    ```"),
        ("\ufeff- a\r\n- b\r\n", "- a\n- b"),
    ],
)
def test_a_word_that_would_be_an_import_is_in_backticks(source: str, shown: str) -> None:
    """The client imports the file that a word after `@` names, and asks the person about files outside the project."""
    assert body(source).strip("\n") == shown


@examples(300)
@given(st.text(alphabet="`@ a\n-~#", max_size=40))
def test_no_line_has_an_import(text: str) -> None:
    """Whatever the backticks of a source are, a word that begins with `@` is behind a run of backticks."""
    for line in body(text).split("\n"):
        for word in re.finditer(r"(?<!\S)@\S", line):
            assert line[: word.start()].rstrip(" ").endswith("`"), line


def test_a_huge_source_is_cut_between_lines() -> None:
    """A session pays for each character, so a copy has a limit, and names the file for the rest."""
    made = body("".join(f"- line number {n} of many\n" for n in range(60_000)))
    assert len(made) < LIMIT + 200 and made.endswith(
        "(cut here: read the rest in LEARNED.md before you work)"
    )
    assert made.split("\n")[-3].startswith("- line number")


def test_a_source_s_name_cannot_end_the_comment() -> None:
    """A folder may be called `-->`."""
    head = render_rule("- a\n", "-->/AGENTS.md").split("\n")[0]
    assert head.count("-->") == 1 and head.endswith("-->")


LINES = st.lists(
    st.sampled_from(
        ["- one", "- two", "* three", "- see @x", "prose", "", "## Coding", "# T", "```", "- a\n  b"]
    ),
    max_size=8,
)
EDITS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["", "- mine", "mine", "- one"])), max_size=4)


@examples(300)
@given(LINES, LINES, EDITS)
def test_a_change_beside_any_edit_loses_nothing(
    before: list[str], after: list[str], edits: list[tuple[int, str]]
) -> None:
    """Priority 1: a change puts the whole text if nothing of a person is there, and otherwise every line of theirs stays."""
    old, new = render_rule("\n".join(before), "L"), render_rule("\n".join(after), "L")
    lines = old.split("\n")
    for at, line in edits:  # the person inserts or deletes a line
        place = at % (len(lines) + 1)
        lines[place : place + (not line)] = [line] if line else []
    edited = "\n".join(lines)
    base, there = COPY.read_leaves(old.encode()), COPY.read_leaves(edited.encode())
    wanted = COPY.read_leaves(new.encode())
    theirs = {leaf: text for leaf, text in there.items() if leaf not in base and leaf not in wanted}
    changes = {TEXT: new, **{leaf: None for leaf in there if leaf not in theirs}, **wanted}
    made = COPY.splice(edited.encode(), changes)
    left = COPY.read_leaves(made)
    if not theirs:
        assert made.decode() == new
    assert {text for leaf, text in theirs.items() if not is_line(leaf)} <= {*left.values()}
    assert {show_line(text) for leaf, text in theirs.items() if is_line(leaf)} <= {
        show_line(text) for text in left.values()
    }


def test_what_the_format_reads() -> None:
    """List items as `Bullets` names them; any other line of text by itself; what tacitd makes around them is no leaf."""
    text = render_rule("# T\n\n- a\n\nprose\n", "L", ["---", "paths:", '  - "/x/**"', "---", ""])
    assert COPY.read_leaves(text.encode()) == {bullet("T", "a"): "a", bullet(TEXT, "prose"): "prose"}
    assert COPY.splice(text.encode(), {TEXT: None, **dict.fromkeys(COPY.read_leaves(text.encode()))}) == b""


@pytest.mark.parametrize("lost", ["head", "foot", "most", "none"])
def test_a_file_that_was_cut_is_known(lost: str) -> None:
    """DESIGN "Doubt": without its first or last line, or with more than half of several lines gone."""
    text = render_rule("".join(f"- {n}\n" for n in range(5)), "L")
    base, lines = COPY.read_leaves(text.encode()), text.split("\n")
    match lost:
        case "head":
            lines = lines[1:]
        case "foot":
            lines = lines[:-2]
        case "most":
            lines = [line for line in lines if line not in ("- 0", "- 1", "- 2")]
        case _:
            lines = [line for line in lines if line != "- 0"]
    assert COPY.is_cut("\n".join(lines).encode(), base) is (lost != "none")
