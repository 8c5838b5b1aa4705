"""The profile in the real engine, with a fake clock: a person, findings, commands, agents, decay and crashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support_plugins import PluginHome, save
from tacitd.contract import Done
from tacitd.testing import START, FakeClock
from tacitd.work.task_rows import NewTask, insert_task
from tacitd_handlers.profile import cli, make_plugin, profile_files

GOLDEN = Path(__file__).parent / "fixtures" / "profile"
NOW = START
DAY, MINUTE = 86_400.0, 60.0


class Box(PluginHome):
    """One person's profile."""

    def __init__(self, tmp: Path, clock: FakeClock | None = None) -> None:
        super().__init__(tmp, make_plugin(), clock or FakeClock(NOW), cli)
        self.directory = self.home / ".claude" / "user-memory"
        self._serial = 0

    # --- what happens

    def learn(self, session: str = "abc123", **values: Any) -> Box:
        """A finding of learning's call: `work__languages=("Go",)`."""
        return self.find(nest(values), session)

    def no_longer(self, **values: Any) -> Box:
        """The person no longer uses these."""
        return self.find({"noLonger": nest(values)})

    def find(self, finding: Mapping[str, Any], session: str = "abc123") -> Box:
        """A message of learning, as its commit queues it."""
        self._serial += 1
        key = f"learning:{self._serial}"
        with self.bench._app.store.write() as tx:
            insert_task(tx, NewTask("profile", "", "message", key, None, session, finding), self.clock.now())
        return self.wait(0.001)

    def run(self, do: str, path: str = "", value: Any = None, *, agent: bool = False) -> Done:
        """A command of the person, or of an agent. Raises what it is refused with."""
        self._serial += 1
        data = {"do": do, "path": path, "value": value, "agent": agent, "session": "agents" if agent else ""}
        return self.bench.run_command(f"command {self._serial}", data)

    def wait(self, seconds: float) -> Box:
        """Let time pass, and do what is due."""
        self.bench.settle(seconds)
        return self

    def notice(self) -> Box:
        """Let the minutes pass in which an edit is noticed."""
        return self.wait(MINUTE).wait(MINUTE).wait(MINUTE)

    def fade(self) -> Box:
        """Run the job of decay."""
        self.bench.run_job("fade")
        return self

    def edit(self, change: Callable[[dict[str, Any]], object]) -> Box:
        """A person edits profile.json with an editor that replaces the file."""
        document = self.profile
        change(document)
        return self.put("profile.json", document)

    def put(self, name: str, document: Any) -> Box:
        """A person or another program writes a file."""
        save(self.directory / name, document if isinstance(document, str) else json.dumps(document, indent=2))
        return self

    def crash_at(self, step: str, happens: Callable[[], object]) -> None:
        """End as `kill -9` would at a step of the next change, if it comes to that, and start again."""
        self.crash(happens, lambda reached: reached == step)

    # --- what came of it

    def read(self, name: str) -> Any:
        """A document; None if there is no file."""
        path = self.directory / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def text(self, name: str) -> str:
        """The text of a file."""
        return (self.directory / name).read_text(encoding="utf-8")

    @property
    def profile(self) -> dict[str, Any]:
        """profile.json."""
        return self.read("profile.json") or {}

    @property
    def meta(self) -> dict[str, dict[str, Any]]:
        """The entries of profile-meta.json by path."""
        found = self.read("profile-meta.json") or {"preferences": []}
        return {one["path"]: one for one in found["preferences"]}

    @property
    def changelog(self) -> list[dict[str, Any]]:
        """Its entries."""
        return profile_files.read_entries(self.directory / "changelog.jsonl")


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """`work__languages=("Go",)` as a document."""
    made: dict[str, Any] = {}
    for name, value in values.items():
        *above, key = name.split("__")
        holder = made
        for part in above:
            holder = holder.setdefault(part, {})
        holder[key] = list(value) if isinstance(value, tuple) else value
    return made
