"""What one handler found for another: an event of its own, after the commit, at least once, and no more than needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support_engine import Scene, Scripted, prompts_of
from tacitd.events import Due, Event, Project, Told, TranscriptGrew
from tacitd.handler import Done, Job, Later


def finder(event: Event) -> Any:
    """Handler `a`: what it hears it tells `b`, and a handler that is not there."""
    if not isinstance(event, TranscriptGrew) or not prompts_of(event):
        return Done()
    said = [prompt.text for record in event.records for prompt in record.prompts]
    project = str(event.project.root) if isinstance(event.project, Project) else ""
    return Done(data={"did": said, "project": project, "tell": {"b": {"said": said}, "nobody": {"x": 1}}})


def told(handler: Scripted) -> list[Told]:
    return [event for event in handler.events if isinstance(event, Told)]


def test_it_is_told_after_the_commit_and_once(tmp_path: Path) -> None:
    """SPEC X-05, `Done.data`: what stands under `tell` reaches the named handler, with project and session."""
    scene = Scene(tmp_path, Scripted(finder), Scripted())
    scene.type("s", "one")
    scene.settle()
    (event,) = told(scene.handlers[1])
    assert (event.sender, event.session, event.data) == ("a", "s", {"said": ["one"]})
    assert isinstance(event.project, Project) and event.project.root == scene.root
    scene.settle()
    scene.restart()
    scene.settle()
    assert told(scene.handlers[1]) == []


def test_what_a_job_found_is_told_as_a_jobs(tmp_path: Path) -> None:
    """A job has no session: `session` is its name, and whoever shows it must know that (`tacitd status`)."""

    def find_in_a_job(event: Event) -> Any:
        return Done(data={"tell": {"b": {"x": 1}}}) if isinstance(event, Due) else Done()

    scene = Scene(tmp_path, Scripted(find_in_a_job), Scripted())
    scene.dispatcher.post_event(Due("look"), only="a")
    scene.settle()
    (event,) = told(scene.handlers[1])
    assert event.by_job and event.session == "look"


def test_what_was_not_heard_is_told_again_after_a_crash(tmp_path: Path) -> None:
    """DESIGN "Consumers": a crash costs nothing but doing it again; the id is the same."""
    scene = Scene(
        tmp_path,
        Scripted(finder),
        Scripted(lambda event: Later("not now") if isinstance(event, Told) else Done()),
    )
    scene.type("s", "one")
    scene.settle()
    (first,) = told(scene.handlers[1])
    scene.restart(Scripted(finder), Scripted())
    scene.settle()
    (again,) = told(scene.handlers[1])
    assert again.id == first.id and again.data == first.data
    scene.restart()
    scene.settle()
    assert told(scene.handlers[1]) == []


def test_one_who_fails_parks_only_its_own(tmp_path: Path) -> None:
    """DESIGN "Handlers and events": one failing handler never touches another; every finding is told in the end."""
    moods = iter([True, False, False])

    def hearer(event: Event) -> Any:
        if isinstance(event, Told) and next(moods):
            raise ValueError("in a bad mood")
        return Done()

    scene = Scene(tmp_path, Scripted(finder), Scripted(hearer))
    scene.type("s", "one")
    scene.settle()
    scene.type("s", "two")
    scene.settle()
    assert scene.handlers[0].did == ["one", "two"]
    scene.settle(600)
    said = [event.data["said"] for event in told(scene.handlers[1])]
    assert sorted(said) == [["one"], ["one"], ["two"]]
    assert scene.parked() == []


def test_a_compacted_log_knows_what_was_told(tmp_path: Path) -> None:
    """`compaction.py`: nothing that was heard is told again because the log became short."""
    from tacitd.consumers.compaction import compact_log

    scene = Scene(tmp_path, Scripted(finder), Scripted())
    scene.type("s", "one")
    scene.settle()
    scene.kill()
    for consumer in scene.engine.consumers.values():
        assert compact_log(consumer, lambda path: True, large=0)
    scene.start(Scripted(finder), Scripted())
    scene.settle()
    assert told(scene.handlers[1]) == []


def test_a_job_that_comes_round_often_leaves_no_record(tmp_path: Path) -> None:
    """A job of a minute would write 1,440 records a day that say nothing; one of a day is remembered over a restart."""
    jobs = [Job("minute", 60.0), Job("day", 86_400.0)]
    scene = Scene(tmp_path, jobs=jobs)
    log = tmp_path / "state" / "handlers" / "a" / "log.jsonl"
    before = log.stat().st_size
    scene.dispatcher.post_event(Due("minute"))
    scene.settle()
    assert log.stat().st_size == before and scene.engine.consumers["a"].last_job_runs["minute"] > 0
    scene.dispatcher.post_event(Due("day"))
    scene.settle()
    assert log.stat().st_size > before
    scene.restart()
    assert set(scene.engine.consumers["a"].last_job_runs) == {"day"}
