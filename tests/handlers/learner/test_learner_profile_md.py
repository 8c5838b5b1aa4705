"""The profile as a document: SPEC L-02, L-03, L-07, L-12, L-32, L-34, and profiles edited by people."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import read_about, row
from tacitd.errors import FileRefusedError
from tacitd_handlers.learner.history_text import (
    NOTHING_SAID,
    correct_entry,
    escape_observations,
    format_session,
    is_header,
    parse_session,
)
from tacitd_handlers.learner.profile_text import (
    SECTIONS,
    TEMPLATE,
    Splice,
    apply_splices,
    insert_session,
    insert_weaknesses,
    parse_profile,
    restore_sections,
)
from tacitd_handlers.learner.vocabulary import STATUSES
from tacitd_handlers.learner.weakness_rules import Weakness
from tacitd_handlers.learner.weakness_text import format_entry, parse_entry, update_entry

FULL = (Path(__file__).parents[2] / "fixtures/learner/full.profile.md").read_bytes()
SEED_ENTRY = [
    "- **edge:empty_input** — misses empty input check on array problems.",
    "  First observed: 2026-02-01T10:00. Last tested: 2026-02-19T14:30. Last failed: 2026-02-10T10:00.",
    "  Last clean streak start: 2026-02-12T10:00. Sessions since last failure: 2.",
    "  Status: improving",
]
SEED_SESSION = """### 2026-02-19T14:30 | two-sum | learning | solved_with_minor_hints
Gaps: edge:empty_input; edge:duplicate_values
Review: 2026-02-22
---
Quickly identified hash map approach. Forgot empty input check (3rd occurrence).
Dict comprehension syntax noticeably improved since Feb 14.""".splitlines()


def fresh(tag: str, status: str, stamp: str) -> Weakness:
    return Weakness(tag, status, stamp, stamp, stamp)


PIECES = st.sampled_from(
    [
        "## About Me",
        "## Known Weaknesses",
        "### Resolved",
        "## Session History",
        "## session history ##",
        "## Notes of mine",
        "# Grace",
        "",
        "",
        "   ",
        "plain words",
        "<!-- a comment",
        "-->",
        "<!-- one line -->",
        "```",
        "~~~",
        "---",
        "- a bullet",
        *SEED_ENTRY,
        *SEED_SESSION,
        "### 2026-02-18T09:00 | lru | recall | pass",
        "Gaps: none",
    ]
)
DOCUMENTS = st.tuples(
    st.lists(PIECES, max_size=40),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["", "\ufeff"]),
).map(lambda t: (t[3] + t[1].join(t[0]) + (t[1] if t[2] else "")).encode())


def about(data: bytes) -> str:
    return read_about(parse_profile(data))


@examples(300)
@given(
    st.one_of(DOCUMENTS, st.text(max_size=200).map(lambda t: t.replace("\0", "").encode("utf-8", "ignore")))
)
@example(FULL)
@example(TEMPLATE)
@example(b"")
def test_L_02_reading_and_writing_is_the_identity(data: bytes) -> None:
    """SPEC L-02: every byte without a meaning is kept: comments, unknown sections, newlines, byte order marks."""
    assert apply_splices(parse_profile(data), []) == data


@examples(300)
@given(DOCUMENTS)
@example(b"## About Me\n\nme, without an end")
@example(b"words\n<!-- open\n## Known Weaknesses\n")
def test_L_02_L_03_repair_adds_sections_and_nothing_else(data: bytes) -> None:
    """SPEC L-02, L-03: every existing line stays, in its order; About Me keeps its bytes; repairing twice equals
    once.
    """
    whole, names = restore_sections(data)
    assert restore_sections(whole) == (whole, []) and set(names) <= {*SECTIONS, "Resolved"}
    assert restore_sections(whole) == (whole, [])
    left = iter(whole.decode("utf-8-sig").splitlines())
    assert all(line in left for line in data.decode("utf-8-sig").splitlines())
    before = about(data)
    if before.endswith("\n") or not before:
        assert about(whole).startswith(before) and (about(whole) == before or not before)
    if not names:
        assert whole == data


def test_L_02_which_sections_are_restored_where() -> None:
    """SPEC L-02: in the seed's order, before the section that follows; `### Resolved` at the end of its own section."""
    whole, names = restore_sections(b"## Session History\n")
    assert names == ["About Me", "Known Weaknesses"]
    assert whole.decode().index("## About Me") < whole.decode().index("## Known Weaknesses")
    whole, names = restore_sections(
        b"## About Me\n\nme\n\n## Known Weaknesses\n\n- mine\n\n## Session History\n"
    )
    assert names == ["Resolved"] and b"- mine\n\n### Resolved\n\n## Session History" in whole
    marked, _ = restore_sections(b"\xef\xbb\xbf## Session History\r\n")
    assert marked.startswith(b"\xef\xbb\xbf## About Me\r\n")


def test_L_02_headings_in_code_and_comments_are_no_sections() -> None:
    """SPEC L-02, L-03: an example in About Me is not a place to write; an unbalanced fence there hides nothing."""
    fenced = b"## About Me\n\n```\n## Known Weaknesses\n```\n\n## Known Weaknesses\n\n### Resolved\n\n## Session History\n"
    assert dict(parse_profile(fenced).sections)["Known Weaknesses"].start == 6
    for half in (b"", b"```\n", b"<!-- todo\n"):
        whole = fenced if not half else b"## About Me\n\n" + half + TEMPLATE.partition(b"\n\n")[2]
        assert restore_sections(whole) == (whole, [])


def test_duplicate_sections_are_all_read(tmp_path: Path) -> None:
    """Issue, bad input: entries in a second section of a name are read."""
    text = "\n".join([*SEED_SESSION, ""])
    data = (
        TEMPLATE.decode() + "\n" + text + "\n## Session History\n\n" + text.replace("two-sum", "lru")
    ).encode()
    profile = parse_profile(data)
    assert [held.session.problem for held in profile.sessions] == ["two-sum", "lru"]


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe## About", b"## About Me\n\xe9\n", b"a\0b", b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    """SPEC L-02: a profile with invalid UTF-8, NUL bytes or conflict markers is refused and not changed."""
    with pytest.raises(FileRefusedError):
        parse_profile(data)


# --- weaknesses ---------------------------------------------------------------------------------------------


def test_L_07_the_seeds_entry_is_its_own_image() -> None:
    """SPEC L-07: the seed's four lines are parsed and formatted unchanged."""
    entry = parse_entry(SEED_ENTRY)
    assert entry is not None and not entry.missing_fields
    w = Weakness(
        "edge:empty_input",
        "improving",
        "2026-02-01T10:00",
        "2026-02-19T14:30",
        "2026-02-10T10:00",
        "2026-02-12T10:00",
        2,
    )
    assert format_entry(entry.label, entry.description, w) == SEED_ENTRY == update_entry(SEED_ENTRY, w)


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
    lines = format_entry("edge:x", said, w)
    entry = parse_entry(lines)
    assert entry is not None and not entry.missing_fields and entry.label == "edge:x"
    assert (entry.first, entry.tested, entry.streak, entry.clean, entry.status) == (
        first,
        tested,
        streak,
        clean,
        status,
    )
    assert format_entry(entry.label, entry.description, w) == lines == update_entry(lines, w)
    other = Weakness("edge:x", "new", tested, first, tested, "", 0)
    assert update_entry(lines, other) == format_entry("edge:x", entry.description, other)


@pytest.mark.parametrize("empty", ["", "—", "-", "none", "n/a", "None"])
def test_L_12_an_empty_streak(empty: str) -> None:
    """SPEC L-12: written as `start: .`; every spelling of an empty value is read and kept."""
    w = fresh("edge:x", "new", "2026-02-01T10:00")
    lines = format_entry("edge:x", "misses it in loops", w)
    assert lines[2] == "  Last clean streak start: . Sessions since last failure: 0."
    theirs = [*lines[:2], lines[2].replace("start: .", f"start: {empty}."), lines[3]]
    entry = parse_entry(theirs)
    assert entry is not None and entry.streak == ""
    assert update_entry(theirs, w) == (theirs if empty else lines)


def test_half_edited_entries_keep_every_word() -> None:
    """Issue, bad input: a wrapped, re-ordered or shortened entry is read as far as possible; only fields change."""
    theirs = [
        "* **Empty input** - misses the check on arrays,",
        "  above all in two-pointer loops!",
        "  Status: improving (I think)",
        "  Last tested: yesterday. My note: ask for a retest.",
    ]
    entry = parse_entry(theirs)
    assert entry is not None and entry.label == "Empty input" and entry.status is None
    assert set(entry.missing_fields) >= {"First observed", "Last tested", "Status"}
    w = fresh("edge:empty_input", "recurring", "2026-02-01T10:00")
    after = update_entry(theirs, w)
    assert after[:2] == theirs[:2] and "My note: ask for a retest." in after[3]
    again = parse_entry(after)
    assert again is not None and not again.missing_fields and again.description == entry.description


# --- sessions -----------------------------------------------------------------------------------------------


def test_L_32_the_seeds_session_is_its_own_image() -> None:
    """SPEC L-32: header, Gaps, Review, rule, observations."""
    session = parse_session(SEED_SESSION)
    assert session is not None and session.ruled
    assert session.key == ("2026-02-19T14:30", "two-sum", "learning")
    assert (session.gaps, session.review) == ("edge:empty_input; edge:duplicate_values", "2026-02-22")
    one = row(
        0,
        session.gaps or "",
        mode="learning",
        verdict=session.verdict,
        review="2026-02-22",
    )
    assert format_session(one, session.observations) == SEED_SESSION == correct_entry(SEED_SESSION, one)


def test_L_33_the_header_can_be_cut() -> None:
    """SPEC L-33: `cut -d'|'` finds each field, whatever the problem is called."""
    one = row(0, problem="merge a/b lists", mode="recall", verdict="pass")
    header = format_session(one, "")[0]
    fields = [
        subprocess.run(
            ["cut", "-d|", f"-f{n}"], input=header, text=True, capture_output=True, check=True
        ).stdout.strip()
        for n in (1, 2, 3, 4)
    ]
    assert fields == ["### 2026-02-19T14:30", "merge a/b lists", "recall", "pass"]


@examples(200)
@given(st.lists(st.one_of(PIECES, WORDS), max_size=12).map("\n".join))
@example("### 2026-02-19T14:30 | two-sum | recall | pass\nGaps: x")
@example("## Session History\n---\n```\n<!-- open")
def test_L_34_observations_cannot_be_taken_for_structure(observations: str) -> None:
    """SPEC L-34: for any observation, the entries above and below stay entries, and the words are kept."""
    one, two = row(1, problem="a"), row(2, problem="b")
    data = TEMPLATE
    for each in (one, two):
        profile = parse_profile(data)
        data = apply_splices(
            profile, [insert_session(profile, each.stamp, format_session(each, observations))]
        )
    profile = parse_profile(data)
    assert [held.session.problem for held in profile.sessions] == ["b", "a"]
    assert [len(s) for s in (profile.sections, profile.weaknesses)] == [3, 0]
    words = "".join(c for c in observations.strip() or NOTHING_SAID if c.isalnum())
    said = profile.sessions[0].session.observations
    assert "".join(c for c in said if c.isalnum()) == words


def test_L_34_only_the_whole_header_starts_an_entry() -> None:
    """SPEC L-34: other third-level headings belong to the entry above, and stay when it is removed."""
    assert is_header("### 2026-02-19T14:30 | two-sum | recall | pass")
    for line in (
        "### What went well",
        "### 2026-02-19T14:30 | two-sum | recall",
        "### 2026-02-31T14:30 | two-sum | recall | pass",
        "#### 2026-02-19T14:30 | two-sum | recall | pass",
    ):
        assert not is_header(line)
    data = TEMPLATE + "\n".join(["", *SEED_SESSION, "", "### My own thoughts", "", "keep me", ""]).encode()
    profile = parse_profile(data)
    after = apply_splices(profile, [Splice(profile.sessions[0].own_span)])
    assert b"### My own thoughts\n\nkeep me" in after and b"two-sum" not in after


def test_L_38_half_edited_sessions_are_completed() -> None:
    """SPEC L-38; issue, bad input: an entry without Gaps or rule gets them from its row; every word stays."""
    one = row(0, "edge:x", review="2026-02-26")
    for theirs in (
        ["### 2026-02-19T14:30 | two-sum | recall | strong_pass", "It went well.", "Really."],
        [
            "### 2026-02-19T14:30 | two-sum | recall | pass",
            "Review: 2026-02-26",
            "---",
            "It went well.",
            "Really.",
        ],
        [
            "### 2026-02-19T14:30 | two-sum | recall | pass",
            "Gaps: none",
            "Time: 20 min",
            "---",
            "It went well.",
            "Really.",
        ],
    ):
        after = correct_entry(theirs, one)
        session = parse_session(after)
        assert session is not None and session.ruled
        assert (session.verdict, session.gaps, session.review) == ("pass", "edge:x", "2026-02-26")
        assert "It went well.\nReally." in session.observations
        assert all(line in after for line in theirs if line.startswith("Time"))


def test_safe_observations() -> None:
    """SPEC L-34: control characters are removed, structure is escaped, the length is limited."""
    assert escape_observations("a\x00\x1b[1mb\r\n---\n  ### x\n") == ["ab", "\\---", "\\### x"]
    assert escape_observations("  ") == [NOTHING_SAID]
    assert len("\n".join(escape_observations("word " * 5000))) <= 4002


# --- splices ------------------------------------------------------------------------------------------------


def test_entries_in_and_out_leave_the_rest_alone() -> None:
    """SPEC L-02: every line of a full profile outside the entry stays, in its order."""
    profile = parse_profile(FULL)
    w = fresh("edge:y", "new", "2026-04-10T09:00")
    entry = format_entry("edge:y", "misses y in loops", w)
    gone = profile.weaknesses[-1]
    splices = [
        insert_weaknesses(profile, [entry], resolved=False),
        Splice(profile.weaknesses[0].span),
        Splice(gone.span),
        insert_weaknesses(profile, [profile.weaknesses[1].lines], resolved=True),
        Splice(profile.weaknesses[1].span),
    ]
    after = apply_splices(profile, splices)
    read = parse_profile(after)
    assert [p.entry.label for p in read.weaknesses] == [
        "heap:tie_break",
        "graph:visited_on_pop",
        "dp:base_case",
        "edge:y",
        "window:negative_indices",
    ]
    assert [p.resolved for p in read.weaknesses] == [False, False, False, False, True]
    assert (
        read_about(read) == read_about(profile)
        and b"## Interview log\n\nNothing here is tacitd's.\n" in after
    )
    assert b"\n\n\n" not in after and b"<!-- mine: keep the old ones on top -->" in after


def test_an_insertion_within_what_leaves() -> None:
    """The oldest session is removed while a new one is inserted directly above it."""
    profile = parse_profile(FULL)
    held = profile.sessions[-1]
    splices = [
        Splice(held.span),
        insert_session(profile, "2026-04-08T21:15", format_session(row(50, problem="new"), "a")),
    ]
    read = parse_profile(apply_splices(profile, splices))
    assert [h.session.problem for h in read.sessions] == ["two-sum", "new"]
