"""The text to resume with (SPEC P-26)."""

from __future__ import annotations

from typing import Any

from support_continuity import World
from tacitd_handlers.continuity.resume_text import build_resume_text
from tacitd_handlers.continuity.session_fold import FILES, TranscriptState


def edit(world: World, name: str, times: int = 1) -> None:
    """The assistant edits a file so often."""
    for _ in range(times):
        given = {"file_path": str(world.project / name), "old_string": "a", "new_string": "b"}
        world.use("s1", "Edit", given, "The file has been updated.")


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
