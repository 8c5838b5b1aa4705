"""The notices of handlers: one line in the log, and the list for callers that wait."""

from __future__ import annotations

import pytest
from loguru import logger

from tacitd.dispatch.notices import KEPT, LONGEST, Notices, notice_line
from tacitd.handler import Notice


def test_one_line_with_its_place_and_its_price() -> None:
    """The form in the README and in the output of `run`."""
    notice = Notice("learned", "Use pnpm, not npm", "shop/LEARNED.md", "from 2 prompts, $0.01")
    said = "learned: Use pnpm, not npm  (shop/LEARNED.md, from 2 prompts, $0.01)"
    assert notice_line(notice) == said
    assert notice_line(Notice("learned", "x")) == "learned: x"


def test_the_text_is_logged_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    """loguru does not format braces in it, and control characters are removed."""
    logged: list[str] = []
    sink = logger.add(lambda message: logged.append(message.record["message"]), level="INFO")
    try:
        Notices().add_notice(Notice("learned", "Use {pnpm}\x1b[31m\nINFO forged" + "x" * 999))
    finally:
        logger.remove(sink)
    assert logged[0].startswith("learned: Use {pnpm} [31m INFO forged")
    assert logged[0].isprintable() and len(logged[0]) <= len("learned: ") + LONGEST


def test_a_caller_gets_the_notices_since_its_mark() -> None:
    """In order, up to the number that is kept."""
    notices = Notices()
    notices.add_notice(Notice("learned", "old"))
    mark = notices.get_mark()
    assert notices.list_since(mark) == []
    for number in range(3):
        notices.add_notice(Notice("learned", str(number)))
    assert [one.text for one in notices.list_since(mark)] == ["0", "1", "2"]
    for number in range(KEPT + 5):
        notices.add_notice(Notice("learned", str(number)))
    assert len(notices.list_since(mark)) == KEPT
