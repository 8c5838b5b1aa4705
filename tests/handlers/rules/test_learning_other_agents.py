"""The block of LEARNED.md's lines in AGENTS.md, for agents that load no rules (issue 40, build 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_rules import RulesBench
from tacitd.files.formats import bullet
from tacitd_handlers.learning.learning_footprint import find_footprint
from tacitd_handlers.learning.other_agents import BLOCK, BLOCK_END, BLOCK_START, WHOLE

PNPM, SHORT, UV = "Use pnpm, not npm", "Keep answers short", "Use uv"
OWN = "# Agents\n\n- Run the tests\n"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[RulesBench]:
    with RulesBench(tmp_path, REACH__CODEX="true") as made:
        yield made


@pytest.mark.parametrize("own", ["", OWN, "no newline at the end", "# A\r\n\r\n- b\r\n", "- a\n\n\n"])
def test_a_block_comes_and_goes_without_a_byte_of_the_rest(own: str) -> None:
    """Only a newline at the end of the person's text is added."""
    leaf = bullet("Coding", PNPM)
    made = BLOCK.splice(own.encode(), {leaf: PNPM})
    assert made.startswith(own.encode()) and dict(BLOCK.read_leaves(made)) == {leaf: PNPM}
    assert made.count(b"\r\n") in (0, made.count(b"\n"))
    more = BLOCK.splice(made, {bullet("Coding", UV): UV})
    assert list(BLOCK.read_leaves(more).values()) == [PNPM, UV] and more.startswith(own.encode())
    left = BLOCK.splice(more, {leaf: None, bullet("Coding", UV): None, WHOLE: None})
    assert left.decode() == own or left.decode() == f"{own}\n"


def test_the_block_follows_the_lines_and_an_edit_in_it_is_one_of_theirs(bench: RulesBench) -> None:
    """A line that is deleted in the block is deleted in LEARNED.md, one that is added there is added."""
    agents = bench.project / "AGENTS.md"
    agents.write_text(OWN)
    bench.put(PNPM, SHORT)
    text = agents.read_text()
    assert text.startswith(OWN) and text.endswith(f"{BLOCK_END}\n")
    assert bench.bullets(agents) == ["Run the tests", PNPM, SHORT]
    bench.edit(bench.project / "LEARNED.md", f"- {SHORT}\n", "")
    assert bench.bullets(agents) == ["Run the tests", PNPM]
    bench.edit(agents, f"- {PNPM}\n", f"- {PNPM}\n- {UV}\n")
    assert bench.bullets("LEARNED.md") == [PNPM, UV] and bench.bullets(bench.rule()) == [PNPM, UV]
    bench.edit(agents, f"- {PNPM}\n", "")
    assert bench.bullets("LEARNED.md") == [UV] and bench.bullets(agents) == ["Run the tests", UV]
    bench.edit(bench.project / "LEARNED.md", f"- {UV}\n", "")
    assert agents.read_text() == OWN and bench.problems == []


def test_an_agents_file_that_is_made_is_hidden_and_goes(bench: RulesBench) -> None:
    """Without an AGENTS.md it is made; it goes with the setting."""
    bench.put(PNPM)
    agents = bench.project / "AGENTS.md"
    assert bench.bullets(agents) == [PNPM] and bench.git("status", "--porcelain") == ""
    bench.environ["TACITD_REACH__CODEX"] = "false"
    bench.restart()
    bench.begin_session("s2")
    assert not agents.exists() and bench.bullets("LEARNED.md") == [PNPM]


def test_a_tracked_agents_file_is_not_touched_before_share(bench: RulesBench) -> None:
    """Issue 39, point 1: a file that git tracks is a team's, and that is said."""
    agents = bench.project / "AGENTS.md"
    agents.write_text(OWN)
    bench.git("add", "AGENTS.md")
    bench.git("commit", "-q", "-m", "Ours")
    bench.put(PNPM)
    assert agents.read_text() == OWN and "has no lines for Codex: git tracks it" in bench.problems[0]
    assert bench.git("status", "--porcelain") == ""


def test_a_link_or_a_block_without_an_end_is_left(bench: RulesBench) -> None:
    """An AGENTS.md that leads to CLAUDE.md is not written through; half a block is no block."""
    agents = bench.project / "AGENTS.md"
    (bench.project / "CLAUDE.md").write_text(OWN)
    agents.symlink_to("CLAUDE.md")
    bench.put(PNPM)
    assert (bench.project / "CLAUDE.md").read_text() == OWN and "CLAUDE.md" in bench.problems[0]
    agents.unlink()
    agents.write_text(f"{OWN}{BLOCK_START}\n- Theirs\n")
    bench.put(SHORT)
    assert agents.read_text() == f"{OWN}{BLOCK_START}\n- Theirs\n" and "has no end" in bench.problems[0]


def test_uninstall_takes_the_block_out(bench: RulesBench) -> None:
    """What a person wrote in the block stays."""
    agents = bench.project / "AGENTS.md"
    agents.write_text(OWN)
    bench.put(PNPM)
    (without,) = find_footprint(bench.environ).parts.values()
    assert without(agents.read_bytes()) == OWN.encode()
    edited = agents.read_bytes().replace(BLOCK_END.encode(), f"- Mine\n{BLOCK_END}".encode())
    assert b"- Mine" in without(edited) and PNPM.encode() not in without(edited)
