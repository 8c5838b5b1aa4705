"""Hints that a transcript changed. A hint may be late, repeated or lost; follow.py does not depend on them.

How watchdog 7.1 behaves on Linux, and what follows:

- Its default mask reports its own reads and uses a whole core from about 4,100 directories up. So an event filter is
  always passed. It includes `DirCreatedEvent` because the kernel's mask has IN_CREATE anyway, and because otherwise a new
  directory that could not be watched (the limit) would go unnoticed.
- It warns with its whole watch table as text. That warning is filtered.
- An exception in a callback ends the thread silently, a deleted root stops its emitter, and a renamed root is still watched
  at its old place. `repair_watching` detects all three and builds the observer again.
- A directory below the root that cannot be watched is skipped silently. `list_unwatched` compares with its table. Lost events
  (a full kernel queue) are only reported in its log, so a handler is added to its logger.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import threading
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import Clock, SystemClock
from tacitd.files.mounts import is_on_network
from tacitd.handler import Degradation

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

IsTranscript = Callable[[str], bool]
"""Whether a file with this path is a transcript: `Source.is_transcript`."""
RETRY = 60.0
"""Seconds until the next attempt to watch after the system refused it."""
REBUILD = 300.0
"""Seconds after which everything is watched again if directories were left out, because the limit may be higher now."""


_REFUSALS = (OSError, RuntimeError, SystemError)
"""The errors by which backends refuse: inotify with OSError, FSEvents and thread creation with the others."""


class SilentWatcher:
    """A source of hints for `follow.Follower`, by whose thread all methods are called. This one gives none: for tests, and where
    only comparing is wanted."""

    def __init__(self, root: Path, wake: Callable[[], None], is_transcript: IsTranscript) -> None:
        """`wake` is called for each hint, and `is_transcript` for each changed file, in any thread. Both must be quick and must not raise."""

    def start(self) -> None:
        """Start watching. Never raises for a root that is missing or cannot be watched: see `list_problems`."""

    def stop(self) -> None:
        """Stop all threads. May be called twice."""

    def drain_hints(self) -> set[Path]:
        """Transcripts that may have changed, and new directories, since the last call."""
        return set()

    def repair_watching(self) -> bool:
        """Repair what is broken. True if hints may have been lost since the last call, so that everything must be compared."""
        return False

    @property
    def is_well(self) -> bool:
        """Whether `repair_watching` would find nothing that has ended. Cheap. Any thread."""
        return True

    def list_unwatched(self, directories: Collection[str]) -> list[str]:
        """Those of the directories that may give no hints."""
        return []

    def list_problems(self) -> list[Degradation]:
        """The present problems, each with a hint."""
        return []


class WatchdogWatcher(SilentWatcher):
    """Watches everything below one root with watchdog, also if it appears later."""

    def __init__(
        self, root: Path, wake: Callable[[], None], is_transcript: IsTranscript, clock: Clock | None = None
    ) -> None:
        super().__init__(root, wake, is_transcript)
        self._top = os.fspath(root)
        self._is_transcript = is_transcript
        self._real = self._top
        self._wake = wake
        self._clock = clock or SystemClock()
        self._observer: BaseObserver | None = None
        self._identity: tuple[int, int] | None = None
        self._failed: Exception | None = None
        self._retry_at = 0.0
        self._rebuild_at = math.inf
        self._hints: set[str] = set()
        self._lock = threading.Lock()
        self._complaints = _Complaints()

    def start(self) -> None:
        logging.getLogger("watchdog").addHandler(self._complaints)
        self._build()

    def stop(self) -> None:
        self._take_down()
        logging.getLogger("watchdog").removeHandler(self._complaints)

    @property
    def alive(self) -> bool:
        """Whether hints can come: the observer, its emitters, and the reader of the kernel's queue run."""
        if self._observer is None:
            return False
        reader = getattr(self._observer, "_inotify_fd", None)
        threads = [self._observer, *self._observer.emitters]
        return all(one.is_alive() for one in (*threads, reader) if isinstance(one, threading.Thread))

    @property
    def is_well(self) -> bool:
        return self._observer is None or self.alive

    def drain_hints(self) -> set[Path]:
        with self._lock:
            hints, self._hints = self._hints, set()
        # watchdog reports paths with the links in the root resolved.
        return {Path(self._top + hint.removeprefix(self._real)) for hint in hints}

    def repair_watching(self) -> bool:
        is_stale = self._clock.monotonic() >= self._rebuild_at
        if self.alive and not is_stale and _identity(self._top) == self._identity:
            heard, self._complaints.were_heard = self._complaints.were_heard, False
            return heard
        had = self._observer is not None
        self._take_down()
        return self._build() or had

    def list_unwatched(self, directories: Collection[str]) -> list[str]:
        if self._observer is None or is_on_network(Path(self._real)):
            return list(directories)
        table: dict[bytes, int] = {}
        for emitter in self._observer.emitters:
            # It has no public name; the tests of the watcher fail if a release of watchdog moves it.
            group: Any = getattr(emitter, "_inotify", None)
            found = getattr(group, "_active_callbacks_by_path", None)
            if found is None:  # FSEvents and similar backends watch a whole tree, or report that they cannot
                return []
            table.update(found)
        real = {one: os.fsencode(self._real + one.removeprefix(self._top)) for one in directories}
        missing = [one for one, watched in real.items() if table.get(watched, -1) == -1]
        if missing:
            self._rebuild_at = min(self._rebuild_at, self._clock.monotonic() + REBUILD)
        return missing

    def list_problems(self) -> list[Degradation]:
        if self._failed is None:
            if self._observer is None or not is_on_network(Path(self._real)):
                return []
            what = f"{self._top} is on a file system that other machines write too: it is polled every few seconds"
            return [Degradation("watch.network", what, limit_hint(None))]
        what = f"{self._top} cannot be watched ({self._failed}); it is polled instead"
        return [Degradation("watch.failed", what, limit_hint(getattr(self._failed, "errno", None)))]

    def _build(self) -> bool:
        """Watch the root if it exists and the system allows it. Returns whether it is watched now."""
        identity = _identity(self._top)
        if identity is None or (self._failed is not None and self._clock.monotonic() < self._retry_at):
            return False
        self._real = os.path.realpath(self._top)
        try:
            self._observer = _observe(self._real, self._add)
        except _REFUSALS as error:
            self._failed, self._retry_at = error, self._clock.monotonic() + RETRY
            return False
        self._failed, self._identity, self._rebuild_at = None, identity, math.inf
        return True

    def _take_down(self) -> None:
        observer, self._observer, self._identity = self._observer, None, None
        if observer is not None:
            _stop_observer(observer)

    def _add(self, path: str, *, is_directory: bool) -> None:
        # Thousands of events may wait, most of them of files that are hinted already.
        if path in self._hints or not (is_directory or self._is_transcript(path)):
            return
        with self._lock:
            self._hints.add(path)
        self._wake()


class _Complaints(logging.Handler):
    """Handles watchdog's log: hints may have been lost after any warning, for example about an overflowed queue."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.were_heard = False

    def emit(self, record: logging.LogRecord) -> None:
        self.were_heard = True


def limit_hint(number: int | None) -> str:
    """Given an `errno` of watching, return the hint that fixes it."""
    name = {errno.ENOSPC: "max_user_watches", errno.EMFILE: "max_user_instances"}.get(number or 0)
    if name is None:
        return "Nothing is lost; changes are noticed some seconds later."
    wanted = 524288 if name == "max_user_watches" else 1024
    return f"Raise the limit: sudo sysctl fs.inotify.{name}={wanted}"


def _observe(path: str, add: Callable[..., None]) -> BaseObserver:
    """Start an observer on a directory and everything below. Raises one of `_REFUSALS` if the system refuses."""
    from watchdog.events import (
        DirCreatedEvent,
        FileCreatedEvent,
        FileModifiedEvent,
        FileMovedEvent,
        FileSystemEventHandler,
    )
    from watchdog.observers import Observer

    class Collect(FileSystemEventHandler):
        def dispatch(self, event: FileSystemEvent) -> None:
            for name in (event.src_path, event.dest_path):
                hint = os.fsdecode(name)
                if hint:
                    add(hint, is_directory=event.is_directory)

    # Raised for a directory that is made while its parent is being listed. Its text contains the whole watch table.
    warnings.filterwarnings("ignore", message="Callback with id ", category=RuntimeWarning)
    observer = Observer()
    wanted: list[type[FileSystemEvent]] = [
        FileModifiedEvent,
        FileCreatedEvent,
        FileMovedEvent,
        DirCreatedEvent,
    ]
    try:
        observer.schedule(Collect(), path, recursive=True, event_filter=wanted)
        observer.start()
    except _REFUSALS:
        _stop_observer(observer)
        raise
    return observer


def _stop_observer(observer: BaseObserver) -> None:
    """Also one that never ran or failed at its start."""
    observer.stop()
    if observer.is_alive():
        observer.join(5.0)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - text on purpose, see follow.py
    except OSError:
        return None
    return status.st_dev, status.st_ino
