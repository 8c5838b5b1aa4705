"""The lag of each handler is counted where it changes: never by a walk through all transcripts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_engine import Scene, Scripted
from support_examples import examples
from tacitd.dispatch.lag_counters import LagCounters
from tacitd.events import Event
from tacitd.handler import Later
from tacitd.sources.listing import Stamp
from tacitd.sources.stamps import FileChanges, StampView
from tacitd.status import build_status

NAMES = st.sampled_from([f"/t/{number}.jsonl" for number in range(5)] + ["/t/agent-1.jsonl"])
SIZES = st.integers(0, 9)


class _Consumer:
    """As much of a consumer as the counters need."""

    def __init__(self) -> None:
        self.offsets: dict[Path, int] = {}
        self.moved: deque[Path] = deque()

    def get_offset(self, path: Path) -> int:
        return self.offsets.get(path, 0)

    def find_unequal(self, sizes: Mapping[str, int]) -> list[str]:
        return [path for path, size in sizes.items() if self.get_offset(Path(path)) != size]


def _is_subagent(path: str) -> bool:
    return path.rpartition("/")[2].startswith("agent-")


@examples(200)
@given(st.lists(st.tuples(st.sampled_from(["file", "gone", "move", "ask"]), NAMES, SIZES), max_size=40))
def test_the_counts_are_those_of_a_walk(steps: list[tuple[str, str, int]]) -> None:
    """Files that come, grow, shrink and go, and positions that move on and back, in any order."""
    stamps: dict[str, Stamp] = {}
    consumers = {"a": _Consumer(), "b": _Consumer()}
    lag = LagCounters(consumers, StampView(stamps), _is_subagent)  # type: ignore[arg-type]
    lag.count_all({})
    for kind, name, number in steps:
        path = Path(name)
        if kind == "file":
            known = name in stamps
            stamps[name] = Stamp(number, 0, 0, 0)
            lag.note_files(FileChanges(changed=(path,)) if known else FileChanges(created=(path,)))
        elif kind == "gone" and stamps.pop(name, None) is not None:
            lag.note_files(FileChanges(vanished=(path,)))
        elif kind == "move" and not _is_subagent(name):
            one = consumers["ab"[number % 2]]
            one.offsets[path] = number
            one.moved.append(path)
        elif kind == "ask":
            lag.note_positions()
    lag.note_positions()
    own = {name: stamp for name, stamp in stamps.items() if not _is_subagent(name)}
    for _ in range(2):
        assert lag.transcripts == len(own)
        listed = set[Path]()
        for name, one in consumers.items():
            lags = {Path(path): stamp.size - one.get_offset(Path(path)) for path, stamp in own.items()}
            behind = {path: size for path, size in lags.items() if size > 0}
            assert lag.get_lag(name) == (len(behind), sum(behind.values()))
            listed |= behind.keys()
        assert lag.list_behind() == listed
        lag.count_all(own)


@examples(24)
@given(
    st.lists(
        st.sampled_from(["type", "settle", "stop", "go", "rewind", "restart", "remove", "again"]), max_size=12
    )
)
def test_the_engine_counts_every_change(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """Growth, commits, parked work, `scan`, restarts, removed and rewritten files: the count is always that of a walk."""
    stopped = [False]

    def answer(event: Event) -> object:
        return Later("stopped") if stopped[0] else Scripted().answer(event)

    scene = Scene(tmp_path_factory.mktemp("scene"), Scripted(answer))
    for number, step in enumerate(steps):
        match step:
            case "type":
                scene.type(f"s{number % 3}", f"words {number}")
            case "stop" | "go":
                stopped[0] = step == "stop"
            case "rewind":
                scene.engine.rewind_transcripts(list(scene.engine.follower.stamps), 0.0)
            case "restart":
                scene.restart(Scripted(answer))
            case "remove" | "again":
                for path in sorted(scene.folder.glob("*.jsonl"))[:1]:
                    path.write_bytes(path.read_bytes()[:40]) if step == "again" else path.unlink()
            case _:
                pass
        scene.engine._poll_files(full=True)
        for _ in range(3):
            scene.engine.run_iteration()
        said = build_status(scene.app)
        assert said["handlers"]["a"]["lag"] == _walk(scene)
        assert said["watching"]["transcripts"] == len(list(scene.folder.glob("*.jsonl")))
    scene.kill()


def _walk(scene: Scene) -> dict[str, int]:
    consumer = scene.engine.consumers["a"]
    behind = [
        lag
        for path, stamp in scene.engine.follower.stamps.items()
        if (lag := stamp.size - consumer.get_offset(path)) > 0
    ]
    return {"transcripts": len(behind), "bytes": sum(behind)}


def test_status_walks_through_no_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 20,000 transcripts such a walk takes a second of the engine's thread, at each status."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    walked: list[str] = []

    def iterate(self: StampView) -> Iterator[Path]:
        walked.append("walk")
        return iter(())

    monkeypatch.setattr(StampView, "__iter__", iterate)
    said = build_status(scene.app)
    assert walked == [] and said["watching"]["transcripts"] == 1
