"""Errors of the system and their hints."""

from __future__ import annotations

import errno
import os

import pytest

from tacitd.errors import OS_ERROR_HINTS, FileRefusedError, describe_failure, describe_os_error


@pytest.mark.parametrize("number", OS_ERROR_HINTS)
def test_each_cure_is_for_an_error_that_the_system_has(number: int) -> None:
    """STYLE 6: what happened, with the file, and the hint that fixes it."""
    what, hint = describe_os_error(OSError(number, os.strerror(number), "/home/me/x"))
    assert what == f"/home/me/x: {os.strerror(number)}" and hint == OS_ERROR_HINTS[number]


def test_a_full_disk_names_no_file_that_is_not_known() -> None:
    """A failed write has no file name: the error is the message alone, with its hint."""
    what, hint = describe_os_error(OSError(errno.ENOSPC, "No space left on device"))
    assert what == "No space left on device" and "free space" in hint


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


def test_a_failure_of_either_kind_has_a_cause_and_a_hint() -> None:
    """STYLE 6: an error of tacitd keeps its own words, one of the system gets the hint of its number."""
    assert describe_failure(FileRefusedError("x is a link", "remove it")) == ("x is a link", "remove it")
    full = OSError(errno.ENOSPC, "No space left on device")
    assert describe_failure(full) == describe_os_error(full)
