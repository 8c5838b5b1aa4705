"""Questions to a file system that may never answer, as a mount that stalls: each is asked in a thread of its own. One that does not
answer in time is left behind, and nothing more is asked about its directory until it does."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from typing import TypeVar

from tacitd.clock import Clock
from tacitd.errors import FileBusyError

PATIENCE = 2.0
"""Seconds within which a disk that is busy answers."""
STUCK = 32
"""Questions that may wait for an answer at once. Beyond it no further one is asked."""
AGAIN = 60.0
"""Seconds until work is tried again that a directory did not answer for."""

T = TypeVar("T")


class Stalls:
    """Which directories do not answer. Thread-safe."""

    def __init__(self, clock: Clock, *, threads: bool = True) -> None:
        """`threads=False`: each question is asked at once, for who may wait as long as it takes."""
        self._clock = clock
        self.threads = threads
        self._numbers = itertools.count()
        self._open: dict[int, tuple[str, float, float]] = {}
        """Of each question that waits for an answer: its directory, since when (monotonic seconds), and how many seconds it may take."""

    def begin(
        self, place: str, question: Callable[[], T], patience: float = PATIENCE, most: int = STUCK
    ) -> Future[T] | None:
        """Ask a question about files below a directory; None, and it is not asked, if the directory is stuck, or `most` questions
        wait."""
        answer, number = Future[T](), next(self._numbers)
        if self.threads:
            if self.is_stuck(place, patience) or len(self._open) >= most:
                return None
            self._open[number] = place, self._clock.monotonic(), patience

        def ask() -> None:
            try:
                found = question()
            except BaseException as error:  # noqa: BLE001  it is raised where the answer is read
                self._open.pop(number, None)
                answer.set_exception(error)
            else:
                self._open.pop(number, None)
                answer.set_result(found)

        if self.threads:
            threading.Thread(target=ask, name=f"question about {place}", daemon=True).start()
        else:
            ask()
        return answer

    def ask(self, place: str, question: Callable[[], T], patience: float = PATIENCE) -> T:
        """Return the answer. Raises what the question raises, and FileBusyError if the directory does not answer."""
        answer = self.begin(place, question, patience)
        try:
            if answer is not None:
                return answer.result(patience)
        except TimeoutError:
            if answer is None or answer.done():  # the question raised it
                raise
        what = f"the file system of {place} does not answer"
        raise FileBusyError(what, "check the mount; everything else goes on", seconds=AGAIN)

    def ask_each(
        self, questions: Iterable[tuple[str, Callable[[], T]]], patience: float = PATIENCE
    ) -> list[Future[T] | None]:
        """Begin each, and wait for it; after one that does not answer in time, the others are begun at once. Returns what `begin`
        returned."""
        answers, late, others = list[Future[T] | None](), False, list[Future[T]]()
        for place, question in questions:
            answer = self.begin(place, question, patience)
            answers.append(answer)
            if answer is not None and late:
                others.append(answer)
            elif answer is not None:
                late = bool(wait([answer], patience).not_done)
        wait(others, patience)
        return answers

    def list_stuck(self, patience: float = 0.0) -> list[str]:
        """The directories of questions that take longer than they may, and than `patience`."""
        now, found = self._clock.monotonic(), self._open.copy().values()
        return list(dict.fromkeys(place for place, since, own in found if now - since >= max(own, patience)))

    def affects(self, root: str, patience: float = 0.0) -> bool:
        """Whether this directory, one above it or one in it is stuck; not if it is "", the lane of what is for no project."""
        is_in = any(stuck.startswith(f"{root}/") for stuck in self.list_stuck(patience))
        return bool(root) and (is_in or self.is_stuck(root, patience))

    def is_stuck(self, place: str, patience: float = 0.0) -> bool:
        """Whether a directory, or one above it, is."""
        return any(f"{place}/".startswith(f"{stuck}/") for stuck in self.list_stuck(patience) if stuck)
