"""The budget of a file: merging, the archive, and what is never archived (S-54)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learning import EXTRACTION, SYNTHESIS, Bench, lines
from tacitd_handlers.learning.inventory import list_archived, list_learned
from tacitd_handlers.learning.line_budget import YOUNG, BudgetLine, choose_surplus
from tacitd_handlers.learning.settings import LearningSettings

DAY = 86_400.0
GUARD = "Never drop tables in production"
WORDS = st.builds(
    lambda n, guard: f"Use tool{n}" if not guard else f"{GUARD} {n}", st.integers(0, 99), st.booleans()
)
LINES = st.lists(
    st.builds(BudgetLine, WORDS, st.floats(0, 1), st.integers(1, 3), st.floats(0, 100 * DAY), st.booleans()),
    unique_by=lambda line: line.text,
    max_size=30,
)


@examples(200)
@given(LINES, st.integers(0, 20), st.floats(50 * DAY, 120 * DAY))
def test_no_protected_line_is_taken(listed: list[BudgetLine], limit: int, now: float) -> None:
    """S-54: and no more than needed; the least confirmed first."""
    taken = choose_surplus(listed, limit, now)
    by_text = {line.text: line for line in listed}
    assert not [text for text in taken if by_text[text].is_protected(now)]
    assert len(taken) <= max(0, len(listed) - limit)
    left = [one for one in listed if one.text not in taken and not one.is_protected(now)]
    if taken and left:
        assert max(by_text[text].confidence for text in taken) <= min(one.confidence for one in left)
    if len(listed) - len(taken) > limit:
        assert not left, "only protected lines are over the limit"
    rest = [one for one in listed if one.text not in taken]
    assert choose_surplus(rest, limit, now) == []


def test_what_is_protected() -> None:
    old = BudgetLine("Use tabs", 0.5, 1, 0.0)
    assert not old.is_protected(YOUNG)
    for other in (
        BudgetLine(GUARD, 0.5, 1, 0.0),
        BudgetLine("Use tabs", 0.5, 2, 0.0),
        BudgetLine("Use tabs", 0.5, 1, 1.0),
        BudgetLine("Use tabs", 0.5, 1, 0.0, by_person=True),
    ):
        assert other.is_protected(YOUNG)


def learn(bench: Bench, *facts: str, session: str, more: str = "") -> None:
    said = "\n".join(f"[1] {fact}" for fact in facts)
    answer = "\n\n".join(f"{lines(fact)}\nFROM: {n}" for n, fact in enumerate(facts, 1))
    bench.answer((EXTRACTION, said), (SYNTHESIS, answer + more))
    bench.learn(". ".join(facts), session=session)


def fill(bench: Bench, count: int) -> list[str]:
    """So many old lines, said once each, and one that guards data."""
    bench.learning = LearningSettings(max_lines=10)
    facts = [f"Use tool{number}x for job{number}y" for number in range(count)]
    learn(bench, GUARD, *facts, session="s1")
    bench.clock.advance(31 * DAY)
    return facts


def test_the_surplus_goes_to_the_archive_and_returns_when_it_is_said_again(bench: Bench) -> None:
    """Through the handler: asked to merge first, then one named transaction; `learned --archived` lists what it took."""
    facts = fill(bench, 10)
    learn(bench, facts[3], session="s2")
    bench.clock.advance(31 * DAY)
    learn(bench, "Use ruff", session="s3")
    asked = bench.asked(SYNTHESIS)[-1]
    assert (
        "LEARNED.md has 11 learned lines; it may have 10." in asked
        and "REPLACES: the second existing line" in asked
    )
    assert len(bench.bullets) == 10 and {GUARD, facts[3], "Use ruff"} <= set(bench.bullets)
    gone = [fact for fact in facts if fact not in bench.bullets]
    assert len(gone) == 2 and facts[3] not in gone
    archive = bench.history.list_transactions(bench.root)[-1]
    assert archive.cause == {"by": "learning", "what": "archive"}
    assert sorted(one.line for one in list_archived(bench.root, bench.state)) == sorted(gone)
    bench.restart()
    assert sorted(one.line for one in list_archived(bench.root, bench.state)) == sorted(gone)
    assert not any(bench.handler._state.tombstones[bench.root].values()), "nobody removed them"
    learn(bench, gone[0], session="s4")
    assert gone[0] in bench.bullets and gone[0] not in [
        one.line for one in list_archived(bench.root, bench.state)
    ]
    (back,) = [one for one in list_learned(bench.root, bench.state) if one.line == gone[0]]
    assert back.strength.seen_count == 2, "it was said twice now"


def test_the_archive_is_undone_and_leaves_those_lines_alone(bench: Bench) -> None:
    """A person who brings a line back decided about it."""
    fill(bench, 10)
    before = set(bench.bullets)
    learn(bench, "Use ruff", session="s2")
    bench.history.undo_transaction(bench.history.list_transactions(bench.root)[-1].id)
    assert set(bench.bullets) == before | {"Use ruff"} and list_archived(bench.root, bench.state) == []
    gone = before - set(bench.bullets)
    bench.clock.advance(60 * DAY)
    learn(bench, "Use uv", session="s3")
    again = {one.line for one in list_archived(bench.root, bench.state)}
    assert again and not again & gone


def test_a_file_with_nothing_new_is_left_alone(bench: Bench) -> None:
    """S-28: a smaller limit, a restart or another file's line moves nothing."""
    facts = fill(bench, 14)
    bench.learning = LearningSettings(max_lines=10)
    before = bench.learned
    (bench.root / "src").mkdir()
    answer = lines("Use the bus", file="src/AGENTS.md") + "\nFROM: 1"
    bench.answer((EXTRACTION, "[1] Use the bus"), (SYNTHESIS, answer))
    bench.learn("use the bus", session="s2")
    bench.restart()
    assert bench.learned == before and len(facts) == 14


def test_lines_of_the_last_thirty_days_stay(bench: Bench) -> None:
    bench.learning = LearningSettings(max_lines=10)
    learn(bench, *[f"Use tool{n}x for job{n}y" for n in range(14)], session="s1")
    assert len(bench.bullets) == 14 and list_archived(bench.root, bench.state) == []


def test_lines_are_merged_into_one(bench: Bench) -> None:
    """Several REPLACES below one FACT, in one transaction; a person's line stays."""
    learn(bench, "Use pnpm for installs", "Use pnpm for scripts", GUARD, session="s1")
    path = bench.files.learned_file
    path.write_text(path.read_text() + "- Use pnpm at home\n")
    more = (
        "\n\n"
        + lines("Use pnpm for installs and scripts")
        + ("\nREPLACES: Use pnpm for installs\nREPLACES: Use pnpm for scripts\nREPLACES: Use pnpm at home")
    )
    before = path.read_text()
    learn(bench, "Use ruff", session="s2", more=more)
    assert set(bench.bullets) == {GUARD, "Use pnpm for installs and scripts", "Use pnpm at home", "Use ruff"}
    bench.restart()
    merged = bench.handler._state.line_confidences[bench.root]
    assert merged["Use pnpm for installs and scripts"].seen_count == 2, "a merge is no sighting"
    assert "Use pnpm for scripts" not in merged
    (line,) = [one for one in list_learned(bench.root, bench.state) if "installs and scripts" in one.line]
    assert (line.sessions, line.prompts) == (("s1",), ("u1",)), "its words are those of the merged lines"
    assert line.facts == ("Use pnpm for installs", "Use pnpm for scripts")
    bench.history.undo_transaction(bench.history.list_transactions(bench.root)[-1].id)
    assert sorted(path.read_text().splitlines()) == sorted(before.splitlines())
