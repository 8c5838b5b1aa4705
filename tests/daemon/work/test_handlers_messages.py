"""Messages between handlers: an event after the commit, at least once, and again only if it may not have been handled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reminders import make_plugin
from support_engine import Scene, Scripted, prompts_of
from tacitd.events import Due, Event, Message, Project, TranscriptGrew
from tacitd.handler import Done, Later


def finder(event: Event) -> Any:
    """Handler `a`: sends the prompts to `b`, and to a handler that does not exist."""
    if not isinstance(event, TranscriptGrew) or not prompts_of(event):
        return Done()
    said = [prompt.text for record in event.records for prompt in record.prompts]
    project = str(event.project.root) if isinstance(event.project, Project) else ""
    return Done(data={"did": said, "project": project, "tell": {"b": {"said": said}, "nobody": {"x": 1}}})


def messages_to(handler: Scripted) -> list[Message]:
    return [event for event in handler.events if isinstance(event, Message)]


def test_a_message_is_posted_once_after_the_commit(tmp_path: Path) -> None:
    """SPEC X-05, `Done.data`: the value under `tell` reaches the named handler, with project and session."""
    scene = Scene(tmp_path, Scripted(finder), Scripted())
    scene.type("s", "one")
    scene.settle()
    (event,) = messages_to(scene.handlers[1])
    assert (event.sender, event.session, event.data) == ("a", "s", {"said": ["one"]})
    assert isinstance(event.project, Project) and event.project.root == scene.root
    scene.settle()
    scene.restart()
    scene.settle()
    assert messages_to(scene.handlers[1]) == []


def test_a_message_of_a_job_is_marked(tmp_path: Path) -> None:
    """A job has no session: `session` is its name, and `tacitd status` must be able to tell the two apart."""

    def find_in_a_job(event: Event) -> Any:
        return Done(data={"tell": {"b": {"x": 1}}}) if isinstance(event, Due) else Done()

    scene = Scene(tmp_path, Scripted(find_in_a_job), Scripted())
    scene.post(Due("look"), only="a")
    scene.settle()
    (event,) = messages_to(scene.handlers[1])
    assert event.by_job and event.session == "look"


def test_an_unhandled_message_is_posted_again_after_a_crash(tmp_path: Path) -> None:
    """DESIGN "Commit": after a crash the message comes again, with the same id."""
    scene = Scene(
        tmp_path,
        Scripted(finder),
        Scripted(lambda event: Later("not now") if isinstance(event, Message) else Done()),
    )
    scene.type("s", "one")
    scene.settle()
    (first,) = messages_to(scene.handlers[1])
    scene.restart(Scripted(finder), Scripted())
    scene.settle()
    (again,) = messages_to(scene.handlers[1])
    assert again.id == first.id and again.data == first.data
    scene.restart()
    scene.settle()
    assert messages_to(scene.handlers[1]) == []


def test_a_receiver_that_fails_parks_only_its_own_work(tmp_path: Path) -> None:
    """DESIGN "Handlers and events": a failing handler does not affect another; every message is handled in the end."""
    moods = iter([True, False, False])

    def hearer(event: Event) -> Any:
        if isinstance(event, Message) and next(moods):
            raise ValueError("in a bad mood")
        return Done()

    scene = Scene(tmp_path, Scripted(finder), Scripted(hearer))
    scene.type("s", "one")
    scene.settle()
    scene.type("s", "two")
    scene.settle()
    assert scene.handlers[0].did == ["one", "two"]
    scene.settle(600)
    found = [event.data["said"] for event in messages_to(scene.handlers[1])]
    assert sorted(found) == [["one"], ["one"], ["two"]]
    assert scene.parked() == []


def test_a_handler_sends_a_plugin_of_the_second_contract_a_message(tmp_path: Path) -> None:
    """`Done.data`, `TaskKind`: what a handler tells such a plugin is a task of it, in the transaction of the commit, handled once."""
    said = []

    def tell(event: Event) -> Any:
        return Done(data={"tell": {"reminders": {"said": "one"}}}) if prompts_of(event) else Done()

    scene = Scene(tmp_path, Scripted(tell), beside=[make_plugin()])
    scene.type("s", "one")
    for _ in range(2):
        scene.settle()
        sql = "SELECT about FROM reminders_event WHERE kind = 'message'"
        said.append([about for (about,) in scene.app.store.rows(sql)])
        scene.restart()
    assert said == [["{'said': 'one'}"]] * 2
