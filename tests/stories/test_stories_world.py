"""The world of the stories itself: what it does is what the program does."""

from __future__ import annotations

from pathlib import Path

from support_world import make_world

FACTS = {"pnpm": "Use pnpm, not npm", "short": "Keep answers short"}


def test_a_correction_becomes_a_line_that_stays(tmp_path: Path) -> None:
    """S-01, S-23: a correction stands in LEARNED.md after the session, also after a restart, and `learned` shows it."""
    with make_world(tmp_path, FACTS, corrected=["pnpm"]) as world:
        world.say("s1", "I run npm install.").type("s1", "no, use pnpm here").leave("s1")
        assert world.bullets("LEARNED.md") == ["Use pnpm, not npm"]
        assert world.git("status", "--porcelain") == ""
        shown = world.run("learned")
        assert shown.code == 0 and "Use pnpm, not npm" in shown.out
        before = world.list_files()
        assert world.restart().wait(60).list_files() == before


def test_a_deleted_line_stays_deleted(tmp_path: Path) -> None:
    """S-28: a line that the person deleted is not written again when it is said again."""
    with make_world(tmp_path, FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.edit("LEARNED.md", remove="Use pnpm, not npm")
        world.type("s2", "use pnpm, not npm, I said").leave("s2")
        assert world.bullets("LEARNED.md") == ["Keep answers short"]


def test_commands_run_with_and_without_a_daemon(tmp_path: Path) -> None:
    """DESIGN "Commands": a command that reads prints the same with and without a daemon."""
    with make_world(tmp_path, FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        with_daemon = world.run("learned", "--json")
        world.stop()
        without = world.run("learned", "--json")
        assert (with_daemon.code, with_daemon.json) == (without.code, without.json)
        world.start()
