"""How the C library keeps memory that was freed: for a process that runs for weeks and seldom needs much."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE = 1 << 20
"""Bytes. Above the blocks in which transcripts are read, which would otherwise be requested from the kernel each time."""
_ARENAS = 2


def limit_heap() -> None:
    """Return large blocks to the system when they are freed, and share the heaps of all threads.

    Trigger: glibc raises its limit for such blocks each time when one is freed, up to 32 MB, and gives each thread a heap.
    Why: the memory of one request of 4 MB then stays in the heap, in pieces, for every thread. Outcome: the limit is fixed.
    Other C libraries have no `mallopt`, or ignore it.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_ARENA_MAX, _ARENAS)


def return_memory() -> None:
    """Return what is free at the ends and inside of the heaps to the system, which takes some milliseconds.

    Trigger: a start, much work, a command, and while the loop runs. Why: of what was needed for a moment, single pieces are still in use
    among the free ones. Outcome: the free pages between them are returned too. Other C libraries have no `malloc_trim`.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
