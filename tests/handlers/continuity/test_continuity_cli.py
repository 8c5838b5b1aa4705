"""`tacitd sessions …`, and the text for a session's start."""

from __future__ import annotations

import json

import pytest

from support_continuity import World
from tacitd.clock import utc_millis
from tacitd.errors import TacitdError, UsageError
from tacitd.files.json_document import NotUnderstoodError
from tacitd_handlers.continuity.session_document import find_path


def begin(world: World, id: str = "abcdef12-3456") -> str:
    """A session with three tasks."""
    world.type(id, "go")
    world.todos(id, ("Design", "in_progress"), ("Build", "pending"), ("Plan", "completed"))
    world.settle()
    return id


@pytest.mark.usefixtures("far_west")
def test_list_and_show(world: World) -> None:
    """`list`, and `show ID` with an id or its beginning. A time without a zone is local."""
    world.clock.wall = 1_795_149_000.0  # 2026-11-20T04:30Z, 23:30 of the day before in EST5
    assert world.run("list").stdout == ""
    id = begin(world)
    other = world.bench.make_project("other")
    world.put("elsewhere", world.file(id) | {"sessionId": "elsewhere", "projectPath": str(other)})
    assert world.bench.status_lines == ["1 session"]
    head, first, _ = world.run("list").stdout.splitlines()
    assert head.split() == ["LAST", "ACTIVE", "ID", "OPEN", "TASKS", "SUMMARY"]
    assert first.startswith("2026-11-19 23:30") and world.file(id)["lastActiveAt"].startswith("2026-11-20T04")
    (only,) = json.loads(world.run("list", str(world.project), "--json").stdout)
    assert (only["id"], only["sessionId"], only["open"]) == (id, id, 2)
    assert world.run("show").stdout.startswith(f"sessionId: {id}\nprojectPath: {world.project}\n")
    assert json.loads(world.run("show", "abcdef", "--json").stdout) == world.file(id)
    for wrong in ("nothing", ""):
        with pytest.raises(TacitdError):
            world.run("show", wrong)


def test_task(world: World) -> None:
    """P-22, P-23: create, block and unblock a task with parts; later growth of the transcript keeps it."""
    id = begin(world)
    world.clock.advance(60)
    made = world.run("task", "Add users table", "--blocked-by", "DBA approval").stdout.strip()
    part = world.run("task", "Write migration", "--parent", made).stdout.strip()
    task = next(one for one in world.file(id)["tasks"] if one["id"] == made)
    assert (task["status"], task["blockedBy"], task["children"]) == ("blocked", "DBA approval", [part])
    assert world.file(id)["lastActiveAt"] == utc_millis(world.clock.now())
    world.run("task", "--id", made, "--status", "in_progress", "--notes", "soon")
    world.todos(id, ("Ship", "pending"))
    world.settle()
    found = {one["id"]: one for one in world.file(id)["tasks"]}
    assert found[made] | {"createdAt": "", "updatedAt": ""} == {
        "id": made, "title": "Add users table", "status": "in_progress", "createdAt": "", "updatedAt": "",
        "children": [part], "notes": "soon",
    }  # fmt: skip
    assert found[made]["createdAt"] == task["createdAt"]
    world.run("task", "--id", part, "--parent", next(iter(found)))
    assert "children" not in next(one for one in world.file(id)["tasks"] if one["id"] == made)
    world.todos(id, ("Ship", "completed"))
    world.settle()
    assert world.file(id)["tasks"][0]["children"] == [part], "the client's task keeps the person's part"


@pytest.mark.parametrize(
    "arguments",
    [
        ["task"], ["task", "--id", "no-such"], ["task", "x", "--parent", "no-such"],
        ["task", "x", "--blocked-by", "y", "--status", "pending"], ["note", " "], ["decide", ""],
        ["note", "x", "--session", "no-such"], ["summary", " "],
    ],
)  # fmt: skip
def test_wrong_use_changes_nothing(world: World, arguments: list[str]) -> None:
    """An error, and the file is unchanged."""
    id = begin(world)
    before = find_path(id).read_bytes()
    with pytest.raises(TacitdError):
        world.run(*arguments)
    assert find_path(id).read_bytes() == before


def test_decide_note_and_summary(world: World) -> None:
    """P-22, P-24: a decision with rationale and alternatives; a note once, and twenty of them; a summary that then stays."""
    id = begin(world)
    world.run("decide", "Use JWT", "--because", "stateless", "--instead", "cookies", "--instead", "OAuth")
    for number in (*range(21), 20):
        world.run("note", f"note {number}", "--session", "abcdef")
    (decision,) = world.file(id)["decisions"]
    assert (decision["rationale"], decision["alternatives"]) == ("stateless", ["cookies", "OAuth"])
    assert world.file(id)["context"] == [f"note {number}" for number in range(1, 21)]
    world.run("summary", " Its tests are left. ")
    world.compact(id, "The client's own.")
    world.settle()
    assert world.file(id)["summary"] == "Its tests are left."
    assert world.bench.rows("SELECT * FROM change_line") == [], "no part of the history"


def test_a_handoff_goes_into_the_session_that_runs_it(world: World) -> None:
    """P-22: of two sessions in one project each writes into its own, although the other one is newer."""
    mine = begin(world, "aaa")
    world.clock.advance(60)
    other = begin(world, "bbb")
    for arguments in (
        ("summary", "It works."),
        ("task", "Test it"),
        ("decide", "Use JWT"),
        ("note", "Postgres"),
    ):
        world.run(*arguments, session=mine)
    assert world.file(mine)["summary"] == "It works." and world.file(mine)["decisions"]
    assert "summary" not in world.file(other) and world.file(other)["decisions"] == []
    assert json.loads(world.run("show", "--json", session=mine).stdout)["sessionId"] == mine
    world.run("note", "for the other one", "--session", other, session=mine)
    assert "for the other one" in world.file(other)["context"]
    with pytest.raises(UsageError, match="has no file yet"):
        world.run("summary", "It is of no other session.", session="ccc")
    assert "summary" not in world.file(other)


def test_there_is_no_session_here(world: World) -> None:
    """A hint, not a traceback."""
    with pytest.raises(UsageError, match="no session yet"):
        world.run("note", "x")
    assert "no session to resume" in world.run("resume").stderr
    with pytest.raises(UsageError):
        world.run("resume", str(world.home / "no-such"))


def test_resume(world: World) -> None:
    """P-26: the last session of the project always, and an earlier one with open tasks under its own heading."""
    id = begin(world)
    world.run("task", "Release", "--blocked-by", "the key")
    world.run("decide", "Use JWT", "--because", "stateless")
    world.put(id, world.file(id) | {"summary": "Built the parser."})
    (world.project / "src").mkdir(exist_ok=True)
    assert world.resume(world.project / "src") == [
        "## The last session here (just now)", "Built the parser.", "It ended with:", "> You: go",
        "Open:", "- Design (in progress)", "- Build", "Blocked:", "- Release (waits for: the key)", "Done: Plan",
        "Decided:", "- Use JWT, because: stateless",
    ]  # fmt: skip
    world.clock.advance(50 * 3600)
    world.type("newer", "hello")
    world.settle()
    text = world.run("resume").stdout
    assert text.splitlines() == [
        "## The last session here (just now)", "It ended with:", "> You: hello",
        "## An earlier session (2 days ago, still open)", "- Design (in progress)", "- Build", "- Release (waits for: the key)",
    ]  # fmt: skip
    assert world.text() == text.rstrip("\n")
    assert world.text(session="newer").startswith("## The last session here (2 days ago)\nBuilt")
    assert world.text(world.bench.make_project("other")) == world.text(occasion="compact") == ""
    assert (
        world.text(budget=80).splitlines()[:1] == text.splitlines()[:1] and len(world.text(budget=80)) <= 80
    )
    assert world.text(budget=10) == ""
    world.put("newer", world.file("newer") | {"projectPath": str(world.project / "removed" / "deep")})
    assert "> You: hello" in world.resume(), "a directory that was removed belongs to its repository"


def test_show_has_everything(world: World) -> None:
    """`show` prints everything without hidden characters, and names children that are no tasks."""
    id = begin(world)
    world.run("decide", "Use JWT", "--because", "stateless", "--instead", "cookies", "--instead", "OAuth")
    world.run("task", "Release", "--notes", "ask Ann")
    world.put(id, world.file(id) | {"summary": "Now: one.\nPending:\n- two", "context": ["a\u202e\u200b\nb"]})
    lines = world.run("show", id).stdout.splitlines()
    for line in ("summary: Now: one.", "  - two", "  rationale: stateless", "  alternatives: cookies", "  alternatives: OAuth",
                 "  notes: ask Ann", "context: a", "  b"):  # fmt: skip
        assert line in lines
    tasks = world.file(id)["tasks"]
    world.put(id, world.file(id) | {"tasks": [tasks[0] | {"children": ["b"]}, *tasks[1:]]})
    assert "'b' is listed in `children`" in world.run("show").stderr


def test_a_session_from_the_future_is_not_the_last(world: World) -> None:
    """P-26, bad input: a session with a time of 2100 hides no other one, and its age is not made up."""
    id = begin(world)
    far = "2100-01-01T00:00:00.000Z"
    times = {"startedAt": far, "lastActiveAt": far}
    world.put("far", world.file(id) | {"sessionId": "far", "tasks": []} | times)
    assert world.resume()[:3] == ["## The last session here (just now)", "It ended with:", "> You: go"]
    assert world.run("show").stdout.startswith(f"sessionId: {id}\n")
    find_path(id).unlink()
    assert world.resume() == [], "no heading of a session of which nothing is known"


def test_an_unreadable_session_is_named(world: World) -> None:
    """P-26, bad input: the newest session's file is half written; `resume` names it, and shows the one before."""
    begin(world, "one")
    world.clock.advance(3 * 86_400)
    world.type("two", "hello")
    world.settle()
    path = world.put("two", find_path("two").read_text()[:60])
    done = world.run("resume")
    assert f"cannot read: {path} is not JSON" in done.stderr and "hello" not in done.stdout
    assert done.stdout.startswith("## The last session here (3 days ago)") and "Design" in world.text()
    with pytest.raises(NotUnderstoodError):
        world.run("note", "x", session="two")
    find_path("one").unlink()
    assert world.resume() == []
