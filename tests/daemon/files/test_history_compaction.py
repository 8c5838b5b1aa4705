"""What a compaction of the history log keeps, and that a crash in it loses nothing."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_disk import PowerCutDisk, each_fault
from support_examples import examples
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk
from tacitd.files.history_archive import LATE, shorten_history
from tacitd.files.history_compaction import KEEP_RECENT, KEEP_WHOLE, HistorySurvey, compact_records
from tacitd.files.history_fold import FoldedHistory
from tacitd.files.log import Log
from tacitd.files.operations import (
    AppendLine,
    Effect,
    MakeFile,
    Operation,
    PutLine,
    RemoveFile,
    SwapLine,
    TakeLine,
    WriteFile,
)
from tacitd.files.provenance import LineHistory
from tacitd.files.transaction import History
from tacitd.files.transaction_records import UNDONE, Transaction, done_record, intent_record, part_record
from tacitd.testing import Crash, FakeClock, FaultyDisk

ROOT = Path("/project")
LEARNED = ROOT / "LEARNED.md"
NOW = 1e9
OLD = NOW - KEEP_RECENT - 1

Step = tuple[Operation, Effect]


def records(id: str, at: float, *steps: Step, done: bool = True, undoes: str = "") -> list[dict[str, Any]]:
    """The records of one transaction."""
    operations, effects = tuple(step[0] for step in steps), tuple(step[1] for step in steps)
    cause = {UNDONE: undoes} if undoes else {"batches": [id]}
    made = Transaction(id, f"key {id}", at, ROOT, (), operations, cause, "intent", effects, (LEARNED,))
    return [intent_record(made), *([done_record(made, "2026-01-01T00:00:00.000Z")] if done else [])]


def compacted(*parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records that are left, as a new process reads them."""
    whole = [record for part in parts for record in part]
    return compact(whole)[0]


def compact(
    whole: list[dict[str, Any]], now: float = NOW
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The records that are left, and those of the archive, as a new process reads them."""
    archived: list[Any] = []
    left = [*compact_records(whole, HistorySurvey(whole, now), archived.append)]
    made: tuple[list[dict[str, Any]], list[dict[str, Any]]] = json.loads(json.dumps([left, archived]))
    return made


def names(record: dict[str, Any]) -> list[str]:
    """The lines or files of a record's operations."""
    return [each.get("line") or each.get("new") or Path(each["path"]).name for each in record["ops"]]


def put(line: str, path: Path = LEARNED) -> Step:
    """A line that was added."""
    return PutLine(path, "A", line, "T"), Effect("put")


def swap(old: str, new: str) -> Step:
    """A line that was replaced."""
    return SwapLine(LEARNED, old, new, "A", "T"), Effect("swapped", "A")


def take(line: str) -> Step:
    """A line that was removed."""
    return TakeLine(LEARNED, line), Effect("taken", "A")


RECENT = records("now", NOW, put("recent"))


def test_an_old_transaction_keeps_what_explains_its_lines() -> None:
    """S-31, S-28: the lines that are still ours keep their origin; lines that tacitd removed long ago are left out."""
    left = compacted(
        records("1", OLD, put("ours"), put("gone"), put("replaced")),
        records("2", OLD, take("gone"), swap("replaced", "newer")),
        RECENT,
    )
    assert [(each["id"], names(each)) for each in left if each["state"] == "intent"] == [
        ("1", ["ours"]),
        ("2", ["newer"]),
        ("now", ["recent"]),
    ]
    done = {each["id"]: each for each in left if each["state"] == "done"}
    assert done["1"]["did"] == [["put"]] and done["2"]["did"] == [["put"]], "of a swap, the new line"
    assert {each["id"]: each["cause"] for each in left if "cause" in each}["1"] == {"batches": ["1"]}
    lines = FoldedHistory(left).list_lines(ROOT)
    assert set(lines) == {(LEARNED, each) for each in ("ours", "newer", "recent")}
    assert lines[LEARNED, "newer"] == LineHistory(OLD, None, {"batches": ["2"]}, OLD, {"batches": ["2"]})


def test_a_restored_line_keeps_its_first_origin() -> None:
    """`why` shows the words of a line that was removed and brought back long ago."""
    left = compacted(
        records("1", OLD, put("back")),
        records("2", OLD, take("back")),
        records("3", OLD, put("back"), undoes="2"),
        RECENT,
    )
    assert FoldedHistory(left).list_lines(ROOT)[LEARNED, "back"].origin == {"batches": ["1"]}


def test_a_young_transaction_keeps_its_operations() -> None:
    """It can be undone. The old ones that explain its lines stay too, so a line of ours never counts as a person's."""
    young = [put("a"), (WriteFile(ROOT / "tmp" / "summary.md", "long text"), Effect("written")), take("old")]
    left = compacted(records("1", OLD, put("old")), records("2", NOW - KEEP_RECENT, *young), RECENT)
    assert [names(each) for each in left if "ops" in each] == [
        ["old"],
        ["a", "summary.md", "old"],
        ["recent"],
    ]
    assert "long text" not in json.dumps(left)
    assert FoldedHistory(left).list_lines(ROOT)[LEARNED, "old"].put_at == OLD


def test_what_else_is_kept() -> None:
    """Exclude lines, files that are made once, and every directory in which leftovers may lie."""
    exclude, pointer, other = ROOT / "exclude", ROOT / "rules" / "pointer.md", ROOT / "api" / "AGENTS.md"
    old: list[Step] = [
        (AppendLine(exclude, "/tmp"), Effect("appended")),
        (AppendLine(exclude, "/mine"), Effect()),
        (MakeFile(pointer, "text"), Effect()),
        (RemoveFile(ROOT / "tmp" / "1"), Effect("removed")),
        (RemoveFile(ROOT / "tmp" / "2"), Effect("removed")),
        put("there", other),
        (TakeLine(other, "there"), Effect("taken")),
        put("gone"),
        take("gone"),
        (TakeLine(LEARNED, "missing"), Effect()),
    ]
    left = compacted(records("1", OLD, *old), RECENT)
    assert names(left[0]) == ["/tmp", "pointer.md", "2", "there", "there"]
    directories = {operation.path.parent for operation, _ in old}
    folded = FoldedHistory(left)
    assert {
        op.path.parent for each in folded.list_transactions(None) for op in each.operations
    } == directories


def test_what_is_not_done_or_not_known_stays_as_it_is() -> None:
    """E-23: open transactions with their parts, and whatever a newer version wrote; dropped ones go."""
    unknown = {"id": "n", "state": "intent", "key": "n", "root": "/project", "ops": [{"op": "move"}], "x": 1}
    opened = records("2", OLD, put("a"), (WriteFile(ROOT / "x", "text"), Effect()), done=False)
    part = part_record(FoldedHistory(opened).open["2"], [Effect("put")])
    dropped = [*records("3", OLD, put("b"), done=False), {"id": "3", "state": "dropped"}]
    finished = records("4", OLD, put("c"), (RemoveFile(ROOT / "x"), Effect("removed")))
    finished.insert(1, {"id": "4", "state": "part", "did": [["put"]]})
    twice = [each | {"id": "5"} for each in finished[:1]]
    rest = [
        *opened,
        part,
        unknown,
        {"id": "n", "state": "done"},
        {"what": "else"},
        {"id": "6", "state": "new"},
    ]
    assert compacted(dropped, finished, twice, rest) == json.loads(
        json.dumps([finished[0], finished[2], *rest])
    )


def test_a_clock_that_is_ahead_makes_nothing_old() -> None:
    """The age counts from the newest transaction if the clock is later than that."""
    whole = [*records("1", OLD, put("a")), *records("2", OLD, take("a"))]
    assert compacted(whole) == json.loads(json.dumps(whole))


LINES = st.sampled_from("abcd")
STEPS = st.one_of(
    LINES.map(put),
    LINES.map(take),
    st.builds(swap, LINES, LINES),
    LINES.map(lambda line: (put(line)[0], Effect())),
)


@examples(300)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.lists(STEPS, max_size=4)), max_size=8))
def test_every_line_keeps_its_history_or_is_one_that_tacitd_removed(
    made: list[tuple[bool, bool, list[Step]]],
) -> None:
    """S-28, S-31: for any transactions, undos too. A second compaction changes nothing."""
    parts = [
        records(str(number), NOW - number if young else OLD - number, *steps, undoes="0" if undo else "")
        for number, (young, undo, steps) in enumerate(made)
    ]
    whole = [record for part in parts for record in part]
    left, archived = compact([*whole, *RECENT])
    before, after, old = FoldedHistory([*whole, *RECENT]), FoldedHistory(left), FoldedHistory(archived)
    lines, kept = before.list_lines(ROOT), after.list_lines(ROOT)
    assert all(kept[place] == lines[place] for place in kept)
    assert all(lines[place].taken_at is not None for place in lines.keys() - kept.keys())
    young = {str(number) for number, (young, _, _) in enumerate(made) if young}
    touched = {
        line
        for each in before.list_transactions(None)
        for operation, effect in zip(each.operations, each.effects, strict=True)
        for line in (operation.find_changed_lines(effect).put, operation.find_changed_lines(effect).taken)
        if each.id in young and line is not None
    }
    assert {(LEARNED, line) for line in touched} & lines.keys() <= kept.keys()
    every = before.list_transactions(None)
    young_ones = [each for each in every if each.at >= NOW - KEEP_RECENT]
    assert old.list_transactions(None) == [each for each in every if each not in young_ones]
    assert [each for each in after.list_transactions(None) if each.id not in after.reduced] == young_ones
    assert all(after.is_done(each.key) for each in every) and not after.is_done("other")
    again, more = compact(left)
    assert again == left and not more


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project."""
    root = tmp_path / "project"
    root.mkdir()
    return root


def history(root: Path, disk: Disk | None = None, now: float = NOW) -> History:
    """The history as a new process loads it."""
    return History(Log(root.parent / "state" / "history.jsonl", disk), FakeClock(now), disk)


def fill(root: Path) -> None:
    """Old and new transactions, and one that waits."""
    learned, past = root / "LEARNED.md", history(root, now=OLD)
    for number in range(5):
        lines = [PutLine(learned, "A", f"{word} {number}", "T") for word in ("kept", "gone")]
        past.run_transaction(
            root, [*lines, WriteFile(root / "summary.md", f"{number}" * 99)], {}, f"{number}"
        )
        past.run_transaction(root, [TakeLine(learned, f"gone {number}")], {}, f"take {number}")
    history(root).run_transaction(root, [PutLine(learned, "A", "new", "T")], {}, "new")
    opened = Transaction(
        "open",
        "open",
        NOW,
        root,
        (),
        (PutLine(root / "b.md", "A", "late", "T"),),
        {},
        "intent",
        (Effect("put"),),
    )
    Log(root.parent / "state" / "history.jsonl").append(intent_record(opened), sync=True)


def known(running: History, root: Path) -> tuple[object, ...]:
    """What every user of the history may rely on."""
    ours = {place: line for place, line in running.list_lines(root).items() if line.taken_at is None}
    keys = [(each.key, each.state, each.cause) for each in running.list_all_transactions()]
    return ours, keys, running.pending, running.list_directories()


def test_a_long_log_becomes_short_at_the_start(root: Path) -> None:
    """Compacted if it is large and if that is worth it; what was compacted can be used like before."""
    fill(root)
    running, log = history(root), Log(root.parent / "state" / "history.jsonl")
    before, size = known(running, root), log.size
    assert not running.compact_log() and log.size == size
    assert running.compact_log(large=size - 1) and log.size < size * 0.75
    assert not running.compact_log(large=0), "not before it has grown by a third"
    assert known(running, root) == known(history(root), root) == before
    assert running.run_transaction(root, [], {}, "2").key == "2"
    assert [each.key for each in running.recover()] == ["open"]
    for key in ("2", "take 2"):
        assert running.run_transaction(root, [PutLine(root / "x", "A", "x", "T")], {}, key).key == key
    assert not (root / "x").exists(), "nothing is done twice, wherever its record is"
    first = next(each for each in running.list_all_transactions() if each.key == "0")
    with pytest.raises(FileRefusedError, match="changed by"):
        running.undo_transaction(first.id)
    running.undo_transaction(
        next(each.id for each in running.list_all_transactions() if each.key == "take 0")
    )
    running.undo_transaction(first.id)
    assert "kept 0" not in (root / "LEARNED.md").read_text() and "kept 1" in (root / "LEARNED.md").read_text()


@each_fault
def test_a_crash_or_an_error_at_any_call_loses_nothing(
    root: Path, disk_for: Callable[[int], FaultyDisk]
) -> None:
    """RELIABILITY rows 2 and 3: before every call that changes the disk, and the start after it."""
    fill(root)
    path = root.parent / "state" / "history.jsonl"
    whole = path.read_bytes()
    before = known(history(root), root)
    sizes = set()
    for at in range(1, 50):
        path.write_bytes(whole)
        disk = disk_for(at)
        running = history(root, disk)
        try:
            running.compact_log(large=0)
        except Crash:
            running = history(root)
        except OSError:
            pass
        sizes.add(path.stat().st_size)
        assert known(running, root) == known(history(root), root) == before
        history(root).compact_log(large=0)
        assert known(history(root), root) == before
        if len(disk.trail) < at:
            assert at > 4 and len(sizes) >= 2
            return
    raise AssertionError("a compaction takes more calls than were tried")


def test_what_an_interrupted_compaction_archived_is_synced_by_the_next(root: Path) -> None:
    """RELIABILITY row 2: after a crash the archive's last records may be in the kernel's memory only. They are on the drive
    before the log no longer has them."""
    fill(root)
    path, archive = (root.parent / "state" / name for name in ("history.jsonl", "history-archive.jsonl"))
    whole, before = path.read_bytes(), known(history(root), root)
    for at in range(1, 50):
        path.write_bytes(whole)
        archive.unlink(missing_ok=True)
        disk = PowerCutDisk(crash_at=at)
        with suppress(Crash):
            history(root, disk).compact_log(large=0)
        disk.crash_at, disk.dead = 0, False
        history(root, disk).compact_log(large=0)
        assert known(history(root), root) == before and archive.stat().st_ino not in disk.lost_bytes
        if len(disk.trail) < at:
            return
    raise AssertionError("a compaction takes more calls than were tried")


def test_a_start_does_not_compact_again_what_has_not_grown(root: Path) -> None:
    """A log that cannot be shorter is written anew once for each growth by a third."""
    running, log = history(root), Log(root.parent / "state" / "history.jsonl")
    for number in range(20):
        running.run_transaction(
            root, [PutLine(root / "LEARNED.md", "A", f"line {number}", "T")], {}, f"key {number}"
        )
    assert history(root).compact_log(large=0)
    whole = log.path.read_bytes()
    assert not history(root).compact_log(large=0) and log.path.read_bytes() == whole
    for number in range(20, 30):
        running.run_transaction(
            root, [PutLine(root / "LEARNED.md", "A", f"line {number}", "T")], {}, f"key {number}"
        )
    assert history(root).compact_log(large=0)
    assert len(running.list_transactions()) == 30


def test_an_old_transaction_is_undone_from_the_archive(root: Path) -> None:
    """All its operations are in the archive for 400 days: the line that it replaced comes back. Its undo can be undone."""
    learned, past = root / "LEARNED.md", history(root, now=OLD)
    past.run_transaction(root, [PutLine(learned, "A", "before", "T")], {}, "1")
    done = past.run_transaction(root, [SwapLine(learned, "before", "after", "A", "T")], {}, "2")
    running = history(root)
    running.run_transaction(root, [PutLine(learned, "A", "new", "T")], {}, "3")
    assert running.compact_log(large=0)
    undone = history(root).undo_transaction(done.id)
    assert "- before\n" in learned.read_text() and "after" not in learned.read_text()
    assert history(root).undo_transaction(done.id) == undone, "the same undo, not a second one"
    assert history(root).undo_transaction(undone.id).cause == {UNDONE: undone.id}
    assert "- after\n" in learned.read_text() and "before" not in learned.read_text()


@pytest.mark.parametrize("starts", [1, 2])
def test_a_clock_that_is_a_century_ahead_takes_no_undo_away(root: Path, starts: int) -> None:
    """DESIGN "Service": a boot in the year 2100 empties nothing, not even with a change and another start before the clock is
    set right. What is in the archive and what comes into it can be undone."""
    learned, past, ahead = root / "LEARNED.md", history(root, now=OLD), NOW + 75 * 366 * 86400.0
    done = []
    for number in range(4):
        past.run_transaction(root, [PutLine(learned, "A", f"before {number}", "T")], {}, f"put {number}")
        swap = [SwapLine(learned, f"before {number}", f"after {number}", "A", "T")]
        done.append(past.run_transaction(root, swap, {}, f"swap {number}"))
        if number == 1:
            history(root).run_transaction(root, [PutLine(learned, "A", "new", "T")], {}, "new")
            assert history(root).compact_log(large=0)
    for start in range(starts):
        running = history(root, now=ahead + start)
        log = Log(root.parent / "state" / "history.jsonl")
        shorten_history(log, ahead + start, large=-log.size)
        running.run_transaction(root, [PutLine(learned, "A", f"ahead {start}", "T")], {}, f"ahead {start}")
    for number, each in enumerate(done):
        history(root, now=NOW + 1).undo_transaction(each.id)
        assert f"- before {number}\n" in learned.read_text()


def test_without_the_archive_nothing_is_done_twice(root: Path) -> None:
    """A person may delete it: `history` is shorter then, and the digests in the log say what was done."""
    fill(root)
    running = history(root)
    before = running.list_lines(root)
    assert running.compact_log(large=0)
    (root.parent / "state" / "history-archive.jsonl").unlink()
    again = history(root)
    assert again.run_transaction(root, [PutLine(root / "x", "A", "x", "T")], {}, "take 2").operations == ()
    assert not (root / "x").exists()
    assert {place for place, line in before.items() if line.taken_at is None} <= again.list_lines(root).keys()


@pytest.mark.parametrize("is_ahead", [False, True])
def test_after_400_days_the_archive_has_a_digest(root: Path, *, is_ahead: bool) -> None:
    """A digest says what was done when, why, and where its lines came from; facts and operations are gone. A clock that was
    ahead at the first transaction changes nothing."""
    if is_ahead:
        step = records("ahead", NOW + 75 * 366 * 86400.0, put("ahead"))
        for record in step:
            Log(root.parent / "state" / "history-archive.jsonl").append(record)
    learned, past = root / "LEARNED.md", history(root, now=NOW - KEEP_WHOLE - LATE - 1)
    cause = {
        "what": "synthesis",
        "prompts": ["u1"],
        "lines": {"one": {"prompts": ["u1"]}},
        "facts": ["secret"],
    }
    past.run_transaction(root, [PutLine(learned, "A", "one", "T")], cause, "1")
    past.run_transaction(root, [TakeLine(learned, "one")], {"what": "archive"}, "2")
    path = root.parent / "state" / "history-archive.jsonl"
    for now, kept in ((NOW - KEEP_WHOLE, True), (NOW, False)):
        later = history(root, now=now)
        later.run_transaction(root, [PutLine(learned, "A", f"at {now}", "T")], {}, f"at {now}")
        log = Log(root.parent / "state" / "history.jsonl")
        assert shorten_history(log, now, large=-log.size)
        assert ("secret" in path.read_text()) is kept
    first, second, _ = history(root).list_all_transactions()[is_ahead:][:3]
    assert (first.key, first.cause["prompts"], first.operations) == ("1", ["u1"], ())
    assert first.cause["lines"] == {"one": {"prompts": ["u1"]}} and second.cause == {"what": "archive"}


@pytest.mark.undated
def test_a_compaction_of_years_takes_little_memory(root: Path) -> None:
    """A log that an earlier version never shortened is read without having its records in memory."""
    log = Log(root.parent / "state" / "history.jsonl")
    for number in range(3000):
        step = swap(f"line {number - 1}", f"line {number}") if number else put("line 0")
        for record in records(f"t{number}", OLD - 300 * 86400.0 + number, step):
            log.append(record | ({"cause": {"facts": ["x" * 4000]}} if "cause" in record else {}))
    for record in RECENT:
        log.append(record)
    log.close()
    size = log.size
    tracemalloc.start()
    try:
        assert shorten_history(log, NOW, large=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 12_000_000 and peak < 8_000_000
    assert log.size < 200_000 and len(FoldedHistory(log.read()).list_lines(ROOT)) == 2


def test_the_causes_of_a_year_take_little_memory() -> None:
    """RELIABILITY "memory": a finished transaction is kept with its cause as JSON, and each path once."""
    step = (PutLine(LEARNED, "A", "line", "T"), Effect("put"))
    made = [record for number in range(400) for record in records(f"t{number}", NOW, step)]
    for record in made[::2]:
        record["cause"] = {"prompts": [f"{record['id']}-{number}" for number in range(20)]}
    whole = [json.dumps(record) for record in made]
    tracemalloc.start()
    try:
        folded = FoldedHistory(map(json.loads, whole))
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert used < 400 * 1900
    assert folded.list_transactions(None)[7].cause["prompts"][3] == "t7-3"
