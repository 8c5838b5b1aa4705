"""Choose the prompts for one call of the model (SPEC S-01).

A call for each prompt costs too much, and facts are not read before the session ends. Prompts are therefore sent after
a time without a new prompt, when a limit is reached, or when the session ends. The functions here are pure: no clock,
no disk, no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacitd.events import Prompt, Record


@dataclass(frozen=True, slots=True)
class Gathered:
    """The prompts for one call."""

    prompts: tuple[Prompt, ...]
    upto: int
    """Byte offset in the transcript up to which records are handled by the call."""
    full: bool
    """A limit is reached, so the call is made without waiting."""


def has_typed_text(prompt: Prompt) -> bool:
    """Whether a prompt can contain a preference. A shell command that the user ran cannot."""
    return prompt.kind != "bash" and bool(prompt.text.strip())


def gather_prompts(records: Sequence[Record], end: int, max_prompts: int, max_bytes: int) -> Gathered:
    """Given records in order and the byte offset of their end, take prompts until the next record exceeds a limit.

    `max_bytes` is the size of the texts in UTF-8. A record is never split. The first record with text is always taken;
    a prompt that exceeds the limit alone is shortened later.
    """
    taken: list[Prompt] = []
    size = 0
    for record in records:
        typed = [p for p in record.prompts if has_typed_text(p)]
        if not typed:
            continue
        added_size = sum(len(p.text.encode(errors="replace")) for p in typed)
        if taken and (len(taken) + len(typed) > max_prompts or size + added_size > max_bytes):
            return Gathered(tuple(taken), record.start, True)
        taken += typed
        size += added_size
    return Gathered(tuple(taken), end, len(taken) >= max_prompts or size >= max_bytes)


def quiet_for(prompts: Sequence[Prompt], now: float) -> float:
    """Seconds since the newest of these prompts was typed; infinite if none of them has a time.

    `now` is in seconds since the epoch. The result is 0 if the clock was set back, never negative.
    """
    times = [p.time for p in prompts if p.time is not None]
    return max(0.0, now - max(times)) if times else float("inf")


def shorten_middle(text: str, limit: int) -> str:
    """Return the text, or its first two thirds and last third of `limit` characters with a note between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"
