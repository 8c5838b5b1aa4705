"""Slots of model calls: how many run at once, and that a waiting person goes first."""

from __future__ import annotations

import threading

from support_waiting import PATIENCE, until
from tacitd.model.call_slots import CallSlots


def _wait_in_queue(slots: CallSlots, name: str, first: bool, order: list[str]) -> threading.Thread:
    """A thread that takes a slot, notes its name and gives the slot back."""

    def work() -> None:
        assert slots.acquire_slot(first=first, given_up=lambda: False)
        order.append(name)
        slots.release_slot()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_person_goes_before_calls_that_nobody_waits_for() -> None:
    """SPEC T-07: a background call that waited longer gets its slot after the call that a person waits for."""
    slots, order = CallSlots(1), list[str]()
    assert slots.acquire_slot(first=False, given_up=lambda: False)
    threads = [
        _wait_in_queue(slots, "background", False, order),
        _wait_in_queue(slots, "person", True, order),
    ]
    until(lambda: slots._first_waiting == 1)
    slots.release_slot()
    for thread in threads:
        thread.join(PATIENCE)
    assert order == ["person", "background"]


def test_a_caller_that_gives_up_takes_nothing() -> None:
    """A full house, and a caller that is cancelled: it gets no slot, and blocks nobody afterwards."""
    slots = CallSlots(1)
    assert slots.acquire_slot(first=False, given_up=lambda: False)
    assert not slots.acquire_slot(first=True, given_up=lambda: True)
    slots.release_slot()
    assert slots.acquire_slot(first=False, given_up=lambda: False)
