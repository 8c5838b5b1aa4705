"""Where a record belongs, asked in threads."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from support_beginnings import opening
from support_daemon import line, prompt_record
from support_waiting import PATIENCE, until
from tacitd.app import App
from tacitd.errors import StoreLostError
from tacitd.events import Project
from tacitd.files.stalls import Stalls
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import FakeClock, ScriptedModel
from tacitd.work.project_lookup import FRESH, Place, ProjectLookup


def test_a_store_that_is_lost_during_a_question_makes_no_directory_stuck() -> None:
    """RELIABILITY 20b: only a mount that stalls does. It is asked again, and what is not known now is not what was known before."""
    place, clock = Project(Path("/w"), False), FakeClock()
    answers: list[Project | StoreLostError] = [place, StoreLostError("the store is damaged", ""), place]

    def find(cwd: str) -> Project:
        answer = answers.pop(0)
        if isinstance(answer, StoreLostError):
            raise answer
        return answer

    stalls = Stalls(clock)
    lookup = ProjectLookup(find, clock, stalls)
    for known in (place, None, place):
        clock.advance(FRESH)
        assert lookup.find_project("/w") == known
        clock.advance(FRESH)
        assert stalls.list_stuck() == []


def test_a_disk_that_does_not_answer_makes_no_session_of_a_project_another_ones() -> None:
    """A live session holds up the lines of its own project: also while its disk is busy, and those of no other."""
    answers, project = threading.Event(), Project(Path("/w"), False)

    def find(cwd: str) -> Project:
        answers.wait(PATIENCE)
        return project

    clock = FakeClock()
    lookup = ProjectLookup(find, clock, Stalls(clock))
    asked = ("/w/folder", "/w", "/w2", "/other")
    assert [lookup.is_in(cwd, project) for cwd in asked] == [True, True, False, False]
    answers.set()
    clock.advance(FRESH)
    until(lambda: lookup.is_in("/other", project))


def test_a_sync_waits_for_a_disk_that_is_only_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 1: on a loaded machine it answered "done" before the prompts of a project were read, up to a minute later."""
    find, asked = ProjectFinder.find_project, list[str]()

    def find_late(self: ProjectFinder, cwd: str) -> Place:
        asked.append(cwd)
        if len(asked) < 3:
            time.sleep(0.5)
        return find(self, cwd)

    monkeypatch.setattr(ProjectFinder, "find_project", find_late)
    environ, place = {"HOME": str(tmp_path)}, tmp_path / "work"
    (place / ".git").mkdir(parents=True)
    path = tmp_path / ".claude/projects/-p/s.jsonl"
    path.parent.mkdir(parents=True)
    model = ScriptedModel()
    with App(Paths.from_env(environ), environ, model=lambda *_: model, watcher_for=SilentWatcher) as app:
        thread = threading.Thread(target=app.run)
        thread.start()
        try:
            path.write_bytes(opening("s") + line(prompt_record("s", "use pnpm", str(place))))
            app.engine.sync(PATIENCE)
            assert app.store.rows("SELECT state FROM prompt_task WHERE plugin = 'learning'") == [("done",)]
        finally:
            app.request_stop()
            thread.join()
    assert asked
