"""A daemon under a service manager: ready, alive, reloading, stopping. Decides what counts as alive and reports it.

The engine's loop sends `WATCHDOG=1`, and only if all is well: the loop runs, no worker has been busy for longer than any
call may take, and the watcher delivers hints or has reported why it does not.
"""

from __future__ import annotations

from loguru import logger
from msgspec import Struct

from tacitd.app import App
from tacitd.engine import MAX_SLEEP
from tacitd.errors import TacitdError
from tacitd.reload import reload_config
from tacitd.service.heap import return_memory
from tacitd.service.notify import Notifier

STUCK_AFTER = 1800.0
"""Seconds after which a worker that is still busy with one work item counts as stuck."""
TRIM_EVERY = 5.0
"""Minimum seconds between two times that free memory is returned to the system. A full comparison needs some for a moment."""
SAY_EVERY = 5.0
"""Minimum seconds between two status lines."""


class Supervision(Struct):
    """An open App and the service manager that supervises it."""

    app: App
    notifier: Notifier
    _last_status: str = ""
    _next_status: float = 0.0
    _wrong: str = ""
    _next_trim: float = 0.0

    def announce_ready(self) -> None:
        """Report READY=1."""
        return_memory()
        self._last_status = describe_state(self.app)
        self.notifier.notify_ready(self._last_status)

    def run(self) -> None:
        """Run the App until it is stopped. Each pass of the engine's loop reports a sign of life, often enough for the
        service manager."""
        self.app.run(self.report_health, self.max_sleep)

    @property
    def max_sleep(self) -> float:
        """Maximum seconds between two signs of life."""
        return min(MAX_SLEEP, self.notifier.interval / 2) if self.notifier.interval is not None else MAX_SLEEP

    def report_health(self) -> None:
        """Called after each pass of the engine's loop. Engine thread."""
        now = self.app.clock.monotonic()
        if now >= self._next_trim:
            self._next_trim = now + TRIM_EVERY
            return_memory()
        if not self.notifier.address:
            return
        wrong = find_fault(self.app, now)
        if wrong and wrong != self._wrong:
            logger.error("unhealthy: {}; the service manager may restart the daemon", wrong)
            self._next_status = now
        self._wrong = wrong
        if not wrong:
            self.notifier.notify_alive(now)
        if now >= self._next_status:
            self._next_status = now + SAY_EVERY
            self._send_status(wrong or describe_state(self.app))

    def _send_status(self, text: str) -> None:
        if text != self._last_status:
            self._last_status = text
            self.notifier.notify_status(text)

    def request_stop(self) -> None:
        """Begin to stop. A second call does nothing. Any thread."""
        if self.app.stopping.is_set():
            return
        logger.info("stopping")
        self.notifier.notify_stopping()
        self.app.request_stop()

    def reload_or_keep(self) -> None:
        """Apply the whole new configuration, or keep the old one and log why. Any thread but the engine's."""
        self.notifier.notify_reloading()
        try:
            changed = reload_config(self.app)
            logger.info("reloaded; changed: {}", ", ".join(changed) or "nothing")
        except (TacitdError, OSError, TimeoutError) as error:
            logger.error("not reloaded, the old configuration stays in force: {}", error)
        finally:
            self.notifier.notify_ready(self._last_status)


def find_fault(app: App, now: float) -> str:
    """Why the daemon counts as stuck; "" if it does not. `now`: monotonic seconds. Engine thread."""
    for (name, lane), since in app.engine.runner.running.items():
        if now - since > STUCK_AFTER:
            return f"the handler {name} has been busy{f' with {lane}' if lane else ''} for {(now - since) / 60:.0f} min"
    if not app.engine.follower.is_well:
        return "the watcher has ended"
    return ""


def describe_state(app: App) -> str:
    """The status in one line, for the service manager. Engine thread, or before the engine runs."""
    engine = app.engine
    parts = [f"watches {len(engine.follower.stamps)} transcripts"]
    busy = len(engine.runner.running)
    ((parked,),) = app.store.rows("SELECT count(*) FROM task WHERE reason <> ''")
    if engine.choices.paused_all:
        parts.append("paused")
    parts += [f"{n} {what}" for n, what in ((busy, "busy"), (parked, "parked")) if n]
    parts += [one.what.replace("\n", " ") for one in app.list_degradations()[:1]]
    return "; ".join(parts)
