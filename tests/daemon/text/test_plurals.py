"""Numbers with their noun."""

from __future__ import annotations

import pytest

from tacitd.text.wording import count_noun


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (1200, "1,200 calls")]
)
def test_one_has_no_s(number: int, text: str) -> None:
    """And thousands are grouped."""
    assert count_noun(number, "call") == text
