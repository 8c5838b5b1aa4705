"""What is offered to which handler, when, and what follows from the outcome."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support_engine import Scene, Scripted, busy, done, gathered, grew, prompts_of
from tacitd.events import Due, NoProject, TranscriptGrew
from tacitd.handler import Gather, Job, Later, Plugin

# gathering


def test_prompts_are_gathered_until_nothing_is_typed(tmp_path: Path) -> None:
    """SPEC S-01: a new prompt prolongs the wait; other records do not, and no worker is started meanwhile."""
    scene = Scene(tmp_path, gathered(600.0))
    scene.type("s", "one")
    scene.settle()
    scene.settle(100)
    scene.append("s", scene.said("s", "Done!"), scene.title("s"))
    scene.settle(10)
    scene.type("s", "two")
    scene.settle(597)
    assert scene.handler.words == [] and scene.app.read_status()["handlers"]["a"]["gathering"] == 1
    scene.settle(3)
    assert scene.handler.words == [["one", "two"]] and scene.handler.did == ["u1", "u3"]
    assert scene.app.read_status()["handlers"]["a"]["gathering"] == 0


def test_records_are_gathered_until_the_first_is_old(tmp_path: Path) -> None:
    """`Gather.delay`: further records do not prolong the wait, so a busy session is not put off for ever."""
    scene = Scene(tmp_path, Scripted(gather=Gather(delay=20.0)))
    for number in range(30):
        scene.append("s", scene.said("s", f"step {number}"))
        scene.settle(1)
    grown = [event for event in scene.handler.events if isinstance(event, TranscriptGrew)]
    assert len(grown) == 1 and len(grown[0].records) == 20


def test_a_full_batch_is_offered_at_once(tmp_path: Path) -> None:
    """SPEC S-01: the limit of prompts; shell commands do not count. The next prompts are gathered anew."""
    scene = Scene(tmp_path, Scripted(gather=Gather(quiet=600.0, prompts=3)))
    scene.type("s", "one", "two")
    scene.settle()
    assert scene.handler.words == []
    scene.type("s", "three")
    scene.settle()
    scene.type("s", "four")
    scene.settle()
    assert scene.handler.words == [["one", "two", "three"]]


def test_an_excluded_project_is_excluded_also_when_it_is_gone(tmp_path: Path) -> None:
    """`tacitd exclude` names a project, which cannot be found any more: nothing of it may be stored or sent nevertheless."""
    scene = Scene(tmp_path)
    excluded, other = scene.project("excluded"), scene.project("other")
    scene.app.write_modes.set_mode(excluded, "off")
    for number, (place, cwd) in enumerate(
        ((excluded, excluded / "src"), (excluded, excluded), (other, other))
    ):
        shutil.rmtree(place, ignore_errors=True)
        scene.type(f"s{number}", "one", cwd=cwd)
        scene.settle()
        (project,) = [
            event.project
            for event in scene.handler.events
            if isinstance(event, TranscriptGrew) and event.session == f"s{number}"
        ]
        assert isinstance(project, NoProject) and project.cwd == str(cwd)
        assert (project.excluded, project.gone) == (place is excluded, place is other)


def test_excluded_projects_and_other_directories_are_not_gathered(tmp_path: Path) -> None:
    """DESIGN "Priorities" 3: `status` counts prompts as skipped at once where nothing may be written."""
    scene = Scene(tmp_path, gathered())
    excluded = scene.project("excluded")
    scene.app.write_modes.set_mode(excluded, "off")
    scene.type("s", "one", cwd=excluded)
    scene.type("t", "two", cwd=tmp_path / "gone")
    scene.settle()
    assert sorted(scene.handler.words) == [["one"], ["two"]]


def test_the_part_of_a_failed_batch_is_not_gathered_again(tmp_path: Path) -> None:
    """A batch that fails is halved; its halves are as old as it was, whatever is typed meanwhile."""
    fails = Later("no use", blame="work")
    scene = Scene(tmp_path, grew(lambda event: fails if len(prompts_of(event)) > 1 else done(event)))
    scene.handler.gather = Gather(quiet=600.0, prompts=2)
    scene.restart()
    scene.type("s", "one", "two")
    scene.settle()
    for _ in range(2):
        scene.settle(130)
    assert scene.handler.did == ["u1", "u2"]


def test_a_changed_setting_counts_for_the_next_prompt(tmp_path: Path) -> None:
    """`Plugin.gather` as a hook: it gets the plugin's sections each time, so `tacitd reload` needs no restart."""
    plugin = Plugin("toy", Scripted, gather=f"{__name__}:choose_gather")
    assert plugin.find_gather({"quiet": 5.0}) == Gather(quiet=5.0)
    assert Plugin("toy", Scripted).find_gather({}) is None


def choose_gather(settings: Mapping[str, Any]) -> Gather:
    return Gather(quiet=settings["quiet"])


def test_sync_makes_gathered_work_due(tmp_path: Path) -> None:
    """Issue "Command line": `sync` makes gathered work due, and answers when it is handled."""
    scene = Scene(tmp_path, gathered())
    scene.type("s", "one")
    scene.settle()
    assert scene.handler.did == [] and scene.sync().done() and scene.handler.did == ["u1"]


def test_sync_makes_unread_transcripts_due(tmp_path: Path) -> None:
    """DESIGN "Control": every byte that existed at the call, also of a transcript that was not noticed yet."""
    scene = Scene(tmp_path, gathered())
    for i in range(30):
        scene.type(f"s{i}", f"words {i}")
    assert scene.sync().done() and len(scene.handler.did) == 30


def test_sync_does_not_wait_for_an_editor(tmp_path: Path) -> None:
    """DESIGN "Control": `sync` does not hang, and offers the batch only once more."""
    scene = Scene(tmp_path, grew(lambda event: busy(600.0)))
    scene.type("s", "one")
    scene.settle()
    assert scene.sync().done() and len(scene.handler.events) == 3  # the start, and the batch twice


# waiting for something outside


def test_later_is_retried_with_growing_delays(tmp_path: Path) -> None:
    """Issue "Dispatch": parked work is visible, is retried with growing delays, and continues without a command."""
    answers: list[Any] = [Later("no model", "install it")] * 3
    scene = Scene(tmp_path, grew(lambda event: answers.pop() if answers else done(event)))
    scene.type("s", "one")
    scene.settle()
    assert scene.parked() == ["no model"]
    tries = [len(scene.handler.words)]
    for seconds in (28, 3, 117, 4, 476, 5):
        scene.settle(seconds)
        tries.append(len(scene.handler.words))
    assert tries == [1, 1, 2, 2, 3, 3, 4] and scene.handler.did == ["u1"] and scene.parked() == []


def test_growth_does_not_wake_parked_work(tmp_path: Path) -> None:
    """RELIABILITY row 16: further prompts must not cause a call each."""
    scene = Scene(tmp_path, grew(lambda event: Later("limit", not_before=scene.clock.wall + 3600)))
    for i in range(5):
        scene.type("s", f"words {i}")
        scene.settle(5)
    assert len(scene.handler.words) == 1
    assert scene.sync().done() and len(scene.handler.words) == 1, (
        "sync does not overrule the time in a reason"
    )
    scene.settle(3600)
    assert [len(words) for words in scene.handler.words] == [1, 5]


def test_a_named_time_follows_the_clock(tmp_path: Path) -> None:
    """RELIABILITY row 12: if the clock is set forward, the work is due at its time; if it is set back, at once."""
    scene = Scene(tmp_path, grew(lambda event: Later("limit", not_before=scene.clock.wall + 3600)))
    scene.type("s", "one")
    scene.settle()
    scene.clock.jump(1800)
    scene.settle(1)
    assert len(scene.handler.words) == 1
    scene.clock.jump(1800)
    scene.settle(1)
    assert len(scene.handler.words) == 2
    scene.clock.jump(-86400)
    scene.settle(1)
    scene.settle(1)
    assert len(scene.handler.words) == 3


def test_work_that_is_asked_for_after_a_sleep_is_done_at_once(tmp_path: Path) -> None:
    """RELIABILITY row 12: the clock went on while the machine slept, and work is queued before the loop notices that."""
    scene = Scene(tmp_path, Scripted())
    scene.settle()
    scene.clock.jump(8 * 3600)
    scene.post(Due("synthesize"))
    scene.settle(0)
    assert [event.job for event in scene.handler.events if isinstance(event, Due)] == ["synthesize"]


def test_sync_retries_once_work_without_a_time(tmp_path: Path) -> None:
    """Issue "Command line": handled or parked, and `sync` says what is parked."""
    scene = Scene(tmp_path, grew(lambda event: Later("no model")))
    scene.type("s", "one")
    scene.settle()
    assert scene.sync().done() and len(scene.handler.words) == 2 and scene.parked() == ["no model"]


# jobs and posts


def test_a_parked_job_is_not_retried_twice(tmp_path: Path) -> None:
    """The newer event is retried; the outcome of the older one is dropped."""
    scene = Scene(tmp_path, Scripted(lambda event: Later("no model")), jobs=[Job("j")], held=True)
    scene.post(Due("j"))
    scene.settle(0)
    scene.post(Due("j"))
    scene.settle(0)
    scene.work()
    scene.settle(0)
    scene.work()
    scene.settle(0)
    assert scene.parked() == ["no model"]
    scene.settle(31)
    assert len(scene.pool.works) == 1


# stopping
