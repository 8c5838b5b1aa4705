"""The loop: which session works where, as its transcript says by and by."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_beginnings import PRINTED, SHAPES, beginning
from support_engine import Paying, Scene, Scripted, ids
from tacitd.contract import Done, Later, Outcome, Task
from tacitd.events import Project
from tacitd.sources.transcript import LOOK_BEHIND
from tacitd.work.stored_problems import LIMIT


def starts(scene: Scene) -> list[Path | None]:
    """The roots of the projects in which sessions were announced; None: in none."""
    tasks = scene.handler.list_tasks("session-started")
    return [task.project.root if isinstance(task.project, Project) else None for task in tasks]


def watched(scene: Scene) -> list[str]:
    """The projects that `status` names."""
    return list(scene.app.read_status()["watching"]["projects"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("apart", [True, False])
def test_a_session_is_announced_where_it_works(tmp_path: Path, shape: str, apart: bool) -> None:
    """CLAUDE_CODE 5: the first records name no directory, and may be written long before the first prompt."""
    scene = Scene(tmp_path, begins=shape)
    scene.begin("s")
    if apart:
        scene.settle()
        assert starts(scene) == [] and watched(scene) == []
    scene.type("s", "use pnpm")
    scene.settle()
    scene.type("s", "and ruff")
    scene.settle()
    assert starts(scene) == [scene.root] and watched(scene) == [str(scene.root)]
    assert ids(scene) == ["u1", "u2"]


@pytest.mark.parametrize("shape", PRINTED)
def test_a_session_that_begins_with_its_queue_is_announced_where_it_works(tmp_path: Path, shape: str) -> None:
    """The prompt of `claude -p` is in the queue before any record names a directory; it is said once, and there."""
    scene = Scene(tmp_path)
    for record in beginning("s", shape, scene._stamp(0), "use pnpm"):
        path = scene.path("s")
        path.touch()
        scene.begins = "1.0.128"
        scene.append("s", record, path=path)
        scene.settle()
    scene.type("s", "use pnpm")
    scene.settle()
    assert starts(scene) == [scene.root] and watched(scene) == [str(scene.root)]
    assert scene.handler.words == [["use pnpm"]]


def test_a_session_that_goes_elsewhere_is_announced_there(tmp_path: Path) -> None:
    """The directory of a session may change: each project is announced once, a folder of the same project never."""
    scene = Scene(tmp_path)
    other, inside = scene.project("other"), scene.root / "src"
    inside.mkdir()
    for cwd in (scene.root, inside, other, other, scene.root):
        scene.append("s", scene.said("s", "There.", cwd=cwd))
        scene.settle()
    assert starts(scene) == [scene.root, other, scene.root]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_growth_breaker_counts_where_a_session_works(tmp_path: Path, shape: str) -> None:
    """RELIABILITY 16: a loop in one directory is stopped, however its sessions begin; another directory is open."""
    scene = Scene(tmp_path, Paying(), begins=shape)
    other = scene.project("other")
    for i in range(LIMIT + 4):
        scene.begin(f"s{i}")
        scene.settle(1)
        scene.type(f"s{i}", f"words {i}")
        scene.settle(1)
    assert len(ids(scene)) == LIMIT
    (problem,) = [one for one in scene.app.list_degradations() if one.id == "breaker.closed"]
    assert str(scene.root) in problem.what
    scene.type("mine", "words of a person", cwd=other)
    scene.settle()
    assert ids(scene)[-1] == f"u{LIMIT + 5}"


def test_words_without_a_directory_of_their_own_belong_where_the_session_worked(tmp_path: Path) -> None:
    """CLAUDE_CODE 5.3: the queue names none. After a restart the record that did may lie too far back to be read."""
    scene = Scene(tmp_path, Scripted())
    scene.type("s", "one")
    scene.append("s", *(scene.title("s") | {"aiTitle": "x" * 1000} for _ in range(LOOK_BEHIND // 1000)))
    scene.settle()
    scene.restart()
    scene.append("s", scene.queued("s", "two"), scene.title("s") | {"version": "2.1.20"})
    scene.append("s", scene.queued("s", "", "remove"))
    scene.settle()
    (task,) = scene.handler.list_tasks("prompts")
    assert scene.handler.words == [["two"]] and task.project == Project(scene.root, True)


def begun(scene: Scene) -> list[str]:
    """The sessions whose starts were offered."""
    return [task.session for task in scene.handler.list_tasks("session-started")]


def test_starts_that_wait_together_are_offered_as_one_and_before_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands begin together when transcripts are caught up, and what a handler does then is about the project: it must be
    done before a prompt of the session is put to the model."""
    monkeypatch.setattr(
        "tacitd.work.reader.PASS_SECONDS", 60.0
    )  # one pass reads all of them, however slow the machine is
    scene = Scene(tmp_path)
    other = scene.project("other")
    for number in range(9):
        scene.type(f"s{number}", "words", cwd=other if number == 5 else None)
    scene.settle()
    assert sorted(starts(scene), key=str) == [scene.root, other]
    app = Project(scene.root, git=True)
    kinds = [task.kind for task in scene.handler.tasks if task.project == app]
    assert kinds == ["session-started"] + ["prompts"] * 8
    scene.type("s9", "later")
    scene.settle(0)
    assert begun(scene)[2:] == ["s9"] and scene.handler.tasks[-2].kind == "session-started"


def test_a_start_that_failed_is_tried_again_by_the_next_session_of_the_project(tmp_path: Path) -> None:
    """It may have failed for hours, because of a disk that is full, and what it does comes before the session's prompts."""
    fails = [True]

    def answer(task: Task) -> Outcome:
        return Later("disk full") if fails[0] and task.kind == "session-started" else Done()

    scene = Scene(tmp_path, Scripted(answer))
    scene.type("s0", "words")
    for _ in range(6):
        scene.settle(3000)
    fails[0] = False
    before = len(begun(scene))
    scene.type("s1", "words")
    scene.settle(0)
    assert begun(scene)[before:] == ["s1"] and scene.handler.tasks[-2].kind == "session-started"
    assert scene.parked() == []
