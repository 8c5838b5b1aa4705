"""What a person or another program writes into a session's file, and files that are too old (SPEC P-22 to P-26, X-07)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support_continuity import NOW, World
from tacitd.clock import utc_millis
from tacitd_handlers.continuity.handler import AT_ONCE
from tacitd_handlers.continuity.session_document import KEYS, find_fault, find_path

DAY = 86_400.0
EXAMPLE = Path(__file__).parents[2] / "fixtures" / "profile" / "session-abc123.json"


def edit_task(world: World, number: int, **values: Any) -> None:
    """Change a task as a person does who thinks of no time; None removes a key."""
    found = world.file("s1")
    made = found["tasks"][number] | values
    found["tasks"][number] = {key: value for key, value in made.items() if value is not None}
    world.put("s1", found)


def go_on(world: World) -> None:
    """The session goes on, and its file is written."""
    world.type("s1", "on")
    world.settle()


@pytest.fixture
def begun(world: World) -> World:
    """A session with four tasks of both kinds, of which the last one waits for the third."""
    world.type("s1", "go")
    world.todos("s1", ("Design", "in_progress"), ("Build", "pending"))
    for id, title in (("1", "Migrate"), ("2", "Release")):
        world.use("s1", "TaskCreate", {"subject": title}, f"Task #{id} created", data={"task": {"id": id}})
    world.use("s1", "TaskUpdate", {"taskId": "2", "addBlockedBy": ["1"]}, data={"success": True})
    world.settle()
    assert world.file("s1")["tasks"][3]["blockedBy"] == "Migrate"
    return world


def test_what_blocks_a_task_stays(begun: World) -> None:
    """P-23: a reason by hand stays; it goes when the client changes the status."""
    edit_task(begun, 3, blockedBy="the key of Ann")
    edit_task(begun, 1, status="blocked", blockedBy="the weather")
    go_on(begun)
    tasks = begun.file("s1")["tasks"]
    assert [(one["status"], one.get("blockedBy")) for one in tasks[1:]] == [
        ("blocked", "the weather"), ("pending", None), ("blocked", "the key of Ann"),
    ]  # fmt: skip
    begun.todos("s1", ("Design", "completed"), ("Build", "in_progress"))
    begun.settle()
    assert begun.tasks("s1")[1] == ("Build", "in_progress")
    assert "blockedBy" not in begun.file("s1")["tasks"][1]


def test_a_removed_task_stays_removed(begun: World) -> None:
    """X-07: until the client changes it. A task of the person's stays, with any id, and so does its place in `children`."""
    found = begun.file("s1")
    mine = found["tasks"][0] | {"id": "task-77", "title": "Mine"}
    parent = found["tasks"][1] | {"children": ["task-77"]}
    begun.put("s1", found | {"tasks": [parent, *found["tasks"][2:], mine]})
    for _ in range(2):
        go_on(begun)
        begun.restart()
    assert [title for title, _ in begun.tasks("s1")] == ["Build", "Migrate", "Release", "Mine"]
    begun.todos("s1", ("Design", "completed"), ("Build", "pending"))
    begun.settle()
    assert begun.tasks("s1")[0] == ("Design", "completed")
    begun.todos("s1")
    begun.settle()
    assert [title for title, _ in begun.tasks("s1")] == ["Migrate", "Release", "Mine"]


def test_a_summary_that_a_person_wrote_stays(world: World) -> None:
    """P-26: one of a compaction replaces only tacitd's own; `resume` shows both. One that was removed comes back with the next."""
    world.type("s1", "go")
    world.compact("s1", "One.")
    world.settle()
    world.restart()
    world.compact("s1", "Two.")
    world.settle()
    assert world.file("s1")["summary"] == "Two."
    world.put("s1", world.file("s1") | {"summary": "Two. Ask Ann."})
    world.compact("s1", "Three.")
    world.settle()
    assert world.file("s1")["summary"] == "Two. Ask Ann."
    assert world.resume()[1:3] == ["Two. Ask Ann.", "Since then: Three."]
    world.put("s1", {key: value for key, value in world.file("s1").items() if key != "summary"})
    world.compact("s1", "Four.")
    world.settle()
    assert tuple(world.file("s1")) == KEYS and world.file("s1")["summary"] == "Four."


WRONG: list[dict[str, Any]] = [
    {"tasks": None}, {"tasks": [3]}, {"decisions": [None]}, {"context": [{}]}, {"startedAt": "yesterday"}, {"sessionId": 3},
    {"lastActiveAt": "2026-01-01 noon"}, {"decisions": [{"timestamp": "2026-01-01 (noon)", "decision": "d"}]},
    {"tasks": [{"id": "a", "title": "t", "status": "odd", "createdAt": "2026-01-01", "updatedAt": "2026-01-01"}]},
    {"tasks": [{"id": "a", "title": "t", "status": "pending", "createdAt": "2026-01-01", "updatedAt": "2026-01-01"}] * 2},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_is_no_session_is_not_written(world: World, wrong: dict[str, Any]) -> None:
    """P-22: ids are unique, times are ISO 8601, lists are lists. The place is named."""
    assert find_fault(json.loads(EXAMPLE.read_text())) == ""
    document = json.loads(EXAMPLE.read_text()) | wrong
    assert find_fault(document).startswith(next(iter(wrong)))
    path = world.put("s1", document)
    before = path.read_bytes()
    world.type("s1", "go")
    world.settle()
    assert path.read_bytes() == before and len(world.parked) == 1


def test_a_file_that_cannot_be_written_stops_no_other(world: World) -> None:
    """P-22: what changed in the sessions of a project is written by one task. It goes on beside a file that is no session."""
    world.put("s1", {"tasks": None})
    for session in ("s1", "s2", "s3"):
        world.type(session, "go")
    world.settle()
    assert [world.file(session)["sessionId"] for session in ("s2", "s3")] == ["s2", "s3"]
    assert world.file("s1") == {"tasks": None} and len(world.parked) == 1
    find_path("s1").unlink()
    world.type("s1", "on")
    world.settle()
    assert world.file("s1")["sessionId"] == "s1" and not world.parked


def test_a_file_that_is_open_in_an_editor_stops_no_other(world: World) -> None:
    """X-08: its change waits; the other sessions of the project are written meanwhile, and it follows when the editor is closed."""
    for session in ("s1", "s2"):
        world.type(session, "go")
    world.settle()
    mark = find_path("s1").with_name(f".{find_path('s1').name}.swp")
    for title in ("Design", "Build"):
        mark.touch()
        os.utime(mark, (world.clock.now(), world.clock.now()))
        for session in ("s1", "s2"):
            world.todos(session, (title, "in_progress"))
        world.settle()
    assert world.tasks("s1") == [] and world.tasks("s2") == [("Build", "in_progress")]
    mark.unlink()
    for _ in range(5):
        world.settle()
    assert world.tasks("s1") == [("Build", "in_progress")]


def test_many_sessions_of_a_project_are_written(world: World) -> None:
    """RELIABILITY row 5: more than one task writes at once."""
    sessions = [f"s{number}" for number in range(2 * AT_ONCE + 1)]
    for session in sessions:
        world.type(session, "go")
    world.settle()
    assert [world.file(session)["sessionId"] for session in sessions] == sessions


def test_what_was_forgotten_is_blanked(world: World) -> None:
    """`forget --purge`: also in the file, and in what is stored of the session."""
    world.type("s1", "call it Rumpelstiltskin, please")
    world.todos("s1", ("Rename it to Rumpelstiltskin", "pending"))
    world.settle()
    world.run("note", "Rumpelstiltskin is the name")
    done = world.bench.purge("x", ["Rumpelstiltskin"])
    assert [one.text for one in done.notices] == [str(find_path("s1"))]
    assert "Rumpel" not in find_path("s1").read_text()


# --- old files


@pytest.mark.parametrize(("age", "stays"), [(30.0, True), (30.001, False), (10.0, True)])
def test_old_sessions_go(world: World, age: float, stays: bool) -> None:
    """P-24: sessions last active more than 30 days ago are removed; exactly 30 stays; unreadable files stay."""
    world.type("now", "go")
    world.settle()
    stamp = utc_millis(world.clock.now() - age * DAY)
    world.put("s1", world.file("now") | {"sessionId": "s1", "lastActiveAt": stamp, "startedAt": stamp})
    far = "2100-01-01T00:00:00.000Z"
    world.put("far", world.file("now") | {"sessionId": "far", "startedAt": far, "lastActiveAt": far})
    other = world.put("broken", "{")
    world.bench.run_job("sessions")
    assert bool(world.file("s1")) is stays
    assert other.exists() and world.file("now") and world.file("far")
    assert "broken" in world.bench.degraded[0]


def test_nothing_is_left_of_an_old_session(world: World) -> None:
    """P-24: its rows go with its file."""
    world.type("s1", "go")
    world.settle()
    world.clock.advance(31 * DAY)
    world.type("s2", "go")
    world.settle()
    world.bench.run_job("sessions")
    assert not find_path("s1").exists() and world.file("s2")
    for table, column in (
        ("continuity_session", "id"),
        ("continuity_turn", "session"),
        ("shared_file", "path"),
    ):
        assert [Path(one).stem[-2:] for (one,) in world.bench.rows(f"SELECT {column} FROM {table}")] == ["s2"]


@pytest.mark.parametrize("jump", [-NOW, 80 * 365 * DAY])
def test_a_clock_that_is_not_believed_removes_nothing(world: World, jump: float) -> None:
    """A clock in 1970 or 2100; also a backup that nothing touched for 400 days waits for a session of today."""
    world.type("s1", "go")
    world.settle()
    world.clock.jump(jump)
    world.bench.run_job("sessions")
    assert world.file("s1")
    assert "clock" in world.bench.degraded[0]
