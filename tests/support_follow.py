"""A follower for tests, with its root, clock and hints."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.follow import FileChanges, Follower
from tacitd.sources.watch import SilentWatcher


class Hand:
    """A clock that only the test moves."""

    def __init__(self, wall: float | None = None) -> None:
        self.wall, self.mono = time.time() if wall is None else wall, 1000.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def move(self, seconds: float) -> None:
        self.wall += seconds
        self.mono += seconds


class Told(SilentWatcher):
    """A watcher whose hints and problems come from the test."""

    def __init__(self) -> None:
        super().__init__(Path(), lambda: None, bool)
        self.hints: set[Path] = set()
        self.lost = False
        self.unwatched: set[str] = set()

    def __call__(self, root: Path, wake: Callable[[], None], is_transcript: Callable[[str], bool]) -> Told:
        return self

    def drain_hints(self) -> set[Path]:
        hints, self.hints = self.hints, set()
        return hints

    def repair_watching(self) -> bool:
        lost, self.lost = self.lost, False
        return lost

    def list_unwatched(self, directories: Collection[str]) -> list[str]:
        return [one for one in directories if one in self.unwatched]


class Scene:
    """A root with one project folder, a follower that has polled once, and its clock and hints."""

    def __init__(self, root: Path) -> None:
        self.root, self.told = root, Told()
        self.folder = root / "projects" / "a"
        self.folder.mkdir(parents=True)
        # The follower compares the clock with the times of files, which come from the kernel's clock.
        self.clock = Hand(self.folder.stat().st_mtime)
        self.follower = Follower(ClaudeCode(root), self.clock, self.told, lambda: None)
        self.follower.start()

    def write(self, name: str, text: str = "x\n", *, hint: bool = False) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as out:
            out.write(text)
        if hint:
            self.told.hints.add(path)
        return path

    def later(self, seconds: float) -> FileChanges:
        self.clock.move(seconds)
        return self.follower.poll()
