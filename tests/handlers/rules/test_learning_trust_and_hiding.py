"""`tacitd trust`, the lines about the person in the file that every session loads, and what git shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support_rules import RulesBench, find
from support_world import Fact, Facts, make_world
from tacitd.contract import Done
from tacitd.errors import TacitdError, UsageError
from tacitd.events import Project
from tacitd.testing import World
from tacitd_handlers.learning.edits import LearnedRules
from tacitd_handlers.reach.hiding import hide, list_patterns, reveal

PNPM, SHORT, GO = "Use pnpm, not npm", "Keep answers short", "Use tabs in Go files"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RulesBench]:
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    with RulesBench(tmp_path) as made:
        yield made


def move(bench: RulesBench, text: str, to: Path) -> Done:
    """As the command does it."""
    data: Mapping[str, Any] = {"do": "move", "id": find(bench, text), "directory": str(to)}
    root = next(one for one in (to, *to.parents) if (one / ".git").exists())
    done = bench.run_command(f"move {text}", data, cwd=root)
    bench.settle(1.0)
    return done


# --- move


def test_a_line_moves_to_a_folder_and_back(bench: RulesBench) -> None:
    """The copies of both follow, and the row keeps what it counts."""
    bench.put(PNPM, SHORT)
    (bench.project / "web").mkdir()
    with bench._app.store.write() as tx:
        tx.execute("UPDATE learning_line SET said = 4, corrections = 2 WHERE text = ?", PNPM)
    done = move(bench, PNPM, bench.project / "web")
    assert [(one.text, one.where) for one in done.notices] == [(PNPM, str(bench.project / "web/AGENTS.md"))]
    assert bench.bullets("LEARNED.md") == bench.bullets(bench.rule()) == [SHORT]
    assert bench.bullets("web/AGENTS.md") == bench.bullets(bench.rule(module="web")) == [PNPM]
    assert bench.rows("SELECT said, corrections, state FROM learning_line WHERE text = ?", PNPM) == [
        (4, 2, "present")
    ]
    assert bench.git("status", "--porcelain", "-uall") == ""
    move(bench, PNPM, bench.project)
    assert bench.bullets("LEARNED.md") == bench.bullets(bench.rule()) == [SHORT, PNPM]
    assert not bench.rule(module="web").exists() and not (bench.project / "web/AGENTS.md").exists()
    assert bench.states() == {PNPM: "present", SHORT: "present"}


def test_a_line_moves_to_another_project(bench: RulesBench) -> None:
    """It belongs to that project then."""
    bench.put(PNPM)
    other = bench.make_project("other")
    move(bench, PNPM, other)
    assert bench.bullets(other / "LEARNED.md") == bench.bullets(bench.rule(other)) == [PNPM]
    assert bench.bullets("LEARNED.md") == bench.bullets(bench.rule()) == []
    assert bench.git("status", "--porcelain", "-uall", cwd=other) == ""


def test_a_move_that_is_not_possible_says_why(bench: RulesBench) -> None:
    """An unknown id, the same place, a folder that may have no AGENTS.md."""
    bench.put(PNPM)
    (bench.project / "node_modules").mkdir()
    with pytest.raises(TacitdError, match="no learned line"):
        bench.run_command("move", {"do": "move", "id": "00000000", "directory": str(bench.project)})
    with pytest.raises(UsageError, match="already"):
        move(bench, PNPM, bench.project)
    with pytest.raises(UsageError, match="cannot have"):
        move(bench, PNPM, bench.project / "node_modules")
    assert bench.bullets("LEARNED.md") == [PNPM]


def test_a_line_holds_everywhere_after_a_move(tmp_path: Path) -> None:
    """`--everywhere`: it is in ~/.agents/LEARNED.md, which the file of rules shows to every session; deleted there, it is gone for good."""
    facts: Facts = {"answers short": Fact(SHORT, section="Communication"), "pnpm": PNPM}
    with make_world(tmp_path, facts) as world:
        world.type("s1", "keep answers short", "use pnpm, not npm").leave("s1")
        id = _find_id(world, SHORT)
        said = world.run("move", id, "--everywhere")
        assert said.code == 0 and "~" not in said.err and SHORT in said.err, said
        world.wait(60).wait(60)
        assert world.bullets("LEARNED.md") == [PNPM] and SHORT not in world.read(
            ".claude/rules/tacitd-learned.md"
        )
        assert f"- {SHORT}" in world.read("~/.agents/LEARNED.md")
        assert f"- {SHORT}" in world.read("~/.claude/rules/tacitd.md")
        world.edit("~/.claude/rules/tacitd.md", remove=SHORT)
        for _ in range(4):
            world.wait(60)
        assert SHORT not in world.read("~/.agents/LEARNED.md")
        world.type("s2", "keep answers short").leave("s2")
        assert SHORT not in world.read("~/.agents/LEARNED.md")
        assert world.run("move", "nothing").code == 2


def _find_id(world: World, text: str) -> str:
    found = json.loads(world.run("learned", "--json").out)
    return str(next(line["id"] for line in found if line.get("line") == text))


# --- about the person


def test_what_the_person_said_comes_first(bench: RulesBench) -> None:
    """The file has room for 2 KB: their own lines, then what was said most."""
    path = bench.home / ".agents" / "LEARNED.md"
    path.parent.mkdir()
    path.write_text(f"# Learned Preferences\n\n- {GO}\n- {SHORT}\n- {PNPM}\n- mine\n")
    with bench._app.store.write() as tx:
        for text, said in ((GO, 1), (SHORT, 3), (PNPM, 2)):
            tx.execute(
                "INSERT INTO learning_line(id, path, text, same, state, written_at, last_said, said) VALUES(?, ?, ?, ?, 'present', 0, 0, ?)",
                text[:8],
                str(path),
                text,
                text,
                said,
            )
    rules = LearnedRules(bench.environ, bench.clock)
    assert [(one.text, one.by_person) for one in rules.list_rules()] == [
        ("mine", True),
        (SHORT, False),
        (PNPM, False),
        (GO, False),
    ]
    assert list(rules.list_files()) == [path]
    path.unlink()
    assert list(rules.list_rules()) == []


# --- trust


def test_the_command_shows_what_it_asks_about(tmp_path: Path) -> None:
    """`trust`: the text is printed, a person confirms, and sessions load it; `--remove` takes it back."""
    rule = ".claude/rules/tacitd-learned.md"
    with make_world(tmp_path, {"pnpm": PNPM}) as world:
        world.write("LEARNED.md", "# L\n\n- Theirs\n\nTheir prose\n")
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.bullets(rule) == [PNPM]
        said = world.run("trust", "--yes")
        assert said.code == 0 and "Theirs" in said.out and "Their prose" in said.out and PNPM not in said.out
        assert "Their prose" in world.read(rule) and sorted(world.bullets(rule)) == sorted(["Theirs", PNPM])
        assert "tacitd did not write" in said.err and "as a whole" in said.err
        said = world.run("trust", "--remove")
        assert said.code == 0 and world.bullets(rule) == [PNPM]
        other = world.new_project("other")
        said = world.run("trust", "--yes", cwd=other)
        assert f"there is no {other / 'LEARNED.md'} yet" in said.err and "tacitd's" not in said.err


# --- what git shows


def _tools(mode: str) -> Any:
    class Mode:
        def write_mode(self, project: Project) -> str:
            return mode

    return Mode()


def test_what_is_made_is_hidden(bench: RulesBench) -> None:
    """A file that does not exist yet is listed in the exclude file, once; one that does is the person's decision."""
    root, project = bench.project, Project(bench.project, git=True)
    (root / "there").mkdir()
    (root / "there/AGENTS.md").write_text("theirs\n")
    (root / "odd [id]").mkdir()
    paths = [root / "LEARNED.md", root / "there/AGENTS.md", root / "odd [id]/AGENTS.md"]
    exclude = root / ".git/info/exclude"
    before = exclude.read_text()
    assert hide(project, paths, _tools("local")) == ""
    first = exclude.read_text()
    assert (
        first.startswith(before)
        and hide(project, paths, _tools("local")) == ""
        and exclude.read_text() == first
    )
    for path in (paths[0], paths[2]):
        path.write_text("x\n")
    (root / "tmp").mkdir()
    (root / "tmp/learning-raw.jsonl").write_text("{}\n")
    assert bench.git("status", "--porcelain", "-uall").split() == ["??", "there/AGENTS.md"]
    reveal(project, paths)
    assert exclude.read_text() == first.replace("/LEARNED.md\n", "").replace("/odd \\[id\\]/AGENTS.md\n", "")
    assert "LEARNED.md" in bench.git("status", "--porcelain", "-uall")


def test_a_place_that_cannot_be_hidden_is_named(bench: RulesBench, tmp_path: Path) -> None:
    """A linked exclude file is not written through; a file that git ignores anyway needs no line; without git there is nothing to hide."""
    root, project = bench.project, Project(bench.project, git=True)
    exclude = root / ".git/info/exclude"
    exclude.unlink()
    exclude.symlink_to(tmp_path / "theirs")
    assert "is a link" in hide(project, [root / "LEARNED.md"], _tools("local"))
    assert "is a link" in list_patterns(project, ["/x"]) and not (tmp_path / "theirs").exists()
    (root / ".gitignore").write_text("LEARNED.md\n")
    assert hide(project, [root / "LEARNED.md"], _tools("local")) == ""
    assert hide(Project(tmp_path, git=False), [tmp_path / "LEARNED.md"], _tools("local")) == ""
