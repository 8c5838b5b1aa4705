"""A program in a pseudo-terminal: type into it, wait for what it shows. For scenarios, which may poll."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from support_waiting import PATIENCE

ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>]|\([A-B])")


class Terminal:
    """A child with a terminal of its own: 100 columns, 40 lines. `shown` has what it printed, without escape sequences."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], cwd: Path) -> None:
        self._fd, child = pty.openpty()
        termios.tcsetwinsize(self._fd, (40, 100))
        env = {
            **environ,
            "TERM": "xterm-256color",
            "COLUMNS": "100",
            "LINES": "40",
        }
        self.process = subprocess.Popen(
            list(argv), env=env, cwd=cwd, stdin=child, stdout=child, stderr=child, start_new_session=True
        )
        os.close(child)
        self._raw = b""
        self._seen = 0

    @property
    def raw(self) -> bytes:
        """Everything printed so far, with escape sequences."""
        return self._raw

    @property
    def shown(self) -> str:
        """The same as text without them."""
        text = ESCAPES.sub("", self._raw.decode("utf-8", "replace"))
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def wait_for(self, words: str) -> None:
        """Wait until these words were shown after the last ones that were waited for."""
        last = time.monotonic() + PATIENCE
        while words not in self.shown[self._seen :]:
            assert time.monotonic() < last, f"{words!r} is not in {self.shown[self._seen :]!r}"
            assert self._read() or words in self.shown[self._seen :], (
                f"it ended: {self.shown[self._seen :]!r}"
            )
        self._seen = self.shown.index(words, self._seen) + len(words)

    def say(self, text: str, after: str) -> None:
        """Wait for these words and for the prompt after them, then type a line."""
        self.wait_for(after)
        self.wait_for("\n>")
        self.press(f"{text}\r")

    def press(self, keys: str) -> None:
        """Send keys."""
        os.write(self._fd, keys.encode())

    def wait_end(self) -> int:
        """Wait for the end of the process; return its exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def close(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Send the process a signal, and wait for its end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.wait_end()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        return code

    def _read(self) -> bool:
        """Read what there is; return False when the child has closed the terminal."""
        if self._fd < 0:
            return False
        ready, _, _ = select.select([self._fd], [], [], 0.2)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux: the last user of the other side has closed it
            return False
        self._raw += data
        return bool(data)
