"""Whether a description is specific: SPEC L-10."""

from __future__ import annotations

import pytest

from tacitd_handlers.learner.weakness_text import describe_gap, is_specific


@pytest.mark.parametrize(
    "text",
    [
        "misses empty input check on array problems",
        "forgets to handle negative indices in sliding window",
        "off by one in Python slices with a step",
        "struggles with edge cases (observed 2026-02-19T14:30)",
        "struggles with negative indices in sliding windows",
    ],
)
def test_L_10_specific(text: str) -> None:
    """SPEC L-10: the seed's good examples, and descriptions with a stamp."""
    assert is_specific(text)


@pytest.mark.parametrize(
    "text",
    [
        "struggles with edge cases",
        "bad at edge cases",
        "edge cases",
        "needs more practice",
        "Bad at DP",
        "",
        "weak in algorithms",
    ],
)
def test_L_10_vague(text: str) -> None:
    """SPEC L-10: the known vague shapes."""
    assert not is_specific(text)


def test_L_10_a_vague_one_references_its_session() -> None:
    """SPEC L-10: the stamp is appended; a specific one is unchanged; without one the text says where it was observed."""
    at = ("two-sum", "hash_map", "2026-02-19T14:30")
    assert describe_gap("edge:x", "struggles with edge cases.", *at) == (
        "struggles with edge cases (observed 2026-02-19T14:30)",
        False,
    )
    assert describe_gap("edge:x", "misses empty input on arrays.", *at) == (
        "misses empty input on arrays",
        True,
    )
    text, well = describe_gap("edge:empty_input", "", *at)
    assert text == "empty input, seen in two-sum (hash_map) (observed 2026-02-19T14:30)" and not well
    assert is_specific(text)
