"""What the engine says of its work: each prompt once, each reason for parked work once an hour, and nothing confidential."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support_engine import Scene, Scripted, gathered
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.pauses import Pause
from tacitd.dispatch.work_notes import AGAIN
from tacitd.events import Event, TranscriptGrew
from tacitd.handler import Done, Later


def _lines(scene: Scene, did: str) -> list[str]:
    return [one.describe()["line"] for one in scene.app.activities.list_since(0) if one.did == did]


def test_each_prompt_is_read_once(tmp_path: Path) -> None:
    """However many handlers read it, and however often the transcript is read. Its words are not named."""
    scene = Scene(tmp_path, Scripted(), gathered())
    scene.type("s", "secret words")
    scene.settle()
    scene.type("s", "more")
    scene.type("s", "and more")
    scene.settle()
    assert _lines(scene, "read") == ["read: 1 prompt  (app)", "read: 2 prompts  (app)"]
    assert not any("secret" in one.describe()["line"] for one in scene.app.activities.list_since(0))


def test_what_waited_is_read_again_after_a_restart(tmp_path: Path) -> None:
    """Handled prompts are not announced again; those that nobody has handled are."""
    scene = Scene(tmp_path, Scripted(), gathered())
    scene.type("s", "one")
    scene.settle()
    scene.restart(Scripted(), Scripted())
    scene.settle()
    assert _lines(scene, "read") == ["read: 1 prompt  (app)"]
    scene.restart(Scripted(), Scripted())
    scene.settle()
    assert _lines(scene, "read") == []


def test_a_scan_is_announced(tmp_path: Path) -> None:
    """Prompts from before the first start are read when a person asks for them, and not before."""
    scene = Scene(tmp_path)
    scene.type("s", "old", age=20 * 86400.0)
    scene.settle()
    assert _lines(scene, "read") == []
    scene.engine.rewind_transcripts([scene.path("s")], 0.0)
    scene.settle()
    assert _lines(scene, "read") == ["read: 1 prompt  (app)"]


def test_a_reason_is_announced_once_an_hour(tmp_path: Path) -> None:
    """Not once for each transcript and each retry, and with the time until which it waits."""
    until = [None]

    def answer(event: Event) -> Any:
        return (
            Later("200 of 200 calls made today", "wait", until[0])
            if isinstance(event, TranscriptGrew)
            else Done()
        )

    scene = Scene(tmp_path, Scripted(answer))
    for number in range(5):
        scene.type(f"s{number}", "words")
    scene.settle()
    assert _lines(scene, "parked") == ["parked: 200 of 200 calls made today  (a)"]
    scene.clock.advance(AGAIN)
    scene.settle()
    assert len(_lines(scene, "parked")) == 2


def test_a_time_that_cannot_be_shown_stops_nothing(tmp_path: Path) -> None:
    """A third-party handler names the year 1e30."""
    scene = Scene(
        tmp_path,
        Scripted(lambda event: Later("no", "", 1e30) if isinstance(event, TranscriptGrew) else Done()),
    )
    scene.type("s", "words")
    scene.settle()
    assert _lines(scene, "parked") == ["parked: no, until a time that cannot be shown  (a)"]


def test_what_a_person_paused_is_not_announced(tmp_path: Path) -> None:
    """It is what was asked for."""
    scene = Scene(tmp_path)
    scene.engine.set_pause(Pause("all"), held=True)
    scene.type("s", "words")
    scene.settle()
    assert _lines(scene, "parked") == [] and scene.handler.words == []


def test_an_hour_has_passed_after_3600_seconds(tmp_path: Path) -> None:
    """Not before, and not a second later."""
    scene = Scene(tmp_path)
    item = scene.dispatcher.work_queue.get_item(scene.engine.consumers["a"], scene.path("s"))
    parked = Parked("no model", "", scene.clock.now(), 1, 0.0)
    for seconds, count in ((0.0, 1), (3599.5, 1), (0.5, 2)):
        scene.clock.advance(seconds)
        scene.dispatcher.outcomes.notes.note_parked(item, parked)
        assert len(_lines(scene, "parked")) == count
