"""The projects whose own text a person trusts, as chosen with `tacitd trust`.

One log in the handler's directory. The command line appends to it; the daemon reads it again if its size has changed.
Records: `{"at","project","trusted"}`, `at` in seconds since 1970, `project` a root. A project's last record counts.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

from tacitd.clock import Clock
from tacitd.files.log import Log

LOG = "trusted.jsonl"
Trust = Literal["trusted", "refused", "unasked"]


class TrustedProjects:
    """Thread-safe."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._read_size = -1
        self._chosen: dict[str, bool] = {}

    def get_trust(self, root: Path) -> Trust:
        """What the person chose for this project. Raises OSError."""
        with self._lock:
            if self._log.size != self._read_size:
                self._read_size = self._log.size
                self._chosen = {
                    str(one.get("project")): one.get("trusted") is True for one in self._log.read()
                }
            chosen = self._chosen.get(str(root))
        return "unasked" if chosen is None else "trusted" if chosen else "refused"

    def set_trust(self, root: Path, *, trusted: bool) -> None:
        """Record a choice. Durable when it returns. Raises OSError."""
        with self._lock:
            self._log.append({"at": self._clock.now(), "project": str(root), "trusted": trusted})
            self._log.flush()
