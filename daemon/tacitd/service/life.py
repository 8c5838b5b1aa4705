"""A daemon under a service manager: ready, alive, reloading, leaving. Decides what counts as alive, and says so.

`WATCHDOG=1` goes out from the engine's own turn, and only when every heartbeat is fresh: the loop comes round, no
worker has been busy for longer than any call may take, and hints come or it is known why they do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from loguru import logger

from tacitd.app import App
from tacitd.errors import TacitdError
from tacitd.reload import reload
from tacitd.service.notify import Notifier

STUCK = 1800.0
"""Seconds after which a worker that is still busy with one piece of work is taken for stuck."""
SAY_EVERY = 5.0
"""Seconds between two status lines at most."""


@dataclass(slots=True)
class Life:
    """An open App and whoever keeps it running."""

    app: App
    notifier: Notifier
    _said: str = ""
    _say_at: float = 0.0
    _wrong: str = ""

    def begin(self) -> None:
        """Everything is up: say so, and be heard of from each turn on."""
        engine = self.app.engine
        if self.notifier.interval is not None:
            engine.asleep = min(engine.asleep, self.notifier.interval / 2)
        engine.on_turn = self.turned
        self._said = line(self.app)
        self.notifier.ready(self._said)

    def turned(self) -> None:
        """The loop came round. Engine thread."""
        now = self.app.clock.monotonic()
        if not self.notifier.address:
            return
        wrong = stuck(self.app, now)
        if wrong and wrong != self._wrong:
            logger.error("not well: {}; the service manager may start anew", wrong)
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
        """Begin to leave; again: nothing. Any thread."""
        if self.app.leaving.is_set():
            return
        logger.info("leaving")
        self.notifier.stopping()
        self.app.leave()

    def reload(self) -> None:
        """Take the new configuration whole, or keep the old one and say why. Any thread but the engine's."""
        self.notifier.reloading()
        try:
            changed = reload(self.app)
            logger.info("reloaded; changed: {}", ", ".join(changed) or "nothing")
        except (TacitdError, OSError, TimeoutError) as error:
            logger.error("not reloaded, the old configuration holds: {}", error)
        finally:
            self.notifier.ready(self._said)


def stuck(app: App, now: float) -> str:
    """Why the daemon is not well; "" where it is. Engine thread."""
    for (name, lane), since in app.engine.dispatcher.runner.busy_since.items():
        if now - since > STUCK:
            return f"the handler {name} has been busy with {lane} for {(now - since) / 60:.0f} min"
    if not app.engine.follower.well:
        return "the watcher ended"
    return ""


def line(app: App) -> str:
    """How it goes, in one line for a person. Engine thread, or before it runs."""
    engine = app.engine
    parts = [f"watches {len(engine.follower.stamps)} transcripts"]
    busy, parked = len(engine.dispatcher.runner.lanes), len(engine.dispatcher.agenda.parked())
    if any(hold.scope == "all" for hold in engine.holds.all()):
        parts.append("paused")
    parts += [f"{n} {what}" for n, what in ((busy, "at work"), (parked, "parked")) if n]
    parts += [one.what.replace("\n", " ") for one in engine.degradations()[:1]]
    return "; ".join(parts)
