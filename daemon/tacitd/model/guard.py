"""Checks of the model's words, and the mark on ours. Pure: text in, text or a verdict out.

The model's answer is data from a stranger (DESIGN "The model", SPEC S-35, S-67, RELIABILITY 19). What a
handler does with a refused answer is the handler's business.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

SENTINEL = "tacitd background request, not a person's words."
"""The first line of every prompt of ours. The reader knows it and leaves such sessions out, and no prompt can
begin with `/`, which the client would take for a command (CLAUDE_CODE 3.3)."""

SHORTEST_SENTENCE = 20
"""An instruction sentence shorter than this many characters proves nothing when it turns up in an answer."""

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC, DCS, SOS, PM, APC, up to their end
    r"|\x1b[ -/]*[0-~]"  # two-character escapes
    r"|\x9b[0-?]*[ -/]*[@-~]",  # CSI in one byte
    re.DOTALL,
)
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKUP = re.compile(r"[*_`#>\"“”]+|^\s*(?:[-•]|\d+[.)])\s+", re.MULTILINE)
_JOINERS = "\u200c\u200d"
_INVISIBLE = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0")


def framed(prompt: str) -> str:
    """The prompt as it is sent: the sentinel on a line of its own, then the words."""
    return f"{SENTINEL}\n\n{prompt}"


def clean(text: str, limit: int) -> str:
    """Given words from outside, return one line of at most `limit` characters that is safe to write and show.

    Escape sequences, control characters, bidirectional overrides and invisible characters go; newlines and
    tabs become a space. Joiners stay where a script or an emoji needs them.
    """
    line = _SPACE.sub(" ", _without_stray_joiners(_visible(_ANSI.sub("", text)))).strip()
    return line if len(line) <= limit else _cut(line, limit)


def _visible(text: str) -> str:
    return "".join(" " if _breaks(char) else char for char in text if _breaks(char) or not _hidden(char))


def _breaks(char: str) -> bool:
    return char in "\n\t\r\x0b\x0c\x85\u2028\u2029"


def _hidden(char: str) -> bool:
    if char in _JOINERS:
        return False
    if unicodedata.category(char) in ("Cc", "Cf", "Cs"):
        return True
    return (
        char in _INVISIBLE
        or _selector(char)
        or ord(char) & 0xFFFE == 0xFFFE
        or "\U000e0000" <= char <= "\U000e0fff"
    )


def _without_stray_joiners(text: str) -> str:
    """Persian and Indic scripts and emoji sequences need their joiners; beside ASCII they only hide something."""
    return "".join(char for at, char in enumerate(text) if char not in _JOINERS or _joins(text, at))


def _joins(text: str, at: int) -> bool:
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return len(around) == 2 and all(ord(c) > 0x2FF and c not in _JOINERS for c in around)


def _selector(char: str) -> bool:
    """Variation selectors, but for the one that asks for an emoji: they can carry hidden bytes."""
    return "\ufe00" <= char <= "\ufe0e"


def _cut(line: str, limit: int) -> str:
    if limit <= 1:
        return line[: max(0, limit)]
    head = line[: limit - 1]
    word = head.rpartition(" ")[0]
    return (word if len(word) > limit // 2 else head).rstrip() + "…"


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
