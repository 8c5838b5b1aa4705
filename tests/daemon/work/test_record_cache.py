"""A transcript is decoded once: handlers get what the reader committed, or else the same records from the file."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from support_engine import Scene, Scripted
from tacitd.events import Record
from tacitd.sources.position import position_at
from tacitd.sources.registry import make_source
from tacitd.sources.transcript import ReadStep, Tail
from tacitd.work import record_cache
from tacitd.work.record_cache import Piece, RecordCache


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[Path]:
    """By path, how many bytes were decoded."""
    found, real = Counter[Path](), Tail.read_next_slice

    def count(tail: Tail, limit: int = 1 << 20, to_end: bool = False) -> ReadStep:
        step = real(tail, limit, to_end)
        found[tail.path] += step.read
        return step

    monkeypatch.setattr(Tail, "read_next_slice", count)
    return found


def test_what_several_handlers_want_is_decoded_once(tmp_path: Path, decoded: Counter[Path]) -> None:
    """RELIABILITY 5: catching up is one pass over the bytes, however many handlers want them, and also in many slices."""
    scene = Scene(tmp_path, Scripted(), Scripted(), Scripted())
    for session in "st":
        for number in range(40):
            scene.type(session, f"words {number}")
            scene.append(session, scene.said(session, "x" * 20_000))
    scene.settle()
    scene.type("s", "more")
    scene.settle()
    assert all(len(one.did) == 81 for one in scene.handlers)
    for session in "st":
        assert decoded[scene.path(session)] == scene.path(session).stat().st_size


def test_after_a_start_it_is_read_once_again_for_all(tmp_path: Path, decoded: Counter[Path]) -> None:
    """RELIABILITY 1: what was committed and not handled is still known, from the file."""
    scene = Scene(tmp_path, Scripted(), Scripted(), held=True)
    scene.type("s", "one", "two")
    scene.settle()
    scene.restart(Scripted(), Scripted())
    decoded.clear()
    scene.pool.held = False
    scene.settle()
    scene.work(100)
    scene.settle()
    assert [one.words for one in scene.handlers] == [[["one", "two"]]] * 2
    assert 0 < decoded[scene.path("s")] <= scene.path("s").stat().st_size, "once, from the first record on"


def test_secrets_are_blanked_whichever_way_the_records_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "The way of a prompt": no handler sees a secret that the store does not have."""
    words = "the token is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for kept in (0, record_cache.REMEMBERED):
        monkeypatch.setattr(record_cache, "REMEMBERED", kept)
        scene = Scene(tmp_path / str(kept))
        scene.type("s", words)
        scene.settle()
        ((said,),) = scene.handler.words
        assert said.startswith("the token is") and "ghp_a1B2" not in said


def _write(folder: Path) -> tuple[Path, list[Record], list[int]]:
    """A transcript, its records, and the offsets after each."""
    scene = Scene(folder)
    for number in range(30):
        scene.type("s", f"words {number}")
        scene.append("s", scene.said("s", "y" * 300))
    path = scene.path("s")
    tail = Tail(path, 0, make_source(scene.tmp / "claude"))
    tail.read_next_slice()
    records = list(tail.list_records(0))
    scene.app.close()
    return path, records, [one.end for one in records]


def test_parts_that_follow_each_other_are_what_the_file_has(tmp_path: Path) -> None:
    """RELIABILITY 1: whatever was put in, in whatever parts, each record comes once and in order."""
    path, records, ends = _write(tmp_path)
    source, luck = make_source(tmp_path / "claude"), random.Random(7)
    for _ in range(60):
        cache = RecordCache(source)
        borders = sorted({0, *luck.sample(ends, luck.randint(1, 8))})
        for start, end in pairwise(borders):
            inside = tuple(one for one in records if start <= one.start < end)
            cache.put(path, Piece(start, end, position_at(path, end).crc, inside))
        upto, start = luck.choice(borders[1:]), luck.choice([0, *ends])
        if start < upto:
            got, reached = cache.read(path, start, upto, position_at(path, upto).crc)
            assert list(got) == [one for one in records if start <= one.start < upto] and reached == upto


def test_a_rewritten_transcript_is_not_mixed_with_what_it_was(tmp_path: Path) -> None:
    """RELIABILITY 9: another mark is another file, and what begins anew replaces what is kept."""
    path, records, ends = _write(tmp_path)
    cache = RecordCache(make_source(tmp_path / "claude"))
    upto, mark = ends[3], position_at(path, ends[3]).crc
    cache.put(path, Piece(0, upto, mark + 1, ()))
    assert list(cache.read(path, 0, upto, mark)[0]) == records[:4], "from the file"
    cache.put(path, Piece(upto, ends[5], 1, tuple(records[4:6])))
    cache.put(path, Piece(0, ends[1], 2, tuple(records[:2])))
    assert list(cache.read(path, 0, ends[1], 2)[0]) == records[:2]
    assert list(cache.read(path, 0, ends[5], position_at(path, ends[5]).crc)[0]) == records[:6]


def test_no_more_is_kept_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 6: memory is bounded; what was used last stays."""
    _, records, ends = _write(tmp_path)
    monkeypatch.setattr(record_cache, "REMEMBERED", 30_000)
    cache = RecordCache(make_source(tmp_path / "claude"))
    for number in range(50):
        cache.put(tmp_path / str(number), Piece(0, ends[9], 1, tuple(records[:10])))
        assert 0 < cache.size <= 30_000
    assert len(cache.read(tmp_path / "49", 0, ends[9], 1)[0]) == 10
    assert list(cache.read(tmp_path / "0", 0, ends[9], 1)[0]) == [], "it went, and there is no such file"


def test_a_handler_is_offered_a_part_of_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 6: a transcript of a year is offered in bounded parts, each from where the last one ended."""
    path, records, ends = _write(tmp_path)
    monkeypatch.setattr(record_cache, "MOST", 1000)
    cache = RecordCache(make_source(tmp_path / "claude"))
    for number, one in enumerate(records):
        cache.put(path, Piece(ends[number - 1] if number else 0, one.end, number, (one,)))
    start, offered = 0, list[Record]()
    while start < ends[-1]:
        got, end = cache.read(path, start, ends[-1], len(records) - 1)
        assert 0 < len(got) < 10
        offered += got
        start = end
    assert offered == records
