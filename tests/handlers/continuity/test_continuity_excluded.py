"""Sessions that pass through an excluded directory: what is said there is neither stored nor sent to the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_continuity import World
from tacitd.sources.transcript import LOOK_BEHIND
from tacitd_handlers.continuity.session_progress import as_data


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """With a project that is excluded."""
    made = World(tmp_path)
    made.kill()
    made.settings["TACITD_PROJECTS__EXCLUDE"] = str(made.git("private"))
    made.start()
    yield made
    made.kill()


def talk(world: World, project: str, words: str, *, together: bool, prompts: int = 5) -> None:
    """Work with these words in a project, and let them be handled at once unless all is handled together."""
    world.project = world.git(project)
    for number in range(prompts):
        world.type("s1", f"{words} {number}")
        world.say("s1", f"I do {words} {number}.")
    world.use(
        "s1", "Edit", {"file_path": str(world.project / f"{words}.py"), "old_string": "a", "new_string": "b"}
    )
    world.say("s1", f"I did {words}.")
    if not together:
        world.settle()


def list_stored(world: World) -> str:
    """What is stored of the session: its file, and what is known of its end."""
    state = world.store.load_progress("s1")
    return json.dumps([world.file("s1"), as_data(state) if state is not None else None])


@pytest.mark.parametrize("together", [False, True])
def test_a_session_that_began_in_an_excluded_directory_has_nothing_of_it(
    world: World, together: bool
) -> None:
    """What came before its first prompt in a project is read then, and what the client said last comes with that prompt."""
    talk(world, "private", "hidden words", together=together)
    talk(world, "app", "open words", together=together, prompts=1)
    world.settle()
    assert "open words" in list_stored(world) and "hidden" not in list_stored(world)
    talk(world, "app", "later words", together=together)
    world.end()
    (ask,) = world.model.asked
    assert "open words" in ask.prompt and "later words" in ask.prompt
    assert "hidden" not in list_stored(world) + ask.prompt


@pytest.mark.parametrize("together", [False, True])
def test_a_session_that_went_to_an_excluded_directory_and_back_has_nothing_of_it(
    world: World, together: bool
) -> None:
    """The summary is of a range of the transcript, in which the other directory is."""
    talk(world, "app", "open words", together=together)
    talk(world, "private", "hidden words", together=together)
    talk(world, "app", "later words", together=together)
    world.end()
    assert "later words" in list_stored(world)
    (ask,) = world.model.asked
    assert "open words" in ask.prompt and "later words" in ask.prompt
    assert "hidden" not in list_stored(world) + ask.prompt


def test_words_without_a_directory_of_their_own_belong_where_the_session_worked(world: World) -> None:
    """The client's queue names none, and after a restart the record that did may lie too far back to be read."""
    talk(world, "private", "hidden words", together=False)
    title = {"type": "ai-title", "sessionId": "s1", "aiTitle": "x" * 1000}
    world.append("s1", *[title] * (LOOK_BEHIND // 1000))
    world.settle()
    world.restart()
    queued = {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1", "content": "hidden too"}
    stamp = world.record("user", "s1", "")["timestamp"]
    world.append("s1", queued | {"timestamp": stamp}, {**queued, "operation": "remove", "timestamp": stamp})
    world.settle()
    assert world.file("s1") == {} and world.store.load_progress("s1") is None
