"""The lessons on disk, for those who only read them: commands without a daemon import this, and not what a change needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tacitd.files.disk import Disk, RealDisk
from tacitd.files.log import Log
from tacitd_handlers.lessons import lesson_paths
from tacitd_handlers.lessons.lesson_fold import FoldedLessons, fold_lessons


class LessonReader:
    """The lessons of one directory, which are only read."""

    def __init__(self, directory: Path, beside: Path, disk: Disk | None = None) -> None:
        """`beside`: the folder for origins."""
        self.directory = directory
        self.state_dir = beside
        self.disk = disk or RealDisk()
        self.log = Log(directory / lesson_paths.LOG, self.disk)

    @classmethod
    def from_environ(cls, env: Mapping[str, str]) -> Self:
        """The lessons of this environment."""
        return cls(lesson_paths.lessons_dir(env), lesson_paths.lessons_state_dir(env))

    def read_lessons(self) -> FoldedLessons:
        """Read and fold the log. Raises OSError."""
        return fold_lessons(self.log.read())
