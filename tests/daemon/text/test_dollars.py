"""Amounts of US dollars."""

from __future__ import annotations

import pytest

from tacitd.text.wording import format_dollars


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0.0, "$0.00"), (0.004, "<$0.01"), (0.005, "$0.01"), (0.0149, "$0.01"), (1234.5, "$1234.50")],
)
def test_what_cost_something_is_not_nothing(usd: float, text: str) -> None:
    """Less than a cent is said as such."""
    assert format_dollars(usd) == text
