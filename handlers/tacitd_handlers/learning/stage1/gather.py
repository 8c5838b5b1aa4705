"""Choose the prompts for one call of the model (SPEC S-01).

A call for each prompt costs too much, so the engine offers prompts that it gathered (`settings.choose_gather`). More may
have come than one call takes. The functions here are pure: no clock, no disk, no model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from tacitd.events import Prompt, Record

_COMMAND = re.compile(r"\s*/[\w:-]+\s*")


class Gathered(Struct, frozen=True):
    """The prompts for one call."""

    prompts: tuple[Prompt, ...]
    upto: int
    """Byte offset in the transcript up to which records are handled by the call."""


def has_typed_text(prompt: Prompt) -> bool:
    """Whether a prompt can contain a preference. A shell command and a slash command without words cannot."""
    return prompt.kind != "bash" and bool(prompt.text.strip()) and not _COMMAND.fullmatch(prompt.text)


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
            return Gathered(tuple(taken), record.start)
        taken += typed
        size += added_size
    return Gathered(tuple(taken), end)
