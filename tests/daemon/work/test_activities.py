"""What happened: one line in the log, numbered for callers that wait, counted for the status."""

from __future__ import annotations

from pathlib import Path

import pytest
from loguru import logger

from tacitd.clock import local_date, utc_seconds
from tacitd.files.operations import Effect, Operation, PutLine, TakeLine
from tacitd.files.transaction_records import Transaction
from tacitd.handler import Notice
from tacitd.testing import FakeClock
from tacitd.work.activities import KEPT, LONGEST, SHOWN, Activities, Activity, activity_line

PNPM = Notice("learned", "Use pnpm, not npm", "shop/LEARNED.md", "from 2 prompts, $0.01")


def _activities() -> Activities:
    return Activities(FakeClock().now)


def test_one_line_with_its_place_and_its_price() -> None:
    """The form in the README and in the output of `run`."""
    activities, clock = _activities(), FakeClock()
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


def test_purged_words_are_blanked_in_memory() -> None:
    """The next status document is made of it. Numbers and other activities stay."""
    activities = _activities()
    activities.announce("learning", PNPM)
    activities.add("learned", "Prefers tabs")
    activities.blank_texts(["Use pnpm, not npm"])
    assert [(number, one.text) for number, one in activities.list_numbered(0)] == [
        (1, "[forgotten]"),
        (2, "Prefers tabs"),
    ]
    assert [one["text"] for one in activities.summarise_learned()["last"]] == ["Prefers tabs"]
    assert activities.summarise_learned()["today"] == 1


def _changed(*pairs: tuple[Operation, Effect], at: float = 0.0) -> Transaction:
    operations, effects = zip(*pairs, strict=True)
    return Transaction("t", "k", at, Path("/p/shop"), (), operations, {}, "done", effects)


def _take(text: str, file: str = "LEARNED.md") -> tuple[Operation, Effect]:
    return TakeLine(Path("/p/shop") / file, text), Effect("taken")


def _put(text: str, file: str = "LEARNED.md") -> tuple[Operation, Effect]:
    return PutLine(Path("/p/shop") / file, "Coding", text, "Learned"), Effect("put")


def test_what_was_taken_back_is_not_among_what_was_learned() -> None:
    """A forgotten or undone line gives its place to the one before it, and a restored or moved one is there again."""
    activities = _activities()
    for number in range(SHOWN + 1):
        activities.announce("learning", Notice("learned", str(number), "shop/LEARNED.md", root="/p/shop"))
    activities.announce("learning", Notice("learned", "3", "api/LEARNED.md", root="/p/api"))

    def find_last() -> list[str]:
        found = activities.summarise_learned()
        return [f"{row['where'].partition('/')[0]} {row['text']}" for row in found["last"]] + [
            str(found["today"])
        ]

    assert find_last() == ["api 3", "shop 3", "shop 2", "5"]
    activities.follow_transaction(_changed(_take("3"), (TakeLine(Path("/p/shop/LEARNED.md"), "2"), Effect())))
    assert find_last() == ["api 3", "shop 2", "shop 1", "4"]
    activities.follow_transaction(_changed(_put("3"), _take("2")))
    assert find_last() == ["api 3", "shop 3", "shop 1", "4"]
    activities.follow_transaction(_changed(_put("1", "web/AGENTS.md"), _take("1")))
    assert find_last() == ["api 3", "shop 3", "shop 1", "4"]
    assert [row.text for row in activities.list_since(0)] == ["0", "1", "2", "3", "3"]


def test_a_line_of_another_project_with_the_same_name_stays() -> None:
    """Clones of one repository have one name, so a line belongs to its project's directory."""
    activities = _activities()
    for root in ("/p/shop", "/q/shop"):
        activities.announce("learning", Notice("learned", "Use pnpm", "shop/LEARNED.md", root=root))
    assert activities.summarise_learned()["today"] == 2
    activities.follow_transaction(_changed(_take("Use pnpm")))
    assert activities.summarise_learned()["today"] == 1


def test_a_forgotten_item_of_another_plugin_is_not_among_what_was_learned() -> None:
    """Lessons and preferences are in no transaction, so the notice names the item."""
    activities = _activities()
    activities.announce("lessons", Notice("learned", "Check the exit code", "lesson 006", item="006"))
    activities.announce(
        "profile", Notice("learned", "your tools.editor", "profile.json", item="tools.editor")
    )
    activities.follow_decision("profile", "006", is_gone=True)
    activities.follow_decision("lessons", "006", is_gone=True)
    found = activities.summarise_learned()
    assert found["today"] == 1 and [row["text"] for row in found["last"]] == ["your tools.editor"]
    activities.follow_decision("lessons", "006", is_gone=False)
    assert activities.summarise_learned()["today"] == 2


def test_what_was_taken_back_before_the_start_stays_out() -> None:
    """The transactions are applied in their order: a line that was learned again after it was undone is there."""
    activities, now = _activities(), FakeClock().now()
    earlier = [
        Activity(now - 9, "learned", "a", "shop/LEARNED.md", root="/p/shop"),
        Activity(now - 9, "learned", "b", "shop/LEARNED.md", root="/p/shop"),
        Activity(now - 3, "learned", "b", "shop/LEARNED.md", root="/p/shop"),
    ]
    changes = [_changed(_put("a"), _put("b"), at=now - 9), _changed(_take("a"), _take("b"), at=now - 5)]
    activities.load(earlier, [*changes, _changed(_put("b"), at=now - 3)])
    assert [row["text"] for row in activities.summarise_learned()["last"]] == ["b"]


def test_the_text_is_logged_unchanged() -> None:
    """loguru does not format braces in it, and control characters are removed."""
    logged: list[str] = []
    sink = logger.add(lambda message: logged.append(message.record["message"]), level="INFO")
    try:
        _activities().add("learned", "Use {pnpm}\x1b[31m\nINFO forged" + "x" * 999)
    finally:
        logger.remove(sink)
    assert logged[0].startswith("learned: Use {pnpm} [31m INFO forged")
    assert logged[0].isprintable() and len(logged[0]) <= len("learned: ") + LONGEST


def test_a_caller_gets_what_happened_since_its_mark() -> None:
    """In order, up to the number that is kept."""
    activities = _activities()
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


def test_what_was_learned_today_is_counted() -> None:
    """With the newest three lines. Another local day begins at 0; what was loaded at the start counts for its day."""
    clock = FakeClock()
    activities = Activities(clock.now)
    activities.load(
        [Activity(clock.now() - 86400.0, "learned", "yesterday"), Activity(clock.now(), "learned", "before")]
    )
    for number in range(SHOWN):
        activities.add("learned", str(number))
        activities.add("extracted", "no line of its own")
    found = activities.summarise_learned()
    assert found["today"] == SHOWN + 1 and [row["text"] for row in found["last"]] == ["2", "1", "0"]
    before = local_date(clock.now())
    clock.advance(86400.0)
    assert local_date(clock.now()) != before and activities.summarise_learned()["today"] == 0
    for _ in range(9):
        clock.advance(86400.0)
        activities.add("learned", "daily")
    assert activities.summarise_learned()["today"] == 1


@pytest.mark.parametrize("did", ["read", "learned", "a plugin's own word"])
def test_any_word_is_allowed(did: str) -> None:
    """Third-party plugins have words of their own."""
    activities = _activities()
    activities.announce("toy", Notice(did, "x"))
    assert activities.list_since(0)[0].did == did
