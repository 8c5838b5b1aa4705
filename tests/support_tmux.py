"""A program in a tmux of its own: what a person sees at a given size. For scenarios, which may poll."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import join

from support_waiting import PATIENCE, until

HAS_TMUX = shutil.which("tmux") is not None


class Tmux:
    """One pane. Close it at the end."""

    def __init__(
        self, folder: Path, argv: Sequence[str], environ: Mapping[str, str], columns: int, lines: int = 40
    ) -> None:
        """The pane stays when the program has ended, and then shows its exit code: `code 0`."""
        self._socket = str(folder / f"tmux-{columns}")
        self._environ = {**environ, "TERM": "xterm-256color"}
        size = ["-x", str(columns), "-y", str(lines)]
        command = f"trap : INT; {join(argv)}; echo code $?; exec cat"  # Ctrl-C must not end the shell
        config = folder / f"tmux-{columns}.conf"
        config.write_text("set -g status off\nset -g default-terminal screen-256color\n")
        self._tmux(
            "-f", str(config), "new-session", "-d", *size, "env", *_settings(environ), "sh", "-c", command
        )

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments],
            env=self._environ | {"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout

    @property
    def shown(self) -> list[str]:
        """The lines of the screen."""
        return self._tmux("capture-pane", "-p").splitlines()

    def wait_for(self, condition: Callable[[list[str]], object]) -> list[str]:
        """Wait until the condition is true of the lines, and return them."""
        last: list[str] = []

        def holds() -> bool:
            nonlocal last
            last = self.shown
            return bool(condition(last))

        try:
            until(holds)
        except AssertionError:
            raise AssertionError("\n".join(last)) from None
        return last

    def press(self, *keys: str) -> None:
        """Send keys by tmux's names, such as `C-c`."""
        self._tmux("send-keys", *keys)

    def close(self) -> None:
        """End tmux and the program."""
        self._tmux("kill-server")


def _settings(environ: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environ.items()]
