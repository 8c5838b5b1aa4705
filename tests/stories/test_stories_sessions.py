"""Sessions that can be resumed: tasks, decisions, notes, summaries (SPEC P-22 to P-26, seed 001)."""

from __future__ import annotations

import json
from typing import Any

from support_world import Begin
from tacitd.testing import World

SUMMARY = {
    "summary": "Built the parser. The release waits for a key.",
    "decisions": [{"decision": "Use JWT", "rationale": "stateless", "alternatives": ["Session cookies"]}],
}


def read(world: World, session: str) -> dict[str, Any]:
    """A session's file."""
    found: dict[str, Any] = json.loads(world.read(f"~/.claude/user-memory/sessions/session-{session}.json"))
    return found


def talk(world: World, session: str, turns: int = 6) -> None:
    """A session that is long enough for a summary."""
    for turn in range(turns):
        world.type(session, f"go on with part {turn} of the parser").say(session, f"Part {turn} is done.")


def test_a_summary_at_the_end(begin: Begin) -> None:
    """P-26: a long session that ends gets a summary and its decisions, in one call of the model."""
    with begin(summary=SUMMARY) as world:
        talk(world, "s1")
        world.leave("s1")
        assert read(world, "s1")["summary"] == SUMMARY["summary"]
        assert [one["decision"] for one in read(world, "s1")["decisions"]] == ["Use JWT"]
        assert len([one for one in world.prompts if "go on with it" in one or "whoever goes on" in one]) == 1


def test_the_next_session_is_told_of_the_last(begin: Begin) -> None:
    """P-26: at its start a session is told of the last one of its project, and not of another project's."""
    with begin() as world:
        other = world.new_project("other")
        world.type("s1", "build the parser").say("s1", "Begun.").leave("s1")
        world.type("s2", "paint the fence", cwd=other).leave("s2")
        told = world.hook("SessionStart", "s3", source="startup")
        assert "build the parser" in told and "fence" not in told


def test_fifty_decisions_are_kept(begin: Begin) -> None:
    """P-24: the last fifty decisions."""
    with begin() as world:
        world.type("s1", "build it").wait(60)
        name = "~/.claude/user-memory/sessions/session-s1.json"
        many = [
            {"timestamp": f"{world.date(-1)}T10:{n:02}:00.000Z", "decision": f"Number {n}"} for n in range(50)
        ]
        world.write(name, json.dumps(read(world, "s1") | {"decisions": many}, indent=2) + "\n")
        world.run("sessions", "decide", "One more")
        kept = [one["decision"] for one in read(world, "s1")["decisions"]]
        assert len(kept) == 50 and kept[0] == "Number 1" and kept[-1] == "One more"


def test_a_project_whose_directory_is_gone_can_be_resumed(begin: Begin) -> None:
    """P-26: the last session of a project is told also after its directory was removed."""
    with begin() as world:
        other = world.new_project("other")
        world.type("s1", "build the parser", cwd=other).say("s1", "Begun.", cwd=other).leave("s1")
        world.remove("~/work/other")
        ran = world.run("sessions", "resume", str(other))
        assert ran.code == 0 and "build the parser" in ran.out
