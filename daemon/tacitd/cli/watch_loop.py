"""`tacitd status --watch`: keeps the view on the terminal up to date until Ctrl-C, across restarts of the daemon.

It asks for the status once a second, and at once when the daemon announces something. rich is imported here and nowhere
else in the status, because it takes long.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from tacitd.cli.common import escape_output
from tacitd.cli.standard_streams import has_unicode
from tacitd.cli.status_lines import StatusLine
from tacitd.cli.terminal_text import NARROW
from tacitd.cli.watch_view import RECENT, fit_lines, list_watch_lines
from tacitd.control.client import Subscription, call_daemon
from tacitd.errors import TacitdError

EVERY = 1.0
"""Seconds between two looks at the status."""
STYLES = {"head": "bold", "problem": "bold red", "hint": "yellow", "good": "green", "plain": ""}


class WatchScreen:
    """The newest lines, fitted to the terminal each time it is drawn, so that a changed size needs no event."""

    def __init__(self, *, unicode: bool) -> None:
        self._unicode = unicode
        self._document: Mapping[str, Any] | None = None
        self._message = "connecting"
        self.recent: deque[Mapping[str, Any]] = deque(maxlen=RECENT)

    def show_document(self, document: Mapping[str, Any]) -> None:
        """Show this status."""
        self._document, self._message = document, ""

    def show_message(self, text: str) -> None:
        """Show why there is no status now; the last one stays below."""
        self._message = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines that fit."""
        size = console.size
        for line in fit_lines(
            self._list_lines(bars=size.width >= NARROW), size.width, max(1, size.height - 1)
        ):
            yield Text(escape_output(line.text), style=STYLES[line.kind], no_wrap=True, overflow="crop")

    def _list_lines(self, *, bars: bool) -> list[StatusLine]:
        lines = [StatusLine("!", self._message, "problem")] if self._message else []
        if self._document is not None:
            with suppress(KeyError, TypeError, AttributeError):  # a daemon of another version
                return lines + list_watch_lines(
                    self._document, list(self.recent), time.time(), unicode=self._unicode, bars=bars
                )
            lines.append(StatusLine("!", "the daemon is of another version: run `tacitd restart`", "problem"))
        return lines


def watch_status(socket: Path) -> None:
    """Show the status until Ctrl-C. Raises UnavailableError if no daemon runs at the beginning."""
    call_daemon(socket, "ping")
    console = Console(no_color=bool(os.environ.get("NO_COLOR")) or None, highlight=False)
    screen = WatchScreen(unicode=has_unicode(sys.stdout))
    with (
        suppress(KeyboardInterrupt),
        Live(screen, console=console, auto_refresh=False, screen=console.is_terminal) as live,
    ):
        while True:
            try:
                _follow_daemon(socket, screen, live)
            except TacitdError:  # gone, or stopping: then it refuses to answer
                screen.show_message("no daemon runs; waiting for one")
                live.refresh()
                time.sleep(EVERY)


def _follow_daemon(socket: Path, screen: WatchScreen, live: Live) -> None:
    """Show the status of one daemon until it is gone. Raises UnavailableError or CallFailedError then."""
    with Subscription(socket, {"last": RECENT}) as subscription:
        screen.recent.clear()
        while True:
            screen.show_document(call_daemon(socket, "status"))
            live.refresh()
            until = time.monotonic() + EVERY
            while (left := until - time.monotonic()) > 0:
                found = subscription.read_next(left)
                if found is not None and found[0] == "activity":
                    screen.recent.append(found[1])
                    until = min(until, time.monotonic() + 0.1)  # many may come at once
