"""Errors of the system and their hints."""

from __future__ import annotations

import errno

import pytest

from tacitd.errors import describe_os_error


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (TimeoutError(), "TimeoutError"),
        (OSError("odd"), "odd"),
        (OSError(errno.ENOENT, "gone", b"/\xff"), "/"),
    ],
)
def test_any_other_error_is_said_too(error: OSError, what: str) -> None:
    """Errors without a number, without a message, or with a path of bytes: the hint is `tacitd doctor`."""
    said, hint = describe_os_error(error)
    assert said.startswith(what) and "tacitd doctor" in hint
