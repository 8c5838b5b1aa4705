"""Telling a service manager how it goes: systemd's notification protocol, without a library.

Public source: sd_notify(3). One datagram to the socket that NOTIFY_SOCKET names (`@` first: an abstract one); where
there is none, everything here does nothing. Nothing here decides when the service is ready or well.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass


@dataclass(slots=True)
class Notifier:
    """A way to the service manager. Sending never raises: a manager that is gone is no reason to fail."""

    address: str = ""
    interval: float | None = None
    """Seconds between two signs of life at most, half of what the manager allows; None: it wants none."""
    _next: float = 0.0

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Notifier:
        """From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID."""
        usec, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
        ours = not pid or pid == str(os.getpid())
        interval = int(usec) / 2e6 if usec.isdigit() and int(usec) > 0 and ours else None
        return cls(environ.get("NOTIFY_SOCKET", ""), interval)

    def send(self, **states: str) -> None:
        """Send assignments such as `READY="1"`; the order is kept."""
        if not self.address:
            return
        text = "\n".join(f"{name}={value}" for name, value in states.items())
        path = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.sendto(text.encode("utf-8", "replace"), path)

    def ready(self, status: str) -> None:
        """Everything is up: lock, socket, watches, first listing."""
        self.send(READY="1", STATUS=status)

    def status(self, text: str) -> None:
        """One human line."""
        self.send(STATUS=text)

    def reloading(self) -> None:
        """The configuration is being read again; `ready` ends it."""
        self.send(RELOADING="1", MONOTONIC_USEC=str(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000))

    def stopping(self) -> None:
        """On the way out."""
        self.send(STOPPING="1")

    def extend(self, seconds: float) -> None:
        """A migration takes longer: so much more time, please."""
        self.send(EXTEND_TIMEOUT_USEC=str(int(seconds * 1e6)))

    def alive(self, monotonic: float) -> None:
        """A sign of life, at most as often as asked for. Call only when every heartbeat is fresh."""
        if self.interval is not None and monotonic >= self._next:
            self._next = monotonic + self.interval / 2
            self.send(WATCHDOG="1")
