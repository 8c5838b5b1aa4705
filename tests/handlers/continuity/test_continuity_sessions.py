"""Sessions from their transcripts alone, through the real reader to the files (SPEC P-22 to P-26)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support_continuity import NOW, World
from tacitd.clock import utc_millis
from tacitd_handlers.continuity.session_document import KEYS, find_fault

MODE = 0o777


def test_todos_are_the_last_list(world: World) -> None:
    """P-22: TodoWrite replaces the list; a task that stays keeps createdAt, and a change sets updatedAt."""
    world.type("s1", "go")
    world.todos("s1", ("Design", "in_progress"), ("Build", "pending"))
    world.settle()
    world.todos("s1", ("Design", "completed"), ("Build", "in_progress"), ("Ship", "pending"))
    world.settle()
    assert world.tasks("s1") == [("Design", "completed"), ("Build", "in_progress"), ("Ship", "pending")]
    one = world.file("s1")["tasks"][0]
    assert (one["createdAt"], one["updatedAt"]) == (utc_millis(NOW), utc_millis(NOW + 30))
    assert list(one) == ["id", "title", "status", "createdAt", "updatedAt"]
    world.todos("s1", ("Ship", "pending"))
    world.settle()
    assert world.tasks("s1") == [("Ship", "pending")]


SHAPES: list[tuple[Any, list[tuple[str, str]]]] = [
    ([{"id": "1", "content": "a", "status": "completed", "priority": "high"}], [("a", "completed")]),
    ([{"content": "a", "status": "pending", "activeForm": "doing a"}] * 2, [("a", "pending"), ("a", "pending")]),
    (["broken_todo", {"id": "2", "content": "b", "status": "in_progress"}],
     [("broken_todo", "pending"), ("b", "in_progress")]),
    ('[{"content": "a", "status": "pending"}]', [("a", "pending")]),
    ([{"content": "a\n  b\x1b", "status": "cancelled"}, {"content": ""}, 3, None], [("a b", "pending")]),
    ([{"id": "\ud83d", "content": "half \ud83d pair", "status": "pending"}], [("half \ufffd pair", "pending")]),
    ("nonsense", []), (None, []), ({}, []),
    ([{"content": "x" * 500, "status": "pending"}], [("x" * 199 + "…", "pending")]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "tasks"), SHAPES)
def test_every_shape_of_todos(world: World, given: Any, tasks: list[tuple[str, str]]) -> None:
    """Clients wrote them with and without ids and priorities, with duplicates, as text, and malformed."""
    world.type("s1", "go")
    world.use("s1", "TodoWrite", {"todos": given})
    world.settle()
    assert world.tasks("s1") == tasks
    assert find_fault(world.file("s1")) == ""
    assert world.bench.rows("SELECT * FROM behind") == []


@pytest.mark.parametrize(
    ("version", "third"), [("2.1.63", "Build it"), ("2.1.197", "Ship it"), ("2.1.328", "Ship it")]
)
def test_the_newer_task_tools_of_the_real_client(world: World, version: str, third: str) -> None:
    """TaskCreate, TaskUpdate and TaskList as the client wrote them: ids from the answers (2.1.63 gave those of two calls
    in reverse order), refused calls, deletion, blocking, titles under other names."""
    path = world.fixture(version)
    world.end()
    session = json.loads(path.read_text().splitlines()[0])["sessionId"]
    tasks = {one["id"]: one for one in world.file(session)["tasks"]}
    shown = {id: (one["title"], one["status"], one.get("blockedBy")) for id, one in tasks.items()}
    extra = {} if version == "2.1.63" else {"task-5": ("Bad create", "pending", None)}
    assert shown == {
        "task-1": ("Design it", "completed", None),
        "task-2": ("Build it well", "pending", None),
        "task-3": (third, "blocked", "Build it well"),
        **extra,
    }


def create(world: World, number: int, title: str) -> None:
    """The client's TaskCreate."""
    answer = f"Task #{number} created successfully: {title}"
    world.use("s1", "TaskCreate", {"subject": title, "description": "x"}, answer)


def test_what_blocked_is_over_when_it_is_done(world: World) -> None:
    """P-23: blockedBy is present only while the task is blocked."""
    world.type("s1", "go")
    create(world, 1, "Migrate")
    create(world, 2, "Release")
    world.use("s1", "TaskUpdate", {"taskId": "1", "addBlocks": ["2"]})
    world.settle()
    assert world.file("s1")["tasks"][1]["blockedBy"] == "Migrate"
    assert list(world.file("s1")["tasks"][1])[-2:] == ["updatedAt", "blockedBy"]
    world.use("s1", "TaskUpdate", {"taskId": "1", "status": "completed"})
    world.settle()
    assert world.tasks("s1") == [("Migrate", "completed"), ("Release", "pending")]
    assert "blockedBy" not in world.file("s1")["tasks"][1]
    world.use("s1", "TaskUpdate", {"taskId": "1", "status": "deleted"})
    world.settle()
    assert world.tasks("s1") == [("Release", "pending")]


def test_sub_tasks(world: World) -> None:
    """P-22: a sub-agent's work is a child of the task in progress, until it answers; one that was refused is none."""
    world.type("s1", "go")
    world.use("s1", "Task", {"description": "Look around", "prompt": "x"})
    world.todos("s1", ("Design", "in_progress"))
    first = world.use("s1", "Agent", {"description": "Find callers", "prompt": "x"}, None)
    world.use("s1", "Task", {"description": "Refused", "prompt": "x"}, "no", error=True)
    world.settle()
    assert world.tasks("s1") == [("Design", "in_progress"), ("Find callers", "in_progress")]
    world.answer("s1", first)
    world.settle()
    parent, child = world.file("s1")["tasks"]
    assert parent["children"] == [child["id"]] and child["status"] == "completed" and "children" not in child


def test_a_list_of_all_tasks(world: World) -> None:
    """TaskList makes up for calls that were missed; an empty one, after the client was restarted, takes no task away."""
    world.type("s1", "go")
    create(world, 1, "Design")
    listed = [
        {"id": "1", "subject": "Des…", "status": "completed"},
        {"id": "2", "subject": "Ship", "blockedBy": ["3"]},
    ]
    world.use("s1", "TaskList", {}, "…", data={"tasks": listed})
    world.use("s1", "TaskList", {}, "No tasks found", data={"tasks": []})
    world.settle()
    assert world.tasks("s1") == [("Design", "completed"), ("Ship", "pending")]


def test_a_session_is_where_its_person_typed_last(world: World) -> None:
    """P-22: projectPath is the directory of the newest prompt; directories of the assistant do not count."""
    other = str(world.bench.make_project("other"))
    world.type("s1", "go")
    world.append("s1", world.record("assistant", "s1", [{"type": "text", "text": "in other"}], cwd=other))
    world.settle()
    assert world.file("s1")["projectPath"] == str(world.project)
    world.append("s1", world.record("user", "s1", "go on here", cwd=other))
    world.settle()
    assert world.file("s1")["projectPath"] == other


def test_a_session_began_when_it_began(world: World) -> None:
    """P-22: startedAt is the earlier of the file's and the transcript's."""
    world.type("s1", "go")
    world.settle()
    for said, kept in ((-60, -60), (+5, 0)):
        world.put("s1", world.file("s1") | {"startedAt": utc_millis(NOW + said)})
        world.type("s1", "x")
        world.settle()
        assert world.file("s1")["startedAt"] == utc_millis(NOW + kept)


AFTER = (
    "If you need specific details from before compaction (like exact code snippets, error messages, or content you generated), "
    "read the full transcript at: /home/dev/x.jsonl\nPlease continue the conversation from where we left it off without asking "
    "the user any further questions. Continue with the last task that you were asked to work on."
)


def test_a_compactions_summary_is_taken(world: World) -> None:
    """P-26: the end of the client's compaction summary, in whole sentences and without the client's own, needs no model."""
    text = (
        "This session is being continued.\n\nSummary:\n1. Primary Request:\n   A parser. " + "It must be strict. " * 60
        + "\n\n9. Optional Next Step:\n   Fix `parse_week`. The tests wait.\n\n" + AFTER
    )  # fmt: skip
    world.type("s1", "go")
    world.compact("s1", text)
    world.settle()
    summary = world.file("s1")["summary"]
    assert summary.endswith("Fix `parse_week`. The tests wait.") and len(summary) <= 600
    assert summary.startswith("It must be strict.")
    assert tuple(world.file("s1")) == KEYS
    assert world.model.asked == []
    world.compact("s1", f"This session is being continued.\n\nSummary:\n1. Fix it.\n\n{AFTER}")
    world.settle()
    assert world.file("s1")["summary"] == "1. Fix it."


def test_of_no_project_no_words_are_stored(world: World) -> None:
    """The home directory is no project: the file has times and tasks, and the store none of the person's words."""
    world.project = world.home
    world.type("s1", "secret plans")
    world.say("s1", "I make secret plans.")
    world.todos("s1", ("Design", "pending"))
    world.end()
    assert world.tasks("s1") == [("Design", "pending")] and world.model.asked == []
    stored = world.bench.rows("SELECT * FROM continuity_session") + world.bench.rows(
        "SELECT * FROM continuity_turn"
    )
    assert "secret" not in str(stored)


@pytest.fixture
def closed(tmp_path: Path) -> World:
    """A world with an excluded project `private`."""
    return World(tmp_path, projects__exclude=str(tmp_path.resolve() / "home" / "private"))


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("begin", ["private", "project"])
def test_a_session_that_passes_through_an_excluded_directory(
    closed: World, together: bool, begin: str
) -> None:
    """What is said there is neither stored nor sent, wherever the session began; a session of it alone has no file."""
    with closed as world:
        world.bench.make_project("private")
        for place, words in ((begin, "first"), ("private", "hidden"), ("project", "later")):
            world.project = world.home / place
            words = "hidden" if place == "private" else words
            for number in range(5):
                world.type("s1", f"{words} {number}")
                world.say("s1", f"I do {words} {number}.")
            world.use("s1", "Edit", {"file_path": f"{world.project}/{words}.py"})
            world.say("s1", f"I did {words}. More {words}?")
            if not together:
                world.settle()
        world.type("s2", "hidden too")
        world.project = world.home / "private"
        world.type("s3", "hidden three")
        world.end()
        (ask,) = world.model.asked
        stored = [*map(world.file, ("s1", "s2")), *world.resume(world.home / "project")]
        stored += world.bench.rows("SELECT * FROM continuity_turn WHERE session <> 's2'")
        assert "later 4" in ask.prompt and "later" in str(stored) and world.file("s3") == {}
        assert "hidden" not in ask.prompt.replace("hidden too", "") + str(stored).replace("hidden too", "")


def test_a_session_that_begins_with_a_command(world: World) -> None:
    """P-26: what asks the assistant for something is a prompt, with its tasks, also without arguments; not so in a program's session."""
    world.command("s1", "workflows:plan")
    world.todos("s1", ("Design", "pending"))
    for _ in range(3):
        world.say("s1", "x" * 90_000)
    world.settle()
    assert world.tasks("s1") == [("Design", "pending")] and "> You: /workflows:plan" in world.resume()
    text = "<command-name>/init</command-name>\n<command-message>init</command-message>\n<command-args></command-args>"
    sdk = {"entrypoint": "sdk-cli", "promptSource": "sdk"}
    world.append("s2", world.record("user", "s2", text, **sdk))
    world.end()
    assert world.file("s2") == {}


def test_only_commands_to_the_client(world: World) -> None:
    """P-26: who only looked at `/usage` has nothing to resume; others are shown without such commands."""
    world.type("s1", "/usage")
    world.command("s1", "rename", "nothing")
    world.end()
    assert world.file("s1") == {}
    world.type("s1", "build a parser")
    world.say("s1", "Done. Shall I release it?")
    world.command("s1", "compact", "keep the decisions")
    world.command("s1", "review", "the parser")
    world.say("s1", "It is fine.")
    world.command("s1", "model", "opus")
    world.type("s1", "/quit", "/workflows:plan")
    world.settle()
    assert world.resume()[2:] == [
        "> You: build a parser",
        "> You: /review the parser",
        "> Assistant: It is fine.",
    ]
    world.type("s1", "/usr/bin is full")
    world.settle()
    assert world.resume()[-1] == "> You: /usr/bin is full"


@pytest.mark.parametrize("fields", [{"planContent": "# Add week dates\n\n## Steps\n1. Parse"}, {}])
def test_a_session_that_begins_with_an_accepted_plan(world: World, fields: dict[str, Any]) -> None:
    """P-26: the client writes the plan into a new session; nobody types anything there, and it has an entry."""
    text = "Implement the following plan:\n\n# Add week dates\n\n## Steps\n1. Parse"
    world.append("s1", world.record("user", "s1", text, **fields))
    for n in range(6):
        world.say("s1", f"step {n} is done")
    world.append("s2", world.record("user", "s2", text, entrypoint="sdk-cli", promptSource="sdk"))
    world.end()
    (ask,) = world.model.asked
    assert "Person: (accepted a plan) Add week dates" in ask.prompt
    at = world.resume().index("It ended with:")
    assert world.resume()[at + 1 : at + 3] == [
        "> You: (accepted a plan) Add week dates",
        "> Assistant: step 5 is done",
    ]
    assert not world.file("s2")
