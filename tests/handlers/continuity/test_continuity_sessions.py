"""Sessions from their transcripts only, through the real engine and reader to the files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support_continuity import NOW, World
from tacitd.clock import utc_millis
from tacitd_handlers.continuity.resume_text import build_resume_text
from tacitd_handlers.continuity.session_file import find_fault
from tacitd_handlers.continuity.session_progress import TranscriptProgress
from tacitd_handlers.continuity.store import SessionStore


def test_a_session_is_kept_from_its_first_prompt_on(world: World) -> None:
    """SPEC P-22: start, last activity and project path; the arrays are always present, keys are in order."""
    world.type("s1", "build a parser")
    world.settle()
    assert world.file("s1") == {
        "sessionId": "s1", "projectPath": str(world.project), "startedAt": utc_millis(NOW), "lastActiveAt": utc_millis(NOW),
        "tasks": [], "decisions": [], "context": [],
    }  # fmt: skip
    world.say("s1", "ok")
    world.settle()
    assert world.file("s1")["lastActiveAt"] == utc_millis(NOW + 30)
    path = world.store.session_path("s1")
    assert path.name == "session-s1.json"  # fault 3 of the original: `<id>.json`
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_what_was_written_of_a_persons_session_is_durable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-07: otherwise a power cut would make tacitd's own tasks a person's. A program's session has no file."""
    save, saves = SessionStore.save_progress, list[tuple[str, bool]]()

    def noted(store: SessionStore, now: TranscriptProgress, *, durable: bool = True) -> None:
        saves.append((now.session, durable))
        save(store, now, durable=durable)

    monkeypatch.setattr(SessionStore, "save_progress", noted)
    world.type("s1", "one")
    world.say("s2", "nobody typed here")
    world.todos("s1", ("Design", "pending"))
    world.settle()
    assert sorted(saves) == [("s1", False), ("s1", True)]


def test_of_a_programs_session_nothing_is_stored_until_somebody_types(world: World) -> None:
    """Thousands of them may grow while transcripts are caught up. What came before the first prompt is read then."""
    world.say("s1", "hello")
    world.todos("s1", ("Design", "in_progress"))
    world.settle()
    assert world.store.load_progress("s1") is None and world.file("s1") == {}
    world.type("s1", "go on")
    world.settle()
    assert world.tasks("s1") == [("Design", "in_progress")]


def test_growth_is_gathered(world: World) -> None:
    """`continuity.settle`: growth within twenty seconds is written once."""
    world.type("s1", "a")
    world.settle(1.0)
    assert world.file("s1") == {}
    world.settle(25.0)
    assert world.file("s1")["sessionId"] == "s1"


def test_todos_are_the_last_list(world: World) -> None:
    """SPEC P-22: TodoWrite replaces the list; a task that stays keeps createdAt, and a change sets updatedAt."""
    world.type("s1", "go")
    world.todos("s1", ("Design", "in_progress"), ("Build", "pending"))
    world.settle()
    world.todos("s1", ("Design", "completed"), ("Build", "in_progress"), ("Ship", "pending"))
    world.settle()
    assert world.tasks("s1") == [("Design", "completed"), ("Build", "in_progress"), ("Ship", "pending")]
    one = world.file("s1")["tasks"][0]
    assert (one["createdAt"], one["updatedAt"]) == (utc_millis(NOW), utc_millis(NOW + 30))
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
    ("nonsense", []), (None, []), ({}, []),
    ([{"content": "x" * 500, "status": "pending"}], [("x" * 199 + "…", "pending")]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "tasks"), SHAPES)
def test_every_shape_of_todos(world: World, given: Any, tasks: list[tuple[str, str]]) -> None:
    """CLAUDE_CODE 13: with and without ids and priorities, duplicates, a list as text, and malformed lists."""
    world.type("s1", "go")
    world.use("s1", "TodoWrite", {"todos": given})
    world.settle()
    assert world.tasks("s1") == tasks
    assert find_fault(world.file("s1")) == ""


def test_a_refused_list_counts_for_nothing(world: World) -> None:
    """Observed in 2.1.63 to 2.1.328: in a transcript a refused call differs from an accepted one only by its answer."""
    world.type("s1", "go")
    world.todos("s1", ("Design", "pending"))
    world.todos(
        "s1", ("Nothing", "pending"), result="<tool_use_error>No such tool</tool_use_error>", error=True
    )
    world.end()
    assert world.tasks("s1") == [("Design", "pending")]


def test_an_answer_may_come_later(world: World) -> None:
    """An answer may be in a later batch. A list without an answer counts at the session's end."""
    world.type("s1", "go")
    first = world.todos("s1", ("Design", "pending"), result=None)
    world.settle()
    assert world.tasks("s1") == []
    world.restart()
    world.answer("s1", first)
    world.settle()
    world.say("s1", "on it")
    world.settle()
    assert world.tasks("s1") == [("Design", "pending")]
    world.todos("s1", ("Build", "pending"), result=None)
    world.end()
    assert world.tasks("s1") == [("Build", "pending")]


@pytest.mark.parametrize(
    ("version", "third"), [("2.1.63", "Build it"), ("2.1.197", "Ship it"), ("2.1.328", "Ship it")]
)
def test_the_newer_task_tools_of_the_real_client(world: World, version: str, third: str) -> None:
    """TaskCreate, TaskUpdate and TaskList as the client wrote them: ids from the answers (2.1.63 gave those of two calls
    in reverse order), refused calls, deletion, blocking, titles under other names."""
    path = world.fixture(version)
    world.end()
    tasks = {
        one["id"]: one
        for one in world.file(json.loads(path.read_text().splitlines()[0])["sessionId"])["tasks"]
    }
    shown = {id: (one["title"], one["status"], one.get("blockedBy")) for id, one in tasks.items()}
    extra = {} if version == "2.1.63" else {"task-5": ("Bad create", "pending", None)}
    assert shown == {
        "task-1": ("Design it", "completed", None),
        "task-2": ("Build it well", "pending", None),
        "task-3": (third, "blocked", "Build it well"),
        **extra,
    }


def test_todos_of_the_real_client(world: World) -> None:
    """The same with 2.0.76, which has TodoWrite only."""
    path = world.fixture("2.0.76")
    world.end()
    assert world.tasks(json.loads(path.read_text().splitlines()[0])["sessionId"]) == [("a", "pending")]


def test_what_blocked_is_over_when_it_is_done(world: World) -> None:
    """SPEC P-23: blockedBy is present only while the task is blocked."""
    world.type("s1", "go")
    for n, title in enumerate(("Migrate", "Release"), 1):
        world.use(
            "s1",
            "TaskCreate",
            {"subject": title, "description": "x"},
            f"Task #{n} created successfully: {title}",
        )
    world.use("s1", "TaskUpdate", {"taskId": "1", "addBlocks": ["2"]})
    world.settle()
    assert world.file("s1")["tasks"][1]["blockedBy"] == "Migrate"
    world.use("s1", "TaskUpdate", {"taskId": "1", "status": "completed"})
    world.settle()
    assert world.tasks("s1") == [("Migrate", "completed"), ("Release", "pending")]
    assert "blockedBy" not in world.file("s1")["tasks"][1]


def test_sub_tasks(world: World) -> None:
    """SPEC P-22: a sub-agent's work is a child of the task in progress; `metadata` can name a parent too."""
    world.type("s1", "go")
    world.use("s1", "Task", {"description": "Look around", "prompt": "x"})
    world.todos("s1", ("Design", "in_progress"))
    world.settle()
    first = world.use("s1", "Agent", {"description": "Find callers", "prompt": "x"}, None)
    world.use("s1", "Task", {"description": "Refused", "prompt": "x"}, "no", error=True)
    world.settle()
    assert world.tasks("s1") == [("Design", "in_progress"), ("Find callers", "in_progress")]
    world.answer("s1", first)
    world.use(
        "s1", "TaskCreate", {"subject": "Parent", "description": ""}, "Task #1 created successfully: Parent"
    )
    child = {"subject": "Child", "description": "", "metadata": {"parent": "1"}}
    world.use("s1", "TaskCreate", child, "Task #2 created successfully: Child")
    world.settle()
    found = world.file("s1")["tasks"]
    assert [(one["title"], one["status"], len(one.get("children", []))) for one in found] == [
        ("Design", "in_progress", 1), ("Find callers", "completed", 0), ("Parent", "pending", 1), ("Child", "pending", 0),
    ]  # fmt: skip
    assert found[2]["children"] == ["task-2"]


def test_the_end_of_the_session_is_in_no_note(world: World) -> None:
    """SPEC P-26: what the seed has no field for is in tacitd's own data; `context` has free notes, and the person's words stay
    out of the file."""
    world.append("s1", world.record("user", "s1", "start", gitBranch="fix/login"))
    world.say("s1", "Shall I use Postgres?")
    world.append("s1", world.record("user", "s1", "yes", gitBranch="HEAD"))  # a detached head
    world.say("s1", "I use Postgres. Is password: hunter2secret9! right?")
    for name in ("a.py", "b.py", "a.py"):
        world.use(
            "s1", "Edit", {"file_path": str(world.project / name), "old_string": "x", "new_string": "y"}
        )
    world.use("s1", "Write", {"file_path": "/etc/no", "content": "z"}, "rejected", error=True)
    world.settle()
    assert world.file("s1")["context"] == []
    world.put("s1", world.file("s1") | {"context": ["mine"]})
    world.say("s1", "It is done.")
    world.settle()
    assert world.file("s1")["context"] == ["mine"]
    state = world.store.load_progress("s1")
    assert state is not None and state.branch == "fix/login" and state.edits == {"a.py": 2, "b.py": 1}
    assert build_resume_text([world.file("s1")], world.clock.now(), state=state).splitlines()[1:] == [
        "It ended with:", "> You: start", '> You: yes (asked: "Shall I use Postgres?")', "> Assistant: It is done.",
        "Files edited: a.py (2), b.py", "Noted:", "- mine",
    ]  # fmt: skip


def test_an_empty_list_after_a_restart_takes_no_task_away(world: World) -> None:
    """A restarted client has an empty task list, although the tasks are still open."""
    world.type("s1", "go")
    world.use(
        "s1",
        "TaskCreate",
        {"subject": "Design"},
        "Task #1 created",
        data={"task": {"id": "1", "subject": "Design"}},
    )
    world.use("s1", "TaskList", {}, "No tasks found", data={"tasks": []})
    world.settle()
    assert world.tasks("s1") == [("Design", "pending")]


def test_a_session_is_where_its_person_typed_last(world: World) -> None:
    """SPEC P-22: projectPath is the directory of the newest prompt; directories of the assistant do not count."""
    other = str(world.git("other"))
    world.append("s1", world.record("assistant", "s1", [{"type": "text", "text": "hi"}]))
    world.type("s1", "go")
    world.append("s1", world.record("assistant", "s1", [{"type": "text", "text": "in other"}], cwd=other))
    world.settle()
    assert world.file("s1")["projectPath"] == str(world.project)
    world.append("s1", world.record("user", "s1", "go on here", cwd=other))
    world.settle()
    assert world.file("s1")["projectPath"] == other


def test_a_session_began_when_it_began(world: World) -> None:
    """SPEC P-22: startedAt is the earlier of the file's and the transcript's."""
    world.type("s1", "go")
    world.settle()
    for said, kept in ((-60, -60), (+5, 0)):
        world.put("s1", world.file("s1") | {"startedAt": utc_millis(NOW + said)})
        world.say("s1", "x")
        world.settle()
        assert world.file("s1")["startedAt"] == utc_millis(NOW + kept)


AFTER = (
    "If you need specific details from before compaction (like exact code snippets, error messages, or content you generated), "
    "read the full transcript at: /home/dev/x.jsonl\nPlease continue the conversation from where we left it off without asking "
    "the user any further questions. Continue with the last task that you were asked to work on."
)


def test_a_compactions_summary_is_taken(world: World) -> None:
    """SPEC P-26: the end of the client's compaction summary, in whole sentences and without the client's own, needs no model."""
    text = (
        "This session is being continued.\n\nSummary:\n1. Primary Request:\n   A parser. " + "It must be strict. " * 60
        + "\n\n9. Optional Next Step:\n   Fix `parse_week`. The tests wait.\n\n" + AFTER
    )  # fmt: skip
    world.type("s1", "go")
    world.append(
        "s1", world.record("user", "s1", text, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    )
    world.settle()
    summary = world.file("s1")["summary"]
    assert summary.endswith("Fix `parse_week`. The tests wait.") and len(summary) <= 600
    assert summary.startswith("It must be strict.")
    assert list(world.file("s1"))[4] == "summary"
    assert world.model.asked == []


def test_a_short_compaction_has_nothing_of_the_clients(world: World) -> None:
    """SPEC P-26: also a summary that is shorter than what is kept begins below the client's own words."""
    text = f"This session is being continued from a previous conversation.\n\nSummary:\n1. Fix it.\n\n{AFTER}"
    world.type("s1", "go")
    world.append("s1", world.record("user", "s1", text, isCompactSummary=True))
    world.settle()
    assert world.file("s1")["summary"] == "1. Fix it."


def test_a_programs_session_gets_no_file(world: World) -> None:
    """DESIGN "Priorities", 2: `claude -p` in a script, and sub-agents, create no file."""
    made = world.record("user", "s1", "hello", entrypoint="sdk-cli", promptSource="sdk")
    world.append(
        "s1", made, world.record("assistant", "s1", [{"type": "text", "text": "hi"}], entrypoint="sdk-cli")
    )
    world.end()
    assert not world.store.folder.exists()


def test_an_excluded_project_gets_no_file(tmp_path: Path) -> None:
    """`projects.exclude`: nothing of such a project is stored."""
    world = World(tmp_path)
    world.kill()
    world.settings["TACITD_PROJECTS__EXCLUDE"] = str(world.project)
    world.start()
    world.type("s1", "go")
    world.end()
    assert not world.store.folder.exists()
    world.kill()


def test_what_a_person_put_in_stays(world: World) -> None:
    """SPEC X-07: a person's tasks, notes, keys, decisions and later changes of our tasks stay, also after a restart."""
    world.type("s1", "go")
    world.todos("s1", ("Design", "pending"), ("Build", "pending"))
    world.settle()
    found = world.file("s1")
    found["mood"] = "good"
    found["summary"] = "Mine."
    found["tasks"][0] |= {"status": "completed", "updatedAt": utc_millis(NOW + 40), "notes": "by hand"}
    found["tasks"].insert(0, {**found["tasks"][1], "id": "mine", "title": "Mine"})
    found["decisions"] = [{"timestamp": utc_millis(NOW), "decision": "Use SQLite"}]
    world.put("s1", found)
    world.restart()
    world.say("s1", "x")
    world.settle()
    after = world.file("s1")
    assert world.tasks("s1") == [("Design", "completed"), ("Build", "pending"), ("Mine", "pending")]
    assert (after["mood"], after["summary"], after["tasks"][0]["notes"]) == ("good", "Mine.", "by hand")
    assert after["decisions"] == found["decisions"]
    world.todos("s1", ("Design", "in_progress"), ("Build", "pending"))
    world.settle()
    assert world.tasks("s1")[0] == ("Design", "in_progress")
    assert world.file("s1")["tasks"][0]["notes"] == "by hand"


def test_what_is_known_can_be_read_again(world: World) -> None:
    """DESIGN "Data flow": transcripts are the log, so a lost state is restored from them at the next prompt."""
    world.type("s1", "go")
    world.todos("s1", ("Design", "pending"))
    world.settle()
    before = world.file("s1")
    world.kill()
    world.forget()
    world.store.session_path("s1").unlink()
    world.start()
    world.type("s1", "on")
    world.settle()
    assert world.file("s1")["tasks"] == before["tasks"]
    assert world.file("s1")["startedAt"] == before["startedAt"]


def test_a_transcript_that_is_rewritten_is_read_anew(world: World) -> None:
    """SPEC P-29: a transcript that is shorter than before; nothing is duplicated."""
    world.type("s1", "go", "on")
    world.todos("s1", ("Design", "pending"))
    world.settle()
    lines = world.transcript("s1").read_bytes().splitlines(keepends=True)
    world.transcript("s1").write_bytes(lines[0])
    world.settle()
    world.todos("s1", ("Build", "pending"))
    world.settle()
    assert world.tasks("s1") == [("Build", "pending")]


def test_two_sessions_in_one_transcript(world: World) -> None:
    """CLAUDE_CODE 5.1, 13: the record's session id counts, not the file's name."""
    world.type("s1", "go")
    world.append("s1", world.record("user", "s2", "other"))
    world.settle()
    assert world.file("s1")["sessionId"] == "s1"
    assert world.file("s2")["sessionId"] == "s2"


def test_the_golden_session_loads_and_comes_back(world: World) -> None:
    """The seed's example: what a change does not name keeps its bytes."""
    golden = Path(__file__).parents[2] / "fixtures" / "profile" / "session-abc123.json"
    document = json.loads(golden.read_text())
    assert find_fault(document) == ""
    world.store.folder.mkdir(parents=True, mode=0o700)
    world.store.session_path("abc123").write_bytes(golden.read_bytes())
    world.store.edit_session("abc123", lambda one: one | {"context": [*one["context"], "More"]})
    after = world.store.session_path("abc123").read_text()
    assert json.loads(after) == document | {
        "context": [*document["context"], "More"], "lastActiveAt": utc_millis(world.clock.wall)
    }  # fmt: skip
    assert list(json.loads(after)) == list(document)
    last = '    "Project uses PostgreSQL 15"\n'
    wanted = golden.read_text().replace(document["lastActiveAt"], utc_millis(world.clock.wall))
    assert after == wanted.replace(last, last[:-1] + ',\n    "More"\n')


PUBLIC = os.environ.get("TACITD_PUBLIC_TRANSCRIPTS", "")
FILES = sorted(Path(PUBLIC).glob("**/*.jsonl")) if PUBLIC else []


def last_todos(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Each session's last TodoWrite, read independently of the handler."""
    made: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
            blocks = record["message"]["content"]
        except (ValueError, KeyError, TypeError):
            continue
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict) and block.get("name") == "TodoWrite":
                todos = [one for one in block["input"]["todos"] if isinstance(one, dict)]
                made[record["sessionId"]] = [(one["content"], one["status"]) for one in todos]
    return made


@pytest.mark.skipif(not FILES, reason="TACITD_PUBLIC_TRANSCRIPTS names no transcripts")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_sessions_equal_the_last_todo_write(world: World, path: Path) -> None:
    """Real sessions of other people, replayed through the engine with a scripted model."""
    world.copy(path)
    world.end()
    world.settle(7 * 3600)
    expected = last_todos(path)
    for session, todos in expected.items():
        found = [one for one in world.tasks(session) if one[0] != "broken_todo"]
        if world.file(session):
            assert [(title[:199], status) for title, status in found] == [
                (title[:199], status) for title, status in todos
            ]
    if path.parent.name == "episodic-memory":
        assert {session for session in expected if world.file(session)} == set(expected)
