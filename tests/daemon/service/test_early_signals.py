"""Signals before the daemon can act on them."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress

import pytest

pytestmark = pytest.mark.scenario

TRACES = 1500
"""Before the handler was a Python function, 300 to 1,000 of them ended a process that begins threads."""

BUSY = """
import sys, threading
from tacitd.service.early_signals import prepare_start
prepare_start(["run"])
print("ready", flush=True)
source = "def f(n):\\n" + "    if n: return f(n-1)\\n" * 50 + "f(40)\\n"
while not sys.stdin.closed:
    threads = [threading.Thread(target=exec, args=(source, {})) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_traces_do_not_end_a_process_that_begins_threads() -> None:
    """DESIGN "Service": SIGUSR1 asks for the stacks; the answer must never end the daemon."""
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        for _ in range(TRACES):
            process.send_signal(signal.SIGUSR1)
            # Time to handle it: a pending signal swallows the next one.
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.0003)
                break
        code = process.poll()
        process.kill()
    assert code is None, f"ended with {code}"


def test_a_trace_without_stderr_is_dropped() -> None:
    """A service without a standard error goes on."""
    code = (
        "import os, signal, sys; from tacitd.service.early_signals import prepare_start; prepare_start(['run']);"
        "os.close(2); sys.stderr = None; signal.raise_signal(signal.SIGUSR1); print('lives')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "lives\n")
