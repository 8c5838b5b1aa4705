"""Errors of the system and their hints."""

from __future__ import annotations

import errno
import os

import pytest

from tacitd.errors import OS_ERROR_HINTS, describe_os_error


@pytest.mark.parametrize("number", OS_ERROR_HINTS)
def test_each_cure_is_for_an_error_that_the_system_has(number: int) -> None:
    """STYLE 6: what happened, with the file, and the hint that fixes it."""
    what, hint = describe_os_error(OSError(number, os.strerror(number), "/home/me/x"))
    assert what == f"/home/me/x: {os.strerror(number)}" and hint == OS_ERROR_HINTS[number]


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
