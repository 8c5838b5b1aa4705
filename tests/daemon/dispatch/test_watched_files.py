"""Files that handlers name as sources of their own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacitd.dispatch.watched_files import WatchedFiles
from tacitd.events import NoProject, Project, SourceChanged


class Naming:
    """A handler that names these files."""

    def __init__(self, *files: Path) -> None:
        self.files = list(files)

    def sources(self, project: Project) -> list[Path]:
        if not self.files:
            raise OSError("broken")
        return self.files


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, False)


def watch(project: Project, handler: Naming) -> WatchedFiles:
    consumer = SimpleNamespace(name="toy", handler=handler)
    made = WatchedFiles(cast(Any, {"toy": consumer}))
    made.watch_project(project)
    made.watch_project(None)
    made.watch_project(NoProject("/", "it is the root"))
    return made


def changes(watched: WatchedFiles) -> list[Path]:
    found = list(watched.poll_changes())
    assert all(name == "toy" and isinstance(event, SourceChanged) for name, event in found)
    return [event.path for _, event in found]


def test_changed_created_and_removed_files_are_found(project: Project) -> None:
    """Each change is reported once."""
    one = project.root / "one"
    watched = watch(project, Naming(one))
    assert changes(watched) == []
    one.write_text("a")
    assert changes(watched) == [one] and changes(watched) == []
    one.unlink()
    assert changes(watched) == [one]


def test_files_that_are_named_later_are_watched_too(project: Project) -> None:
    """A handler's files may change while it works: a new module, a new work tree. A new one counts as changed, because it may
    have been edited since the handler wrote it."""
    one, two = project.root / "one", project.root / "two"
    handler = Naming(one)
    watched = watch(project, handler)
    handler.files.append(two)
    assert changes(watched) == [two] and changes(watched) == []
    two.write_text("a")
    assert changes(watched) == [two]
    handler.files.remove(two)
    two.write_text("abc")
    assert changes(watched) == []


def test_a_handler_that_fails_keeps_its_files(project: Project) -> None:
    """Its known files are compared as before."""
    one = project.root / "one"
    handler = Naming(one)
    watched = watch(project, handler)
    handler.files.clear()
    one.write_text("a")
    assert changes(watched) == [one]
