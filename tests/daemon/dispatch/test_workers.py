"""Threads for handlers."""

from __future__ import annotations

import threading
from functools import partial

from support_waiting import PATIENCE, until
from tacitd.dispatch.workers import ThreadPool


def test_at_most_this_many_threads_run() -> None:
    """`Plugin.lanes`: the number of projects with which a handler may be busy at once."""
    pool, gate, names = ThreadPool("x", 2), threading.Event(), set()
    seen: list[int] = []
    full = threading.Barrier(3)

    def work(number: int) -> None:
        names.add(threading.current_thread().name)
        if number < 2:
            full.wait(PATIENCE)
            gate.wait(PATIENCE)
        seen.append(number)

    for number in range(6):
        pool.submit(partial(work, number))
    full.wait(PATIENCE)
    assert len(pool._threads) == 2
    gate.set()
    done = threading.Event()
    pool.submit(done.set)
    assert done.wait(PATIENCE) and pool.stop(PATIENCE)
    assert sorted(seen) == [0, 1, 2, 3, 4, 5] and names == {"tacitd-x"}


def test_an_idle_thread_is_used_again() -> None:
    """Another thread is started only if none is idle."""
    pool = ThreadPool("x", 8)
    for _ in range(20):
        done = threading.Event()
        pool.submit(done.set)
        assert done.wait(PATIENCE)
        until(lambda: pool._idle, "the thread does not wait for more")
    assert len(pool._threads) == 1 and pool.stop(PATIENCE)


def test_stop_does_not_wait_for_a_handler_that_hangs() -> None:
    """RELIABILITY row 14: the daemon ends when it is stopped; its threads do not keep the process alive."""
    pool, never = ThreadPool("x", 1), threading.Event()
    begun = threading.Event()

    def hang() -> None:
        begun.set()
        never.wait(600)

    pool.submit(hang)
    pool.submit(never.set)
    assert begun.wait(PATIENCE)
    assert not pool.stop(0.01) and all(thread.daemon for thread in pool._threads)
    assert not never.is_set(), "nothing more is started"
    never.set()
