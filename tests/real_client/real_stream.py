"""Many prompts to one process of the real client, without a terminal: `claude -p` with a stream of JSON in and out.

with StreamClient(binary, project, env) as client:
    seconds = client.ask("say hello")  # until the turn is over, its hooks included
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STREAM = (
    "-p",
    "--model",
    "haiku",
    "--verbose",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
)


class StreamClient:
    """One run of the client. `env`: its whole environment."""

    def __init__(self, binary: Path, project: Path, env: Mapping[str, str], args: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [str(binary), *STREAM, *args],
            cwd=project,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> StreamClient:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def ask(self, text: str) -> float:
        """Send a prompt and wait for its result; return the seconds. Raises EOFError if the client ends before."""
        assert self.process.stdin is not None and self.process.stdout is not None
        message = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}
        began = time.perf_counter()
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            said: dict[str, Any] = json.loads(line)
            if said.get("type") == "result":
                return time.perf_counter() - began
        raise EOFError("the client ended before it answered")
