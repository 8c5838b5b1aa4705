"""A model that is slow, broken, hostile or not reachable: one clear line in `status`, and nothing is lost."""

from __future__ import annotations

import time

import pytest

from support_daemon import (
    ECHO_FACTS,
    ECHO_LINES,
    EXTRACTION,
    LEARNING,
    SYNTHESIS,
    Daemon,
    MakeDaemon,
    bullets,
    raw_files,
)

pytestmark = pytest.mark.scenario

HANGS = ("hang", "hang-family")
FAULTS = {
    "exit1": "exit status 1",
    "half": "the client ended without an answer",
    "flood": "printed far more than an answer",
    "garbage": "the client ended without an answer",
    "execution-error": "the client ended without an answer",
    "empty": "the answer is empty",
    "echo": "the answer repeats the prompt",
    "too-long": "Prompt is too long",
    "no-such-model": "selected model",
    "credit": "Credit balance is too low",
}
"""The stand-in's fault, and the text in `status`."""


def failing(fault: str, words: str) -> dict[str, object]:
    """A rule that makes the extraction of this text fail."""
    return {"match": f"{EXTRACTION}.*{words}", "fault": fault}


def outside(daemon: Daemon) -> set[str]:
    """Every path in the home that is neither in a project nor in docs/files.md."""
    ours = [
        daemon.home / "work",
        daemon.home / ".claude" / "user-memory",
        daemon.home / ".claude" / "lessons",
    ]
    paths = daemon.home.rglob("*")
    return {str(path) for path in paths if not any(path.is_relative_to(place) for place in ours)}


def test_every_fault_is_one_line_and_stops_nothing_else(make: MakeDaemon) -> None:
    """RELIABILITY 15 and 19, DESIGN "Model": other projects learn; when the model recovers, everything is learned."""
    daemon = make(DISPATCH__FIRST_PAUSE="1h")
    projects = {fault: daemon.new_project(fault) for fault in FAULTS}
    words = {fault: f"Prefers amber-{number}x" for number, fault in enumerate(FAULTS)}
    daemon.claude.rules([*(failing(fault, words[fault]) for fault in FAULTS), *LEARNING])
    daemon.start()
    for fault, project in projects.items():
        daemon.type_(fault, words[fault], project)
    daemon.type_("good", "Prefers basalt-1")
    before = outside(daemon)
    parked = {one["what"].rpartition(" ")[2]: one for one in daemon.sync()}
    assert set(parked) == set(FAULTS)
    for fault, said in FAULTS.items():
        assert said in parked[fault]["reason"], fault
        assert len(parked[fault]["reason"]) < 300
        assert "\n" not in parked[fault]["reason"]
    shown = daemon.cli("status", "-v").stdout
    assert shown.count(" learning: prompts of session ") == len(FAULTS)
    daemon.call("due", job="synthesize", project=str(daemon.project))
    daemon.wait_for_lines("Prefers basalt-1")
    daemon.claude.rules(LEARNING)
    assert daemon.sync() == []
    for fault, project in projects.items():
        daemon.call("due", job="synthesize", project=str(project))
        assert words[fault] in daemon.put_to_model()
    daemon.sync()
    for fault, project in projects.items():
        assert words[fault] in (project / "LEARNED.md").read_text(), fault
    assert outside(daemon) == before
    assert not [one for one in daemon.status()["degraded"] if one["id"].startswith("model.")]


def test_a_client_that_hangs_is_one_line_too(make: MakeDaemon) -> None:
    """RELIABILITY 15, DESIGN "Model": a hung call is ended at its deadline, reported, and repeated."""
    daemon = make(
        [{"match": EXTRACTION, "fault": HANGS[0], "times": 1}, {"match": EXTRACTION, "fault": HANGS[1]}],
        CLAUDE__TIMEOUT="1s",
        DISPATCH__FIRST_PAUSE="1h",
    )
    projects = [daemon.project, daemon.new_project("other")]
    daemon.start()
    for number, project in enumerate(projects):
        daemon.type_(f"s{number}", f"Prefers amber-{number}", project)
    parked = [str(one["reason"]) for one in daemon.sync()]
    assert len(parked) == 2
    for said in parked:
        assert "no answer within" in said and len(said) < 300 and "\n" not in said
    daemon.claude.rules(LEARNING)
    daemon.restart(CLAUDE__TIMEOUT="1m")
    assert daemon.sync() == []
    for number, project in enumerate(projects):
        daemon.synthesize(project)
        assert bullets(project / "LEARNED.md") == [f"Prefers amber-{number}"]


def test_a_usage_limit_parks_until_its_reset(make: MakeDaemon) -> None:
    """CLAUDE_CODE 3.4: the reset time that the client names is shown and waited for; a restart tries at once."""
    daemon = make(DISPATCH__FIRST_PAUSE="1h", EXTRACTION__SETTLE="0s")
    resets = int(time.time()) + 1000
    daemon.claude.rules([{**failing("usage-limit", "amber"), "times": 1, "resets_at": resets}, *LEARNING])
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    status = daemon.wait_until(lambda s: s["parked"] and s["degraded"])
    assert "limit" in status["parked"][0]["reason"]
    assert status["parked"][0]["not_before"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(resets))
    assert [one["id"] for one in status["degraded"]] == ["model.limit"]
    daemon.sync()
    assert len(daemon.claude.calls()) == 1, "`sync` does not ask before the time"
    daemon.restart()
    daemon.wait_until(lambda s: s["slices"]["learning"]["total"]["facts"] == 1)
    assert daemon.status()["degraded"] == []


def test_a_lost_login_says_how_to_log_in_and_is_one_degradation(make: MakeDaemon) -> None:
    """DESIGN "Model": `status` lists what waits and for what; after the login everything that waited is learned."""
    daemon = make(DISPATCH__FIRST_PAUSE="1h")
    other = daemon.new_project("other")
    daemon.claude.rules([{"fault": "logged-out"}])
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.type_("s2", "Prefers basalt-2", other)
    assert len(daemon.sync()) == 2
    status = daemon.status()
    assert [one["id"] for one in status["degraded"]] == ["model.logged-out"]
    assert "/login" in status["degraded"][0]["hint"]
    daemon.claude.rules(LEARNING)
    assert daemon.sync() == []
    assert sorted(set(daemon.put_to_model())) == ["Prefers amber-1", "Prefers basalt-2"]
    assert daemon.status()["degraded"] == []


def test_an_overload_is_tried_again_and_passes(make: MakeDaemon) -> None:
    """CLAUDE_CODE 3.4: tacitd retries calls itself; after a short overload nothing is parked."""
    daemon = make([{"match": EXTRACTION, "fault": "overloaded", "times": 1}, *LEARNING])
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    assert daemon.sync() == []
    assert len(daemon.extractions()) == 2
    assert daemon.status()["slices"]["learning"]["total"]["facts"] == 1


def test_one_poisonous_prompt_is_put_aside_alone(make: MakeDaemon) -> None:
    """DESIGN "Handlers and events": a failing batch is halved until the record is alone; only that one is rejected."""
    daemon = make(
        [failing("echo", "amber-3x"), *LEARNING],
        DISPATCH__FIRST_PAUSE="200ms",
        DISPATCH__LONGEST_PAUSE="200ms",
    )
    daemon.start()
    for number in range(6):
        daemon.type_("s1", f"Prefers amber-{number}x")
    daemon.sync()
    daemon.wait_until(
        lambda s: s["rescued"] == 1 and not s["parked"] and s["handlers"]["learning"]["busy"] == 0
    )
    kept = daemon.list_rescued()
    assert [one["text"] for one in kept] == ["Prefers amber-3x"]
    daemon.synthesize()
    assert daemon.learned == [f"Prefers amber-{number}x" for number in (0, 1, 2, 4, 5)]
    dropped = daemon.cli("rescue", "drop", kept[0]["id"])
    assert dropped.returncode == 0
    assert daemon.status()["rescued"] == 0


HOSTILE = """FILE: ../../etc/passwd
FACT: Prefers escape-1

FILE: /etc/cron.d/tacitd
FACT: Prefers escape-2

FILE: way-out/AGENTS.md
FACT: Prefers escape-3

FILE: notes.md
FACT: Prefers escape-4

FILE: .git/hooks/pre-commit
FACT: Prefers escape-5

FILE: ~/.bashrc
FACT: Prefers escape-6

FILE: LEARNED.md
FACT: token is ghp_16C7e42F292c6912E7710c838347Ae178B4a

FILE: LEARNED.md
FACT: Prefers amber-1
"""


def test_a_hostile_plan_writes_nothing_outside_the_project(make: MakeDaemon) -> None:
    """SPEC S-24, RELIABILITY 19: each becomes the fact that it names, in LEARNED.md, once."""
    daemon = make([ECHO_FACTS, {"match": SYNTHESIS, "reply": HOSTILE}])
    elsewhere = daemon.home / "elsewhere"
    elsewhere.mkdir()
    (daemon.project / "way-out").symlink_to(elsewhere)
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    before = outside(daemon)
    assert daemon.synthesize() == []
    assert daemon.learned == ["Prefers amber-1"]
    assert outside(daemon) == before
    assert list(elsewhere.iterdir()) == []
    written = b"".join(
        data for name, data in daemon.snapshot().items() if not name.startswith(".git/objects")
    )
    assert b"escape-" not in written
    assert b"ghp_" not in written
    assert not raw_files(daemon.project)


def test_an_echo_of_the_example_is_no_line(make: MakeDaemon) -> None:
    """SPEC S-23, S-35: a rule of the prompt says nothing of the facts that it names, so those stand in its place."""
    echo = {
        "match": SYNTHESIS,
        "reply": "FILE: LEARNED.md\nFACT: Merge related facts into coherent statements",
    }
    daemon = make([ECHO_FACTS, echo], DISPATCH__FIRST_PAUSE="1h")
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    assert daemon.learned == ["Prefers amber-1"]
    assert sum(SYNTHESIS in text for text in daemon.claude.prompts()) == 1


def test_a_failed_synthesis_keeps_the_facts_over_a_restart(make: MakeDaemon) -> None:
    """SPEC S-23, S-52: the facts wait as rows, the raw file shows them, and the next start goes on with them."""
    daemon = make(
        [ECHO_FACTS, {"match": SYNTHESIS, "fault": "exit1"}], DISPATCH__FIRST_PAUSE="1h", SESSION__IDLE="1s"
    )
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.wait_until(lambda s: s["parked"], "the synthesis is parked")
    daemon.wait_until(lambda _: len(raw_files(daemon.project)) == 1, "the raw file is a task of its own")
    daemon.claude.rules(LEARNING)
    daemon.restart()
    daemon.wait_for_lines("Prefers amber-1")
    assert len(daemon.extractions()) == 1, "the facts are not paid for again"


def test_the_cap_on_calls_parks_and_a_higher_one_goes_on(make: MakeDaemon) -> None:
    """RELIABILITY 16: `budget.calls_per_day` is checked before each call; over it, prompts wait and positions stay."""
    daemon = make(BUDGET__CALLS_PER_DAY="2", EXTRACTION__SETTLE="0s")
    daemon.start()
    for number in range(3):
        daemon.type_(f"s{number}", f"Prefers amber-{number}")
        daemon.sync()
    assert len(daemon.claude.calls()) == 2
    shown = daemon.cli("status", "-v").stdout
    assert "2 of 2 calls made today" in shown
    assert "in 2 of 2 calls" in shown
    daemon.restart()
    parked = daemon.sync()
    assert ["2 of 2 calls" in one["reason"] for one in parked] == [True]
    assert parked[0]["not_before"]
    daemon.restart(BUDGET__CALLS_PER_DAY="100")
    assert daemon.sync() == []
    assert daemon.put_to_model() == ["Prefers amber-0", "Prefers amber-1", "Prefers amber-2"]


def test_the_cap_on_money_is_passed_by_the_call_in_flight_at_most(make: MakeDaemon) -> None:
    """RELIABILITY 16: the cap in dollars, with the cost that the client reports."""
    daemon = make([{**ECHO_FACTS, "usd": 0.4}, {**ECHO_LINES, "usd": 0.4}], EXTRACTION__SETTLE="0s")
    daemon.start()
    for number in range(5):
        daemon.type_(f"s{number}", f"Prefers amber-{number}")
        daemon.sync()
    assert len(daemon.claude.calls()) == 3
    status = daemon.status()
    assert status["budget"]["usd_today"] == pytest.approx(1.2)
    assert len(status["parked"]) == 2
    assert all("$1.20 of $1.00 spent today" in one["reason"] for one in status["parked"])
