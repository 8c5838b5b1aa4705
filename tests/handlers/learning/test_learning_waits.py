"""Synthesis while the user has LEARNED.md open: nothing is paid for twice, and nothing is lost (RELIABILITY 11)."""

from __future__ import annotations

import pytest

from support_editor_marks import open_in_editor
from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, lines
from tacitd.errors import FileBusyError
from tacitd.files.busy_files import AGAIN, BusyFiles
from tacitd.files.log import Log
from tacitd.files.replaced import EditGuards
from tacitd.files.transaction import History
from tacitd.model.port import ModelRequest


@pytest.fixture
def guarded(bench: Bench) -> Bench:
    """The bench, with the daemon's checks for open editors."""
    guards = EditGuards(None, BusyFiles(bench.clock))
    bench.history = History(Log(bench.state / "history.jsonl"), bench.clock, guards=guards)
    return bench


def end_busy(bench: Bench) -> None:
    """The session ends, and its synthesis meets a file that is open in an editor."""
    with pytest.raises(FileBusyError) as busy:
        bench.end()
    assert busy.value.seconds == AGAIN


def test_the_model_is_not_asked_while_an_editor_has_the_file_open(guarded: Bench) -> None:
    """RELIABILITY 11: lines are made from what the user saves, and are written when the editor closes the file."""
    guarded.put("LEARNED.md", "# Mine\n")
    open_in_editor(guarded.root / "LEARNED.md", guarded.clock)
    guarded.type(PNPM)
    for _ in range(3):
        end_busy(guarded)
    assert not guarded.asked(SYNTHESIS) and guarded.learned == "# Mine\n" and not guarded.degraded
    (guarded.root / ".#LEARNED.md").unlink()
    guarded.end()
    assert guarded.bullets == [PNPM] and len(guarded.asked(SYNTHESIS)) == 1


def test_an_answer_is_not_paid_for_again_where_an_editor_opens_meanwhile(guarded: Bench) -> None:
    """RELIABILITY 16: the transaction is recorded; new facts wait until it is finished."""

    def open_and_answer(ask: ModelRequest) -> str:
        open_in_editor(guarded.root / "LEARNED.md", guarded.clock)
        return lines(PNPM)

    guarded.put("LEARNED.md", "# Mine\n")
    guarded.answer((SYNTHESIS, open_and_answer), (EXTRACTION, PNPM))
    guarded.type(PNPM)
    end_busy(guarded)
    guarded.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"]}\n')
    end_busy(guarded)
    assert guarded.history.has_busy and len(guarded.asked(SYNTHESIS)) == 1
    (guarded.root / ".#LEARNED.md").unlink()
    guarded.history.recover(only_busy=True)
    assert guarded.bullets == [PNPM]
    guarded.answer((SYNTHESIS, lines("Prefers tabs")), (EXTRACTION, PNPM))
    guarded.end()
    guarded.play_posted()
    assert guarded.bullets == [PNPM, "Prefers tabs"] and not guarded.history.pending
