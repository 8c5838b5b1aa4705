"""A table by line finds what `find_equal` finds, without comparing each line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.handler import Commit
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.shared import equality, fact_index
from tacitd_handlers.shared.equality import find_equal
from tacitd_handlers.shared.line_table import LineTable

LINES = st.sampled_from(
    [
        "Use pnpm",
        "use pnpm.",
        "Uses pnpm",
        "Never use pnpm",
        "Postgres listens on 5432",
        "Postgres listens on 6379",
        "Prefer immutable structures",
        "Prefer immutabel structures",
        "短い答え",
        "",
    ]
)


@examples(200)
@given(st.lists(st.tuples(st.sampled_from(["set", "delete", "find", "drop"]), LINES), max_size=20))
def test_it_finds_what_a_comparison_with_each_line_finds(steps: list[tuple[str, str]]) -> None:
    """After any changes, in the order of insertion; a line that is here itself comes first."""
    table, plain = LineTable[int](), dict[str, int]()
    for step, line in steps:
        match step:
            case "set":
                table[line] = plain[line] = len(plain)
            case "delete":
                assert table.pop(line, None) == plain.pop(line, None)
            case "drop":
                table.drop_index()
                equality.forget_words()
            case _:
                assert table.find_equal(line) == (line if line in plain else find_equal(line, plain))
    assert list(table) == list(plain) and dict(table) == plain


def test_many_repetitions_of_many_lines_are_folded_without_comparing_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each command folds the log; 2,000 repetitions of 5,000 lines took 12 s."""
    compared = 0

    def count(one: str, other: str) -> bool:
        nonlocal compared
        compared += 1
        return one == other or equality.normalise_text(one) == equality.normalise_text(other)

    monkeypatch.setattr(equality, "same_fact", count)
    monkeypatch.setattr(fact_index, "same_fact", count)
    lines = [f"Use tool{number}x for job{number}y" for number in range(500)]
    state = LearningState()
    state.fold_commit(Commit(1.0, "Due", "", "s", -1, {"kind": "synthesis", "project": "/p", "put": lines}))
    for number, line in enumerate(lines):
        data = {"kind": "batch", "id": f"b{number}", "project": "/p", "again": [f"{line}."]}
        state.fold_commit(Commit(2.0, "TranscriptGrew", "", "t", -1, data))
    (table,) = state.line_confidences.values()
    assert {one.seen_count for one in table.values()} == {2}
    assert compared < 2_000
