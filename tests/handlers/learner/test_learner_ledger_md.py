"""The ledger's format: SPEC L-04, L-33, L-54, and rows that others write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learner import row
from tacitd_handlers.learner.ledger_file import (
    HEADER,
    LedgerRow,
    format_row,
    name_of,
    newline_of,
    parse_ledger,
    tag_of,
    tags_of,
)

SEED = b"""# Session Ledger

| Timestamp | Session ID | Problem | Pattern | Mode | Verdict | Gaps | Review Due |
|-----------|------------|---------|---------|------|---------|------|------------|
| 2026-02-19T14:30 | abc123 | two-sum | hash_map | recall | pass | edge:empty_input | 2026-02-26 |
"""
CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20).map(name_of)


def test_L_04_the_seeds_own_table() -> None:
    """SPEC L-04: title, blank line, eight columns, one row for each problem of a session; formatting what was parsed
    is the identity.
    """
    table = parse_ledger(SEED)
    assert not table.bad and table.rows == [
        LedgerRow(
            "2026-02-19T14:30",
            "abc123",
            "two-sum",
            "hash_map",
            "recall",
            "pass",
            "edge:empty_input",
            "2026-02-26",
        )
    ]
    assert HEADER + format_row(table.rows[0]).encode() + b"\n" == SEED


@examples(100)
@given(CELLS.filter(lambda c: bool(c.strip("/ "))), CELLS, st.sampled_from(["\n", "\r\n"]))
def test_L_33_any_name_comes_back(problem: str, pattern: str, end: str) -> None:
    """SPEC L-33: any normalised name fits in one cell and is parsed unchanged."""
    one = row(1, problem=problem, pattern=pattern or "x")
    table = parse_ledger(HEADER + (format_row(one) + end).encode())
    assert table.rows == [one] and not table.bad


def test_L_33_names_and_tags() -> None:
    """SPEC L-33: pipes become slashes, newlines spaces; tags use their alphabet; `\\|` in foreign rows is read."""
    assert name_of("merge a|b\nlists \\| twice") == "merge a/b lists / twice"
    assert tag_of(" Edge: Empty Input ") == "edge:empty_input" and tag_of("`dp:base`") == "dp:base"
    assert tags_of("edge:a; Edge:a, b ;; none") == ("edge:a", "b")
    for empty in ("none", "None", "—", "-", "", "n/a"):
        assert tags_of(empty) == ()
    line = b"| 2026-02-19T14:30 | s | a \\| b | p | recall | pass | none | 2026-02-26 |"
    assert parse_ledger(line).rows[0].problem == "a / b"


@pytest.mark.parametrize(
    "line",
    [
        "|2026-02-19T14:30|abc|two-sum|hash_map|Recall|pass|edge:x|2026-02-26|",
        "|  2026-02-19T14:30 |  abc |two-sum |\thash_map | recall | pass | edge:x | 2026-02-26 |\r",
        "  | 2026-02-19T14:30 | abc | two-sum | hash_map | recall | pass | edge:x | 2026-02-26 |  ",
    ],
)
def test_foreign_rows_are_read(line: str) -> None:
    """Issue, bad input: white space and CRLF in rows of others."""
    assert parse_ledger(line.encode()).rows == [
        LedgerRow("2026-02-19T14:30", "abc", "two-sum", "hash_map", "recall", "pass", "edge:x", "2026-02-26")
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("| 2026-02-19T14:30 | abc | two-sum | hash_map | recall | pa", "torn"),
        ("| 2026-02-19T14:30 | abc | two-sum | hash_map | recall | pass | edge:x | 2026-02-2", "torn"),
        ("| 2026-02-19T14:30 | abc | two|sum | hash_map | recall | pass | x | 2026-02-26 |", "9 cells"),
        (
            "| 2026-02-30T14:30 | abc | two-sum | hash_map | recall | pass | x | 2026-02-26 |",
            "is not a timestamp",
        ),
        (
            "| 2026-02-19 14:30 | abc | two-sum | hash_map | recall | pass | x | 2026-02-26 |",
            "is not a timestamp",
        ),
        ("| 2026-02-19T14:30 | abc |  | hash_map | recall | pass | x | 2026-02-26 |", "the problem is empty"),
        ("a note of mine", "not a row"),
        ("# Old ledger", "not a row"),
    ],
)
def test_L_54_what_is_no_row_is_skipped_and_named(line: str, why: str) -> None:
    """SPEC L-54: malformed rows are skipped and reported, and other rows are not affected."""
    data = SEED + line.encode() + b"\n" + format_row(row(9)).encode() + b"\n"
    table = parse_ledger(data)
    assert len(table.rows) == 2 and len(table.bad) == 1
    assert why in table.bad[0][1] and table.bad[0][0] == SEED.count(b"\n") + 1


def test_L_54_the_files_newline() -> None:
    """SPEC L-54: the file's own newline is used."""
    assert newline_of(SEED.replace(b"\n", b"\r\n")) == b"\r\n" and newline_of(SEED) == b"\n" == newline_of(
        b""
    )


@examples(100)
@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    """Issue, bad input: no content raises, and every line is a row, part of the header, or reported."""
    table = parse_ledger(SEED + data)
    assert len(table.rows) >= 1 or data
