"""The formats of both files: SPEC L-02 to L-04, L-07, L-12, L-32 to L-34, L-54, and what people and others write into them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import read_about, row
from tacitd.errors import FileRefusedError
from tacitd_handlers.learner.entry_texts import (
    NOTHING_SAID,
    RESOLVED,
    HistoryEntry,
    WeaknessEntry,
    correct_entry,
    escape_observations,
    format_entry,
    format_session,
    parse_entry,
    parse_session,
    update_entry,
)
from tacitd_handlers.learner.ledger_file import (
    HEADER,
    STATUSES,
    format_row,
    name_of,
    parse_ledger,
    tag_of,
    tags_of,
)
from tacitd_handlers.learner.profile_text import (
    PROFILE_FORMAT,
    SECTIONS,
    TEMPLATE,
    WEAKNESSES,
    list_entries,
    list_sessions,
    name_entry,
    name_session,
    parse_profile,
    restore_sections,
)
from tacitd_handlers.learner.weakness_rules import Weakness

# --- The profile as a document: SPEC L-02, L-03, L-07, L-12, L-32, L-34, and profiles edited by people.


FULL = (Path(__file__).parents[2] / "fixtures/learner/full.profile.md").read_bytes()
SEED_ENTRY = """\
- **edge:empty_input** — misses empty input check on array problems.
  First observed: 2026-02-01T10:00. Last tested: 2026-02-19T14:30. Last failed: 2026-02-10T10:00.
  Last clean streak start: 2026-02-12T10:00. Sessions since last failure: 2.
  Status: improving"""
SEED_SESSION = """\
### 2026-02-19T14:30 | two-sum | learning | solved_with_minor_hints
Gaps: edge:empty_input; edge:duplicate_values
Review: 2026-02-22
---
Quickly identified hash map approach. Forgot empty input check (3rd occurrence).
Dict comprehension syntax noticeably improved since Feb 14."""
PIECES = st.sampled_from(
    [
        *(
            "## About Me",
            "## Known Weaknesses",
            "### Resolved",
            "## Session History",
            "## session history ##",
        ),
        *("## Notes of mine", "# Grace", "", "", "   ", "plain words", "<!-- a comment", "-->"),
        *("<!-- one line -->", "```", "~~~", "---", "- a bullet", "Gaps: none"),
        *SEED_ENTRY.split("\n"),
        *SEED_SESSION.split("\n"),
        "### 2026-02-18T09:00 | lru | recall | pass",
    ]
)
DOCUMENTS = st.tuples(
    st.lists(PIECES, max_size=40),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["", "\ufeff"]),
).map(lambda t: (t[3] + t[1].join(t[0]) + (t[1] if t[2] else "")).encode())


def fresh(tag: str, status: str, stamp: str) -> Weakness:
    return Weakness(tag, status, stamp, stamp, stamp)


def read_entry(text: str) -> WeaknessEntry:
    entry = parse_entry(text)
    assert entry is not None
    return entry


def read_session(text: str) -> HistoryEntry:
    session = parse_session(text)
    assert session is not None
    return session


def restore(data: bytes) -> tuple[bytes, list[str]]:
    return PROFILE_FORMAT.splice(data, {}), restore_sections(parse_profile(data))[1]


# --- the document


@examples(300)
@given(
    st.one_of(DOCUMENTS, st.text(max_size=200).map(lambda t: t.replace("\0", "").encode("utf-8", "ignore")))
)
@example(FULL)
@example(TEMPLATE)
@example(b"")
def test_L_02_reading_and_writing_is_the_identity(data: bytes) -> None:
    """SPEC L-02: every byte without a meaning is kept: comments, unknown sections, newlines, byte order marks."""
    assert "".join(block.text for block in parse_profile(data)).encode() == data


@examples(300)
@given(DOCUMENTS)
@example(b"## About Me\n\nme, without an end")
@example(b"words\n<!-- open\n## Known Weaknesses\n")
def test_L_02_L_03_repair_adds_sections_and_nothing_else(data: bytes) -> None:
    """SPEC L-02, L-03: every existing line stays, in its order; About Me keeps its bytes; repairing twice equals
    once.
    """
    whole, names = restore(data)
    assert restore(whole) == (whole, []) and set(names) <= {*SECTIONS, "Resolved"}
    left = iter(whole.decode("utf-8-sig").splitlines())
    assert all(line in left for line in data.decode("utf-8-sig").splitlines())
    before = read_about(data)
    if before.endswith("\n") or not before:
        assert read_about(whole).startswith(before) and (read_about(whole) == before or not before)
    if not names:
        assert whole == data


def test_L_02_which_sections_are_restored_where() -> None:
    """SPEC L-02: in the seed's order, before the section that follows; `### Resolved` at the end of its own section."""
    whole, names = restore(b"## Session History\n")
    assert names == ["About Me", "Known Weaknesses"]
    assert whole.decode().index("## About Me") < whole.decode().index("## Known Weaknesses")
    whole, names = restore(b"## About Me\n\nme\n\n## Known Weaknesses\n\n- mine\n\n## Session History\n")
    assert names == ["Resolved"] and b"- mine\n\n### Resolved\n\n## Session History" in whole
    marked, _ = restore(b"\xef\xbb\xbf## Session History\r\n")
    assert marked.startswith(b"\xef\xbb\xbf## About Me\r\n")


def test_L_02_headings_in_code_and_comments_are_no_sections() -> None:
    """SPEC L-02, L-03: an example in About Me is not a place to write; an unbalanced fence there hides nothing."""
    fenced = b"## About Me\n\n```\n## Known Weaknesses\n```\n\n## Known Weaknesses\n\n### Resolved\n\n## Session History\n"
    assert b"```\n## Known Weaknesses\n```" in read_about(fenced).encode()
    for half in (b"", b"```\n", b"<!-- todo\n"):
        whole = fenced if not half else b"## About Me\n\n" + half + TEMPLATE.partition(b"\n\n")[2]
        assert restore(whole) == (whole, [])


def test_duplicate_sections_are_all_read() -> None:
    """Issue, bad input: entries in a second section of a name are read."""
    text = SEED_SESSION + "\n"
    data = TEMPLATE.decode() + "\n" + text + "\n## Session History\n\n" + text.replace("two-sum", "lru")
    found = list_sessions(PROFILE_FORMAT.read_leaves(data.encode()))
    assert [one.problem for one in found] == ["two-sum", "lru"]


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe## About", b"## About Me\n\xe9\n", b"a\0b", b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    """SPEC L-02: a profile with invalid UTF-8, NUL bytes or conflict markers is refused and not changed."""
    with pytest.raises(FileRefusedError):
        parse_profile(data)


def test_entries_in_and_out_leave_the_rest_alone() -> None:
    """SPEC L-02: every line of a full profile outside the entries stays, in its order; the oldest session is removed while a new one is
    inserted directly above it.
    """
    entries = list_entries(PROFILE_FORMAT.read_leaves(FULL))
    sessions = list_sessions(PROFILE_FORMAT.read_leaves(FULL))
    new = row(50, problem="new")._replace(stamp="2026-04-08T21:15")
    after = PROFILE_FORMAT.splice(
        FULL,
        {
            f"{WEAKNESSES}\nedge:y": format_entry(
                "edge:y", "misses y", fresh("edge:y", "new", "2026-04-10T09:00")
            ),
            **{one.leaf: None for one in (*entries[:2], entries[-1])},
            sessions[-1].leaf: None,
            f"{RESOLVED}\n{entries[1].label}": entries[1].text,
            name_session((new.stamp, new.problem, new.mode)): format_session(new, "a"),
        },
    )
    leaves = PROFILE_FORMAT.read_leaves(after)
    assert [(one.label, one.resolved) for one in list_entries(leaves)] == [
        ("heap:tie_break", False),
        ("graph:visited_on_pop", False),
        ("dp:base_case", False),
        ("edge:y", False),
        ("window:negative_indices", True),
    ]
    assert [one.problem for one in list_sessions(leaves)] == ["two-sum", "new"]
    assert read_about(after) == read_about(FULL)
    assert b"## Interview log\n\nNothing here is tacitd's.\n" in after
    assert b"\n\n\n" not in after and b"<!-- mine: keep the old ones on top -->" in after


# --- weaknesses


WORDS = st.text(
    st.characters(codec="ascii", categories=["L", "N", "Zs", "P"], exclude_characters="*|"), max_size=40
)
STAMPS = st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1)).map(lambda t: t.strftime("%Y-%m-%dT%H:%M"))


@examples(150)
@given(WORDS, STAMPS, STAMPS, st.one_of(st.just(""), STAMPS), st.integers(0, 500), st.sampled_from(STATUSES))
def test_L_07_any_entry_is_its_own_image(
    description: str, first: str, tested: str, streak: str, clean: int, status: str
) -> None:
    """SPEC L-07: formatting and parsing are inverse; updating an entry with another's fields gives the other entry."""
    said = " ".join(description.split()).strip(".!? :-") or "x"
    w = Weakness("edge:x", status, first, tested, first, streak, clean)
    text = format_entry("edge:x", said, w)
    entry = read_entry(text)
    assert not entry.missing_fields and entry.label == "edge:x" and entry.as_weakness("edge:x") == w
    assert format_entry(entry.label, entry.description, w) == text == update_entry(text, w)
    other = Weakness("edge:x", "new", tested, first, tested, "", 0)
    assert update_entry(text, other) == format_entry("edge:x", entry.description, other)


@pytest.mark.parametrize("empty", ["", "—", "-", "none", "n/a", "None"])
def test_L_12_an_empty_streak(empty: str) -> None:
    """SPEC L-12: written as `start: .`; every spelling of an empty value is read and kept."""
    w = fresh("edge:x", "new", "2026-02-01T10:00")
    text = format_entry("edge:x", "misses it in loops", w)
    assert "\n  Last clean streak start: . Sessions since last failure: 0.\n" in text
    theirs = text.replace("start: .", f"start: {empty}.")
    assert read_entry(theirs).streak == "" and update_entry(theirs, w) == theirs


def test_half_edited_entries_keep_every_word() -> None:
    """Issue, bad input: a wrapped, re-ordered or shortened entry is read as far as possible; only fields change."""
    theirs = (
        "* **Empty input** - misses the check on arrays,\n  above all in two-pointer loops!\n"
        "  Status: improving (I think)\n  Last tested: yesterday. My note: ask for a retest."
    )
    entry = read_entry(theirs)
    assert entry.label == "Empty input" and entry.status is None
    assert set(entry.missing_fields) >= {"First observed", "Last tested", "Status"}
    after = update_entry(theirs, fresh("edge:empty_input", "recurring", "2026-02-01T10:00"))
    assert after.split("\n")[:2] == theirs.split("\n")[:2] and "My note: ask for a retest." in after
    assert not read_entry(after).missing_fields and read_entry(after).description == entry.description


# --- sessions


def test_L_32_the_seeds_session_is_its_own_image() -> None:
    """SPEC L-32: header, Gaps, Review, rule, observations."""
    session = read_session(SEED_SESSION)
    assert session.key == ("2026-02-19T14:30", "two-sum", "learning")
    assert (session.gaps, session.review) == ("edge:empty_input; edge:duplicate_values", "2026-02-22")
    one = row(0, session.gaps or "", mode="learning", verdict=session.verdict, review="2026-02-22")
    assert format_session(one, session.observations) == SEED_SESSION == correct_entry(session, one)


@examples(200)
@given(st.lists(st.one_of(PIECES, WORDS), max_size=12).map("\n".join))
@example("### 2026-02-19T14:30 | two-sum | recall | pass\nGaps: x")
@example("## Session History\n---\n```\n<!-- open")
def test_L_34_observations_cannot_be_taken_for_structure(observations: str) -> None:
    """SPEC L-34: for any observation, the entries above and below stay entries, and the words are kept."""
    data = TEMPLATE
    for one in (row(1, problem="a"), row(2, problem="b")):
        leaf = name_session((one.stamp, one.problem, one.mode))
        data = PROFILE_FORMAT.splice(data, {leaf: format_session(one, observations)})
    leaves = PROFILE_FORMAT.read_leaves(data)
    assert [one.problem for one in list_sessions(leaves)] == ["b", "a"]
    assert sum("\n" not in leaf for leaf in leaves) == 4 and list_entries(leaves) == []
    words = "".join(c for c in observations.strip() or NOTHING_SAID if c.isalnum())
    said = list_sessions(leaves)[0].observations
    assert "".join(c for c in said if c.isalnum()) == words


def test_L_34_only_the_whole_header_starts_an_entry() -> None:
    """SPEC L-34: other third-level headings are a person's, and stay when the entry above is removed."""
    for line in (
        "### What went well",
        "### 2026-02-19T14:30 | two-sum | recall",
        "### 2026-02-31T14:30 | two-sum | recall | pass",
        "#### 2026-02-19T14:30 | two-sum | recall | pass",
    ):
        assert list_sessions(PROFILE_FORMAT.read_leaves(TEMPLATE + f"\n{line}\n".encode())) == []
    data = TEMPLATE + f"\n{SEED_SESSION}\n\n### My own thoughts\n\nkeep me\n".encode()
    (session,) = list_sessions(PROFILE_FORMAT.read_leaves(data))
    after = PROFILE_FORMAT.splice(data, {session.leaf: None})
    assert b"### My own thoughts\n\nkeep me" in after and b"two-sum" not in after


@pytest.mark.parametrize(
    "theirs",
    [
        "strong_pass\nIt went well.",
        "pass\nReview: 2026-02-26\n---\nIt went well.",
        "pass\nGaps: none\nTime: 20 min\n---\nIt went well.",
    ],
)
def test_L_38_half_edited_sessions_are_completed(theirs: str) -> None:
    """SPEC L-38; issue, bad input: an entry without Gaps or rule gets them from its row; every word stays."""
    text = f"### 2026-02-19T14:30 | two-sum | recall | {theirs}\nReally."
    after = read_session(correct_entry(read_session(text), row(0, "edge:x", review="2026-02-26")))
    assert (after.verdict, after.gaps, after.review) == ("pass", "edge:x", "2026-02-26")
    assert after.observations == "It went well.\nReally." and ("Time: 20 min" in after.text) == (
        "Time" in text
    )


def test_safe_observations() -> None:
    """SPEC L-34: control characters are removed, structure is escaped, the length is limited."""
    assert escape_observations("a\x00\x1b[1mb\r\n---\n  ### x\n") == "ab\n\\---\n\\### x"
    assert escape_observations("  ") == NOTHING_SAID
    assert len(escape_observations("word " * 5000)) <= 4002


def test_two_entries_of_one_name_have_two_leaves() -> None:
    """SPEC L-32, L-47: entries are counted from above, sessions of one header from below, which is the oldest."""
    data = TEMPLATE.replace(b"### Resolved", f"{SEED_ENTRY}\n{SEED_ENTRY}\n\n### Resolved".encode())
    leaves = PROFILE_FORMAT.read_leaves(data + f"\n{SEED_SESSION}\n\n{SEED_SESSION}\n".encode())
    label, key = "edge:empty_input", ("2026-02-19T14:30", "two-sum", "learning")
    assert [one.leaf for one in list_entries(leaves)] == [
        name_entry(label, resolved=False, number=n) for n in (1, 2)
    ]
    assert [one.leaf for one in list_sessions(leaves)] == [name_session(key, n) for n in (2, 1)]


# --- The ledger's format: SPEC L-04, L-33, L-54, and rows that others write.


SEED = b"""# Session Ledger

| Timestamp | Session ID | Problem | Pattern | Mode | Verdict | Gaps | Review Due |
|-----------|------------|---------|---------|------|---------|------|------------|
| 2026-02-19T14:30 | abc123 | two-sum | hash_map | recall | pass | edge:empty_input | 2026-02-26 |
"""


def test_L_33_names_and_tags() -> None:
    """SPEC L-33: pipes become slashes, newlines spaces; tags use their alphabet; `\\|` in foreign rows is read."""
    assert SEED.startswith(HEADER)
    assert name_of("merge a|b\nlists \\| twice") == "merge a/b lists / twice"
    assert tag_of(" Edge: Empty Input ") == "edge:empty_input" and tag_of("`dp:base`") == "dp:base"
    assert tags_of("edge:a; Edge:a, b ;; none") == ("edge:a", "b")
    for empty in ("none", "None", "—", "-", "", "n/a"):
        assert tags_of(empty) == ()
    line = b" |2026-02-19T14:30 | s |\ta \\| b | p | Recall | pass | none | 2026-02-26 |  \r"
    assert parse_ledger(line).rows[0].problem == "a / b"


@pytest.mark.parametrize(
    "line",
    [
        "| 2026-02-19T14:30 | abc | two-sum | hash_map | recall | pa",
        "| 2026-02-19T14:30 | abc | two-sum | hash_map | recall | pass | edge:x | 2026-02-2",
        "2026-02-19T14:30 | abc | two-sum | hash_map | recall | pass | edge:x | 2026-02-26",
        "| 2026-02-19T14:30 | abc | two-sum | hash_map | recall | pass | edge:x | 2026-02-26 \\|",
        "| 2026-02-19T14:30 | abc | two|sum | hash_map | recall | pass | x | 2026-02-26 |",
        "| 2026-02-30T14:30 | abc | two-sum | hash_map | recall | pass | x | 2026-02-26 |",
        "| 2026-02-19 14:30 | abc | two-sum | hash_map | recall | pass | x | 2026-02-26 |",
        "| 2026-02-19T14:30 | abc |  | hash_map | recall | pass | x | 2026-02-26 |",
        "a note of mine",
        "# Old ledger",
    ],
)
def test_L_54_what_is_no_row_is_skipped_and_named(line: str) -> None:
    """SPEC L-54: malformed rows are skipped and reported, and other rows are not affected."""
    data = SEED + line.encode() + b"\n" + format_row(row(9)).encode() + b"\n"
    table = parse_ledger(data)
    assert len(table.rows) == 2 and table.bad == [(SEED.count(b"\n") + 1, line)]
