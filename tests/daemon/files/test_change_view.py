"""A transaction as `tacitd history` shows it."""

from __future__ import annotations

from pathlib import Path

from tacitd.files.change_view import describe_transactions
from tacitd.files.log import Log
from tacitd.files.operations import AppendLine, PutLine, RemoveFile, SwapLine, TakeLine, WriteFile
from tacitd.files.transaction import History
from tacitd.testing import FakeClock


def test_lines_files_and_cause_of_each_transaction(tmp_path: Path) -> None:
    """Lines with their headings; files changed as a whole; what had no effect is not listed; an undo names its id."""
    root, clock = tmp_path / "project", FakeClock()
    root.mkdir()
    learned, other = root / "LEARNED.md", tmp_path / "exclude"
    learned.write_text("# Learned\n\n## Coding\n- old\n- same\n\n## Tone\n- gone\n")
    (root / "claimed").write_text("x")
    history = History(Log(tmp_path / "state" / "history.jsonl"), clock)
    operations = [
        PutLine(learned, "Testing", "new", "T"),
        PutLine(learned, "Coding", "same", "T"),
        SwapLine(learned, "old", "newer", "Coding", "T"),
        TakeLine(learned, "gone"),
        WriteFile(root / "summary.md", "text\n"),
        AppendLine(other, "LEARNED.md"),
        RemoveFile(root / "claimed"),
    ]
    cause = {
        "by": "learning",
        "what": "synthesis",
        "prompts": ["u1", "u2"],
        "sessions": ["s1"],
        "facts": ["f"],
    }
    first = history.run_transaction(root, operations, cause, "1", also=[tmp_path])
    undone = history.undo_transaction(first.id)
    shown, undo = describe_transactions(history.list_transactions(root))
    assert shown["lines"] == [
        {"file": "LEARNED.md", "heading": "Testing", "added": "new", "removed": ""},
        {"file": "LEARNED.md", "heading": "Coding", "added": "newer", "removed": "old"},
        {"file": "LEARNED.md", "heading": "Tone", "added": "", "removed": "gone"},
    ]
    assert shown["files"] == [
        {"file": "summary.md", "did": "written"},
        {"file": str(other), "did": "appended"},
        {"file": "claimed", "did": "removed"},
    ]
    assert {key: shown[key] for key in cause} == cause
    assert (shown["undone_by"], shown["undoes"], shown["state"]) == (undone.id, "", "done")
    assert (undo["undoes"], undo["undone_by"], undo["prompts"]) == (first.id, "", [])
    assert [line["removed"] or line["added"] for line in undo["lines"]] == ["gone", "newer", "new"]
