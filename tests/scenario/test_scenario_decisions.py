"""What was learned, why, and take it back: each command with a real daemon, and without one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from support_daemon import EXTRACTION, LEARNING, PROGRAM, SYNTHESIS, Daemon, MakeDaemon

pytestmark = pytest.mark.scenario

QUICK = {"EXTRACTION__SETTLE": "0s"}


def ids(daemon: Daemon, *arguments: str) -> dict[str, str]:
    """By text, the ids that `learned` prints."""
    said = daemon.cli("learned", *arguments, "--json", cwd=daemon.project)
    return {one.get("line") or one["text"]: one["id"] for one in json.loads(said.stdout)}


def learn(daemon: Daemon, *words: str, session: str = "s1") -> None:
    """Type each text in one session, and have lines made."""
    for text in words:
        daemon.type_(session, text)
    assert daemon.synthesize() == []


LESSON = "WHEN lighting rooms -> DO buy cobalt-77 lamps -> BECAUSE they are bright"


def list_files_with(daemon: Daemon, *words: str) -> list[str]:
    """The files below the scenario's root with one of these words; not the client's transcripts, nor its stand-in's
    records, nor the terminal of `run`."""
    files = [path for path in daemon.root.rglob("*") if path.is_file()]
    theirs = (daemon.projects, daemon.bin)
    mine = [path for path in files if path.name != "output" and not any(map(path.is_relative_to, theirs))]
    found = [path for path in mine if any(one.encode() in path.read_bytes() for one in words)]
    return sorted(str(path.relative_to(daemon.root)) for path in found)


def test_purged_words_are_in_no_file_that_tacitd_writes(make: MakeDaemon) -> None:
    """docs/files.md: of a line, of a short one, and of a lesson; after each command that keeps words in a file.

    In the state and the cache directory, the memory, the lessons, the rules of all sessions and the project.
    """
    written = {"match": f"(?s){SYNTHESIS}.*lamps", "reply": "FILE: LEARNED.md\nFACT: Prefers cobalt-77 lamps"}
    corrected = {"match": f"(?s){EXTRACTION}.*lamps", "reply": "[1] Corrected: Prefers cobalt-77 lamps"}
    daemon = make([written, corrected, *LEARNING], **QUICK)
    daemon.start()
    learn(daemon, "Prefers ox", "Prefers ox 4 carts", session="s2")
    file = daemon.project / "LEARNED.md"
    file.write_text(file.read_text().replace("- Prefers ox\n", ""))
    learn(daemon, "Prefers ox", session="s3")
    assert daemon.cli("accept", "Prefers ox", cwd=daemon.project).returncode == 0
    learn(daemon, "no: I prefer cobalt-77 lamps", session="s4")
    assert sorted(daemon.learned) == ["Prefers cobalt-77 lamps", "Prefers ox", "Prefers ox 4 carts"]
    assert daemon.cli("lesson", "add", LESSON).returncode == 0
    for arguments in (["report"], ["report", "--all"], ["learned"], ["log"], ["context"], ["status"]):
        done = daemon.cli(*arguments, cwd=daemon.project)
        assert done.returncode == 0, done.stderr
    daemon.restart()
    lines = {"cobalt": "cobalt-77 lamps", "ox": "Prefers ox"}
    before = list_files_with(daemon, *lines.values())
    for name in ("report.html", "tacitd.sqlite", "lessons.jsonl", "index.json", "LEARNED.md"):
        assert any(name in path for path in before), (name, before)
    lesson = next(one["id"] for one in json.loads(daemon.cli("why", "lighting rooms", "--json").stdout))
    short = ids(daemon)["Prefers ox"]
    for asked in (ids(daemon)["Prefers cobalt-77 lamps"], short, lesson):
        done = daemon.cli("forget", asked, "--purge", "--yes", cwd=daemon.project)
        assert done.returncode == 0, done.stderr
        assert "is still stored" not in done.stderr, done.stderr
    daemon.sync()
    daemon.stop()
    assert list_files_with(daemon, "cobalt", "lighting rooms") == []
    left = {
        path: path_lines(daemon.root / path, "Prefers ox") for path in list_files_with(daemon, "Prefers ox")
    }
    assert {one for found in left.values() for one in found} == {"Prefers ox 4 carts"}, left
    daemon.start()
    assert list(ids(daemon)) == ["Prefers ox 4 carts"], "tacitd still knows the line that contains the words"
    learn(daemon, "Prefers ox", "no: I prefer cobalt-77 lamps", session="s9")
    assert daemon.learned == ["Prefers ox 4 carts"]
    assert "cobalt" not in daemon.cli("lesson", "list").stdout


def path_lines(path: Path, words: str) -> set[str]:
    """How the words go on in a file, each time."""
    return {found[0] for found in re.finditer(rf"{words}(?: 4 carts)?", path.read_text(errors="replace"))}


def review(daemon: Daemon) -> list[dict[str, str]]:
    """`tacitd review --json` in the project."""
    found: list[dict[str, str]] = json.loads(daemon.cli("review", "--json", cwd=daemon.project).stdout)
    return found


def test_an_offer_is_declined_offered_again_and_accepted(make: MakeDaemon) -> None:
    """SPEC S-55: learned in three projects, `review` asks about it wherever it runs; accepted, every session loads it."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    for number in range(3):
        other = daemon.new_project(f"p{number}")
        daemon.type_(f"t{number}", "Prefers amber-1", other)
        assert daemon.synthesize(other) == []
    (item,) = review(daemon)
    assert (item["kind"], item["text"], item["root"]) == ("rule offer", "Prefers amber-1", "")
    assert "learned in 3 projects" in item["review"] and str(daemon.home) in item["review"]
    declined = daemon.cli("forget", item["id"], cwd=daemon.project)
    assert "not proposed again" in declined.stderr and review(daemon) == []
    assert daemon.cli("forget", "--undo", item["id"], cwd=daemon.project).returncode == 0
    done = daemon.cli("accept", "amber-1", cwd=daemon.project)
    assert done.returncode == 0 and "every session" in done.stderr, done.stderr
    rules = daemon.home / ".claude/rules/tacitd.md"
    daemon.call("due", job="user-rules")
    daemon.wait_until(lambda _: rules.exists() and "- Prefers amber-1" in rules.read_text(), "the rule")
    assert review(daemon) == []
    withdrawn = daemon.cli("forget", "amber-1", cwd=daemon.project)
    assert withdrawn.returncode == 0 and "never learned again" in withdrawn.stderr, withdrawn.stderr
    daemon.call("due", job="user-rules")
    daemon.wait_until(lambda _: not rules.exists() or "amber-1" not in rules.read_text(), "the rule is gone")


def test_history_shows_the_profile_and_lessons_too(make: MakeDaemon) -> None:
    """Lines, a profile value and a lesson in one list, the newest first; a profile value can be taken back."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    learn(daemon, "Prefers amber-1")
    assert daemon.cli("profile", "set", "tools.editor", "neovim").returncode == 0
    assert daemon.cli("lesson", "add", "WHEN editing -> DO read first -> BECAUSE context").returncode == 0
    rows = json.loads(daemon.cli("history", "--json", cwd=daemon.project).stdout)
    added = {line["added"]: row["id"] for row in rows for line in row["lines"]}
    lesson = next(text for text in added if text.startswith("WHEN editing"))
    assert {"Prefers amber-1", "tools.editor: neovim"} <= set(added)
    done = daemon.cli("undo", added["tools.editor: neovim"])
    assert done.returncode == 0 and daemon.cli("profile", "show").stdout == "", done.stderr
    assert daemon.cli("profile", "set", "tools.editor", "neovim").returncode == 0
    refused = daemon.cli("undo", added[lesson])
    assert refused.returncode == 2 and "tacitd forget" in refused.stderr
    for asked in ("tools.editor", "read first"):
        done = daemon.cli("forget", asked, "--yes", cwd=daemon.project)
        assert done.returncode == 0, done.stderr
    assert "neovim" not in daemon.cli("profile", "show").stdout
    assert "read first" not in daemon.cli("lesson", "list").stdout
    assert daemon.cli("forget", "--undo", "read first", cwd=daemon.project).returncode == 0
    assert "read first" in daemon.cli("lesson", "list").stdout


def test_review_in_a_terminal(make: MakeDaemon) -> None:
    """A person answers in a terminal: drop for good."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    learn(daemon, "Prefers amber-1")
    (daemon.project / "LEARNED.md").write_text("# Learned Preferences\n")
    learn(daemon, "Prefers amber-1", session="s2")
    code, text = play_terminal([*PROGRAM, "review"], daemon, b"d\n")
    assert code == 0 and "1 of 1 decided" in text and "[d]rop for good" in text, text
    assert list(ids(daemon, "--forgotten")) == ["Prefers amber-1"]


def play_terminal(arguments: list[str], daemon: Daemon, typed: bytes) -> tuple[int, str]:
    """Run a command in a pseudo-terminal with these keys; return its exit code and what it printed."""
    import pty

    leader, follower = pty.openpty()
    child = subprocess.Popen(
        arguments, stdin=follower, stdout=follower, stderr=follower, cwd=daemon.project, env=daemon.environ
    )
    os.close(follower)
    os.write(leader, typed)
    text = b""
    signal.alarm(90)
    try:
        while chunk := os.read(leader, 4096):
            text += chunk
    except OSError:  # the other end is closed
        pass
    finally:
        signal.alarm(0)
        os.close(leader)
    return child.wait(), text.decode("utf-8", "replace")
