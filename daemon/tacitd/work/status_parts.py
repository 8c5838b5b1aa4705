"""What each handler reports of itself for the status document.

`Handler.status` may read files of a project, whose file system may hang. So each is asked in a thread of its own, which ends
with the answer; a caller waits a moment, and otherwise gets what the handler reported before.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.handler import Degradation, load_hook
from tacitd.work.handler_adapter import AdaptedHandler
from tacitd.work.running_plugin import RunningPlugin

PATIENCE = 0.7
"""Seconds for which a caller waits."""


class StatusPart(Struct, frozen=True):
    """A handler's part of the status document."""

    part: Mapping[str, Any] = field(default_factory=dict)
    """JSON. Empty if the handler failed, or was not asked yet."""
    as_of: float | None = None
    """When it was asked, seconds since 1970; None: not yet."""
    fault: Degradation | None = None


class StatusParts:
    """The parts of all handlers. Thread-safe."""

    def __init__(
        self,
        handlers: Mapping[str, AdaptedHandler | RunningPlugin],
        clock: Clock,
        *,
        threads: bool = True,
    ) -> None:
        """`threads=False`: handlers are asked in the caller's thread, for tests without threads."""
        self._handlers = handlers
        self._clock = clock
        self._threads = threads
        self._parts: dict[str, StatusPart] = {}
        self._asking: dict[str, tuple[float, threading.Event]] = {}
        self._lock = threading.Lock()

    def ask(self, patience: float = PATIENCE) -> dict[str, StatusPart]:
        """Ask all handlers, and return what each reported last. A degradation names one that does not answer."""
        waits = list[tuple[str, threading.Event]]()
        for name, one in list(self._handlers.items()):
            with self._lock:
                asked = self._asking.get(name)
                if asked is None:
                    asked = self._asking[name] = self._clock.monotonic(), threading.Event()
                    begin = True
                else:
                    begin = False
            if begin and self._threads:
                threading.Thread(
                    target=self._ask_one, args=(name, one), name=f"status of {name}", daemon=True
                ).start()
            elif begin:
                self._ask_one(name, one)
            waits.append((name, asked[1]))
        end = self._clock.monotonic() + patience
        for _, answered in waits:
            answered.wait(max(0.0, end - self._clock.monotonic()))
        return {name: self.get_part(name) for name, _ in waits}

    def get_part(self, name: str) -> StatusPart:
        """What this handler reported last, with a degradation if it does not answer."""
        part = self._parts.get(name, StatusPart())
        asked = self._asking.get(name)
        if asked is None or self._clock.monotonic() - asked[0] < PATIENCE:
            return part
        what = (
            f"the handler {name} does not answer when it is asked for its status; what is shown of it is old"
        )
        hint = "`tacitd restart` starts it again; the rest of the status is valid"
        fault = Degradation("handler.status", what, hint)
        return StatusPart(part.part, part.as_of, fault)

    def _ask_one(self, name: str, one: AdaptedHandler | RunningPlugin) -> None:
        at, fault, part = self._clock.now(), None, dict[str, Any]()
        try:
            if isinstance(one, RunningPlugin):
                part = make_json(dict(one.report_status()))
                if "lines" in part:
                    part["says"] = [str(line) for line in part.pop("lines")]
            else:
                part = make_json(dict(one.handler.status()))
            if isinstance(one, AdaptedHandler) and one.plugin.status_lines:
                part["says"] = [str(line) for line in load_hook(one.plugin.status_lines)(part)]
        except BaseException as error:  # noqa: BLE001  a third-party handler may raise anything, also SystemExit
            part = {}
            what = f"the handler {name} cannot report its status: {type(error).__name__}: {error}"
            fault = Degradation("handler.status", what, "the rest of the status is valid")
        self._parts[name] = StatusPart(part, at, fault)
        _, answered = self._asking.pop(name)
        answered.set()


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
