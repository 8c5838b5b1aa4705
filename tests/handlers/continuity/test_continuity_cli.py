"""`tacitd sessions …`, the text for resuming, and the text for a session's start."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from support_continuity import World
from tacitd.clock import utc_millis
from tacitd.errors import UsageError
from tacitd.files.json_document import NotUnderstoodError
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.continuity import last_session, resume_text
from tacitd_handlers.continuity.cli import sessions
from tacitd_handlers.continuity.session_file import (
    add_decisions,
    add_note,
    apply_progress,
    note_written,
)
from tacitd_handlers.continuity.session_progress import Json, TranscriptProgress

Run = Callable[..., Result]


@pytest.fixture
def run(world: World, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in the world's project. Errors are raised."""
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tacitd_handlers.continuity.store.SystemClock", lambda: world.clock)
    monkeypatch.setattr("time.time", world.clock.now)
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID", raising=False)
    monkeypatch.chdir(world.project)

    def call(*arguments: str) -> Result:
        result = CliRunner().invoke(
            sessions, arguments, standalone_mode=False, help_option_names=["-h", "--help"]
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


def begin(world: World, id: str = "abcdef12-3456") -> str:
    world.type(id, "go")
    world.todos(id, ("Design", "in_progress"), ("Build", "pending"), ("Plan", "completed"))
    world.settle()
    return id


@pytest.mark.usefixtures("far_west")
def test_list_and_show(run: Run, world: World) -> None:
    """`sessions list`, and `show ID` with an id or its beginning."""
    world.clock.wall = 1_795_149_000.0  # 2026-11-20T04:30Z, 23:30 of the day before in EST5
    assert run("list").stdout == ""
    id = begin(world)
    other = world.git("other")
    world.put("elsewhere", world.file(id) | {"sessionId": "elsewhere", "projectPath": str(other)})
    head, first, _ = run("list").stdout.splitlines()
    assert head.split() == ["LAST", "ACTIVE", "ID", "OPEN", "TASKS", "SUMMARY"]
    assert world.file(id)["lastActiveAt"].startswith("2026-11-20T04:30")
    assert first.startswith("2026-11-19 23:30"), "a time without a zone is local"
    (only,) = json.loads(run("list", str(world.project), "--json").stdout)
    assert (only["id"], only["sessionId"], only["open"]) == (id, id, 2)
    assert run("show").stdout.splitlines()[1].startswith("[>] todo-")
    assert json.loads(run("show", "abcdef", "--json").stdout) == world.file(id)
    for wrong in ("nothing", ""):
        with pytest.raises(UsageError):
            run("show", wrong)


def test_task(run: Run, world: World) -> None:
    """SPEC P-22, P-23: create, block and unblock a task with parts; later growth of the transcript keeps it."""
    id = begin(world)
    world.clock.advance(60)
    made = run("task", "Add users table", "--blocked-by", "DBA approval").stdout.strip()
    part = run("task", "Write migration", "--parent", made).stdout.strip()
    task = next(one for one in world.file(id)["tasks"] if one["id"] == made)
    assert (task["status"], task["blockedBy"], task["children"]) == ("blocked", "DBA approval", [part])
    assert world.file(id)["lastActiveAt"] == utc_millis(world.clock.wall)
    run("task", "--id", made, "--status", "in_progress", "--notes", "soon")
    world.todos(id, ("Ship", "pending"))
    world.settle()
    found = {one["id"]: one for one in world.file(id)["tasks"]}
    assert found[made] | {"createdAt": "", "updatedAt": ""} == {
        "id": made, "title": "Add users table", "status": "in_progress", "createdAt": "", "updatedAt": "",
        "children": [part], "notes": "soon",
    }  # fmt: skip
    assert found[made]["createdAt"] == task["createdAt"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["task"], ["task", "--id", "no-such"], ["task", "x", "--parent", "no-such"],
        ["task", "x", "--blocked-by", "y", "--status", "pending"], ["note", " "], ["decide", ""],
        ["note", "x", "--session", "no-such"], ["summary", " "],
    ],
)  # fmt: skip
def test_wrong_use_changes_nothing(run: Run, world: World, arguments: list[str]) -> None:
    """Exit code 2, and the file is unchanged."""
    id = begin(world)
    before = world.file(id)
    with pytest.raises(UsageError):
        run(*arguments)
    assert world.file(id) == before


def test_decide_and_note(run: Run, world: World) -> None:
    """SPEC P-22, P-24: a decision with rationale and alternatives, a note; fifty and twenty are kept."""
    id = begin(world)
    run("decide", "Use JWT", "--because", "stateless", "--instead", "cookies", "--instead", "OAuth")
    run("note", "Project uses PostgreSQL 15", "--session", "abcdef")
    run("note", "Project uses PostgreSQL 15")
    (decision,) = world.file(id)["decisions"]
    assert (decision["rationale"], decision["alternatives"]) == ("stateless", ["cookies", "OAuth"])
    assert world.file(id)["context"] == ["Project uses PostgreSQL 15"]
    assert add_decisions([], [{"decision": str(n)} for n in range(60)])[0]["decision"] == "10"
    notes = [str(n) for n in range(20)]
    assert add_note(notes, "20") == [*notes[1:], "20"] and add_note(notes, "7") == notes


def test_a_summary_that_was_set_stays(run: Run, world: World) -> None:
    """SPEC X-07: it replaces the one that is there, and one of the model's does not replace it."""
    id = begin(world)
    world.put(id, world.file(id) | {"summary": "Built the parser."})
    run("summary", " Its tests are left. ")
    assert world.file(id)["summary"] == "Its tests are left."
    now = TranscriptProgress(id, summary="The model's own.")
    document = apply_progress(world.file(id), TranscriptProgress(id), now)
    assert document["summary"] == "Its tests are left." and document["context"] == []
    assert note_written(document, now).beside == "Its tests are left."


def test_a_handoff_goes_into_the_session_that_runs_it(
    run: Run, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPEC P-22: of two sessions in one project each writes into its own, although the other one is newer."""
    mine = begin(world, "aaa")
    world.clock.advance(60)
    other = begin(world, "bbb")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", mine)
    run("summary", "The parser works.")
    run("task", "Write its tests")
    run("decide", "Use JWT")
    run("note", "PostgreSQL 15")
    assert world.file(mine)["summary"] == "The parser works." and world.file(mine)["decisions"]
    assert "summary" not in world.file(other) and world.file(other)["decisions"] == []
    assert json.loads(run("show", "--json").stdout)["sessionId"] == mine
    run("note", "for the other one", "--session", other)
    assert "for the other one" in world.file(other)["context"]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "ccc")
    with pytest.raises(UsageError, match="has no file yet"):
        run("summary", "It is of no other session.")
    assert "summary" not in world.file(other)


def test_there_is_no_session_here(run: Run, world: World) -> None:
    """A hint, not a traceback."""
    with pytest.raises(UsageError, match="no session yet"):
        run("note", "x")
    assert "no session to resume" in run("resume").stderr


def test_resume(run: Run, world: World) -> None:
    """SPEC P-26: the last session of the project always, and an earlier one with open tasks under its own heading."""
    id = begin(world)
    run("task", "Release", "--blocked-by", "the key")
    run("decide", "Use JWT", "--because", "stateless")
    world.put(id, world.file(id) | {"summary": "Built the parser."})
    (world.project / "src").mkdir(exist_ok=True)
    text = run("resume", str(world.project / "src")).stdout
    assert text.splitlines() == [
        "## The last session here (just now)", "Built the parser.", "It ended with:", "> You: go",
        "Open:", "- Design (in progress)", "- Build", "Blocked:", "- Release (waits for: the key)", "Done: Plan",
        "Decided:", "- Use JWT, because: stateless",
    ]  # fmt: skip
    world.clock.advance(50 * 3600)
    world.type("newer", "hello")
    world.settle()
    text = run("resume").stdout
    assert text.splitlines() == [
        "## The last session here (just now)", "It ended with:", "> You: hello",
        "## An earlier session (2 days ago, still open)", "- Design (in progress)", "- Build", "- Release (waits for: the key)",
    ]  # fmt: skip
    assert last_session.build_section(ContextRequest(world.project, 9000)) == text.rstrip("\n")
    assert last_session.build_section(ContextRequest(world.git("other"), 9000)) == ""
    assert (
        last_session.build_section(ContextRequest(world.project, 80)).splitlines()[:1]
        == text.splitlines()[:1]
    )
    assert len(last_session.build_section(ContextRequest(world.project, 80))) <= 80
    assert last_session.build_section(ContextRequest(world.project, 10)) == ""


def test_the_text_is_short() -> None:
    """At most 30 lines, with the number of lines left out; odd values are left out."""
    tasks = [{"id": str(n), "title": f"t{n}", "status": "blocked" if n % 2 else "pending"} for n in range(80)]
    notes = [f"n{n}" for n in range(20)]
    document: Json = {"summary": "S.", "tasks": tasks, "decisions": [], "context": notes, "lastActiveAt": "?"}
    lines = resume_text.build_resume_text([document], 0.0).splitlines()
    assert len(lines) <= 30
    assert lines[-1] == "- … and 14 more"
    assert resume_text.build_resume_text([], 0.0) == ""
    for odd in (
        {"tasks": 3, "context": "x", "decisions": None},
        {"tasks": [3], "context": [None], "summary": []},
    ):
        assert resume_text.build_resume_text([odd], 0.0) == "## The last session here (at an unknown time)"


def test_an_earlier_session_with_the_same_tasks_is_not_repeated(run: Run, world: World) -> None:
    """SPEC P-26: tasks that the last session has too are shown once."""
    begin(world, "one")
    world.clock.advance(7200)
    begin(world, "two")
    text = run("resume").stdout
    assert text.count("Design") == 1
    assert "earlier" not in text


def test_show_has_everything(run: Run, world: World) -> None:
    """`show` prints rationale, alternatives, notes of tasks and notes of several lines."""
    id = begin(world)
    run("decide", "Use JWT", "--because", "stateless", "--instead", "cookies", "--instead", "OAuth")
    run("task", "Release", "--notes", "ask Ann")
    world.put(id, world.file(id) | {"summary": "Now: one.\nPending:\n- two", "context": ["a\nb"]})
    lines = run("show", id).stdout.splitlines()
    for line in ("Now: one.", "- two", "    because: stateless", "    instead of: cookies", "    instead of: OAuth",
                 "    notes: ask Ann", "noted: a", "    b"):  # fmt: skip
        assert line in lines


ODD = [
    {"tasks": None}, {"tasks": [3]}, {"decisions": [None]}, {"decisions": "x"}, {"context": None}, {"context": 5},
    {"context": [{}]}, {"tasks": [{"id": "a", "title": "t", "status": "pending", "children": 3}]},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_a_file_of_another_shape_is_said(run: Run, world: World, odd: dict[str, object]) -> None:
    """JSON that is not a session is reported with place and reason; other sessions are listed."""
    id = begin(world)
    good = world.file(id)
    path = world.put("other", good | {"sessionId": "other", "summary": "Odd."} | odd)
    before = path.read_bytes()
    listed = run("list")
    assert len(listed.stdout.splitlines()) == 2, "a head and the other session"
    assert f"{path}: {next(iter(odd))}" in listed.stderr
    with pytest.raises(NotUnderstoodError, match="other"):
        run("show", "other")
    for text in (run("resume").stdout, last_session.build_section(ContextRequest(world.project, 9000))):
        assert text.startswith(f"## The last session here cannot be read\n{path}: {next(iter(odd))}")
        assert "Design" in text
    assert path.read_bytes() == before


def test_a_session_that_ends_with_a_question_of_50_kb(run: Run, world: World) -> None:
    """The end of the question is shown, marked as cut, beside everything else."""
    id = begin(world)
    world.say(id, "word " * 10_000 + "right?")
    world.settle()
    lines = run("resume").stdout.splitlines()
    assert lines[3].startswith("> Assistant: …word") and lines[3].endswith(" right?") and len(lines[3]) < 700
    assert "- Design (in progress)" in lines


def test_a_question_that_was_answered_is_whole(run: Run, world: World) -> None:
    """SPEC P-26: an answer to a question of the client's tool is shown with the question."""
    id = begin(world)
    question = "Do you want the plan with this approach, " + "or the simpler one, " * 10 + "or none?"
    answer = ("The simpler one. " * 5).strip()
    world.use(id, "AskUserQuestion", {}, "answered", data={"answers": {question: answer}})
    world.settle()
    assert f'> You: {answer} (asked: "{question}")' in run("resume").stdout.splitlines()


def test_at_most_eight_files_are_named(run: Run, world: World) -> None:
    """SPEC P-26: the most edited files first; others are left out."""
    id = begin(world)
    for number in range(12):
        for _ in range(1 + number % 3):
            given = {"file_path": str(world.project / f"f{number}.py"), "old_string": "a", "new_string": "b"}
            world.use(id, "Edit", given)
    world.settle()
    (line,) = [one for one in run("resume").stdout.splitlines() if one.startswith("Files edited: ")]
    assert line == (
        "Files edited: f2.py (3), f5.py (3), f8.py (3), f11.py (3), f1.py (2), f4.py (2), f7.py (2), f10.py (2)"
    )


def test_a_session_from_the_future_is_not_the_last(run: Run, world: World) -> None:
    """SPEC P-26, bad input: a session with a time of 2100 hides no other one, and its age is not made up."""
    id = begin(world)
    far = "2100-01-01T00:00:00.000Z"
    world.put(
        "far", world.file(id) | {"sessionId": "far", "startedAt": far, "lastActiveAt": far, "tasks": []}
    )
    assert run("resume").stdout.startswith("## The last session here (just now)\nIt ended with:\n> You: go\n")
    assert run("show").stdout.startswith(id)
    world.store.session_path(id).unlink()
    assert run("resume").stdout.startswith("## The last session here (at an unknown time)")


def test_an_unreadable_last_session_is_named(run: Run, world: World) -> None:
    """SPEC P-26, bad input: the newest session's file is half written; the text says so, and shows the one before as such."""
    begin(world, "one")
    world.clock.advance(3 * 86400)
    world.type("two", "hello")
    world.settle()
    path = world.store.session_path("two")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    os.utime(path, (0, 0))
    lines = run("resume").stdout.splitlines()
    assert lines[0] == "## The last session here cannot be read"
    assert lines[1].startswith(f"{path} is not JSON")
    assert lines[2:4] == ["## The session before it (3 days ago)", "It ended with:"]
    assert "- Design (in progress)" in lines
    assert last_session.build_section(ContextRequest(world.project, 9000)) == "\n".join(lines)
    assert (
        last_session.build_section(
            ContextRequest(world.project, len(lines[0]) + len(lines[1]) + 1)
        ).splitlines()
        == lines[:2]
    )
    assert "hello" not in "\n".join(lines)
    for command in (["note", "x"], ["show"]):
        with pytest.raises(UsageError, match="cannot be read"):  # not in the session before it
            run(*command)
    assert run("note", "x", "--session", "one").exit_code == 0
    path.write_bytes(whole)
    world.clock.advance(3600)
    begin(world, "three")
    path.write_bytes(b"{")  # an older one is not the one to resume
    assert run("resume").stdout.startswith("## The last session here (just now)")
    assert str(path) in run("resume").stderr
    for id in ("one", "three"):
        world.store.session_path(id).unlink()
    assert run("resume").stdout.splitlines()[0] == "## The last session here cannot be read"
    assert len(run("resume").stdout.splitlines()) == 2


def test_an_unreadable_session_of_nobody(run: Run, world: World) -> None:
    """SPEC P-26, bad input: of a file that tacitd never wrote, the directory is unknown; it is named on standard error only."""
    begin(world)
    path = world.put("other", {})
    path.write_bytes(b"{")
    os.utime(path, (world.clock.wall + 60, world.clock.wall + 60))
    assert run("resume").stdout.startswith("## The last session here (just now)")
    assert f"cannot read: {path}" in run("resume").stderr
    assert str(path) not in last_session.build_section(ContextRequest(world.project, 9000))
    world.put("other", {"projectPath": str(world.git("elsewhere")), "tasks": 3})
    assert run("resume").stderr == ""


def test_what_is_looked_at_need_not_be_whole(run: Run, world: World) -> None:
    """A file that is not valid enough to be written can still be read."""
    id = begin(world)
    task = {"id": ["a"], "title": 3, "status": {}, "children": ["b"]}
    world.put("odd", {"sessionId": "odd", "projectPath": str(world.project), "tasks": [task], "summary": 5})
    assert len(run("list").stdout.splitlines()) == 3
    assert "'b' is listed in `children`" in run("show", "odd").stderr
    assert "Design" in run("resume").stdout
    assert run("show", id).stdout


def test_null_for_no_parts(run: Run, world: World) -> None:
    """Some programs write null for what is absent."""
    id = begin(world)
    found = world.file(id)
    found["tasks"][0]["children"] = found["tasks"][0]["blockedBy"] = None
    world.put(id, found)
    assert run("show").stdout
    run("task", "Part", "--parent", found["tasks"][0]["id"])
    world.todos(id, ("Design", "completed"))
    world.settle()
    assert world.tasks(id)[0] == ("Design", "completed")
    assert not world.parked()
