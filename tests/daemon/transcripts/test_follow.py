"""Truth about transcripts: every change is reported once, whatever became of the hints."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tacitd.clock import SystemClock
from tacitd.handler import Degradation
from tacitd.transcripts import known
from tacitd.transcripts.follow import ALL_EVERY, HOT_EVERY, Follower
from tacitd.transcripts.known import Changes
from tacitd.transcripts.listing import Stamp, scan, stamp_of
from tacitd.transcripts.watch import WatchdogWatcher


class Hand:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.wall, self.mono = time.time(), 1000.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def move(self, seconds: float) -> None:
        self.wall += seconds
        self.mono += seconds


class Told:
    """A watcher that says what the test tells it to say."""

    def __init__(self) -> None:
        self.hints: set[Path] = set()
        self.lost = False
        self.deaf: set[str] = set()
        self.alive = True

    def __call__(self, root: Path, wake: Callable[[], None]) -> Told:
        return self

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def drain(self) -> set[Path]:
        hints, self.hints = self.hints, set()
        return hints

    def check(self) -> bool:
        lost, self.lost = self.lost, False
        return lost

    def unwatched(self, directories: Collection[str]) -> list[str]:
        return [one for one in directories if one in self.deaf]

    def problems(self) -> list[Degradation]:
        return []


class Scene:
    """A root with one project folder, a follower that has polled once, and its clock and hints in hand."""

    def __init__(self, root: Path) -> None:
        self.root, self.clock, self.told = root, Hand(), Told()
        self.folder = root / "projects" / "a"
        self.folder.mkdir(parents=True)
        self.follower = Follower([root], self.clock, self.told, lambda: None)
        self.follower.start()

    def write(self, name: str, text: str = "x\n", *, hint: bool = False) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as out:
            out.write(text)
        if hint:
            self.told.hints.add(path)
        return path

    def later(self, seconds: float) -> Changes:
        self.clock.move(seconds)
        return self.follower.poll()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_first_poll_finds_all_and_the_next_nothing(scene: Scene) -> None:
    """DESIGN "Hints and truth": each change is reported once."""
    path = scene.write("s.jsonl")
    nested = scene.write("s/subagents/agent-1.jsonl")
    assert sorted(scene.follower.poll().born) == sorted([path, nested])
    assert not scene.follower.poll()
    assert not scene.follower.poll(full=True)
    assert scene.follower.stamps[path].size == 2 and set(scene.follower.stamps) == {path, nested}


def test_hint_is_looked_at_in_the_next_poll(scene: Scene) -> None:
    """RELIABILITY row 10: a hint needs no waiting, and reports new, changed and vanished files."""
    scene.follower.poll()
    path = scene.write("s.jsonl", hint=True)
    assert scene.follower.poll() == Changes(born=(path,))
    scene.write("s.jsonl", hint=True)
    assert scene.follower.poll() == Changes(changed=(path,))
    path.unlink()
    scene.told.hints.add(path)
    assert scene.follower.poll() == Changes(vanished=(path,))


def test_hot_file_is_compared_every_two_seconds_without_a_hint(scene: Scene) -> None:
    """RELIABILITY row 10: under 2 s when hints are lost."""
    path = scene.write("s.jsonl")
    scene.follower.poll()
    scene.write("s.jsonl")
    assert scene.follower.next_in() == pytest.approx(HOT_EVERY)
    assert scene.later(HOT_EVERY / 2) == Changes()
    assert scene.later(HOT_EVERY / 2) == Changes(changed=(path,))


def test_cold_file_is_compared_every_minute_and_an_idle_engine_sleeps(scene: Scene) -> None:
    """DESIGN: all files every 60 s; with nothing hot there is nothing to wake for before."""
    path = scene.write("s.jsonl")
    os.utime(path, (1e9, 1e9))
    scene.follower.poll()
    assert scene.follower.next_in() == pytest.approx(ALL_EVERY)
    scene.write("s.jsonl")
    assert scene.later(ALL_EVERY - 1) == Changes()
    assert scene.later(1) == Changes(changed=(path,))
    assert scene.follower.next_in() == pytest.approx(HOT_EVERY), "it is hot now"


def test_a_file_from_the_future_is_hot(scene: Scene) -> None:
    """RELIABILITY row 12: an mtime ahead of the clock counts as now."""
    path = scene.write("s.jsonl")
    ahead = time.time() + 1e7
    os.utime(path, (ahead, ahead))
    scene.follower.poll()
    scene.write("s.jsonl")
    assert scene.later(HOT_EVERY) == Changes(changed=(path,))


@pytest.mark.parametrize("what", ["clock forward", "clock back", "late", "lost", "asked"])
def test_everything_is_compared_at_once_when_nothing_can_be_taken_for_granted(
    scene: Scene, what: str
) -> None:
    """DESIGN: at once after lost hints, a wake from sleep, a clock jump, a stopped process, or `sync`."""
    path = scene.write("s.jsonl")
    os.utime(path, (1e9, 1e9))
    scene.write("hot.jsonl")
    scene.follower.poll()
    scene.write("s.jsonl")
    assert scene.later(1) == Changes()
    scene.clock.wall += {"clock forward": 6, "clock back": -7200}.get(what, 0)
    scene.clock.move(8 if what == "late" else 0)
    scene.told.lost = what == "lost"
    assert path in scene.follower.poll(full=what == "asked").changed


def test_new_directory_below_an_unwatched_one_is_seen_within_two_seconds(scene: Scene) -> None:
    """RELIABILITY row 7: what cannot be watched is polled, and said once it is sure."""
    scene.told.deaf = {str(scene.folder), str(scene.folder / "new")}
    scene.follower.poll()
    assert scene.follower.degradations() == [], "a folder that was just made may get its watch a moment later"
    path = scene.write("new/s.jsonl")
    assert scene.later(HOT_EVERY) == Changes(born=(path,))
    assert [problem.id for problem in scene.follower.degradations()] == ["watch.limit"]
    scene.told.deaf = set()
    scene.later(ALL_EVERY)
    assert scene.follower.degradations() == []


def test_hint_of_a_new_directory_lists_it(scene: Scene) -> None:
    """DESIGN: files in newly made nested directories are seen, also where only the folder was hinted."""
    scene.follower.poll()
    path = scene.write("s/deep/er/x.jsonl")
    scene.told.hints.add(scene.folder / "s")
    assert scene.follower.poll() == Changes(born=(path,))


def test_replaced_file_is_changed_not_born(scene: Scene) -> None:
    """DESIGN: the same size from another inode is another file."""
    path = scene.write("s.jsonl")
    scene.follower.poll()
    other = scene.write("tmp", "y\n")
    other.replace(path)
    assert scene.later(HOT_EVERY) == Changes(changed=(path,))


def test_root_absent_deleted_and_made_again(tmp_path: Path) -> None:
    """RELIABILITY row 8: goes on by itself, and says what is missing."""
    scene = Scene(tmp_path)
    path = scene.write("s.jsonl")
    scene.follower.poll()
    shutil.rmtree(tmp_path / "projects")
    assert scene.later(ALL_EVERY).vanished == (path,)
    assert [problem.id for problem in scene.follower.degradations()] == ["transcripts.absent"]
    assert scene.follower.next_in() <= HOT_EVERY
    scene.write("s.jsonl")
    assert scene.later(ALL_EVERY).born == (path,)
    assert scene.follower.degradations() == []


@pytest.mark.parametrize("as_root", [False, True])
def test_unreadable_is_unknown_and_not_gone(
    scene: Scene, as_root: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 8: permission taken and given back: nothing vanishes, the rest goes on, and it is said."""
    path = scene.write("s.jsonl")
    other = scene.root / "projects/b/t.jsonl"
    other.parent.mkdir()
    scene.follower.poll()
    real = os.scandir

    def refuse(where: str) -> object:
        if where == str(scene.folder):
            raise PermissionError(13, "Permission denied")
        return real(where)

    monkeypatch.setattr(os, "scandir", refuse)
    other.write_text("x")
    assert scene.follower.poll(full=True) == Changes(born=(other,))
    (problem,) = scene.follower.degradations()
    assert problem.id == "transcripts.unreadable" and "Permission denied" in problem.what and problem.hint
    monkeypatch.setattr(os, "scandir", real)
    scene.write("s.jsonl")
    assert scene.follower.poll(full=True) == Changes(changed=(path,))
    assert scene.follower.degradations() == []


def test_odd_things_are_named_and_never_opened(scene: Scene) -> None:
    """RELIABILITY row 9, DESIGN: a FIFO, a link and a linked folder are left alone, and said."""
    os.mkfifo(scene.folder / "f.jsonl")
    target = scene.write("s.jsonl")
    (scene.folder / "l.jsonl").symlink_to(target)
    (scene.root / "elsewhere").mkdir()
    (scene.root / "elsewhere/z.jsonl").write_text("x")
    (scene.root / "projects/linked").symlink_to(scene.root / "elsewhere")
    (scene.folder / "loop").symlink_to(scene.root / "projects")
    assert scene.follower.poll().born == (target,)
    (problem,) = scene.follower.degradations()
    assert problem.what.startswith("3 left alone") and "FIFO" in problem.what and "link" in problem.what
    assert scan(scene.root).odd.keys() == {
        str(scene.folder / "f.jsonl"),
        str(scene.folder / "l.jsonl"),
        str(scene.root / "projects/linked"),
    }


def test_names_that_are_not_utf8_survive(scene: Scene) -> None:
    """DESIGN: paths are bytes."""
    name = os.fsencode(scene.folder) + b"/\xff\xfe.jsonl"
    try:
        with open(name, "wb") as out:
            out.write(b"x")
    except OSError:
        pytest.skip("this file system refuses such names")
    (born,) = scene.follower.poll().born
    assert os.fsencode(born) == name and born.read_bytes() == b"x"


def test_thousands_of_hot_files_are_taken_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 6: idle stays cheap: the newest at every pass, and each of the others within a few."""
    monkeypatch.setattr(known, "AT_ONCE", 3)
    monkeypatch.setattr(known, "MANY", 10)
    book = known.Known()
    for i in range(20):
        book.take(f"/{i}", Stamp(i, 0, 0, i), 100.0 + i)
    passes = [book.next_hot() for _ in range(6)]
    assert all(one[:3] == ["/17", "/18", "/19"] and len(one) == 6 for one in passes)
    assert {path for one in passes for path in one} == {f"/{i}" for i in range(20)}


def test_real_watcher_sees_appends_in_new_nested_directories(tmp_path: Path) -> None:
    """RELIABILITY rows 1 and 10: new folders' files and their appends are seen, well within 2 s."""
    (tmp_path / "projects").mkdir()
    woken = threading.Event()
    follower = Follower([tmp_path], SystemClock(), WatchdogWatcher, woken.set)
    follower.start()
    follower.poll()
    paths = {tmp_path / f"projects/n{i}/s/subagents/agent-{i}.jsonl" for i in range(20)}
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text("x\n")
    assert _collect(follower, woken, lambda changes: changes.born, paths)
    for path in paths:
        with path.open("a") as out:
            out.write("y\n")
    assert _collect(follower, woken, lambda changes: changes.changed, paths)
    assert follower.degradations() == []
    follower.stop()


def _collect(
    follower: Follower, woken: threading.Event, part: Callable[[Changes], tuple[Path, ...]], wanted: set[Path]
) -> bool:
    missing, end = set(wanted), time.monotonic() + 2.0
    while missing and time.monotonic() < end:
        woken.wait(min(follower.next_in(), 0.5))
        woken.clear()
        missing -= set(part(follower.poll()))
    return not missing


NAMES = st.sampled_from(["a/s.jsonl", "a/t.jsonl", "a/s/subagents/agent-1.jsonl", "b/u.jsonl", "c/d/e.jsonl"])


class FollowerMachine(RuleBasedStateMachine):
    """Files come, grow, shrink, move and go, hints are lost at random; after a full poll all of it is known."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        (self.root / "projects").mkdir()
        self.clock, self.told = Hand(), Told()
        self.follower = Follower([self.root], self.clock, self.told, lambda: None)
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
    def full(self) -> None:
        self._apply(self.follower.poll(full=True))
        assert self.model == self._disk()
        assert not self.follower.poll(full=True)

    def _apply(self, changes: Changes) -> None:
        stamps = self.follower.stamps
        for path in changes.vanished:
            del self.model[path]
        for path in changes.born:
            assert path not in self.model
            self.model[path] = stamps[path]
        for path in changes.changed:
            assert self.model[path] != stamps[path], "reported without a change"
            self.model[path] = stamps[path]

    def _disk(self) -> dict[Path, Stamp]:
        return {path: stamp_of(path.lstat()) for path in (self.root / "projects").rglob("*.jsonl")}

    @invariant()
    def reported_is_known(self) -> None:
        assert self.model == dict(self.follower.stamps)


TestFollowerMachine = FollowerMachine.TestCase
TestFollowerMachine.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
