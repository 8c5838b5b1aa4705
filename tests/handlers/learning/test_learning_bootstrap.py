"""The known-facts summary: when it is made, and when the model is asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import EXTRACTION, PNPM, SUMMARY, SYNTHESIS, Bench, lines
from tacitd.model.port import NoAnswer, Why

SAID = "## Coding\n- Prefers small functions\n\n## Testing\n- Tests come first\n"


@pytest.fixture
def told(bench: Bench) -> Bench:
    """A project with an AGENTS.md, and a model that distils it."""
    bench.put("AGENTS.md", "- Write small functions\n- Test first\n")
    bench.answer((SUMMARY, SAID), (SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM))
    return bench


def test_without_sources_it_is_a_header_and_costs_nothing(bench: Bench) -> None:
    """SPEC S-40: without any source there is no call."""
    bench.type("use pnpm, not npm")
    assert bench.files.summary_file.read_text() == "# Known facts\n"
    assert not bench.asked(SUMMARY) and len(bench.model.asked) == 1


def test_the_model_is_asked_once_before_the_first_extraction(told: Bench) -> None:
    """SPEC S-04, S-43: it is made once, not for each message; the extraction then has it in its prompt."""
    told.type("use pnpm, not npm")
    told.type("and again")
    assert len(told.asked(SUMMARY)) == 1
    assert "Prefers small functions" in told.asked(EXTRACTION)[0]
    assert told.model.asked[0].purpose == "summary" and told.model.asked[0].tier == "smart"


def test_what_it_said_is_kept_for_every_later_summary(told: Bench) -> None:
    """SPEC S-43: after a synthesis it is regenerated from the files, without the model, also after a restart."""
    told.type("use pnpm, not npm")
    told.restart()
    told.end()
    assert len(told.asked(SUMMARY)) == 1
    summary = told.files.summary_file.read_text()
    assert "- Prefers small functions" in summary and f"- {PNPM}" in summary


def test_an_own_write_asks_nothing(told: Bench) -> None:
    """SPEC S-43: LEARNED.md is a watched source, and the synthesis writes it."""
    told.learn()
    before, asked = told.files.summary_file.read_bytes(), len(told.model.asked)
    told.changed(told.files.learned_file)
    assert len(told.model.asked) == asked and told.files.summary_file.read_bytes() == before


def test_a_persons_edit_of_learned_is_known_without_a_call(told: Bench) -> None:
    """SPEC S-43: a learned line is in the summary, and the model is asked only about a directive's text."""
    told.learn()
    asked = len(told.model.asked)
    told.files.learned_file.write_text(told.learned + "- Prefers blue\n")
    told.changed(told.files.learned_file)
    assert "Prefers blue" in told.files.summary_file.read_text() and len(told.model.asked) == asked


def test_a_changed_directive_is_asked_about(told: Bench) -> None:
    """SPEC S-43: the model is asked again only if a directive changed."""
    told.type("use pnpm, not npm")
    told.clock.advance(3600.0)
    told.put("AGENTS.md", "- Write tiny functions\n")
    told.answer((SUMMARY, "## Coding\n- Prefers tiny functions\n"), (EXTRACTION, PNPM))
    told.changed(told.files.agents_file)
    assert len(told.asked(SUMMARY)) == 2 and "tiny" in told.files.summary_file.read_text()
    told.changed(told.files.agents_file)
    assert len(told.asked(SUMMARY)) == 2


def test_an_afternoon_of_edits_is_not_an_afternoon_of_calls(told: Bench) -> None:
    """DESIGN "Priorities", 2: a file that is saved every minute is asked about every half hour at most, and its own lines
    are used until then.
    """
    told.type("use pnpm, not npm")
    for minute in range(60):
        told.clock.advance(60.0)
        told.put("AGENTS.md", f"- Rule number {minute}\n")
        told.changed(told.files.agents_file)
        assert f"Rule number {minute}" in told.files.summary_file.read_text() or minute in (29, 59)
    assert len(told.asked(SUMMARY)) <= 3
    told.clock.advance(3600.0)
    told.put("AGENTS.md", "- The last rule\n")
    asked = len(told.asked(SUMMARY))
    told.type("use tabs")
    assert len(told.asked(SUMMARY)) == asked + 1


def test_init_by_hand_asks_at_once(told: Bench) -> None:
    """`tacitd init` asks at once, without waiting for the interval."""
    told.type("use pnpm, not npm")
    told.put("AGENTS.md", "- Another rule\n")
    told.due("init", told.project)
    assert len(told.asked(SUMMARY)) == 2


@pytest.mark.parametrize(
    "said", [NoAnswer(Why.ABSENT, "no claude"), "I'm sorry, I cannot.", "NONE", "x" * 40_000]
)
def test_without_an_answer_the_documents_own_lines_do(told: Bench, said: str | NoAnswer) -> None:
    """SPEC S-44."""
    told.answer((SUMMARY, said), (EXTRACTION, PNPM))
    told.type("use pnpm, not npm")
    summary = told.files.summary_file.read_text()
    assert "- Write small functions" in summary and "- Test first" in summary


def test_it_stays_under_fifty_lines(told: Bench) -> None:
    """SPEC S-41: at most 49 lines, none of them cut."""
    told.put("LEARNED.md", "## Coding\n" + "".join(f"- Rule {n} about thing{n}\n" for n in range(500)))
    told.type("use pnpm, not npm")
    summary = told.files.summary_file.read_text().splitlines()
    assert len(summary) == 49 and "- Rule 499 about thing499" in summary


def test_a_directive_is_read_beside_the_projects_own(bench: Bench, tmp_path: Path) -> None:
    """SPEC S-40: all inputs, also two of one name."""
    for name in ("a", "b"):
        path = tmp_path / name / "AGENTS.md"
        path.parent.mkdir()
        path.write_text(f"- Rule of {name}\n")
        bench.directives.append(path)
    bench.put("AGENTS.md", "- Rule of the project\n")
    bench.answer((SUMMARY, SAID), (EXTRACTION, PNPM))
    bench.restart()
    bench.type("use pnpm, not npm")
    shared, own = bench.asked(SUMMARY)
    assert "Rule of a" in shared and "Rule of b" in shared and "the project" not in shared
    assert "Rule of the project" in own and "Rule of a" not in own
    assert bench.files.summary_file.read_text().count("Prefers small functions") == 1


@pytest.fixture
def shared(bench: Bench, tmp_path: Path) -> Path:
    """A directive of all projects, and a model that distils it."""
    path = tmp_path / "directives.md"
    path.write_text("- Write small functions\n- Test first\n")
    bench.directives.append(path)
    bench.answer((SUMMARY, SAID), (SYNTHESIS, lines(PNPM)), (EXTRACTION, PNPM))
    bench.restart()
    return path


def test_what_projects_share_is_distilled_once(bench: Bench, shared: Path) -> None:
    """DESIGN "Priorities", 2: a text is asked about once, in however many projects, also after a restart."""
    others = [bench.new_project(f"p{number}") for number in range(3)]
    for project in (bench.project, *others[:2]):
        bench.type("use pnpm, not npm", project=project)
    bench.restart()
    bench.type("use pnpm, not npm", project=others[2])
    assert len(bench.asked(SUMMARY)) == 1
    for project in (bench.project, *others):
        assert "Prefers small functions" in (project.root / "tmp/known-facts-summary.md").read_text()


def test_a_shared_directive_that_changed_is_asked_about_once(bench: Bench, shared: Path) -> None:
    """SPEC S-43: a directive that changed while no daemon ran is asked about before each project's next extraction."""
    other = bench.new_project("other")
    bench.type("use pnpm, not npm")
    bench.type("use pnpm, not npm", project=other)
    shared.write_text("- Write tiny functions\n")
    bench.restart()
    bench.answer((SUMMARY, "## Coding\n- Prefers tiny functions\n"), (EXTRACTION, PNPM))
    bench.clock.advance(3600.0)
    bench.type("use tabs")
    bench.type("use tabs", project=other)
    assert len(bench.asked(SUMMARY)) == 2
    for project in (bench.project, other):
        assert "tiny" in (project.root / "tmp/known-facts-summary.md").read_text()


@pytest.mark.parametrize("said", ["NONE", "I'm sorry, I cannot."])
def test_an_answer_that_cannot_be_used_is_not_asked_for_again(told: Bench, said: str) -> None:
    """DESIGN "Priorities", 2: an unusable answer is not asked for again; only `tacitd init` asks again."""
    told.answer((SUMMARY, said), (EXTRACTION, PNPM))
    told.type("use pnpm, not npm")
    for _ in range(3):
        told.clock.advance(3600.0)
        told.restart()
        told.files.summary_file.unlink()
        told.type("use tabs")
        told.changed(told.files.agents_file)
    assert len(told.asked(SUMMARY)) == 1
    told.due("init", told.project)
    assert len(told.asked(SUMMARY)) == 2


def test_secrets_in_a_directive_do_not_leave_the_machine(told: Bench) -> None:
    """SPEC S-67: secrets in directives are blanked in the prompt."""
    told.put("AGENTS.md", "- The token: ghp_abcdefghijklmnopqrstuvwxyz0123\n")
    told.type("use pnpm, not npm")
    assert all("ghp_" not in prompt for prompt in told.model.prompts)


def test_a_summary_that_was_deleted_is_made_again(told: Bench) -> None:
    """A missing summary is made again from the kept answers, without a call."""
    told.type("use pnpm, not npm")
    told.files.summary_file.unlink()
    told.type("use tabs")
    assert "Prefers small functions" in told.files.summary_file.read_text() and len(told.asked(SUMMARY)) == 1


def test_an_unchanged_summary_is_not_touched(told: Bench) -> None:
    """DESIGN "Files", replaced file: skipped if nothing changes."""
    told.learn()
    before = told.files.summary_file.stat()
    told.changed(told.files.agents_file)
    assert told.files.summary_file.stat().st_ino == before.st_ino
    assert told.files.summary_file.stat().st_mtime_ns == before.st_mtime_ns


def test_a_change_in_a_project_without_a_summary_writes_none(bench: Bench) -> None:
    """No file is created in a project that was only read."""
    bench.put("AGENTS.md", "- x\n")
    bench.changed(bench.files.agents_file)
    assert not bench.files.tmp_dir.exists()
