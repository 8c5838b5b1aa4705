"""systemd's notification protocol, without a library.

Public source: sd_notify(3). Each message is one datagram to the socket that NOTIFY_SOCKET names (an abstract one if it
begins with `@`). Without NOTIFY_SOCKET nothing is sent. When the service is ready or alive is decided in `supervision.py`.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct


class Notifier(Struct):
    """The connection to the service manager. Sending never raises: the daemon runs on without its manager."""

    address: str = ""
    interval: float | None = None
    """Maximum seconds between two signs of life: half of what the manager allows. None: the manager expects none."""
    _next: float = 0.0

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Notifier:
        """From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID."""
        usec, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
        ours = not pid or pid == str(os.getpid())
        interval = int(usec) / 2e6 if usec.isdigit() and int(usec) > 0 and ours else None
        return cls(environ.get("NOTIFY_SOCKET", ""), interval)

    def send(self, **states: str) -> None:
        """Send assignments such as `READY="1"`, in the given order."""
        if not self.address:
            return
        text = "\n".join(f"{name}={value}" for name, value in states.items())
        path = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.sendto(text.encode("utf-8", "replace"), path)

    def notify_ready(self, status: str) -> None:
        """Report that lock, socket, watches and the first listing are up."""
        self.send(READY="1", STATUS=status)

    def notify_status(self, text: str) -> None:
        """Send one line for a person."""
        self.send(STATUS=text)

    def notify_reloading(self) -> None:
        """Report that the configuration is being read again, until `notify_ready` is called."""
        self.send(RELOADING="1", MONOTONIC_USEC=str(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000))

    def notify_stopping(self) -> None:
        """Report that the daemon is stopping."""
        self.send(STOPPING="1")

    def notify_alive(self, monotonic: float) -> None:
        """Send a sign of life if one is due. `monotonic`: the time in seconds. Call this only if the daemon is well."""
        if self.interval is not None and monotonic >= self._next:
            self._next = monotonic + self.interval / 2
            self.send(WATCHDOG="1")
