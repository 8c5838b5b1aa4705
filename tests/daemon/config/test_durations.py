"""Durations as people write them in the configuration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20s", 20), ("30m", 1800), ("6h", 21600), ("2d", 172800), ("500ms", 0.5), (" 1h30m ", 5400), ("1.5h", 5400), ("20", 20), (2, 2), (0.25, 0.25), ("0", 0), ("5 S", 5)],
)  # fmt: skip
def test_reads(text: object, seconds: float) -> None:
    """Durations as `20s`, `30m`, `6h`, and as a number of seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "10x",
        "-5s",
        "1h junk",
        "nan",
        "inf",
        "٣s",
        -1,
        float("nan"),
        float("inf"),
        True,
        None,
        [1],
    ],
)
def test_refuses_and_says_what_is_allowed(text: object) -> None:
    """A wrong value is refused with what is allowed."""
    with pytest.raises(ValueError, match="20s, 30m, 6h"):
        parse_duration(text)


@examples(50)
@given(st.integers(0, 10**10))
def test_what_is_formatted_is_read_back(millis: int) -> None:
    """`config show` prints durations as config.toml takes them."""
    assert parse_duration(format_duration(millis / 1000)) == pytest.approx(millis / 1000)
