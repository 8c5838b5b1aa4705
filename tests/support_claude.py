"""Installs the stand-in for Claude Code for a test, and reads its calls.

Shared by the adapter's tests and the scenarios. The docstring of `stand_in/claude` describes its rules.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent / "stand_in" / "claude"
HEARD = Path(__file__).parent / "support_heard.py"
PROXY = Path(__file__).parent / "stand_in" / "proxy"
LOGIN = frozenset({"HOME", "PATH", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"})
"""Variables by which the client finds its login and itself."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """An installed stand-in. Put `directory` on PATH, or use `program`."""

    program: Path

    @property
    def directory(self) -> Path:
        return self.program.parent

    def path(self) -> str:
        """A PATH with the stand-in first."""
        return os.pathsep.join((str(self.directory), "/usr/local/bin", "/usr/bin", "/bin"))

    def rules(self, rules: Sequence[Mapping[str, Any]], **config: Any) -> None:
        """Replace the rules; calls from now on follow the new ones."""
        target = self.program.with_name(self.program.name + ".json")
        temporary = target.with_suffix(".new")
        temporary.write_text(json.dumps({"rules": list(rules), **config}), encoding="utf-8")
        temporary.replace(target)

    def calls(self) -> list[dict[str, Any]]:
        """Every call so far: argv, env, cwd, stdin, pid, at, rule."""
        log = self.program.with_name(self.program.name + ".log.jsonl")
        if not log.exists():
            return []
        whole, _, _ = log.read_bytes().rpartition(b"\n")  # behind it a call may be writing its line right now
        return [json.loads(line) for line in whole.splitlines()]

    def prompts(self) -> list[str]:
        """The standard input of each call."""
        return [str(call["stdin"]) for call in self.calls()]

    def grandchild(self) -> int:
        """The pid of the grandchild that some faults start."""
        return int(self.program.with_name(self.program.name + ".grandchild").read_text(encoding="utf-8"))

    def hangs(self) -> bool:
        """Whether a call with a hanging fault hangs by now, with SIGTERM ignored if the fault says so."""
        return self.program.with_name(self.program.name + ".hung").exists()


def install_stand_in(directory: Path, rules: Sequence[Mapping[str, Any]] = (), **config: Any) -> StandIn:
    """Copy the stand-in into a directory as `claude`, with this interpreter, and give it its rules."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "claude"
    body = SCRIPT.read_text(encoding="utf-8").split("\n", 1)[1]
    program.write_text(f"#!{Path(sys.executable).resolve()} -IS\n{body}", encoding="utf-8")
    program.chmod(0o755)
    (directory / HEARD.name).write_bytes(HEARD.read_bytes())
    stand_in = StandIn(program)
    stand_in.rules(rules, **config)
    return stand_in


def install_proxy(directory: Path, real: Path) -> StandIn:
    """Install a `claude` that passes each call to the real one, with this process's home and login, and logs it."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "claude"
    body = PROXY.read_text(encoding="utf-8").split("\n", 1)[1]
    program.write_text(f"#!{Path(sys.executable).resolve()} -IS\n{body}", encoding="utf-8")
    program.chmod(0o755)
    login = {
        name: value for name, value in os.environ.items() if name in LOGIN or name.startswith("ANTHROPIC_")
    }
    given = {"real": str(real), "environ": login}
    program.with_name("claude.json").write_text(json.dumps(given), encoding="utf-8")
    return StandIn(program)
