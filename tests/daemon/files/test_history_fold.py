"""The history log is read once, and again only if another process changed it."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tacitd.files.disk import Disk
from tacitd.files.history_archive import shorten_history
from tacitd.files.log import Log, encode_record
from tacitd.files.operations import PutLine, TakeLine
from tacitd.files.transaction import History
from tacitd.files.transaction_records import StoredCause
from tacitd.testing import FakeClock, FaultyDisk


class CountingDisk(FaultyDisk):
    """Counts how often the history log is opened for reading."""

    reads = 0

    def open_read(self, path: Path) -> int:
        self.reads += path.name == "history.jsonl"
        return super().open_read(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project."""
    root = tmp_path / "project"
    root.mkdir()
    return root


def history(root: Path, disk: Disk | None = None) -> History:
    """The history as a new process loads it."""
    return History(Log(root.parent / "state" / "history.jsonl", disk), FakeClock(), disk)


def put(running: History, root: Path, number: int) -> None:
    """A transaction that adds one line."""
    line = PutLine(root / "LEARNED.md", "A", f"line {number}", "T")
    running.run_transaction(root, [line], {"batches": [str(number)]}, f"key {number}")


def synthesize(running: History, root: Path, number: int) -> None:
    """What a synthesis asks of the history, in its order (learning/stage2/run.py)."""
    assert running.pending == ()
    running.recover()
    assert len(running.list_transactions(root)) == number
    assert len(running.list_lines(root)) == number
    running.check_editable(root, root / "LEARNED.md")
    put(running, root, number)
    put(running, root, number)
    assert len(running.list_lines(root)) == number + 1
    assert len(running.list_transactions(root)) == number + 1
    assert running.list_transactions(root.parent) == [] and running.list_directories() == {root}


def test_a_synthesis_reads_the_log_once(root: Path) -> None:
    """The same process reads it once, whatever it asks and appends."""
    for number in range(3):
        put(history(root), root, number)
    disk = CountingDisk()
    running = history(root, disk)
    for number in range(3, 10):
        synthesize(running, root, number)
    assert disk.reads == 1
    again = history(root)
    assert again.list_transactions() == running.list_transactions()
    assert again.list_lines(root) == running.list_lines(root)


def test_what_another_process_appends_is_seen(root: Path) -> None:
    """The log's stamp differs: `tacitd` in another process wrote, or the log was compacted or removed."""
    disk = CountingDisk()
    running = history(root, disk)
    put(running, root, 0)
    put(history(root), root, 1)
    assert len(running.list_lines(root)) == 2 and disk.reads == 2
    # Another process appends between this one's fold and its own append.
    other = history(root)
    assert len(running.list_transactions(root)) == 2
    put(other, root, 2)
    running._append({"id": "x", "state": "noted"})
    assert len(running.list_lines(root)) == 3 and disk.reads == 3
    history(root).compact_log(large=0)
    assert len(running.list_lines(root)) == 3
    (root.parent / "state" / "history.jsonl").unlink()
    assert running.list_lines(root) == {} and running.list_transactions() == []


def test_reading_again_keeps_the_reason_why_a_transaction_waits(root: Path) -> None:
    """What only this process knows of an open transaction is kept while another process appends."""
    learned = root / "LEARNED.md"
    running = history(root)
    put(running, root, 0)
    (begun,) = running.list_transactions()
    log = Log(root.parent / "state" / "history.jsonl")
    intent = next(iter(log.read())) | {"id": "2", "key": "2"}
    log.append(intent | {"ops": [PutLine(learned, "A", "late", "T").to_record()]})
    learned.write_text("<<<<<<< HEAD\n")
    assert running.recover() == []
    (waiting,) = running.pending
    assert "conflict markers" in waiting.reason
    log.append({"id": begun.id, "state": "done"})
    assert running.pending == (waiting,)


def test_a_list_is_not_changed_by_a_later_transaction(root: Path) -> None:
    """Handlers use it while other threads write."""
    running = history(root)
    put(running, root, 0)
    lines, transactions = running.list_lines(root), running.list_transactions(root)
    running.run_transaction(root, [TakeLine(root / "LEARNED.md", "line 0")], {}, "k")
    assert [each.taken_at for each in lines.values()] == [None] and len(transactions) == 1


def test_the_cause_of_a_finished_transaction_is_small_and_whole() -> None:
    """A year has thousands: the ids of sessions and prompts, and the lines, twice and three times each."""
    prompts = [f"0000{number}-0000-4000-8000-111111111111" for number in range(5)]
    lines = {"Use tabs, also in generated files": {"prompts": prompts, "said": 1}}
    cause = {"by": "learning", "what": "synthesis", "prompts": prompts, "lines": lines}
    stored = StoredCause(cause)
    assert dict(stored) == cause and repr(stored) == repr(cause)
    assert len(stored._data) < len(encode_record(cause)) / 2.5
    assert stored["by"] == "learning" and "undo" not in stored and len(stored) == 4


@pytest.mark.parametrize("odd", [None, 5, "x", {"a": 1}, [5], [[5]], [{}]])
@pytest.mark.parametrize("name", ["did", "written", "ops", "also", "cause"])
def test_a_record_with_odd_values_stops_neither_a_start_nor_a_command(
    root: Path, name: str, odd: object
) -> None:
    """A record may be damaged, a newer version's or edited. Otherwise the daemon would never start again."""
    running = history(root)
    running.run_transaction(root, [PutLine(root / "LEARNED.md", "A", "one", "T")], {}, "1")
    log = Log(root.parent / "state" / "history.jsonl")
    records = [record | ({name: odd} if name in record else {}) for record in log.read()]
    log.compact([*records, *(record | {"id": "other", "key": "other"} for record in log.read())])
    again = history(root)
    assert "other" in {each.id for each in again.list_all_transactions()}
    assert again.recover() == [] or name in ("ops", "also")
    assert shorten_history(log, 1e12, large=-log.size)
    assert "other" in {each.id for each in history(root).list_all_transactions()}


def test_what_a_cause_is_for_is_known_without_decoding_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of thousands of lines asks that of the cause with the origins of all of them."""
    cause = {"what": "synthesis", "lines": {f"line {number}": {"prompts": ["u"]} for number in range(1000)}}
    stored = StoredCause(cause)
    decoded: list[bytes] = []
    decompress = zlib.decompress

    def count(data: bytes) -> bytes:
        decoded.append(data)
        return decompress(data)

    monkeypatch.setattr(zlib, "decompress", count)
    assert stored["what"] == "synthesis" and stored.get("by") is None
    assert "undone" not in stored and list(stored) == ["what", "lines"] and len(stored) == 2
    assert decoded == []
    assert stored["lines"] == cause["lines"] and len(decoded) == 1
    assert dict(stored) == cause and repr(stored) == repr(cause)
