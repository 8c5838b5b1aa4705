"""Stamps of files: what they are compared by, in few bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources.listing import Stamp, stamp_of

SIZES = st.integers(0, 2**63 - 1)
TIMES = st.integers(-(2**63), 2**63 - 1)
INODES = st.integers(0, 2**64 - 1)
FIELDS = st.tuples(SIZES, TIMES, TIMES, INODES)


@examples(200)
@given(FIELDS, FIELDS)
def test_stamps_are_equal_if_all_numbers_are(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int]
) -> None:
    """Any difference means that the file changed; size and time can be read back."""
    assert (Stamp(*one) == Stamp(*other)) == (one == other)
    assert (Stamp(*one).size, Stamp(*one).mtime_ns) == one[:2]


@examples(200)
@given(FIELDS, st.integers(2**63, 2**64))
def test_a_time_far_ahead_is_a_stamp_too(fields: tuple[int, int, int, int], late: int) -> None:
    """Some file systems store times after the year 2262, of which a number of 64 bits has no place: they count as long past."""
    size, mtime, ctime, inode = fields
    stamp = Stamp(size, late, ctime, inode)
    assert stamp != Stamp(size, late + 1, ctime, inode) and stamp != Stamp(size, late, ctime ^ 1, inode)
    assert stamp.size == size and stamp.mtime_ns < late
    assert stamp == Stamp(size, late, ctime, inode) and Stamp(size, mtime, late, inode).mtime_ns == mtime


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
