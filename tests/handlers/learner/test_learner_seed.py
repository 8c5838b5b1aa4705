"""Each example of seed 000 as the program writes it, byte for byte. Where the seed disagrees with itself, SPEC L decides.

Everything goes through `tacitd learner`, as a skill and a person call it.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from support_cli import Cli

ENTRY = """\
- **edge:empty_input** — misses empty input check on array problems.
  First observed: {first}. Last tested: {tested}. Last failed: {failed}.
  Last clean streak start: {streak}. Sessions since last failure: {clean}.
  Status: {status}
"""


class Practice:
    """The two files, and the command that records a problem."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.profile = cli.config_dir / "leetcode-teacher-profile.md"
        self.ledger = cli.config_dir / "leetcode-teacher-ledger.md"

    def record(self, stamp: str, *more: str, problem: str = "two-sum") -> None:
        given = ["--problem", problem, "--pattern", "hash_map", "--timestamp", stamp]
        done = self.cli.run("learner", "record", *given, "--session", f"s-{stamp}", *more)
        assert done.code == 0, done.err

    def fail(self, stamp: str) -> None:
        describe = "edge:empty_input=misses empty input check on array problems"
        given = ("--mode", "recall", "--verdict", "borderline", "--gaps", "edge:empty_input")
        self.record(stamp, *given, "--describe", describe)

    def clean(self, stamp: str) -> None:
        self.record(stamp, "--mode", "recall", "--verdict", "pass")

    def entry(self) -> str:
        """The only entry of Known Weaknesses, with its lines."""
        text = self.profile.read_text()
        begin = text.index("- **edge:empty_input**")
        return "".join(text[begin:].splitlines(keepends=True)[:4])


@pytest.fixture
def practice(cli: Cli) -> Practice:
    return Practice(cli)


def test_L_13_L_15_L_17_the_life_of_a_weakness(practice: Practice) -> None:
    """SPEC L-07, L-12, L-13, L-15 to L-17, L-24, L-26: the four lines of the entry after each session, from `new` to the Resolved
    subsection after four weeks, and back.
    """
    first, again = "2026-02-01T10:00", "2026-02-02T10:00"
    practice.fail(first)
    shown = {"first": first, "tested": first, "failed": first, "streak": "", "clean": 0, "status": "new"}
    assert practice.entry() == ENTRY.format(**shown)
    practice.fail(again)
    shown |= {"tested": again, "failed": again, "status": "recurring"}
    assert practice.entry() == ENTRY.format(**shown)
    streak = "2026-02-03T10:00"
    days = [
        (streak, "recurring"),
        ("2026-02-05T10:00", "improving"),
        ("2026-02-10T10:00", "resolved (short-term)"),
        ("2026-03-03T09:59", "resolved (short-term)"),
        ("2026-03-03T10:00", "resolved (long-term)"),
    ]
    for clean, (stamp, status) in enumerate(days, start=1):
        practice.clean(stamp)
        shown |= {"tested": stamp, "streak": streak, "clean": clean, "status": status}
        assert practice.entry() == ENTRY.format(**shown)
        resolved = practice.profile.read_text().partition("### Resolved")[2]
        assert ("edge:empty_input" in resolved.partition("## ")[0]) is (clean == 5)
    practice.fail("2026-03-20T10:00")
    stamp = "2026-03-20T10:00"
    shown |= {"tested": stamp, "failed": stamp, "streak": "", "clean": 0, "status": "recurring"}
    assert practice.entry() == ENTRY.format(**shown)
    assert "edge:empty_input" in practice.profile.read_text().partition("### Resolved")[0]


@pytest.mark.parametrize(
    ("mode", "verdict", "days"),
    [
        ("recall", "strong_pass", (7, 14, 28)),
        ("recall", "pass", (5, 7, 10)),
        ("recall", "borderline", (2, 2, 2)),
        ("recall", "needs_work", (1, 1, 1)),
        ("learning", "solved_independently", (7, 7, 7)),
        ("learning", "solved_with_minor_hints", (3, 3, 3)),
        ("learning", "solved_with_significant_scaffolding", (1, 1, 1)),
        ("learning", "did_not_reach_solution", (1, 1, 1)),
    ],
)
def test_L_42_L_44_L_46_the_review_intervals(
    practice: Practice, mode: str, verdict: str, days: tuple[int, ...]
) -> None:
    """SPEC L-35, L-41, L-42, L-44, L-46: every verdict, and what follows from the interval before."""
    for number, interval in enumerate(days):
        practice.record(f"2026-02-{number + 1:02d}T10:00", "--mode", mode, "--verdict", verdict)
        due = practice.ledger.read_text().splitlines()[-1].split(" | ")[-1].removesuffix(" |")
        assert (datetime.fromisoformat(due) - datetime(2026, 2, number + 1)).days == interval


def test_a_description_that_names_nothing_refers_to_its_session(practice: Practice) -> None:
    """SPEC L-10: the seed's vague example, and its specific one; a pattern of several words with hyphens is one."""
    for tag, text in (
        ("edge:a", "struggles with edge cases"),
        ("edge:b", "forgets to handle negative indices"),
        ("edge:c", "off-by-one"),
    ):
        practice.record(
            "2026-02-19T14:30",
            *("--mode", "recall", "--verdict", "pass", "--gaps", tag, "--describe", f"{tag}={text}"),
            problem=tag,
        )
    text = practice.profile.read_text()
    assert "- **edge:a** — struggles with edge cases (observed 2026-02-19T14:30).\n" in text
    assert "- **edge:b** — forgets to handle negative indices.\n" in text
    assert "- **edge:c** — off-by-one.\n" in text
