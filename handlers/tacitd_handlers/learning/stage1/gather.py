"""Which of the prompts that wait go to the model together. Pure.

SPEC S-01: a call for each prompt costs too much, and nothing reads facts before the session ends; so prompts go out
after a time of quiet, when there are many, or at the session's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacitd.events import Prompt, Record


@dataclass(frozen=True, slots=True)
class Gathered:
    """Prompts for one call, and the offset that is handled with them."""

    prompts: tuple[Prompt, ...]
    upto: int
    full: bool
    """No further prompt fits: there is no reason to wait."""


def has_typed_text(prompt: Prompt) -> bool:
    """Whether a prompt can hold a preference: a shell command that the person ran cannot."""
    return prompt.kind != "bash" and bool(prompt.text.strip())


def gather_prompts(records: Sequence[Record], end: int, max_prompts: int, max_bytes: int) -> Gathered:
    """Given records in order and the offset they reach, take prompts until one more would be too many.

    A record is never split, and the first is always taken: a prompt that is too long alone is cut later.
    """
    taken: list[Prompt] = []
    size = 0
    for record in records:
        words = [p for p in record.prompts if has_typed_text(p)]
        if not words:
            continue
        more = sum(len(p.text.encode(errors="replace")) for p in words)
        if taken and (len(taken) + len(words) > max_prompts or size + more > max_bytes):
            return Gathered(tuple(taken), record.start, True)
        taken += words
        size += more
    return Gathered(tuple(taken), end, len(taken) >= max_prompts or size >= max_bytes)


def quiet_for(prompts: Sequence[Prompt], now: float) -> float:
    """Seconds since the newest of these prompts was typed; infinite where none of them has a time.

    Never negative: where the clock was set back, the quiet begins now.
    """
    times = [p.time for p in prompts if p.time is not None]
    return max(0.0, now - max(times)) if times else float("inf")


def shorten_middle(text: str, limit: int) -> str:
    """The text, or its beginning and end with a note of what was left out: at most about `limit` characters."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"
