"""Sample transcripts begin as the client begins them."""

from __future__ import annotations

import json
from pathlib import Path

from support_beginnings import beginning
from tacitd.sources.claude_code.sample import append_sample_record


def test_a_new_transcript_begins_without_a_directory(tmp_path: Path) -> None:
    """DESIGN "Sources": the first records name no directory; their types and fields are those of the client."""
    for number, kind in enumerate(("user", "assistant"), start=1):
        append_sample_record(tmp_path, "s1", kind, "hello", cwd=tmp_path, number=number, at=1_800_000_000.0)  # type: ignore[arg-type]
    (path,) = (tmp_path / "projects").rglob("s1.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["type"] for one in records[-2:]] == ["user", "assistant"]
    assert all("cwd" not in one for one in records[:-2])
    recorded = [(one["type"], set(one)) for one in beginning("s1")]
    assert [(one["type"], set(one)) for one in records[:-2]] == recorded
    assert path.stat().st_mtime == 1_800_000_000.0
