"""Where the transcripts of Claude Code are, and which are a sub-agent's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tacitd.sources.claude_code.transcripts import ClaudeCode
from tacitd.sources.registry import make_source
from tacitd.sources.samples import SampleTranscripts
from tacitd.sources.source import SessionClaim
from tacitd.sources.transcript import read_records
from tacitd.testing import FakeClock

SOURCE = ClaudeCode(Path("/nonexistent"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("p/s/subagents/agent-a1.jsonl", True),
        ("p/s/subagents/workflows/w/journal.jsonl", True),
        ("p/agent-a2c0e96.jsonl", True),
        ("p/1254ce28.jsonl", False),
        ("p/agent-notes.txt", False),
    ],
)
def test_sub_agents_are_told_by_their_path(name: str, expected: bool) -> None:
    """CLAUDE_CODE section 6 rule 1, section 5.1: workflows nest deeper."""
    assert SOURCE.is_subagent(name) is expected


@pytest.mark.parametrize(
    ("path", "session"),
    [
        ("/r/projects/e/S/subagents/agent-1.jsonl", "S"),
        ("/r/projects/e/S/subagents/workflows/w/agent-1.jsonl", "S"),
        ("/r/projects/e/S.jsonl", None),
        ("/r/projects/e/agent-12.jsonl", None),
        ("/r/projects/subagents/S.jsonl", "projects"),
    ],
)
def test_session_of_a_subagents_file(path: str, session: str | None) -> None:
    """CLAUDE_CODE section 2: `<session>/subagents/**`."""
    assert SOURCE.session_of_subagent(Path(path)) == session


def test_a_session_file_is_a_claim_unless_it_is_half_written(tmp_path: Path) -> None:
    """CLAUDE_CODE section 2: rewritten in place, so a reader may see any prefix. RELIABILITY row 9: a FIFO or a link does not block."""
    whole = json.dumps({"pid": 7, "sessionId": "s", "cwd": "/w"}).encode()
    source = ClaudeCode(tmp_path)
    assert source.read_claims() == []
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "1.json").write_bytes(whole)
    (folder / "2.json").symlink_to(folder / "1.json")
    os.mkfifo(folder / "3.json")
    (folder / "4.json").write_text('{"pid":true,"sessionId":"s"}')
    (folder / "5.json").write_bytes(b"\xff")
    (folder / "x.txt").write_text("{}")
    assert source.read_claims() == [SessionClaim(7, "s", "/w")]


def test_a_sample_turn_is_read_as_what_it_is(tmp_path: Path) -> None:
    """The demonstration's transcript has the format that is read."""
    client = SampleTranscripts(tmp_path, FakeClock(1_700_000_000.0))
    client.say("demo", Path("/p"), "Ran npm.")
    client.type("demo", Path("/p"), "use pnpm")
    (path,) = (tmp_path / "projects").rglob("*.jsonl")
    records = read_records(make_source(tmp_path), path, 0, path.stat().st_size)
    assert [(one.text, [p.text for p in one.prompts]) for one in records] == [
        ("Ran npm.", []),
        ("", ["use pnpm"]),
    ]
    assert {(one.session, one.cwd, one.time) for one in records} == {("demo", "/p", 1_700_000_000.0)}


# --- who wrote the newest transcripts
