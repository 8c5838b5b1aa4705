"""A daemon under a service manager: ready, alive, reloading, stopping. Decides what counts as alive and reports it.

The engine's loop sends `WATCHDOG=1`, and only if all is well: the loop runs, no worker has been busy for longer than any
call may take, and the watcher delivers hints or has reported why it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from loguru import logger

from tacitd.app import App
from tacitd.errors import TacitdError
from tacitd.reload import reload
from tacitd.service.notify import Notifier

STUCK = 1800.0
"""Seconds after which a worker that is still busy with one work item counts as stuck."""
SAY_EVERY = 5.0
"""Minimum seconds between two status lines."""


@dataclass(slots=True)
class Life:
    """An open App and the service manager that supervises it."""

    app: App
    notifier: Notifier
    _said: str = ""
    _say_at: float = 0.0
    _wrong: str = ""

    def begin(self) -> None:
        """Report READY=1, and from now on a sign of life from each pass of the engine's loop."""
        engine = self.app.engine
        if self.notifier.interval is not None:
            engine.asleep = min(engine.asleep, self.notifier.interval / 2)
        engine.on_turn = self.turned
        self._said = line(self.app)
        self.notifier.ready(self._said)

    def turned(self) -> None:
        """Called after each pass of the engine's loop. Engine thread."""
        now = self.app.clock.monotonic()
        if not self.notifier.address:
            return
        wrong = stuck(self.app, now)
        if wrong and wrong != self._wrong:
            logger.error("unhealthy: {}; the service manager may restart the daemon", wrong)
            self._say_at = now
        self._wrong = wrong
        if not wrong:
            self.notifier.alive(now)
        if now >= self._say_at:
            self._say_at = now + SAY_EVERY
            self._say(wrong or line(self.app))

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self.notifier.status(text)

    def leave(self) -> None:
        """Begin to stop. A second call does nothing. Any thread."""
        if self.app.leaving.is_set():
            return
        logger.info("stopping")
        self.notifier.stopping()
        self.app.leave()

    def reload(self) -> None:
        """Apply the whole new configuration, or keep the old one and log why. Any thread but the engine's."""
        self.notifier.reloading()
        try:
            changed = reload(self.app)
            logger.info("reloaded; changed: {}", ", ".join(changed) or "nothing")
        except (TacitdError, OSError, TimeoutError) as error:
            logger.error("not reloaded, the old configuration stays in force: {}", error)
        finally:
            self.notifier.ready(self._said)


def stuck(app: App, now: float) -> str:
    """Why the daemon counts as stuck; "" if it does not. `now`: monotonic seconds. Engine thread."""
    for (name, lane), since in app.engine.dispatcher.runner.busy_since.items():
        if now - since > STUCK:
            return f"the handler {name} has been busy with {lane} for {(now - since) / 60:.0f} min"
    if not app.engine.follower.well:
        return "the watcher has ended"
    return ""


def line(app: App) -> str:
    """The status in one line, for the service manager. Engine thread, or before the engine runs."""
    engine = app.engine
    parts = [f"watches {len(engine.follower.stamps)} transcripts"]
    busy, parked = len(engine.dispatcher.runner.lanes), len(engine.dispatcher.agenda.parked())
    if any(hold.scope == "all" for hold in engine.holds.all()):
        parts.append("paused")
    parts += [f"{n} {what}" for n, what in ((busy, "busy"), (parked, "parked")) if n]
    parts += [one.what.replace("\n", " ") for one in engine.degradations()[:1]]
    return "; ".join(parts)
