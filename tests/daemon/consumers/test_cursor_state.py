"""What each record of a handler's log changes, live and after a restart, and what changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scripted
from support_first_start import begin_first_start
from tacitd.consumers.compaction import LARGE, compact_log
from tacitd.consumers.consumer import Consumer
from tacitd.consumers.cursor_table import Cursor
from tacitd.events import Prompt
from tacitd.files.log import Log
from tacitd.handler import Job, Plugin
from tacitd.sources.position import Position
from tacitd.testing import FakeClock

PATH = Path("/t/a.jsonl")
DAY = 86400.0
JOBS = (Job("minutely", 60.0), Job("nightly", 86400.0))


def make(folder: Path, clock: FakeClock | None = None, *, pays: bool = True) -> Consumer:
    """A consumer whose log is folded."""
    plugin = Plugin("x", Scripted, jobs=JOBS, uses_model=pays)
    consumer = Consumer(plugin, Scripted(), Log(folder / "log.jsonl"), clock or FakeClock())
    list(consumer.replay_log())
    return consumer


def records(consumer: Consumer, kind: str = "") -> list[Any]:
    """The log's records of a kind, or all."""
    return [one for one in consumer.log.read() if kind in ("", one["k"])]


def prompt(number: int, time: float | None = 5.0) -> Prompt:
    return Prompt("typed", f"words {number}", "s", f"u{number}", time, "/w")


def test_a_new_cursor_did_nothing() -> None:
    """Nothing is handled, nothing is to be written, and its session's end is not offered."""
    cursor = Cursor(PATH)
    assert (cursor.handled_upto, cursor.end_handled_upto) == (-1, -1)
    assert not cursor.has_unhandled_end and cursor.saved_state == cursor.get_state()


@pytest.mark.parametrize(
    ("handled", "ended", "unhandled"),
    [(-1, -1, False), (7, -1, True), (7, 7, False), (9, 7, True), (7, 9, False), (1 << 40, 1 << 40, False)],
)
def test_an_end_is_unhandled_if_something_was_done_after_it(
    handled: int, ended: int, unhandled: bool
) -> None:
    """`SessionEnded` is offered again only after further prompts."""
    cursor = Cursor(PATH, handled_upto=handled, end_handled_upto=int(str(ended)))
    assert cursor.has_unhandled_end is unhandled


@pytest.mark.parametrize("count", [0, 1, 500, 501, 1001])
def test_every_transcript_of_the_first_start_counts_as_read(tmp_path: Path, count: int) -> None:
    """Also after a restart; and nothing of it is written again."""
    consumer = make(tmp_path)
    begin_first_start(consumer, {f"/t/{n}": Position(n + 1, n) for n in range(count)})
    for one in (consumer, make(tmp_path)):
        assert len(one.cursors) == count
        assert all(one.get_cursor(Path(f"/t/{n}")).position == Position(n + 1, n) for n in range(count))
        assert not any(cursor.has_unhandled_end for cursor in one.cursors.iter_all())
        before = len(records(one))
        one.save_positions()
        assert len(records(one)) == before


@pytest.mark.parametrize(
    "kind", ["Aaa", "Due", "SessionEnded", "SessionStarted", "SourceChanged", "Told", "Zzz"]
)
def test_each_event_changes_what_it_is_about(tmp_path: Path, kind: str) -> None:
    """A job's time, a message's id and the end of a session are kept apart, live and after a restart."""
    consumer = make(tmp_path)
    cursor = consumer.get_cursor(PATH)
    consumer.commit(cursor, Position(1000, 1), [prompt(1)], {})
    commit = consumer.commit_event(kind, cursor, "name", {"a": 1})
    assert consumer.commit_event(kind, None, "other", {}).upto == -1 and commit.upto == 1000
    for one in (consumer, make(tmp_path)):
        names = {"name", "other"}
        assert set(one.last_job_runs) == (names if kind == "Due" else set())
        assert set(one.handled_messages) == (names if kind == "Told" else set())
        assert one.get_cursor(PATH).has_unhandled_end is (kind != "SessionEnded")


@pytest.mark.parametrize(
    ("record", "state"),
    [
        ({"o": 50}, (50, 0, -1, -1)),
        ({"o": 100}, (100, 0, 100, 60)),
        ({"o": 100, "c": 9, "a": 80, "e": 70}, (100, 9, 80, 70)),
        ({"o": 150}, (150, 0, 100, 60)),
    ],
)
def test_a_record_with_a_lower_offset_means_that_it_was_read_again(
    tmp_path: Path, record: dict[str, int], state: tuple[int, ...]
) -> None:
    """What was done before then no longer counts; otherwise it does, also if the record does not repeat it."""
    log = Log(tmp_path / "log.jsonl")
    place = {"k": "at", "at": 1.0, "t": str(PATH)}
    log.append(place | {"o": 100, "c": 5, "a": 100, "e": 60})
    log.append(place | record)
    log.flush()
    cursor = make(tmp_path).get_cursor(PATH)
    assert (cursor.offset, cursor.crc, cursor.handled_upto, cursor.end_handled_upto) == state


def test_positions_are_saved_once(tmp_path: Path) -> None:
    """The log does not grow while nothing changes; a set-back cursor is saved too."""
    consumer = make(tmp_path)
    consumer.get_cursor(Path("/t/untouched"))
    cursor = consumer.get_cursor(PATH)
    consumer.skip_to(cursor, Position(10, 1))
    for _ in range(3):
        consumer.save_positions()
    assert [one["o"] for one in records(consumer)] == [10] and "f" not in records(consumer)[0]
    consumer.reset_cursor(cursor)
    assert (cursor.handled_upto, cursor.end_handled_upto, cursor.epoch) == (-1, -1, 1)
    for _ in range(2):
        consumer.save_positions()
    assert [one["o"] for one in records(consumer)] == [10, 0]


def test_what_a_scan_asked_for_is_saved_with_the_position(tmp_path: Path) -> None:
    """`scan_since` and `scan_projects` are in each later record of the position."""
    consumer = make(tmp_path)
    consumer.rewind_transcripts([PATH], 3.0, ["/p"])
    consumer.skip_to(consumer.get_cursor(PATH), Position(10, 1))
    consumer.save_positions()
    assert [(one["f"], one["fo"]) for one in records(consumer, "at")] == [(3.0, ["/p"])]


def test_a_scan_of_one_project_does_not_hide_new_prompts_of_others(tmp_path: Path) -> None:
    """Only prompts from before the first start are outside of the scan; a handler that calls no model reads all."""
    consumer = make(tmp_path)
    begin_first_start(consumer)
    consumer.rewind_transcripts([PATH], 0.0, ["/p"])
    cursor, now = consumer.get_cursor(PATH), consumer.clock.now()
    assert consumer.is_outside_scan(prompt(1, 5.0), cursor, "/q")
    assert not consumer.is_outside_scan(prompt(1, 5.0), cursor, "/p")
    assert not consumer.is_outside_scan(prompt(1, now), cursor, "/q")
    assert not consumer.is_outside_scan(prompt(1, None), cursor, "/q")
    reader = make(tmp_path, pays=False)
    assert not reader.is_outside_scan(prompt(1, 5.0), reader.get_cursor(PATH), "/q")


def test_a_first_start_in_the_future_is_corrected_once(tmp_path: Path) -> None:
    """The clock was wrong: one record, however often it is checked."""
    clock = FakeClock()
    consumer = make(tmp_path, clock)
    begin_first_start(consumer)
    clock.jump(-1000.0)
    for _ in range(3):
        consumer.correct_first_start()
        consumer.save_positions()
    assert len(records(consumer, "born")) == 2 and make(tmp_path).first_start == clock.now()


def test_frequent_jobs_are_saved_at_the_end(tmp_path: Path) -> None:
    """A run of a job with a shorter interval than an hour leaves no record; the last one is saved when the daemon stops."""
    consumer = make(tmp_path)
    names = ["".join(name) for name in ("minutely", "nightly", "other")]
    assert [consumer.is_frequent_job(name) for name in names] == [True, False, False]
    for at in (100.0, 100.0, 250.0, 50.0):  # 50: the clock was set back
        consumer.last_job_runs |= {"minutely": at, "nightly": at}
        consumer.save_jobs()
    assert [(one["s"], one["at"]) for one in records(consumer)] == [
        ("minutely", at) for at in (100.0, 250.0, 50.0)
    ]
    again = make(tmp_path)
    assert again.last_job_runs == {"minutely": 50.0}
    again.save_jobs()
    assert len(records(again)) == 3


def test_a_compaction_keeps_what_is_exactly_at_its_limit(tmp_path: Path) -> None:
    """docs/files.md: data for 400 days, positions in deleted transcripts for 60; cursors without state and commits
    without data leave nothing."""
    clock = FakeClock()
    consumer = make(tmp_path, clock)
    old, gone, fresh = (consumer.get_cursor(Path(f"/t/{name}")) for name in ("old", "gone", "fresh"))
    consumer.commit(old, Position(10, 1), [prompt(1)], {"n": 1})
    consumer.commit(old, Position(20, 1), [prompt(2)], {})
    clock.advance(340 * DAY)
    consumer.commit(gone, Position(10, 1), [prompt(3)], {"n": 3})
    clock.advance(60 * DAY)
    consumer.commit(consumer.get_cursor(PATH), Position(10, 1), [prompt(4)], {})
    assert LARGE == 1_048_576
    assert compact_log(consumer, lambda path: path in (str(PATH), str(fresh.path)), large=0)
    again = make(tmp_path, clock)
    assert {one.path for one in again.cursors.iter_all()} == {gone.path, PATH}
    assert fresh.path not in again.cursors
    assert [one["d"] for one in records(again, "kept")] == [{"n": 1}, {"n": 3}]
    assert all(again.seen.has_id(f"u{number}") for number in (1, 2, 3, 4))
