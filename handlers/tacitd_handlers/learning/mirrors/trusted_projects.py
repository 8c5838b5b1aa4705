"""The projects whose own text a person trusts, as chosen with `tacitd trust`.

One log in the handler's directory. The command line appends to it; the daemon reads it again if its size has changed.
Records: `{"at","project","origin","trusted"}`, `at` in seconds since 1970, `project` a root, `origin` as `name_origin` returns
it. A root's last record counts, as long as the project there has that origin: another repository that is cloned to the same
path later is not trusted.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files.log import Log
from tacitd_handlers.learning.mirrors.project_origin import has_origin, name_origin

LOG = "trusted.jsonl"
Trust = Literal["trusted", "refused", "unasked"]


class TrustedProjects:
    """Thread-safe."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._read_size = -1
        self._chosen: dict[Path, tuple[bool, str]] = {}

    def get_trust(self, project: Project) -> Trust:
        """What the person chose for this project. Raises OSError."""
        with self._lock:
            if self._log.size != self._read_size:
                self._read_size = self._log.size
                self._chosen = {
                    Path(str(one.get("project"))): (one.get("trusted") is True, str(one.get("origin")))
                    for one in self._log.read()
                }
            chosen = self._chosen.get(project.root)
        try:
            if chosen is None or not has_origin(project, chosen[1]):
                return "unasked"
        except FileRefusedError:  # its configuration cannot be read, so nobody knows which repository it is
            return "unasked"
        return "trusted" if chosen[0] else "refused"

    def set_trust(self, project: Project, *, trusted: bool) -> None:
        """Record a choice. Durable when it returns. Raises OSError, and FileRefusedError if its origin cannot be read."""
        origin = name_origin(project)
        with self._lock:
            record = {"at": self._clock.now(), "project": str(project.root)}
            self._log.append(record | {"origin": origin, "trusted": trusted})
            self._log.flush()
