"""Errors of the system in words."""

from __future__ import annotations

import errno
import os

import pytest

from tacitd.errors import CURES, said_by_system


@pytest.mark.parametrize("number", CURES)
def test_each_cure_is_for_an_error_that_the_system_has(number: int) -> None:
    """STYLE 6: what happened, with the file, and the hint that fixes it."""
    what, hint = said_by_system(OSError(number, os.strerror(number), "/home/me/x"))
    assert what == f"/home/me/x: {os.strerror(number)}" and hint == CURES[number]


def test_a_full_disk_names_no_file_that_is_not_known() -> None:
    """A write names none: only that there is no room, and what helps."""
    what, hint = said_by_system(OSError(errno.ENOSPC, "No space left on device"))
    assert what == "No space left on device" and "make room" in hint


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (TimeoutError(), "TimeoutError"),
        (OSError("odd"), "odd"),
        (OSError(errno.ENOENT, "gone", b"/\xff"), "/"),
    ],
)
def test_any_other_error_is_said_too(error: OSError, what: str) -> None:
    """One without a number, without words, or with a path of bytes; doctor is what is left then."""
    said, hint = said_by_system(error)
    assert said.startswith(what) and "tacitd doctor" in hint
