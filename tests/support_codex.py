"""Rollouts as Codex writes them: the shapes of 0.42, 0.98, 0.157 and 0.169, each beginning as the client begins it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.testing import World

RECORDINGS = Path(__file__).parent / "fixtures/codex"

SESSION = "01a2000b-fa15-7a93-a298-f1239a3e715a"
PARENT = "01a20001-0000-7000-a298-f1239a3e715a"
START = 1_795_297_181.0


class Rollout:
    """A rollout that grows, one record a second."""

    def __init__(
        self, home: Path, cwd: Path | str, version: str = "0.169.0", *, at: float = START, **meta: Any
    ) -> None:
        """`at`: when it begins, seconds since 1970, UTC. `meta`: fields of the first line, over those of a person's session in a
        terminal."""
        self.version = version
        self.cwd = str(cwd)
        self.at = at
        self.id = str(meta.get("id", SESSION))
        self.path = _name_rollout(home, at, self.id)
        self._turn = 0
        is_old = version in ("0.42.0", "0.98.0")
        source = {} if version == "0.42.0" else {"source": "cli" if is_old else "vscode"}
        originator = "codex_cli_rs" if is_old else "codex-tui"
        first = {"id": self.id, "cwd": self.cwd, "originator": originator, "cli_version": version}
        self.add(
            "session_meta", **(first | source | meta), base_instructions={"text": "You are a coding agent"}
        )
        self.say_as_user("# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nUse tabs\n</INSTRUCTIONS>")
        self.say_as_user(f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>")

    def add(self, record: str, /, **payload: Any) -> None:
        """Append a line."""
        stamp = utc_seconds(self.at).removesuffix("Z") + ".250Z"
        line = {"timestamp": stamp, "type": record, "payload": payload}
        self.at += 1.0
        with self.path.open("a") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def say_as_user(self, text: str) -> None:
        """The copy of a text that goes to the model, which has no author."""
        content = [{"type": "input_text", "text": text}]
        self.add("response_item", type="message", role="user", content=content)

    def begin_turn(self, trigger: str | None = "user") -> None:
        """The records before a turn's first prompt."""
        self._turn += 1
        if self.version == "0.169.0":
            self.add("event_msg", type="task_started", turn_attribution={"turn_trigger": trigger})
        elif self.version == "0.157.0":
            self.add("event_msg", type="task_started", turn_id=f"turn-{self._turn}")

    def type(self, text: str, *, typed: bool = True, id: str = "") -> None:
        """A prompt in the turn that goes on. `typed`: at the terminal."""
        self.say_as_user(text)
        if self.version in ("0.42.0", "0.98.0"):
            more: dict[str, Any] = {"kind": "plain"} if self.version == "0.42.0" else {"images": []}
            self.add("event_msg", type="user_message", message=text, **more)
            return
        item = {
            "type": "UserMessage",
            "id": id or f"item-{int(self.at)}",
            "content": [{"type": "text", "text": text}],
        }
        if typed:
            item["client_id"] = f"client-{int(self.at)}"
        self.add("event_msg", type="item_completed", item=item)

    def ask(self, text: str, trigger: str | None = "user", *, typed: bool = True) -> None:
        """A turn with one prompt."""
        self.begin_turn(trigger)
        self.type(text, typed=typed)
        self.add("turn_context", cwd=self.cwd)

    def answer(self, text: str) -> None:
        """The assistant's text."""
        content = [{"type": "output_text", "text": text}]
        self.add("response_item", type="message", role="assistant", content=content)

    def patch(self, *names: str) -> None:
        """A call that changes files."""
        text = "".join(f"*** Update File: {name}\n@@\n-a\n+b\n" for name in names)
        patch = f"*** Begin Patch\n{text}*** End Patch"
        self.add("response_item", type="custom_tool_call", name="apply_patch", call_id="call-1", input=patch)


def _name_rollout(home: Path, at: float, session: str) -> Path:
    """Where the client writes a rollout that begins now, in a directory that is there."""
    day = utc_seconds(at)[:10]
    path = home / "sessions" / day.replace("-", "/") / f"rollout-{day}T22-39-36-{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def grow_recording(home: Path, cwd: Path, version: str, words: Mapping[str, str], world: World) -> None:
    """Write a recorded rollout of the client record by record, a few at a time, with another directory, other times, and these words in
    the place of the prompts that begin so."""
    lines = (RECORDINGS / f"{version}.jsonl").read_text().splitlines()
    path = _name_rollout(home, world.clock.now(), SESSION)
    for number, line in enumerate(lines):
        record = _put_words(json.loads(line.replace("/home/dev/proj", str(cwd))), words)
        record["timestamp"] = utc_seconds(world.clock.now()).removesuffix("Z") + ".250Z"
        with path.open("a") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        if number % 3 == 0:
            world.wait()
    world.wait()


def _put_words(value: Any, words: Mapping[str, str]) -> Any:
    """The value with other words in each text that begins as one of these."""
    if isinstance(value, dict):
        return {key: _put_words(one, words) for key, one in value.items()}
    if isinstance(value, list):
        return [_put_words(one, words) for one in value]
    if isinstance(value, str):
        return next((new for old, new in words.items() if value.startswith(old)), value)
    return value
