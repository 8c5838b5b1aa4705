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


def state_contains(daemon: Daemon, words: str) -> list[str]:
    """The files of the state directory, of the memory directories and of the project's `tmp/` that contain these words."""
    tops = (
        daemon.state,
        daemon.home / ".claude/user-memory",
        daemon.home / ".claude/rules",
        daemon.project / "tmp",
    )
    files = [path for top in tops for path in top.rglob("*") if path.is_file()]
    return [str(path) for path in files if words.encode() in path.read_bytes()]


@pytest.mark.parametrize("running", [True, False])
def test_forgotten_in_the_daemon_and_without_one(make: MakeDaemon, running: bool) -> None:
    """The line goes with its copy, said again it is neither written nor offered, and `--undo` puts it back."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    learn(daemon, "Prefers amber-1", "Prefers amber-2")
    copy = daemon.project / ".claude/rules/tacitd-learned.md"
    assert "amber-1" in copy.read_text()
    id = ids(daemon)["Prefers amber-1"]
    if not running:
        daemon.stop()
    done = daemon.cli("forget", id, cwd=daemon.home)
    assert done.returncode == 0 and "never learned again" in done.stderr, done.stderr
    assert daemon.learned == ["Prefers amber-2"] and "amber-1" not in copy.read_text()
    if not running:
        daemon.start()
    shown = daemon.status()["learned"]
    assert shown["today"] == 1 and [row["text"] for row in shown["last"]] == ["Prefers amber-2"]
    learn(daemon, "Prefers amber-1", "Prefers amber-3", session="s2")
    assert daemon.learned == ["Prefers amber-2", "Prefers amber-3"]
    assert json.loads(daemon.cli("learned", "--withheld", "--json", cwd=daemon.project).stdout) == []
    assert list(ids(daemon, "--forgotten")) == ["Prefers amber-1"]
    again = daemon.cli("forget", id, cwd=daemon.project)
    assert again.returncode == 2 and "forgotten already" in again.stderr
    assert daemon.cli("forget", "--undo", id).returncode == 0
    assert sorted(daemon.learned) == ["Prefers amber-1", "Prefers amber-2", "Prefers amber-3"]


def test_purged_words_are_in_no_file_of_the_state_directory(make: MakeDaemon) -> None:
    """Line, fact and prompt; the running daemon goes on, and does not learn it again."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    learn(daemon, "Prefers amber-77 jewels", "Prefers basalt-8")
    with (daemon.project / "tmp/learning-raw.jsonl").open("a") as file:
        file.write(json.dumps({"ts": "2026-01-01T00:00:00Z", "facts": ["Prefers amber-77 jewels"]}) + "\n")
    assert any(path.endswith("learning-raw.jsonl") for path in state_contains(daemon, "amber-77 jewels"))
    mine = daemon.home / ".claude/user-memory/notes.txt"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("my own file: amber-77\n")
    done = daemon.cli("forget", "amber-77", "--purge", "--yes", cwd=daemon.project)
    assert done.returncode == 0 and "blanked in" in done.stderr, done.stderr
    assert daemon.learned == ["Prefers basalt-8"]
    assert state_contains(daemon, "amber-77 jewels") == []
    daemon.stop()
    assert state_contains(daemon, "amber-77 jewels") == [], (
        "it had them in memory when it wrote its last status"
    )
    daemon.start()
    assert mine.read_text() == "my own file: amber-77\n"
    learn(daemon, "Prefers amber-77 jewels", "Prefers opal-9", session="s2")
    assert daemon.learned == ["Prefers basalt-8", "Prefers opal-9"]
    daemon.restart()
    assert daemon.learned == ["Prefers basalt-8", "Prefers opal-9"]
    assert daemon.status()["degraded"] == []


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


def test_a_persons_own_line_is_not_removed_silently(make: MakeDaemon) -> None:
    """Without a terminal nothing answers the question, so nothing happens."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    learn(daemon, "Prefers amber-1")
    file = daemon.project / "LEARNED.md"
    file.write_text(file.read_text() + "\n## Mine\n\n- keep this line\n")
    before = file.read_bytes()
    refused = daemon.cli("forget", "keep this", cwd=daemon.project)
    assert refused.returncode == 1 and "yourself" in refused.stderr and file.read_bytes() == before
    assert daemon.cli("forget", "keep this", "--yes", cwd=daemon.project).returncode == 0
    assert "keep this" not in file.read_text() and "## Mine" in file.read_text()


def test_a_withheld_line_is_reviewed_and_accepted(make: MakeDaemon) -> None:
    """Removed by hand and said again: `review` names it, `accept` writes it."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    learn(daemon, "Prefers amber-1", "Prefers amber-2")
    file = daemon.project / "LEARNED.md"
    file.write_text(file.read_text().replace("- Prefers amber-1\n", ""))
    learn(daemon, "Prefers amber-1", session="s2")
    assert daemon.learned == ["Prefers amber-2"]
    (item,) = json.loads(daemon.cli("review", "--json", cwd=daemon.project).stdout)
    assert (item["text"], item["kind"]) == ("Prefers amber-1", "withheld line")
    assert item["id"] in daemon.cli("review", cwd=daemon.project).stdout
    done = daemon.cli("accept", item["id"], cwd=daemon.project)
    assert done.returncode == 0, done.stderr
    assert sorted(daemon.learned) == ["Prefers amber-1", "Prefers amber-2"]
    daemon.sync()
    assert json.loads(daemon.cli("review", "--json", cwd=daemon.project).stdout) == []


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
    assert "not offered again" in declined.stderr and review(daemon) == []
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


def test_a_rule_that_is_not_heeded_is_reviewed(make: MakeDaemon) -> None:
    """Corrected twice after it was written: `status` names it, `review` asks with a proposal until it is kept."""
    line = "Prefers amber-1"
    again = {"match": f"(?s){EXTRACTION}.*amber again", "reply": f"[1] Corrected: AGAIN: {line}"}
    nothing = {"match": f"(?s){SYNTHESIS}.*said 2 times", "reply": "NONE"}
    daemon = make([again, nothing, *LEARNING], **QUICK)
    daemon.start()
    learn(daemon, line)
    for number in (2, 3):
        assert review(daemon) == []
        learn(daemon, f"amber again, number {number}", session=f"s{number}")
    assert any("corrected at least twice" in text for text in daemon.status()["slices"]["learning"]["says"])
    (item,) = review(daemon)
    assert item["text"] == line and "2 times since" in item["review"] and "a hook" in item["review"]
    code, text = play_terminal([*PROGRAM, "review"], daemon, b"k\n")
    assert code == 0 and "have it checked" in text and "1 of 1 decided" in text, text
    assert review(daemon) == [] and daemon.status()["slices"]["learning"]["unheeded"] == {}
    assert daemon.learned == [line]


def test_learned_finds_lines_by_words_and_why_explains_an_id(make: MakeDaemon) -> None:
    """In one project and in all; the words, the session, the local time and what the calls cost."""
    daemon = make(LEARNING, **QUICK)
    other = daemon.new_project("other")
    daemon.start()
    learn(daemon, "Prefers amber-1", "Prefers basalt-2")
    daemon.type_("s9", "Prefers opal-3", other)
    assert daemon.synthesize(other) == []
    assert list(ids(daemon, "AMBER")) == ["Prefers amber-1"]
    assert list(ids(daemon, "--all")) == ["Prefers amber-1", "Prefers basalt-2", "Prefers opal-3"]
    assert daemon.cli("learned", "marble", cwd=daemon.project).returncode == 1
    missing = daemon.cli("learned", "./ap", cwd=daemon.project.parent)
    assert missing.returncode == 2 and "no such directory" in missing.stderr
    said = daemon.cli("why", ids(daemon, "--all")["Prefers opal-3"], cwd=daemon.project)
    for words in (
        str(other),
        "from session s9",
        "you said in Claude Code at 20",
        "extraction by",
        "synthesis by",
        "$",
    ):
        assert words in said.stdout, said.stdout
    (row,) = json.loads(daemon.cli("why", "basalt", "--json", cwd=daemon.project).stdout)
    assert row["id"] == ids(daemon)["Prefers basalt-2"] and len(row["calls"]) == 2


def test_a_waiting_fact_is_said_with_the_command_that_writes_it(make: MakeDaemon) -> None:
    """`learned` and `why`; after `sync --write` it is a line, and an excluded project keeps no command waiting."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.sync()
    said = daemon.cli("learned", cwd=daemon.project)
    assert "1 fact waits, written " in said.stderr and "`tacitd sync --write` does it now" in said.stderr
    assert "waits, written " in daemon.cli("why", "amber", cwd=daemon.project).stdout
    daemon.cli("exclude", str(daemon.project))
    done = daemon.cli("sync", "--write", "--timeout", "60")
    assert done.returncode == 0 and "exclude --undo" in done.stderr, done.stderr
    assert daemon.learned == []
    daemon.cli("exclude", "--undo", str(daemon.project))
    assert daemon.cli("sync", "--write", "--timeout", "60").returncode == 0
    assert daemon.learned == ["Prefers amber-1"]


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


def test_the_copy_follows_an_undo_without_a_daemon(make: MakeDaemon) -> None:
    """The line goes with the command; its copy in `.claude/rules/` goes at the daemon's next start, without a new session."""
    daemon = make(LEARNING, **QUICK)
    daemon.start()
    learn(daemon, "Prefers amber-1", "Prefers basalt-2")
    learn(daemon, "Prefers opal-3", session="s2")
    copy = daemon.project / ".claude/rules/tacitd-learned.md"
    daemon.stop()
    change = json.loads(daemon.cli("history", "--json", cwd=daemon.project).stdout)[0]["id"]
    assert daemon.cli("undo", change, cwd=daemon.project).returncode == 0
    assert daemon.learned == ["Prefers amber-1", "Prefers basalt-2"]
    daemon.start()
    daemon.wait_until(lambda _: "opal-3" not in copy.read_text(), "the copy without the line")
    assert "amber-1" in copy.read_text() and "basalt-2" in copy.read_text()
    assert daemon.learned == ["Prefers amber-1", "Prefers basalt-2"]
