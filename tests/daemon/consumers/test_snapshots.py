"""A handler that takes snapshots is opened with them, and its older commits stay readable in the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from support_disk import PowerCutDisk, each_fault
from tacitd.consumers import opening
from tacitd.consumers.compaction import KEEP_DATA, KEEP_GONE, KEEP_MESSAGES, KEEP_SHOWN, compact_log
from tacitd.consumers.consumer import FREQUENT, GRACE, MESSAGES_KEY, RESEND_FOR, Consumer
from tacitd.consumers.opening import open_consumer
from tacitd.consumers.snapshots import ARCHIVE, SNAPSHOT, identify_record, read_commit_records
from tacitd.errors import FileRefusedError, LogDamagedError
from tacitd.events import Event, Prompt
from tacitd.files.disk import Disk
from tacitd.files.log import LINE_LIMIT, Log
from tacitd.handler import BaseHandler, Commit, Done, Outcome, Plugin, Tools
from tacitd.sources.position import Position
from tacitd.testing import Crash, FakeClock, FaultyDisk

PATH = Path("/t/a.jsonl")
DAY = 86400.0


class Adder(BaseHandler):
    """Its state is the list of the numbers in its commits."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.read = 0

    def open(self, commits: Iterable[Commit], tools: Tools | None = None) -> None:
        for commit in commits:
            self.read += 1
            if commit.event == SNAPSHOT:
                self.numbers = list(commit.data["numbers"])
            else:
                self.numbers.append(int(commit.data["n"]))

    def handle(self, event: Event, tools: Tools) -> Outcome:
        return Done()

    def take_snapshot(self) -> Mapping[str, Any]:
        """The numbers."""
        return {"numbers": self.numbers}


def start(folder: Path, clock: FakeClock, disk: Disk | None = None) -> tuple[Consumer, Adder, list[Commit]]:
    """The consumer as a new process opens it, its handler, and the commits that are in its log."""
    handler, seen = Adder(), list[Commit]()
    consumer = Consumer(Plugin("x", Adder), handler, Log(folder / "log.jsonl", disk), clock)
    handler.open(consumer.replay_log(seen.append))
    return consumer, handler, seen


def commit(consumer: Consumer, number: int, **more: Any) -> None:
    stream = consumer.get_cursor(PATH)
    prompt = Prompt("typed", f"w{number}", "s", f"u{number}", 1.0, "/w")
    consumer.commit(stream, Position(stream.offset + 10, 1), [prompt], {"n": number} | more)


def numbers(folder: Path) -> list[int]:
    """Those of all commits that can be read."""
    return [record["d"]["n"] for record in read_commit_records(folder)]


def test_a_handler_gets_its_snapshot_and_the_commits_since(tmp_path: Path) -> None:
    """A start does not read what the state contains; all commits can still be read, in their order and once."""
    clock = FakeClock()
    consumer, handler, _ = start(tmp_path, clock)
    for number in range(100):
        commit(consumer, number)
        clock.advance(DAY)
    for count in (101, 102):
        consumer, handler, _ = start(tmp_path, clock)
        assert compact_log(consumer, lambda path: True, large=0)
        assert not compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
        commit(consumer, count - 1)
        consumer, handler, seen = start(tmp_path, clock)
        assert handler.numbers == list(range(count)) == numbers(tmp_path) and handler.read == 2
        # Those of the two days before the newest record of the compacted log are shown at a start, and those since.
        assert [one.data["n"] for one in seen] == list(range(count - 4, count))
        for number in range(20):  # enough for another compaction
            consumer.log.append({"k": "job", "at": clock.now(), "s": f"job {number}"})


def test_what_is_too_old_leaves_the_archive(tmp_path: Path) -> None:
    """Commits are kept for 400 days; the state keeps what they amount to. The archive is written anew once a month."""
    clock = FakeClock()
    consumer, _, _ = start(tmp_path, clock)
    commit(consumer, 1)
    clock.advance(100 * DAY)
    commit(consumer, 2)
    compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
    assert numbers(tmp_path) == [1, 2]
    clock.advance((400 + 29 - 100) * DAY)
    for last, first_kept in ((13, 1), (43, 2)):  # the first time it is not later than a month
        consumer, handler, _ = start(tmp_path, clock)
        for number in range(max(handler.numbers) + 1, last):
            commit(consumer, number)
        assert compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
        assert numbers(tmp_path) == list(range(first_kept, last))
        assert start(tmp_path, clock)[1].numbers == list(range(1, last))
        clock.advance(DAY + 1)


def test_the_limits_are_those_of_the_documents() -> None:
    """docs/files.md: data is kept for 400 days, positions in deleted transcripts for 60, commits in the log for two. A
    message comes again for 30 days, so that it was handled must be known longer."""
    assert (KEEP_DATA, KEEP_GONE, KEEP_SHOWN) == (400 * DAY, 60 * DAY, 2 * DAY)
    assert (RESEND_FOR, KEEP_MESSAGES, FREQUENT, GRACE) == (30 * DAY, 60 * DAY, 3600.0, 60.0)


def test_a_message_that_may_be_posted_again_stays_in_the_log(tmp_path: Path) -> None:
    """The state contains its commit, but not whether the other handler has handled the message."""
    clock = FakeClock()
    consumer, _, _ = start(tmp_path, clock)
    commit(consumer, 1, **{MESSAGES_KEY: {"profile": {}}})
    commit(consumer, 2)
    clock.advance(RESEND_FOR)
    commit(consumer, 3)
    compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
    consumer, handler, _ = start(tmp_path, clock)
    assert [one.data["n"] for one in consumer.message_commits] == [1] and handler.numbers == [1, 2, 3]


def test_a_damaged_snapshot_is_not_taken_for_an_empty_state(tmp_path: Path) -> None:
    """Otherwise the next compaction would lose everything."""
    clock = FakeClock()
    consumer, _, _ = start(tmp_path, clock)
    commit(consumer, 1)
    compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
    path = tmp_path / "log.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"k":"state"', b'{"k":"sta\x00e"'))
    with pytest.raises(LogDamagedError, match="state"):
        start(tmp_path, clock)


@each_fault
def test_a_crash_or_an_error_at_any_call_loses_nothing(
    tmp_path: Path, disk_for: Callable[[int], FaultyDisk]
) -> None:
    """RELIABILITY rows 2 and 3: at each call of two compactions, the state, the commits and the ids stay. A compaction that
    starts again does not archive anything twice, so a full disk does not make the archive grow at each start."""
    for at in range(1, 120):
        folder, clock = tmp_path / str(at), FakeClock()
        consumer, _, _ = start(folder, clock)
        for number in range(4):
            commit(consumer, number)
            clock.advance(2 * DAY)
        disk = disk_for(at)
        for count in (4, 8):
            running = start(folder, clock, disk)[0]
            try:
                compact_log(running, lambda path: True, large=0)
            except (Crash, OSError):
                disk.crash_at = disk.fail_at = 0
                disk.dead = False
            consumer, handler, _ = start(folder, clock)
            assert handler.numbers == numbers(folder) == list(range(count))
            assert all(consumer.seen.has_id(f"u{number}") for number in range(count))
            for number in range(count, 2 * count):
                commit(consumer, number)
                clock.advance(2 * DAY)
        assert numbers(folder) == list(range(16)) and (folder / ARCHIVE).is_file()
        archived = list(map(identify_record, Log(folder / ARCHIVE).read()))
        assert len(archived) == len(set(archived))
        if len(disk.trail) < at:
            assert at > 20
            return
    raise AssertionError("two compactions take more calls than were tried")


def test_what_an_interrupted_compaction_archived_is_synced_by_the_next(tmp_path: Path) -> None:
    """RELIABILITY row 2: after a crash the archive's last records may be in the kernel's memory only. They are on the drive
    before the log no longer has them."""
    for at in range(1, 120):
        folder, clock = tmp_path / str(at), FakeClock()
        consumer, _, _ = start(folder, clock)
        for number in range(4):
            commit(consumer, number)
            clock.advance(2 * DAY)
        disk = PowerCutDisk(crash_at=at)
        try:
            compact_log(start(folder, clock, disk)[0], lambda path: True, large=0)
        except Crash:
            disk.crash_at, disk.dead = 0, False
        compact_log(start(folder, clock, disk)[0], lambda path: True, large=0)
        assert numbers(folder) == list(range(4)) and (folder / ARCHIVE).stat().st_ino not in disk.lost_bytes
        if len(disk.trail) < at:
            assert at > 10
            return
    raise AssertionError("a compaction takes more calls than were tried")


def test_two_starts_with_a_clock_that_is_a_century_ahead_drop_nothing(tmp_path: Path) -> None:
    """DESIGN "Service": the first of them leaves records of the year 2100 in the log, by which all others would be too old."""
    clock = FakeClock()
    consumer, _, _ = start(tmp_path, clock)
    for number in range(4):
        commit(consumer, number)
        clock.advance(3 * DAY)
    compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
    clock.jump(75 * 366 * DAY)
    for number in (4, 5):
        consumer, _, _ = start(tmp_path, clock)
        commit(consumer, number)
        compact_log(start(tmp_path, clock)[0], lambda path: True, large=0, grown=0)
    assert numbers(tmp_path) == [0, 1, 2, 3, 4, 5] == start(tmp_path, clock)[1].numbers
    clock.jump(-75 * 366 * DAY)
    compact_log(start(tmp_path, clock)[0], lambda path: True, large=0, grown=0)
    assert numbers(tmp_path) == [0, 1, 2, 3, 4, 5] == start(tmp_path, clock)[1].numbers


def test_a_commit_of_a_clock_that_was_ahead_keeps_no_old_ones_in_the_archive(tmp_path: Path) -> None:
    """It is the archive's first record, and will not be old for a century."""
    clock = FakeClock()
    clock.jump(75 * 366 * DAY)
    consumer, _, _ = start(tmp_path, clock)
    commit(consumer, 0)
    clock.jump(-75 * 366 * DAY)
    for number in range(1, 16):
        commit(consumer, number)
        clock.advance(40 * DAY)
        consumer = start(tmp_path, clock)[0]
        compact_log(consumer, lambda path: True, large=0, grown=0)
    assert [number for number in numbers(tmp_path) if number < 4] == [0]


def test_odd_records_of_the_archive_are_left_out(tmp_path: Path) -> None:
    """They are damaged, or another program's."""
    clock = FakeClock()
    consumer, _, _ = start(tmp_path, clock)
    commit(consumer, 1)
    compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
    for name in (ARCHIVE, "log.jsonl"):
        with (tmp_path / name).open("a") as file:
            file.write('{"k":["kept"],"d":{"n":2}}\n{"k":"kept","d":5}\n{"k":"kept"}\n[]\n{"k":"ke\n')
    assert numbers(tmp_path) == [1] == start(tmp_path, clock)[1].numbers
    assert compact_log(start(tmp_path, clock)[0], lambda path: True, large=0, grown=0)


class Unable(Adder):
    """Its snapshot cannot be taken, or not be read again."""

    def take_snapshot(self) -> Mapping[str, Any]:
        """Fail."""
        raise KeyError("numbers")


class Endless(Adder):
    """Its state is longer than a reader of the log reads a line."""

    def take_snapshot(self) -> Mapping[str, Any]:
        """The numbers, and more."""
        return {"numbers": self.numbers, "more": "x" * LINE_LIMIT}


class Plain(BaseHandler):
    """A version of the handler that takes no snapshots."""

    def handle(self, event: Event, tools: Tools) -> Outcome:
        return Done()


@pytest.mark.parametrize("kind", [Unable, Endless, Plain])
def test_without_a_snapshot_that_can_be_read_the_log_stays_as_it_is(
    tmp_path: Path, kind: type[BaseHandler], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the earlier snapshot contains is nowhere else. The handler starts all the same."""
    monkeypatch.setattr(opening, "compact_log", partial(compact_log, large=0, grown=0))
    clock = FakeClock()
    for number in (0, 1):
        consumer, _, _ = start(tmp_path, clock)
        commit(consumer, number)
        clock.advance(3 * DAY)
        assert compact_log(start(tmp_path, clock)[0], lambda path: True, large=0, grown=0)
        before = consumer.log.path.read_bytes()
        consumer = Consumer(Plugin("x", kind), kind(), Log(tmp_path / "log.jsonl"), clock)
        assert open_consumer(consumer, cast("Tools", None)) is None
        assert consumer.log.path.read_bytes() == before
    assert start(tmp_path, clock)[1].numbers == [0, 1]


def test_handled_prompts_that_could_not_be_read_are_not_overwritten(tmp_path: Path) -> None:
    """A compaction would write the file without them. When it can be read again, all are known."""
    clock = FakeClock()
    consumer, _, _ = start(tmp_path, clock)
    commit(consumer, 1)
    assert compact_log(start(tmp_path, clock)[0], lambda path: True, large=0)
    kept = consumer.handled_file.rename(tmp_path / "kept")
    consumer.handled_file.symlink_to(consumer.handled_file)  # reading it raises ELOOP
    consumer, _, _ = start(tmp_path, clock)
    commit(consumer, 2)
    with pytest.raises(FileRefusedError, match="could not be read"):
        compact_log(consumer, lambda path: True, large=0, grown=0)
    kept.rename(consumer.handled_file)
    consumer, _, _ = start(tmp_path, clock)
    assert consumer.seen.has_id("u1") and consumer.seen.has_id("u2")
