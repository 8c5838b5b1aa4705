"""The parts of a second look that need no writer: adding lines, and giving descriptors back."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tacitd.files.late_writes import KEEP, LateWrites, append_lines
from tacitd.files.replaced import edit_file
from tacitd.testing import FakeClock


@pytest.mark.parametrize(
    ("data", "added", "after"),
    [
        (b"a\n", b"b\n", b"a\nb\n"),
        (b"a", b"b\n", b"a\nb\n"),
        (b"a\r\nb", b"c\r\n", b"a\r\nb\r\nc\r\n"),
        (b"a", b"\nb\n", b"a\nb\n"),
        (b"", b"b\n", b"b\n"),
        (b"x\nb\ny\n", b"b\n", None),
        (b"x\r\nb\r\n", b"b\n", None),
        (b"bc\n", b"b\n", b"bc\nb\n"),
        (b"a\n", b"\n\n", None),
        (None, b"b\n", None),
    ],
)
def test_adding_lines(data: bytes | None, added: bytes, after: bytes | None) -> None:
    """Once, as whole lines; a line does not match the beginning of another."""
    assert append_lines(data, added) == after
    if after is not None:
        assert append_lines(after, added) is None


def test_the_descriptors_do_not_grow(tmp_path: Path) -> None:
    """RELIABILITY 18: a hundred edits, each checked twice, on the real disk."""
    path, clock = tmp_path / "a.md", FakeClock()
    second = LateWrites(clock)
    path.write_bytes(b"")
    gc.collect()
    before = len(os.listdir("/dev/fd"))

    def one(number: int) -> Callable[[bytes | None], bytes]:
        return lambda data: (data or b"") + b"- %d\n" % number

    for number in range(100):
        edit_file(path, one(number), second=second)
        clock.advance(KEEP)
        second.check_due()
    assert len(os.listdir("/dev/fd")) == before and second.next_in() is None
    assert path.read_bytes().count(b"\n") == 100 and os.listdir(tmp_path) == ["a.md"]
