"""Times for a person."""

from __future__ import annotations

import pytest

from tacitd.cli.local_times import format_moment
from tacitd.clock import local_minutes
from tacitd.text.wording import format_age


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, ""),
        (0, "just now"),
        (61, "1 min ago"),
        (7200, "2 h ago"),
        (86_400, "1 day ago"),
        (200_000, "2 days ago"),
    ],
)
def test_how_long_ago(seconds: float, expected: str) -> None:
    """Plurals are right; a time that has not come has no age."""
    assert format_age(seconds) == expected


def test_a_moment_is_local_with_its_age() -> None:
    """What is no time stays as it is."""
    local = local_minutes(1_795_149_000.0).replace("T", " ")
    assert format_moment("2026-11-20T04:30:00Z", 1_795_149_000.0 + 7200) == f"{local} (2 h ago)"
    assert format_moment("2026-11-20T04:30:00Z", 0.0) == local
    assert format_moment("sometime") == "sometime"
