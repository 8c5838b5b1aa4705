"""Open transcripts: bounded slices, bounded memory. The rest of what they do is shown in test_engine.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_engine import Scene
from tacitd import tails as tails_module


def test_a_huge_file_delays_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Hints and truth": reads are bounded slices, round robin."""
    monkeypatch.setattr(tails_module, "SLICE", 300)
    monkeypatch.setattr(tails_module, "SLICES", 2)
    scene = Scene(tmp_path)
    scene.type("huge", *(f"words {n}" for n in range(100)))
    scene.type("small", "hello")
    scene.clock.pass_(2)
    scene.engine._look(full=True)
    turns = 0
    while ["hello"] not in scene.handler.words:
        scene.engine.turn()
        turns += 1
    assert turns < 5 and scene.engine.tails.waits(scene.path("huge"))
    scene.settle()
    assert len(scene.handler.did) == 101


def test_counts_outlive_the_file(tmp_path: Path) -> None:
    """`status` counts damaged and unknown lines since the start, also of files that were put away."""
    scene = Scene(tmp_path)
    scene.append("s", {"type": "from-the-future", "sessionId": "s", "cwd": "/x"})
    with scene.path("s").open("ab") as out:
        out.write(b"{broken\n")
    scene.settle()
    before = scene.engine.tails.totals()
    assert before["damaged"] == 1 and before["unknown type: from-the-future"] == 1
    scene.settle(2000)
    scene.settle(61)
    assert not scene.engine.tails._open and scene.engine.tails.totals() == before


def test_many_unreadable_files_are_a_few_lines(tmp_path: Path) -> None:
    """DESIGN "Control": `status` is read by people."""
    scene = Scene(tmp_path)
    for i in range(50):
        scene.engine.tails._refuse(tmp_path / f"{i}.jsonl", PermissionError(13, "Permission denied"))
    said = scene.engine.tails.degradations()
    assert len(said) == 6 and said[-1].what.startswith("45 more") and all(one.hint for one in said)
