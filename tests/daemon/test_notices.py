"""What handlers made, for whoever watches: one line in the log, and for those who wait."""

from __future__ import annotations

import pytest
from loguru import logger

from tacitd.handler import Notice
from tacitd.notices import KEPT, LONGEST, Notices, notice_line


def test_one_line_with_its_place_and_its_price() -> None:
    """The form that README and `run` show."""
    notice = Notice("learned", "Use pnpm, not npm", "shop/LEARNED.md", "from 2 prompts, $0.01")
    said = "learned: Use pnpm, not npm  (shop/LEARNED.md, from 2 prompts, $0.01)"
    assert notice_line(notice) == said
    assert notice_line(Notice("learned", "x")) == "learned: x"


def test_it_is_logged_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Braces are no fields to loguru, and nothing in it reaches a terminal's controls."""
    heard: list[str] = []
    sink = logger.add(lambda message: heard.append(message.record["message"]), level="INFO")
    try:
        Notices().add(Notice("learned", "Use {pnpm}\x1b[31m\nINFO forged" + "x" * 999))
    finally:
        logger.remove(sink)
    assert heard[0].startswith("learned: Use {pnpm} [31m INFO forged")
    assert heard[0].isprintable() and len(heard[0]) <= len("learned: ") + LONGEST


def test_who_waits_gets_what_came_since() -> None:
    """In order, and no more than is kept."""
    notices = Notices()
    notices.add(Notice("learned", "old"))
    mark = notices.mark()
    assert notices.since(mark) == []
    for number in range(3):
        notices.add(Notice("learned", str(number)))
    assert [one.text for one in notices.since(mark)] == ["0", "1", "2"]
    for number in range(KEPT + 5):
        notices.add(Notice("learned", str(number)))
    assert len(notices.since(mark)) == KEPT
