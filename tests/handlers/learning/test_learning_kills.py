"""A daemon that is killed in the middle of a session or of a synthesis, with the real plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_world import Fact, make_world
from tacitd.testing import Crash
from tacitd_handlers.learning.bootstrap import Bootstrap

ASK = "WHEN pushing to main -> DO ask first -> BECAUSE others build on it"
FACT = "When pushing to main, ask first, because others build on it"
WORDS = "no! when pushing to main, ask first, because others build on it"


def test_a_kill_after_the_lines_loses_nothing_of_the_synthesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY 2: the lines are written and the commit is not. The lesson that the same answer drafts is there afterwards, and
    so is the origin of the line, so that a second correction counts; the model is not asked again."""
    kills = [Crash("here")]
    refresh = Bootstrap.refresh_summary

    def refresh_or_die(
        one: Bootstrap, *arguments: object, ask: bool = False, at_once: bool = False
    ) -> object:
        if world.read("LEARNED.md") and kills:
            raise kills.pop()
        return refresh(one, *arguments, ask=ask, at_once=at_once)  # type: ignore[arg-type]

    monkeypatch.setattr(Bootstrap, "refresh_summary", refresh_or_die)
    with make_world(tmp_path, {"ask first": Fact(FACT, corrected=True, lesson=ASK)}) as world:
        world.say("s1", "I pushed to main.").type("s1", WORDS)
        with pytest.raises(Crash):
            world.leave("s1")
        world.restart(kill=True).wait(120)
        assert world.bullets("LEARNED.md") == [FACT]
        assert len([one for one in world.prompts if "knowledge synthesis" in one]) == 1
        world.say("s2", "I pushed to main.").type("s2", WORDS).leave("s2")
        assert ASK in world.run_program("lesson", "list", "--from=ai").out


def test_a_kill_forgets_no_folder_of_a_session(tmp_path: Path) -> None:
    """S-30, RELIABILITY 2: the files that the session's tools touched before a kill decide where its line goes."""
    fact = "Name each handler after its event"
    with make_world(tmp_path, {"each handler": Fact(fact, file="src/AGENTS.md")}) as world:
        world.write("src/a.py", "x = 1\n").edit_in_session("s1", world.path("src/a.py"))
        world.restart(kill=True)
        world.type("s1", "name each handler after its event").leave("s1")
        assert world.bullets("src/AGENTS.md") == [fact] and not world.bullets("LEARNED.md")
