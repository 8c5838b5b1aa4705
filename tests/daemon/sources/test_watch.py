"""The contract of the watcher, tested with the pinned watchdog: real files, real events, bounded waits."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support_follow import Hand
from support_transcripts import SOURCE
from support_waiting import PATIENCE
from tacitd.sources import watch
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.follow import Follower
from tacitd.sources.watch import WatchdogWatcher


class Watched:
    """A real watcher, and a way to wait for its hints."""

    def __init__(self, root: Path) -> None:
        self.woken = threading.Event()
        self.clock = Hand()
        self.watcher = WatchdogWatcher(root / "projects", self.woken.set, SOURCE.is_transcript, self.clock)
        self.seen: set[Path] = set()

    def until(self, right: Callable[[], bool]) -> bool:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.seen |= self.watcher.drain_hints()
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
    """DESIGN "Sources": an append, a new file and a rename each give a hint."""
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
    """DESIGN "Sources": reading a transcript gives no hint, and neither do other files. Hints come in the order of events."""
    path, next_, last = (tmp_path / f"projects/a/{name}.jsonl" for name in "syz")
    path.write_text("x\n")
    next_.write_text("x")
    assert watched.hears(next_), "so all that is to be heard of the first was heard"
    watched.seen.clear()
    (tmp_path / "projects/a/notes.txt").write_text("x")
    path.read_text()
    last.write_text("x")
    assert watched.hears(last)
    assert watched.seen - {next_} == {last}


def test_root_that_appears_later_is_watched(tmp_path: Path) -> None:
    """DESIGN "Sources": the watcher waits for a root that does not exist yet."""
    one = Watched(tmp_path)
    one.watcher.start()
    assert not one.watcher.alive and not one.watcher.repair_watching()
    (tmp_path / "projects").mkdir()
    assert one.watcher.repair_watching() and one.watcher.alive
    (tmp_path / "projects/s.jsonl").write_text("x")
    assert one.hears(tmp_path / "projects/s.jsonl")
    one.watcher.stop()


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_root_deleted_or_moved_and_made_again(watched: Watched, tmp_path: Path, how: str) -> None:
    """RELIABILITY row 8: a deleted or moved root that is created again is watched again, and everything is compared."""
    if how == "deleted":
        shutil.rmtree(tmp_path / "projects")
    else:
        (tmp_path / "projects").rename(tmp_path / "elsewhere")
    (tmp_path / "projects").mkdir()
    # The new directory may have the old one's inode number; then the end of the emitter's thread is the sign.
    assert watched.until(watched.watcher.repair_watching), "hints may have been lost"
    assert watched.watcher.alive
    (tmp_path / "projects/s.jsonl").write_text("x")
    assert watched.hears(tmp_path / "projects/s.jsonl")


def test_dead_thread_is_found_and_mended(watched: Watched, tmp_path: Path) -> None:
    """DESIGN "Sources": a dead emitter is noticed at the next check and rebuilt."""
    observer = watched.watcher._observer
    assert observer is not None
    for emitter in observer.emitters:
        emitter.stop()
        emitter.join(PATIENCE)
    assert not watched.watcher.is_well
    assert watched.watcher.repair_watching() and watched.watcher.is_well
    (tmp_path / "projects/a/s.jsonl").write_text("x")
    assert watched.hears(tmp_path / "projects/a/s.jsonl")


def test_what_other_machines_write_is_polled(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 7, "file system without events": a new file and an old one, within 4 s, and a line says so."""
    old, new = tmp_path / "projects/a/s.jsonl", tmp_path / "projects/b/t.jsonl"
    old.write_text("x")
    for path in (old, old.parent, old.parent.parent):
        os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(watch, "is_on_network", lambda _: True)
    follower = Follower(ClaudeCode(tmp_path), watched.clock, lambda *_: watched.watcher, watched.woken.set)
    follower.take_stock()
    monkeypatch.setattr(WatchdogWatcher, "_add", lambda *_, **__: None)
    watched.watcher.drain_hints()
    new.parent.mkdir()
    new.write_text("x")
    old.write_text("xy")
    found, waited = set[Path](), 0.0
    while not found >= {old, new}:
        waited += follower.next_in()
        assert 0 < waited <= 4
        watched.clock.move(follower.next_in())
        found |= set(follower.poll().changed)
    assert [one.id for one in follower.list_degradations()] == ["watch.network"]


def test_linked_root_gives_paths_as_asked(tmp_path: Path) -> None:
    """DESIGN "Sources": the root itself may be a link (people move it to other disks); hints name it as it was given."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root/projects").symlink_to(tmp_path / "disk")
    one = Watched(tmp_path / "root")
    one.watcher.start()
    (tmp_path / "disk/s.jsonl").write_text("x")
    assert one.hears(tmp_path / "root/projects/s.jsonl")
    assert one.watcher.list_unwatched([str(tmp_path / "root/projects")]) == []
    one.watcher.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify's queue")
def test_overflow_of_the_kernels_queue_is_noticed(watched: Watched, tmp_path: Path) -> None:
    """RELIABILITY row 5: watchdog does not tell handlers that events were lost; `repair_watching` does.

    The thread that empties the queue waits for its lock, so it reads at most one block, also on the fastest machine.
    """
    size = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if size > 1_000_000:
        pytest.skip("the queue is too long to be filled")
    names = [str(tmp_path / f"projects/a/{name}.jsonl") for name in "st"]
    for name in names:
        Path(name).touch()
    observer: Any = watched.watcher._observer
    with observer._inotify_fd._lock:
        for _ in range(size):  # two in turn: the kernel merges equal events that follow each other
            for name in names:
                os.utime(name)
    assert watched.until(watched.watcher.repair_watching)
    assert watched.watcher.alive


@pytest.mark.skipif(sys.platform != "linux", reason="inotify's limits")
def test_limit_reached_at_the_root_is_said_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 7: no instance left: polled, reported with the sysctl, retried after a minute."""
    (tmp_path / "projects").mkdir()
    real = watch._observe

    def refuse(*_: object) -> object:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(watch, "_observe", refuse)
    one = Watched(tmp_path)
    one.watcher.start()
    assert not one.watcher.alive
    assert one.watcher.list_unwatched(["x", "y"]) == ["x", "y"]
    (problem,) = one.watcher.list_problems()
    assert problem.id == "watch.failed" and "fs.inotify.max_user_instances=" in problem.hint
    monkeypatch.setattr(watch, "_observe", real)
    assert not one.watcher.repair_watching(), "not at once: the system just said no"
    one.clock.move(watch.RETRY)
    assert one.watcher.repair_watching() and one.watcher.list_problems() == []
    one.watcher.stop()
