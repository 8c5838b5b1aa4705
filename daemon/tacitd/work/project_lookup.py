"""Find the project of a working directory without waiting for its file system.

The loop's thread must not touch a path below a project's root, because a mount that stalls would stop everything. So a
thread of its own answers, and the loop waits a moment only; a thread that is stuck is left behind. Prompts that were typed in a
directory that did not exist here get their project once it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import wait
from functools import partial

from loguru import logger

from tacitd.clock import Clock
from tacitd.errors import TacitdError
from tacitd.events import NoProject, Project
from tacitd.files.stalls import PATIENCE as DISK_PATIENCE
from tacitd.files.stalls import STUCK, Stalls
from tacitd.store import Store
from tacitd.work.project_rows import Choices, store_project

PATIENCE = 0.2
"""Seconds for which the loop waits for an answer."""
FRESH = 5.0
"""Seconds for which an answer holds. Directories are made, moved and removed."""
BUSY, STALLED = 1.0, 60.0
"""Seconds until a directory is asked about again whose disk is busy, or does not answer at all."""
MOST = 2 * STUCK
"""Directories that may be stuck before no further one is asked for its project: more than for what can be done later."""

Place = Project | NoProject


class ProjectLookup:
    """Answers of `find`, which may block. Thread-safe."""

    def __init__(self, find: Callable[[str], Place], clock: Clock, stalls: Stalls) -> None:
        self._find = find
        self._clock = clock
        self._stalls = stalls
        self._answers: dict[str, tuple[float, Place]] = {}
        """By directory, with the monotonic seconds of the answer."""

    def find_project(self, cwd: str) -> Place | None:
        """Return the project of a directory, or why it is none; None if there is no answer yet. Waits 0.2 s at most."""
        if not self._stalls.threads:
            return self._find(cwd)
        now = self._clock.monotonic()
        at, answer = self._answers.get(cwd, (-math.inf, None))
        if now - at < FRESH:
            return answer
        if (question := self._stalls.begin(cwd, partial(self._answer, cwd), PATIENCE, MOST)) is not None:
            wait([question], PATIENCE)
        at, answer = self._answers.get(cwd, (-math.inf, None))
        return answer if at >= now else None

    def is_in(self, cwd: str, project: Project) -> bool:
        """Whether a directory is in a project, as far as its disk answers; otherwise its path decides."""
        place = self.find_project(cwd)
        return place == project if place is not None else f"{cwd}/".startswith(f"{project.root}/")

    def ask_again_in(self) -> float:
        """Seconds until a directory without an answer is asked about again: a disk may only be busy."""
        return STALLED if self._stalls.list_stuck(DISK_PATIENCE) else BUSY

    def _answer(self, cwd: str) -> None:
        try:
            found: Place = self._find(cwd)
            self._answers[cwd] = self._clock.monotonic(), found
        except OSError as error:
            found = NoProject(cwd, f"it cannot be examined: {error.strerror}", gone=True)
            self._answers[cwd] = self._clock.monotonic(), found
        except TacitdError as error:  # of the store, which has the choices: it is asked again
            logger.warning("the project of {} is not known: {}", cwd, error)


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
