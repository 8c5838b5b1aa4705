"""How long growth of a transcript is gathered before it is offered. Pure: a batch and a time in, seconds out.

A handler that pays for each batch declares a `Gather` (`Plugin.gather`). Gathering ends at once by `sync` and at the end of
the session: the dispatcher then does not ask. No worker is started for a batch that is still gathered.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacitd.dispatch.batching import Batch
from tacitd.events import Prompt
from tacitd.handler import Gather


def seconds_to_gather(gather: Gather, batch: Batch, now: float, *, is_written: bool) -> float:
    """Given what a handler would be offered, return how long it still gathers; 0: offer it now.

    `now` is seconds since 1970, UTC. `is_written`: whether the batch belongs to a project in which anything may be written.
    """
    waits = []
    if gather.quiet is not None:
        waits.append(_until_quiet(gather, gather.quiet, batch, now) if is_written else 0.0)
    if gather.delay is not None:
        waits.append(_until_old(gather.delay, batch, now))
    return min(waits, default=0.0)


def _until_quiet(gather: Gather, quiet: float, batch: Batch, now: float) -> float:
    """Seconds until nothing was typed for `quiet` seconds; 0 if a limit is reached or no prompt has a time.

    If the clock was set back, the newest prompt counts as typed now.
    """
    prompts = [prompt for prompt in batch.prompts if has_typed_text(prompt)]
    times = [prompt.time for prompt in prompts if prompt.time is not None]
    if not times or len(prompts) >= gather.prompts or _count_bytes(prompts) >= gather.bytes:
        return 0.0
    return max(0.0, quiet - max(0.0, now - max(times)))


def _until_old(delay: float, batch: Batch, now: float) -> float:
    """Seconds until the oldest record is `delay` seconds old; 0 if no record has a time, or the oldest one is from the
    future."""
    times = [record.time for record in batch.records if record.time is not None]
    age = now - min(times, default=now + 1.0)
    return max(0.0, delay - age) if age >= 0.0 else 0.0


def has_typed_text(prompt: Prompt) -> bool:
    """Whether a prompt is text for the assistant. A shell command that a person ran is not."""
    return prompt.kind != "bash" and bool(prompt.text.strip())


def _count_bytes(prompts: Sequence[Prompt]) -> int:
    return sum(len(prompt.text.encode(errors="replace")) for prompt in prompts)
