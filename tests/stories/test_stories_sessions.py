"""Sessions that can be resumed: tasks, decisions, notes, summaries (SPEC P-22 to P-26, seed 001)."""

from __future__ import annotations

import json
from typing import Any

from support_world import Begin
from tacitd.testing import World

SUMMARY = {
    "summary": "Built the parser. The release waits for a key.",
    "decisions": [{"decision": "Use JWT", "rationale": "stateless", "alternatives": ["Session cookies"]}],
}


def read(world: World, session: str) -> dict[str, Any]:
    """A session's file."""
    found: dict[str, Any] = json.loads(world.read(f"~/.claude/user-memory/sessions/session-{session}.json"))
    return found


def list_tasks(world: World, session: str) -> list[tuple[str, str]]:
    """Title and status of each task."""
    return [(one["title"], one["status"]) for one in read(world, session)["tasks"]]


def set_todos(world: World, session: str, *todos: tuple[str, str]) -> None:
    """The assistant writes its list of tasks."""
    given = [{"content": title, "status": status, "activeForm": title} for title, status in todos]
    world.use_tool(session, "TodoWrite", todos=given, result={"newTodos": given})


def talk(world: World, session: str, turns: int = 6) -> None:
    """A session that is long enough for a summary."""
    for turn in range(turns):
        world.type(session, f"go on with part {turn} of the parser").say(session, f"Part {turn} is done.")


def test_a_session_has_the_seeds_file(begin: Begin) -> None:
    """P-22: id, directory and times, with tasks, decisions and context always there."""
    with begin() as world:
        world.type("s1", "build the parser").say("s1", "Begun.").wait(60)
        file = read(world, "s1")
        assert file["sessionId"] == "s1" and file["projectPath"] == str(world.project)
        assert file["tasks"] == file["decisions"] == [] and file["startedAt"] <= file["lastActiveAt"]


def test_tasks_follow_the_clients_list(begin: Begin) -> None:
    """P-22: tasks of TodoWrite with their status; a later list replaces the first."""
    with begin() as world:
        world.type("s1", "build it")
        set_todos(world, "s1", ("Parse", "in_progress"), ("Print", "pending"))
        set_todos(world, "s1", ("Parse", "completed"), ("Print", "in_progress"))
        world.wait(60)
        assert list_tasks(world, "s1") == [("Parse", "completed"), ("Print", "in_progress")]
        assert len({one["id"] for one in read(world, "s1")["tasks"]}) == 2


def test_tasks_of_the_newer_tools(begin: Begin) -> None:
    """P-22: TaskCreate and TaskUpdate change one task each, by the id in the tool's answer."""
    with begin() as world:
        world.type("s1", "build it")
        for number, title in ((1, "Parse"), (2, "Print")):
            world.use_tool(
                "s1",
                "TaskCreate",
                subject=title,
                description=title,
                answer=f"Task #{number} created successfully: {title}",
                result={"task": {"id": str(number), "subject": title}},
            )
        world.use_tool(
            "s1",
            "TaskUpdate",
            taskId="1",
            status="in_progress",
            answer="Updated task #1 status",
            result={"success": True, "taskId": "1", "updatedFields": ["status"]},
        )
        world.wait(60)
        assert list_tasks(world, "s1") == [("Parse", "in_progress"), ("Print", "pending")]


def test_a_refused_list_changes_nothing(begin: Begin) -> None:
    """P-22: a call that failed is not the state of the tasks."""
    with begin() as world:
        world.type("s1", "build it")
        set_todos(world, "s1", ("Parse", "in_progress"))
        world.use_tool("s1", "TodoWrite", todos=[], answer="Error: refused", error=True).wait(60)
        assert list_tasks(world, "s1") == [("Parse", "in_progress")]


def test_commands_change_tasks_decisions_and_notes(begin: Begin) -> None:
    """P-22, P-23: `task`, `decide` and `note` write the seed's fields; blockedBy goes when the task is not blocked any more."""
    with begin() as world:
        world.type("s1", "build it").wait(60)
        world.run("sessions", "task", "Add users table", "--id", "db", "--blocked-by", "DBA approval")
        world.run("sessions", "decide", "Use JWT", "--because", "stateless", "--instead", "Session cookies")
        world.run("sessions", "note", "Project uses PostgreSQL 15")
        (task,) = read(world, "s1")["tasks"]
        assert (task["status"], task["blockedBy"]) == ("blocked", "DBA approval")
        (decision,) = read(world, "s1")["decisions"]
        assert (decision["decision"], decision["rationale"], decision["alternatives"]) == (
            "Use JWT",
            "stateless",
            ["Session cookies"],
        )
        assert "Project uses PostgreSQL 15" in read(world, "s1")["context"]
        world.run("sessions", "task", "--id", "db", "--status", "completed")
        (task,) = read(world, "s1")["tasks"]
        assert task["status"] == "completed" and "blockedBy" not in task


def test_what_a_person_put_in_stays(begin: Begin) -> None:
    """X-07: own tasks, notes and unknown keys of the file stay while the session goes on."""
    with begin() as world:
        world.type("s1", "build it").wait(60)
        name = "~/.claude/user-memory/sessions/session-s1.json"
        own = read(world, "s1") | {"mine": 1, "context": ["A note of mine"]}
        world.write(name, json.dumps(own, indent=2) + "\n")
        set_todos(world, "s1", ("Parse", "in_progress"))
        world.wait(60)
        assert read(world, "s1")["mine"] == 1 and "A note of mine" in read(world, "s1")["context"]
        assert list_tasks(world, "s1") == [("Parse", "in_progress")]


def test_a_summary_at_the_end(begin: Begin) -> None:
    """P-26: a long session that ends gets a summary and its decisions, in one call of the model."""
    with begin(summary=SUMMARY) as world:
        talk(world, "s1")
        world.leave("s1")
        assert read(world, "s1")["summary"] == SUMMARY["summary"]
        assert [one["decision"] for one in read(world, "s1")["decisions"]] == ["Use JWT"]
        assert len([one for one in world.prompts if "go on with it" in one or "whoever goes on" in one]) == 1


def test_a_summary_of_the_person_stays(begin: Begin) -> None:
    """P-26, X-07: a summary that the person wrote is not replaced by the model's."""
    with begin(summary=SUMMARY) as world:
        talk(world, "s1")
        world.wait(30)
        assert world.run("sessions", "summary", "Mine: the key is missing.").code == 0
        world.leave("s1")
        assert (
            read(world, "s1")["summary"] == "Mine: the key is missing." and read(world, "s1")["context"] == []
        )
        assert "Mine: the key is missing." in world.run("sessions", "resume").out


def test_without_a_model_nothing_is_empty(begin: Begin) -> None:
    """P-26: without a model the next start still tells the last prompt, the end of the answer, the files and the branch."""
    with begin() as world:
        world.fail_calls("absent")
        world.type("s1", "build the parser").edit_in_session("s1", world.path("src/parser.py"))
        world.say("s1", "It parses numbers. Strings are left.").leave("s1")
        told = world.run("sessions", "resume").out
        assert (
            "build the parser" in told
            and "Strings are left." in told
            and "src/parser.py" in told
            and "main" in told
        )


def test_the_next_session_is_told_of_the_last(begin: Begin) -> None:
    """P-26: at its start a session is told of the last one of its project, and not of another project's."""
    with begin() as world:
        other = world.new_project("other")
        world.type("s1", "build the parser").say("s1", "Begun.").leave("s1")
        world.type("s2", "paint the fence", cwd=other).leave("s2")
        told = world.hook("SessionStart", "s3", source="startup")
        assert "build the parser" in told and "fence" not in told


def test_open_work_of_an_earlier_session_is_named(begin: Begin) -> None:
    """P-26: an earlier session with open tasks follows below its own heading."""
    with begin() as world:
        world.type("s1", "build it")
        set_todos(world, "s1", ("Parse", "in_progress"))
        world.leave("s1")
        world.type("s2", "what is the time?").leave("s2")
        told = world.run("sessions", "resume").out
        assert told.index("what is the time?") < told.index("Parse")


def test_list_and_show(begin: Begin) -> None:
    """P-22: `list` has each session, the newest first, `show` its file."""
    with begin() as world:
        world.type("s1", "build the parser").leave("s1")
        world.type("s2", "print the tree").leave("s2")
        assert [one["id"] for one in world.run("sessions", "list", "--json").json] == ["s2", "s1"]
        assert world.run("sessions", "show", "s1", "--json").json == read(world, "s1")


def test_a_programs_session_gets_no_file(begin: Begin) -> None:
    """S-05, P-22: of a session of `claude -p` nothing is kept."""
    with begin() as world:
        message = {"role": "user", "content": "hello"}
        world.record(
            "s1", type="user", message=message, promptSource="sdk", turnOrigin="sdk", entrypoint="sdk-cli"
        )
        world.say("s1", "Hello.").leave("s1")
        assert not world.path("~/.claude/user-memory/sessions/session-s1.json").exists()


def test_old_sessions_are_pruned(begin: Begin) -> None:
    """P-24: after thirty days without activity a session's file goes; a younger one stays."""
    with begin() as world:
        world.type("s1", "build the parser").leave("s1").wait_days(20, step=24 * 3600)
        world.type("s2", "print the tree").leave("s2").wait_days(12, step=24 * 3600)
        assert [one["id"] for one in world.run("sessions", "list", "--json").json] == ["s2"]


def test_fifty_decisions_are_kept(begin: Begin) -> None:
    """P-24: the last fifty decisions."""
    with begin() as world:
        world.type("s1", "build it").wait(60)
        name = "~/.claude/user-memory/sessions/session-s1.json"
        many = [
            {"timestamp": f"{world.date(-1)}T10:{n:02}:00.000Z", "decision": f"Number {n}"} for n in range(50)
        ]
        world.write(name, json.dumps(read(world, "s1") | {"decisions": many}, indent=2) + "\n")
        world.run("sessions", "decide", "One more")
        kept = [one["decision"] for one in read(world, "s1")["decisions"]]
        assert len(kept) == 50 and kept[0] == "Number 1" and kept[-1] == "One more"


def test_an_odd_id_is_no_path(begin: Begin) -> None:
    """P-25: a session's id that would lead out of the folder becomes a hash in the file's name."""
    with begin() as world:
        world.type("s1", "hello")
        world.record(
            "s1", type="user", sessionId="../../evil", message={"role": "user", "content": "hello again"}
        ).leave("s1")
        names = [name for name in world.list_files() if "session-" in name]
        assert all(name.startswith(".claude/user-memory/sessions/session-") for name in names)
        assert not any("evil" in name for name in world.list_files())


def test_a_project_whose_directory_is_gone_can_be_resumed(begin: Begin) -> None:
    """P-26: the last session of a project is told also after its directory was removed."""
    with begin() as world:
        other = world.new_project("other")
        world.type("s1", "build the parser", cwd=other).say("s1", "Begun.", cwd=other).leave("s1")
        world.remove("~/work/other")
        ran = world.run("sessions", "resume", str(other))
        assert ran.code == 0 and "build the parser" in ran.out
