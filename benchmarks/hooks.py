"""What hooks and the status line cost: whole processes against a start of Python.

    python benchmarks/hooks.py [--runs 20]

Prints medians in milliseconds, and how many starts of Python each is: at most two are asked. A row that takes more ends with `MORE`, and the
exit code is 1 then. The plugin's hook as the client runs it,
with a daemon, without one and with one that hangs, also with a slow `python3` first on the PATH, as pyenv's shims are; and
`tacitd statusline`. All are run in turn, so that a busy machine slows them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import socket
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/real_client")]

from support_daemon import Daemon  # noqa: E402
from tacitd.cli.client_commands import make_statusline_command  # noqa: E402
from tacitd.sources.claude_code.transcripts import ClaudeCode  # noqa: E402
from tacitd.state.socket_file import write_hook_script  # noqa: E402

HOOK = ["/bin/sh", "-c", f'sh "{ROOT}/plugin/hooks/run-hook.sh" || true']
TIMES = 2
"""How much longer than a start of Python a process may take."""


def make_input(daemon: Daemon, event: str) -> bytes:
    """What the client gives to a hook."""
    data = {
        "session_id": "s1",
        "transcript_path": str(daemon.transcript("s1")),
        "cwd": str(daemon.project),
        "hook_event_name": event,
        "prompt": "use pnpm here " * 20,
    }
    return json.dumps(data, separators=(",", ":")).encode()


def time_process(command: Sequence[str], data: bytes, environ: Mapping[str, str]) -> float:
    """The milliseconds of one run."""
    began = time.perf_counter()
    subprocess.run(command, input=data, env=environ, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000


@contextmanager
def hang(state: Path) -> Iterator[None]:
    """A state directory with a socket on which nobody answers."""
    write_hook_script(state, ClaudeCode.hook_program)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(state / "tacitd.sock"))
    listening.listen(100)
    with listening:
        yield


def make_shims(folder: Path) -> Path:
    """A directory with a `python3` that starts a shell first."""
    folder.mkdir()
    (folder / "python3").write_text(
        f'#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8; do /bin/true; done\nexec {sys.executable} "$@"\n'
    )
    (folder / "python3").chmod(0o755)
    return folder


def wait_for_text(data: bytes, environ: Mapping[str, str]) -> None:
    """Until a session that starts gets a text: that of the session before."""
    deadline = time.monotonic() + 30
    while not subprocess.run(HOOK, input=data, env=environ, capture_output=True, check=True).stdout:
        assert time.monotonic() < deadline, "a session's start prints nothing"
        time.sleep(0.1)


def compare_processes(runs: int) -> bool:
    """Print the rows. Return whether none takes more than is asked."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        daemon = Daemon(folder / "d", claude=False)
        daemon.start()
        stack.callback(daemon.finish)
        stack.enter_context(hang(folder / "hangs"))
        write_hook_script(folder / "none", ClaudeCode.hook_program)
        environ = {**os.environ, **daemon.environ}
        shims = {"PATH": f"{make_shims(folder / 'shims')}:{environ['PATH']}"}
        tacitd = str(Path(sysconfig.get_path("scripts")) / "tacitd")
        prompt, start = make_input(daemon, "UserPromptSubmit"), make_input(daemon, "SessionStart")
        plain = os.path.realpath(sys.executable)
        daemon.type_("earlier", "use pnpm here")
        wait_for_text(start, environ)
        rows: dict[str, tuple[Sequence[str], bytes, Mapping[str, str]]] = {
            "python3 -S -c pass": ([plain, "-S", "-c", "pass"], b"", {}),
            "hook, UserPromptSubmit": (HOOK, prompt, {}),
            "hook, with a shim as python3": (HOOK, prompt, shims),
            "hook, SessionStart (the context is made and printed)": (HOOK, start, {}),
            "hook, no daemon": (HOOK, prompt, {"TACITD_STATE_DIR": str(folder / "none")}),
            "hook, a daemon that hangs": (HOOK, prompt, {"TACITD_STATE_DIR": str(folder / "hangs")}),
            "python3 -c pass": ([sys.executable, "-c", "pass"], b"", {}),
            "status line, as `tacitd statusline --setting` has it": (
                shlex.split(make_statusline_command()),
                b"",
                {},
            ),
            "tacitd statusline": ([tacitd, "statusline"], b"", {}),
        }
        found: dict[str, list[float]] = {row: [] for row in rows}
        for _ in range(runs + 1):  # the first one warms up
            for row, (command, data, more) in rows.items():
                found[row].append(time_process(command, data, {**environ, **more}))
    yardstick, slow = 0.0, 0
    for row, times in found.items():
        took, against = statistics.median(times[1:]), ""
        if row.startswith("python3"):
            yardstick = took
        else:
            is_slow = took / yardstick > TIMES
            slow += is_slow
            against = f"  {took / yardstick:4.1f} times, asked {TIMES}{'  MORE' * is_slow}"
        print(f"{row:55} {took:8.1f} ms{against}", flush=True)
    return not slow


def main() -> int:
    """Run what was asked for; return 0 if no row takes more than is asked, otherwise 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    return 0 if compare_processes(parser.parse_args().runs) else 1


if __name__ == "__main__":
    sys.exit(main())
