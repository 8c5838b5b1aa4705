"""What each handler reported of itself last, for the status document.

`Handler.status` may read files and may take long, so it is never called in the engine's thread: each handler has a thread
of its own for it. A part is renewed after each outcome of the handler's work (a commit, a parked or a released item), and
each minute. After many outcomes in a row it is renewed once a second, and a caller that asks for the status waits for the rest (`PATIENCE`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.workers import ThreadPool, WorkerPool
from tacitd.handler import Degradation, load_hook

INTERVAL = 1.0
"""Seconds between two renewals of one part, if nobody asks for it."""
PATIENCE = 2.0
"""Seconds for which a caller waits for a part that is being renewed. After that it gets the old one, with its time, and
later callers get it at once."""


class StatusPart(Struct, frozen=True):
    """A handler's part of the status document."""

    part: Mapping[str, Any] = field(default_factory=dict)
    """JSON. Empty if the handler failed, or was not asked yet."""
    as_of: float | None = None
    """When it was asked, seconds since 1970; None: not yet."""
    fault: Degradation | None = None


class _Renewal(Struct):
    """Where the renewal of one part is."""

    pool: WorkerPool
    changes: int = 0
    """How often the part may have changed: outcomes of the handler's work, and callers that want a new one."""
    wanted: int = 0
    """The change that a renewal must include, because a caller waits for it or the interval is over."""
    included: int = 0
    """The change that the last renewal included."""
    running: bool = False
    began_at: float = math.inf
    """When the running renewal asked the handler: monotonic seconds."""
    is_late: bool = False
    """A caller waited for it until its time was over. No other caller waits before it has returned."""
    renewed_at: float = -math.inf
    """Monotonic seconds."""


class StatusCache:
    """The parts of all handlers. Thread-safe, but `refresh` is not for the engine's thread: it waits."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        now: Callable[[], float],
        monotonic: Callable[[], float],
        workers_for: Callable[[str, int], WorkerPool] = ThreadPool,
    ) -> None:
        self.patience = PATIENCE
        self._workers_for = workers_for
        self._consumers = consumers
        self._now, self._monotonic = now, monotonic
        self._parts: dict[str, StatusPart] = {}
        self._renewals: dict[str, _Renewal] = {}
        self._idle = threading.Condition()

    def get_part(self, name: str) -> StatusPart:
        """What this handler reported last, with a degradation if it does not return."""
        part, renewal = self._parts.get(name, StatusPart()), self._renewals.get(name)
        if renewal is None or not self._is_late(renewal):
            return part
        what = (
            f"the handler {name} does not answer when it is asked for its status; what is shown of it is old"
        )
        hint = "`tacitd restart` starts it again; the rest of the status is valid"
        return replace(part, fault=Degradation("handler.status", what, hint))

    def note_outcome(self, name: str) -> None:
        """A handler's work had an outcome: renew its part now, or when asked if that was done within the last second."""
        one = self._mark_changed(name)
        if self._monotonic() - one.renewed_at >= INTERVAL:
            self._start(name, one)

    def renew_all(self) -> None:
        """Begin to renew all parts."""
        for name in list(self._consumers):
            self._start(name, self._mark_changed(name))

    def refresh(self, seconds: float | None = None) -> list[str]:
        """Renew all parts, and wait for that, at most for so many seconds (None: two); return the handlers whose part is an old one.

        All of them, because a part also depends on what changes without an outcome: a person's choice, the rights of a file.
        A handler that was asked more than two seconds ago is not waited for: it may never return.
        """
        seconds = self.patience if seconds is None else seconds
        self.renew_all()
        with self._idle:
            wanted = {name: one.changes for name, one in self._renewals.items()}
            late = {name for name, one in self._renewals.items() if self._is_late(one)}

            def list_old() -> list[str]:
                return [name for name, count in wanted.items() if self._renewals[name].included < count]

            self._idle.wait_for(lambda: late.issuperset(list_old()), seconds)
            old = list_old()
            if seconds >= self.patience:
                for name in old:
                    self._renewals[name].is_late = self._renewals[name].running
            return old

    def _is_late(self, one: _Renewal) -> bool:
        return one.running and (one.is_late or self._monotonic() - one.began_at >= self.patience)

    def close(self) -> None:
        """Renew all parts a last time, for the snapshot, and end the threads. One that hangs is left behind."""
        self.refresh(INTERVAL)
        for one in list(self._renewals.values()):
            one.pool.stop(0.0)

    def _mark_changed(self, name: str) -> _Renewal:
        with self._idle:
            if name not in self._renewals:
                self._renewals[name] = _Renewal(self._workers_for(f"status-{name}", 1))
            self._renewals[name].changes += 1
            return self._renewals[name]

    def _start(self, name: str, one: _Renewal) -> None:
        """Have the part renewed, unless that is going on: then it is asked once more afterwards."""
        with self._idle:
            one.wanted = one.changes
            if one.running:
                return
            one.running = True
        try:
            one.pool.submit(lambda: self._renew(name, one))
        except RuntimeError:  # no thread can be made now: the next minute tries again
            with self._idle:
                one.running = False

    def _renew(self, name: str, one: _Renewal) -> None:
        """In a worker: ask the handler until the change that is wanted is included."""
        while True:
            with self._idle:
                # An outcome during the call may be missing from what the handler answered: then it is asked again.
                if one.included >= one.wanted:
                    one.running = False
                    return
                target, one.began_at = one.changes, self._monotonic()
            consumer = self._consumers.get(name)
            if consumer is not None:
                self._parts[name] = _ask_handler(consumer, self._now())
            with self._idle:
                one.renewed_at, one.included = self._monotonic(), target
                one.began_at, one.is_late = math.inf, False
                self._idle.notify_all()


def _ask_handler(consumer: Consumer, at: float) -> StatusPart:
    """The handler's part, with the lines for a person; or what is wrong with it. `at`: now."""
    name = consumer.plugin.name
    try:
        part = make_json(dict(consumer.handler.status()))
        if where := consumer.plugin.status_lines:
            part["says"] = [str(line) for line in load_hook(where)(part)]
        return StatusPart(part, at)
    except BaseException as error:  # noqa: BLE001  a third-party handler may raise anything, also SystemExit
        what = f"the handler {name} cannot report its status: {type(error).__name__}: {error}"
        return StatusPart({}, at, Degradation("handler.status", what, "the rest of the status is valid"))


def make_json(value: Any) -> Any:
    """The value with text in place of everything that JSON cannot express; null for infinity and NaN."""
    match value:
        case Mapping():
            return {str(key): make_json(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [make_json(each) for each in value]
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case _:
            return str(value)
