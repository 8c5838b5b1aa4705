"""A new line that contradicts a line of the person's is offered in `review`, whichever file that line is in (SPEC S-26)."""

from __future__ import annotations

import json

import pytest

from support_decisions import decide, find, list_items
from support_learning import EXTRACTION, SYNTHESIS, Bench, lines
from tacitd.events import ToolUse
from tacitd_handlers.learning.stage2.parse import ProposedLine
from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.learning.stage2.plan import decide_operations

BUS = "Use the event bus between handlers"
DIRECT = "Call handlers directly, not through the event bus"
RUN, NEVER = "Run the linter before a commit", "Never run the linter before a commit"


def placed(line: str, replaces: str = "") -> PlacedLine:
    """A line for LEARNED.md."""
    return PlacedLine(ProposedLine("LEARNED.md", line, "", replaces), "LEARNED.md", "Coding", line)


def learn(bench: Bench, line: str, replaces: str = "", session: str = "s2") -> None:
    """One session says a line, and works in the folder src/bus."""
    more = f"\nREPLACES: {replaces}" if replaces else ""
    bench.answer((EXTRACTION, f"[1] {line}"), (SYNTHESIS, lines(line) + f"\nFROM: 1{more}"))
    edit = ToolUse("t1", "Edit", json.dumps({"file_path": str(bench.root / "src/bus/a.py")}).encode())
    records = [bench.record(line, session=session), bench.record(tools=[edit], session=session)]
    bench.play(bench.grew(*records, due=True))
    bench.end(session)


@pytest.mark.parametrize("name", ["LEARNED.md", "AGENTS.md", "CLAUDE.md", "src/bus/AGENTS.md"])
@pytest.mark.parametrize("theirs", [f"- {BUS}\n", f"{BUS}.\n"], ids=["bullet", "paragraph"])
def test_replaces_of_a_persons_line_is_offered_in_any_file(bench: Bench, name: str, theirs: str) -> None:
    """Bad input: the person's line stays, also in a file without lines of tacitd's, until they decide."""
    path = bench.put(name, f"# Mine\n\n{theirs}")
    before = path.read_bytes()
    learn(bench, DIRECT, BUS)
    item = find(bench, DIRECT)
    assert item.review == f"it contradicts your line in {name}: {theirs.strip('- ').strip()}"
    assert name == "LEARNED.md" or path.read_bytes() == before
    assert theirs in path.read_text()
    decide(bench, item, "keep")
    assert find(bench, DIRECT).review == ""


def test_it_is_not_offered_after_the_person_removed_their_line(bench: Bench) -> None:
    """S-28: then there is no contradiction any more."""
    path = bench.put("AGENTS.md", f"- {BUS}\n")
    learn(bench, DIRECT, BUS)
    assert find(bench, DIRECT).review
    path.write_text("# Mine\n")
    assert find(bench, DIRECT).review == ""


@pytest.mark.parametrize("name", ["LEARNED.md", "AGENTS.md", "CLAUDE.md"])
def test_a_contrary_of_a_persons_line_without_replaces_is_offered(bench: Bench, name: str) -> None:
    """S-26: the contrary is found by its words."""
    bench.put(name, f"# Mine\n\n- {RUN}\n")
    learn(bench, NEVER)
    assert find(bench, NEVER).review == f"it contradicts your line in {name}: {RUN}"


def test_a_line_that_the_person_edits_while_the_model_answers(bench: Bench) -> None:
    """Bad input: the reworded line is the person's. It stays, and the new line is offered beside it."""
    learn(bench, BUS, session="s1")

    def answer(_: object) -> str:
        bench.put("LEARNED.md", bench.learned.replace(BUS, f"{BUS}, mostly") + "- Prefers tabs\n")
        return lines(DIRECT) + f"\nFROM: 1\nREPLACES: {BUS}"

    bench.answer((EXTRACTION, f"[1] {DIRECT}"), (SYNTHESIS, answer))
    bench.learn(DIRECT, session="s2")
    assert sorted(bench.bullets) == sorted([f"{BUS}, mostly", "Prefers tabs", DIRECT])
    assert find(bench, DIRECT).review == f"it contradicts your line in LEARNED.md: {BUS}, mostly"
    assert [one.text for one in list_items(bench) if one.review] == [DIRECT]


def test_which_line_took_the_place_of_an_edited_one() -> None:
    """S-26: the new one of the same file that shares half of the words; without one, nothing is said."""
    before = {"LEARNED.md": (BUS, "Prefers tabs")}
    for now, theirs in (
        ([f"{BUS}, mostly", "Prefers tabs"], [f"{BUS}, mostly"]),
        (["Prefers tabs", "Prefers short answers"], []),
        (["Prefers tabs"], []),
        ([BUS, f"{BUS}, mostly"], []),
    ):
        decision = decide_operations(
            [placed(DIRECT, BUS)], {"LEARNED.md": now}, ours={"LEARNED.md": {BUS} & set(now)}, before=before
        )
        assert [each.line for each in decision.conflicts] == theirs


def test_lines_of_ours_and_of_other_folders_are_no_conflict() -> None:
    """S-26: a contrary of ours is replaced, and a folder's own contrary is its exception."""
    files = {"LEARNED.md": [RUN], "src/AGENTS.md": [RUN]}
    decision = decide_operations([placed(NEVER)], files, ours={"LEARNED.md": {RUN}})
    assert not decision.conflicts
