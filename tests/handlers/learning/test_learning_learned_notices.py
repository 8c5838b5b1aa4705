"""What is told of each line that learning wrote."""

from __future__ import annotations

from pathlib import Path

from tacitd.handler import Notice
from tacitd_handlers.learning.learned_notices import learned_notices


def test_each_line_is_a_notice_with_its_file_its_prompts_and_its_share_of_the_price() -> None:
    """What the calls cost is shared among the lines that came of them; an old record without figures says less."""
    data = {"put": ["a", "b"], "files": {"b": "web/AGENTS.md"}, "from": 3, "usd": 0.05}
    assert list(learned_notices(Path("/home/dev/shop"), data)) == [
        Notice("learned", "a", "shop/LEARNED.md", "from 3 prompts, $0.03"),
        Notice("learned", "b", "shop/web/AGENTS.md", "from 3 prompts, $0.03"),
    ]
    assert [one.about for one in learned_notices(Path("/s"), {"put": ["a"], "from": 1, "usd": 0.001})] == [
        "from 1 prompt, under $0.01"
    ]
    assert [one.about for one in learned_notices(Path("/s"), {"put": ["a"]})] == ["$0.00"]
    assert list(learned_notices(Path("/s"), {"put": []})) == []
