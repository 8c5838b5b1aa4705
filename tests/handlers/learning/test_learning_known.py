"""What is known in a project: the summary, the model's part in it, `init`, and what `share` and `exclude` do to files (SPEC S-40 to S-44)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support_learned_rows import PNPM, SHORT, LearnedRows
from tacitd.files.git import locate_exclude_file
from tacitd.model.port import NoAnswer, Why
from tacitd.testing import ScriptedModel
from tacitd_handlers.learning.folders import GROUPS
from tacitd_handlers.learning.known import build_summary, list_own

DIRECTIVE = "following directive documents"
DISTILLED = "## Testing\n- Write the test first"


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel([(DIRECTIVE, DISTILLED)])


@pytest.fixture
def rows(tmp_path: Path, model: ScriptedModel) -> Iterator[LearnedRows]:
    with LearnedRows(tmp_path, model) as made:
        yield made


def summary(rows: LearnedRows) -> str:
    return (rows.root / "tmp/known-facts-summary.md").read_text()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# --- the summary


def test_the_summary_has_at_most_49_whole_lines_the_first_ones(rows: LearnedRows) -> None:
    """S-41: by group in their order, without duplicates and secrets; no line is cut in two."""
    many = [(GROUPS[n % 2], f"Use tool{n}x for job{n}y") for n in range(80)]
    secret = ("Coding", "The token is ghp_" + "a1B2c3D4e5" * 4)
    text = build_summary([many[0], secret, *many])
    lines = text.splitlines()
    assert len(lines) == 49 and lines[:4] == ["# Known facts", "", "## Coding", "- Use tool0x for job0y"]
    assert "- Use tool43x" in text and "tool44x" not in text and "ghp_" not in text
    assert text.count("tool0x") == 1 and build_summary([]) == "# Known facts\n"


def test_a_documents_list_items_or_its_sentences(rows: LearnedRows) -> None:
    """S-44: by the heading that they stand under."""
    listed = list_own("# Doc\n\nSome prose. More.\n\n## Testing rules\n- One\n- Two\n```\n- code\n```\n")
    assert listed == [("Testing", "One"), ("Testing", "Two")]
    assert list_own("Never push. Always test.\n") == [
        ("General", "Never push."),
        ("General", "Always test."),
    ]


def test_the_newest_lines_come_first_and_the_persons_own_too(rows: LearnedRows) -> None:
    """S-40, S-43: of LEARNED.md, of folders, of all projects; what left its file is not known any more."""
    write(rows.root / "LEARNED.md", "# L\n\n## Coding\n- my own line\n")
    rows.learn(PNPM)
    rows.learn("Name handlers after events", file="src/AGENTS.md")
    rows.learn(SHORT, everywhere=True, heading="Communication")
    rows.command("init")
    coding = summary(rows).split("## Communication")[0]
    assert coding.index(PNPM) < coding.index("my own line") < coding.index("Name handlers")
    assert SHORT in summary(rows)
    (rows.root / "LEARNED.md").write_text("# L\n\n## Coding\n- my own line\n")
    rows.command("init")
    assert PNPM not in summary(rows) and "my own line" in summary(rows)


def test_the_model_is_asked_about_changed_directives_only(rows: LearnedRows, model: ScriptedModel) -> None:
    """S-43, S-44: once for each text, also of several projects; without an answer the document's own lines are used."""
    directive = rows.home / ".agents/docs/development/coding-directives.md"
    write(directive, "- Type everything\n")
    write(rows.root / "AGENTS.md", "- Never push to main\n")
    rows.command("init")
    assert len(model.asked) == 2 and "Write the test first" in summary(rows) and "Type" not in summary(rows)
    rows.command("init")
    other = rows.make_project("other")
    rows.command("init", other)
    assert len(model.asked) == 2, "nothing changed"
    model.rules = [(DIRECTIVE, NoAnswer(Why.LIMIT, "no"))]
    write(directive, "- Type everything twice\n")
    rows.command("init")
    assert len(model.asked) == 3 and "Type everything twice" in summary(rows)


@pytest.mark.parametrize("answer", ["NONE", "I cannot help with that.", "x" * 40_000])
def test_an_answer_that_is_of_no_use_is_remembered(tmp_path: Path, answer: str) -> None:
    """S-35, S-44: the same text is not paid for again; a person who runs `init` has it asked once more."""
    model = ScriptedModel([(DIRECTIVE, answer)])
    with LearnedRows(tmp_path, model) as rows:
        write(rows.root / "AGENTS.md", "- Never push to main\n")
        rows.command("init")
        assert "Never push to main" in summary(rows)
        assert rows.rows("SELECT text FROM learning_distilled") == [("",)]
        rows.bench.settle(60.0)
        assert len(model.asked) == 1
        rows.command("init")
        assert len(model.asked) == 2


def test_somebody_elses_summary_is_left_alone(rows: LearnedRows) -> None:
    """S-40: a file of that name that tacitd did not make, and a link that leads out."""
    path = rows.root / "tmp/known-facts-summary.md"
    write(path, "my notes\n")
    rows.command("init")
    assert path.read_text() == "my notes\n"
    path.unlink()
    outside = rows.home / "outside.md"
    outside.write_text("# Known facts\n")
    path.symlink_to(outside)
    rows.command("init")
    assert outside.read_text() == "# Known facts\n"


def test_a_document_that_is_a_link_out_of_the_project_is_not_read(
    rows: LearnedRows, model: ScriptedModel
) -> None:
    """S-40: `status` names it, and what to do, until it is a file."""
    outside = rows.home / "outside.md"
    outside.write_text("- a private key\n")
    (rows.root / "AGENTS.md").symlink_to(outside)
    rows.command("init")
    assert "private" not in summary(rows) and model.asked == []
    assert any("AGENTS.md is a link that leads out of the project" in what for what in rows.bench.degraded)
    (rows.root / "AGENTS.md").unlink()
    rows.command("init")
    assert not any("AGENTS.md" in what for what in rows.bench.degraded)


# --- share and exclude


def test_init_makes_an_empty_file_once_and_hides_it(rows: LearnedRows, model: ScriptedModel) -> None:
    """S-42: because a person asked; a file that is there stays as it is. Without documents nobody is asked."""
    assert rows.command("init") == ["LEARNED.md and its summary are there"]
    assert (rows.root / "LEARNED.md").read_text() == "# Learned Preferences\n"
    exclude = locate_exclude_file(rows.root)
    assert isinstance(exclude, Path) and "/LEARNED.md" in exclude.read_text().splitlines()
    assert summary(rows) == "# Known facts\n" and model.asked == []
    write(rows.root / "LEARNED.md", "mine\n")
    rows.command("init")
    assert (rows.root / "LEARNED.md").read_text() == "mine\n"
