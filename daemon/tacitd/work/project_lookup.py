"""Find the project of a working directory without waiting for its file system.

The loop's thread must not touch a path below a project's root, because a mount that stalls would stop everything. So a
thread of its own answers, and the loop waits a moment only; a thread that is stuck is left behind. Prompts that were typed in a
directory that did not exist here get their project once it does.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from loguru import logger

from tacitd.clock import Clock
from tacitd.errors import TacitdError
from tacitd.events import NoProject, Project
from tacitd.store import Store
from tacitd.work.project_rows import Choices, store_project

PATIENCE = 0.2
"""Seconds for which the loop waits for an answer."""
FRESH = 5.0
"""Seconds for which an answer holds. Directories are made, moved and removed."""
STUCK = 16
"""Questions that may wait for a file system at once. Beyond it no further one is asked."""

Place = Project | NoProject


class ProjectLookup:
    """Answers of `find`, which may block. Use it from one thread."""

    def __init__(self, find: Callable[[str], Place], clock: Clock, *, threads: bool = True) -> None:
        """`threads=False`: `find` is called at once, for tests without threads."""
        self._find = find
        self._clock = clock
        self._threads = threads
        self._answers: dict[str, tuple[float, Place]] = {}
        """By directory, with the monotonic seconds of the answer."""
        self._open: dict[str, float] = {}
        """Since when the question about a directory waits for its answer: monotonic seconds."""

    def find_project(self, cwd: str) -> Place | None:
        """Return the project of a directory, or why it is none; None if there is no answer yet. Waits 0.2 s at most."""
        if not self._threads:
            return self._find(cwd)
        now = self._clock.monotonic()
        at, answer = self._answers.get(cwd, (-math.inf, None))
        if now - at < FRESH:
            return answer
        if cwd not in self._open:
            if len(self.list_stuck()) >= STUCK:
                return None
            self._open[cwd] = now
            self._answers.pop(cwd, None)
            thread = threading.Thread(target=self._answer, args=(cwd,), name="project lookup", daemon=True)
            thread.start()
            thread.join(PATIENCE)
        return self._answers.get(cwd, (0.0, None))[1]

    def _answer(self, cwd: str) -> None:
        try:
            found: Place = self._find(cwd)
            self._answers[cwd] = self._clock.monotonic(), found
        except OSError as error:
            found = NoProject(cwd, f"it cannot be examined: {error.strerror}", gone=True)
            self._answers[cwd] = self._clock.monotonic(), found
        except TacitdError as error:  # of the store, which has the choices: it is asked again
            logger.warning("the project of {} is not known: {}", cwd, error)
        finally:
            del self._open[cwd]

    def list_stuck(self) -> list[str]:
        """The directories whose file system did not answer in time."""
        now = self._clock.monotonic()
        return [cwd for cwd, since in self._open.copy().items() if now - since >= PATIENCE]


def find_missing_projects(store: Store, lookup: ProjectLookup, choices: Choices, now: float) -> None:
    """Look at the directories of waiting prompts without a project again. Raises UnwritableError, StoreLostError."""
    for (cwd,) in store.rows(
        "SELECT DISTINCT w.cwd FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
        "JOIN prompt_text w ON w.prompt = p.number WHERE p.project IS NULL AND t.state = 'waiting'"
    ):
        place = lookup.find_project(cwd)
        if place is None or (isinstance(place, NoProject) and place.gone):
            continue
        usual = choices.passes(place, "")
        with store.write() as tx:
            sql = "SELECT number, session, typed FROM prompt JOIN prompt_text ON prompt = number WHERE cwd = ? AND project IS NULL"
            for number, session, typed in tx.rows(sql, cwd):
                passed = "paused" if choices.is_paused_at(place, session, typed) else usual
                if isinstance(place, Project):
                    project = store_project(tx, place, now)
                    tx.execute("UPDATE prompt SET project = ? WHERE number = ?", project, number)
                if passed:
                    tx.execute("DELETE FROM prompt_task WHERE prompt = ?", number)
                    tx.execute("DELETE FROM prompt_text WHERE prompt = ?", number)
                    tx.execute("UPDATE prompt SET passed = ? WHERE number = ?", passed, number)
