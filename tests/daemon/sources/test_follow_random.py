"""Files appear, vanish and change at random: after a full poll the follower knows all of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support_examples import examples
from support_follow import Hand, Told
from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.follow import FileChanges, Follower, Stamp, stamp_of

NAMES = st.sampled_from(["a/s.jsonl", "a/t.jsonl", "a/s/subagents/agent-1.jsonl", "b/u.jsonl", "c/d/e.jsonl"])


class FollowerMachine(RuleBasedStateMachine):
    """Files appear, grow, shrink, move and vanish, and hints are lost at random; after a full poll everything is known."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        (self.root / "projects").mkdir()
        self.clock, self.told = Hand(self.root.stat().st_mtime), Told()
        self.follower = Follower(ClaudeCode(self.root), self.clock, self.told, lambda: None)
        self.model: dict[Path, Stamp] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def _path(self, name: str) -> Path:
        path = self.root / "projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _hint(self, path: Path, hint: bool) -> None:
        if hint:
            self.told.hints.add(path)

    @rule(name=NAMES, hint=st.booleans(), size=st.integers(0, 3))
    def append(self, name: str, hint: bool, size: int) -> None:
        path = self._path(name)
        with path.open("ab") as out:
            out.write(b"x" * size)
        self._hint(path, hint)

    @rule(name=NAMES, hint=st.booleans())
    def replace(self, name: str, hint: bool) -> None:
        path = self._path(name)
        fresh = path.with_suffix(".tmp")
        fresh.write_bytes(path.read_bytes() if path.exists() else b"")
        fresh.replace(path)
        self._hint(path, hint)

    @rule(name=NAMES, to=NAMES, hint=st.booleans())
    def rename(self, name: str, to: str, hint: bool) -> None:
        path, target = self._path(name), self._path(to)
        if path.exists():
            path.rename(target)
            self._hint(path, hint)
            self._hint(target, hint)

    @rule(name=NAMES, hint=st.booleans())
    def delete(self, name: str, hint: bool) -> None:
        path = self._path(name)
        path.unlink(missing_ok=True)
        self._hint(path, hint)

    @rule(folder=st.sampled_from(["a", "a/s", "b", "c"]), to=st.sampled_from(["a2", "c/x", "b"]))
    def move_folder(self, folder: str, to: str) -> None:
        source, target = self.root / "projects" / folder, self.root / "projects" / to
        if source.is_dir() and not target.exists() and not target.is_relative_to(source):
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)

    @rule()
    def remake_root(self) -> None:
        shutil.rmtree(self.root / "projects")
        (self.root / "projects").mkdir()

    @rule(seconds=st.floats(0, 70), jump=st.sampled_from([0.0, 0.0, 3600.0, -3600.0]))
    def tick(self, seconds: float, jump: float) -> None:
        self.clock.move(seconds)
        self.clock.wall += jump
        self._apply(self.follower.poll())

    @rule()
    def rest(self) -> None:
        """The directories changed long ago, so that a pass need not list them."""
        for folder in ((self.root / "projects"), *(self.root / "projects").rglob("*/")):
            if folder.is_dir():
                os.utime(folder, (1e9, 1e9))
        self.full()

    @rule()
    def minute(self) -> None:
        """Until after the ordinary comparison: a lost hint delays nothing further."""
        for _ in range(16):
            self.clock.move(4)  # more would count as a stopped process
            self._apply(self.follower.poll())
        assert self.model == self._disk()

    @rule()
    def full(self) -> None:
        self._apply(self.follower.poll(full=True))
        assert self.model == self._disk()
        assert not self.follower.poll(full=True)

    def _apply(self, changes: FileChanges) -> None:
        stamps = self.follower.stamps
        for path in changes.vanished:
            self.model.pop(path, None)  # it came and went between two polls
        for path in changes.changed:
            assert self.model.get(path) != stamps[str(path)], "reported without a change"
            self.model[path] = stamps[str(path)]

    def _disk(self) -> dict[Path, Stamp]:
        return {path: stamp_of(path.lstat()) for path in (self.root / "projects").rglob("*.jsonl")}

    @invariant()
    def reported_is_known(self) -> None:
        known = {str(path): stamp for path, stamp in self.model.items()}
        assert known == self.follower.stamps
        # `status` and `sync` count unread bytes by those of persons.
        own = {path: stamp for path, stamp in known.items() if "/subagents/" not in path}
        assert own == self.follower.list_own()


TestFollowerMachine = FollowerMachine.TestCase
TestFollowerMachine.settings = examples(60, stateful_step_count=25)
