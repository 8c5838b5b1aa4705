"""What was done two months ago, in a real daemon."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from support_daemon import EXTRACTION, SYNTHESIS, Daemon, MakeDaemon

pytestmark = pytest.mark.scenario

DAY = 86_400.0
# The kernel's clock cannot be set by a test, so each process of the earlier daemon gets one that is so many seconds behind.
EARLIER = """
import sys, time, time_machine
behind, *program = sys.argv[1:]
time_machine.travel(time.time() - float(behind), tick=True).start()
sys.argv = ["tacitd", *program[3:]]
from tacitd.cli.program import main
main()
"""
RULES = [
    {
        "match": rf"(?s){EXTRACTION}.*What the person wrote:\n```\n(Use [^\n]*)",
        "expand": True,
        "reply": r"[1] \g<1>",
    },
    {
        "match": SYNTHESIS,
        "each": r"^\d+\. ([^\n]+)$",
        "reply": "FILE: LEARNED.md\nSECTION: Coding\nFACT: \\g<1>\n",
    },
]
OLD, OTHER, NEW = "Use topaz77 for jewels", "Use opal33 for rings", "Use ruby11 for crowns"


def ask(daemon: Daemon) -> list[Any]:
    """What commands say of the old line and of all changes."""
    asked = (["why", OLD], ["log", "--since", "100d"], ["history"], ["learned"])
    return [json.loads(daemon.cli(*each, "--json", cwd=daemon.project).stdout) for each in asked]


def test_what_is_old_is_shown_undone_and_purged(make: MakeDaemon) -> None:
    """Two months and a start change no answer of a command, and a purge blanks the words in the store too."""
    daemon = make(RULES, EXTRACTION__SETTLE="0s")
    daemon.before = [sys.executable, "-c", EARLIER, str(60 * DAY)]
    daemon.start()
    for session, words in (("s1", OLD), ("s2", OTHER)):
        daemon.type_(session, words)
        assert daemon.synthesize() == []
    daemon.stop()
    daemon.before = []
    daemon.start()
    daemon.type_("s3", NEW)
    assert daemon.synthesize() == []
    daemon.stop()
    before = ask(daemon)
    assert len(before[0]) == 1 and [row["line"] for row in before[3]] == [OLD, OTHER, NEW]
    (made,) = (row["id"] for row in before[2] if row["lines"] and row["lines"][0]["added"] == OTHER)

    daemon.start()
    assert ask(daemon) == before
    assert daemon.cli("undo", made, cwd=daemon.project).returncode == 0
    assert daemon.learned == [OLD, NEW]
    done = daemon.cli("forget", OLD, "--purge", "--yes", cwd=daemon.project)
    assert done.returncode == 0 and daemon.learned == [NEW], done.stderr
    daemon.restart()
    files = [path for path in daemon.state.rglob("*") if path.is_file()]
    assert [path for path in files if OLD.encode() in path.read_bytes()] == []
    assert [row["line"] for row in ask(daemon)[3]] == [NEW]
