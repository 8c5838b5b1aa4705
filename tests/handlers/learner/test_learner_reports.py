"""What is reported: in transcripts, and to `record`. SPEC X-10, L-23, L-33, L-35, L-48, L-50."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from support_learner import row
from tacitd.errors import UsageError
from tacitd.events import Record
from tacitd.sources.claude_code.records import Block, LineMessage, read_blocks
from tacitd.testing import World
from tacitd_handlers.learner.learner_state import SessionStamp, format_state
from tacitd_handlers.learner.ledger_file import HEADER, format_row
from tacitd_handlers.learner.practice_report import find_reports, parse_report, uses_skill

# --- Teaching sessions and reports in transcripts: SPEC X-10.


FILES = ("leetcode-teacher-profile.md", "leetcode-teacher-ledger.md")
TEXT = '{"problem": "two-sum", "mode": "recall", "verdict": "pass", "gaps": "edge:a"}'


def calls(name: str, **given: str) -> Record:
    block = Block(type="tool_use", id="t", name=name, input=Raw(json.dumps(given).encode()))
    return Record(0, 10, "assistant", tools=read_blocks(LineMessage([block]))[1])


@pytest.mark.parametrize(
    ("record", "teaches"),
    [
        (calls("Skill", skill="leetcode-teacher"), True),
        (calls("Skill", command="practice:leetcode-teacher"), True),
        (calls("Skill", skill="leetcode-teacher-lint"), False),
        (calls("Skill", skill="commit"), False),
        (Record(0, 10, "user", command="/practice:leetcode-teacher"), True),
        (Record(0, 10, "user", command="/clear"), False),
        (calls("Read", file_path="/home/me/.claude/leetcode-teacher-profile.md"), True),
        (calls("Bash", command="echo '| x |' >> ~/.claude/leetcode-teacher-ledger.md"), True),
        (calls("Edit", file_path="/home/me/leetcode-teacher/SKILL.md"), False),
        (calls("Read", file_path="/home/me/app/README.md"), False),
        (Record(0, 10, "assistant", text="leetcode-teacher-ledger.md"), False),
    ],
)
def test_X_10_which_sessions_teach(record: Record, teaches: bool) -> None:
    """SPEC X-10: the skill called by its name, or a tool on the learner's files; text alone does not count."""
    assert uses_skill(record, FILES) is teaches


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"Well done.\n\n```json\n{TEXT}\n```\n", 1),
        (f"```json learner\n{TEXT}\n```\nand\n~~~\n{TEXT}\n~~~\n", 2),
        (f"Without a fence: {TEXT}", 0),
        ('```json\n{"problem": "two-sum", "mode": "recall"}\n```', 0),
        ('```json\n{"problem": "x", "mode": "recall", "verdict": "pass", "nums": [2, 7]}\n```', 0),
        ("```json\n{broken\n```", 0),
        ("```json\n[1, 2]\n```", 0),
        (f"```json\n{TEXT}", 0),
    ],
)
def test_X_10_only_whole_reports_count(text: str, count: int) -> None:
    """SPEC X-10: a fenced object with a verdict and only the fields of a record."""
    assert len(list(find_reports(text))) == count


# --- What `record` takes: SPEC L-33, L-35.


GOOD = {"problem": "two-sum", "mode": "recall", "verdict": "pass"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"problem": ""},
        {"problem": "|"},
        {"mode": "exam"},
        {"verdict": ""},
        {"gaps": "edge:a; ???"},
        {"gaps": 5},
        {"tested": [1]},
        {"timestamp": "yesterday"},
        {"timestamp": "2026-02-30T10:00"},
        {"observations": ["a"]},
        {"descriptions": "x"},
        {"score": 3},
    ],
)
def test_bad_reports_are_refused_with_a_cure(wrong: dict[str, Any]) -> None:
    """Issue, bad input: nothing is guessed."""
    with pytest.raises(UsageError) as refused:
        parse_report({**GOOD, **wrong})
    assert refused.value.hint


def test_L_33_what_is_given_is_made_fit() -> None:
    """SPEC L-33: names are one line without pipes; tags are normalised and unique; lists and strings are accepted."""
    given = {
        "problem": " merge|two \n lists ",
        "mode": "Recall",
        "verdict": "PASS",
        "gaps": "Edge: a; edge:a, dp:b",
    }
    report = parse_report({**given, "tested": ["edge:c"], "descriptions": {"Edge:A": "x"}})
    assert report.row == ("", "", "merge/two lists", "unknown", "recall", "pass", "edge:a; dp:b", "")
    assert (report.tested, report.texts) == (("edge:c",), {"edge:a": "x"})
    assert parse_report({**GOOD, "tested": ""}).tested == () and parse_report(GOOD).tested is None


# --- Reports in transcripts, and what `status` says: SPEC X-10, L-23, L-35, L-48, L-50.


REPORT = {"problem": "two-sum", "pattern": "hash_map", "mode": "recall", "verdict": "pass", "gaps": "edge:a"}
PROFILE, LEDGER = "~/.claude/leetcode-teacher-profile.md", "~/.claude/leetcode-teacher-ledger.md"
STATE = "~/.claude/leetcode-session-state.md"


class Lessons(World):
    """A person with a teacher."""

    def teach(self, session: str, **more: Any) -> None:
        self.use_tool(session, "Skill", skill="leetcode-teacher", **more)

    def report(self, session: str, **more: Any) -> None:
        self.say(session, f"Well done.\n\n```json\n{json.dumps({**REPORT, **more})}\n```\n")

    @property
    def rows(self) -> list[list[str]]:
        """Stamp, session, problem and gaps of each row of the ledger."""
        cells = [line.split(" | ") for line in self.read(LEDGER).splitlines()[4:]]
        return [[one[0].strip("| "), one[1], one[2], one[6]] for one in cells]

    @property
    def says(self) -> list[str]:
        """The learner's lines of `tacitd status`."""
        part: dict[str, Any] = self.run("status", "--json").json["slices"].get("learner", {})
        return list(part.get("says", ()))


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with Lessons(tmp_path, [("", "NONE")]) as made:
        yield made


def test_X_10_a_report_of_a_teaching_session_is_recorded(world: Lessons) -> None:
    """SPEC X-10, L-48: with the session's id and its local start time; once, also after a restart, which keeps the start."""
    at = world.minutes()
    world.type("s1", "teach me two-sum").wait(3000)
    world.teach("s1")
    world.restart(kill=True)
    world.report("s1", observations="Fine.", tested=["edge:b"])
    assert world.rows == [[at, "s1", "two-sum", "edge:a"]] and "Fine." in world.read(PROFILE)
    assert "recovered" not in world.read(PROFILE)
    world.restart(kill=True)
    world.report("s1")
    world.report("s1", problem="lru")
    assert [one[2] for one in world.rows] == ["two-sum", "lru"] and {one[0] for one in world.rows} == {at}


def test_X_10_other_sessions_report_nothing(world: Lessons) -> None:
    """SPEC X-10: no row from a session without the skill, from before its first use, from a person's text, or without a verdict."""
    world.report("s1")
    world.teach("s2")
    world.type("s2", f"```json\n{json.dumps(REPORT)}\n```")
    world.say("s2", '```json\n{"problem": "two-sum", "mode": "recall"}\n```')
    assert not world.rows and not world.read(PROFILE)
    world.teach("s1")
    world.report("s1", problem="lru")
    assert [one[2] for one in world.rows] == ["lru"]


def test_X_10_work_on_one_of_the_files_teaches(tmp_path: Path) -> None:
    """SPEC X-10, L-01: any tool that names the profile or the ledger, with the names that are configured."""
    settings = {"LEARNER__LEDGER": "~/mine.md"}
    world = Lessons(tmp_path, [("", "NONE")], settings=settings)
    with world:
        world.wait(60)
        world.edit_in_session("s1", world.home / "mine.md")
        world.report("s1")
        world.use_tool("s2", "Read", file_path="~/.claude/leetcode-teacher-ledger.md")
        world.report("s2")
        assert world.read("~/mine.md").count("| two-sum |") == 1 and "| s2 |" not in world.read("~/mine.md")


def test_L_23_a_fork_of_a_teaching_session_reports_nothing_twice(world: Lessons) -> None:
    """SPEC L-23: a copied transcript contains the old report under a new session."""
    world.teach("s1")
    world.report("s1")
    world.fork("s1", "s2").wait(60)
    assert len(world.rows) == 1


def test_X_10_a_report_that_is_refused_is_in_the_log(world: Lessons) -> None:
    """SPEC X-10: it makes no row, and `tacitd log` says why; the next one is recorded."""
    world.teach("s1")
    world.report("s1", verdict="brilliant")
    world.report("s1", problem="lru")
    world.wait(60)
    assert [row[2] for row in world.rows] == ["lru"]
    said = world.run("log").out
    assert "a report of s1: " in said and "verdict" in said


def test_L_48_the_session_state_file(world: Lessons) -> None:
    """SPEC L-48: written before and at a compaction, for teaching sessions only, with the stamp of the session's other writes."""
    at = world.minutes()
    world.type("s1", "hello").compact("s1", "Summary: x")
    assert not world.read(STATE)
    world.teach("s1")
    world.hook("PreCompact", "s1")
    world.wait()
    text = format_state(SessionStamp("s1", at), "~/.claude/leetcode-teacher-profile.md")
    assert world.read(STATE) == text and world.path(STATE).stat().st_mode & 0o777 == 0o600
    world.path(STATE).unlink()
    world.wait(7200).compact("s1", "Summary: y")
    assert world.read(STATE) == text
    world.report("s1")
    assert world.rows[0][0] == at


def test_L_50_what_status_says(world: Lessons, tmp_path: Path) -> None:
    """SPEC L-50, L-11: one line of counts as soon as there is an entry; retests until they are tested; lines that are no rows."""
    assert world.says == []
    full = Path(__file__).parents[2] / "fixtures/learner/full.profile.md"
    world.set_clock(datetime(2026, 4, 10, 15).timestamp() - world.clock.now())
    world.write(PROFILE, full.read_text()).wait(600)
    assert world.says[1:] == ["retests due: window:negative_indices, heap:tie_break"]
    world.write(LEDGER, HEADER.decode() + "| torn\n" + format_row(row(0, "edge:z")) + "\n").wait(600)
    assert world.says[0].startswith("3 reviews in the ledger, 6 active weaknesses")
    assert "lines of" in world.run("status").out


def test_a_ledger_that_cannot_be_written_is_waited_for(world: Lessons) -> None:
    """A report that cannot be written waits, and is recorded once it can be."""
    world.path(LEDGER).mkdir(parents=True)
    world.teach("s1")
    world.report("s1")
    assert "not an ordinary file" in world.run("status").out
    world.path(LEDGER).rmdir()
    world.run("sync")
    world.wait(3600)
    assert len(world.rows) == 1
