"""What a person decides about lines: forget, forget --undo, forget --purge, accept, and the choices of `review`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from support_learned_rows import PNPM, SHORT, LearnedRows, find_texts
from tacitd.errors import FileRefusedError, TacitdError, UsageError

DAY = 86_400.0
RULE = "Always use pnpm in scripts"


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[LearnedRows]:
    with LearnedRows(tmp_path) as made:
        yield made


def decide(
    rows: LearnedRows, text: str, choice: Literal["keep", "drop", "edit", "restore"], new: str = ""
) -> str:
    item = rows.find(text)
    return rows.bench.decide(item.id, choice, new, item.root).what


# --- lines


def test_the_facts_of_a_forgotten_line_are_forgotten_too(rows: LearnedRows) -> None:
    """S-28: a line in other words than its fact; said as the fact says it, it is not learned either."""
    fact = rows.hear("pnpm instead of npm")
    rows.learn(PNPM)
    rows.change("INSERT INTO learning_line_fact SELECT number, ? FROM learning_line", fact)
    decide(rows, PNPM, "drop")
    assert rows.is_never("pnpm instead of npm")
    decide(rows, PNPM, "restore")
    assert not rows.is_never("pnpm instead of npm") and not rows.is_never(PNPM)


def test_a_persons_own_line_is_forgotten_and_put_back(rows: LearnedRows) -> None:
    """S-28: it is marked as theirs, so that `forget` asks first; their heading stays."""
    (rows.root / "LEARNED.md").write_text("# L\n\n## Mine\n\n- keep this line\n- and this\n")
    rows.learn(PNPM)
    assert rows.find("keep this line").by_person and not rows.find(PNPM).by_person
    decide(rows, "keep this line", "drop")
    decide(rows, "and this", "drop")
    assert rows.bullets() == [PNPM] and "## Mine" in (rows.root / "LEARNED.md").read_text()
    assert rows.is_never("keep this line")
    decide(rows, "keep this line", "restore")
    assert rows.bullets() == [PNPM, "keep this line"] or rows.bullets() == ["keep this line", PNPM]
    assert rows.find("keep this line").by_person


@pytest.mark.parametrize("own", [False, True])
def test_a_line_is_reworded(rows: LearnedRows, own: bool) -> None:
    """`review`, edit: the person's words take its place, and the line is theirs for good."""
    if own:
        (rows.root / "LEARNED.md").write_text(f"# L\n\n## Coding\n- {PNPM}\n")
    else:
        rows.learn(PNPM)
    decide(rows, PNPM, "edit", f"- {RULE}\u200b ")
    assert rows.bullets() == [RULE] and rows.find(RULE).by_person
    with pytest.raises(UsageError, match="empty"):
        decide(rows, RULE, "edit", " \u200b")
    assert rows.bullets() == [RULE]


# --- what is only proposed


def test_a_refused_fact_that_stands_in_the_file_by_now_is_no_item(rows: LearnedRows) -> None:
    """S-67: written by hand, or learned since."""
    for text in (PNPM, SHORT):
        rows.hear(text, state="refused", reason="why")
    (rows.root / "LEARNED.md").write_text(f"# L\n\n- {PNPM}\n")
    rows.learn(SHORT)
    assert rows.reviewed() == {}


def test_a_refused_fact_is_stored_in_other_words_or_dropped(rows: LearnedRows) -> None:
    """S-67: dropped, it is not proposed again, and `forget --undo` lets it wait again."""
    rows.hear("Use pnpm 9.9.9", state="review", reason="nobody said 9.9.9")
    rows.hear("Use node 99", state="refused", reason="nobody said 99")
    decide(rows, "Use pnpm 9.9.9", "edit", PNPM)
    assert rows.bullets() == [PNPM] and rows.find(PNPM).by_person
    decide(rows, "Use node 99", "drop")
    assert rows.is_never("Use node 99") and rows.reviewed() == {}
    decide(rows, "Use node 99", "restore")
    assert list(rows.reviewed()) == ["Use node 99"] and not rows.is_never("Use node 99")


@pytest.mark.parametrize("choice", ["keep", "drop", "edit"])
def test_a_withheld_line(rows: LearnedRows, choice: Literal["keep", "drop", "edit"]) -> None:
    """S-28: removed by hand and said again, the person decides."""
    id = rows.learn(PNPM, "no, use pnpm")
    (rows.root / "LEARNED.md").write_text("# Learned Preferences\n")
    rows.notice()
    assert rows.rows("SELECT state FROM learning_line WHERE id = ?", id) == [("removed",)]
    rows.mark(id, "withheld")
    item = rows.find(PNPM)
    assert (item.kind, item.state) == ("withheld line", "proposed")
    assert item.review == "you removed it, and said it again since" and item.words == ("no, use pnpm",)
    decide(rows, PNPM, choice, RULE)
    assert rows.bullets() == {"keep": [PNPM], "drop": [], "edit": [RULE]}[choice]
    assert rows.reviewed() == {} and rows.is_never(PNPM) == (choice == "drop")


def test_nothing_is_stored_in_an_excluded_project(rows: LearnedRows) -> None:
    """S-24: a line is still removed there."""
    rows.learn(SHORT)
    rows.hear(PNPM, state="review", reason="why")
    rows.bench._app.write_modes.set_mode(rows.root, "off")
    with pytest.raises(FileRefusedError, match="excluded"):
        decide(rows, PNPM, "keep")
    decide(rows, SHORT, "drop")
    assert rows.bullets() == []


def test_an_item_that_is_gone_and_a_choice_that_does_not_apply(rows: LearnedRows) -> None:
    rows.learn(PNPM)
    with pytest.raises(TacitdError, match="there is no line abcd1234"):
        rows.bench.decide("abcd1234", "drop", root=rows.root)
    rows.hear("Use node 99", state="review")
    with pytest.raises(UsageError, match="not forgotten"):
        decide(rows, "Use node 99", "restore")


# --- review


def test_review_asks_about_a_contradiction_until_it_is_kept_or_the_persons_line_goes(
    rows: LearnedRows,
) -> None:
    """S-26."""
    file = rows.root / "LEARNED.md"
    file.write_text("# L\n\n## Mine\n- Use npm\n")
    rows.learn(PNPM, contrary="Use npm")
    assert rows.reviewed() == {PNPM: "it contradicts your line: Use npm"}
    before = file.read_text()
    file.write_text(before.replace("- Use npm\n", ""))
    assert rows.reviewed() == {}
    file.write_text(before)
    decide(rows, PNPM, "keep")
    assert rows.reviewed() == {} and PNPM in rows.bullets()


# --- all projects


# --- purge


def test_what_a_purge_removes_of_a_line(rows: LearnedRows) -> None:
    """DESIGN "The store": its facts, the sentences and prompts that it rests on, and what it said before."""
    id = rows.learn(PNPM, "no npm here, pnpm")
    old = rows.learn("Use yarn", "yarn it is")
    rows.change(
        "UPDATE learning_line SET state = 'replaced', replaced_by = (SELECT number FROM learning_line WHERE id = ?) WHERE id = ?",
        id,
        old,
    )
    item = rows.find(PNPM)
    assert {"no npm here, pnpm", "Use yarn"} <= {*item.words, *item.earlier}
    waiting = rows.root / "tmp/learning-raw.jsonl"
    waiting.parent.mkdir(exist_ok=True)
    waiting.write_text(f'{{"facts": ["{PNPM}", "other"]}}\n')
    decide(rows, PNPM, "drop")
    done = rows.bench.purge(id, [PNPM, "no npm here, pnpm"])
    assert [one.text for one in done.notices] == [str(waiting)]
    assert PNPM not in waiting.read_text() and "other" in waiting.read_text()
    assert rows.bench._app.store.purge_words([PNPM, "no npm here, pnpm"]) > 0
    assert rows.is_never(PNPM), "it is known by its digest"
    purged = next(one for one in rows.items() if one.state == "forgotten")
    assert (purged.id, purged.text) == (id, "")
    assert "may be learned again" in rows.bench.decide(id, "restore", root=rows.root).what
    assert not rows.is_never(PNPM) and find_texts(rows.items(), "forgotten") == []
