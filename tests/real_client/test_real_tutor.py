"""A session with the tutor through the real client: every call is the lean one, and the grader sees the test alone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_install import real_client
from real_tui import VERSION
from real_world import USAGE, Machine

from support_calls import list_calls
from support_daemon import PROGRAM
from support_tutor import CLIENT_ANSWERS, TYPED, write_course
from support_waiting import PATIENCE

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    rules = [
        {"match": match, "steps": [{"text": reply, "usage": USAGE}]}
        for match, reply in CLIENT_ANSWERS.items()
    ]
    one = Machine(tmp_path, real_client(VERSION), rules)
    one.environ["TACITD_BUDGET__CALLS_PER_MINUTE"] = "1000"
    write_course(one.project)
    try:
        yield one
    finally:
        one.finish()


@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_whole_session_with_the_real_client(machine: Machine, has_daemon: bool) -> None:
    """SPEC T-06 to T-20: through the daemon and without one; scores, costs, and no transcript of tacitd's own."""
    if has_daemon:
        machine.start()
    done = subprocess.run(
        [*PROGRAM, "tutor", "start", "two"],
        env=machine.environ,
        cwd=machine.project,
        input="".join(f"{one}\n" for one in TYPED),
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "- 0.90 Name the first thing" in done.stdout and "Strength: the first thing." in done.stdout
    calls = machine.calls()
    grading = [one for one in calls if "rigorous grader" in str(one.prompt)]
    assert len(grading) == 1 and "opus" in grading[0].body["model"]
    assert "micro-quiz question" not in str(grading[0].prompt) and all(
        one.body["tools"] == [] for one in calls
    )
    assert {one.body["model"] for one in calls if one not in grading} == {calls[0].body["model"]}
    assert machine.transcripts() == {} and machine.fired() == {}
    spent = list_calls(machine.state)
    assert [one["outcome"] for one in spent if not one["assumed"]] == ["answered"] * len(calls)
