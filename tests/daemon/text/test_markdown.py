"""Splicing Markdown: S-25 to S-29, X-07; DESIGN "Files": unknown text is kept byte for byte."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import FileRefusedError
from tacitd.files.formats import Bullets, bullet
from tacitd.text.markdown import clean_line, lines_of, put_line, put_lines, swap_line, take_lines
from tacitd.text.markdown_blocks import lines_as_blocks


def has_line(data: bytes, line: str) -> bool:
    """Whether adding it changes nothing."""
    try:
        return put_line(data, "A", line, "T") == data
    except FileRefusedError:
        return False


def take_line(data: bytes, line: str, section: str = "") -> bytes:
    return take_lines(data, [line], [section])


def put(text: str, line: str = "new", heading: str = "A") -> str:
    return put_line(text.encode(), heading, line, "T").decode()


@pytest.mark.parametrize("nothing", [None, b""])
def test_a_new_file(nothing: bytes | None) -> None:
    """S-27: Markdown bullets under `##`, no ids and no metadata."""
    assert put_line(nothing, "Coding", "Use pnpm", "Learned") == b"# Learned\n\n## Coding\n- Use pnpm\n"
    assert put_line(b"\xef\xbb\xbf", "A", "x", "T") == b"\xef\xbb\xbf# T\n\n## A\n- x\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("## A\n- x\n\n## B\n", "## A\n- x\n- new\n\n## B\n"),
        ("## A\n\n## B\n", "## A\n- new\n\n## B\n"),
        ("## A", "## A\n- new"),
        ("## A\n- x", "## A\n- x\n- new"),
        ("## A\n- x\n\n\n", "## A\n- x\n- new\n\n\n"),
        ("## A\n- x\n  wrapped\nlazy\n\nafter\n", "## A\n- x\n  wrapped\nlazy\n- new\n\nafter\n"),
        ("## A\n- x\n  - y\n", "## A\n- x\n  - y\n- new\n"),
        ("## A\n* x\n* y\n", "## A\n* x\n* y\n* new\n"),
        ("## A\n  + x\n", "## A\n  + x\n  + new\n"),
        ("## A\n-   x\n", "## A\n-   x\n- new\n"),
        ("## A\nWords.\n\n## B\n", "## A\nWords.\n- new\n\n## B\n"),
        ("##A##\n- x\n", "##A##\n- x\n- new\n"),
        ("## **a:** ##\n- x\n", "## **a:** ##\n- x\n- new\n"),
        ("A\n---\n- x\n", "A\n---\n- x\n\n## A\n- new\n"),
        ("# A\n- x\n", "# A\n- x\n\n## A\n- new\n"),
        ("### A\n- 3\n## A\n- 2\n", "### A\n- 3\n## A\n- 2\n- new\n"),
        ("## A\n- x\n### Sub\n- y\n", "## A\n- x\n- new\n### Sub\n- y\n"),
        ("## B\n- x", "## B\n- x\n\n## A\n- new\n"),
        ("## B\n- x\n\n", "## B\n- x\n\n## A\n- new\n"),
        ("## A\nB\n---\n", "## A\nB\n---\n- new\n"),
        ("## A\n- x\n***\n", "## A\n- x\n- new\n***\n"),
        ("## A\n- x\n  ```\n  ## B\n  ```\n", "## A\n- x\n  ```\n  ## B\n  ```\n- new\n"),
        ("## A\n- ```\n  ## B\n  ```\n", "## A\n- ```\n  ## B\n  ```\n- new\n"),
        ("## A\n1. n\n   - y\n2. m\n", "## A\n1. n\n   - y\n2. m\n- new\n"),
        ("## A\n1) n\n   - y\n\n## B\n", "## A\n1) n\n   - y\n- new\n\n## B\n"),
        ("## A\n- x\n\n1. n\n   - y\n", "## A\n- x\n\n1. n\n   - y\n- new\n"),
        ("## A\nLike this:\n\n    - code\n", "## A\nLike this:\n\n    - code\n- new\n"),
        ("## A\n| a |\n|---|\n| 1 |\n", "## A\n| a |\n|---|\n| 1 |\n- new\n"),
    ],
)
def test_where_a_line_goes(before: str, after: str) -> None:
    """S-28: after the section's last bullet, in the section's own style; missing headings at the end."""
    assert put(before) == after
    assert put(after) == after
    crlf = put(before.replace("\n", "\r\n"))
    if "\n" in before:
        assert crlf == after.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "opaque",
    [
        "---\nA: 1\n## A\n- x\n---\n",
        "```md\n## A\n- x\n```\n",
        "~~~~\n```\n## A\n~~~\n- x\n~~~~\n",
        "<!--\n## A\n- x\n-->\n",
        "<!-- one --> \n",
    ],
)
def test_front_matter_code_and_comments_are_let_alone(opaque: str) -> None:
    """DESIGN "Files": unknown text is kept; `## A` in code is not a heading, and a bullet in code is not a line."""
    assert lines_of(opaque.encode()) == [] and not has_line(opaque.encode(), "x")
    assert put(opaque, "x") == opaque + "\n## A\n- x\n"


@pytest.mark.parametrize("opening", ["```\n", "<!-- \n", "- ~~~\n", "---\n"])
def test_what_is_never_closed_swallows_nothing(opening: str) -> None:
    """S-29, idempotent: a line below an unclosed fence is found again and not added twice."""
    once = put(opening + "## A\n- y\n", "x")
    assert once == opening + "## A\n- y\n- x\n" and put(once, "x") == once


def test_a_line_that_would_change_what_others_mean_is_refused() -> None:
    """S-28: an added line does not change the meaning of what a person wrote."""
    with pytest.raises(FileRefusedError, match="text around"):
        put("<!-- todo\n## A\n", "use -->")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"## A\n<<<<<<< HEAD\n- x\n=======\n- y\n>>>>>>> b\n", "conflict markers"),
        (b"a\r\n>>>>>>> b\r\n", "conflict markers"),
        ("## A\n".encode("utf-16"), "UTF-8"),
        (b"\xfe\xff\x00#", "UTF-8"),
        (b"## A\n\x00\n", "NUL"),
        ("## Ä\n".encode("latin-1"), r"not UTF-8 \(byte 3\)"),
    ],
)
def test_files_that_cannot_be_spliced_are_refused(data: bytes, words: str) -> None:
    """DESIGN "Files": a file with conflict markers waits; each kind of bad file has a clear message."""
    splices: list[Callable[[], bytes]] = [
        lambda: put_line(data, "A", "x", "T"),
        lambda: take_line(data, "x"),
        lambda: swap_line(data, "x", "y"),
    ]
    for splice in splices:
        with pytest.raises(FileRefusedError, match=words) as caught:
            splice()
        assert caught.value.hint
    if words != "conflict markers":
        with pytest.raises(FileRefusedError):
            lines_of(data)


@pytest.mark.parametrize("line", ["", "  ", "---", "- -", "```js", "a\0b", "\ud800"])
def test_a_line_that_is_no_bullet_is_refused(line: str) -> None:
    """S-29: a line that could not be found again is not written."""
    with pytest.raises(FileRefusedError):
        put("## A\n", line)


def test_a_line_is_there_wherever_it_stands() -> None:
    """S-29: same line twice, same file, in any section and however a formatter wrapped it."""
    text = "## B\n* Use pnpm, not\n  npm here\n\n## A\n"
    assert put(text, "Use pnpm, not npm here") == text
    assert put(text, " Use pnpm,\nnot npm here ") == text
    assert lines_of(text.encode()) == [("B", "Use pnpm, not npm here")]
    assert take_line(text.encode(), "Use pnpm, not npm here") == b"## B\n\n## A\n"


@pytest.mark.parametrize("text", ["- x\n  because\n- y\n", "- x\n  - detail\n- y\n", "- x\n\n  more\n- y\n"])
def test_a_bullet_that_a_person_built_upon_is_theirs(text: str) -> None:
    """S-28: a person's own lines are never edited; the line still counts as present."""
    data = text.encode()
    assert has_line(data, "x") and put_line(data, "A", "x", "T") == data
    assert take_line(data, "x") == data
    assert swap_line(data, "x", "z") == data
    assert take_line(data, "y") == data.replace(b"- y\n", b"")


def test_swapping() -> None:
    """S-26: the new line has the replaced line's place, mark and indentation."""
    assert swap_line(b"## A\r\n  * old\r\n* b", "old", "new") == b"## A\r\n  * new\r\n* b"
    assert swap_line(b"- a\n* b", "b", "new") == b"- a\n* new"
    assert swap_line(b"- a\n", "old", "new") == b"- a\n"
    assert swap_line(b"- old\n- new\n", "old", "new") == b"- new\n"
    assert swap_line(b"- old\n", "old", "old") == b"- old\n"
    assert swap_line(b"- long\n  line\n- b\n", "long line", "new") == b"- new\n- b\n"
    assert swap_line(b"- long\n  line\n- b\n", "long line", "long") == b"- long\n- b\n"
    assert swap_line(b"- long\n  line\n- long\n", "long line", "long") == b"- long\n"


def test_lines_and_their_headings() -> None:
    """S-28: the lines of the file, for comparison with what tacitd wrote."""
    text = "- 0\n# T\n* 1\n## C#\n- [ ] 2\n1. no\n+ 3 `a  b`\n- - -\n#tag\n-no\n"
    assert lines_of(text.encode()) == [
        ("", "0"),
        ("T", "1"),
        ("C#", "[ ] 2 1. no"),
        ("C#", "3 `a  b`"),
    ]
    assert lines_of(None) == []


PIECES = st.sampled_from([
    "## A", "## B", "# T", "- x", "- y  ", "  - z", "* s", "\twords", "more", "", "", " ", "---", "===", "```", "~~~", "  ```", "- ```",
    "<!--", "-->", "<!-- c -->", "***", "> q", "1. n", "\x0c", "é\u2028", "\xa0",
])  # fmt: skip
PARTS = st.lists(PIECES, max_size=8)


def files(lines: st.SearchStrategy[list[str]]) -> st.SearchStrategy[bytes]:
    """Files of these lines: either newline style, with or without a byte order mark and a final newline."""
    forms = st.tuples(lines, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]), st.booleans())
    return forms.map(lambda p: (p[2] + p[1].join(p[0]) + (p[1] if p[3] and p[0] else "")).encode())


FILES = files(PARTS)
FILES_WITH_A = files(st.tuples(PARTS, PARTS).map(lambda parts: [*parts[0], "## A", *parts[1]]))
WORDS = st.sampled_from(
    ["new", "x", "Use `a`, not  b", "# h", "1. n", "a --", "<b>", "> q", "x -->", "[ ] t", "*"]
)


@given(FILES, WORDS)
@examples(250)
def test_put_keeps_every_other_line_and_is_idempotent(data: bytes, line: str) -> None:
    """S-28, S-29: the other lines' bytes are a subsequence of the result; a second put changes nothing."""
    try:
        after = put_line(data, "A", line, "T")
    except FileRefusedError:
        return
    assert has_line(after, line) and put_line(after, "A", line, "T") == after
    rest = iter(after)
    assert all(byte in rest for byte in data)


@given(FILES_WITH_A, WORDS)
@examples(250)
def test_put_then_take_is_the_identity(data: bytes, line: str) -> None:
    """S-28: on files that had the heading, removing the added line restores every byte."""
    assume(not has_line(data, line))
    try:
        after = put_line(data, "A", line, "T")
    except FileRefusedError:
        return
    assume(
        len(after.split(b"\n")) == len(data.split(b"\n")) + 1
    )  # at the end, the splice is more than one line
    assert take_line(after, line) == data


@given(FILES, st.lists(WORDS, max_size=5), st.randoms(use_true_random=False))
@examples(300)
def test_taking_lines_at_once_is_taking_one_after_the_other(
    data: bytes, others: list[str], random: Random
) -> None:
    """A person deletes a whole section: one pass over the file. A bullet stays if only its nested ones went with it."""
    lines = [text for _, text in lines_of(data) if random.random() < 0.7] + others
    try:
        after = one_by_one = take_lines(data, lines)
    except FileRefusedError:
        return
    one_by_one = data
    left = [clean_line(text).split() for _, text in lines_of(after)]
    for text in lines:
        if clean_line(text).split() not in left:
            one_by_one = take_line(one_by_one, text)
    assert one_by_one == after


@given(FILES, WORDS, WORDS)
@examples(150)
def test_swap_there_and_back(data: bytes, old: str, new: str) -> None:
    """S-26: a swap and its reversal keep the line in its place."""
    try:
        after = swap_line(data, old, new)
    except FileRefusedError:
        return
    if after == data:
        return
    assert new.split() in [text.split() for _, text in lines_of(after)]
    assert {text for _, text in lines_of(after)} - {new} <= {text for _, text in lines_of(data)}


# --- many lines at once -------------------------------------------------------------------------------------------


def put_one_by_one(data: bytes | None, lines: list[tuple[str, str]]) -> bytes | None:
    """What `put_lines` must return."""
    for heading, line in lines:
        data = put_line(data, heading, line, "Title")
    return data


def outcome_of(put: Callable[[], bytes | None]) -> object:
    try:
        return put() or b""
    except FileRefusedError as error:
        return error.what


HEADINGS = st.sampled_from(["A", "B", "a:", "**B**", "New", "new", "Other one"])
MANY = st.lists(st.tuples(HEADINGS, st.one_of(WORDS, st.sampled_from(["x", "y", "x  y", "---"]))), max_size=8)


@given(st.one_of(st.none(), FILES, FILES_WITH_A), MANY)
@example(b"## A\n- x", [("A", "one"), ("New", "two"), ("A", "three")])
@example(
    b"## A\n\n## B\n1. n\n   - under\n\n", [("New", "1"), ("B", "2"), ("A", "3"), ("B", "4"), ("A", "4")]
)
@example(b"## A\n\n    code\n", [("A", "one"), ("A", "two")])
@examples(300)
def test_many_lines_at_once_are_put_as_one_by_one(data: bytes | None, lines: list[tuple[str, str]]) -> None:
    """S-28, S-29: the same bytes and the same answers, also where a line is refused."""
    alone = outcome_of(lambda: put_one_by_one(data, lines))
    assert outcome_of(lambda: put_lines(data, lines, "Title")) == alone


def test_the_time_for_many_lines_grows_as_their_number() -> None:
    """Ten times the lines, in a file of ten times the size, take some ten times the time, and not a hundred times."""

    def measure(number: int) -> float:
        data = ("# T\n\n## A\n" + "".join(f"- old line {n}\n" for n in range(number)) + "\n## B\n").encode()
        new = {bullet("AB"[n % 2], line): line for n in range(number) for line in [f"new line {n}"]}
        began = time.process_time()
        assert len(lines_of(Bullets("T").splice(data, new))) == 2 * number
        return time.process_time() - began

    few, many = zip(*((measure(100), measure(1000)) for _ in range(3)), strict=True)
    assert min(many) < 30 * min(few)


def test_many_openings_that_nothing_closes_take_no_longer_than_words() -> None:
    """In a file of a stranger's repository each may be shorter than the one before, and be looked for in all that follows."""

    def measure(mark: str) -> float:
        lines = [*(mark * length + " x" for length in range(400, 3, -1)), *["a"] * 50_000]
        began = time.process_time()
        assert len(lines_as_blocks(lines)) == len(lines)
        return time.process_time() - began

    words, openings = zip(*((measure("a"), measure("`")) for _ in range(2)), strict=True)
    assert min(openings) < 5 * min(words)


@pytest.mark.parametrize("after", ["", "\n## Next\n\n- z\n"])
def test_a_removed_only_bullet_returns_between_its_blank_lines(after: str) -> None:
    """Forgetting a person's own line and taking that back leaves their bytes as they were."""
    before = f"# L\n\n## Coding\n\n- a\n\n## Mine\n\n- keep this line\n{after}".encode()
    assert put_line(take_line(before, "keep this line"), "Mine", "keep this line", "L") == before


# --- the place of a new section, and headings without lines -----------------------------------------------

LETTERS = st.sampled_from(["a", "b", "c", "d", "mine 1", "mine 2"])


def test_a_new_section_gets_its_place() -> None:
    """Before the first of those that come after it, otherwise at the end."""
    data: bytes | None = put_line(None, "General", "x", "Learned")
    data = put_lines(data, [("Coding", "y")], "Learned", {"Coding": ["Testing", "General"]})
    assert data == b"# Learned\n\n## Coding\n- y\n\n## General\n- x\n"
    data = put_lines(data, [("Testing", "z")], "Learned", {"Testing": ["General"]})
    assert data == b"# Learned\n\n## Coding\n- y\n\n## Testing\n- z\n\n## General\n- x\n"
    assert (put_lines(data, [("Mine", "m")], "Learned", {"Mine": ["Nothing"]}) or b"").endswith(
        b"- x\n\n## Mine\n- m\n"
    )
    assert (
        put_lines(b"text\n## General\n- x\n", [("A", "a")], "", {"A": ["General"]})
        == b"text\n\n## A\n- a\n\n## General\n- x\n"
    )


def test_no_empty_heading_is_left() -> None:
    """Only the one that is named, and only if nothing else is below it."""
    data = b"# T\n\n## A\n- a\n\n## B\n- b\n"
    assert take_line(data, "a", "A") == b"# T\n\n## B\n- b\n"
    assert take_line(data, "b", "B") == b"# T\n\n## A\n- a\n"
    assert take_line(data, "a") == b"# T\n\n## A\n\n## B\n- b\n"
    assert take_line(data, "missing", "A") == data
    for below in (b"- mine\n", b"\nwords\n", b"\n### C\n- c\n", b"\n<!-- x -->\n"):
        kept = take_line(b"## A\n- a\n" + below, "a", "A")
        assert kept == b"## A\n" + below
    twice = b"## A\n\n## B\n- b\n\n## A\n- a\n"
    assert take_line(twice, "a", "A") == b"## A\n\n## B\n- b\n\n## A\n"
