"""The write mode of single projects, as chosen with `tacitd share` and `tacitd exclude`.

It is one log in the state directory. The command line appends to it; the daemon checks its size before each use and
reads it again if it has grown. Records: `{"at","project","write"}`, `at` in seconds since 1970, `project` a root. The
last record of a project counts; `"write":""` removes its choice.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal, cast

from tacitd.clock import Clock
from tacitd.events import Project
from tacitd.files.log import Log

WriteMode = Literal["local", "shared", "off"]


class WriteModes:
    """The write mode of each project. Thread-safe."""

    def __init__(self, log: Log, clock: Clock, default: WriteMode = "local") -> None:
        self._log = log
        self._clock = clock
        self._default: WriteMode = default
        self._lock = threading.Lock()
        self._read_size = -1
        self._modes: dict[str, WriteMode] = {}

    def get_mode(self, project: Project) -> WriteMode:
        """The project's own write mode, otherwise the configuration's. `off` in the configuration overrides every choice."""
        with self._lock:
            self._reload_if_changed()
            chosen = self._modes.get(str(project.root), self._default)
            return "off" if self._default == "off" else chosen

    def count_excluded(self) -> int:
        """The number of projects that a person excluded."""
        with self._lock:
            self._reload_if_changed()
            return sum(mode == "off" for mode in self._modes.values())

    def set_default(self, mode: WriteMode) -> None:
        """Set the write mode of projects without a choice (`projects.write`)."""
        with self._lock:
            self._default = mode

    def set_mode(self, root: Path, mode: WriteMode | Literal[""]) -> None:
        """Set a project's write mode; "" removes the choice. Durable when it returns. Raises OSError."""
        with self._lock:
            self._log.append({"at": self._clock.now(), "project": str(root), "write": mode})
            self._log.flush()

    def get_previous(self, root: Path, mode: WriteMode) -> WriteMode | Literal[""]:
        """The last choice for this project that is not `mode`; "" if there is none. Raises OSError."""
        made = [r.get("write", "") for r in self._log.read() if r.get("project") == str(root)]
        before = next((one for one in reversed(made) if one != mode), "")
        return cast(WriteMode | Literal[""], before)

    def _reload_if_changed(self) -> None:
        size = self._log.size
        if size == self._read_size:
            return
        modes: dict[str, WriteMode] = {}
        for record in self._log.read():
            modes[str(record.get("project", ""))] = cast(WriteMode, record.get("write", ""))
        self._modes = {root: mode for root, mode in modes.items() if mode in ("local", "shared", "off")}
        self._read_size = size
