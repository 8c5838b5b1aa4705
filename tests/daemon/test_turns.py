"""What a turn is called where a person reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.events import (
    Due,
    Event,
    NoProject,
    Project,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    Told,
    TranscriptGrew,
)
from tacitd.turns import words_for

PATH, APP, HOME = Path("/t/s.jsonl"), Project(Path("/app"), True), NoProject("/home", "it is the home")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (SessionStarted("s", PATH, APP, 0.0), "the start of session s"),
        (SessionEnded("s", PATH, APP, 0.0, "idle"), "the end of session s"),
        (Due("recover", None), "job recover"),
        (SourceChanged(APP, Path("/app/AGENTS.md")), "a change of /app/AGENTS.md"),
        (Told("learning", "1", "s", HOME, 0.0, {}), "what learning found in session s"),
        (TranscriptGrew(PATH, "s", APP, (), 0, 0, False), "growth of /t/s.jsonl"),
    ],
)
def test_what_is_parked_is_said_in_words(event: Event, words: str) -> None:
    """DESIGN "What matters" 3, it explains itself: no name of a class in `tacitd status`."""
    assert words_for(event) == words
    assert type(event).__name__ not in words
