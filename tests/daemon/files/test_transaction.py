"""Transactions: DESIGN "Files", S-24, S-29, S-31, X-07; RELIABILITY rows 2 and 3."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tacitd.errors import FileRefusedError, UsageError
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.log import Log
from tacitd.files.operations import (
    AppendLine,
    Effect,
    Operation,
    PutLine,
    RemoveFile,
    SwapLine,
    TakeLine,
    WriteFile,
    read_operation,
)
from tacitd.files.provenance import LineHistory
from tacitd.files.transaction import History
from tacitd.files.transaction_records import Transaction
from tacitd.testing import Crash, FakeClock, FaultyDisk

CAUSE = {"session": "s1", "prompts": ["u1"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a learned file, an AGENTS.md in a folder, and a claimed raw file."""
    root = tmp_path / "project"
    (root / "api").mkdir(parents=True)
    (root / "LEARNED.md").write_text("# Learned\n\n## Coding\n- old\n- theirs\n")
    (root / "raw.processing").write_text("{}\n")
    return root


def history(root: Path, disk: Disk | None = None) -> History:
    """The log and the history as a new process loads them."""
    return History(Log(root.parent / "state" / "history.jsonl", disk), FakeClock(), disk)


def batch(root: Path) -> list[Operation]:
    """One operation of each kind."""
    learned = root / "LEARNED.md"
    return [
        PutLine(learned, "Coding", "new", "Learned"),
        SwapLine(learned, "old", "newer", "Coding", "Learned"),
        PutLine(root / "api" / "AGENTS.md", "Testing", "api line", "api"),
        TakeLine(learned, "gone"),
        WriteFile(root / "tmp" / "summary.md", "summary\n"),
        AppendLine(root / "exclude", "/LEARNED.md"),
        RemoveFile(root / "raw.processing"),
    ]


def done_keys(running: History) -> set[str]:
    """The keys of the finished transactions."""
    return {each.key for each in running.list_transactions() if each.state == "done"}


def without_texts(done: Transaction) -> Transaction:
    """The transaction as the history lists it: without the text of generated files."""
    lean = [replace(each, text="") if isinstance(each, WriteFile) else each for each in done.operations]
    return replace(done, operations=tuple(lean))


FINAL = {
    "LEARNED.md": "# Learned\n\n## Coding\n- newer\n- theirs\n- new\n",
    "api/AGENTS.md": "# api\n\n## Testing\n- api line\n",
    "tmp/summary.md": "summary\n",
    "exclude": "/LEARNED.md\n",
}


def content(root: Path) -> dict[str, str]:
    """Every file of the project."""
    return {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*")) if p.is_file()}


def test_a_transaction_changes_several_files_and_records_why(root: Path) -> None:
    """S-31, DESIGN "Files": intent and cause in one record, then the files, then done."""
    before = history(root)
    done = before.run_transaction(root, batch(root), CAUSE, "batch-1")
    assert content(root) == dict(sorted(FINAL.items()))
    names = {"LEARNED.md", "api/AGENTS.md", "tmp/summary.md", "exclude", "raw.processing"}
    assert {str(path.relative_to(root)) for path in done.written} == names
    assert [effect.did for effect in done.effects] == [
        *["put", "swapped", "put", "nothing", "written", "appended", "removed"]
    ]
    assert done_keys(before) == {"batch-1"} and before.pending == ()
    (read,) = history(root).list_transactions(root)
    assert (
        read == without_texts(done) and read.cause == CAUSE and read.effects[1] == Effect("swapped", "Coding")
    )
    assert list(before.list_transactions(root / "api")) == []


def test_operations_are_what_is_recorded(root: Path) -> None:
    """DESIGN "Files": the intent is a list of operations, never an image of the file."""
    for operation in batch(root):
        assert read_operation(operation.to_record()) == operation
    history(root).run_transaction(root, batch(root)[:1], CAUSE, "k")
    assert "theirs" not in (root.parent / "state" / "history.jsonl").read_text()
    for broken in ({}, {"op": "burn"}, {"op": "put", "path": "/x"}, {"op": "take", "path": "/x", "line": 3}):
        with pytest.raises(ValueError):
            read_operation(broken)


def test_the_same_key_again_writes_nothing(root: Path) -> None:
    """S-29: the same batch twice gives the same files, also if a person removed the line meanwhile."""
    first = history(root)
    done = first.run_transaction(root, batch(root), CAUSE, "k")
    (root / "LEARNED.md").write_text("# Learned\n")
    log = first_log(root)
    for again in (first, history(root)):
        assert again.run_transaction(root, batch(root), CAUSE, "k") == without_texts(done)
    assert (root / "LEARNED.md").read_text() == "# Learned\n" and first_log(root) == log


def first_log(root: Path) -> bytes:
    """The bytes of the history."""
    return (root.parent / "state" / "history.jsonl").read_bytes()


def _escaping(root: Path) -> dict[str, Path]:
    (root / "out").symlink_to(root.parent)
    (root / "link.md").symlink_to("/etc/passwd")
    return {
        "relative": Path("LEARNED.md"),
        "absolute": Path("/etc/passwd"),
        "up": root / ".." / "x.md",
        "up inside": root / "api" / ".." / "x.md",
        "through a link": root / "out" / "x.md",
        "a link itself": root / "link.md",
        "beside": root.parent / "project2" / "x.md",
        "the root itself": root,
        "not utf-8": root / "\udcff.md",
    }


ESCAPES = "relative|absolute|up|up inside|through a link|a link itself|beside|the root itself|not utf-8"


@pytest.mark.parametrize("how", ESCAPES.split("|"))
def test_paths_that_lead_out_are_refused_before_anything_is_written(root: Path, how: str) -> None:
    """S-24, RELIABILITY row 19: absolute, `..` and symlinked paths; nothing of the batch is written."""
    bad = _escaping(root)[how]
    before = content(root)
    with pytest.raises(FileRefusedError):
        history(root).run_transaction(root, [*batch(root), PutLine(bad, "A", "x", "T")], CAUSE, "k")
    with pytest.raises(FileRefusedError):
        history(root).run_transaction(root, [WriteFile(bad, "x")], CAUSE, "k")
    assert content(root) == before and not (root.parent / "state").exists()


def test_other_places_only_where_they_are_named(root: Path) -> None:
    """DESIGN "Where it writes": the local excludes of a linked worktree are in another directory."""
    exclude = root.parent / "main.git" / "info" / "exclude"
    operation = AppendLine(exclude, "/LEARNED.md")
    with pytest.raises(FileRefusedError, match="leads out"):
        history(root).run_transaction(root, [operation], CAUSE, "k")
    done = history(root).run_transaction(root, [operation], CAUSE, "k", also=[exclude.parent.parent])
    assert exclude.read_text() == "/LEARNED.md\n" and done.also == (exclude.parent.parent,)


class ReadOnly(FaultyDisk):
    """A project mounted read-only. (Root may write anywhere, so permissions cannot be used here.)"""

    closed = ""

    def may_write(self, path: Path) -> bool:
        return path.name != self.closed


def test_what_cannot_be_written_is_refused_before_the_intent(root: Path) -> None:
    """Bad input: a read-only project, a file that is not UTF-8, conflict markers, a directory, no project."""
    ops: Sequence[Operation] = batch(root)
    for closed in ("project", "LEARNED.md"):
        disk = ReadOnly()
        disk.closed = closed
        with pytest.raises(FileRefusedError, match=f"{closed} is read-only"):
            history(root, disk).run_transaction(root, ops, CAUSE, "k")
    (root / "LEARNED.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileRefusedError, match=r"LEARNED.md: the file is UTF-16"):
        history(root).run_transaction(root, ops, CAUSE, "k")
    (root / "LEARNED.md").write_text("<<<<<<< HEAD\n")
    with pytest.raises(FileRefusedError, match=r"LEARNED.md: the file has conflict markers"):
        history(root).run_transaction(root, ops, CAUSE, "k")
    for path in (root / "LEARNED.md" / "x.md", root / "api"):
        with pytest.raises(FileRefusedError):
            history(root).run_transaction(root, [WriteFile(path, "x")], CAUSE, "k")
    with pytest.raises(FileRefusedError, match="directory"):
        history(root).run_transaction(root, [RemoveFile(root / "api")], CAUSE, "k")
    with pytest.raises(FileRefusedError, match="does not exist"):
        history(root).run_transaction(root / "gone", [WriteFile(root / "gone" / "x", "x")], CAUSE, "k")
    assert not (root.parent / "state").exists()


@pytest.mark.parametrize("torn", [False, True])
def test_a_crash_before_any_call_leaves_it_finished_or_absent(root: Path, torn: bool) -> None:
    """RELIABILITY row 2: the process ends before every call; after the restart all of it is done or nothing."""
    outcomes = _everywhere(root, lambda at: FaultyDisk(crash_at=at, torn=torn))
    assert outcomes == {"absent", "finished"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_an_error_at_any_call_is_recovered_from(root: Path, code: int) -> None:
    """RELIABILITY row 3: every call fails once; the same request again, in the same process, finishes it."""
    outcomes = _everywhere(root, lambda at: FaultyDisk(fail_at=at, code=code, torn=True))
    assert outcomes == {"finished"}


def _everywhere(root: Path, disk_for: Callable[[int], FaultyDisk]) -> set[str]:
    outcomes: set[str] = set()
    for at in range(1, 200):
        copy = root.parent / str(at) / "project"
        (copy / "api").mkdir(parents=True)
        for name in ("LEARNED.md", "raw.processing"):
            (copy / name).write_bytes((root / name).read_bytes())
        before, disk = content(copy), disk_for(at)
        running = history(copy, disk)
        try:
            running.run_transaction(copy, batch(copy), CAUSE, "k")
        except Crash:
            running = history(copy)
            running.recover()
        except OSError:
            running.run_transaction(copy, batch(copy), CAUSE, "k")
        if done_keys(running):
            outcomes.add("finished")
            assert _without_temporary(copy) == dict(sorted(FINAL.items()))
            assert set(running.list_lines(copy)) == {
                (copy / "LEARNED.md", each) for each in ("new", "old", "newer")
            } | {(copy / "api" / "AGENTS.md", "api line")}
        else:
            outcomes.add("absent")
            assert _without_temporary(copy) == before
        assert running.pending == () and history(copy).recover() == []
        again = history(copy).run_transaction(copy, batch(copy), CAUSE, "k")
        assert _without_temporary(copy) == dict(sorted(FINAL.items())) and again.state == "done"
        if len(disk.trail) < at:
            return outcomes
    raise AssertionError("a transaction takes more calls than were tried")


def _without_temporary(root: Path) -> dict[str, str]:
    return {name: text for name, text in content(root).items() if "/." not in f"/{name}"}


def interrupted(root: Path, operations: Sequence[Operation], key: str = "k") -> None:
    """A process that ended right after it wrote its intent."""
    log = CrashAfterOne(root.parent / "state" / "history.jsonl")
    with pytest.raises(Crash):
        History(log, FakeClock()).run_transaction(root, operations, CAUSE, key)
    log.close()


class CrashAfterOne(Log):
    """A log whose process ends right after its first record."""

    def append(self, record: Mapping[str, Any], *, sync: bool = False) -> None:
        super().append(record, sync=sync)
        raise Crash


def test_finishing_does_not_overwrite_what_a_person_did_meanwhile(root: Path) -> None:
    """DESIGN "Files": operations and no images, so that finishing after a crash keeps a person's edits."""
    interrupted(root, batch(root))
    (root / "LEARNED.md").write_text("# Mine now\n\n## Coding\n- mine\n- theirs\n")
    restarted = history(root)
    (waiting,) = restarted.pending
    assert waiting.key == "k" and waiting.root == root
    assert [each.key for each in restarted.recover()] == ["k"]
    assert (root / "LEARNED.md").read_text() == "# Mine now\n\n## Coding\n- mine\n- theirs\n- new\n- newer\n"
    assert history(root).pending == () and done_keys(history(root)) == {"k"}


def test_what_cannot_be_finished_stays_and_stops_no_other(root: Path) -> None:
    """DESIGN "Files": unfinished intents are finished at start; one that cannot be is reported with its reason."""
    interrupted(root, [PutLine(root / "LEARNED.md", "Coding", "one", "T")], "one")
    interrupted(root, [WriteFile(root / "two.md", "two")], "two")
    (root / "LEARNED.md").write_text(">>>>>>> theirs\n")
    restarted = history(root)
    assert [each.key for each in restarted.recover()] == ["two"]
    (waiting,) = restarted.pending
    assert waiting.key == "one" and "conflict markers" in waiting.reason and waiting.hint
    assert [each.state for each in restarted.list_transactions()] == ["done", "intent"]
    # A newer one on the same file waits for it, so that lines are written in order.
    with pytest.raises(FileRefusedError, match=f"waits for transaction {waiting.id}"):
        restarted.run_transaction(root, [TakeLine(root / "LEARNED.md", "one")], CAUSE, "three")
    restarted.run_transaction(root, [WriteFile(root / "four.md", "4")], CAUSE, "four")
    (root / "LEARNED.md").write_text("# T\n")
    restarted.run_transaction(root, [TakeLine(root / "LEARNED.md", "one")], CAUSE, "three")
    assert (root / "LEARNED.md").read_text() == "# T\n\n## Coding\n" and restarted.pending == ()


def test_the_same_key_finishes_what_was_begun(root: Path) -> None:
    """S-31, replay safe: a handler that repeats its request after a restart gets the transaction that was begun."""
    interrupted(root, batch(root)[:1])
    done = history(root).run_transaction(root, batch(root)[2:3], {"other": 1}, "k")
    assert done.cause == CAUSE and done.operations == tuple(batch(root)[:1])
    assert "- new\n" in (root / "LEARNED.md").read_text() and not (root / "api" / "AGENTS.md").exists()


def test_a_link_that_was_put_in_the_way_meanwhile_is_refused(root: Path) -> None:
    """S-24: checked again when it is finished, not only at its beginning."""
    interrupted(root, [WriteFile(root / "tmp" / "x.md", "x")])
    (root / "tmp").symlink_to(root.parent)
    restarted = history(root)
    assert restarted.recover() == [] and "leads out" in restarted.pending[0].reason
    assert not (root.parent / "x.md").exists()


def test_what_a_newer_version_wrote_waits(root: Path) -> None:
    """E-23, unknown data is kept: an operation that this version does not know is not discarded."""
    log = Log(root.parent / "state" / "history.jsonl")
    log.append({"id": "1", "state": "intent", "key": "k", "root": str(root), "ops": [{"op": "move"}]})
    log.append({"id": "2", "state": "intent", "key": "l", "ops": 3})
    log.append({"what": "else"})
    restarted = history(root)
    assert restarted.recover() == [] and [each.id for each in restarted.pending] == ["1", "2"]
    assert "move" in restarted.pending[0].reason and list(restarted.list_transactions()) == []


def test_removing_a_link_leaves_its_target(root: Path) -> None:
    """S-24: nothing outside the project is changed, also not by a removal."""
    (root.parent / "kept.txt").write_text("kept")
    (root / "link").symlink_to(root.parent / "kept.txt")
    done = history(root).run_transaction(
        root, [RemoveFile(root / "link"), RemoveFile(root / "none")], CAUSE, "k"
    )
    assert [each.did for each in done.effects] == ["removed", "nothing"]
    assert not (root / "link").is_symlink() and (root.parent / "kept.txt").read_text() == "kept"


def test_lines_that_we_ever_wrote(root: Path) -> None:
    """S-28, tombstones: a line that tacitd wrote and that is missing was removed by a person; a person's line is never tacitd's."""
    learned = root / "LEARNED.md"
    running = history(root)
    running.run_transaction(root, [PutLine(learned, "Coding", "theirs", "T"), *batch(root)[:2]], CAUSE, "1")
    running.run_transaction(root, [TakeLine(learned, "new")], {"why": "2"}, "2")
    at = FakeClock().now()
    assert history(root).list_lines(root) == {
        (learned, "old"): LineHistory(None, at, CAUSE, None, CAUSE),
        (learned, "newer"): LineHistory(at, None, CAUSE, at, CAUSE),
        (learned, "new"): LineHistory(at, at, {"why": "2"}, at, CAUSE),
    }
    assert running.list_lines(root.parent) == {}


def test_undo_takes_back_lines_and_keeps_what_came_later(root: Path) -> None:
    """DESIGN "Files": an old one can be undone after newer ones; logs can only be appended to."""
    learned = root / "LEARNED.md"
    running = history(root)
    first = running.run_transaction(
        root, [PutLine(learned, "Coding", "theirs", "T"), *batch(root)], CAUSE, "1"
    )
    running.run_transaction(
        root, [PutLine(learned, "Coding", "later", "T"), TakeLine(learned, "theirs")], CAUSE, "2"
    )
    undone = running.undo_transaction(first.id)
    assert learned.read_text() == "# Learned\n\n## Coding\n- old\n- later\n"
    assert (root / "api" / "AGENTS.md").read_text() == "# api\n"
    assert undone.cause == {"undo": first.id}
    assert running.undo_transaction(first.id) == undone
    running.undo_transaction(undone.id)
    assert learned.read_text() == "# Learned\n\n## Coding\n- newer\n- later\n- new\n"
    for id in ("nothing", running.run_transaction(root, [WriteFile(root / "x", "x")], CAUSE, "3").id):
        with pytest.raises(UsageError):
            running.undo_transaction(id)


def test_many_threads(root: Path) -> None:
    """Handlers call it from worker threads: no line is lost, and no transaction runs twice."""
    running = history(root)
    learned = root / "LEARNED.md"

    def work(who: int) -> None:
        for number in range(5):
            running.run_transaction(
                root,
                [PutLine(learned, "Coding", f"line {number} of {who % 2}", "T")],
                CAUSE,
                f"{who % 2} {number}",
            )

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(running.list_transactions())) == 10 and learned.read_text().count("- line") == 10
    assert sorted(os.listdir(root)) == ["LEARNED.md", "api", "raw.processing"]


# --- many lines of one file ------------------------------------------------------------------------------------


class _EditingDisk(RealDisk):
    """Counts the edits of files, and lets a person save the file just before the first one."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__()
        self.exchanges = 0
        self._path, self._text = path, text

    def exchange(self, one: Path, other: Path) -> bool:
        self.exchanges += 1
        if self.exchanges == 1:
            self._path.write_text(self._text)
        return super().exchange(one, other)


def test_lines_of_one_file_are_one_edit_and_keep_what_a_person_saves_meanwhile(root: Path) -> None:
    """S-28: all lines are put again into what the person saved; a file is not written once for each line."""
    learned, api = root / "LEARNED.md", root / "api" / "AGENTS.md"
    disk = _EditingDisk(learned, "# Learned\n\n## Coding\n- old\n- theirs, edited\n- line 3\n")
    operations: list[Operation] = [PutLine(learned, "Coding", f"line {n}", "Learned") for n in range(50)]
    operations += [SwapLine(learned, "old", "newer", "Coding", "Learned")]
    operations += [PutLine(api, "Testing", f"api {n}", "api") for n in range(50)]
    done = history(root, disk).run_transaction(root, operations, CAUSE, "k")
    lines = learned.read_text().splitlines()
    assert lines[:6] == ["# Learned", "", "## Coding", "- newer", "- theirs, edited", "- line 3"]
    assert lines[6:] == [f"- line {n}" for n in range(50) if n != 3]
    assert api.read_text().count("- api ") == 50
    assert [effect.did for effect in done.effects] == [
        *["nothing" if n == 3 else "put" for n in range(50)],
        "swapped",
        *["put"] * 50,
    ]
    # One that met the person's save, one to put that back, one that succeeded; AGENTS.md is new.
    assert disk.exchanges == 3


def test_a_refused_line_leaves_its_whole_file_as_it_was(root: Path) -> None:
    """S-31: nothing of a transaction is written if one of its lines is refused."""
    learned = root / "LEARNED.md"
    before = learned.read_text()
    operations = [PutLine(learned, "Coding", line, "Learned") for line in ("one", "two", "---")]
    with pytest.raises(FileRefusedError, match=r"LEARNED\.md: '---' cannot be written"):
        history(root).run_transaction(root, operations, CAUSE, "k")
    assert learned.read_text() == before
