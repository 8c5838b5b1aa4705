"""The lists of weaknesses and their caps: SPEC L-09, L-26 to L-29."""

from __future__ import annotations

from tacitd_handlers.learner.rules.capacity import Move, WeaknessLists, move_tags
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.vocabulary import LONG, NEW, RECURRING, SHORT


def weakness(tag: str, status: str = NEW, tested: str = "2026-02-01T10:00", clean: int = 0) -> Weakness:
    return Weakness(tag, status, "2026-01-01T10:00", tested, "2026-01-01T10:00", clean=clean)


def twenty(status: str = RECURRING) -> tuple[WeaknessLists, dict[str, Weakness]]:
    tags = {f"t{n:02d}": weakness(f"t{n:02d}", status) for n in range(20)}
    return WeaknessLists(active=list(tags)), tags


def never(w: Weakness) -> bool:
    return False


def test_L_09_twenty_active_then_a_line() -> None:
    """SPEC L-09, L-27: the twenty-first weakness waits; no entry is removed for it."""
    lists, tags = WeaknessLists(), {f"t{n}": weakness(f"t{n}") for n in range(23)}
    moves = [move for tag in tags for move in move_tags(lists, tags, [tag], (), never)]
    assert len(lists.active) == 20 and lists.pending == ["t20", "t21", "t22"]
    assert moves[-1] == Move("t22", "waits")


def test_L_26_promotion_moves_to_resolved() -> None:
    """SPEC L-26: a long-term weakness moves to Resolved, and the next waiting one is admitted."""
    lists, tags = twenty()
    tags["new"] = weakness("new")
    move_tags(lists, tags, ["new"], (), never)
    tags["t03"] = weakness("t03", LONG)
    moves = move_tags(lists, tags, ["t03"], (), never)
    assert lists.resolved == ["t03"] and lists.active[-1] == "new" and not lists.pending
    assert moves == [Move("t03", "promoted"), Move("new", "enters")]
    lists.resolved.append("later")
    tags["later"] = weakness("later", LONG)
    assert not move_tags(lists, tags, ["t03"], (), never), "an entry in Resolved is not promoted again"
    assert lists.resolved == ["t03", "later"]


def test_L_27_the_cap_promotes_only_what_is_proved() -> None:
    """SPEC L-27: the most resolved short-term entry whose four weeks are proved makes room; without proof none does."""
    lists, tags = twenty(SHORT)
    tags["t05"] = weakness("t05", SHORT, clean=9)
    tags["new"] = weakness("new")
    move_tags(lists, tags, ["new"], (), never)
    assert lists.pending == ["new"] and tags["t05"].status == SHORT
    move_tags(lists, tags, [], (), lambda w: w.tag in ("t05", "t06"))
    assert lists.resolved == ["t05"] and tags["t05"].status == LONG and "new" in lists.active
    assert tags["t06"].status == SHORT, "no more than needed"


def test_L_27_a_persons_own_entries_take_room() -> None:
    """SPEC L-27, L-09: every entry outside Resolved counts as active, including a person's own."""
    lists, tags = WeaknessLists(others_active=20), {"new": weakness("new")}
    move_tags(lists, tags, ["new"], (), never)
    assert lists.pending == ["new"]


def test_L_28_a_full_resolved_lets_go_of_the_longest_untested() -> None:
    """SPEC L-28: the entry with the oldest Last tested is dropped; entries without a tag are a person's and stay."""
    tags = {f"r{n}": weakness(f"r{n}", LONG, f"2026-02-{10 + n:02d}T10:00") for n in range(10)}
    lists = WeaknessLists(resolved=list(tags), active=["x"])
    tags["x"] = weakness("x", LONG, "2026-03-01T10:00")
    moves = move_tags(lists, tags, ["x"], (), never)
    assert Move("r0", "dropped") in moves and lists.dropped == ["r0"] and len(lists.resolved) == 10
    assert not move_tags(lists, tags, ["r0"], (), never), "a clean session does not bring it back"
    tags["r0"] = weakness("r0", RECURRING)
    move_tags(lists, tags, ["r0"], (), never)
    assert "r0" in lists.active and not lists.dropped


def test_L_29_seen_again_while_active_is_full() -> None:
    """SPEC L-29: the weakness leaves Resolved and waits."""
    lists, tags = twenty()
    lists.resolved = ["old"]
    tags["old"] = weakness("old", RECURRING)
    moves = move_tags(lists, tags, ["old"], (), never)
    assert moves == [Move("old", "returns"), Move("old", "waits")]
    assert lists.pending == ["old"] and not lists.resolved


def test_L_30_who_was_taken_out_gets_no_room() -> None:
    """SPEC L-30: a new observation does not restore a removed weakness."""
    lists, tags = WeaknessLists(), {"x": weakness("x", RECURRING)}
    assert not move_tags(lists, tags, ["x"], {"x"}, never) and lists == WeaknessLists()
