"""The notices about each line that learning wrote."""

from __future__ import annotations

from pathlib import Path

from tacitd.handler import Commit, Notice
from tacitd_handlers.learning.learned_notices import describe_commit, explain_no_line, learned_notices


def test_each_line_is_a_notice_with_its_file_its_prompts_and_its_share_of_the_price() -> None:
    """The cost of the calls is divided among their lines; a record of an older version has no figures."""
    data = {"put": ["a", "b"], "files": {"b": "web/AGENTS.md"}, "from": 3, "usd": 0.05}
    assert list(learned_notices(Path("/home/dev/shop"), data)) == [
        Notice("learned", "a", "shop/LEARNED.md", "from 3 prompts, $0.03", root="/home/dev/shop"),
        Notice("learned", "b", "shop/web/AGENTS.md", "from 3 prompts, $0.03", root="/home/dev/shop"),
    ]
    assert [one.about for one in learned_notices(Path("/s"), {"put": ["a"], "from": 1, "usd": 0.001})] == [
        "from 1 prompt, <$0.01"
    ]
    assert [one.about for one in learned_notices(Path("/s"), {"put": ["a"]})] == ["$0.00"]
    assert list(learned_notices(Path("/s"), {"put": []})) == []


def test_a_line_names_its_own_prompts() -> None:
    """Of three prompts, one led to each line; of a line without an origin, any of them may have."""
    data = {"put": ["a", "b"], "from": 3, "origins": {"a": {"prompts": ["u1"]}}}
    abouts = [one.about for one in learned_notices(Path("/s"), data)]
    assert abouts == ["from 1 prompt, $0.00", "from 3 prompts, $0.00"]


def test_why_there_is_no_line() -> None:
    """A repeated line, NONE, a removed line and a refusal have different reasons, without the user's words."""
    notice = Notice("no line", "it is written there already", "/home/dev/shop")
    data = {"put": [], "again": ["a"], "no_line": "it is written there already"}
    assert list(learned_notices(Path("/home/dev/shop"), data)) == [notice]
    cases = [(1, 0, 0, True), (0, 1, 0, True), (0, 0, 1, True), (0, 0, 0, True), (0, 0, 0, False)]
    said = [explain_no_line(repeated=a, withheld=b, refused=c, asked=d) for a, b, c, d in cases]
    assert [text.split(" (")[0] for text in said] == [
        "it is written there already",
        "you removed that line before",
        "what was proposed was refused",
        "the model made no line of it",
        "another document contains it already",
    ]
    both = explain_no_line(repeated=1, withheld=0, refused=2, asked=True)
    assert both.startswith("it is written there already; what was proposed")


def _commit(**data: object) -> Commit:
    return Commit(0.0, "TranscriptGrew", "/t", "s", 9, {"project": "/home/dev/shop", **data})


def test_an_extraction_is_told_in_numbers() -> None:
    """Facts are the person's words, which are announced when they are stored. Without a call there is nothing to tell."""
    batch = _commit(kind="batch", asked=3, facts=2, new=["secret words", "b"], usd=0.02)
    assert list(describe_commit(batch)) == [Notice("extracted", "2 facts from 3 prompts", "shop", "$0.02")]
    none = _commit(kind="batch", asked=1, facts=0, new=[])
    assert list(describe_commit(none)) == [Notice("no line", "no fact from 1 prompt", "shop", "$0.00")]
    assert list(describe_commit(_commit(kind="batch", asked=0, facts=0))) == []
    assert list(describe_commit(_commit(kind="skipped", seen=3))) == list(describe_commit(_commit())) == []


def test_what_was_refused_is_told_with_its_reason() -> None:
    """Not the words: they may be a secret."""
    refused = _commit(kind="batch", asked=1, facts=1, left_out={"looks like a secret": 1}, refused=2)
    assert list(describe_commit(refused))[1:] == [
        Notice("refused", "1 fact: looks like a secret", "shop"),
        Notice(
            "refused",
            "2 proposals of the model: they name something that nobody mentioned",
            "shop",
            "`tacitd learned --refused`",
        ),
    ]


def test_a_synthesis_is_told_by_its_lines() -> None:
    """The hook names the same lines as the handler announces."""
    put = _commit(kind="synthesis", put=["a"], usd=0.01)
    assert list(describe_commit(put)) == list(learned_notices(Path("/home/dev/shop"), put.data))
