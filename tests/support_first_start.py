"""The first start of a single consumer, as the engine makes it for all."""

from __future__ import annotations

from collections.abc import Mapping

from tacitd.consumers.consumer import Consumer, make_baseline_records
from tacitd.sources.position import Position


def begin_first_start(consumer: Consumer, positions: Mapping[str, Position] | None = None) -> None:
    """Count what is before these positions as read, now."""
    now = consumer.clock.now()
    consumer.record_first_start(now, list(make_baseline_records((positions or {}).items(), now)))
