"""The answers to tool calls, read from the transcript, because the records that handlers get do not contain them.

Only the part after the oldest unanswered call is read, and only if there is such a call. What an answer means belongs to
the handlers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.events import ToolAnswer
from tacitd.sources.lines import open_transcript, read_slice, skip_line

LIMIT = 32 << 20
"""Bytes that are read at most."""
_SLICE = 1 << 20
_TEXT = 4096
"""Characters of a result's text that are kept."""


def read_answers(path: Path, ids: Sequence[str], start: int, end: int) -> dict[str, ToolAnswer]:
    """Return the answers to these calls by call id, as far as they are between two byte offsets.

    `end`: the offset up to which the transcript is final. An unreadable transcript has no answers.
    """
    wanted = {id.encode(): id for id in ids if id}
    if not wanted:
        return {}
    try:
        fd = open_transcript(path)
    except (OSError, FileRefusedError):
        return {}
    try:
        return _read(fd, start, end, wanted)
    finally:
        os.close(fd)


def _read(fd: int, start: int, end: int, wanted: Mapping[bytes, str]) -> dict[str, ToolAnswer]:
    found: dict[str, ToolAnswer] = {}
    at, stop = start, min(end, start + LIMIT)
    while at < stop and len(found) < len(wanted):
        piece = read_slice(fd, at, min(_SLICE, stop - at))
        if piece.long:  # longer than a slice: the results of task tools are short
            at, _ = skip_line(fd, at, stop - at)
            continue
        if not piece.cut:
            break
        for line in piece.split_lines():
            # Most lines are excluded by this search, which is much faster than parsing.
            if b"tool_result" in line and any(id in line for id in wanted):
                found |= _results(line, wanted)
        at = piece.end
    return found


def _results(line: bytes, wanted: Mapping[bytes, str]) -> dict[str, ToolAnswer]:
    """The results in one record. A damaged record has none, so its calls count as unanswered."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(record, dict) or record.get("type") != "user":
        return {}
    message = record.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    # With several blocks it is unknown which one `toolUseResult` is for.
    alone = isinstance(blocks, list) and len(blocks) == 1
    made: dict[str, ToolAnswer] = {}
    for block in blocks if isinstance(blocks, list) else ():
        id = (
            block.get("tool_use_id")
            if isinstance(block, dict) and block.get("type") == "tool_result"
            else None
        )
        if isinstance(id, str) and id in wanted.values():
            data = record.get("toolUseResult")
            text = _text(block.get("content"))
            refused = block.get("is_error") is True or text.startswith("<tool_use_error>")
            made[id] = ToolAnswer(refused, text, data if isinstance(data, dict) and alone else None)
    return made


def _text(content: Any) -> str:
    if isinstance(content, list):
        content = "\n".join(str(one.get("text", "")) for one in content if isinstance(one, dict))
    return content[:_TEXT] if isinstance(content, str) else ""
