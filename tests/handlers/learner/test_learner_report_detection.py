"""Teaching sessions and reports in transcripts: SPEC X-10."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from tacitd.events import Record
from tacitd.sources.claude_code.records import Block, LineMessage, read_blocks
from tacitd_handlers.learner.practice_report import find_reports, report_id, uses_skill

SKILLS, FILES = ("leetcode-teacher",), ("leetcode-teacher-profile.md", "leetcode-teacher-ledger.md")
REPORT = '{"problem": "two-sum", "mode": "recall", "verdict": "pass", "gaps": "edge:a"}'


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
        (calls("Read", file_path="/home/me/.claude/leetcode-teacher-profile.md"), True),
        (calls("Bash", command="echo '| x |' >> ~/.claude/leetcode-teacher-ledger.md"), True),
        (calls("Edit", file_path="/home/me/leetcode-teacher/SKILL.md"), False),
        (calls("Read", file_path="/home/me/app/README.md"), False),
        (Record(0, 10, "assistant", text="leetcode-teacher-ledger.md"), False),
    ],
)
def test_X_10_which_sessions_teach(record: Record, teaches: bool) -> None:
    """SPEC X-10: the skill called by its name, or a tool on the learner's files; text alone does not count."""
    assert uses_skill(record, SKILLS, FILES) is teaches


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"Well done.\n\n```json\n{REPORT}\n```\n", 1),
        (f"```json learner\n{REPORT}\n```\nand\n~~~\n{REPORT}\n~~~\n", 2),
        (f"Without a fence: {REPORT}", 0),
        ('```json\n{"problem": "two-sum", "mode": "recall"}\n```', 0),
        ('```json\n{"problem": "x", "mode": "recall", "verdict": "pass", "nums": [2, 7]}\n```', 0),
        ("```json\n{broken\n```", 0),
        ("```json\n[1, 2]\n```", 0),
        (f"```json\n{REPORT}", 0),
    ],
)
def test_X_10_only_whole_reports_count(text: str, count: int) -> None:
    """SPEC X-10: a fenced object with a verdict and only the fields of a record."""
    assert len(list(find_reports(text))) == count


def test_a_copied_report_is_the_same_report() -> None:
    """SPEC L-23: a fork copies records under new ids and keeps their time."""
    given = next(find_reports(f"```json\n{REPORT}\n```"))
    one, copy = Record(0, 9, "assistant", "u1", "s", 5.0), Record(7, 99, "assistant", "u2", "t", 5.0)
    assert report_id(one, given) == report_id(copy, given)
    assert report_id(one, given) != report_id(Record(0, 9, "assistant", "u1", "s", 6.0), given)
