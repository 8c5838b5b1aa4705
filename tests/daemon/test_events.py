"""The names under which events are stored: handlers' logs contain them, so they never change."""

from __future__ import annotations

from typing import get_args

from tacitd.events import Event

STORED = {
    "TranscriptGrew": "TranscriptGrew",
    "SessionStarted": "SessionStarted",
    "SessionEnded": "SessionEnded",
    "SourceChanged": "SourceChanged",
    "Due": "Due",
    "Message": "Told",
}


def test_stored_names_do_not_follow_the_names_of_classes() -> None:
    """A class that is renamed keeps its stored name, so a log of an earlier version is read; no two events share one."""
    assert {one.__name__: one.stored_name for one in get_args(Event)} == STORED
