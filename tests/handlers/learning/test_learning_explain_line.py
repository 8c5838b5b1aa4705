"""What `why` and `learned` read of a handler's log and archive that have odd records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_commits import CommitStore
from support_learning import EXTRACTION, SYNTHESIS, Bench, lines
from tacitd.files.transaction_records import StoredCause
from tacitd.model.spend_report import find_calls
from tacitd.testing import FakeClock
from tacitd_handlers.learning import explain_line
from tacitd_handlers.learning.explain_line import _read_prompts
from tacitd_handlers.learning.inventory import Inventory, state_of

BATCH = {
    "kind": "batch",
    "id": "i",
    "project": "/w",
    "prompts": ["p"],
    "times": [1.0],
    "new": ["f"],
    "folders": [],
    "words": ["said"],
}


@pytest.mark.parametrize("odd", [None, 5, 1e300, "x", [], [[5]], {"a": 1}])
@pytest.mark.parametrize("name", BATCH)
def test_an_odd_record_is_left_out_and_the_others_count(tmp_path: Path, name: str, odd: object) -> None:
    """A record may be damaged, a newer version's or edited: the commands still say what the others are."""
    home, log = tmp_path / "handlers" / "learning", CommitStore(tmp_path, "learning", FakeClock())
    log.append(BATCH | {name: odd}, at=1.0)
    log.append(BATCH | {"id": "j", "prompts": ["q"]}, at=2.0)
    assert _read_prompts(home).words["q"] == ("said", "1970-01-01T00:00:01Z")
    assert state_of(tmp_path).waiting[Path("/w")]["j"].facts == ("f",)


def test_what_all_lines_have_in_common_is_read_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of one synthesis have its cause, and all calls are in one log."""
    facts = ("Prefers tabs over spaces", "Prefers pytest over unittest", "Prefers English comments")
    bench.answer((SYNTHESIS, lines(*facts)), (EXTRACTION, "\n".join(facts)))
    bench.learn("I prefer tabs over spaces, pytest over unittest and English comments")
    done = list[str]()
    decode = StoredCause.decode

    def note_decode(cause: StoredCause) -> dict[str, Any]:
        done.append("cause")
        return decode(cause)

    def note_find(*given: Any) -> Any:
        done.append("calls")
        return find_calls(*given)

    monkeypatch.setattr(StoredCause, "decode", note_decode)
    monkeypatch.setattr("tacitd_handlers.learning.explain_line.find_calls", note_find)
    inventory = Inventory(bench.state)
    found = inventory.list_lines(bench.root)
    assert [one.line for one in found] == bench.bullets and len(found) == 3
    assert done == ["cause"]
    assert [one["what"] for one in explain_line.explain_lines(found, inventory)] == bench.bullets
    assert done == ["cause", "calls"]
