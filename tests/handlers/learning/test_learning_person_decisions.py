"""The log of a person's decisions, and which texts it forgets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.person_decisions import (
    DECISIONS_LOG,
    ForgottenTexts,
    StoredDecision,
    append_decision,
    list_dropped,
    make_drop,
    make_item_id,
    read_decisions,
    read_forgotten,
)

ROOT = Path("/home/me/app")
PNPM = "Use pnpm, never npm"


def drop(text: str = PNPM, id: str = "aaaaaaaa", **more: str) -> StoredDecision:
    """The decision to forget a text that came from one fact."""
    return make_drop(1.0, ROOT, id, "LEARNED.md", text, [more.get("fact", "Prefers pnpm")])


def test_a_forgotten_text_covers_what_says_the_same() -> None:
    """The line and the facts that it was made of, in any spelling that counts as the same; nothing else."""
    forgotten = ForgottenTexts([drop()])
    assert (
        forgotten.covers(PNPM)
        and forgotten.covers("use pnpm, never npm.")
        and forgotten.covers("Prefer pnpm")
    )
    assert not forgotten.covers("Use npm, never pnpm") and not forgotten.covers("Use tabs")
    assert not ForgottenTexts([]).covers(PNPM)


def test_a_purged_text_is_still_covered() -> None:
    """Only the digests are left of it."""
    left = StoredDecision(1.0, str(ROOT), "a", "drop", "LEARNED.md", "[forgotten]", (), drop().digests)
    assert ForgottenTexts([left]).covers("- use pnpm, never npm") and ForgottenTexts([left]).covers(
        "[forgotten]"
    )


def test_the_log_keeps_decisions_by_project(tmp_path: Path) -> None:
    """Foreign records are ignored; an id that was restored is not dropped."""
    append_decision(tmp_path, drop())
    append_decision(tmp_path, StoredDecision(2.0, "/other", "bbbbbbbb", "keep"))
    with (tmp_path / DECISIONS_LOG).open("a") as file:
        file.write('{"at": "x"}\n{"at": 1, "facts": 2, "digests": []}\n{"torn\n')
    assert [one.id for one in read_decisions(tmp_path)] == ["aaaaaaaa", "bbbbbbbb"]
    assert read_forgotten(tmp_path, ROOT).covers(PNPM)
    assert not read_forgotten(tmp_path, Path("/other")).covers(PNPM)
    append_decision(tmp_path, StoredDecision(3.0, str(ROOT), "aaaaaaaa", "restore"))
    assert not read_forgotten(tmp_path, ROOT).covers(PNPM)
    assert (tmp_path / DECISIONS_LOG).stat().st_mode & 0o777 == 0o600


@examples(100)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["drop", "restore", "keep", "edit"]))))
def test_the_last_drop_or_restore_of_an_id_counts(steps: list[tuple[str, str]]) -> None:
    """Other choices leave it as it is."""
    made = [StoredDecision(at, str(ROOT), id, choice) for at, (id, choice) in enumerate(steps)]
    last = {id: choice for id, choice in steps if choice in ("drop", "restore")}
    assert set(list_dropped(made)) == {id for id, choice in last.items() if choice == "drop"}


@pytest.mark.parametrize("parts", [("a", "bc"), ("ab", "c"), ("abc",)])
def test_ids_are_short_and_stable(parts: tuple[str, ...]) -> None:
    """Eight digits, the same each time, and not equal for other parts of the same letters."""
    others = {("a", "bc"), ("ab", "c"), ("abc",)} - {parts}
    assert make_item_id(*parts) == make_item_id(*parts) and len(make_item_id(*parts)) == 8
    assert make_item_id(*parts) not in {make_item_id(*other) for other in others}
