"""Which lines of a plan are written or left out, and that the second time nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.stage2.parse import ProposedLine
from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.learning.stage2.plan import (
    LINES_LIMIT,
    Decision,
    PlannedPut,
    PlannedSwap,
    decide_operations,
)


def _placed(line: str, path: str = "LEARNED.md", replaces: str = "", heading: str = "Coding") -> PlacedLine:
    return PlacedLine(ProposedLine(path, line, "", replaces), path, heading, line)


def _carried_out(files: Mapping[str, Sequence[str]], decision: Decision) -> dict[str, list[str]]:
    after = {path: list(lines) for path, lines in files.items()}
    for operation in decision.operations:
        lines = after.setdefault(operation.path, [])
        if isinstance(operation, PlannedSwap):
            lines[lines.index(operation.old)] = operation.line
        else:
            lines.append(operation.line)
    return after


def test_a_new_line_is_put() -> None:
    """S-24: the line is put with its file and heading."""
    one = _placed("Use pnpm", "src/AGENTS.md")
    assert decide_operations([one], {}) == Decision((PlannedPut("src/AGENTS.md", "Coding", "Use pnpm", one),))


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("LEARNED.md", {"LEARNED.md": ["prefers functions over classes."]}),
        ("src/AGENTS.md", {"LEARNED.md": ["- Prefer functions over classes"]}),
        ("src/AGENTS.md", {"src/AGENTS.md": ["Use functions instead of classes"]}),
    ],
)
def test_no_duplicates(path: str, files: dict[str, list[str]]) -> None:
    """S-28: a line that the file or LEARNED.md contains is not written again."""
    decision = decide_operations([_placed("Prefers functions over classes", path)], files)
    assert not decision.operations and decision.dropped[0].reason.startswith("known: ")


def test_a_folders_line_does_not_hide_one_for_the_project() -> None:
    """S-24: a line in one folder's file does not apply to others."""
    assert decide_operations([_placed("Use tabs")], {"src/AGENTS.md": ["Use tabs"]}).operations


def test_the_same_twice_in_one_plan() -> None:
    """S-28: the second of two equal lines is dropped."""
    decision = decide_operations([_placed("Use tabs"), _placed("use tabs.")], {})
    assert len(decision.operations) == 1 and len(decision.dropped) == 1


def test_replaces_swaps_our_own_line() -> None:
    """S-26: REPLACES names the old line by its exact text."""
    one = _placed("Use pnpm workspaces", replaces="- Use npm")
    decision = decide_operations([one], {"LEARNED.md": ["Use npm"]}, ours={"LEARNED.md": {"Use npm"}})
    assert decision.operations == (
        PlannedSwap("LEARNED.md", "Use npm", "Use pnpm workspaces", "Coding", one),
    )


def test_a_folders_line_replaces_nothing_of_the_projects() -> None:
    """S-24, S-26: a folder's exception is put into its file; the project's rule stays."""
    one = _placed("Use pnpm workspaces", "src/AGENTS.md", replaces="Use npm")
    decision = decide_operations(
        [one],
        {"LEARNED.md": ["Use npm"]},
        ours={"LEARNED.md": {"Use npm"}},
    )
    assert decision.operations == (PlannedPut("src/AGENTS.md", "Coding", "Use pnpm workspaces", one),)


def test_a_persons_line_is_never_replaced() -> None:
    """S-28: an update of the user's own line is put in addition to it."""
    files = {"LEARNED.md": ["Use npm", "Use 2 spaces"]}
    decision = decide_operations([_placed("Use pnpm", replaces="Use npm"), _placed("Use 4 spaces")], files)
    assert [type(operation) for operation in decision.operations] == [PlannedPut, PlannedPut]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Commit to main", "Never commit to main"),
        ("Use npm, not pnpm", "Use pnpm, not npm"),
    ],
)
def test_a_turned_line_of_ours_is_swapped(old: str, new: str) -> None:
    """S-26: without REPLACES an update is recognised by its words."""
    decision = decide_operations([_placed(new)], {"LEARNED.md": [old]}, ours={"LEARNED.md": {old}})
    assert [(o.old, o.line) for o in decision.operations if isinstance(o, PlannedSwap)] == [(old, new)]


@pytest.mark.parametrize("where", ["LEARNED.md", "src/AGENTS.md"])
def test_a_line_that_a_person_removed_is_withheld(where: str) -> None:
    """S-28: it is withheld, with the line that was removed."""
    one = _placed("Prefers tabs", where)
    decision = decide_operations([one], {}, removed={"LEARNED.md": {"prefers tabs."}})
    assert not decision.operations
    assert decision.withheld[0].placed == one and decision.withheld[0].removed == "prefers tabs."


def test_at_most_twenty_lines() -> None:
    """S-67: lines over the limit are dropped, with the reason."""
    decision = decide_operations([_placed(f"Use tool {n} for job {n}") for n in range(25)], {})
    assert len(decision.operations) == LINES_LIMIT and len(decision.dropped) == 5
    assert "over the limit" in decision.dropped[0].reason


LINES = st.sampled_from(
    ["Use 2 spaces", "Use 4 spaces", "Use 8 spaces", "Use npm, not pnpm", "Use pnpm, not npm", "Use tabs", "use tabs.",
     "Never use tabs", "Commit to main", "Never commit to main", "使用 pnpm"]
)  # fmt: skip
PLACED = st.builds(
    _placed, LINES, st.sampled_from(["LEARNED.md", "src/AGENTS.md"]), st.sampled_from(["", "Use tabs"])
)


@given(st.lists(PLACED, max_size=8), st.lists(LINES, max_size=4, unique=True), st.booleans())
@examples(120)
def test_deciding_twice_decides_nothing_new(placed: list[PlacedLine], there: list[str], mine: bool) -> None:
    """S-29: the same batch twice leaves the same files."""
    files = {"LEARNED.md": there}
    ours = {"LEARNED.md": set(there) if mine else set()}
    after = _carried_out(files, decide_operations(placed, files, ours=ours))
    again = decide_operations(placed, after, ours=ours)
    assert _carried_out(after, again) == after
    if not mine:
        assert after["LEARNED.md"][: len(there)] == there


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The database listens on port 5432", "The database listens on port 6379"),
        ("Retry on HTTP 429", "Retry on HTTP 503"),
        ("Support Python 3.11", "Support Python 3.12"),
    ],
)
def test_a_line_with_another_number_is_another_line(old: str, new: str) -> None:
    """S-26: without REPLACES nothing is replaced where only a number differs; with it, the number is an update."""
    ours = {"LEARNED.md": {old}}
    decision = decide_operations([_placed(new)], {"LEARNED.md": [old]}, ours=ours)
    assert [type(one) for one in decision.operations] == [PlannedPut]
    decision = decide_operations([_placed(new, replaces=old)], {"LEARNED.md": [old]}, ours=ours)
    assert [(one.old, one.line) for one in decision.operations if isinstance(one, PlannedSwap)] == [
        (old, new)
    ]


def test_replaces_reaches_a_module_from_another_folder() -> None:
    """S-26: the module's line is taken, and the new one is put where the answer places it."""
    files = {"LEARNED.md": [], "src/AGENTS.md": ["Use the event bus"], "web/AGENTS.md": []}
    for path in ("LEARNED.md", "web/AGENTS.md"):
        one = _placed("Call handlers directly", path, replaces="Use the event bus")
        decision = decide_operations([one], files, ours={"src/AGENTS.md": {"Use the event bus"}})
        (swap,) = decision.operations
        assert isinstance(swap, PlannedSwap) and (swap.path, swap.old_path) == (path, "src/AGENTS.md")


def test_replaces_of_a_persons_line_is_a_conflict() -> None:
    """S-26, S-28: the user's line stays, the new one is put, and the two are offered for a decision."""
    one = _placed("Use pnpm", replaces="Use npm")
    decision = decide_operations([one], {"LEARNED.md": ["Use npm"]})
    assert [type(each) for each in decision.operations] == [PlannedPut]
    assert [(each.path, each.line) for each in decision.conflicts] == [("LEARNED.md", "Use npm")]


def test_a_second_replaces_of_a_persons_line_is_a_conflict() -> None:
    """S-26, S-28: the user's line is offered for a decision, wherever it is named."""
    item = ProposedLine("LEARNED.md", "Use pnpm", "", "Use npm", (), ("Use yarn in web", "Use yarn in web"))
    one = PlacedLine(item, "LEARNED.md", "Coding", "Use pnpm")
    files = {"LEARNED.md": ["Use npm", "Use yarn in web"]}
    decision = decide_operations([one], files, ours={"LEARNED.md": {"Use npm"}})
    assert [type(each) for each in decision.operations] == [PlannedSwap]
    assert [(each.path, each.line) for each in decision.conflicts] == [("LEARNED.md", "Use yarn in web")]


def test_two_replaces_of_one_line() -> None:
    """S-26: the first one replaces it; the second one is put in addition."""
    two = [_placed("Use pnpm", replaces="Use npm"), _placed("Use yarn in web", replaces="Use npm")]
    decision = decide_operations(two, {"LEARNED.md": ["Use npm"]}, ours={"LEARNED.md": {"Use npm"}})
    assert [type(each) for each in decision.operations] == [
        PlannedSwap,
        PlannedPut,
    ] and not decision.conflicts


def test_a_line_is_reworded_only_where_that_was_asked_for() -> None:
    """S-36: a line with the same meaning is otherwise known."""
    one = _placed("Always use pnpm, never npm", replaces="Use pnpm, never npm")
    same = _placed("Use pnpm, never npm.", replaces="Use pnpm, never npm")
    files, ours = {"LEARNED.md": ["Use pnpm, never npm"]}, {"LEARNED.md": {"Use pnpm, never npm"}}
    asked = frozenset(ours["LEARNED.md"])
    for placed in (one, same):
        decision = decide_operations([placed], files, ours=ours, reword=asked)
        assert [type(each) for each in decision.operations] == [PlannedSwap]
    assert not decide_operations([same], files, ours=ours).operations
