"""How events are described for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.events import (
    Due,
    Event,
    Message,
    NoProject,
    Project,
    SessionEnded,
    SessionStarted,
    SourceChanged,
    TranscriptGrew,
)
from tacitd.work.event_keys import describe_event

PATH, APP, HOME = Path("/t/s.jsonl"), Project(Path("/app"), True), NoProject("/home", "it is the home")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (SessionStarted("s", PATH, APP, 0.0), "the start of session s"),
        (SessionEnded("s", PATH, APP, 0.0, "idle"), "the end of session s"),
        (Due("recover", None), "job recover"),
        (SourceChanged(APP, Path("/app/AGENTS.md")), "a change of /app/AGENTS.md"),
        (Message("learning", "1", "s", HOME, 0.0, {}), "what learning found in session s"),
        (
            Message("learning", "1", "synthesize", HOME, 0.0, {}, by_job=True),
            "what learning found in job synthesize",
        ),
        (TranscriptGrew(PATH, "s", APP, (), 0, 0, False), "growth of /t/s.jsonl"),
    ],
)
def test_an_event_is_described_in_words(event: Event, words: str) -> None:
    """DESIGN "Priorities" 3: no name of a class in `tacitd status`."""
    assert describe_event(event) == words
    assert type(event).__name__ not in words
