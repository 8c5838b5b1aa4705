"""Whole sessions of a person: when lines are written, what is paid for, what is paused."""

from __future__ import annotations

import json
import os
import time
from itertools import pairwise

import pytest

from support_calls import list_calls
from support_daemon import (
    EXTRACTION,
    SYNTHESIS,
    MakeDaemon,
    append,
    line,
    prompt_record,
    raw_files,
    stamp,
    until,
)
from support_waiting import PATIENCE

pytestmark = pytest.mark.scenario
A_WEEK = 7 * 86400.0


def test_an_idle_session_is_synthesised_by_itself_and_again_when_it_was_resumed(make: MakeDaemon) -> None:
    """SPEC S-20, S-32: without `sync`; a resumed session ends again, and its new facts join the old lines."""
    daemon = make(SESSION__IDLE="1s")
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.wait_for_lines("Prefers amber-1")
    summary = daemon.project / "tmp" / "known-facts-summary.md"
    assert "Prefers amber-1" in summary.read_text()
    daemon.type_("s1", "Prefers basalt-2")
    daemon.wait_for_lines("Prefers amber-1", "Prefers basalt-2")
    assert "Prefers basalt-2" in summary.read_text()
    assert daemon.put_to_model() == ["Prefers amber-1", "Prefers basalt-2"]
    assert "Prefers amber-1" in daemon.extractions()[1], "what is known goes along"


def test_prompts_of_a_session_are_gathered_into_one_call(make: MakeDaemon) -> None:
    """SPEC S-01: after the quiet time `extraction.settle`, in the order in which they were typed, without `sync`."""
    daemon = make(EXTRACTION__SETTLE="1s")
    daemon.start()
    records = [prompt_record("s1", f"Prefers amber-{number}", str(daemon.project)) for number in range(4)]
    append(daemon.begin("s1"), b"".join(map(line, records)))
    daemon.wait_until(lambda s: s["slices"]["learning"]["total"]["facts"] == 4)
    assert len(daemon.extractions()) == 1
    assert daemon.put_to_model() == [f"Prefers amber-{number}" for number in range(4)]
    # It is written after the facts are counted.
    until(lambda: raw_files(daemon.project) == ["learning-raw.jsonl"], PATIENCE, daemon.said)
    raw = [json.loads(one) for one in (daemon.project / "tmp/learning-raw.jsonl").read_text().splitlines()]
    assert [one["facts"] for one in raw] == [[text] for text in daemon.put_to_model()]
    assert {one["session"] for one in raw} == {"s1"} and len({one["prompts"][0] for one in raw}) == 4


def test_ten_prompts_go_out_at_once(make: MakeDaemon) -> None:
    """SPEC S-01: `extraction.max_prompts` prompts go out without a quiet time; the eleventh waits for one."""
    daemon = make()
    daemon.start()
    for number in range(11):
        daemon.type_("s1", f"Prefers amber-{number}")
    status = daemon.wait_until(lambda s: s["slices"]["learning"]["total"]["asked"] == 10)
    assert status["parked"] == []
    assert len(daemon.extractions()) == 1
    daemon.sync()
    assert len(daemon.put_to_model()) == 11


def test_two_sessions_of_one_project_are_merged(make: MakeDaemon) -> None:
    """SPEC S-53: one synthesis at a time within a project, and no fact of either session is lost."""
    slow = {
        "match": SYNTHESIS,
        "each": r"^(?:-|\d+\.) (Prefers [^\n]+)$",
        "reply": r"FILE: LEARNED.md\nFACT: \g<1>",
        "delay": 0.4,
    }
    facts = {"match": EXTRACTION, "each": r"What the person wrote:\n```\n(.*?)\n```", "reply": r"\g<1>"}
    daemon = make([facts, slow], SESSION__IDLE="1s")
    daemon.start()
    for number in range(3):
        daemon.type_(f"s{number}", f"Prefers amber-{number}")
    daemon.wait_for_lines(*(f"Prefers amber-{number}" for number in range(3)))
    calls = [call["at"] for call in daemon.claude.calls() if SYNTHESIS in call["stdin"]]
    assert all(later - sooner >= 0.4 for sooner, later in pairwise(calls))
    assert len(daemon.learned) == 3


def test_once_does_all_that_waits_and_ends(make: MakeDaemon) -> None:
    """`run --once`: also syntheses of ended sessions; exit code 0, or 75 if something is parked."""
    daemon = make(SESSION__IDLE="1s", DISPATCH__FIRST_PAUSE="1h")
    first = daemon.cli("run", "--once")
    assert first.returncode == 0, first.stderr
    daemon.type_("s1", "Prefers amber-1")
    long_ago = time.time() - 5
    os.utime(daemon.transcript("s1"), (long_ago, long_ago))
    done = daemon.cli("run", "--once")
    assert done.returncode == 0, done.stderr
    assert daemon.learned == ["Prefers amber-1"]
    assert raw_files(daemon.project) == []
    daemon.claude.rules([{"match": EXTRACTION, "fault": "logged-out"}])
    daemon.type_("s2", "Prefers basalt-2")
    parked = daemon.cli("run", "--once")
    assert parked.returncode == 75
    assert "not logged in" in parked.stderr.casefold()
    assert daemon.cli("status").returncode == 69
    again = daemon.cli("run", "--once")
    assert again.returncode == 75


def test_once_beside_a_daemon_says_so(make: MakeDaemon) -> None:
    """Exit code 69 if another daemon runs."""
    daemon = make()
    daemon.start()
    refused = daemon.cli("run", "--once")
    assert refused.returncode == 69
    assert refused.stderr.startswith("tacitd: ")


@pytest.mark.parametrize("scope", ["project", "session", "all"])
def test_what_is_typed_while_paused_is_never_sent(make: MakeDaemon, scope: str) -> None:
    """`pause` of a project, a session and everything is privacy: not sent meanwhile, not after a restart, not after `resume`,
    which says how many prompts were passed over. Other pauses stay. A `scan` that is asked for takes them."""
    daemon = make()
    other = daemon.new_project("other")
    daemon.start()
    options = {"project": ["--project", str(daemon.project)], "session": ["--session", "s1"], "all": []}[
        scope
    ]
    paused = daemon.cli("pause", *options)
    assert paused.returncode == 0 and "never sent to the model, also not after" in paused.stderr
    assert daemon.cli("pause", "--session", "s9").returncode == 0
    daemon.type_("s1", "Prefers amber-1")
    daemon.type_("s2", "Prefers basalt-2", other)
    daemon.cli("sync")
    daemon.stop()
    daemon.type_("s1", "Prefers amber-3")
    daemon.start()
    daemon.sync()
    open_ones = [] if scope == "all" else ["Prefers basalt-2"]
    assert daemon.put_to_model() == open_ones
    assert f" {scope}" in daemon.cli("status", "-v").stdout.partition("\npaused")[2].partition("\nlearned")[0]
    daemon.type_("s1", "Prefers amber-4")
    resumed = daemon.cli("resume", *options)
    assert resumed.returncode == 0
    assert f"{4 if scope == 'all' else 3} prompts passed over" in resumed.stderr
    assert "still paused: session s9: `tacitd resume --session s9`" in resumed.stderr
    daemon.type_("s1", "Prefers amber-5")
    daemon.sync()
    daemon.restart()
    daemon.sync()
    assert sorted(daemon.put_to_model()) == sorted(["Prefers amber-5", *open_ones])
    daemon.synthesize()
    assert daemon.learned == ["Prefers amber-5"]
    assert [one["scope"] for one in daemon.status()["paused"]] == ["session"]
    assert daemon.cli("scan", "--since", "1d", "--yes").returncode == 0
    daemon.sync()
    assert len(daemon.put_to_model()) == 5


def test_the_past_is_not_paid_for_unasked(make: MakeDaemon) -> None:
    """First start: existing records count as read. Older records in new files (forks, restores) are not paid for."""
    daemon = make()
    old = stamp(time.time() - A_WEEK)
    daemon.type_("s0", "Prefers amber-0", timestamp=old)
    daemon.type_("s0", "Prefers amber-1")
    daemon.start()
    until(lambda: "first start" in daemon.said(), 60, daemon.said)
    daemon.sync()
    assert daemon.claude.calls() == []
    daemon.type_("restored", "Prefers amber-2", timestamp=old)
    daemon.type_("s0", "Prefers basalt-3")
    daemon.sync()
    assert daemon.put_to_model() == ["Prefers basalt-3"]
    daemon.restart()
    daemon.sync()
    assert len(daemon.claude.calls()) == 1


@pytest.mark.parametrize("running", [True, False], ids=["daemon", "alone"])
def test_scan_goes_back_when_asked_and_only_once(make: MakeDaemon, running: bool) -> None:
    """`scan` first prints prompts, calls and cost, then learns; a second scan finds nothing unhandled."""
    daemon = make()
    for number in range(3):
        daemon.type_("s0", f"Prefers amber-{number}", timestamp=stamp(time.time() - A_WEEK + number))
    daemon.type_("s0", "Prefers chalk-9", timestamp=stamp(time.time() - 60 * 86400))
    daemon.start()
    daemon.sync()
    if not running:
        daemon.stop()
    told = daemon.cli("scan", "--since", "30d", "--dry-run")
    assert told.returncode == 0
    assert "3 prompts in 1 session: at most" in told.stderr
    assert "$" in told.stderr
    assert daemon.claude.calls() == []
    done = daemon.cli("scan", "--since", "30d", "--yes")
    assert done.returncode == 0, done.stderr
    assert daemon.put_to_model() == [f"Prefers amber-{number}" for number in range(3)]
    assert daemon.learned == [f"Prefers amber-{number}" for number in range(3)]
    calls = len(daemon.claude.calls())
    again = daemon.cli("scan", "--since", "30d", "--yes")
    assert again.returncode == 0, again.stderr
    assert len(daemon.claude.calls()) == calls


def test_own_calls_are_never_learned_from(make: MakeDaemon) -> None:
    """SPEC S-60, S-61, DESIGN "Model": each guard works alone, in case a client records our calls."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    assert [path.name for path in daemon.projects.rglob("*.jsonl")] == ["s1.jsonl"]
    ours = daemon.claude.calls()[0]
    assert ours["cwd"] == str(daemon.state / "model" / "work")
    daemon.type_("echo-1", ours["stdin"])
    append(daemon.begin("echo-2"), line(prompt_record("echo-2", "Prefers basalt-2", ours["cwd"])))
    own = list_calls(daemon.state)
    assert len(own) == 2
    daemon.type_(str(own[0]["session"]), "Prefers chalk-3")
    daemon.type_("sdk", "Prefers dune-4", entrypoint="sdk-cli", promptSource="sdk", turnOrigin="sdk")
    daemon.synthesize()
    assert daemon.put_to_model() == ["Prefers amber-1"]
    assert daemon.learned == ["Prefers amber-1"]


def test_a_loop_of_sessions_made_by_a_program_is_stopped(make: MakeDaemon) -> None:
    """RELIABILITY 16: the growth breaker closes the directory, reports it and loses nothing; other projects run on."""
    daemon = make()
    other = daemon.new_project("other")
    daemon.start()
    for number in range(40):
        daemon.type_(f"loop-{number}", f"Prefers amber-{number}")
    daemon.type_("s1", "Prefers basalt-1", other)
    parked = daemon.sync()
    assert any("more new sessions an hour" in one["reason"] for one in parked)
    assert "Prefers basalt-1" in daemon.put_to_model()
    assert "breaker.closed" in [one["id"] for one in daemon.status()["degraded"]]
    assert len(daemon.put_to_model()) < 35
