"""A handler's log: what it says is what was so, wherever the daemon was killed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_disk import FaultyDisk
from support_engine import Scripted
from support_examples import examples
from tacitd import compaction
from tacitd.consumer import GRACE, Consumer
from tacitd.events import Prompt
from tacitd.files.log import Log
from tacitd.handler import Commit, Slice
from tacitd.pathnames import name_of, path_of
from tacitd.testing import FakeClock
from tacitd.transcripts.position import Position

PATHS = [Path("/t/a.jsonl"), Path("/t/b.jsonl"), Path(os.fsdecode(b"/t/\xff\xfe.jsonl"))]


def _consumer(
    folder: Path, clock: FakeClock | None = None, *, pays: bool = True, disk: Any = None
) -> Consumer:
    handler = Scripted()
    return Consumer(
        Slice("x", lambda: handler, pays=pays), handler, Log(folder / "log.jsonl", disk), clock or FakeClock()
    )


def _known(consumer: Consumer) -> Mapping[str, Any]:
    """Everything that the fold must bring back."""
    streams = {
        path: (s.offset, s.crc, s.acted, s.ended, s.floor, (s.session, s.cwd) if s.acted >= 0 else ())
        for path, s in consumer.streams.items()
        if s.moved() != (0, 0, -1) or s.floor is not None
    }
    return {
        "streams": streams,
        "born": consumer.born,
        "jobs": consumer.jobs,
        "told": consumer.told,
        "seen": set(consumer.seen.ids()),
    }


def _again(folder: Path) -> tuple[Consumer, list[Commit]]:
    consumer = _consumer(folder)
    return consumer, list(consumer.read())


def _prompt(n: int, time: float | None = 5.0) -> Prompt:
    return Prompt("typed", f"words {n}", "s", f"u{n}" if n % 3 else "", time, "/w")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "commit",
                "data",
                "nothing",
                "skip",
                "end",
                "due",
                "told",
                "save",
                "rewind",
                "back",
                "late",
                "restart",
                "begin",
            ]
        ),
        st.integers(0, 2),
        st.integers(0, 40),
    ),
    max_size=25,
)


def _do(consumer: Consumer, what: str, path: Path, n: int) -> None:
    stream = consumer.stream(path)
    stream.session, stream.cwd = f"s{PATHS.index(path)}", "/w"
    forward = Position(stream.offset + n, n)
    match what:
        case "commit":
            consumer.commit(stream, forward, [_prompt(n)], {})
        case "data":
            consumer.commit(stream, forward, [_prompt(n), _prompt(n + 100)], {"n": n})
        case "nothing":
            consumer.commit(stream, forward, [], {})
        case "skip":
            consumer.skip(stream, forward)
        case "end":
            consumer.finish("SessionEnded", stream, stream.session, {"end": n} if n % 2 else {}, stream.acted)
        case "due":
            consumer.finish("Due", None, f"job{n % 3}", {})
        case "told":
            consumer.finish("Told", None, f"id{n % 5}", {})
        case "save":
            consumer.save()
        case "rewind":
            consumer.rewind([path], float(n))
        case "back":
            consumer.set_back(stream)
            consumer.save()
        case "late":
            consumer.commit(stream, forward, [_prompt(n)], {"late": n}, stream.epoch - 1)
        case "begin":
            consumer.begin({path: Position(n, 7)})


@given(STEPS)
@examples(25)
def test_the_fold_of_the_log_is_the_live_state(steps: list[tuple[str, int, int]]) -> None:
    """RELIABILITY row 1: what was committed is known after a restart at any point, and nothing else is."""
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock()
        consumer = _consumer(Path(folder), clock)
        data: list[dict[str, int]] = []
        for what, path, n in steps:
            clock.pass_(1.0)
            if what == "restart":
                consumer.save()
                consumer, read = _again(Path(folder))
                assert [dict(c.data) for c in read] == data
            else:
                _do(consumer, what, PATHS[path], n)
                data += {"data": [{"n": n}], "late": [{"late": n}], "end": [{"end": n}] if n % 2 else []}.get(
                    what, []
                )
        consumer.save()
        other, read = _again(Path(folder))
        assert _known(other) == _known(consumer)
        assert [dict(c.data) for c in read] == data
        assert compaction.compact(other, lambda path: True, large=-1)
        short, kept = _again(Path(folder))
        assert _known(short) == _known(consumer), "compaction changes nothing that is known"
        assert kept == read
        assert compaction.compact(short, lambda path: True, large=-1)
        assert _known(_again(Path(folder))[0]) == _known(consumer), "a second time neither"


def test_without_save_a_crash_only_means_reading_again(tmp_path: Path) -> None:
    """DESIGN "One way through": a crash costs nothing but reading again."""
    consumer = _consumer(tmp_path)
    stream = consumer.stream(PATHS[0])
    consumer.commit(stream, Position(100, 1), [_prompt(1)], {"n": 1})
    consumer.skip(stream, Position(900, 2))
    other, _ = _again(tmp_path)
    assert other.stands(PATHS[0]) == 100 and other.seen.has(_prompt(1))


def test_first_start_is_complete_or_none(tmp_path: Path) -> None:
    """Issue "Reading": a crash within the first start must not make the past look new."""
    consumer = _consumer(tmp_path)
    consumer.begin({Path(f"/t/{i}.jsonl"): Position(i, i) for i in range(1200)})
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines[:3]))
    assert _again(tmp_path)[0].born is None, "then it is begun again"
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    other, _ = _again(tmp_path)
    assert other.born == consumer.born and other.stands(Path("/t/1199.jsonl")) == 1199


def test_what_is_older_than_the_first_start_is_not_paid_for(tmp_path: Path) -> None:
    """DESIGN "Hints and truth": with some grace, because a record bears the time at which Enter was pressed."""
    consumer, free = _consumer(tmp_path / "a"), _consumer(tmp_path / "b", pays=False)
    for one in (consumer, free):
        one.begin({})
    born = consumer.born or 0.0
    stream = consumer.stream(PATHS[0])
    ages = {
        age: consumer.too_old(_prompt(1, born - age), stream)
        for age in (-9.0, 0.0, GRACE - 1, GRACE + 1, 1e9)
    }
    assert ages == {-9.0: False, 0.0: False, GRACE - 1: False, GRACE + 1: True, 1e9: True}
    assert not consumer.too_old(_prompt(1, None), stream), "without a time it counts as new"
    assert not free.too_old(_prompt(1, 0.0), stream), "who does not pay may have the past"


def test_scan_sets_back_and_the_larger_wish_stays(tmp_path: Path) -> None:
    """Issue "Reading": `tacitd scan` goes back, and a later shorter one takes nothing away."""
    consumer = _consumer(tmp_path)
    consumer.begin({PATHS[0]: Position(500, 1)})
    stream = consumer.stream(PATHS[0])
    consumer.rewind([PATHS[0]], 1000.0)
    consumer.rewind([PATHS[0]], 2000.0)
    assert stream.offset == 0 and stream.floor == 1000.0
    assert not consumer.too_old(_prompt(1, 1500.0), stream) and consumer.too_old(_prompt(1, 999.0), stream)
    assert _known(_again(tmp_path)[0]) == _known(consumer)


@pytest.mark.parametrize(
    "raw", [b"/t/plain.jsonl", b"/t/\xff\xfe.jsonl", "/t/é😀.jsonl".encode(), b"/t/new\nline"]
)
def test_paths_are_bytes(raw: bytes) -> None:
    """DESIGN "Hints and truth": paths are bytes."""
    path = Path(os.fsdecode(raw))
    assert path_of(name_of(path)) == path
    assert path_of(name_of(path)) is path_of(name_of(path)), "RELIABILITY 6: one object for all handlers"


def test_records_of_a_newer_version_and_broken_ones_are_left_alone(tmp_path: Path) -> None:
    """A downgrade must start; what a newer version wrote survives a compaction."""
    consumer = _consumer(tmp_path)
    stream = consumer.stream(PATHS[0])
    consumer.commit(stream, Position(10, 1), [_prompt(1)], {"n": 1})
    newer = {"k": "marvel", "at": 1.0, "t": 7}
    for record in (newer, {"k": "at"}, {"k": "done", "at": "x"}, {"k": "base", "p": [1]}, {"at": 1.0}):
        consumer.log.append(record)
    consumer.commit(stream, Position(20, 2), [_prompt(2)], {"n": 2})
    other, read = _again(tmp_path)
    assert [dict(c.data) for c in read] == [{"n": 1}, {"n": 2}] and other.stands(PATHS[0]) == 20
    assert other.skipped == 3
    compaction.compact(other, lambda path: True, large=-1)
    assert newer in list(Log(tmp_path / "log.jsonl").read())


def test_nothing_changes_where_the_commit_cannot_be_written(tmp_path: Path) -> None:
    """RELIABILITY rows 3 and 4: a full disk loses nothing and does nothing twice."""
    disk = FaultyDisk()
    consumer = _consumer(tmp_path, disk=disk)
    stream = consumer.stream(PATHS[0])
    consumer.commit(stream, Position(10, 1), [_prompt(1)], {"n": 1})
    before = _known(consumer)
    disk.fail_at, disk.code = len(disk.trail) + 1, errno.ENOSPC
    with pytest.raises(OSError):
        consumer.commit(stream, Position(20, 2), [_prompt(2)], {"n": 2})
    assert _known(consumer) == before and not consumer.seen.has(_prompt(2))
    consumer.commit(stream, Position(20, 2), [_prompt(2)], {"n": 2})
    assert [dict(c.data) for c in _again(tmp_path)[1]] == [{"n": 1}, {"n": 2}]


def test_an_answer_to_what_was_set_back_keeps_its_data_and_moves_nothing(tmp_path: Path) -> None:
    """A transcript was rewritten while a handler worked on the old one: nothing of the new one may be skipped."""
    consumer = _consumer(tmp_path)
    stream = consumer.stream(PATHS[0])
    epoch = stream.epoch
    consumer.set_back(stream)
    commit = consumer.commit(stream, Position(999, 9), [_prompt(1)], {"n": 1}, epoch)
    assert commit is not None and stream.offset == 0 and consumer.seen.has(_prompt(1))


def test_the_end_is_of_what_was_done_when_it_was_told(tmp_path: Path) -> None:
    """Issue "Reading": a session that was resumed while its end was handled ends once more."""
    consumer = _consumer(tmp_path)
    stream = consumer.stream(PATHS[0])
    consumer.commit(stream, Position(10, 1), [_prompt(1)], {})
    told = stream.acted
    consumer.commit(stream, Position(20, 1), [_prompt(2)], {})
    consumer.finish("SessionEnded", stream, "s", {}, told)
    assert stream.unended and _again(tmp_path)[0].stream(PATHS[0]).unended
    consumer.finish("SessionEnded", stream, "s", {}, stream.acted)
    consumer.skip(stream, Position(30, 1))
    assert not stream.unended, "bookkeeping behind the end is no new session"


def test_what_a_person_dropped_stays_dropped_whatever_its_id_looks_like(tmp_path: Path) -> None:
    """Issue "Command line": `tacitd rescue drop`; an id is what a transcript, or a person, says it is."""
    ids = ["u1", "~nothing", "=zz", "", "~a~b~c"]
    consumer = _consumer(tmp_path)
    consumer.forget(ids)
    again, _ = _again(tmp_path)
    assert all(one.seen.knows(id) for one in (consumer, again) for id in ids) and again.skipped == 0


def test_a_first_start_that_cannot_be_written_down_holds_all_the_same(tmp_path: Path) -> None:
    """RELIABILITY rows 4 and 12: the clock is set back while the disk is full; what is typed then is not passed by."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    consumer.begin({})
    clock.jump(-86400)
    real = consumer.log.append

    def full(record: Any, *, sync: bool = False) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    consumer.log.append = full  # type: ignore[method-assign]
    with pytest.raises(OSError, match="space"):
        consumer.reborn()
    assert not consumer.too_old(_prompt(1, clock.wall), consumer.stream(PATHS[0]))
    with pytest.raises(OSError, match="space"):
        consumer.save()
    born, consumer.log.append = clock.wall, real  # type: ignore[method-assign]
    clock.pass_(5000)
    consumer.save()
    assert consumer.born == _again(tmp_path)[0].born == born
