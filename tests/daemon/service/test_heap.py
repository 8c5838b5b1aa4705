"""Memory that is given back, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from tacitd.service.supervision import limit_heap
if sys.argv[1] == "limited":
    limit_heap()
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
def work():
    bytearray(40 << 20)
    kept.extend(bytes(4 << 20) for _ in range(8))
    del kept[:-1]
kept, before = [], memory()
for _ in range(4):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(memory() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_large_blocks_of_all_threads_are_given_back() -> None:
    """What stays is what is kept: one block of 4 MB. Without the limit the C library decides."""
    command = [sys.executable, "-c", PROGRAM, "limited"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 8


FRAGMENTS = """
from tacitd.service.supervision import return_memory
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
kept = [bytearray(1000) for _ in range(60_000)]
del kept[:50_000], kept[1::2]
before = memory()
return_memory()
print(before - memory())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_free_memory_below_what_is_kept_is_returned() -> None:
    """The last blocks keep the heap from shrinking at its end; most of 50 MB is given back nevertheless."""
    done = subprocess.run([sys.executable, "-c", FRAGMENTS], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 30
