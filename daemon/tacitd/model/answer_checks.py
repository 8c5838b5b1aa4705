"""The sentinel in prompts (CLAUDE_CODE 3.3, RELIABILITY 19). Pure."""

from __future__ import annotations

SENTINEL = "tacitd background request, not a person's words."
"""The first line of every prompt that tacitd sends. The reader recognises it and skips such sessions. It also keeps a prompt
from starting with `/`, which the client would treat as a command (CLAUDE_CODE 3.3).
"""


def frame_prompt(prompt: str) -> str:
    """The prompt as it is sent: the sentinel on a line of its own, then the text."""
    return f"{SENTINEL}\n\n{prompt}"
