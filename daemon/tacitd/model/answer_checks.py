"""The sentinel in prompts, and a check of the model's text. Pure.

The model's answer is untrusted data (DESIGN "Model", S-35, S-67, RELIABILITY 19). What happens to a refused answer is
decided by the handler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SENTINEL = "tacitd background request, not a person's words."
"""The first line of every prompt that tacitd sends. The reader recognises it and skips such sessions. It also keeps a prompt
from starting with `/`, which the client would treat as a command (CLAUDE_CODE 3.3).
"""

SHORTEST_SENTENCE = 20
"""Characters: a shorter instruction sentence in an answer is not evidence of an echo."""

_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKUP = re.compile(r"[*_`#>\"“”]+|^\s*(?:[-•]|\d+[.)])\s+", re.MULTILINE)


def frame_prompt(prompt: str) -> str:
    """The prompt as it is sent: the sentinel on a line of its own, then the text."""
    return f"{SENTINEL}\n\n{prompt}"


def is_echo(prompt_instructions: Sequence[str], answer: str) -> bool:
    """Whether the answer repeats the prompt's instructions instead of following them (S-35).

    The given texts are split into sentences. An answer that contains one of them, regardless of case, spacing and
    Markdown, is an echo.
    """
    said = _plain(answer)
    return any(sentence in said for text in prompt_instructions for sentence in _sentences(text))


def _sentences(text: str) -> list[str]:
    parts = (_plain(part) for part in _SENTENCE_END.split(text))
    return [part for part in parts if len(part) >= SHORTEST_SENTENCE]


def _plain(text: str) -> str:
    return _SPACE.sub(" ", _MARKUP.sub(" ", text)).strip().casefold()
