"""Open transcripts: bounded slices, bounded memory. More is tested in test_engine.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_engine import Scene, Scripted
from tacitd.dispatch import pool as pool_module
from tacitd.errors import FileRefusedError
from tacitd.handler import Later
from tacitd.sources import lines


def test_a_huge_file_delays_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Sources": reads are bounded slices, round robin."""
    monkeypatch.setattr(pool_module, "SLICE", 300)
    monkeypatch.setattr(pool_module, "SLICES", 2)
    scene = Scene(tmp_path)
    scene.type("huge", *(f"words {n}" for n in range(100)))
    scene.type("small", "hello")
    scene.clock.advance(2)
    scene.engine._poll_files(full=True)
    passes = 0
    while ["hello"] not in scene.handler.words:
        scene.engine.run_iteration()
        passes += 1
    assert passes < 5 and scene.path("huge") in scene.engine.pool.unread_paths
    scene.settle()
    assert len(scene.handler.did) == 101


def test_counts_outlive_the_file(tmp_path: Path) -> None:
    """`status` counts damaged and unknown lines since the start, also of evicted files."""
    scene = Scene(tmp_path)
    scene.append("s", {"type": "from-the-future", "sessionId": "s", "cwd": "/x"})
    with scene.path("s").open("ab") as out:
        out.write(b"{broken\n")
    scene.settle()
    before = scene.engine.pool.count_lines()
    assert before["damaged"] == 1 and before["unknown type: from-the-future"] == 1
    scene.settle(2000)
    scene.settle(61)
    assert not scene.engine.pool._open and scene.engine.pool.count_lines() == before


def test_many_unreadable_files_are_a_few_lines(tmp_path: Path) -> None:
    """DESIGN "Control": `status` is read by people."""
    scene = Scene(tmp_path)
    for i in range(50):
        scene.engine.pool._mark_unreadable(tmp_path / f"{i}.jsonl", PermissionError(13, "Permission denied"))
    said = scene.engine.pool.list_degradations()
    assert len(said) == 6 and said[-1].what.startswith("45 more") and all(one.hint for one in said)


def crowd(scene: Scene, count: int) -> int:
    """Write `count` sessions whose text exceeds the limit of memory; return their size in bytes."""
    for i in range(count):
        cwd = scene.project(f"p{i // 20}")
        scene.type(f"s{i}", "words", cwd=cwd)
        scene.append(f"s{i}", *(scene.said(f"s{i}", "x" * 500, cwd=cwd) for _ in range(5)))
    return sum(path.stat().st_size for path in scene.folder.iterdir())


def test_an_item_that_waits_for_a_lane_is_neither_read_again_nor_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 9, issue "Reading": a `scan` of the past reads each transcript once or twice, in bounded memory."""
    monkeypatch.setattr(pool_module, "KEPT", 20_000)
    scene = Scene(tmp_path, held=True, lanes=1)
    read, held = 0, 0

    def counted(fd: int, offset: int, limit: int, longest: int = lines.LONGEST) -> lines.LineChunk:
        nonlocal read, held
        piece = read_slice(fd, offset, limit, longest)
        read += len(piece.data)
        held = max(held, sum(tail.kept_bytes for tail in scene.engine.pool._open.values()))
        return piece

    read_slice = lines.read_slice
    monkeypatch.setattr(lines, "read_slice", counted)
    total = crowd(scene, 80)
    synced = scene.sync()
    for _ in range(1000):
        if synced.done():
            break
        scene.work()
        scene.settle(0.1)
    assert synced.done() and len(scene.handler.did) == len(set(scene.handler.did)) == 80
    assert read <= 3 * total, f"each byte was read {read / total:.0f} times"
    assert held < 20_000 + pool_module.SLICES * total / 80 * 2 < total / 2


def test_the_transcript_that_grows_is_not_evicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Priorities" 4: while much is parked, another line costs one more line, and not the whole file again."""
    monkeypatch.setattr(pool_module, "KEPT", 40_000)
    scene = Scene(tmp_path, Scripted(lambda event: Later("no model")), lanes=99)
    crowd(scene, 8)
    scene.settle()
    scene.type("live", *("words " * 100 for _ in range(20)))
    scene.settle()
    read = 0

    def counted(fd: int, offset: int, limit: int, longest: int = lines.LONGEST) -> lines.LineChunk:
        nonlocal read
        piece = read_slice(fd, offset, limit, longest)
        read += len(piece.data)
        return piece

    read_slice = lines.read_slice
    monkeypatch.setattr(lines, "read_slice", counted)
    before = scene.path("live").stat().st_size
    for _ in range(10):
        scene.type("live", "one more")
        scene.settle(0.1)
    assert read <= scene.path("live").stat().st_size - before
    assert sum(tail.kept_bytes for tail in scene.engine.pool._open.values()) <= 40_000


def test_a_transcript_that_was_unreadable_for_a_moment_is_read_within_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 8: permission removed and restored, without a change of the file: it is read within 60 s."""
    scene = Scene(tmp_path)

    def refused(path: Path) -> int:
        raise FileRefusedError(f"{path} cannot be opened: Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(lines, "open_transcript", refused)
        scene.type("s", "words")
        scene.settle()
        assert [one.id for one in scene.engine.list_degradations()] == ["transcript.unreadable"]
        scene.settle(61)
        assert scene.handler.words == []
    scene.settle(61)
    assert scene.handler.words == [["words"]] and scene.engine.list_degradations() == []


def test_a_file_that_was_only_touched_makes_no_session_live(tmp_path: Path) -> None:
    """RELIABILITY row 6: new permissions, or a backup that makes links, change the stamp of each file and none of its bytes."""
    scene = Scene(tmp_path)
    crowd(scene, 10)
    scene.settle()
    scene.settle(2000)
    scene.settle(61)
    before = len(scene.handler.events)
    for path in scene.folder.iterdir():
        path.chmod(0o640)
    scene.settle()
    assert not scene.engine.pool._open and len(scene.handler.events) == before
    assert not any(scene.engine.sessions.is_live(f"s{i}") for i in range(10))
    scene.type("s3", "more")
    scene.settle()
    assert scene.handler.words[-1] == ["more"] and scene.engine.sessions.is_live("s3")


def test_a_file_that_was_rewritten_to_the_same_size_is_read_again(tmp_path: Path) -> None:
    """DESIGN "Sources": the mark shows that it was not only touched."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    scene.settle(2000)
    scene.settle(61)
    text = scene.path("s").read_text()
    scene.path("s").write_text(text.replace('"one"', '"two"').replace('"u1"', '"u9"'))
    scene.settle()
    assert scene.handler.words == [["one"], ["two"]]
