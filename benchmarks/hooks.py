"""What hooks and the status line cost: whole processes against a start of Python, and prompts of the real client.

    python benchmarks/hooks.py [--runs 20] [--client PATH ...]

Prints medians in milliseconds. The hook's program, with a daemon, without one and with one that hangs, against
`python3 -I -S -c pass`; `tacitd statusline` against `python3 -c pass`: at most twice as long is asked. All are run in turn,
so that a busy machine slows them alike.

With `--client`, prompts of sessions with and without hooks are timed in turn too: a daemon runs, then it is dead. Then two
rows say which added time is asked and which was reached. Asked is the noise, the distance of the quartiles without
hooks, where the client runs UserPromptSubmit and Stop beside its own work. Where it waits for them, it is what hooks that run
`true` add and two of the hook's own processes. A row that is not reached ends with `MORE`.
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
    """Print the rows of one client: a prompt without hooks, with hooks that run `true`, which is what the client itself takes
    to run hooks, with ours, and with ours and no daemon; then what they add."""
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
            entry = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"][0]["hooks"][0]
            hook = ["/bin/sh", "-c", entry["command"]]
            data = make_input(machine, "UserPromptSubmit")
            off = ("--settings", json.dumps({"disableAllHooks": True}))
            other = env | {"CLAUDE_CONFIG_DIR": str(machine.root / "other")}
            replace_commands(settings, machine.root / "other/settings.json")

            def time_in_turn(environs: Sequence[Mapping[str, str]]) -> list[list[float]]:
                """The milliseconds of the prompts without hooks, of those with these environments, and of the hook's process."""
                with ExitStack() as stack:
                    clients = [stack.enter_context(StreamClient(client, machine.project, env, off))]
                    clients += [
                        stack.enter_context(StreamClient(client, machine.project, one)) for one in environs
                    ]
                    for one in clients:
                        one.ask("warm up")
                    rows = [
                        [*(one.ask(f"p {n}") * 1000 for one in clients), time_process(hook, data, env)]
                        for n in range(runs)
                    ]
                return [list(column) for column in zip(*rows, strict=True)]

            without, trivial, hooked, process = time_in_turn([other, env])
            machine.stop()
            without_daemon, dead, _ = time_in_turn([env])
        finally:
            machine.finish()
    parts = client.parts
    name = parts[parts.index("node_modules") - 1] if "node_modules" in parts else client
    shown = [statistics.median(one) for one in (without, trivial, hooked, dead)]
    print(
        f"{name!s:10} {shown[0]:8.1f} ms without, {shown[1]:8.1f} with `true`, {shown[2]:8.1f} with hooks, "
        f"{shown[3]:8.1f} no daemon"
    )
    lower, _, upper = statistics.quantiles(without, n=4)
    asked = upper - lower
    if not entry.get("async"):
        asked = max(asked, shown[1] - shown[0] + 2 * statistics.median(process))
    added = {"a daemon runs": shown[2] - shown[0], "no daemon": shown[3] - statistics.median(without_daemon)}
    for when, reached in added.items():
        late = "" if reached <= asked else "  MORE"
        print(f"{'':10} {when:13} asked {asked:8.1f} ms more at most, reached {reached:8.1f}{late}")


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
