"""Questions to disks that may not answer (RELIABILITY 20b)."""

from __future__ import annotations

import threading

import pytest

from support_waiting import PATIENCE as LONG
from tacitd.clock import SystemClock
from tacitd.errors import FileBusyError
from tacitd.files.stalls import STUCK, Stalls

SHORT = 0.05


def test_a_disk_that_hangs_is_left_behind_until_it_answers() -> None:
    """Nothing more is asked about its directory and below, everything else is; a late answer ends that."""
    stalls, free, ended = Stalls(SystemClock()), threading.Event(), threading.Event()

    def hang() -> str:
        free.wait(LONG)
        ended.set()
        return "late"

    (late, other) = stalls.ask_each([("/mount", hang), ("/home", lambda: "at once")], SHORT)
    assert late is not None and not late.done() and other is not None and other.result(LONG) == "at once"
    assert stalls.list_stuck() == ["/mount"] and stalls.begin("/mount/app", lambda: "never", SHORT) is None
    with pytest.raises(FileBusyError, match="/mount does not answer"):
        stalls.ask("/mount", lambda: "never", SHORT)
    assert stalls.ask("/mounts", lambda: "beside it") == stalls.ask("/", lambda: "beside it") == "beside it"
    free.set()
    assert ended.wait(LONG) and late.result(LONG) == "late"
    assert stalls.list_stuck() == [] and stalls.ask("/mount", lambda: "again") == "again"


def test_what_a_question_raises_is_raised() -> None:
    def fail() -> None:
        raise TimeoutError("of the disk")

    for stalls in (Stalls(SystemClock()), Stalls(SystemClock(), threads=False)):
        with pytest.raises(TimeoutError, match="of the disk"):
            stalls.ask("/disk", fail)
        assert stalls.list_stuck() == []


def test_only_so_many_threads_wait() -> None:
    stalls, free = Stalls(SystemClock()), threading.Event()
    begun = [stalls.begin(f"/mount/{number}", lambda: free.wait(LONG)) for number in range(STUCK + 1)]
    assert [one is None for one in begun] == [*[False] * STUCK, True]
    assert stalls.begin("/home", lambda: None, most=2 * STUCK) is not None
    free.set()
    assert all(one.result(LONG) for one in begun if one is not None)
