"""Which item an id or a text means, and what `review` asks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support_cli import Cli
from tacitd.cli import decide_commands
from tacitd.cli.decide_commands import FoundItem, find_item, match_items
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.handler import StoredItem

ROOT, OTHER = Path("/home/me/app"), Path("/home/me/other")
PNPM = FoundItem(
    "learning", StoredItem("4f1c02ab", "line", "Use pnpm, never npm", "LEARNED.md · Coding", ROOT)
)
MINE = FoundItem("learning", StoredItem("4f1c99ff", "line", "Use tabs", "LEARNED.md", ROOT, by_person=True))
GONE = FoundItem("learning", StoredItem("00112233", "line", "Use spaces", "LEARNED.md", ROOT, "forgotten"))
LESSON = FoundItem("lessons", StoredItem("002", "lesson", "WHEN x -> DO use pnpm -> BECAUSE y", "lesson 002"))
THERE = FoundItem("learning", StoredItem("abcd0123", "line", "Use bun", "LEARNED.md", OTHER))


@pytest.fixture(autouse=True)
def items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The items of one project, and of all."""
    here = [PNPM, MINE, GONE, LESSON]
    monkeypatch.setattr(decide_commands, "collect_items", lambda root, **_: here if root else [*here, THERE])


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("4f1c02ab", [PNPM]),
        ("4f1c0", [PNPM]),
        ("4f1c", [PNPM, MINE]),
        ("4f1", []),
        ("002", [LESSON]),
        ("- use TABS", [MINE]),
        ("pnpm", [PNPM, LESSON]),
        ("Use pnpm, never npm", [PNPM]),
        ("", []),
        ("  ", []),
    ],
)
def test_an_id_its_beginning_or_a_text(asked: str, expected: list[FoundItem]) -> None:
    """An id first; the beginning of one needs four letters; then an equal text, then a part of one."""
    assert match_items(asked, [PNPM, MINE, GONE, LESSON]) == expected


def test_an_id_of_another_project_is_found_and_a_text_is_not() -> None:
    """A text in another project may be a coincidence."""
    assert find_item("abcd", ROOT, ("stored",)) == THERE
    with pytest.raises(TacitdError, match="nothing here has"):
        find_item("bun", ROOT, ("stored",))


def test_a_proposal_with_the_text_of_what_is_stored_is_named_by_its_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`forget TEXT` means the line, `accept TEXT` the offer of a rule with the same words."""
    offer = FoundItem("learning", StoredItem("77aa0011", "rule offer", "use tabs", state="proposed"))
    monkeypatch.setattr(decide_commands, "collect_items", lambda root, **_: [MINE, offer])
    assert find_item("tabs", ROOT, ("stored", "proposed")) == MINE
    assert find_item("tabs", ROOT, ("proposed",)) == offer
    assert find_item("77aa", ROOT, ("stored", "proposed")) == offer


@pytest.mark.parametrize(
    ("asked", "states", "message"),
    [
        (
            "pnpm",
            ("stored",),
            r"2 items match pnpm: 4f1c02ab: Use pnpm, never npm \(LEARNED.md · Coding\); 002: WHEN",
        ),
        ("nothing", ("stored",), "nothing here has the id or the text nothing"),
        ("00112233", ("stored", "proposed"), "forgotten already"),
        ("tabs", ("forgotten",), "stored already"),
        ("\x1b[31m", ("stored",), r"\\x1b"),
    ],
)
def test_what_is_not_one_item_is_wrong_use(asked: str, states: tuple[str, ...], message: str) -> None:
    """Ambiguous, gone, or in another state: the message names it, and control characters are escaped."""
    with pytest.raises(TacitdError, match=message):
        find_item(asked, ROOT, states)


def test_a_forgotten_line_that_is_there_again_is_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The person wrote it by hand, so two items have the id; it is not ambiguous."""
    again = FoundItem(
        "learning", StoredItem("00112233", "line", "Use spaces", "LEARNED.md", ROOT, by_person=True)
    )
    for order in ([GONE, again], [again, GONE]):
        monkeypatch.setattr(decide_commands, "collect_items", lambda root, order=order, **_: order)
        assert find_item("spaces", ROOT, ("stored", "proposed", "forgotten")) == again
        assert find_item("spaces", ROOT, ("forgotten",)) == GONE


def test_forget_asks_before_a_line_of_the_persons_own(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an answer nothing is decided; `--yes` answers; another line is removed without a question."""
    made: list[tuple[str, str, bool]] = []

    def decide(found: FoundItem, choice: str, *, text: str = "", purge: bool = False) -> dict[str, Any]:
        made.append((found.item.id, choice, purge))
        return {"what": "done", "purged": ["/s/a.jsonl"] if purge else []}

    monkeypatch.setattr("tacitd.cli.decide_commands.decide_item", decide)
    refused, no = cli.run("forget", "tabs"), cli.run("forget", "tabs", typed="n\n")
    assert (refused.code, no.code, made) == (1, 1, []) and "tacitd did not write this line" in no.err
    assert cli.run("forget", "tabs", typed="y\n").code == 0
    assert cli.run("forget", "tabs", "--yes").code == 0
    assert cli.run("forget", "4f1c02ab").code == 0
    assert cli.run("forget", "4f1c02ab", "--purge", typed="n\n").code == 1
    purged = cli.run("forget", "4f1c02ab", "--purge", "--yes", "--json").json
    assert [one["id"] for one in purged] == ["4f1c02ab"] and purged[0]["purged"] == ["/s/a.jsonl"]
    assert cli.run("forget", "--undo", "spaces").code == 0
    assert cli.run("forget", "--undo", "--purge", "spaces").code == 2
    assert made == [
        ("4f1c99ff", "drop", False),
        ("4f1c99ff", "drop", False),
        ("4f1c02ab", "drop", False),
        ("4f1c02ab", "drop", True),
        ("00112233", "restore", False),
    ]


REVIEWED = [
    FoundItem(
        "learning",
        StoredItem(
            id, "refused fact", f"Fact {id}", "LEARNED.md", ROOT, "proposed", review="why", words=("w",)
        ),
    )
    for id in ("aaaa0001", "aaaa0002", "aaaa0003", "aaaa0004", "aaaa0005")
]


def test_review_asks_about_each_and_goes_on_after_an_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is carried out before the next question; skip and quit change nothing."""
    made: list[tuple[str, str, str]] = []

    def decide(found: FoundItem, choice: str, *, text: str = "", purge: bool = False) -> dict[str, Any]:
        if found.item.id == "aaaa0002":
            raise FileRefusedError("LEARNED.md is open", "close it")
        made.append((found.item.id, choice, text))
        return {"what": f"{choice} done"}

    monkeypatch.setattr(decide_commands, "collect_items", lambda root, **_: [PNPM, *REVIEWED])
    monkeypatch.setattr(decide_commands, "decide_item", decide)
    be_at_a_terminal(monkeypatch)
    said = cli.run("review", typed="k\nd\nx\ne\nBetter words\ns\nq\n")
    assert said.code == 0
    assert made == [("aaaa0001", "keep", ""), ("aaaa0003", "edit", "Better words")]
    assert "LEARNED.md is open\nhint: close it" in said.err and "2 of 5 decided" in said.err


def test_review_lists_without_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As text or as JSON; only what needs a decision."""
    monkeypatch.setattr(decide_commands, "collect_items", lambda root, **_: [PNPM, REVIEWED[0]])
    assert [one["id"] for one in cli.run("review", "--json").json] == ["aaaa0001"]
    said = cli.run("review")
    assert said.out == (
        "1 item needs your decision, each with its ID:\n"
        "aaaa0001  refused fact in /home/me/app · LEARNED.md\n    Fact aaaa0001\n    why\n    you said: w\n"
    )
    monkeypatch.setattr(decide_commands, "collect_items", lambda root, **_: [PNPM])
    assert cli.run("review").err == "nothing waits for your decision\n"


def test_review_lists_at_a_terminal_if_asked_to(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--list` asks nothing, so nothing is decided by a key too many."""
    monkeypatch.setattr(decide_commands, "collect_items", lambda root, **_: [PNPM, *REVIEWED])
    monkeypatch.setattr(decide_commands, "decide_item", None)
    be_at_a_terminal(monkeypatch)
    said = cli.run("review", "--list", "--no-pager", typed="k\n")
    assert said.code == 0 and said.out.count("refused fact in") == 5 and "[k]eep" not in said.out


def be_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the commands of this module: their standard streams are terminals."""
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(decide_commands, "sys", SimpleNamespace(stdin=terminal, stdout=terminal))
