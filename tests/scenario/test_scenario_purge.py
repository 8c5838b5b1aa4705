"""`tacitd forget --purge` in every file that docs/files.md lists: no words are left, or the command names the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_daemon import LEARNING, Daemon, MakeDaemon

pytestmark = pytest.mark.scenario

WORDS = "Prefers topaz-77 jewels"
RECORD = json.dumps({"at": 1.0, "text": WORDS, "words": [WORDS]}) + "\n"
IN_STATE = ("start.log", "tacitd.1.log")
IN_HOME = (".claude/user-memory/changelog.jsonl", ".claude/user-memory/sessions/session-other.json")
IN_PROJECT = ("tmp/known-facts-summary.md",)
OF_THE_PERSON = (
    ".claude/leetcode-teacher-profile.md",
    ".claude/leetcode-teacher-ledger.md",
    ".local/share/tacitd/tutor/sessions/one.jsonl",
    ".local/share/tacitd/tutor/sessions/one.md",
)
"""They are shared with the person, so they stay as they are and are named."""


def list_files_with_words(daemon: Daemon) -> set[Path]:
    """The files with the words; not the client's transcripts and the stand-in's records, nor the terminal of `run`."""
    files = [path for path in daemon.root.rglob("*") if path.is_file() and path.name != "output"]
    theirs = (daemon.projects, daemon.bin)
    mine = (path for path in files if not any(map(path.is_relative_to, theirs)))
    return {path for path in mine if WORDS.encode() in path.read_bytes()}


def test_purged_words_are_blanked_or_the_file_is_named(make: MakeDaemon) -> None:
    """Logs with what a plugin never made, damaged changelog lines and files put aside are blanked; a person's are named."""
    daemon = make(LEARNING, EXTRACTION__SETTLE="0s")
    daemon.start()
    daemon.type_("s1", WORDS)
    assert daemon.synthesize() == [] and daemon.learned == [WORDS]
    daemon.stop()
    blanked = {daemon.state / name for name in IN_STATE}
    blanked |= {daemon.home / name for name in IN_HOME} | {daemon.project / name for name in IN_PROJECT}
    kept = {daemon.home / name for name in OF_THE_PERSON}
    for path in (*blanked, *kept):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(RECORD)
        path.chmod(0o600)
    with (daemon.home / IN_HOME[0]).open("a") as file:
        file.write(f"{WORDS} is no record\n")
    daemon.start()
    found = list_files_with_words(daemon)
    assert kept <= found and len(blanked & found) >= len(blanked) - 2, (
        "a daemon may have read some of them away"
    )
    done = daemon.cli("forget", WORDS, "--purge", "--yes", cwd=daemon.project)
    assert done.returncode == 0, done.stderr
    named = done.stderr.partition("left in files that are yours, edit them by hand: ")[2].strip()
    assert list_files_with_words(daemon) == kept == set(map(Path, named.split(", "))), done.stderr
    daemon.stop()
    assert list_files_with_words(daemon) == kept
