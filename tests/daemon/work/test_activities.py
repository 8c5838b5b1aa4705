"""What happened: one line in the log, numbered for callers that wait, counted for the status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from support_changes import announce_made
from tacitd.clock import local_date, utc_seconds
from tacitd.handler import Notice
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.activities import (
    KEPT,
    LONGEST,
    SHOWN,
    Activities,
    Activity,
    activity_line,
    summarise_learned,
)

PNPM = Notice("learned", "Use pnpm, not npm", "shop/LEARNED.md", "from 2 prompts, $0.01")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    with closing(Store.open(tmp_path, clock)) as one:
        yield one


@pytest.fixture
def activities(store: Store, clock: FakeClock) -> Activities:
    return Activities(store, clock.now)


def test_one_line_with_its_place_and_its_price(activities: Activities, clock: FakeClock) -> None:
    """The form in the README and in the output of `run`."""
    activities.announce("learning", PNPM)
    (one,) = activities.list_since(0)
    said = "learned: Use pnpm, not npm  (shop/LEARNED.md, from 2 prompts, $0.01)"
    assert activity_line(one) == said
    assert one.describe() == {
        "at": utc_seconds(clock.now()),
        "did": "learned",
        "text": "Use pnpm, not npm",
        "where": "shop/LEARNED.md",
        "about": "from 2 prompts, $0.01",
        "handler": "learning",
        "line": said,
    }
    assert activity_line(Activity(0.0, "learned", "x")) == "learned: x"


def test_purged_words_are_blanked_in_memory(activities: Activities) -> None:
    """Numbers and other activities stay."""
    activities.announce("learning", PNPM)
    activities.add("learned", "Prefers tabs")
    activities.blank_texts(["Use pnpm, not npm"])
    assert [(number, one.text) for number, one in activities.list_numbered(0)] == [
        (1, "[forgotten]"),
        (2, "Prefers tabs"),
    ]


def _changed(*lines: dict[str, str]) -> dict[str, Any]:
    return {"id": "t", "root": "/p/shop", "lines": lines}


def _take(text: str, file: str = "LEARNED.md") -> dict[str, str]:
    return {"file": file, "added": "", "removed": text}


def _put(text: str, file: str = "LEARNED.md") -> dict[str, str]:
    return {"file": file, "added": text, "removed": ""}


def test_what_was_taken_back_is_not_among_what_was_learned(
    activities: Activities, store: Store, clock: FakeClock
) -> None:
    """A forgotten or undone line gives its place to the one before it, and a restored or moved one is there again."""
    for number in range(SHOWN + 1):
        announce_made(
            activities,
            store,
            "learning",
            Notice("learned", str(number), "shop/LEARNED.md", root="/p/shop"),
            clock.now(),
        )
    announce_made(
        activities, store, "learning", Notice("learned", "3", "api/LEARNED.md", root="/p/api"), clock.now()
    )

    def find_last() -> list[str]:
        found = summarise_learned(store.rows, clock.now())
        return [f"{row['where'].partition('/')[0]} {row['text']}" for row in found["last"]] + [
            str(found["today"])
        ]

    assert find_last() == ["api 3", "shop 3", "shop 2", "5"]
    activities.follow_change(_changed(_take("3")))
    assert find_last() == ["api 3", "shop 2", "shop 1", "4"]
    activities.follow_change(_changed(_put("3"), _take("2")))
    assert find_last() == ["api 3", "shop 3", "shop 1", "4"]
    activities.follow_change(_changed(_put("1", "web/AGENTS.md"), _take("1")))
    assert find_last() == ["api 3", "shop 3", "shop 1", "4"]
    made = [row.text for row in activities.list_since(0) if row.did == "learned"]
    assert made == ["0", "1", "2", "3", "3"]


def test_a_line_of_another_project_with_the_same_name_stays(
    activities: Activities, store: Store, clock: FakeClock
) -> None:
    """Clones of one repository have one name, so a line belongs to its project's directory."""
    for root in ("/p/shop", "/q/shop"):
        announce_made(
            activities,
            store,
            "learning",
            Notice("learned", "Use pnpm", "shop/LEARNED.md", root=root),
            clock.now(),
        )
    assert summarise_learned(store.rows, clock.now())["today"] == 2
    activities.follow_change(_changed(_take("Use pnpm")))
    assert summarise_learned(store.rows, clock.now())["today"] == 1


def test_a_forgotten_item_of_another_plugin_is_not_among_what_was_learned(
    activities: Activities, store: Store, clock: FakeClock
) -> None:
    """Lessons and preferences are in no change of a project's file, so the notice names the item."""
    announce_made(
        activities,
        store,
        "lessons",
        Notice("learned", "Check the exit code", "lesson 006", item="006"),
        clock.now(),
    )
    announce_made(
        activities,
        store,
        "profile",
        Notice("learned", "your tools.editor", "profile.json", item="tools.editor"),
        clock.now(),
    )
    activities.follow_decision("profile", "006", is_gone=True)
    activities.follow_decision("lessons", "006", is_gone=True)
    found = summarise_learned(store.rows, clock.now())
    assert found["today"] == 1 and [row["text"] for row in found["last"]] == ["your tools.editor"]
    activities.follow_decision("lessons", "006", is_gone=False)
    assert summarise_learned(store.rows, clock.now())["today"] == 2


def test_the_text_is_logged_unchanged(activities: Activities) -> None:
    """loguru does not format braces in it, and control characters are removed."""
    logged: list[str] = []
    sink = logger.add(lambda message: logged.append(message.record["message"]), level="INFO")
    try:
        activities.add("learned", "Use {pnpm}\x1b[31m\nINFO forged" + "x" * 999)
    finally:
        logger.remove(sink)
    assert logged[0].startswith("learned: Use {pnpm} [31m INFO forged")
    assert logged[0].isprintable() and len(logged[0]) <= len("learned: ") + LONGEST


def test_a_caller_gets_what_happened_since_its_mark(activities: Activities) -> None:
    """In order, up to the number that is kept."""
    activities.add("learned", "old")
    mark = activities.get_mark()
    assert activities.list_since(mark) == []
    for number in range(3):
        activities.add("read", str(number))
    assert [one.text for one in activities.list_since(mark)] == ["0", "1", "2"]
    assert [number for number, _ in activities.list_numbered(mark)] == [2, 3, 4]
    for number in range(KEPT + 5):
        activities.add("read", str(number))
    numbers = [number for number, _ in activities.list_numbered(mark)]
    assert len(numbers) == KEPT and numbers[0] == mark + 3 + 5 + 1 and numbers[-1] == activities.get_mark()


def test_what_was_learned_today_is_counted(activities: Activities, store: Store, clock: FakeClock) -> None:
    """With the newest three lines, each once. Another local day begins at 0."""
    for number in (*range(SHOWN + 1), 0):
        announce_made(activities, store, "toy", Notice("learned", str(number), "x"), clock.now())
        announce_made(activities, store, "toy", Notice("extracted", "no line of its own"), clock.now())
    found = summarise_learned(store.rows, clock.now())
    assert found["today"] == SHOWN + 1 and [row["text"] for row in found["last"]] == ["0", "3", "2"]
    before = local_date(clock.now())
    clock.advance(86400.0)
    assert local_date(clock.now()) != before and summarise_learned(store.rows, clock.now())["today"] == 0
    for _ in range(9):
        clock.advance(86400.0)
        announce_made(activities, store, "toy", Notice("learned", "daily"), clock.now())
    assert summarise_learned(store.rows, clock.now())["today"] == 1


@pytest.mark.parametrize("did", ["read", "learned", "a plugin's own word"])
def test_any_word_is_allowed(activities: Activities, did: str) -> None:
    """Third-party plugins have words of their own."""
    activities.announce("toy", Notice(did, "x"))
    assert activities.list_since(0)[0].did == did
