"""What waits for an end or a job, as lines. More is tested in test_cli_parked_lines.py."""

from __future__ import annotations

from tacitd.clock import parse_utc
from tacitd.work.work_status import describe_waiting, local_time


def test_of_many_projects_three_are_named_and_the_others_counted() -> None:
    """One line for five projects that wait for the same."""
    rows = [
        {"handler": "a", "project": f"/p{n}", "what": "1 fact", "until": "its session ends"} for n in range(5)
    ]
    (line,) = describe_waiting(rows)
    named = "1 fact in /p0, 1 fact in /p1, 1 fact in /p2"
    assert line == f"5 projects, each until its session ends: {named} and 2 more"
    assert len(list(describe_waiting(rows[:3]))) == 3


def test_the_earliest_end_of_several_sessions_is_named() -> None:
    """The rows come in any order."""
    times = ["2026-02-19T15:00:00Z", "2026-02-19T14:00:00Z", "2026-02-19T16:00:00Z"]
    sessions = [{"session": str(n), "project": "/p", "lines_about": time} for n, time in enumerate(times)]
    earliest = local_time(parse_utc(times[1]) or 0.0)
    (line,) = describe_waiting([], sessions)
    assert line == (
        f"prompts of 3 sessions in /p: until its session ends (at {earliest}, if it stays idle until then)"
    )
