"""Synthesis, the summary and the comparison see every file in which tacitd has lines (SPEC S-26, S-36, S-41)."""

from __future__ import annotations

import json

import pytest

from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, lines
from tacitd.events import ToolUse
from tacitd.handler import Done
from tacitd_handlers.learning.inventory import list_learned
from tacitd_handlers.learning.removals import find_written_lines
from tacitd_handlers.learning.summary import SummarySource, deterministic_summary

BUS = "Use the event bus between handlers"
DIRECT = "Call handlers directly, not through the event bus"


def learn_in(bench: Bench, folder: str, fact: str, *, session: str = "s1", more: str = "") -> None:
    """A session works in a folder, and a line is made of what was said there."""
    (bench.root / folder).mkdir(parents=True, exist_ok=True)
    edit = ToolUse("t1", "Edit", json.dumps({"file_path": str(bench.root / folder / "a.py")}).encode())
    answer = lines(fact, file=f"{folder}/AGENTS.md") + f"\nFROM: 1{more}"
    bench.answer((EXTRACTION, f"[1] {fact}"), (SYNTHESIS, answer))
    records = [bench.record(fact, session=session), bench.record(tools=[edit], session=session)]
    assert isinstance(bench.play(bench.grew(*records, due=True)), Done)
    bench.end(session)


def module(bench: Bench, folder: str) -> list[str]:
    text = (bench.root / folder / "AGENTS.md").read_text()
    return [line[2:] for line in text.splitlines() if line.startswith("- ")]


def test_synthesis_sees_the_lines_of_folders_that_were_not_touched(bench: Bench) -> None:
    """S-36: by file, touched folders before the others."""
    learn_in(bench, "src/bus", BUS)
    learn_in(bench, "web", "Use CSS modules", session="s2")
    assert f"src/bus/AGENTS.md:\n## Coding\nL1. {BUS}\n" in bench.asked(SYNTHESIS)[1]
    learn_in(bench, "web", "Use grid layouts in pages", session="s3")
    existing = bench.asked(SYNTHESIS)[2]
    assert existing.index("web/AGENTS.md:") < existing.index("src/bus/AGENTS.md:")


@pytest.mark.parametrize("target", ["LEARNED.md", "web/AGENTS.md"])
def test_a_contradiction_from_another_folder_replaces_the_modules_line(bench: Bench, target: str) -> None:
    """S-26: one transaction, undone as one; the old line is no removal by the user."""
    learn_in(bench, "src/bus", BUS)
    (bench.root / "web").mkdir()
    answer = lines(DIRECT, file=target) + f"\nFROM: 1\nREPLACES: {BUS}"
    bench.answer((EXTRACTION, f"[1] Corrected: {DIRECT}"), (SYNTHESIS, answer))
    bench.learn(DIRECT, session="s2")
    where = bench.bullets if target == "LEARNED.md" else module(bench, "web")
    assert where == [DIRECT] and module(bench, "src/bus") == []
    bench.restart()
    known = bench.handler._state.line_confidences[bench.root]
    assert BUS not in known and known[DIRECT].seen_count == 2, (
        "the new line continues with the old one's count"
    )
    assert not any(bench.handler._state.tombstones[bench.root].values()) and not bench.status["withheld"]
    assert [entry.line for entry in list_learned(bench.root, bench.state)] == [DIRECT]
    bench.history.undo_transaction(bench.history.list_transactions(bench.root)[-1].id)
    assert module(bench, "src/bus") == [BUS] and DIRECT not in bench.learned


@pytest.mark.parametrize("fact", [DIRECT, f"In src/bus: {DIRECT}", f"{DIRECT}, except in tests"])
def test_a_contradiction_from_a_folder_leaves_the_projects_line(bench: Bench, fact: str) -> None:
    """S-24, S-26: a folder's line may only be an exception there, so it never replaces one of LEARNED.md."""
    bench.answer((EXTRACTION, f"[1] {BUS}"), (SYNTHESIS, lines(BUS)))
    bench.learn(BUS)
    learn_in(bench, "src/bus", fact, session="s2", more=f"\nREPLACES: {BUS}")
    assert bench.bullets == [BUS] and module(bench, "src/bus") == [fact]
    bench.restart()
    assert [entry.line for entry in list_learned(bench.root, bench.state)] == [BUS, fact]


def test_a_persons_line_in_a_module_stays(bench: Bench) -> None:
    """S-26, S-28: it is named by REPLACES, and the user decides."""
    learn_in(bench, "src/bus", BUS)
    path = bench.root / "src/bus/AGENTS.md"
    path.write_text(path.read_text() + "- Handlers never block\n")
    answer = lines("Handlers may block") + "\nFROM: 1\nREPLACES: Handlers never block"
    bench.answer((EXTRACTION, "[1] Handlers may block"), (SYNTHESIS, answer))
    bench.learn("handlers may block", session="s2")
    assert module(bench, "src/bus") == [BUS, "Handlers never block"] and bench.bullets == [
        "Handlers may block"
    ]
    bench.restart()
    conflicts = bench.handler._state.conflicts[bench.root]
    assert conflicts == {"Handlers may block": ("src/bus/AGENTS.md", "Handlers never block")}


def test_a_line_that_changes_while_the_model_answers_is_void(bench: Bench) -> None:
    """The answer names the number of a line that the person reworded meanwhile: the fact waits, is asked about with the line as it is
    now, and the person's line is not replaced."""
    learn_in(bench, "src/bus", BUS)
    path = bench.root / "src/bus/AGENTS.md"

    def answer(_: object) -> str:
        path.write_text(path.read_text().replace(BUS, f"{BUS}, mostly"))
        bench.answer((SYNTHESIS, lines(DIRECT) + f"\nFROM: 1\nREPLACES: {BUS}, mostly"))
        return lines(DIRECT) + f"\nFROM: 1\nREPLACES: {BUS}"

    bench.answer((EXTRACTION, f"[1] Corrected: {DIRECT}"), (SYNTHESIS, answer))
    bench.learn(DIRECT, session="s2")
    assert bench.bullets == [] and module(bench, "src/bus") == [f"{BUS}, mostly"]
    assert bench.status["facts_waiting"] == {str(bench.root): 1}
    bench.restart()
    bench.due("recover")
    bench.play_posted()
    assert module(bench, "src/bus") == [f"{BUS}, mostly"] and bench.bullets == [DIRECT]
    assert f"P1. {BUS}, mostly" in bench.asked(SYNTHESIS)[-1] and bench.status["facts_waiting"] == {}
    (line,) = [one for one in list_learned(bench.root, bench.state) if one.line == DIRECT]
    assert line.prompts and line.sessions == ("s2",)


def test_the_summary_has_the_touched_folders_lines_first(bench: Bench) -> None:
    """S-41: more lines than it can have; those of the folder that the session works in are in the next prompt."""
    learn_in(bench, "src/bus", BUS)
    bench.answer((EXTRACTION, "NONE"))
    bench.put("LEARNED.md", "## Coding\n" + "".join(f"- Use tool{n}x for job{n}y\n" for n in range(80)))
    bench.changed(bench.files.learned_file)
    bench.touched.clear()
    bench.type("anything", session="s2")
    assert BUS not in bench.asked(EXTRACTION)[-1]
    learn_in(bench, "src/bus", BUS, session="s3")
    assert f"1. {BUS}" in bench.asked(EXTRACTION)[-1]


def test_the_summary_has_what_was_said_most_often_first() -> None:
    """S-41: before the newest lines, within the cap."""
    text = "".join(f"- Use tool{n}x for job{n}y\n" for n in range(80))
    made = deterministic_summary(
        [SummarySource("LEARNED.md", text, 0)], ["Use tool3x for job3y", "Use tool1x for job1y"]
    )
    bullets = [line for line in made.splitlines() if line.startswith("- ")]
    assert bullets[:3] == ["- Use tool3x for job3y", "- Use tool1x for job1y", "- Use tool79x for job79y"]


@pytest.mark.undated
def test_many_folders_with_lines_fit_into_the_prompt(bench: Bench) -> None:
    """S-36: the budget is for all files together; every line is still compared."""
    for number in range(6):
        learn_in(bench, f"pkg{number}", f"Use tool{number}x for job{number}y", session=f"s{number}")
    assert len(find_written_lines(bench.history, bench.project)) == 6
    bench.answer((EXTRACTION, "Use tool0x for job0y"), (SYNTHESIS, lines("Use tool0x for job0y")))
    bench.learn("use tool0x for job0y", session="s9")
    assert bench.bullets == [] and PNPM not in bench.learned
