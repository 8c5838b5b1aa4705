"""Checks of the model's words, and the mark on ours. Pure: text in, text or a verdict out.

The model's answer is data from a stranger (DESIGN "The model", SPEC S-35, S-67, RELIABILITY 19). What a
handler does with a refused answer is the handler's business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SENTINEL = "tacitd background request, not a person's words."
"""The first line of every prompt of ours. The reader knows it and leaves such sessions out, and no prompt can
begin with `/`, which the client would take for a command (CLAUDE_CODE 3.3)."""

SHORTEST_SENTENCE = 20
"""An instruction sentence shorter than this many characters proves nothing when it turns up in an answer."""

_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKUP = re.compile(r"[*_`#>\"“”]+|^\s*(?:[-•]|\d+[.)])\s+", re.MULTILINE)


def framed(prompt: str) -> str:
    """The prompt as it is sent: the sentinel on a line of its own, then the words."""
    return f"{SENTINEL}\n\n{prompt}"


def echoes(prompt_instructions: Sequence[str], answer: str) -> bool:
    """Whether the answer repeats the prompt's own instructions instead of following them (SPEC S-35).

    Each given text is taken apart into sentences; one of them in the answer, whatever its case, spacing and
    Markdown, is an echo.
    """
    said = _plain(answer)
    return any(sentence in said for text in prompt_instructions for sentence in _sentences(text))


def _sentences(text: str) -> list[str]:
    parts = (_plain(part) for part in _SENTENCE_END.split(text))
    return [part for part in parts if len(part) >= SHORTEST_SENTENCE]


def _plain(text: str) -> str:
    return _SPACE.sub(" ", _MARKUP.sub(" ", text)).strip().casefold()
