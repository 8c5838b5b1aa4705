"""Stamps of files: what they are compared by, in few bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources.follow import stamp_of

FIELDS = st.tuples(
    st.integers(0, 2**63 - 1),
    st.integers(-(2**62), 2**63 + 2**62),  # some file systems store times after the year 2262
    st.integers(-(2**62), 2**63 + 2**62),
    st.integers(0, 2**64 - 1),
)


def status(size: int, mtime: int, ctime: int, inode: int) -> Any:
    return SimpleNamespace(st_size=size, st_mtime_ns=mtime, st_ctime_ns=ctime, st_ino=inode)


@examples(200)
@given(FIELDS, FIELDS)
def test_stamps_are_equal_if_all_numbers_are(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int]
) -> None:
    """Any difference means that the file changed; size and time can be read back."""
    stamp = stamp_of(status(*one))
    assert (stamp == stamp_of(status(*other))) == (one == other)
    assert stamp.size == one[0] and (stamp.mtime_ns == one[1] or one[1] < 0 < stamp.mtime_ns)


def test_the_stamp_of_a_file(tmp_path: Path) -> None:
    """It changes with each write, and is small: there is one for each transcript of years."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n")
    stamp = stamp_of(os.lstat(path))
    assert (stamp.size, stamp.mtime_ns) == (3, path.stat().st_mtime_ns)
    with path.open("ab") as out:
        out.write(b"{}\n")
    assert stamp_of(os.lstat(path)) != stamp
    assert sys.getsizeof(stamp) <= 96
