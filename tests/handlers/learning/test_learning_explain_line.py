"""What `why` and `learned` read of a handler's log and archive that have odd records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacitd_handlers.learning.explain_line import _read_prompts
from tacitd_handlers.learning.inventory import state_of

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
RECORD = {"k": "done", "at": 1.0, "ev": "TranscriptGrew", "t": "/t", "s": "s", "o": 1, "d": BATCH}


@pytest.mark.parametrize("odd", [None, 5, 1e300, "x", [], [[5]], {"a": 1}])
@pytest.mark.parametrize("name", [*RECORD, *BATCH])
def test_an_odd_record_is_left_out_and_the_others_count(tmp_path: Path, name: str, odd: object) -> None:
    """A record may be damaged, a newer version's or edited: the commands still say what the others are."""
    home = tmp_path / "handlers" / "learning"
    home.mkdir(parents=True)
    where = RECORD if name in RECORD else BATCH
    damaged = RECORD | (where | {name: odd} if where is RECORD else {"d": BATCH | {name: odd}})
    good = RECORD | {"at": 2.0, "d": BATCH | {"id": "j", "prompts": ["q"]}}
    lines = "".join(json.dumps(each) + "\n" for each in (damaged, good))
    for file in ("log.jsonl", "archive.jsonl"):
        (home / file).write_text(lines)
    assert _read_prompts(home).words["q"] == ("said", "1970-01-01T00:00:01Z")
    assert state_of(tmp_path).waiting[Path("/w")]["j"].facts == ("f",)
