"""What a person writes into a session's file stays: tasks, notes, the summary (SPEC P-22 to P-26, X-07)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from support_continuity import World
from tacitd.clock import utc_millis
from tacitd_handlers.continuity.resume_text import build_resume_text
from tacitd_handlers.continuity.store import SessionStore


def resume(world: World, session: str = "s1") -> list[str]:
    state = world.store.load_progress(session)
    return build_resume_text([world.file(session)], world.clock.now(), state=state).splitlines()


def edit_task(world: World, number: int, **values: Any) -> None:
    """Change a task as a person does who thinks of no time; None removes a key."""
    found = world.file("s1")
    made = found["tasks"][number] | values
    found["tasks"][number] = {key: value for key, value in made.items() if value is not None}
    world.put("s1", found)


def go_on(world: World, text: str = "on") -> None:
    world.say("s1", text)
    world.settle()


@pytest.fixture
def begun(world: World) -> World:
    world.type("s1", "go")
    world.todos("s1", ("Design", "in_progress"), ("Build", "pending"))
    for id, title in (("1", "Migrate"), ("2", "Release")):
        world.use("s1", "TaskCreate", {"subject": title}, f"Task #{id} created", data={"task": {"id": id}})
    world.use("s1", "TaskUpdate", {"taskId": "2", "addBlockedBy": ["1"]}, data={"success": True})
    world.settle()
    assert world.file("s1")["tasks"][3]["blockedBy"] == "Migrate"
    return world


def test_a_status_stays_until_the_client_changes_it(begun: World) -> None:
    """X-07: the next record of the transcript undid a status that a person set; the title of the same task goes on."""
    edit_task(begun, 0, status="completed")
    for _ in range(2):
        go_on(begun)
        begun.restart()
    assert begun.tasks("s1")[0] == ("Design", "completed")
    # The client says the same of Design.
    begun.todos("s1", ("Design", "in_progress"), ("Build", "in_progress"))
    begun.settle()
    assert begun.tasks("s1")[:2] == [("Design", "completed"), ("Build", "in_progress")]
    begun.todos("s1", ("Design", "pending"), ("Build", "in_progress"))
    begun.settle()
    assert begun.tasks("s1")[0] == ("Design", "pending")


def test_a_title_and_a_status_in_one_save_both_stay(begun: World) -> None:
    """X-07: also with notes and a key of the person's own; each goes its own way when the client changes one of them."""
    edit_task(begun, 2, title="Migrate the users", status="in_progress", notes="ask Ann", label="urgent")
    go_on(begun)
    kept = begun.file("s1")["tasks"][2]
    assert (kept["title"], kept["status"], kept["notes"], kept["label"]) == (
        "Migrate the users", "in_progress", "ask Ann", "urgent",
    )  # fmt: skip
    begun.use("s1", "TaskUpdate", {"taskId": "1", "status": "completed"}, data={"success": True})
    begun.settle()
    assert begun.tasks("s1")[2] == ("Migrate the users", "completed")
    begun.use("s1", "TaskUpdate", {"taskId": "1", "subject": "Migrate all"}, data={"success": True})
    begun.settle()
    assert begun.tasks("s1")[2] == ("Migrate all", "completed")
    assert begun.file("s1")["tasks"][2]["label"] == "urgent"


def test_what_blocks_a_task_stays(begun: World) -> None:
    """P-23: a reason by hand stays; it goes when the client changes the status."""
    edit_task(begun, 3, blockedBy="the key of Ann")
    edit_task(begun, 1, status="blocked", blockedBy="the weather")
    go_on(begun)
    tasks = begun.file("s1")["tasks"]
    assert [(one["status"], one.get("blockedBy")) for one in tasks[1:]] == [
        ("blocked", "the weather"), ("pending", None), ("blocked", "the key of Ann"),
    ]  # fmt: skip
    edit_task(begun, 3, status="pending", blockedBy=None)
    go_on(begun)
    assert begun.tasks("s1")[3] == ("Release", "pending")
    begun.todos("s1", ("Design", "completed"), ("Build", "in_progress"))
    begun.settle()
    assert begun.tasks("s1")[1] == ("Build", "in_progress")
    assert "blockedBy" not in begun.file("s1")["tasks"][1]


def test_a_removed_task_stays_removed(begun: World) -> None:
    """X-07: until the client changes it. A task with one of the client's ids that a person put in stays too."""
    found = begun.file("s1")
    mine = found["tasks"][0] | {"id": "task-77", "title": "Mine"}
    begun.put("s1", found | {"tasks": [*found["tasks"][1:], mine]})
    for _ in range(2):
        go_on(begun)
        begun.restart()
    assert [title for title, _ in begun.tasks("s1")] == ["Build", "Migrate", "Release", "Mine"]
    begun.todos("s1", ("Design", "completed"), ("Build", "pending"))
    begun.settle()
    assert begun.tasks("s1")[0] == ("Design", "completed")


def test_a_command_on_a_task_stays(begun: World) -> None:
    """X-07: `sessions task` sets the time too; what the client did before it, and was read after it, does not undo it."""
    begun.use("s1", "TaskUpdate", {"taskId": "1", "status": "in_progress"}, data={"success": True})
    begun.clock.advance(60)
    edit_task(begun, 2, status="completed", updatedAt=utc_millis(begun.clock.wall))
    begun.settle()
    assert begun.tasks("s1")[2] == ("Migrate", "completed")


def test_a_crash_makes_no_task_a_persons(begun: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-07: what a crash left in the file is tacitd's."""
    save = SessionStore.save_progress
    saves = [0]

    def ends_after_the_first(store: SessionStore, now: Any, **how: bool) -> None:
        saves[0] += 1
        if saves[0] > 1:  # the file of the session is written
            raise OSError(5, "killed")
        save(store, now, **how)

    begun.todos("s1", ("Design", "completed"), ("Build", "pending"))
    with monkeypatch.context() as patched:
        patched.setattr(SessionStore, "save_progress", ends_after_the_first)
        begun.settle()
    assert begun.tasks("s1")[0] == ("Design", "completed")
    begun.restart()
    begun.todos("s1", ("Design", "in_progress"), ("Build", "pending"))
    begun.settle(600)
    assert begun.tasks("s1")[0] == ("Design", "in_progress")


def is_unwritten(crashes: Sequence[str]) -> bool:
    """Whether a change of the client may be in no file after these crashes in a row: what was not noted as written is written
    again first."""
    return "before" in crashes or sum(bool(crash) for crash in crashes) > 1


@pytest.mark.parametrize("seed", range(24))
def test_the_last_who_changed_a_field_has_it(
    world: World, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-07: for any order of the client's calls, a person's edits and crashes before and after the file is written, each field
    has the value of whoever changed it last. Where a crash kept a change of the client from being written, a person's edit of the
    same field may stay."""
    random = Random(seed)
    world.type("s1", "go")
    for id in "123":
        world.use(
            "s1",
            "TaskCreate",
            {"subject": f"t{id}"},
            f"Task #{id} created",
            data={"task": {"id": id}},
        )
    world.settle()
    theirs = [{"title": f"t{id}", "status": "pending"} for id in "123"]  # the client's values
    allowed = [{name: {value} for name, value in one.items()} for one in theirs]
    edited, crash, crashes = set[tuple[int, str]](), "", list[str]()
    number, field = 0, "title"
    save, change = SessionStore.save_progress, SessionStore.change_session

    def save_or_end(store: SessionStore, now: Any, **how: bool) -> None:
        if crash == "after" and now.written == now.as_written(now.written.beside):
            raise OSError(5, "killed")
        save(store, now, **how)

    def change_or_end(store: SessionStore, *given: Any) -> bool:
        if crash == "before":
            raise OSError(5, "killed")
        return change(store, *given)

    monkeypatch.setattr(SessionStore, "save_progress", save_or_end)
    monkeypatch.setattr(SessionStore, "change_session", change_or_end)
    for step in range(14):
        is_edit = random.random() < 0.4
        if random.random() < 0.5:  # otherwise the same field again
            number, field = random.randrange(3), random.choice(["title", "status"])
        statuses = ["blocked"] if is_edit else ["pending", "in_progress", "completed"]
        value = f"v{step}" if field == "title" else random.choice(statuses)
        crashes = [*(crashes if crash else []), crash]
        crash = random.choice(["", "", "before", "after"]) if step < 13 else ""
        if is_edit:
            edited.add((number, field))
            edit_task(world, number, **{field: value})
        else:
            given = {"taskId": str(number + 1), "subject" if field == "title" else "status": value}
            world.use("s1", "TaskUpdate", given, data={"success": True})
        if is_edit or theirs[number][field] != value:  # a call that says the same changes nothing
            is_open = is_unwritten([*crashes, crash]) and (number, field) in edited
            allowed[number][field] = {value, *(allowed[number][field] if is_open else ())}
        if not is_edit:
            theirs[number][field] = value
        world.settle(3600)
        if crash:
            world.restart()
            continue
        for task, values in zip(world.file("s1")["tasks"], allowed, strict=True):
            assert all(task[name] in values[name] for name in values)
            values |= {name: {task[name]} for name in values}


# --- notes -----------------------------------------------------------------------------------------------------------


def test_a_persons_notes_stay_whatever_they_begin_with(world: World) -> None:
    """P-26: they stay in the file as the session goes on, and `resume` shows them as notes."""
    mine = [
        "Branch: cut from main on Monday",
        "Last prompt: go, which was too short",
        "Summary since then: none",
    ]
    world.append("s1", world.record("user", "s1", "go", gitBranch="fix/login"))
    world.say("s1", "Old.")
    world.settle()
    world.put("s1", world.file("s1") | {"context": mine})
    go_on(world, "New.")
    assert world.file("s1")["context"] == mine
    lines = resume(world)
    assert lines[0].endswith("on branch fix/login)")
    assert lines[1:] == [
        "It ended with:",
        "> You: go",
        "> Assistant: New.",
        "Noted:",
        *(f"- {one}" for one in mine),
    ]


# --- the summary -----------------------------------------------------------------------------------------------------


def compact(world: World, text: str) -> None:
    world.append("s1", world.record("user", "s1", text, isCompactSummary=True))


def test_a_lost_state_makes_no_summary_a_persons(world: World) -> None:
    """P-26: the state is gone, and the next summary of the client replaces the one before; a person's edit of it stays."""
    world.type("s1", "go")
    compact(world, "One.")
    world.settle()
    world.kill()
    world.forget()
    world.start()
    compact(world, "Two.")
    world.settle()
    found = world.file("s1")
    assert found["summary"] == "Two." and found["context"] == []
    world.put("s1", found | {"summary": "Two. Ask Ann."})
    world.kill()
    world.forget()
    world.start()
    compact(world, "Three.")
    world.settle()
    assert world.file("s1")["summary"] == "Two. Ask Ann."
    assert resume(world)[1:3] == ["Two. Ask Ann.", "Since then: Three."]


def test_the_file_has_no_key_of_tacitds_own(world: World) -> None:
    """P-26: the keys are the seed's, also beside a summary. A summary of another program is none of tacitd's."""
    world.type("s1", "go")
    compact(world, "One.")
    world.settle()
    assert list(world.file("s1")) == [
        "sessionId", "projectPath", "startedAt", "lastActiveAt", "summary", "tasks", "decisions", "context",
    ]  # fmt: skip
    world.put("s2", world.file("s1") | {"sessionId": "s2", "summary": "Theirs."})
    world.type("s2", "go")
    world.append("s2", world.record("user", "s2", "Two.", isCompactSummary=True))
    world.settle()
    assert world.file("s2")["summary"] == "Theirs."


# --- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"planContent": "# Add week dates\n\n## Steps\n1. Parse"}, {}])
def test_a_session_that_begins_with_an_accepted_plan(world: World, fields: dict[str, Any]) -> None:
    """P-26: the client writes the plan into a new session; nobody types anything there, and it has an entry."""
    text = "Implement the following plan:\n\n# Add week dates\n\n## Steps\n1. Parse"
    world.append("s1", world.record("user", "s1", text, **fields))
    for n in range(6):
        world.say("s1", f"step {n} is done")
    world.end()
    (ask,) = world.model.asked
    assert "[1] Person: (accepted this plan) # Add week dates" in ask.prompt
    lines = resume(world)
    at = lines.index("It ended with:")
    assert lines[at + 1 : at + 3] == [
        "> You: (accepted a plan) Add week dates",
        "> Assistant: step 5 is done",
    ]
    world.append("s2", world.record("user", "s2", text, entrypoint="sdk-cli", promptSource="sdk"))
    world.end()
    assert not world.file("s2")
    assert json.loads(json.dumps(world.status()))["sessions"] == 1
