"""`tacitd learner archive` makes room in Known Weaknesses (SPEC L-27)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learner import Desk, stamp
from support_learner_skill import format_weakness
from tacitd.errors import UsageError
from tacitd_handlers.learner.practice_record import archive_weakness
from tacitd_handlers.learner.vocabulary import RECURRING
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def archive(desk: Desk, name: str) -> str:
    store = desk.store()
    with store.locked():
        return archive_weakness(store, name)


def test_L_27_archiving_makes_room(desk: Desk) -> None:
    """SPEC L-27: the entry keeps its bytes below `### Resolved`, the one that waits enters, both at once."""
    for number in range(21):
        desk.record(f"p{number}", pattern=f"x{number}", gaps=f"edge:{number}")
    before = desk.profile.bare_lines(desk.placed("edge:3").span)  # type: ignore[union-attr]
    assert archive(desk, "edge:3") == "edge:3"
    placed = desk.placed("edge:3")
    assert placed is not None and placed.resolved and desk.profile.bare_lines(placed.span) == before
    assert desk.entry("edge:20").status == "new" and not desk.state.waiting
    assert sum(not one.resolved for one in desk.profile.weaknesses) == MAX_ACTIVE


def test_L_27_an_archived_entry_returns_when_it_is_observed_again(desk: Desk) -> None:
    """SPEC L-27, L-16: a clean session updates it in its place; a failure brings it back."""
    desk.record(gaps="edge:a")
    archive(desk, "a")
    desk.record()
    placed = desk.placed("edge:a")
    assert placed is not None and placed.resolved and placed.entry.clean == 1
    desk.record(gaps="edge:a")
    placed = desk.placed("edge:a")
    assert placed is not None and not placed.resolved and placed.entry.status == RECURRING


def test_L_27_an_entry_of_a_persons_own(desk: Desk) -> None:
    """SPEC L-27: an entry that is no gap's is moved too; an unknown or archived name is refused, with the labels."""
    desk.record(gaps="edge:a")
    theirs = format_weakness("Talks too fast", "rushes", stamp(-9), stamp(-9), "")
    desk.edit("- **edge:a**", f"{theirs}- **edge:a**")
    assert archive(desk, "talks too fast") == "Talks too fast"
    assert theirs in desk.text.partition("### Resolved")[2]
    for name in ("Talks too fast", "nope"):
        with pytest.raises(UsageError) as refused:
            archive(desk, name)
        assert "edge:a" in refused.value.hint
