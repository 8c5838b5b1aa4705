"""The answers to calls of the client's own tools that keep tasks, start agents or edit files. Pure.

They are on lines of their own, and name the call by its id only. What an answer means belongs to the plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tacitd.events import ToolAnswer
from tacitd.sources.claude_code.records import LineMessage, ToolResult, TranscriptLine, text_of

ANSWERED = frozenset({
    "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "Task", "Agent", "Edit", "MultiEdit", "Write", "NotebookEdit",
})  # fmt: skip
"""The tools whose answers are kept."""
_TEXT = 4096
"""Characters of an answer's text that are kept."""


def read_answers(line: TranscriptLine, calls: Mapping[str, str]) -> tuple[ToolAnswer, ...]:
    """Return the answers on a line. `calls`: the names of the tools that were called before it, by the ids of the calls."""
    blocks = line.message.content if isinstance(line.message, LineMessage) else None
    if isinstance(blocks, str) or not blocks:
        return ()
    made: list[ToolAnswer] = []
    for block in blocks:
        if block.type == "tool_result" and calls.get(block.tool_use_id) in ANSWERED:
            # With several blocks it is unknown which one `toolUseResult` is for.
            data = _read_data(line.tool_use_result) if len(blocks) == 1 else None
            text = text_of(block.content)[:_TEXT]
            refused = block.is_error is True or text.startswith("<tool_use_error>")
            made.append(ToolAnswer(block.tool_use_id, refused, text, data))
    return tuple(made)


def _read_data(result: ToolResult | str | list[msgspec.Raw] | None) -> Mapping[str, Any] | None:
    if not isinstance(result, ToolResult):
        return None
    named = {"task": result.task, "tasks": result.tasks, "success": result.success}
    return {name: msgspec.json.decode(raw) for name, raw in named.items() if memoryview(raw).nbytes}
