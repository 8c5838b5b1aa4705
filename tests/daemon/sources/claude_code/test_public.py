"""The reader on other people's transcripts, if there are some: the repository contains none.

TACITD_PUBLIC_TRANSCRIPTS names their folder; your own work too (`~/.claude/projects`).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support_transcripts import SOURCE
from tacitd.events import Prompt
from tacitd.sources.transcript import Tail, judge_transcript

FOLDER = os.environ.get("TACITD_PUBLIC_TRANSCRIPTS", "")
FILES = sorted(Path(FOLDER).rglob("*.jsonl")) if FOLDER else []
pytestmark = pytest.mark.skipif(not FILES, reason="TACITD_PUBLIC_TRANSCRIPTS names no transcripts")


def in_slices(path: Path, size: int) -> list[Prompt]:
    """Read a file in slices of this many bytes, as the engine does, up to the end of the session."""
    tail, found = Tail(path, 0, SOURCE), list[Prompt]()
    while tail.read_next_slice(size).more:
        pass
    tail.take_unterminated()
    tail.assembler.release_queued()
    for record in tail.list_records(0):
        found += record.prompts
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_slices_make_no_difference(path: Path) -> None:
    """RELIABILITY row 9: every complete record is read, wherever a slice ends; nothing is invented."""
    whole = [prompt for judged in judge_transcript(path, SOURCE) for prompt in judged.prompts]
    assert in_slices(path, 4096) == whole
    assert in_slices(path, 1 << 20) == whole


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_word_stands_in_its_record(path: Path) -> None:
    """CLAUDE_CODE 6: a prompt's words are the record's own, and what is left out has a rule and a reason."""
    data = path.read_bytes()
    for judged in judge_transcript(path, SOURCE):
        record = data[
            judged.start : data.find(b"\n", judged.start) if b"\n" in data[judged.start :] else None
        ]
        there = json.dumps(json.loads(record), ensure_ascii=False)
        for prompt in judged.prompts:
            assert prompt.text.strip()
            for words in filter(None, map(str.strip, prompt.text.splitlines())):
                assert json.dumps(words, ensure_ascii=False)[1:-1] in there
        assert judged.prompts or (judged.verdict.rule and judged.verdict.reason)
