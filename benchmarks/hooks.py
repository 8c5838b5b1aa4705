"""What hooks and the status line cost: whole processes against a start of Python, and prompts of the real client.

    python benchmarks/hooks.py [--runs 20] [--client PATH ...]

Prints medians in milliseconds. The hook's program, with a daemon, without one and with one that hangs, against
`python3 -I -S -c pass`; `tacitd statusline` against `python3 -c pass`: at most twice as long is asked. All are run in turn,
so that a busy machine slows them alike.

With `--client`, prompts of three sessions are timed in turn, in another order each time: without hooks, with hooks that run
`true`, which is what the client itself takes to run hooks, and with ours. First a daemon runs, then it is dead. Between two
prompts is a pause, as there is when a person types, and no model call begins. Each row says which added time is asked and
which was reached (`paired_times.py`), each interval with 95 %, and ends with `kept`, `within noise` or `MISSED`. Exits with 1 if
one was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import socket
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/real_client")]

from paired_times import Turn, judge_turns  # noqa: E402
from support_daemon import Daemon  # noqa: E402
from tacitd.cli.statusline_command import make_statusline_command  # noqa: E402
from tacitd.sources.claude_code.hook_entries import ClaudeCodeHooks  # noqa: E402

if TYPE_CHECKING:
    from real_stream import StreamClient  # pyright: ignore[reportMissingImports]

PROGRAM = str(ClaudeCodeHooks.program)
PLAIN = [sys.executable, "-I", "-S", "-c", "pass"]
TIMES = 2
"""How much longer than a start of Python a process may take."""
PAUSE = 0.6
"""Seconds before each prompt: the daemon has then read what the prompt before it wrote."""
QUIET = {
    "TACITD_EXTRACTION__SETTLE": "1h",
    "TACITD_EXTRACTION__MAX_PROMPTS": "100",
    "TACITD_SESSION__IDLE": "1h",
}
"""No model call begins between the prompts: it is a client of its own, and takes a second of a core."""


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
def hang(path: Path) -> Iterator[None]:
    """A socket on which nobody answers."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen(100)
    with listening:
        yield


def compare_processes(runs: int) -> None:
    """Print the rows of the processes."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        daemon = Daemon(Path(folder) / "d", claude=False)
        daemon.start()
        stack.callback(daemon.finish)
        stack.enter_context(hang(Path(folder) / "hangs"))
        python = [sys.executable, "-I", "-S", PROGRAM]
        tacitd = str(Path(sysconfig.get_path("scripts")) / "tacitd")
        setting = shlex.split(make_statusline_command())
        rows = {
            "python3 -I -S -c pass": (PLAIN, b""),
            "hook, UserPromptSubmit": (
                [*python, str(daemon.socket)],
                make_input(daemon, "UserPromptSubmit"),
            ),
            "hook, SessionStart (the context is made and printed)": (
                [*python, str(daemon.socket)],
                make_input(daemon, "SessionStart"),
            ),
            "hook of the plugin, UserPromptSubmit": (
                ["sh", str(ROOT / "plugin/hooks/run-hook.sh")],
                make_input(daemon, "UserPromptSubmit"),
            ),
            "hook, no daemon": ([*python, f"{folder}/none"], make_input(daemon, "Stop")),
            "hook, a daemon that hangs": ([*python, f"{folder}/hangs"], make_input(daemon, "Stop")),
            "python3 -c pass": ([sys.executable, "-c", "pass"], b""),
            "status line, as `tacitd statusline --setting` has it": (setting, b""),
            "tacitd statusline": ([tacitd, "statusline"], b""),
        }
        environ = {**os.environ, **daemon.environ}
        found: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(runs + 1):  # the first one warms up
            for name, (command, data) in rows.items():
                found[name].append(time_process(command, data, environ))
    yardstick = 0.0
    for name, times in found.items():
        took = statistics.median(times[1:])
        yardstick = took if name.startswith("python3") else yardstick
        against = "" if name.startswith("python3") else f"  {took / yardstick:4.1f} times, asked {TIMES}"
        print(f"{name:55} {took:8.1f} ms{against}", flush=True)


def compare_prompts(client: Path, runs: int) -> bool:
    """Print the rows of one client; return whether each added time is one that is asked."""
    from real_stream import StreamClient  # pyright: ignore[reportMissingImports]
    from real_world import Machine  # pyright: ignore[reportMissingImports]

    parts = client.parts
    name = parts[parts.index("node_modules") - 1] if "node_modules" in parts else str(client)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        machine = Machine(Path(folder) / "m", client)
        stack.callback(machine.finish)
        machine.environ.update(QUIET)
        settings = machine.home / ".claude" / "settings.json"
        settings.write_text("{}")
        machine.start()
        env = {k: v for k, v in machine.environ.items() if not k.startswith("TACITD_")}
        with StreamClient(client, machine.project, env) as first:
            first.ask("hello")  # `hooks install` then knows which client is used
        assert machine.cli("hooks", "install").returncode == 0
        entry = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"][0]["hooks"][0]
        hook = ["/bin/sh", "-c", entry["command"]]
        data = make_input(machine, "UserPromptSubmit")
        off = ("--settings", json.dumps({"disableAllHooks": True}))
        other = env | {"CLAUDE_CONFIG_DIR": str(machine.root / "other")}
        replace_commands(settings, machine.root / "other/settings.json")

        def time_turns() -> list[Turn]:
            """Time the prompts of new sessions, and the hook's process."""
            chosen = ((env, off), (other, ()), (env, ()))
            with ExitStack() as sessions:
                clients = [
                    sessions.enter_context(StreamClient(client, machine.project, environ, args))
                    for environ, args in chosen
                ]
                for one in clients:
                    one.ask("warm up")
                return [
                    time_turn(clients, f"p {n}", lambda: time_process(hook, data, env)) for n in range(runs)
                ]

        kept = print_turns(name, "a daemon runs", time_turns(), waits=not entry.get("async"))
        machine.stop()
        return print_turns(name, "no daemon", time_turns(), waits=not entry.get("async")) and kept


def time_turn(clients: Sequence[StreamClient], text: str, run_hook: Callable[[], float]) -> Turn:
    """One prompt of each of these three sessions (without hooks, with `true`, with ours) in any order, and the hook's process."""
    times = dict.fromkeys(random.sample(range(len(clients)), len(clients)), 0.0)
    for number in times:
        time.sleep(PAUSE)
        times[number] = clients[number].ask(text) * 1000
    time.sleep(PAUSE)
    return Turn(times[0], times[1], times[2], run_hook())


def print_turns(name: str, when: str, turns: Sequence[Turn], *, waits: bool) -> bool:
    """Print what these turns took and added; return whether that is not more than is asked."""
    found = judge_turns(turns, waits=waits)
    columns = [statistics.median(column) for column in zip(*map(astuple, turns), strict=True)]
    print(
        f"{name}, {when}: {columns[0]:.1f} ms without hooks, {columns[1]:.1f} with `true`, {columns[2]:.1f} with hooks, "
        f"the hook's process {columns[3]:.1f}"
    )
    excess = found.reached - found.asked
    rows = (
        (f"asked {found.asked:.1f} more at most, reached", found.reached, found.interval, ""),
        ("reached minus asked", excess, found.excess, f"  {found.word}"),
        (f"`true` adds {found.trivial:.1f}, tacitd's hooks to that", found.beyond, found.beyond_interval, ""),
    )
    for what, value, (lower, upper), word in rows:
        print(f"    {what:40} {value:6.1f}  [{lower:.1f}, {upper:.1f}]{word}", flush=True)
    return found.word != "MISSED"


def replace_commands(settings: Path, target: Path) -> None:
    """Write these settings to another file, with `true` in place of each hook's command."""
    document = json.loads(settings.read_text())
    for groups in document["hooks"].values():
        for group in groups:
            group["hooks"] = [one | {"command": "true"} for one in group["hooks"]]
    target.parent.mkdir()
    target.write_text(json.dumps(document))


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--client", type=Path, action="append", default=[])
    chosen = parser.parse_args()
    compare_processes(chosen.runs)
    kept = [compare_prompts(client.absolute(), chosen.runs) for client in chosen.client]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
