"""Compaction of a handler's log."""

from __future__ import annotations

from pathlib import Path

from support_engine import Scripted
from support_first_start import begin_first_start
from tacitd.consumers.compaction import KEEP_DATA, KEEP_GONE, KEEP_MESSAGES, compact_log
from tacitd.consumers.consumer import Consumer
from tacitd.events import Message, Prompt
from tacitd.files.log import Log
from tacitd.handler import Plugin
from tacitd.sources.position import Position
from tacitd.testing import FakeClock


def _consumer(folder: Path, clock: FakeClock) -> Consumer:
    handler = Scripted()
    consumer = Consumer(Plugin("x", lambda: handler), handler, Log(folder / "log.jsonl"), clock)
    list(consumer.replay_log())
    return consumer


def _commit(consumer: Consumer, path: Path, first: int, count: int = 1) -> None:
    stream = consumer.get_cursor(path)
    prompts = [Prompt("typed", f"w{n}", "s", f"u{n}", 1.0, "/w") for n in range(first, first + count)]
    consumer.commit(stream, Position(stream.offset + 10, 1), prompts, {"n": first})


def test_a_short_log_is_left_alone(tmp_path: Path) -> None:
    """Only a log of more than 1 MB is compacted."""
    consumer = _consumer(tmp_path, FakeClock())
    _commit(consumer, Path("/a"), 1)
    before = consumer.log.path.read_bytes()
    assert not compact_log(consumer, lambda path: True)
    assert not compact_log(consumer, lambda path: True, large=len(before)), "not before it is longer"
    assert consumer.log.path.read_bytes() == before


def test_it_becomes_short_and_goes_on(tmp_path: Path) -> None:
    """RELIABILITY row 18: a log does not grow without bound; the ids move into a file of their own."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    for i in range(100):
        _commit(consumer, Path("/a"), i * 25, 25)
        consumer.save_positions()
    clock.advance(KEEP_DATA / 2)
    consumer.log.append({"k": "job", "at": clock.now(), "s": "job"})
    clock.advance(KEEP_DATA / 2 + 1)
    _commit(consumer, Path("/a"), 9000)
    size = consumer.log.size
    assert compact_log(consumer, lambda path: True, large=1000)
    records = list(consumer.log.read())
    assert [r["d"] for r in records if r["k"] == "kept"] == [{"n": 9000}], "data is kept for 400 days"
    assert not any(r.get("ids") for r in records if r["k"] in ("done", "ids")) and len(records) < 6
    assert consumer.handled_file.stat().st_size < 2600 * 40
    assert consumer.log.size < size
    _commit(consumer, Path("/a"), 9001)
    other = _consumer(tmp_path, clock)
    assert other.get_offset(Path("/a")) == 1020
    assert all(
        other.seen.has_prompt(Prompt("typed", "", "", f"u{n}", None, "")) for n in (0, 1234, 2499, 9000, 9001)
    )


def test_transcripts_that_are_long_gone_are_forgotten(tmp_path: Path) -> None:
    """The positions in transcripts that exist, or were logged within 60 days, are kept."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    for name in ("/there", "/gone"):
        _commit(consumer, Path(name), 1)
    clock.advance(KEEP_GONE + 1)
    _commit(consumer, Path("/gone-lately"), 2)
    compact_log(consumer, lambda path: path == "/there", large=0)
    other = _consumer(tmp_path, clock)
    assert {one.path for one in other.cursors.iter_all()} == {Path("/there"), Path("/gone-lately")}


def test_a_clock_that_is_a_century_ahead_forgets_nothing(tmp_path: Path) -> None:
    """DESIGN "Service": one boot in the year 2100 must not empty anything."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    _commit(consumer, Path("/gone"), 1)
    clock.jump(75 * 366 * 86400.0)
    compact_log(consumer, lambda path: False, large=0)
    other = _consumer(tmp_path, clock)
    assert Path("/gone") in other.cursors and [r["d"] for r in other.log.read() if "d" in r] == [{"n": 1}]


def test_a_message_is_known_as_long_as_it_can_come_again(tmp_path: Path) -> None:
    """A message is posted again for 30 days after its commit, so its id is forgotten after twice that."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    consumer.commit_event(Message.stored_name, None, "learning:1:s:1", {})
    clock.advance(KEEP_MESSAGES)
    consumer.commit_event(Message.stored_name, None, "learning:2:s:1", {})
    compact_log(consumer, lambda path: False, large=0)
    assert set(_consumer(tmp_path, clock).handled_messages) == {"learning:1:s:1", "learning:2:s:1"}
    clock.advance(1.0)
    consumer.commit_event(Message.stored_name, None, "learning:3:s:1", {})
    consumer = _consumer(tmp_path, clock)
    compact_log(consumer, lambda path: False, large=0, grown=0)
    assert set(_consumer(tmp_path, clock).handled_messages) == {"learning:2:s:1", "learning:3:s:1"}


def test_a_log_is_only_written_anew_when_it_has_grown(tmp_path: Path) -> None:
    """Positions of 3,000 transcripts are more than 1 MB: without new records, a start leaves them as they are."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    for number in range(20):
        _commit(consumer, Path(f"/t/{number}"), number)
    assert compact_log(consumer, lambda path: True, large=0)
    assert not compact_log(_consumer(tmp_path, clock), lambda path: True, large=0)
    for number in range(30):
        _commit(consumer, Path("/t/0"), 100 + number)
    assert compact_log(_consumer(tmp_path, clock), lambda path: True, large=0)


def test_what_the_first_start_counted_as_read_stays_as_short(tmp_path: Path) -> None:
    """A record of its own for each of 20,000 transcripts made the log three times as long, and each start slower."""
    clock = FakeClock()
    consumer = _consumer(tmp_path, clock)
    begin_first_start(consumer, {f"/t/{n}": Position(n + 1, n) for n in range(1200)})
    size = consumer.log.size
    _commit(consumer, Path("/t/5"), 1)
    consumer = _consumer(tmp_path, clock)
    assert not compact_log(consumer, lambda path: True, large=0), "nothing would become shorter"
    assert compact_log(consumer, lambda path: path != "/t/7", large=0, grown=0)
    assert consumer.log.size < size + 1000
    clock.advance(KEEP_GONE + 1)
    _commit(consumer, Path("/t/8"), 2)
    assert compact_log(consumer, lambda path: path != "/t/7", large=0, grown=0)
    again = _consumer(tmp_path, clock)
    assert [again.get_offset(f"/t/{n}") for n in (0, 5, 6, 7, 8, 1199)] == [1, 16, 7, 0, 19, 1200]
    assert len(list(again.cursors.iter_baselines())) == 1197 and len(again.cursors) == 1199
    assert not compact_log(again, lambda path: True, large=0)
