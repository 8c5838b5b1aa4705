"""What `record` takes: SPEC L-33, L-35."""

from __future__ import annotations

from typing import Any

import pytest

from tacitd.errors import UsageError
from tacitd_handlers.learner.ledger_file import VERDICTS
from tacitd_handlers.learner.practice_report import parse_report

GOOD = {"problem": "two-sum", "mode": "recall", "verdict": "pass"}


def test_L_35_verdicts_of_their_mode() -> None:
    """SPEC L-35: four verdicts in each mode; those of the other mode are refused with a list of the valid ones."""
    for mode, names in VERDICTS.items():
        for verdict in names:
            assert parse_report({**GOOD, "mode": mode, "verdict": verdict}).row.verdict == verdict
        for verdict in {name for other in VERDICTS.values() for name in other} - {*names}:
            with pytest.raises(UsageError) as refused:
                parse_report({**GOOD, "mode": mode, "verdict": verdict})
            assert all(name in refused.value.hint for name in names)


@pytest.mark.parametrize(
    "wrong",
    [
        {"problem": ""},
        {"problem": "|"},
        {"mode": "exam"},
        {"verdict": ""},
        {"gaps": "edge:a; ???"},
        {"gaps": 5},
        {"tested": [1]},
        {"timestamp": "yesterday"},
        {"timestamp": "2026-02-30T10:00"},
        {"observations": ["a"]},
        {"descriptions": "x"},
        {"score": 3},
    ],
)
def test_bad_reports_are_refused_with_a_cure(wrong: dict[str, Any]) -> None:
    """Issue, bad input: nothing is guessed."""
    with pytest.raises(UsageError) as refused:
        parse_report({**GOOD, **wrong})
    assert refused.value.hint


def test_L_33_what_is_given_is_made_fit() -> None:
    """SPEC L-33: names are one line without pipes; tags are normalised and unique; lists and strings are accepted."""
    given = {
        "problem": " merge|two \n lists ",
        "mode": "Recall",
        "verdict": "PASS",
        "gaps": "Edge: a; edge:a, dp:b",
    }
    report = parse_report({**given, "tested": ["edge:c"], "descriptions": {"Edge:A": "x"}})
    assert report.row == ("", "", "merge/two lists", "unknown", "recall", "pass", "edge:a; dp:b", "")
    assert (report.tested, report.texts) == (("edge:c",), {"edge:a": "x"})
    assert parse_report({**GOOD, "tested": ""}).tested == () and parse_report(GOOD).tested is None
