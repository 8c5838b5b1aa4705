"""Words for a person: amounts, counts, tables."""

from __future__ import annotations

import copy
import re
import subprocess
import sys

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.wording import count_noun, format_dollars, format_table, measure_width


def test_amounts_and_counts() -> None:
    """What cost less than a cent is said as such; one has no s, and thousands are grouped."""
    amounts = {0.0: "$0.00", 0.004: "<$0.01", 0.005: "$0.01", 0.0149: "$0.01", 1234.5: "$1234.50"}
    assert {usd: format_dollars(usd) for usd in amounts} == amounts
    assert [count_noun(number, "call") for number in (0, 1, 2, 1200)] == [
        "0 calls",
        "1 call",
        "2 calls",
        "1,200 calls",
    ]


def test_columns_are_aligned_and_numbers_are_to_the_right() -> None:
    """The head comes first, and the last column is not padded."""
    rows = [("2026-11-22", "$0.50", "3", "a longer text"), ("total", "~$12.00", "14", "")]
    assert format_table(("DAY", "COST", "CALLS", "WHAT"), rows, right=(1, 2)) == [
        "DAY            COST  CALLS  WHAT",
        "2026-11-22    $0.50      3  a longer text",
        "total       ~$12.00     14",
    ]
    assert format_table(("ID", "LINE"), []) == []


def test_wide_characters_count_two_columns() -> None:
    """A terminal shows them twice as wide, and a combining mark not at all."""
    assert (measure_width("数据"), measure_width("e\u0301"), measure_width("abc")) == (4, 1, 3)
    assert format_table(("A", "B"), [("数据", "x"), ("ab", "y")]) == ["A     B", "数据  x", "ab    y"]


# --- patterns that are compiled at their first use


def test_it_does_what_the_compiled_pattern_does() -> None:
    lazy = compile_lazily(r"(?P<word>b+)", re.IGNORECASE)
    assert lazy.sub("-", "abBba b") == "a-a -" and lazy.match("abb") is None
    assert copy.copy(lazy).findall("abBba b") == ["bBb", "b"]


def test_importing_the_search_for_secrets_compiles_none_of_its_patterns() -> None:
    code = "import re; r = re.compile; n = []; re.compile = lambda *a: n.append(a) or r(*a); import tacitd.text.redact; print(len(n))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(said.stdout) <= 3, said.stdout
