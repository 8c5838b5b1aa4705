"""The contract of the watcher, kept on the watchdog that is pinned: real files, real events, bounded waits."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tacitd.transcripts import watch
from tacitd.transcripts.watch import SilentWatcher, WatchdogWatcher


class Fixed:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        return 1.7e9 + self.at

    def monotonic(self) -> float:
        return self.at


class Watched:
    """A real watcher, and a way to wait for its hints."""

    def __init__(self, root: Path) -> None:
        self.woken = threading.Event()
        self.clock = Fixed()
        self.watcher = WatchdogWatcher(root, self.woken.set, self.clock)
        self.seen: set[Path] = set()

    def until(self, right: Callable[[], bool], seconds: float = 60.0) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.seen |= self.watcher.drain()
            if right():
                return True
            self.woken.wait(0.02)
            self.woken.clear()
        return False

    def hears(self, path: Path) -> bool:
        return self.until(lambda: path in self.seen)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    (tmp_path / "projects" / "a").mkdir(parents=True)
    one = Watched(tmp_path)
    one.watcher.start()
    yield one
    one.watcher.stop()


def test_append_create_and_rename_are_hinted(watched: Watched, tmp_path: Path) -> None:
    """DESIGN "Hints and truth": an append, a new file and a rename each give a hint."""
    path = tmp_path / "projects/a/s.jsonl"
    path.write_text("x\n")
    assert watched.hears(path)
    watched.seen.clear()
    with path.open("a") as out:
        out.write("y\n")
    assert watched.hears(path)
    path.rename(tmp_path / "projects/a/t.jsonl")
    assert watched.hears(tmp_path / "projects/a/t.jsonl")


def test_new_nested_directories_are_watched(watched: Watched, tmp_path: Path) -> None:
    """RELIABILITY row 1: appends in newly made nested directories are hinted, all of them."""
    paths = [tmp_path / f"projects/new{i}/s/subagents/agent-{i}.jsonl" for i in range(40)]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text("x\n")
    assert watched.until(lambda: watched.seen.issuperset(paths))
    watched.seen.clear()
    for path in paths:
        with path.open("a") as out:
            out.write("y\n")
    assert watched.until(lambda: watched.seen.issuperset(paths))


def test_only_transcripts_and_directories_wake(watched: Watched, tmp_path: Path) -> None:
    """DESIGN: reading a transcript gives no hint, and neither do other files."""
    path = tmp_path / "projects/a/s.jsonl"
    (tmp_path / "projects/a/notes.txt").write_text("x")
    path.write_text("x\n")
    assert watched.hears(path)
    watched.until(lambda: False, 0.1)
    watched.seen.clear()
    path.read_text()
    (tmp_path / "projects/a/z.jsonl").write_text("x")
    assert watched.hears(tmp_path / "projects/a/z.jsonl")
    assert watched.seen == {tmp_path / "projects/a/z.jsonl"}


def test_root_that_appears_later_is_watched(tmp_path: Path) -> None:
    """DESIGN: a root that does not exist yet is waited for."""
    one = Watched(tmp_path)
    one.watcher.start()
    assert not one.watcher.alive and not one.watcher.check()
    (tmp_path / "projects").mkdir()
    assert one.watcher.check() and one.watcher.alive
    (tmp_path / "projects/s.jsonl").write_text("x")
    assert one.hears(tmp_path / "projects/s.jsonl")
    one.watcher.stop()


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_root_deleted_or_moved_and_made_again(watched: Watched, tmp_path: Path, how: str) -> None:
    """RELIABILITY row 8: a deleted or moved, re-created root is watched again, and everything is compared."""
    if how == "deleted":
        shutil.rmtree(tmp_path / "projects")
    else:
        (tmp_path / "projects").rename(tmp_path / "elsewhere")
    (tmp_path / "projects").mkdir()
    # The new directory may have the number of the old one: then the end of the emitter's thread says so.
    assert watched.until(watched.watcher.check), "hints may have been lost"
    assert watched.watcher.alive
    (tmp_path / "projects/s.jsonl").write_text("x")
    assert watched.hears(tmp_path / "projects/s.jsonl")


def test_dead_thread_is_found_and_mended(watched: Watched, tmp_path: Path) -> None:
    """DESIGN: a dead emitter is noticed at the next check and rebuilt."""
    observer = watched.watcher._observer
    assert observer is not None
    for emitter in observer.emitters:
        emitter.stop()
        emitter.join(5)
    assert not watched.watcher.alive
    assert watched.watcher.check() and watched.watcher.alive
    (tmp_path / "projects/a/s.jsonl").write_text("x")
    assert watched.hears(tmp_path / "projects/a/s.jsonl")


def test_linked_root_gives_paths_as_asked(tmp_path: Path) -> None:
    """DESIGN: the root itself may be a link (people move it to other disks); hints name it as it was given."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root/projects").symlink_to(tmp_path / "disk")
    one = Watched(tmp_path / "root")
    one.watcher.start()
    (tmp_path / "disk/s.jsonl").write_text("x")
    assert one.hears(tmp_path / "root/projects/s.jsonl")
    assert one.watcher.unwatched([str(tmp_path / "root/projects")]) == []
    one.watcher.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify's queue")
def test_overflow_of_the_kernels_queue_is_noticed(watched: Watched, tmp_path: Path) -> None:
    """RELIABILITY row 5: watchdog tells no handler that events were lost; `check` does."""
    names = [tmp_path / f"projects/a/{i}.jsonl" for i in range(2)]
    for name in names:
        name.touch()
    code = "import os,sys\nfor _ in range(60000):\n for n in sys.argv[1:]: os.utime(n)"
    children = [subprocess.Popen([sys.executable, "-c", code, *map(str, names)]) for _ in range(2)]
    noticed = watched.until(watched.watcher.check, 15.0)
    for child in children:
        child.kill()
        child.wait()
    assert noticed
    assert watched.watcher.alive


@pytest.mark.skipif(sys.platform != "linux", reason="inotify's limits")
def test_limit_reached_at_the_root_is_said_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 7: no instance left: polled, said with the sysctl, tried again after a minute."""
    (tmp_path / "projects").mkdir()
    real = watch._observe

    def refuse(path: str, add: Callable[[str], None]) -> object:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(watch, "_observe", refuse)
    one = Watched(tmp_path)
    one.watcher.start()
    assert not one.watcher.alive
    assert one.watcher.unwatched(["x", "y"]) == ["x", "y"]
    (problem,) = one.watcher.problems()
    assert problem.id == "watch.failed" and "fs.inotify.max_user_instances=" in problem.hint
    monkeypatch.setattr(watch, "_observe", real)
    assert not one.watcher.check(), "not at once: the system just said no"
    one.clock.at += watch.RETRY
    assert one.watcher.check() and one.watcher.problems() == []
    one.watcher.stop()


_LIMITED = """
import os, sys, threading
from pathlib import Path
# Only the namespace's own limit: fs.inotify.max_user_watches is the whole machine's, also from in here.
assert os.readlink("/proc/self/ns/user") != sys.argv[2], "unshare: not in a namespace of its own"
Path("/proc/sys/user/max_inotify_watches").write_text("6")
from tacitd.clock import SystemClock
from tacitd.transcripts.follow import Follower
from tacitd.transcripts.watch import WatchdogWatcher
root = Path(sys.argv[1])
woken = threading.Event()
f = Follower([root], SystemClock(), WatchdogWatcher, woken.set)
f.start(); f.poll()
def until(right, seconds=4.0):
    import time
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        woken.wait(min(f.next_in(), max(0, end - time.monotonic()))); woken.clear()
        changes = f.poll()
        if right(changes): return True
    return False
(root / "projects/late/deep").mkdir(parents=True)
late = root / "projects/late/deep/s.jsonl"; late.write_text("x")
assert until(lambda c: late in c.born), "born"
late.write_text("xy")
assert until(lambda c: late in c.changed), "changed"
old = root / "projects/d9/s.jsonl"; old.write_text("xy")
assert until(lambda c: old in c.changed), "old"
until(lambda c: False, 2.5)
print([d for d in f.degradations()])
f.stop()
"""


@pytest.mark.scenario
@pytest.mark.skipif(sys.platform != "linux", reason="inotify's limits")
def test_reached_watch_limit_leaves_nothing_deaf(tmp_path: Path) -> None:
    """RELIABILITY row 7: at start and later; seen within 4 s, and said with the sysctl that cures it."""
    for i in range(10):
        (tmp_path / f"projects/d{i}").mkdir(parents=True)
        (tmp_path / f"projects/d{i}/s.jsonl").write_text("x")
        os.utime(tmp_path / f"projects/d{i}/s.jsonl", (1e9, 1e9))
    machine = Path("/proc/sys/fs/inotify/max_user_watches")
    before = machine.read_text()
    command = [
        "unshare",
        "-Ur",
        sys.executable,
        "-c",
        _LIMITED,
        str(tmp_path),
        os.readlink("/proc/self/ns/user"),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert machine.read_text() == before, "the machine's own limit is not ours to touch"
    if "unshare" in run.stderr or "max_inotify_watches" in run.stderr:
        pytest.skip("no user namespaces here")
    assert run.returncode == 0, run.stderr
    assert "watch.limit" in run.stdout and "fs.inotify.max_user_watches=" in run.stdout


def test_silent_watcher_is_silent(tmp_path: Path) -> None:
    """STYLE habit 4: the fake keeps the contract."""
    one = SilentWatcher(tmp_path, lambda: None)
    one.start()
    assert (one.drain(), one.check(), one.unwatched(["x"]), one.problems()) == (set(), False, [], [])
    one.stop()
    assert not one.alive
