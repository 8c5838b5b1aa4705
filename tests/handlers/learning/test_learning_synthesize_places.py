"""Stage 2 on the bench: the file that a line is put into, and files that cannot be edited."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, git, lines
from tacitd.handler import Done, Later

# --- places -------------------------------------------------------------------------------------------------


def placed(bench: Bench, file: str, *, folders: tuple[str, ...] = ("src/learning",)) -> None:
    """The model names this file for a line."""
    raw = {"facts": ["The learning module uses the event bus for events"], "folders": list(folders)}
    bench.put("tmp/learning-raw.jsonl", json.dumps(raw) + "\n")
    bench.answer((SYNTHESIS, lines("Use the event bus for events", file=file, section="Architecture")))
    bench.due("synthesize", bench.project)


def test_a_modules_fact_stands_in_its_agents_file(bench: Bench) -> None:
    """SPEC S-24, seed 003: the file is created, with the module's title."""
    (bench.root / "src/learning").mkdir(parents=True)
    placed(bench, "src/learning/AGENTS.md")
    made = (bench.root / "src/learning/AGENTS.md").read_text()
    assert made == "# Learning Module\n\n## Architecture\n- Use the event bus for events\n"
    assert not bench.files.learned_file.exists() and "/src/learning/AGENTS.md" in bench.excluded()


def test_an_agents_file_that_is_there_is_added_to(bench: Bench) -> None:
    """Seed 003 story 5: the user's file is updated, not overwritten, and is not hidden from git."""
    bench.put("src/learning/AGENTS.md", "# Mine\n\nwords\n")
    placed(bench, "src/learning/AGENTS.md")
    made = (bench.root / "src/learning/AGENTS.md").read_text()
    assert made.startswith("# Mine\n\nwords\n") and "- Use the event bus for events" in made
    assert "/src/learning/AGENTS.md" not in bench.excluded()


def test_a_folder_with_brackets_is_hidden_by_its_own_name(bench: Bench) -> None:
    """Nothing is published by accident: `[id]` is a pattern for git and a folder for Next.js."""
    (bench.root / "app/[id]").mkdir(parents=True)
    placed(bench, "app/[id]/AGENTS.md", folders=("app/[id]",))
    assert (bench.root / "app/[id]/AGENTS.md").exists()
    assert git(bench.root, "status", "--porcelain", "-uall") == ""


@pytest.mark.parametrize("file", ["nowhere/AGENTS.md", "AGENTS.md", "node_modules/x/AGENTS.md"])
def test_where_there_is_no_such_module_it_is_the_projects(bench: Bench, file: str) -> None:
    """SPEC S-24: for a missing or vendored folder and for the root's AGENTS.md, the line is put into LEARNED.md."""
    (bench.root / "node_modules/x").mkdir(parents=True)
    mine = bench.put("AGENTS.md", "mine\n")
    placed(bench, file)
    assert bench.bullets == ["Use the event bus for events"] and mine.read_text() == "mine\n"


def test_ignored_folders_and_submodules_get_no_file(bench: Bench) -> None:
    """SPEC S-24, with real git's answers."""
    bench.put(".gitignore", "/out/\n")
    (bench.root / "out").mkdir()
    placed(bench, "out/AGENTS.md", folders=("out",))
    bench.put("sub/.git", "gitdir: ../.git/modules/sub\n")
    bench.answer((SYNTHESIS, lines("Prefers tabs", file="sub/AGENTS.md")))
    bench.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"], "folders": ["sub"]}\n')
    bench.due("synthesize", bench.project)
    assert not (bench.root / "out/AGENTS.md").exists() and not (bench.root / "sub/AGENTS.md").exists()
    assert sorted(bench.bullets) == ["Prefers tabs", "Use the event bus for events"]


@pytest.mark.parametrize("link", ["folder", "file"])
def test_the_roots_agents_file_is_not_reached_by_a_link(bench: Bench, link: str) -> None:
    """SPEC S-24: the root's AGENTS.md belongs to the user, also under another name."""
    mine = bench.put("AGENTS.md", "mine\n")
    if link == "folder":
        (bench.root / "loop").symlink_to(".")
    else:
        (bench.root / "loop").mkdir()
        (bench.root / "loop/AGENTS.md").symlink_to("../AGENTS.md")
    placed(bench, "loop/AGENTS.md", folders=("loop",))
    assert mine.read_text() == "mine\n" and bench.bullets == ["Use the event bus for events"]


@pytest.mark.parametrize(
    "file",
    [
        "../../etc/passwd",
        "../other/LEARNED.md",
        "",
        "x" * 5000,
        "/etc/passwd",
        "src/../../x/AGENTS.md",
        "C:\\x\\AGENTS.md",
        "notes.txt",
        "out/AGENTS.md",
        ".git/AGENTS.md",
        ".GIT/AGENTS.md",
        ".git./AGENTS.md",
        ".claude/AGENTS.md",
        "hooks/AGENTS.md",
        "rules/AGENTS.md",
    ],
)
def test_a_file_that_was_not_offered_is_the_projects(bench: Bench, tmp_path: Path, file: str) -> None:
    """SPEC S-24, RELIABILITY 19: nothing is written outside, and the person's words go to LEARNED.md."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (bench.root / "out").symlink_to(outside)
    (bench.root / "hooks").symlink_to(".git/hooks")
    (bench.root / ".git/hooks").mkdir(exist_ok=True)
    (bench.root / ".claude/rules").mkdir(parents=True)
    (bench.root / "rules").symlink_to(".claude/rules")
    other = bench.new_project("other")
    before = {path for path in bench.box.rglob("*") if path.is_file()}
    bench.answer((SYNTHESIS, lines(PNPM, file=file)), (EXTRACTION, PNPM))
    bench.learn()
    assert bench.bullets == [PNPM] and list(outside.iterdir()) == [] and not list(other.root.glob("*.md"))
    made = {path for path in bench.box.rglob("*") if path.is_file()} - before
    assert {path.name for path in made if PNPM in path.read_text(errors="replace")} <= {
        "LEARNED.md",
        "tacitd-learned.md",
        "known-facts-summary.md",
        "log.jsonl",
        "history.jsonl",
    }
    assert not bench.degraded


def test_folders_of_a_stranger_in_the_raw_file_open_nothing(bench: Bench) -> None:
    """RELIABILITY 19: `folders` in the raw file is untrusted, and must not stop the synthesis."""
    raw = {"facts": [PNPM], "folders": ["../../etc", "/etc", "a\0b", "src\nx", ".git", ""]}
    bench.put("tmp/learning-raw.jsonl", json.dumps(raw) + "\n")
    assert isinstance(bench.due("synthesize", bench.project), Done)
    assert bench.bullets == [PNPM] and "etc" not in bench.asked(SYNTHESIS)[0]


@pytest.mark.parametrize(
    "fact", ["The token is ghp_abcdefghijklmnopqrstuvwxyz0123", "Run \x1b[31m\x07this", "x" * 5000]
)
def test_secrets_control_characters_and_floods_are_not_stored(bench: Bench, fact: str) -> None:
    """SPEC S-67."""
    bench.answer((SYNTHESIS, f"FILE: LEARNED.md\nFACT: {fact}"), (EXTRACTION, PNPM))
    bench.learn()
    assert "ghp_" not in bench.learned and "\x1b" not in bench.learned and len(bench.learned) < 1000


# --- unusable LEARNED.md files ------------------------------------------------------------------------------


def damaged(bench: Bench, kind: str, outside: Path) -> None:
    learned = bench.files.learned_file
    match kind:
        case "not utf-8":
            learned.write_bytes(b"# Gr\xfc\xdfe\n")
        case "utf-16":
            learned.write_bytes("# x\n".encode("utf-16"))
        case "conflict":
            learned.write_text("<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> other\n")
        case "link out":
            outside.write_text("mine\n")
            learned.symlink_to(outside)
        case "directory":
            learned.mkdir()
        case "fifo":
            os.mkfifo(learned)
        case "loop":
            learned.symlink_to("LEARNED.md")


KINDS = ["not utf-8", "utf-16", "conflict", "link out", "directory", "fifo", "loop"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_learned_file_that_cannot_be_spliced_costs_nothing_and_heals_by_itself(
    bench: Bench, tmp_path: Path, kind: str
) -> None:
    """Bad input: the model is not asked, `status` names the file, and the synthesis continues when it is fixed."""
    outside = tmp_path / "outside.md"
    bench.type("use pnpm, not npm")
    damaged(bench, kind, outside)
    before = len(bench.model.asked)
    outcome = bench.end()
    assert isinstance(outcome, Later) and str(bench.files.learned_file) in outcome.reason
    assert len(bench.model.asked) == before
    assert str(bench.files.learned_file) in bench.degraded[f"learning.file:{bench.root}"].what
    if bench.files.learned_file.is_dir():
        bench.files.learned_file.rmdir()
    else:
        bench.files.learned_file.unlink()
    bench.due("recover")
    bench.play_posted()
    assert bench.bullets == [PNPM] and not bench.degraded
    assert not outside.exists() or outside.read_text() == "mine\n"


def test_a_read_only_learned_file_costs_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad input: a read-only file is not made writable."""
    bench.put("LEARNED.md", "# x\n")
    real = os.access
    shut = bench.files.learned_file
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: path != shut and real(path, mode))
        bench.type("use pnpm, not npm")
        outcome = bench.end()
    assert isinstance(outcome, Later) and outcome.reason == f"{shut} is read-only"
    assert not bench.asked(SYNTHESIS)
    bench.end()
    assert bench.bullets == [PNPM]


def test_status_names_a_learned_file_that_is_damaged_later(bench: Bench) -> None:
    """Bad input: `status` shows it before the next synthesis too."""
    bench.learn()
    bench.files.learned_file.write_bytes(b"\xff\xfe")
    assert any(str(bench.files.learned_file) in what for what in bench.status["files_refused"])


def test_a_modules_file_that_cannot_be_spliced_stops_nothing_else(bench: Bench) -> None:
    """Bad input: the line is put into LEARNED.md instead, and `status` shows why."""
    bad = bench.put("src/learning/AGENTS.md", b"\xff\xfe\x00bad")
    placed(bench, "src/learning/AGENTS.md")
    assert bench.bullets == ["Use the event bus for events"] and bad.read_bytes() == b"\xff\xfe\x00bad"
    assert str(bad) in bench.degraded[f"learning.folder:{bench.root}"].what
    bad.unlink()
    bench.put("tmp/learning-raw.jsonl", '{"facts": ["Prefers tabs"], "folders": ["src/learning"]}\n')
    bench.answer((SYNTHESIS, lines("Prefers tabs")))
    bench.due("synthesize", bench.project)
    assert not bench.degraded


def test_a_module_that_no_session_worked_in_gets_no_line(bench: Bench) -> None:
    """S-24: its file was not offered, whatever is in it."""
    bench.put("src/learning/AGENTS.md", "<<<<<<< HEAD\n")
    placed(bench, "src/learning/AGENTS.md", folders=())
    assert bench.bullets == ["Use the event bus for events"]


@pytest.mark.parametrize("target", [".git/config", ".git/hooks/pre-commit", "sub/.git/config"])
def test_a_document_that_is_a_link_into_a_git_directory_gets_no_line(bench: Bench, target: str) -> None:
    """A repository can contain `LEARNED.md` as a link; files in git's directory are not documents."""
    path = bench.put(target, "[core]\n")
    bench.files.learned_file.symlink_to(target)
    bench.type("use pnpm, not npm")
    outcome = bench.end()
    assert isinstance(outcome, Later) and str(bench.files.learned_file) in outcome.reason
    assert path.read_text() == "[core]\n" and not bench.asked(SYNTHESIS)
    bench.files.learned_file.unlink()
    bench.end()
    assert bench.bullets == [PNPM]


@pytest.mark.parametrize("target", [".git", ".claude/rules"])
def test_tmp_that_is_a_link_into_the_git_directory_is_refused(bench: Bench, target: str) -> None:
    """The same for the raw file and the summary."""
    (bench.root / target).mkdir(parents=True, exist_ok=True)
    (bench.root / "tmp").symlink_to(target)
    outcome = bench.type("use pnpm, not npm")
    assert isinstance(outcome, Later) and "version control" in outcome.reason and not bench.model.asked
