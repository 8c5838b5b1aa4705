"""The life of a rule: corrections before and after, through the handler and as rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_decisions import decide, find
from support_examples import examples
from support_learning import EXTRACTION, PNPM, SYNTHESIS, Bench, lines
from tacitd.report.sections import ReportScope, ReportTable
from tacitd_handlers.learning.report_sections import build_sections
from tacitd_handlers.learning.rule_life import (
    ENOUGH,
    PROPOSAL,
    UNHEEDED,
    begin_rule,
    correct_rule,
    count_by_month,
    judge_rule,
    list_unheeded,
)

RULE = "Always use pnpm, never npm"
CORRECTED = f"[1] Corrected: AGAIN: {PNPM}"
TIMES = st.floats(1e9, 2e9)


@examples(150)
@given(TIMES, st.integers(0, 80), st.lists(TIMES, max_size=9), st.lists(TIMES, max_size=80))
def test_no_correction_is_lost_or_on_the_wrong_side(
    at: float, before: int, typed: list[float], after: list[float]
) -> None:
    """Counts are exact; times before are not after the line, and times after not before it, whatever the clock did."""
    life = begin_rule(at, before, typed)
    for when in after:
        life = correct_rule(life, when)
    assert (life.before, life.after, life.written) == (before, len(after), at)
    assert all(each <= at for each in life.before_at) and all(each >= at for each in life.after_at)
    assert list(life.after_at) == sorted(life.after_at)
    assert sum(count_by_month(life.after_at).values()) == min(len(after), 50)
    assert life.is_unheeded == (len(after) >= UNHEEDED)
    assert (list_unheeded({"line": life}) == ("line",)) == life.is_unheeded


@examples(100)
@given(st.integers(0, 3), st.integers(0, 4), st.integers(0, 500), st.integers(0, 500))
def test_a_judgement_claims_no_more_than_is_known(before: int, after: int, asked: int, then: int) -> None:
    """It helps only if there were corrections before, none after, and enough was said since."""
    life = begin_rule(1e9, before, (), asked=then)
    for number in range(after):
        life = correct_rule(life, 1e9 + number)
    effect, why = judge_rule(life, asked)
    assert (effect == "not heeded") == (after >= UNHEEDED)
    assert (effect == "not corrected since") == (not after and bool(before) and asked - then >= ENOUGH)
    assert (effect == "unknown") == (not after and (not before or asked - then < ENOUGH))
    assert why


def scope_of(bench: Bench) -> ReportScope:
    now = bench.clock.now()
    return ReportScope(bench.state, {}, None, now - 90 * 86_400.0, now)


def tables(bench: Bench) -> dict[str, tuple[tuple[object, ...], ...]]:
    """The rows of learning's sections, by the tables' titles."""
    parts = [part for section in build_sections(scope_of(bench)) for part in section.parts]
    return {part.title: part.rows for part in parts if isinstance(part, ReportTable)}


def test_a_rule_that_is_not_heeded_is_flagged_through_its_rewording(bench: Bench) -> None:
    """Learned from a correction, corrected, reworded, corrected again: `status` and the report show it, with a proposal.

    Nothing is written for it.
    """
    bench.answer((EXTRACTION, f"[1] Corrected: {PNPM}"), (SYNTHESIS, lines(PNPM) + "\nFROM: 1"))
    bench.learn("no, use pnpm, not npm", session="s1")
    assert tables(bench)["Corrections before and after each rule"][0][2:4] == (1, 0)
    bench.answer((EXTRACTION, CORRECTED), (SYNTHESIS, lines(RULE) + f"\nREPLACES: {PNPM}\nFROM: 1"))
    bench.learn("I said pnpm", session="s2")
    assert bench.bullets == [RULE] and bench.status["unheeded"] == {}
    bench.answer((EXTRACTION, f"[1] Corrected: AGAIN: {RULE}"))
    bench.learn("pnpm!", session="s3")
    for _ in range(2):
        assert bench.status["unheeded"] == {str(bench.root): [RULE]}
        (said,) = [one for one in bench.status["says"] if RULE in one]
        assert said.startswith("!") and PROPOSAL[1:] in said
        bench.restart()
    assert bench.bullets == [RULE]
    found = tables(bench)
    assert found["Corrected again, still not heeded"][0][:3] == (RULE, "app", 2)
    assert found["Corrections before and after each rule"][0][2:] == (1, 2, "not heeded")
    assert found["Lines"][0][0] == RULE


def flagged(bench: Bench) -> None:
    """A line that was corrected twice although it was written."""
    bench.answer((EXTRACTION, f"[1] {PNPM}"), (SYNTHESIS, lines(PNPM) + "\nFROM: 1"))
    bench.learn("use pnpm, not npm", session="s1")
    bench.answer((EXTRACTION, CORRECTED), (SYNTHESIS, "NONE"))
    for number in (2, 3):
        assert find(bench, PNPM).review == ""
        bench.learn(f"I said pnpm, {number}", session=f"s{number}")


def test_a_flagged_rule_is_reviewed_and_kept_until_it_is_corrected_again(bench: Bench) -> None:
    """`review` gives the proposal; kept, neither `review` nor `status` asks again before the next correction."""
    flagged(bench)
    item = find(bench, PNPM)
    assert item.review == f"you corrected this 2 times since it was written: {PROPOSAL}"
    assert bench.status["unheeded"] == {str(bench.root): [PNPM]}
    assert any("`tacitd review" in one for one in bench.status["says"] if one.startswith("!"))
    decide(bench, item, "keep")
    assert find(bench, PNPM).review == "" and bench.status["unheeded"] == {} and bench.bullets == [PNPM]
    bench.learn("pnpm!", session="s4")
    assert "corrected this 3 times" in find(bench, PNPM).review
    assert bench.status["unheeded"] == {str(bench.root): [PNPM]}


def test_a_flagged_rule_is_dropped_or_worded_anew(bench: Bench) -> None:
    """Either settles it."""
    flagged(bench)
    decide(bench, find(bench, PNPM), "edit", "Run pnpm; a hook checks it")
    assert bench.bullets == ["Run pnpm; a hook checks it"] and bench.status["unheeded"] == {}
    assert find(bench, "Run pnpm; a hook checks it").review == ""


def test_a_flagged_rule_is_dropped(bench: Bench) -> None:
    """It goes, and it is not flagged any more."""
    flagged(bench)
    decide(bench, find(bench, PNPM), "drop")
    assert bench.bullets == [] and bench.status["unheeded"] == {}
    assert tables(bench)["Lines"] == () and tables(bench)["Corrected again, still not heeded"] == ()


def test_a_rule_that_was_removed_or_replaced_begins_anew(bench: Bench) -> None:
    """A line that says something else does not inherit the corrections; a removed one is not shown any more."""
    bench.answer((EXTRACTION, PNPM), (SYNTHESIS, lines(PNPM) + "\nFROM: 1"))
    bench.learn("use pnpm, not npm", session="s1")
    bench.answer((EXTRACTION, CORRECTED), (SYNTHESIS, "NONE"))
    bench.learn("I said pnpm", session="s2")
    assert tables(bench)["Corrections before and after each rule"][0][2:4] == (0, 1)
    yarn = "Use yarn, never pnpm"
    bench.answer((EXTRACTION, f"[1] {yarn}"), (SYNTHESIS, lines(yarn) + f"\nREPLACES: {PNPM}\nFROM: 1"))
    bench.learn("we use yarn now, never pnpm", session="s3")
    assert bench.bullets == [yarn]
    assert [row[0] for row in tables(bench)["Lines"]] == [yarn]
    assert tables(bench)["Corrections before and after each rule"] == ()
    bench.files.learned_file.write_text("# Learned Preferences\n")
    bench.changed(bench.files.learned_file)
    assert tables(bench)["Lines"] == ()


def test_an_empty_state_has_empty_sections(bench: Bench) -> None:
    """Before anything was learned; and what a newer version wrote is counted, not shown."""
    assert tables(bench) == {
        "Lines": (),
        "Corrected again, still not heeded": (),
        "Corrections before and after each rule": (),
    }
    bench.learn()
    bench.log.append({"kind": "batch", "project": 5}, "x", at=1.0)
    (first, _) = build_sections(scope_of(bench))
    assert "1 records of learning's log are of another version" in first.note
