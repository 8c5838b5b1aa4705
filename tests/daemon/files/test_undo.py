"""Undoing a transaction: what it takes back, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.errors import FileRefusedError, UsageError
from tacitd.files.log import Log
from tacitd.files.operations import Effect, PutLine, SwapLine, TakeLine, WriteFile
from tacitd.files.transaction import History
from tacitd.files.undo import find_chain_end, find_undo_conflicts, map_undone
from tacitd.testing import FakeClock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a learned file."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "LEARNED.md").write_text("# Learned\n\n## Coding\n- old\n- theirs\n")
    return root


def history(root: Path) -> History:
    """The history as a new process loads it."""
    return History(Log(root.parent / "state" / "history.jsonl"), FakeClock())


def change(root: Path) -> str:
    """Put one line, swap another, and return the transaction's id."""
    learned = root / "LEARNED.md"
    operations = [
        PutLine(learned, "Coding", "new", "Learned"),
        SwapLine(learned, "old", "newer", "Coding", "Learned"),
        WriteFile(root / "summary.md", "summary\n"),
    ]
    return history(root).run_transaction(root, operations, {"prompts": ["u1"]}, "1").id


def test_a_dry_run_says_what_would_change_and_writes_nothing(root: Path) -> None:
    """Neither the files nor the log change."""
    id, running = change(root), history(root)
    before, size = (root / "LEARNED.md").read_bytes(), (root.parent / "state/history.jsonl").stat().st_size
    planned = running.undo_transaction(id, dry_run=True)
    assert (planned.id, planned.cause) == ("", {"undo": id})
    assert planned.operations == (
        SwapLine(root / "LEARNED.md", "newer", "old", "Coding", "Learned"),
        TakeLine(root / "LEARNED.md", "new"),
    )
    assert [effect.did for effect in planned.effects] == ["swapped", "taken"]
    assert (root / "LEARNED.md").read_bytes() == before
    assert (root.parent / "state/history.jsonl").stat().st_size == size
    assert running.undo_transaction(id).effects == planned.effects


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# Learned\n\n## Coding\n- newer\n- theirs\n", "no longer has “new”"),
        ("# Learned\n\n## Coding\n- newer, they said\n- theirs\n- new\n", "no longer has “newer”"),
        (None, "was deleted or moved"),
    ],
)
def test_it_is_refused_if_a_person_changed_a_line_since(root: Path, text: str | None, why: str) -> None:
    """Nothing is written then: not the other line, and not an intent."""
    id, learned = change(root), root / "LEARNED.md"
    learned.write_text(text) if text is not None else learned.unlink()
    with pytest.raises(FileRefusedError, match=why) as refused:
        history(root).undo_transaction(id)
    assert f"tacitd show {id}" in refused.value.hint
    assert (learned.read_text() if learned.exists() else None) == text
    assert history(root).pending == ()


def test_a_newer_transaction_that_changed_the_line_is_named(root: Path) -> None:
    """It has to be undone first; then both are."""
    id, learned, running = change(root), root / "LEARNED.md", history(root)
    newer = running.run_transaction(root, [SwapLine(learned, "new", "newest", "Coding", "T")], {}, "2").id
    with pytest.raises(FileRefusedError, match=f"was changed by {newer} since"):
        running.undo_transaction(id)
    running.undo_transaction(newer)
    running.undo_transaction(id)
    assert learned.read_text() == "# Learned\n\n## Coding\n- old\n- theirs\n"


def test_an_undo_is_undone_and_done_again_through_its_own_id(root: Path) -> None:
    """The first id stands for the first state only, so that no command has two meanings."""
    id, learned, running = change(root), root / "LEARNED.md", history(root)
    first = running.undo_transaction(id)
    assert running.undo_transaction(id) == first
    second = running.undo_transaction(first.id)
    assert "- newer\n" in learned.read_text()
    with pytest.raises(UsageError, match="was undone and restored") as wrong:
        history(root).undo_transaction(id)
    assert f"tacitd undo {second.id}" in wrong.value.hint
    running.undo_transaction(second.id)
    assert learned.read_text() == "# Learned\n\n## Coding\n- old\n- theirs\n"
    every = running.list_transactions(root)
    assert map_undone(every)[id] == first.id and find_chain_end(id, every) == every[-1].id


def test_a_line_that_a_person_wrote_again_is_not_doubled(root: Path) -> None:
    """The undo of a removal finds the line there."""
    learned, running = root / "LEARNED.md", history(root)
    id = running.run_transaction(root, [TakeLine(learned, "old")], {}, "1").id
    learned.write_text("# Learned\n\n## Coding\n- theirs\n- old\n")
    with pytest.raises(FileRefusedError, match="has “old” again"):
        running.undo_transaction(id)


def test_lines_are_put_back_beside_one_that_is_there_again(root: Path) -> None:
    """One line of several was written again since: the others come back, and it is not doubled."""
    learned, running = root / "LEARNED.md", history(root)
    id = running.run_transaction(root, [TakeLine(learned, "old"), TakeLine(learned, "theirs")], {}, "1").id
    learned.write_text("# Learned\n\n## Coding\n- old\n")
    undone = running.undo_transaction(id)
    assert sorted(learned.read_text().splitlines()[3:]) == ["- old", "- theirs"]
    running.undo_transaction(undone.id)
    assert learned.read_text() == "# Learned\n\n## Coding\n- old\n"


def test_each_conflict_is_said_once(tmp_path: Path) -> None:
    """Two operations on a missing file are one reason."""
    gone = tmp_path / "LEARNED.md"
    operations = [TakeLine(gone, "a"), TakeLine(gone, "b"), PutLine(tmp_path / "x", "H", "c", "T")]
    effects = [Effect(), Effect(), Effect("put")]
    assert find_undo_conflicts(operations, effects, [gone], {}) == [f"{gone} was deleted or moved since"]
