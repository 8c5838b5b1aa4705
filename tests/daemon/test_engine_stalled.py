"""A project's file system that does not answer: the daemon goes on, and says which one it is."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, ids
from tacitd.events import NoProject, Project
from tacitd.methods import build_methods
from tacitd.sources.projects import ProjectFinder
from tacitd.work.task_runner import InlineExecutor


class Threads(InlineExecutor):
    """Runs each task in a thread of its own."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
        threading.Thread(target=fn, args=args, kwargs=kwargs, daemon=True).start()


def test_status_and_other_projects_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Work": a stalled mount stops neither `status`, which answers within a second, nor the words of other projects."""
    free = threading.Event()
    find = ProjectFinder.find_project

    def find_or_hang(finder: ProjectFinder, cwd: str) -> Project | NoProject:
        if "stalled" in cwd:
            free.wait(60)
        return find(finder, cwd)

    monkeypatch.setattr(ProjectFinder, "find_project", find_or_hang)
    scene = Scene(tmp_path, pool=Threads())
    scene.engine._lookup._threads = True
    stalled = scene.project("stalled")
    loop = threading.Thread(target=scene.app.run, args=(lambda: None, 0.05))
    loop.start()
    try:
        scene.type("s1", "typed where the disk hangs", cwd=stalled)
        scene.type("s2", "use pnpm")
        begun = time.monotonic()
        while ids(scene) != ["u2"] and time.monotonic() - begun < 20:
            scene.clock.advance(1.0)
            free.wait(0.02)  # the loop has a real thread here
        assert ids(scene) == ["u2"]
        begun = time.monotonic()
        said: dict[str, Any] = scene.app.read_status()
        assert time.monotonic() - begun < 1.0
        assert "projects.stuck" in {one["id"] for one in said["degraded"]}
        begun = time.monotonic()
        assert build_methods(scene.app)["wake"]({}) and time.monotonic() - begun < 4.0
    finally:
        free.set()
        scene.app.request_stop()
        loop.join()
        for thread in threading.enumerate():
            if thread.name == "project lookup":
                thread.join()  # it reads the store
        scene.app.close()
