"""Where the transcripts of Claude Code are, and which are a sub-agent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.sources.base import SessionClaim
from tacitd.sources.claude_code.source import ClaudeCode, is_subagent, session_of_subagent
from tacitd.sources.registry import append_sample_turn, make_source
from tacitd.sources.transcript import read_records


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
    assert is_subagent(name) is expected


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
    assert session_of_subagent(Path(path)) == session


def test_what_is_below_the_home(tmp_path: Path) -> None:
    """CLAUDE_CODE section 2: transcripts below `projects`, live sessions in `sessions`."""
    source = ClaudeCode(tmp_path)
    assert (source.list_sessions(), list(source.read_claims())) == (set(), [])
    folder = tmp_path / "projects" / "-home-dev-p"
    (folder / "s1" / "subagents").mkdir(parents=True)
    for name in ("s1.jsonl", "s1/subagents/agent-1.jsonl", "note.txt"):
        (folder / name).write_text("")
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "7.json").write_text('{"pid":7,"sessionId":"s1","cwd":"/p"}')
    assert source.list_sessions() == {"s1"}
    assert source.read_claims() == [SessionClaim(7, "s1", "/p")]
    assert [root.name for root in source.roots] == ["projects"]
    assert source.is_transcript("x/s1.jsonl") and not source.is_transcript("x/note.txt")


def test_a_sample_turn_is_read_as_what_it_is(tmp_path: Path) -> None:
    """The demonstration's transcript has the format that is read."""
    append_sample_turn(tmp_path, Path("/p"), 1, "Ran npm.", "use pnpm", 1_700_000_000)
    (path,) = (tmp_path / "projects").rglob("*.jsonl")
    records = read_records(make_source(tmp_path), path, 0, path.stat().st_size)
    assert [(one.text, [p.text for p in one.prompts]) for one in records] == [
        ("Ran npm.", []),
        ("", ["use pnpm"]),
    ]
    assert {(one.session, one.cwd, one.time) for one in records} == {("demo", "/p", 1_700_000_000.0)}
