"""The order of learned lines, and what a person placed (S-27, S-28)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd_handlers.learning.line_order import LineAge, find_placed, order_lines
from tacitd_handlers.learning.project_files import title_for

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
AGES = st.dictionaries(
    st.sampled_from(NAMES),
    st.builds(LineAge, st.integers(0, 3), st.floats(0, 5, allow_nan=False)),
)


def test_the_most_corrected_is_first_then_the_oldest() -> None:
    ages = {"alpha": LineAge(0, 1.0), "beta": LineAge(2, 9.0), "gamma": LineAge(0, 0.5)}
    assert order_lines(["new", "alpha", "beta", "gamma"], ages) == ["beta", "gamma", "alpha", "new"]


@examples(150)
@given(st.permutations(NAMES), AGES)
def test_the_order_is_stable_and_idempotent(names: list[str], ages: dict[str, LineAge]) -> None:
    once = order_lines(names, ages)
    assert order_lines(once, ages) == once and sorted(once) == sorted(names)
    unknown = [name for name in names if name not in ages]
    assert [name for name in once if name in unknown] == unknown


@examples(150)
@given(st.permutations(NAMES[:5]), st.data())
def test_a_line_that_a_person_moved_is_found(order: list[str], data: st.DataObject) -> None:
    """One line is moved: at most one of two neighbours that changed places, otherwise exactly that one."""
    assert find_placed({"coding": order}, [("Coding", line) for line in order]) == set()
    at, to = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    moved = list(order)
    moved.insert(to, moved.pop(at))
    found = find_placed({"coding": order}, [("Coding", line) for line in moved])
    assert len(found) == (at != to)
    if abs(at - to) > 1:
        assert found == {order[at]}
    assert find_placed({"coding": order}, [("Testing", order[at])]) == {order[at]}


@pytest.mark.parametrize(
    ("folder", "title"),
    [
        ("src/learning", "Learning Module"),
        ("user_api", "User API Module"),
        ("graphql-client", "GraphQL Client Module"),
        ("packages/webApp", "Web App Module"),
        ("db", "DB Module"),
        ("@scope", "Scope Module"),
        ("oauth2", "Oauth2 Module"),
    ],
)
def test_a_folders_title_is_as_people_write_it(folder: str, title: str) -> None:
    """S-27: acronyms and names of products keep their capitals."""
    assert title_for(f"{folder}/AGENTS.md") == title


def learn(
    bench: Bench, *facts: str, section: str = "Coding", session: str = "s1", corrected: bool = False
) -> None:
    """Each fact becomes a line."""
    mark = "Corrected: " if corrected else ""
    said = "\n".join(f"[{n}] {mark}{fact}" for n, fact in enumerate(facts, 1))
    answer = "\n\n".join(f"{lines(fact, section=section)}\nFROM: {n}" for n, fact in enumerate(facts, 1))
    bench.answer((EXTRACTION, said), (SYNTHESIS, answer))
    bench.learn(*facts, session=session)


def order(bench: Bench) -> list[str]:
    return [line for line in bench.learned.splitlines() if line.startswith(("- ", "## "))]


def test_lines_come_in_order_with_the_transaction_that_adds_one(bench: Bench) -> None:
    """Through the handler: sections in their order, corrections first; undone as one."""
    learn(bench, "Use tabs", section="General")
    learn(bench, "Use pnpm", session="s2")
    learn(bench, "Name tests by the rule", section="Testing", session="s3")
    bench.clock.advance(60)
    learn(bench, "Use ruff", session="s4", corrected=True)
    assert order(bench) == [
        "## Coding", "- Use ruff", "- Use pnpm", "## Testing", "- Name tests by the rule", "## General", "- Use tabs",
    ]  # fmt: skip
    before = bench.learned
    bench.clock.advance(60)
    learn(bench, "Never force-push to main", session="s5", corrected=True)
    assert order(bench)[:4] == ["## Coding", "- Use ruff", "- Never force-push to main", "- Use pnpm"]
    bench.history.undo_transaction(bench.history.list_transactions(bench.root)[-1].id)
    assert bench.learned == before


def test_a_reworded_line_has_the_place_of_its_corrections_at_once(bench: Bench) -> None:
    """Its new words were never said, so those of the line that it replaces count."""
    rule = "Always use pnpm, never npm"
    bench.answer(
        (EXTRACTION, f"[1] {SHORT}\n[1] Corrected: {PNPM}"),
        (SYNTHESIS, f"{lines(SHORT)}\nFROM: 1\n\n{lines(PNPM)}\nFROM: 2"),
    )
    bench.learn("short answers; no, use pnpm, not npm", session="s1")
    bench.answer(
        (EXTRACTION, "[1] Corrected: Sort the imports"), (SYNTHESIS, f"{lines('Sort the imports')}\nFROM: 1")
    )
    bench.learn("sort the imports", session="s2")
    answer = f"{lines(rule)}\nFROM: 1\nREPLACES: {PNPM}"
    bench.answer((EXTRACTION, f"[1] Corrected: AGAIN: {PNPM}"), (SYNTHESIS, answer))
    bench.learn("pnpm, not npm, I said", session="s3")
    assert bench.bullets == [rule, "Sort the imports", SHORT]


def test_nothing_is_moved_where_nothing_is_new(bench: Bench) -> None:
    """S-28: a file in another order is not rewritten by itself, or by a repetition."""
    learn(bench, "Use pnpm", "Use ruff")
    changed = bench.learned.replace("- Use pnpm\n- Use ruff\n", "- Use ruff\n- Use pnpm\n")
    bench.files.learned_file.write_text(changed)
    bench.changed(bench.files.learned_file)
    learn(bench, "Use ruff", session="s2")
    bench.due("recover")
    assert bench.learned == changed


def test_a_line_that_a_person_placed_stays(bench: Bench) -> None:
    """S-28: the person's own lines, and lines of ours in the person's order or under another heading."""
    learn(bench, "Use pnpm", "Use ruff", "Use uv")
    text = bench.learned.replace(
        "- Use pnpm\n- Use ruff\n- Use uv\n", "- Use uv\n- Mine\n- Use pnpm\n- Use ruff\n"
    )
    bench.files.learned_file.write_text(text + "\n## Mine\nwords\n")
    learn(bench, "Never delete backups", session="s2", corrected=True)
    assert order(bench) == [
        "## Coding", "- Use uv", "- Mine", "- Never delete backups", "- Use pnpm", "- Use ruff", "## Mine",
    ]  # fmt: skip
    assert bench.learned.endswith("\n## Mine\nwords\n")
    moved = bench.learned.replace("- Use ruff\n", "").replace(
        "## Mine\nwords\n", "## Mine\n- Use ruff\nwords\n"
    )
    bench.files.learned_file.write_text(moved)
    bench.restart()
    learn(bench, "Keep logs of customers", session="s3", section="Mine")
    assert order(bench)[-3:] == ["## Mine", "- Use ruff", "- Keep logs of customers"]
    assert order(bench)[1:3] == ["- Use uv", "- Mine"], "it stays there in later transactions too"


def test_no_empty_heading_is_left(bench: Bench) -> None:
    """A line that moves to another file takes its heading along if tacitd made it; a person's heading stays."""
    (bench.root / "src").mkdir()
    answer = lines("Use the bus", file="src/AGENTS.md", section="Architecture")
    bench.answer((EXTRACTION, "[1] Use the bus"), (SYNTHESIS, f"{answer}\nFROM: 1"))
    bench.learn("use the bus")
    learn(bench, "Use pnpm", session="s2")
    answer = lines("Call handlers directly")
    bench.answer(
        (EXTRACTION, "[1] Call handlers directly"), (SYNTHESIS, f"{answer}\nFROM: 1\nREPLACES: Use the bus")
    )
    bench.learn("call handlers directly", session="s3")
    agents = bench.root / "src/AGENTS.md"
    assert "Architecture" not in agents.read_text() and "Call handlers directly" in bench.bullets
    bench.history.undo_transaction(bench.history.list_transactions(bench.root)[-1].id)
    assert bench.bullets == ["Use pnpm"] and "## Architecture\n- Use the bus\n" in agents.read_text()


@examples(40)
@given(
    st.lists(
        st.sampled_from(["Use pnpm", "Use ruff", "Use uv", "Never drop tables in production"]),
        unique=True,
        min_size=1,
    ),
    st.permutations(["- mine", "text", "  - nested", ""]),
)
def test_a_persons_text_keeps_its_bytes_and_its_places(
    tmp_path_factory: pytest.TempPathFactory, facts: list[str], own: list[str]
) -> None:
    """S-28: whatever is learned in between."""
    bench = Bench(tmp_path_factory.mktemp("bench"))
    text = "# Mine\n\n## Coding\n" + "\n".join(own) + "\n\n## General\n- first\n\nlast\n"
    bench.files.learned_file.write_text(text)
    bench.see(bench.project)
    for number, fact in enumerate(facts):
        learn(bench, fact, session=f"s{number}")
    left = "".join(line for line in bench.learned.splitlines(True) if line[2:].rstrip() not in facts)
    assert left == text
    assert isinstance(bench.root, Path)
