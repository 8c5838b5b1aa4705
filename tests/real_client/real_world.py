"""A person's machine with the real client: home, hooks, a project, the stand-in API, and the daemon beside it.

Everything lives below one temporary directory. The daemon and the person's client get the same environment, as they
would on a person's machine; only the API is not the real one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_install import real_client
from real_tui import RealClient, client_environment, onboarded, wait_for

from support_daemon import Daemon
from support_waiting import PATIENCE
from tacitd.model.port import SENTINEL

VERSIONS = ["2.1.110", "2.1.197", "2.1.331"]
"""The oldest client that the plugin supports, the newest, and one between them."""
HOOKS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Notification", "Stop", "SubagentStop",
    "PreCompact", "SessionEnd",
)  # fmt: skip
"""The nine events that every client since 1.0.128 knows; an unknown one would disable all of them in old clients."""
HOOK = '#!/bin/sh\nwords=$(cat)\nprintf "%s\\n" "$words" >> "$1"\n'
"""One write, so that two hooks at once do not mix."""
PROJECT_MARK = "Zebra crossings are painted at night."
"""In the project's CLAUDE.md and in the person's own: a call of the daemon must not carry it."""
PERSON_MARK = "Otters hold hands while they sleep."
USAGE = {"input_tokens": 1000, "output_tokens": 100}
"""What each answer to the daemon is said to have used, so that its price is the same each time."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the client sent to `/v1/messages`."""

    bytes: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def text(self) -> str:
        """All of it, for looking for words; quotes and newlines as they were."""
        return "\n".join(_strings(self.body))

    @property
    def prompt(self) -> str | None:
        """The prompt as the daemon wrote it; None for a person's request."""
        return next((text for text in _strings(self.body.get("messages")) if text.startswith(SENTINEL)), None)

    @property
    def user_texts(self) -> list[str]:
        """What stands in the messages of the role `user`, block by block."""
        said = [one["content"] for one in self.body["messages"] if one["role"] == "user"]
        blocks = [block for one in said for block in ([{"text": one}] if isinstance(one, str) else one)]
        return [block["text"] for block in blocks if "text" in block]


class FakeApi:
    """The stand-in API as a process of its own, with rules and a log of every request."""

    def __init__(self, root: Path, rules: Sequence[Mapping[str, Any]] = ()) -> None:
        self.log = root / "api"
        file = root / "api-rules.json"
        file.write_text(json.dumps(list(rules)), encoding="utf-8")
        script = str(Path(__file__).with_name("fake_api.py"))
        command = [sys.executable, script, "--port", "0", "--log", str(self.log), "--rules", str(file)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http://\S+", self.process.stdout.readline())
        assert found is not None, "the stand-in API did not start"
        self.url = found[0]

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def requests(self) -> list[Request]:
        """Every question put to the model so far, in order."""
        every = (json.loads(path.read_bytes()) for path in sorted(self.log.glob("*.json")))
        asked = (one for one in every if one["path"].split("?")[0] == "/v1/messages")
        return [Request(one["bytes"], one["body"], one["headers"]) for one in asked]


class Machine(Daemon):
    """A person's machine. The daemon is not started yet."""

    def __init__(self, root: Path, client: Path, rules: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(root, claude=False, CLAUDE__COMMAND=str(client))
        self.client = client
        self.api = FakeApi(self.root, rules)
        settings = {
            "TACITD_CLAUDE__PASS_ENV": "ANTHROPIC_API_KEY,ANTHROPIC_BASE_URL",
            "TACITD_EXTRACTION__SETTLE": "1s",
            "TACITD_SESSION__IDLE": "4s",
        }
        self.environ.update(client_environment(self.home, self.api.url), **settings)
        onboarded(self.home, self.project)
        self.hooks = self.root / "hooks.jsonl"
        self._hooked()
        (self.home / ".claude" / "CLAUDE.md").write_text(PERSON_MARK + "\n")
        (self.project / "CLAUDE.md").write_text(PROJECT_MARK + "\n")
        self.git("add", ".")
        self.git("-c", "user.name=dev", "-c", "user.email=dev@localhost", "commit", "-qm", "begin")

    def add_plugin(self) -> None:
        """Put tacitd's plugin into the client, as a person does. The state directory is not the usual one, so the client's
        environment names it; `tacitd` is on its PATH."""
        self.environ["PATH"] = f"{Path(sys.executable).parent}:{self.environ['PATH']}"
        done = self.cli("plugin", "install")
        assert done.returncode == 0, done.stdout + done.stderr
        self.hooks.unlink(
            missing_ok=True
        )  # `claude plugin` runs the person's hooks of SessionEnd, although no session was

    def _hooked(self) -> None:
        script = self.root / "hook.sh"
        script.write_text(HOOK)
        script.chmod(0o755)
        entry = [{"hooks": [{"type": "command", "command": f"{script} {self.hooks}", "timeout": 5}]}]
        settings = self.home / ".claude" / "settings.json"
        settings.write_text(json.dumps({"hooks": dict.fromkeys(HOOKS, entry)}))

    @property
    def person_environ(self) -> dict[str, str]:
        """The environment of the person's shell, without the daemon's settings but with its state directory."""
        return {
            k: v for k, v in self.environ.items() if not k.startswith("TACITD_") or k == "TACITD_STATE_DIR"
        }

    def person(self, project: Path | None = None) -> RealClient:
        """The client in a terminal, in the project. A context manager."""
        return RealClient(self.client, self.home, project or self.project, self.person_environ)

    def run_client(
        self, words: str, *options: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One `claude -p` of the person's in the project."""
        return self.run_command("-p", words, *options, environ=environ)

    def run_command(
        self, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One run of the client in the project, as a person starts it."""
        return subprocess.run(
            [str(self.client), *arguments],
            env=self.person_environ if environ is None else environ,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE,
            check=False,
        )

    def transcripts(self) -> dict[str, str]:
        """Every transcript below `projects`: its path there, and the session that its records name."""
        return {
            str(path.relative_to(self.projects)): _session(path) for path in self.projects.rglob("*.jsonl")
        }

    def fired(self) -> Counter[tuple[str, str]]:
        """How often each hook fired, by session and event."""
        lines = self.hooks.read_text(encoding="utf-8").splitlines() if self.hooks.exists() else []
        said = [json.loads(line) for line in lines if line.strip()]
        return Counter((one["session_id"], one["hook_event_name"]) for one in said)

    def calls(self) -> list[Request]:
        """The daemon's requests."""
        return [one for one in self.api.requests() if one.prompt is not None]

    def asked_by_person(self) -> list[Request]:
        """The person's requests."""
        return [one for one in self.api.requests() if one.prompt is None]

    def wait_for_line(self, fact: str, seconds: float = 2 * PATIENCE) -> None:
        """Wait until the fact is a line of the project."""
        told = lambda: json.dumps(self.status(), indent=1)  # noqa: E731
        wait_for(lambda: fact in self.learned, seconds, f"{fact} in LEARNED.md", told)

    def finish(self) -> None:
        """Stop everything; then what must hold after every scenario."""
        self.api.close()
        super().finish()


@contextmanager
def open_machine(
    root: Path,
    version: str,
    rules: Sequence[Mapping[str, Any]] = (),
    *,
    starts: bool = True,
    plugin: bool = False,
) -> Iterator[Machine]:
    """A machine with a client of this version, on which a session would only end after an hour. `starts`: with a daemon; `plugin`: with
    tacitd's plugin in the client."""
    one = Machine(root, real_client(version), rules)
    one.environ["TACITD_SESSION__IDLE"] = "1h"
    try:
        if starts:
            one.start()
        if plugin:
            one.add_plugin()
        yield one
    finally:
        one.finish()


def _strings(value: Any) -> list[str]:
    """Every text in a document, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]


def _session(path: Path) -> str:
    records = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    return next((str(one["sessionId"]) for one in records if one.get("sessionId")), "")
