"""The content of session files."""

from __future__ import annotations

import json
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.sources.base import SessionClaim
from tacitd.sources.claude_code.session_files import parse_claim, read_claims


@given(st.binary(max_size=60))
@examples(50)
def test_half_written_session_file_is_no_claim(data: bytes) -> None:
    """CLAUDE_CODE section 2: rewritten in place, so a reader may see any prefix."""
    whole = json.dumps({"pid": 7, "sessionId": "s", "cwd": "/w"}).encode()
    assert parse_claim(whole) == SessionClaim(7, "s", "/w")
    assert parse_claim(whole[: len(data) % len(whole)]) is None
    parse_claim(data)


def test_claims_leave_out_what_is_no_file(tmp_path: Path) -> None:
    """RELIABILITY row 9: a FIFO or a link among the session files does not block."""
    assert read_claims(tmp_path) == []
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "1.json").write_text('{"pid":1,"sessionId":"s"}')
    (folder / "2.json").symlink_to(folder / "1.json")
    os.mkfifo(folder / "3.json")
    (folder / "4.json").write_text('{"pid":true,"sessionId":"s"}')
    (folder / "x.txt").write_text("{}")
    assert read_claims(tmp_path) == [SessionClaim(1, "s", "")]
