"""What happened: rows, one line each, and what of it still counts as learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_changes import store_change, store_made
from tacitd.clock import local_date
from tacitd.handler import Notice
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.activities import (
    LONGEST,
    SHOWN,
    Activity,
    activity_line,
    find_newest,
    follow_decision,
    forget_old_activities,
    insert_parked,
    list_newest,
    list_since,
    summarise_learned,
)

PNPM = Notice("learned", "Use pnpm, not npm", "shop/LEARNED.md", "from 2 prompts, $0.01")


@pytest.fixture
def clock() -> FakeClock:
    """The time."""
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Store:
    """A store in `state`."""
    (tmp_path / "state").mkdir(mode=0o700)
    return Store.open(tmp_path / "state", clock)


def test_one_line_with_its_place_and_its_price(store: Store, clock: FakeClock) -> None:
    """DESIGN "Control": the fields for people; times are UTC."""
    mark = find_newest(store.rows)
    store_made(store, "learning", PNPM, clock.now())
    (one,) = list_since(store.rows, mark)
    line = "learned: Use pnpm, not npm  (shop/LEARNED.md, from 2 prompts, $0.01)"
    assert activity_line(one) == line
    told = one.describe()
    assert (told["line"], told["handler"], told["where"]) == (line, "learning", "shop/LEARNED.md")
    assert told["at"].endswith("Z") and set(told) == {
        "at",
        "did",
        "text",
        "where",
        "about",
        "handler",
        "line",
    }
    assert activity_line(Activity(0.0, "learned", "x")) == "learned: x"


def test_no_text_can_forge_a_line() -> None:
    """Control characters are removed, and a long text is cut."""
    line = activity_line(Activity(0.0, "learned", "Use {pnpm}\x1b[31m\nINFO forged" + "x" * 999))
    assert line.startswith("learned: Use {pnpm} [31m INFO forged")
    assert line.isprintable() and len(line) <= len("learned: ") + LONGEST


def test_what_was_taken_back_is_not_among_what_was_learned(
    tmp_path: Path, store: Store, clock: FakeClock
) -> None:
    """A forgotten or undone line gives its place to the one before it, and a restored or moved one is there again. Clones of one
    repository have one name, so a line belongs to its project's directory."""
    shop, api = tmp_path / "p" / "shop", tmp_path / "q" / "shop"
    for number in range(SHOWN + 1):
        store_made(store, "a", Notice("learned", str(number), "shop/LEARNED.md", root=str(shop)), clock.now())
    store_made(store, "a", Notice("learned", "3", "shop/LEARNED.md", root=str(api)), clock.now())

    def change(*lines: str, removed: tuple[str, ...] = (), file: str = "LEARNED.md") -> None:
        store_change(tmp_path / "state", clock, shop, *lines, removed=removed, file=file)

    def find_last() -> str:
        found = summarise_learned(store.rows, clock.now())
        return " ".join([*(row["text"] for row in found["last"]), str(found["today"])])

    assert find_last() == "3 3 2 5"
    change(removed=("3",))
    assert find_last() == "3 2 1 4"
    change("3", removed=("2",))
    assert find_last() == "3 3 1 4"
    change("1", removed=("1",), file="web/AGENTS.md")
    assert find_last() == "3 3 1 4"
    changed = [one.text for one in list_newest(store.rows, 0.0, 100) if one.did == "changed"]
    assert changed == ["LEARNED.md -1", "LEARNED.md +1 -1", "web/AGENTS.md +1 -1"]


def test_a_forgotten_item_of_another_plugin_is_not_among_what_was_learned(
    store: Store, clock: FakeClock
) -> None:
    """Lessons and preferences are in no change of a project's file, so the notice names the item."""
    lesson = Notice("learned", "Check the exit code", "lesson 006", item="006")
    store_made(store, "lessons", lesson, clock.now())
    value = Notice("learned", "your tools.editor", "profile.json", item="tools.editor")
    store_made(store, "profile", value, clock.now())

    def forget(plugin: str, *, is_gone: bool = True) -> list[str]:
        with store.write() as tx:
            follow_decision(tx, plugin, "006", is_gone=is_gone)
        return [row["text"] for row in summarise_learned(store.rows, clock.now())["last"]]

    assert len(forget("profile")) == 2
    assert forget("lessons") == ["your tools.editor"]
    assert len(forget("lessons", is_gone=False)) == 2


def test_what_was_learned_today_is_counted(store: Store, clock: FakeClock) -> None:
    """With the newest three lines, each once. Another local day begins at 0."""
    for number in (*range(SHOWN + 1), 0):
        store_made(store, "toy", Notice("learned", str(number), "x"), clock.now())
        store_made(store, "toy", Notice("extracted", "no line of its own"), clock.now())
    found = summarise_learned(store.rows, clock.now())
    assert found["today"] == SHOWN + 1 and [row["text"] for row in found["last"]] == ["0", "3", "2"]
    before = local_date(clock.now())
    clock.advance(86400.0)
    assert local_date(clock.now()) != before and summarise_learned(store.rows, clock.now())["today"] == 0
    for _ in range(9):
        clock.advance(86400.0)
        store_made(store, "toy", Notice("learned", "daily"), clock.now())
    assert summarise_learned(store.rows, clock.now())["today"] == 1


def test_a_reason_is_told_once_an_hour(store: Store, clock: FakeClock) -> None:
    """However many tasks wait for it, and whatever time a third-party plugin names."""
    for reason, at in (("no model", None), ("no model", 4e9), ("no money", 1e300), ("no model", None)):
        with store.write() as tx:
            insert_parked(tx, clock.now(), "toy", reason, at)
    with store.write() as tx:
        insert_parked(tx, clock.now() + 3601, "toy", "no model", None)
    told = [one.text for one in list_since(store.rows, 0)]
    assert told == ["no model", "no money", "no model"]
    store_made(store, "toy", PNPM, clock.now())
    with store.write() as tx:
        forget_old_activities(tx, clock.now() + 91 * 86_400.0)
    assert list_since(store.rows, 0) == []
