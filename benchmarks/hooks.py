"""What hooks and the status line cost: whole processes against a start of Python, and prompts of the real client.

    python benchmarks/hooks.py [--runs 20] [--client PATH ...]

Prints medians in milliseconds. The hook's program, with a daemon, without one and with one that hangs, against
`python3 -I -S -c pass`; `tacitd statusline` against `python3 -c pass`. All are run in turn, so that a busy machine slows
them alike. With `--client`, each prompt of a session with hooks is timed against one without, in turn too: a daemon runs,
then it is dead. The bar: at most twice the start of Python; no more per prompt than two of the hook's own processes.
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
from tacitd.cli.statusline_command import make_statusline_command  # noqa: E402
from tacitd.sources.claude_code.hook_entries import ClaudeCodeHooks  # noqa: E402

PROGRAM = str(ClaudeCodeHooks.program)
PLAIN = [sys.executable, "-I", "-S", "-c", "pass"]


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
        spool = str(Path(folder) / "spool.jsonl")
        python = [sys.executable, "-I", "-S", PROGRAM]
        tacitd = str(Path(sysconfig.get_path("scripts")) / "tacitd")
        setting = shlex.split(make_statusline_command())
        rows = {
            "python3 -I -S -c pass": (PLAIN, b""),
            "hook, UserPromptSubmit": (
                [*python, str(daemon.socket), spool],
                make_input(daemon, "UserPromptSubmit"),
            ),
            "hook, SessionStart (the context is made and printed)": (
                [*python, str(daemon.socket), spool],
                make_input(daemon, "SessionStart"),
            ),
            "hook of the plugin, UserPromptSubmit": (
                ["sh", str(ROOT / "plugin/hooks/run-hook.sh")],
                make_input(daemon, "UserPromptSubmit"),
            ),
            "hook, no daemon": ([*python, f"{folder}/none", spool], make_input(daemon, "Stop")),
            "hook, a daemon that hangs": ([*python, f"{folder}/hangs", spool], make_input(daemon, "Stop")),
            "python3 -c pass": ([sys.executable, "-c", "pass"], b""),
            "status line, as `tacitd statusline --setting` has it": (setting, b""),
            "tacitd statusline": ([tacitd, "statusline"], b""),
        }
        environ = {**os.environ, **daemon.environ}
        found: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(runs + 1):  # the first one warms up
            for name, (command, data) in rows.items():
                found[name].append(time_process(command, data, environ))
    for name, times in found.items():
        print(f"{name:55} {statistics.median(times[1:]):8.1f} ms")


def compare_prompts(client: Path, runs: int) -> None:
    """Print the row of one client: the median of a prompt without hooks, with hooks that run `true`, with ours, and with ours
    and no daemon. The second is what the client itself takes to run hooks."""
    from real_stream import StreamClient  # pyright: ignore[reportMissingImports]
    from real_world import Machine  # pyright: ignore[reportMissingImports]

    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder) / "m", client)
        settings = machine.home / ".claude" / "settings.json"
        settings.write_text("{}")
        machine.start()
        env = {k: v for k, v in machine.environ.items() if not k.startswith("TACITD_")}
        try:
            with StreamClient(client, machine.project, env) as first:
                first.ask("hello")  # `hooks install` then knows which client is used
            assert machine.cli("hooks", "install").returncode == 0
            off = ("--settings", json.dumps({"disableAllHooks": True}))
            other = env | {"CLAUDE_CONFIG_DIR": str(machine.root / "other")}
            replace_commands(settings, machine.root / "other/settings.json")
            with ExitStack() as stack:
                plain = stack.enter_context(StreamClient(client, machine.project, env, off))
                trivial = stack.enter_context(StreamClient(client, machine.project, other))
                hooked = stack.enter_context(StreamClient(client, machine.project, env))
                clients = (plain, trivial, hooked)
                for one in clients:
                    one.ask("warm up")
                times = [[one.ask(f"p {n}") for one in clients] for n in range(runs)]
            without, least, with_hooks = (statistics.median(one) * 1000 for one in zip(*times, strict=True))
            machine.stop()
            with StreamClient(client, machine.project, env) as dead:
                dead.ask("warm up")
                alone = statistics.median(dead.ask(f"d {n}") for n in range(runs)) * 1000
            name = (
                client.parts[client.parts.index("node_modules") - 1]
                if "node_modules" in client.parts
                else client
            )
            print(
                f"{name!s:10} {without:8.1f} ms without, {least:8.1f} with `true`, {with_hooks:8.1f} with hooks, "
                f"{alone:8.1f} no daemon"
            )
        finally:
            machine.finish()


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
    for client in chosen.client:
        compare_prompts(client.absolute(), chosen.runs)


if __name__ == "__main__":
    main()
