"""A profile in a temporary directory: a store with a fake clock, and the handler."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacitd.events import Event, Message
from tacitd.files.log import Log
from tacitd.files.transaction import History
from tacitd.handler import Commit, Degradation, Done, Notice, Outcome, Tools
from tacitd.model.port import Model
from tacitd.sources.registry import make_source
from tacitd.testing import START, Crash, FakeClock, FaultyDisk, ScriptedModel
from tacitd_handlers.profile import changelog
from tacitd_handlers.profile.handler import ProfileHandler
from tacitd_handlers.profile.merge import PartialProfile
from tacitd_handlers.profile.profile_changes import ProfilePlan
from tacitd_handlers.profile.store import ProfileStore

GOLDEN = Path(__file__).parent / "fixtures" / "profile"
NOW = START
DAY = 86_400.0


@dataclass(slots=True)
class Box:
    """One person's memory directory."""

    root: Path
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW))
    handler: ProfileHandler = field(init=False)
    degraded: dict[str, Degradation] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    model: Model = field(default_factory=ScriptedModel)
    positions: list[tuple[str, Path, int]] = field(default_factory=list)
    _replayed: bool = True
    posted: list[Event] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    """Those of the opened stores: their descriptors stay open until `close`, because the processes are one here."""

    @property
    def directory(self) -> Path:
        return self.root / "memory"

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "USER": "cameron",
            "USER_MEMORY_DIR": str(self.directory),
            "CLAUDE_CONFIG_DIR": str(self.root / "claude"),
            "TACITD_STATE_DIR": str(self.root / "state"),
        }

    @property
    def store(self) -> ProfileStore:
        """Open the store as another process would."""
        made = ProfileStore.from_environ(self.env, self.clock)
        self.logs.append(made.log)
        return made

    def close(self) -> None:
        """End the processes that opened a store."""
        for log in self.logs:
            with suppress(Crash):  # one of a process that ended in a crash
                log.close()
        self.logs.clear()

    # what is said

    def learn(self, id: str = "", session: str = "abc123", **values: Any) -> ProfilePlan | None:
        """Learn a finding: `work__languages=("Go",)`."""
        self.clock.advance(0.001)
        said = PartialProfile({name.replace("__", "."): value for name, value in values.items()})
        return self.store.learn_finding(said, session, id or f"id-{self.clock.wall}")

    def no_longer(self, **values: Any) -> ProfilePlan | None:
        self.clock.advance(0.001)
        said = PartialProfile({}, {name.replace("__", "."): value for name, value in values.items()})
        return self.store.learn_finding(said, "abc123", f"id-{self.clock.wall}")

    # what stands there

    def put(self, name: str, document: Any) -> Path:
        """Change the profile as a person does with a command."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(
            document if isinstance(document, str) else json.dumps(document, indent=2), encoding="utf-8"
        )
        return path

    def edit(self, **values: Any) -> None:
        """A person edits profile.json by hand."""
        found = self.profile
        for name, value in values.items():
            *above, key = name.split("__")
            holder = found
            for part in above:
                holder = holder.setdefault(part, {})
            holder[key] = value
        self.put("profile.json", found)

    def read(self, name: str) -> Any:
        path = self.directory / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    @property
    def profile(self) -> dict[str, Any]:
        return self.read("profile.json") or {}

    @property
    def meta(self) -> dict[str, dict[str, Any]]:
        found = self.read("profile-meta.json") or {"preferences": []}
        return {one["path"]: one for one in found["preferences"]}

    @property
    def changelog(self) -> list[dict[str, Any]]:
        """Its entries, without torn lines."""
        return changelog.read_entries(self.directory / "changelog.jsonl")

    # the handler

    def tools(self) -> Tools:
        return Tools(
            clock=self.clock,
            model=self.model,
            history=History(Log(self.root / "state" / "history.jsonl"), self.clock),
            settings={},
            home=self.root / "state" / "handlers" / "profile",
            project_of=lambda cwd: (_ for _ in ()).throw(AssertionError(cwd)),
            has_live_session=lambda project: False,
            degrade=lambda what: self.degraded.update({what.id: what}),
            clear=self._clear,
            announce=self.notices.append,
            list_positions=lambda: self.positions if self._replayed else [],
            post=self.posted.append,
            list_sessions=make_source(self.root / "claude").list_sessions,
        )

    def _clear(self, id: str) -> None:
        self.degraded.pop(id, None)

    def start(self) -> ProfileHandler:
        """Start a new daemon."""
        self.handler, self._replayed = ProfileHandler(self.env), False
        self.handler.open(self._replay(), self.tools())
        return self.handler

    def _replay(self) -> Iterator[Commit]:
        """The log as the engine gives it: the positions are known when it was read to its end."""
        yield from list(self.commits)
        self._replayed = True

    def play(self, event: Event) -> Outcome:
        """Offer an event, and commit the outcome as the engine does."""
        outcome = self.handler.handle(event, self.tools())
        if isinstance(outcome, Done) and outcome.data:
            session = getattr(event, "session", "")
            commit = Commit(self.clock.now(), type(event).__name__, "", session, -1, dict(outcome.data))
            self.commits.append(commit)
            self.handler.committed(commit, self.tools())
        return outcome

    def told(self, id: str, data: Mapping[str, Any], session: str = "abc123") -> Outcome:
        from tacitd.events import NoProject

        return self.play(Message("learning", id, session, NoProject("", "none"), self.clock.now(), data))


@dataclass(slots=True)
class OtherBox(Box):
    """Another machine on the same memory directory: its own state directory, the same clock."""

    name: str = "other"

    @property
    def env(self) -> dict[str, str]:
        return super(OtherBox, self).env | {"TACITD_STATE_DIR": str(self.root / self.name)}


def open_store(box: Box, disk: FaultyDisk) -> ProfileStore:
    """Open the store on a disk that fails."""
    at = box.store
    at.disk, at.log = disk, Log(box.directory / "changelog.jsonl", disk)
    box.logs.append(at.log)
    return at
