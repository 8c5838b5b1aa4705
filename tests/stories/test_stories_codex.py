"""Stories of a person who works with Codex too: both teach the same files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support_codex import Rollout, grow_recording
from support_world import DOCUMENTS, Begin, Fact, Facts
from tacitd.testing import World

PNPM = "Use pnpm, not npm"
FACTS: Facts = {"pnpm": Fact(PNPM, corrected=True), "tabs": "Use tabs in Go files"}
RULES = ".claude/rules/tacitd-learned.md"
RECORDED = [("0.98.0", "REJECT-WORDS"), ("0.157.0", "IN-FORK"), ("0.169.0", "TYPED-ONE")]
"""Recordings of the client, and how a prompt that was typed there begins."""


def _make_codex(world: World) -> Path:
    home = world.home / ".codex"
    home.mkdir()
    return home


def _begin_rollout(world: World, home: Path, version: str = "0.169.0") -> Rollout:
    talk = Rollout(home, world.project, version, at=world.clock.now())
    world.wait()
    return talk


def _leave(world: World) -> None:
    """Codex says nothing at the end: the session is silent."""
    world.wait(700).wait(1900)


def test_a_correction_in_codex_becomes_a_line_that_claude_loads(begin: Begin) -> None:
    """S-01: words typed in Codex are learned like others, and stand where Claude Code loads them."""
    world = begin(FACTS)
    home = _make_codex(world)
    with world:
        talk = _begin_rollout(world, home)
        talk.ask("please run the tests")
        talk.answer("I run npm install.")
        talk.ask("no, use pnpm, not npm")
        world.wait()
        _leave(world)
        assert world.bullets("LEARNED.md") == [PNPM] and PNPM in world.read(RULES)


def test_what_a_program_says_in_codex_teaches_nothing(begin: Begin) -> None:
    """S-05: `codex exec` is no person."""
    world = begin(FACTS)
    home = _make_codex(world)
    with world:
        talk = _begin_rollout(world, home)
        talk.ask("use pnpm, not npm", "exec", typed=False)
        _leave(world)
        assert world.read("LEARNED.md") == "" and world.prompts == []


def test_what_stood_in_codex_before_is_read_already(begin: Begin) -> None:
    """First start: what exists counts as read, for each client; what is typed from then on is not lost."""
    world = begin(FACTS)
    home = _make_codex(world)
    old = Rollout(home, world.project, at=world.clock.now() - 9_000)
    old.ask("use pnpm, not npm")
    with world:
        world.wait(700)
        assert world.prompts == []
        old.at = world.clock.now()
        old.ask("use tabs in Go files")
        world.wait()
        _leave(world)
        assert world.bullets("LEARNED.md") == ["Use tabs in Go files"]


def test_an_archived_session_is_not_paid_for_again(begin: Begin) -> None:
    """S-03: `codex archive` moves a rollout; its prompts are known."""
    world = begin(FACTS)
    home = _make_codex(world)
    with world:
        talk = _begin_rollout(world, home, "0.98.0")
        talk.ask("use pnpm, not npm")
        world.wait()
        _leave(world)
        asked = len(world.prompts)
        (home / "archived_sessions").mkdir()
        shutil.move(talk.path, home / "archived_sessions")
        world.wait(70)
        _leave(world)
        assert len(world.prompts) == asked and world.bullets("LEARNED.md") == [PNPM]


def test_a_codex_that_comes_later_is_read_from_its_beginning(begin: Begin) -> None:
    """A client that is installed after tacitd is found at the next start, and nothing that was typed in it is passed over."""
    with begin(FACTS) as world:
        world.wait(60)
        talk = Rollout(_make_codex(world), world.project, at=world.clock.now())
        talk.ask("use pnpm, not npm")
        world.restart().wait()
        _leave(world)
        assert world.bullets("LEARNED.md") == [PNPM]


def test_a_compressed_rollout_is_named(begin: Begin) -> None:
    """Codex may compress what is old: words in it are not lost silently."""
    world = begin(FACTS)
    folder = _make_codex(world) / "sessions" / "2026"
    folder.mkdir(parents=True)
    (folder / "rollout-01a2000b-fa15-7a93-a298-f1239a3e715a.jsonl.zst").write_bytes(b"x")
    with world:
        world.wait(70)
        assert "compressed rollout" in world.run("status").out


def test_no_codex_says_nothing(begin: Begin) -> None:
    """Without Codex there is no directory that is watched, and no line of it."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        said = world.run("status").out
        assert "Codex" not in said and ".codex" not in said
        assert not (world.home / ".codex").exists()


def test_why_learned_and_status_name_the_client(begin: Begin) -> None:
    """Issue 40, build 2: a person sees in which client they said a line, and how many transcripts are whose."""
    world = begin(FACTS)
    home = _make_codex(world)
    with world:
        talk = _begin_rollout(world, home)
        talk.ask("no, use pnpm, not npm")
        world.type("s1", "use tabs in Go files")
        world.wait()
        assert {row["source"] for row in world.run("status", "--json").json["sessions"]} == {
            "Claude Code",
            "Codex",
        }
        assert "2 transcripts: 1 of Claude Code, 1 of Codex" in world.run("status").out
        world.leave("s1")
        _leave(world)
        assert "you said in Codex at " in world.run("why", "pnpm").out
        assert "you said in Claude Code at " in world.run("why", "tabs").out
        assert {one["line"]: one["source"] for one in world.run("learned", "--json").json} == {
            PNPM: "Codex",
            "Use tabs in Go files": "Claude Code",
        }
        (reason,) = world.run("why", "pnpm", "--json").json
        assert [one["source"] for one in reason["said"]] == ["Codex"]


@pytest.mark.parametrize(("version", "prompt"), RECORDED)
def test_a_correction_in_a_recorded_session_reaches_both(begin: Begin, version: str, prompt: str) -> None:
    """Issue 40, must show 2: a recording of Codex grows record by record; its correction is a line that Claude Code loads, and with
    `reach.codex` one that Codex loads. The other way round it is the same."""
    world = begin(FACTS, settings={"REACH__CODEX": "true"})
    home = _make_codex(world)
    world.write("AGENTS.md", "# App\n\nRun the tests.\n")
    with world:
        grow_recording(home, world.project, version, {prompt: "no, use pnpm, not npm"}, world)
        _leave(world)
        assert world.bullets("LEARNED.md") == world.bullets(RULES) == [PNPM]
        assert world.bullets("AGENTS.md") == [PNPM]
        world.type("s1", "use tabs in Go files").leave("s1")
        assert world.bullets("AGENTS.md") == world.bullets(RULES) == [PNPM, "Use tabs in Go files"]
        # The block is no text of the person's that a model would be asked about.
        assert sum(DOCUMENTS in one for one in world.prompts) == 1
        assert world.read("AGENTS.md").startswith("# App\n\nRun the tests.\n\n<!-- tacitd: ")


def test_reach_says_that_codex_does_not_see_the_lines(begin: Begin) -> None:
    """Issue 40, build 3: `reach` prints the one line by which Codex finds LEARNED.md, while nothing in AGENTS.md names it."""
    world = begin(FACTS)
    _make_codex(world)
    with world:
        world.type("s1", "use tabs in Go files").leave("s1")
        line = "See also: [LEARNED.md](LEARNED.md) for dynamically learned preferences."
        assert line in world.run("reach").out and "reach.codex = true" in world.run("reach").out
        world.write("AGENTS.md", f"# App\n\n{line}\n")
        assert "Codex" not in world.run("reach").out
