"""The daemon and the commands around it: restarts, kills, the model's faults, the budget, other plugins (DESIGN; RELIABILITY)."""

from __future__ import annotations

import json
from pathlib import Path

from support_world import SYNTHESIS, Begin, Fact, Facts
from tacitd.clock import parse_utc
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.testing import FakeClock

PNPM, SHORT, GO = "Use pnpm, not npm", "Keep answers short", "Use tabs in Go files"
FACTS: Facts = {"pnpm": PNPM, "answers short": Fact(SHORT, section="Communication"), "tabs in Go": GO}


def test_a_kill_loses_nothing(begin: Begin) -> None:
    """Priority 1: killed after each prompt, and before the session's end, everything is learned, and paid for once."""
    with begin(FACTS) as world:
        for words in ("use pnpm, not npm", "keep answers short", "use tabs in Go files"):
            world.type("s1", words).restart(kill=True)
        world.leave("s1").restart(kill=True).leave("s1")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM, GO]
        assert len([one for one in world.prompts if "opinion mining" in one]) == 1


def test_a_kill_after_the_extraction(begin: Begin) -> None:
    """Priority 1: killed while facts wait, they are written at the end of the session, without a second extraction."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").wait(700).restart(kill=True)
        world.leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        assert len([one for one in world.prompts if "opinion mining" in one]) == 1


def test_what_is_typed_without_a_daemon_is_found(begin: Begin) -> None:
    """S-52, DESIGN "Reading": a session that began and ended while no daemon ran is learned at the next start."""
    with begin(FACTS) as world:
        world.stop().type("s1", "use pnpm, not npm").wait(7200)
        world.start().leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]


def test_what_is_typed_and_left_without_a_daemon_is_written_soon(begin: Begin) -> None:
    """README: about two minutes after you leave. The client keeps files of the sessions that it runs, and none of this one."""
    with begin(FACTS) as world:
        world.path("~/.claude/sessions").mkdir()
        world.stop(kill=True).type("s1", "use pnpm, not npm").wait(10)
        world.start().wait(1).wait(100)
        assert world.bullets("LEARNED.md") == []
        world.wait(30).wait(1)
        assert world.bullets("LEARNED.md") == [PNPM]


def test_a_deleted_transcript_loses_no_fact(begin: Begin) -> None:
    """X-11: the client deletes a transcript before its prompts were put to the model: they are learned all the same."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm")
        world.transcript("s1").unlink()
        world.wait(700).leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]


def test_two_projects_do_not_mix(begin: Begin) -> None:
    """S-10: what is said in one project stands in that project; the directory of the record decides."""
    with begin(FACTS) as world:
        other = world.new_project("other")
        world.type("s1", "use pnpm, not npm").type("s2", "keep answers short", cwd=other).leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        assert (
            f"- {SHORT}\n" in (other / "LEARNED.md").read_text()
            and PNPM not in (other / "LEARNED.md").read_text()
        )


def test_a_session_that_moves_to_another_project(begin: Begin) -> None:
    """S-10: a session that goes on in another project teaches each what was said there, and its file names the newest one."""
    with begin(FACTS) as world:
        other = world.new_project("other")
        world.type("s1", "use pnpm, not npm").type("s1", "keep answers short", cwd=other).leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM] and SHORT in (other / "LEARNED.md").read_text()
        assert f'"projectPath": "{other}"' in world.read("~/.claude/user-memory/sessions/session-s1.json")


def test_an_absent_model_is_waited_for(begin: Begin) -> None:
    """S-08: without `claude` the prompts wait, `status` says so, and they are learned when it is there."""
    with begin(FACTS) as world:
        world.fail_calls("absent", "`claude` was not found").type("s1", "use pnpm, not npm").leave("s1")
        assert world.read("LEARNED.md") == "" and "claude" in world.run("status").out
        assert world.run("sync").code == 75
        world.answer_calls().wait_days(1).leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]


def test_a_usage_limit_is_waited_for(begin: Begin) -> None:
    """S-23, S-64: at a usage limit nothing is lost and little is tried; afterwards it is learned."""
    with begin(FACTS) as world:
        world.fail_calls("usage limit", "resets 5:33am").type("s1", "use pnpm, not npm").leave("s1")
        assert len(world.prompts) < 10
        world.answer_calls().wait_days(1)
        assert world.bullets("LEARNED.md") == [PNPM]


def test_the_reset_that_a_limit_names_is_waited_for(begin: Begin) -> None:
    """S-64: nothing is tried before the time that the client named, and `status` says it."""
    clock = FakeClock()
    reset = clock.now() + 6 * 3600
    limited = NoAnswer(Why.LIMIT, "five-hour limit", retry_at=reset)
    answers = [("", lambda _: limited if clock.now() < reset else "NONE")]
    with begin(FACTS, answers=answers, clock=clock) as world:
        world.type("s1", "use pnpm, not npm").wait(3600)
        (parked,) = world.run("status", "--json").json["parked"]
        assert parse_utc(parked["not_before"]) == reset and len(world.prompts) == 1
        world.wait_days(0.2, step=900)
        assert len(world.prompts) == 1
        world.wait(3 * 3600)
        assert len(world.prompts) == 2


def test_an_unusable_answer_is_asked_for_again(begin: Begin) -> None:
    """S-23: an answer that cannot be read keeps the facts, and the next one is taken."""
    with begin(FACTS) as world:
        rules = world.model.rules

        def decline(_: ModelRequest) -> str:
            world.model.rules = rules
            return "I cannot help with that."

        world.model.rules = [("knowledge synthesis", decline), *rules]
        world.type("s1", "use pnpm, not npm").leave("s1").wait_days(1)
        assert world.bullets("LEARNED.md") == [PNPM]
        assert sum("knowledge synthesis" in prompt for prompt in world.prompts) == 2


def test_facts_whose_two_answers_cannot_be_used_are_put_aside(begin: Begin) -> None:
    """S-23: a prompt is paid twice at most; `rescue` has the facts tried again, and they become lines."""
    with begin(FACTS) as world:
        rules = world.model.rules
        world.model.rules = [("knowledge synthesis", "I cannot help with that."), *rules]
        world.type("s1", "use pnpm, not npm").leave("s1").wait_days(3)
        assert world.bullets("LEARNED.md") == []
        assert sum("knowledge synthesis" in prompt for prompt in world.prompts) == 2
        world.model.rules = rules
        assert world.run("rescue", "retry", "--all").code == 0
        world.wait_days(1)
        assert world.bullets("LEARNED.md") == [PNPM]


def test_a_person_decides_about_facts_that_were_put_aside(begin: Begin) -> None:
    """S-23: one is taken as it is, one is forgotten, and then `status` says nothing of them any more."""
    with begin(FACTS, answers=[("knowledge synthesis", "I cannot help with that.")]) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1").wait_days(3)
        ids = {one["text"]: one["id"] for one in world.run("review", "--json").json}
        for command, text, is_left in (("accept", PNPM, True), ("forget", SHORT, False)):
            assert "made no line" in world.run("status").out
            assert world.run(command, ids[text]).code == 0
            assert ("made no line" in world.run("status").out) == is_left
        assert world.bullets("LEARNED.md") == [PNPM] and world.run("review", "--json").json == []


def test_the_budget_of_a_day(begin: Begin) -> None:
    """S-64: over the calls of a day work waits and is not failed; the next day it goes on."""
    with begin(FACTS, settings={"BUDGET__CALLS_PER_DAY": "2"}) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        asked = len(world.prompts)
        world.type("s2", "keep answers short").leave("s2")
        assert asked == len(world.prompts) == 2 and world.bullets("LEARNED.md") == [PNPM]
        world.wait_days(2)
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


def test_spend_counts_each_call(begin: Begin) -> None:
    """Priority 2: `spend` has each call with its purpose, and `status` what today cost."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        rows = world.run("spend", "--by", "purpose", "--json").json
        assert {one["name"]: one["calls"] for one in rows} == {"extraction": 1, "synthesis": 1}


def test_commands_say_the_same_without_a_daemon(begin: Begin) -> None:
    """DESIGN "Commands": a command that only reads prints the same with and without a daemon."""
    commands = (
        ["learned", "--json"],
        ["history", "--json"],
        ["why", "pnpm"],
        ["spend", "--json"],
        ["review", "--json"],
        ["config", "show"],
    )
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        before = [world.run(*one)[:2] for one in commands]
        world.stop()
        assert [world.run(*one)[:2] for one in commands] == before


def test_status_with_and_without_a_daemon(begin: Begin) -> None:
    """DESIGN "Commands": `status` tells what was learned today; without a daemon it shows the last one and ends with 69."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        running = world.run("status")
        assert (
            running.code == 0
            and PNPM in running.out
            and world.run("status", "--json").json["learned"]["today"] == 1
        )
        world.stop()
        assert world.run("status").code == 69


def test_stop_ends_the_daemon(begin: Begin) -> None:
    """DESIGN "Control": `stop` ends it, and a second `stop` finds none."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.run("stop").code == 0 and not world.runs
        assert world.run("stop").code == 69


def test_a_wrong_configuration_is_refused(begin: Begin) -> None:
    """DESIGN "Control": a wrong setting ends with 78 and its name; `reload` keeps the old configuration."""
    with begin(FACTS) as world:
        world.write("~/.config/tacitd/config.toml", '[session]\nidle = "never"\n')
        ran = world.run("config", "check")
        assert ran.code == 78 and "session.idle" in ran.out + ran.err
        assert world.run("reload").code != 0
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]


def test_a_plugin_that_cannot_be_loaded(begin: Begin, tmp_path: Path) -> None:
    """DESIGN "Plugins": a package whose plugin raises is named in `status`, and the others work."""
    site = tmp_path / "site"
    info = site / "broken_story-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-story\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tacitd.handlers]\nbroken = broken_story:make_plugin\n")
    (site / "broken_story.py").write_text("raise RuntimeError('not on this machine')\n")
    with begin(FACTS, packages=[site]) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        shown = world.run("status").out
        assert "broken" in shown and "not on this machine" in shown


def test_prompts_explains_what_is_read(begin: Begin) -> None:
    """Priority 3: `prompts --explain` names what was taken for typed, and why the rest was not."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").run_agent("s1", "look around")
        told = world.run("prompts", "--explain", str(world.transcript("s1")))
        assert told.code == 0 and "use pnpm, not npm" in told.out and "look around" not in told.out


def test_synthesize_says_why_there_is_no_line(begin: Begin) -> None:
    """DESIGN "Commands": what became of the facts is said, also where it is nothing."""
    facts: Facts = {
        "please use pnpm": "Use pnpm here",
        "strongly": "Strongly use pnpm here",
        "mint": Fact("Likes mint tea", is_left_out=True),
    }
    line = {"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": "Use pnpm here", "FROM": [1]}
    with begin(facts, answers=[(f"{SYNTHESIS}.*Strongly", json.dumps(line))]) as world:
        for words, what in (
            ("please use pnpm here", "learned: Use pnpm here  (app/LEARNED.md, from 1 prompt"),
            ("strongly use pnpm here", "no line: it is written there already"),
            ("I like mint tea", "no line: the model made no line of it"),
        ):
            assert what in world.type("s1", words).run("synthesize").err


def test_wrong_use_ends_with_2(begin: Begin) -> None:
    """DESIGN "Commands": an unknown command and an unknown option end with 2, on standard error alone."""
    with begin(FACTS) as world:
        for wrong in (["lerned"], ["learned", "--nothing"], ["forget"]):
            ran = world.run(*wrong)
            assert ran.code == 2 and ran.out == "" and ran.err


def test_what_waits_is_kept_and_can_be_dropped(begin: Begin) -> None:
    """DESIGN "The store": what waits for a day is listed by `rescue` with its text, and goes from it with `drop`."""
    with begin(FACTS) as world:
        world.fail_calls("absent").type("s1", "use pnpm, not npm").leave("s1").wait_days(2)
        waiting = world.run("rescue", "--json").json
        assert [one["text"] for one in waiting] == ["use pnpm, not npm"]
        assert world.run("rescue", "drop", waiting[0]["id"]).code == 0
        assert world.run("rescue", "--json").json == []
        world.answer_calls().wait_days(1)
        assert world.read("LEARNED.md") == ""
