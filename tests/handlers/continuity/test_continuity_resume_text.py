"""The text to resume with, as a person reads it a week later: a session without a model, compared with a golden file.

TACITD_WRITE_GOLDEN=1 writes the file anew; read it before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from support_continuity import FIXTURES, World
from tacitd_handlers.continuity.resume_text import build_resume_text
from tacitd_handlers.continuity.session_fold import FILES, TranscriptState

WEEK = 7 * 86_400.0


def edit(world: World, name: str, times: int = 1) -> None:
    """The assistant edits a file so often."""
    for _ in range(times):
        given = {"file_path": str(world.project / name), "old_string": "a", "new_string": "b"}
        world.use("s1", "Edit", given, "The file has been updated.")


def ends_with_a_question(world: World) -> None:
    """A feature is nearly done; the assistant asked something, and the person left."""
    world.append("s1", world.record("user", "s1", "Add rate limiting to the login endpoint.\nIt must survive a restart.", gitBranch="feature/rate-limit"))  # fmt: skip
    world.say("s1", "I'll look at the endpoint first.")
    todos = [
        "Store attempts in Redis",
        "Limit by address and account",
        "Test the restart",
        "Write the migration note",
    ]
    world.todos(
        "s1",
        (todos[0], "completed"),
        (todos[1], "completed"),
        (todos[2], "in_progress"),
        (todos[3], "pending"),
    )
    edit(world, "auth/limits.py", 4)
    edit(world, "auth/views.py", 2)
    edit(world, "tests/test_limits.py")
    world.type("s1", "use a sliding window, not fixed buckets")
    edit(world, "auth/limits.py", 2)
    world.say(
        "s1",
        "The sliding window works: `tests/test_limits.py` has 9 tests and all pass.\n\n"
        "| case | result |\n|---|---|\n| burst | 429 |\n\n"
        "One thing is open. Redis may lose the last second of attempts when it is killed, e.g. by the OOM killer. "
        "Which do you prefer?\n\n"
        "1. Accept it: one second of attempts is lost at most.\n"
        "2. `appendfsync always`: nothing is lost, and each login takes about 2 ms longer.\n",
    )


def test_a_person_comes_back_after_a_week(tmp_path: Path) -> None:
    """P-26: when, branch, the last prompts, the end of the last turn, files, tasks, without a model."""
    with World(tmp_path, continuity__summaries="false") as world:
        ends_with_a_question(world)
        world.end()
        world.clock.advance(WEEK)
        text = world.run("resume").stdout
    golden = FIXTURES / "resume" / "ends_with_a_question.txt"
    if os.environ.get("TACITD_WRITE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_the_last_words_of_both(world: World) -> None:
    """P-26: what the person wrote last comes last, also an answer to the client's tool. The file has none of it."""
    world.append("s1", world.record("user", "s1", "start", gitBranch="fix/login"))
    world.say("s1", "Shall I use Postgres?")
    world.append("s1", world.record("user", "s1", "yes", gitBranch="HEAD"))  # a detached head
    world.say("s1", "I use Postgres. Is password: hunter2secret9! right?")
    for name, error in (("a.py", False), ("b.py", False), ("a.py", False), ("no.py", True)):
        world.use("s1", "Edit", {"file_path": str(world.project / name)}, error=error)
    world.settle()
    assert world.resume() == [
        "## The last session here (just now, on branch fix/login)", "It ended with:", "> You: start",
        "> You: yes", "> Assistant: I use Postgres. Is password: [secret] right?",
        "Files edited: a.py (2), b.py",
    ]  # fmt: skip
    assert world.file("s1")["context"] == [] and "Postgres" not in str(world.file("s1"))
    answers = {"Do you want this plan, or the simpler one?": "The simpler one."}
    world.use("s1", "AskUserQuestion", {}, "answered", data={"answers": answers})
    world.settle()
    assert world.resume()[-2] == "> You: The simpler one."
    world.say("s1", "word " * 10_000 + "right?")
    world.settle()
    (end,) = [line for line in world.resume() if line.startswith("> Assistant: …word")]
    assert end.endswith(" right?") and len(end) < 700


def test_the_most_edited_file_may_come_last(world: World) -> None:
    """P-26: also of more files than are kept."""
    world.append("s1", world.record("user", "s1", "rename it everywhere"))
    for number in range(FILES):
        edit(world, f"f{number}.py")
    edit(world, "last.py", 2)
    world.settle()
    assert world.resume()[-1].startswith("Files edited: last.py (2), f0.py, ")


def test_the_text_is_short() -> None:
    """P-26: of each list a few, with the number of those that are left out; the most edited files."""
    tasks = [{"id": str(n), "title": f"t{n}", "status": "blocked" if n % 2 else "pending"} for n in range(80)]
    document = {
        "summary": "S.",
        "tasks": tasks,
        "decisions": [],
        "context": ["n"] * 20,
        "lastActiveAt": "9999",
    }
    lines = build_resume_text([document], 0.0).splitlines()
    assert len(lines) <= 30 and lines[0] == "## The last session here (at an unknown time)"
    assert lines[2:5] == ["Open:", "- t0", "- t2"] and lines.count("- … and 32 more") == 2
    hidden = {"id": "x", "title": "\u200b", "status": "pending"}
    later = {**document, "tasks": [hidden], "lastActiveAt": "1970-01-01T01:00:00Z"}
    both = build_resume_text([later, document], 0.0).splitlines()
    assert both[0] == "## The last session here (just now)", "another machine's clock may be ahead"
    assert "Open:" not in both and both[-1] == "- … and 75 more"
    assert lines[-6:] == ["Noted:", *["- n"] * 5]
    state = TranscriptState("s1", edits={f"f{n}.py": 1 + n % 3 for n in range(12)})
    empty: dict[str, Any] = {"tasks": [], "decisions": [], "context": [], "lastActiveAt": "9999"}
    assert build_resume_text([empty], 0.0) == "", "nothing is known of it but its file"
    assert build_resume_text([empty], 0.0, state).splitlines()[1:] == [
        "Files edited: f2.py (3), f5.py (3), f8.py (3), f11.py (3), f1.py (2), f4.py (2), f7.py (2), f10.py (2)"
    ]
