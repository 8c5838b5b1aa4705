"""What the handlers of the first contract report of themselves. They go with the last of them.

`Handler.status` may read files of a project, whose file system may hang. So each is asked in a thread of its own, which ends with the
answer; a caller waits a moment, and otherwise gets what the handler reported before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from tacitd.clock import Clock, utc_seconds
from tacitd.handler import Degradation, load_hook
from tacitd.work.handler_adapter import AdaptedHandler

PATIENCE = 0.7
"""Seconds for which a caller waits."""
ReadPart = Callable[[str, Callable[[], Mapping[str, Any]]], tuple[dict[str, Any], Degradation | None]]


class StatusParts:
    """The parts of all handlers. Thread-safe."""

    def __init__(
        self,
        handlers: Mapping[str, AdaptedHandler],
        clock: Clock,
        read_part: ReadPart,
        degraded: dict[str, Degradation],
        on_answer: Callable[[], None],
        *,
        threads: bool = True,
    ) -> None:
        """`on_answer` is called in the thread that asked. `threads=False`: handlers are asked in the caller's thread, for tests without threads."""
        self._handlers = handlers
        self._clock = clock
        self._read_part = read_part
        self._degraded = degraded
        self._on_answer = on_answer
        self._threads = threads
        self._parts: dict[str, Any] = {}
        self._asking: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def ask(self, patience: float = PATIENCE) -> dict[str, Any]:
        """Ask all handlers, and return what each reported last, with the time. A degradation names one that does not answer."""
        waits = list[tuple[str, threading.Event]]()
        for name, one in list(self._handlers.items()):
            with self._lock:
                answered, begins = self._asking.get(name), name not in self._asking
                answered = self._asking[name] = answered or threading.Event()
            if begins and self._threads:
                threading.Thread(
                    target=self._ask_one, args=(name, one), name=f"status of {name}", daemon=True
                ).start()
            elif begins:
                self._ask_one(name, one)
            waits.append((name, answered))
        end = self._clock.monotonic() + patience
        for name, answered in waits:
            if not answered.wait(max(0.0, end - self._clock.monotonic())) and patience:
                what = f"the handler {name} does not answer when it is asked for its status; what is shown of it is old"
                hint = "`tacitd restart` starts it again; the rest of the status is valid"
                self._degraded[f"handler.status:{name}"] = Degradation("handler.status", what, hint)
        return dict(self._parts)

    def last(self) -> dict[str, Any]:
        """What each reported last, without the time: a note that differs in nothing else is not written again."""
        return {
            name: {key: value for key, value in part.items() if key != "as_of"}
            for name, part in list(self._parts.items())
        }

    def _ask_one(self, name: str, one: AdaptedHandler) -> None:
        def report() -> Mapping[str, Any]:
            part = dict(one.handler.status())
            if one.plugin.status_lines:
                part["lines"] = list(load_hook(one.plugin.status_lines)(part))
            return part

        at = self._clock.now()
        part, fault = self._read_part(name, report)
        self._parts[name] = part | {"as_of": utc_seconds(at)}
        if fault is None:
            self._degraded.pop(f"handler.status:{name}", None)
        else:
            self._degraded[f"handler.status:{name}"] = fault
        self._asking.pop(name).set()
        self._on_answer()
