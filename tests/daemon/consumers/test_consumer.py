"""A handler's log: after a restart the state is as it was, wherever the daemon was killed."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger

from support_engine import Scripted
from support_examples import examples
from support_first_start import begin_first_start
from tacitd.consumers import compaction
from tacitd.consumers.consumer import GRACE, Consumer
from tacitd.events import Prompt
from tacitd.files.log import Log
from tacitd.handler import Commit, Plugin
from tacitd.sources.position import Position
from tacitd.testing import FakeClock, FaultyDisk

PATHS = [Path("/t/a.jsonl"), Path("/t/b.jsonl"), Path("/t/é😀.jsonl")]


def _consumer(
    folder: Path, clock: FakeClock | None = None, *, pays: bool = True, disk: Any = None
) -> Consumer:
    handler = Scripted()
    return Consumer(
        Plugin("x", lambda: handler, uses_model=pays),
        handler,
        Log(folder / "log.jsonl", disk),
        clock or FakeClock(),
    )


def _known(consumer: Consumer) -> Mapping[str, Any]:
    """The state that the fold must restore."""
    streams = {
        s.path: (
            s.offset,
            s.crc,
            s.handled_upto,
            s.end_handled_upto,
            s.scan_since,
            (s.session, s.cwd) if s.handled_upto >= 0 else (),
        )
        for s in consumer.cursors.iter_all()
        if s.get_state() != (0, 0, -1) or s.scan_since is not None
    }
    return {
        "streams": streams,
        "first start": consumer.first_start,
        "jobs": consumer.last_job_runs,
        "messages": set(consumer.handled_messages),
        "seen": set(consumer.seen.dump_keys()),
    }


def _again(folder: Path) -> tuple[Consumer, list[Commit]]:
    consumer = _consumer(folder)
    return consumer, list(consumer.replay_log())


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
                "message",
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
    stream = consumer.get_cursor(path)
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
            consumer.skip_to(stream, forward)
        case "end":
            consumer.commit_event(
                "SessionEnded", stream, stream.session, {"end": n} if n % 2 else {}, stream.handled_upto
            )
        case "due":
            consumer.commit_event("Due", None, f"job{n % 3}", {})
        case "message":
            consumer.commit_event("Told", None, f"id{n % 5}", {})
        case "save":
            consumer.save_positions()
        case "rewind":
            consumer.rewind_transcripts([path], float(n))
        case "back":
            consumer.reset_cursor(stream)
            consumer.save_positions()
        case "late":
            consumer.commit(stream, forward, [_prompt(n)], {"late": n}, stream.epoch - 1)
        case "begin":
            begin_first_start(consumer, {str(path): Position(n, 7 if n else 0)})  # nothing has no checksum


@given(STEPS)
@examples(25)
def test_the_fold_of_the_log_is_the_live_state(steps: list[tuple[str, int, int]]) -> None:
    """RELIABILITY row 1: after a restart at any point, exactly the committed state is known."""
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock()
        consumer = _consumer(Path(folder), clock)
        data: list[dict[str, int]] = []
        for what, path, n in steps:
            clock.advance(1.0)
            if what == "restart":
                consumer.save_positions()
                consumer, read = _again(Path(folder))
                assert [dict(c.data) for c in read] == data
            else:
                _do(consumer, what, PATHS[path], n)
                data += {"data": [{"n": n}], "late": [{"late": n}], "end": [{"end": n}] if n % 2 else []}.get(
                    what, []
                )
        consumer.save_positions()
        other, read = _again(Path(folder))
        assert _known(other) == _known(consumer)
        assert [dict(c.data) for c in read] == data
        assert compaction.compact_log(other, lambda path: True, large=-1)
        short, kept = _again(Path(folder))
        assert _known(short) == _known(consumer), "compaction changes nothing that is known"
        assert kept == read
        assert compaction.compact_log(short, lambda path: True, large=-1, grown=0)
        assert _known(_again(Path(folder))[0]) == _known(consumer), "a second time neither"


def test_without_save_a_crash_only_means_reading_again(tmp_path: Path) -> None:
    """DESIGN "Consumers": a crash costs only reading again."""
    consumer = _consumer(tmp_path)
    stream = consumer.get_cursor(PATHS[0])
    consumer.commit(stream, Position(100, 1), [_prompt(1)], {"n": 1})
    consumer.skip_to(stream, Position(900, 2))
    other, _ = _again(tmp_path)
    assert other.get_offset(PATHS[0]) == 100 and other.seen.has_prompt(_prompt(1))


def test_first_start_is_complete_or_none(tmp_path: Path) -> None:
    """DESIGN "Sources": a crash during the first start does not make old records count as new."""
    consumer = _consumer(tmp_path)
    begin_first_start(consumer, {f"/t/{i}.jsonl": Position(i, i) for i in range(1200)})
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines[:3]))
    assert _again(tmp_path)[0].first_start is None, "then it is begun again"
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    other, _ = _again(tmp_path)
    assert other.first_start == consumer.first_start and other.get_offset(Path("/t/1199.jsonl")) == 1199


def test_what_is_older_than_the_first_start_is_not_paid_for(tmp_path: Path) -> None:
    """DESIGN "Sources": with a minute of grace, because a record has the time at which Enter was pressed."""
    consumer, free = _consumer(tmp_path / "a"), _consumer(tmp_path / "b", pays=False)
    for one in (consumer, free):
        begin_first_start(one)
    first_start = consumer.first_start or 0.0
    stream = consumer.get_cursor(PATHS[0])
    ages = {
        age: consumer.is_too_old(_prompt(1, first_start - age), stream)
        for age in (-9.0, 0.0, GRACE - 1, GRACE + 1, 1e9)
    }
    assert ages == {-9.0: False, 0.0: False, GRACE - 1: False, GRACE + 1: True, 1e9: True}
    assert not consumer.is_too_old(_prompt(1, None), stream), "without a time it counts as new"
    assert not free.is_too_old(_prompt(1, 0.0), stream), "who does not pay may have the past"


def test_scan_sets_back_and_the_larger_wish_stays(tmp_path: Path) -> None:
    """DESIGN "Sources": `tacitd scan` asks for older prompts; a later scan of a shorter time keeps them."""
    consumer = _consumer(tmp_path)
    begin_first_start(consumer, {str(PATHS[0]): Position(500, 1)})
    stream = consumer.get_cursor(PATHS[0])
    consumer.rewind_transcripts([PATHS[0]], 1000.0)
    consumer.rewind_transcripts([PATHS[0]], 2000.0)
    assert stream.offset == 0 and stream.scan_since == 1000.0
    assert not consumer.is_too_old(_prompt(1, 1500.0), stream) and consumer.is_too_old(
        _prompt(1, 999.0), stream
    )
    assert _known(_again(tmp_path)[0]) == _known(consumer)


def test_a_scan_of_one_project_does_not_shorten_a_scan_of_all(tmp_path: Path) -> None:
    """DESIGN "Sources": what the larger scan asked for is still read."""
    consumer = _consumer(tmp_path)
    begin_first_start(consumer, {str(PATHS[0]): Position(500, 1)})
    stream = consumer.get_cursor(PATHS[0])
    consumer.rewind_transcripts([PATHS[0]], 1000.0)
    consumer.rewind_transcripts([PATHS[0]], 1000.0, only=["/one"])
    assert stream.scan_projects == () and not consumer.is_outside_scan(_prompt(1, 1500.0), stream, "/two")


def test_records_of_a_newer_version_and_broken_ones_are_left_alone(tmp_path: Path) -> None:
    """After a downgrade the daemon starts, and records of the newer version survive a compaction."""
    consumer = _consumer(tmp_path)
    stream = consumer.get_cursor(PATHS[0])
    consumer.commit(stream, Position(10, 1), [_prompt(1)], {"n": 1})
    newer = {"k": "marvel", "at": 1.0, "t": 7}
    for record in (newer, {"k": "at"}, {"k": "done", "at": "x"}, {"k": "base", "p": [1]}, {"at": 1.0}):
        consumer.log.append(record)
    consumer.commit(stream, Position(20, 2), [_prompt(2)], {"n": 2})
    warnings = list[str]()
    sink = logger.add(lambda message: warnings.append(message.record["message"]), level="WARNING")
    other, read = _again(tmp_path)
    logger.remove(sink)
    assert [dict(c.data) for c in read] == [{"n": 1}, {"n": 2}] and other.get_offset(PATHS[0]) == 20
    assert len(warnings) == 3 and all("a record is left out" in one for one in warnings)
    compaction.compact_log(other, lambda path: True, large=-1)
    assert newer in list(Log(tmp_path / "log.jsonl").read())


def test_nothing_changes_where_the_commit_cannot_be_written(tmp_path: Path) -> None:
    """RELIABILITY rows 3 and 4: a full disk loses nothing and does nothing twice."""
    disk = FaultyDisk()
    consumer = _consumer(tmp_path, disk=disk)
    stream = consumer.get_cursor(PATHS[0])
    consumer.commit(stream, Position(10, 1), [_prompt(1)], {"n": 1})
    before = _known(consumer)
    disk.fail_at, disk.code = len(disk.trail) + 1, errno.ENOSPC
    with pytest.raises(OSError):
        consumer.commit(stream, Position(20, 2), [_prompt(2)], {"n": 2})
    assert _known(consumer) == before and not consumer.seen.has_prompt(_prompt(2))
    consumer.commit(stream, Position(20, 2), [_prompt(2)], {"n": 2})
    assert [dict(c.data) for c in _again(tmp_path)[1]] == [{"n": 1}, {"n": 2}]


def test_an_answer_to_what_was_set_back_keeps_its_data_and_moves_nothing(tmp_path: Path) -> None:
    """If a transcript is rewritten while a handler works on the old one, nothing of the new one is skipped."""
    consumer = _consumer(tmp_path)
    stream = consumer.get_cursor(PATHS[0])
    epoch = stream.epoch
    consumer.reset_cursor(stream)
    commit = consumer.commit(stream, Position(999, 9), [_prompt(1)], {"n": 1}, epoch)
    assert commit is not None and stream.offset == 0 and consumer.seen.has_prompt(_prompt(1))


def test_the_end_is_of_what_was_handled_when_it_was_offered(tmp_path: Path) -> None:
    """SPEC S-32: a session that was resumed while its end was handled ends once more."""
    consumer = _consumer(tmp_path)
    stream = consumer.get_cursor(PATHS[0])
    consumer.commit(stream, Position(10, 1), [_prompt(1)], {})
    handled = stream.handled_upto
    consumer.commit(stream, Position(20, 1), [_prompt(2)], {})
    consumer.commit_event("SessionEnded", stream, "s", {}, handled)
    assert stream.has_unhandled_end and _again(tmp_path)[0].get_cursor(PATHS[0]).has_unhandled_end
    consumer.commit_event("SessionEnded", stream, "s", {}, stream.handled_upto)
    consumer.skip_to(stream, Position(30, 1))
    assert not stream.has_unhandled_end, "bookkeeping behind the end is no new session"


def test_what_a_person_dropped_stays_dropped_whatever_its_id_looks_like(tmp_path: Path) -> None:
    """`tacitd rescue drop`: an id from a transcript or a person may be any text."""
    ids = ["u1", "~nothing", "=zz", "", "~a~b~c"]
    consumer = _consumer(tmp_path)
    consumer.drop_prompts(ids)
    again, _ = _again(tmp_path)
    assert all(one.seen.has_id(id) for one in (consumer, again) for id in ids)


def test_a_first_start_that_cannot_be_written_down_holds_all_the_same(tmp_path: Path) -> None:
    """RELIABILITY rows 4 and 12: prompts are not skipped if the clock is set back while the disk is full."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    begin_first_start(consumer)
    clock.jump(-86400)
    real = consumer.log.append

    def full(record: Any, *, sync: bool = False) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    consumer.log.append = full  # type: ignore[method-assign]
    with pytest.raises(OSError, match="space"):
        consumer.correct_first_start()
    assert not consumer.is_too_old(_prompt(1, clock.wall), consumer.get_cursor(PATHS[0]))
    with pytest.raises(OSError, match="space"):
        consumer.save_positions()
    first_start, consumer.log.append = clock.wall, real  # type: ignore[method-assign]
    clock.advance(5000)
    consumer.save_positions()
    assert consumer.first_start == _again(tmp_path)[0].first_start == first_start
