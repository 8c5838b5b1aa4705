"""`tacitd log`: what happened, from the store."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from support_calls import open_budget, spend
from support_changes import store_change, store_made
from support_cli import Cli
from tacitd.handler import Notice
from tacitd.store import Store
from tacitd.testing import FakeClock


def _store_events(state: Path, clock: FakeClock, project: Path) -> None:
    """A call, what a plugin made, and a change of a file, a minute apart; a call that failed."""
    state.mkdir(parents=True, exist_ok=True)
    state.chmod(0o700)
    with open_budget(state, clock) as budget:
        for why in ("", "timeout"):
            spend(budget, "extraction", 0.012, why=why, model="haiku", project=str(project))
            clock.advance(60)
    with closing(Store.open(state, clock)) as store:
        store_made(store, "toy", Notice("learned", "Use pnpm", "shop/LEARNED.md"), clock.now())
    clock.advance(60)
    store_change(state, clock, project, "Use pnpm")


def test_what_happened_is_shown_without_a_daemon(cli: Cli, tmp_path: Path) -> None:
    """Calls, what plugins made, and changes, oldest first. `--json` is a list; `-n 0` is empty; nothing older than asked for."""
    project = tmp_path / "shop"
    project.mkdir()
    _store_events(cli.state, FakeClock(wall=time.time() - 7200), project)
    said = cli.run("log")
    assert said.code == 0 and said.err == ""
    lines = [line[21:] for line in said.out.splitlines()]
    assert lines[:3] == [
        "asked: extraction  (shop, $0.01, haiku)",
        "asked: extraction  (shop, $0.01, haiku, no answer: timeout)",
        "learned: Use pnpm  (shop/LEARNED.md)",
    ]
    assert len(lines) == 4 and lines[3].startswith("changed: LEARNED.md +1  (shop, tacitd show ")
    rows = cli.run("log", "--json").json
    assert [row["handler"] for row in rows] == ["", "", "toy", ""]
    assert cli.run("log", "--json", "-n", "1").json == rows[3:]
    assert cli.run("log", "--json", "-n", "0").json == []
    assert cli.run("log", "-n", "0").err == "", "something happened"
    assert cli.run("log", "--since", "1h", "--json").json == []
    assert cli.run("log", "--since", "3h", "--json").json == rows


def test_without_a_store_it_says_so(cli: Cli) -> None:
    """And makes no file."""
    said = cli.run("log")
    assert said.code == 0 and said.out == "" and said.err == "nothing happened in the last 90 days\n"
    assert cli.run("log", "--since", "7d").err == "nothing happened in the last 7d\n"
    assert cli.run("log", "--since", "soon").code == 2
    assert not cli.state.exists()


def test_a_strangers_text_is_escaped(cli: Cli, tmp_path: Path) -> None:
    """A project's name may contain control characters."""
    project = tmp_path / "shop\x1b[31m\u202e"
    project.mkdir()
    _store_events(cli.state, FakeClock(), project)
    said = cli.run("log")
    assert "\x1b" not in said.out and "\u202e" not in said.out and "shop" in said.out
    assert any("\x1b" in row["where"] for row in cli.run("log", "--json").json)


def test_it_follows_also_from_a_store_to_the_next(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-f`: what happens from now on, once; a store that was put aside is followed by a new one, which counts from 1 again."""
    clock = FakeClock()
    cli.state.mkdir(parents=True, mode=0o700)

    def store_one(text: str) -> None:
        with closing(Store.open(cli.state, clock)) as store:
            store_made(store, "toy", Notice("learned", text), clock.now())

    events = iter([["two", "three"], [], ["", "four"], []])

    def happen(_: float) -> None:
        texts = next(events, None)
        if texts is None:
            raise KeyboardInterrupt
        for text in texts:
            if text:
                store_one(text)
                continue
            for path in cli.state.iterdir():
                path.unlink()

    store_one("one")
    monkeypatch.setattr("tacitd.cli.log_command.time.sleep", happen)
    said = cli.run("log", "-f")
    assert [line.partition(": ")[2] for line in said.out.splitlines()] == ["one", "two", "three", "four"]


def test_the_same_several_times_in_a_row_is_one_line(cli: Cli, tmp_path: Path) -> None:
    """For a person; in JSON each stands for itself."""
    clock = FakeClock(1_790_000_000.0)
    store = Store.open(cli.state, clock)
    for text in ("one", "one", "one", "two", "one"):
        store_made(store, "learner", Notice("done", text), clock.now())
    store.close()
    lines = [line.partition("  ")[2] for line in cli.run("log").out.splitlines()]
    assert lines == ["done: one  (3 times)", "done: two", "done: one"]
    assert len(cli.run("log", "--json").json) == 5


# --- `tacitd spend`, on rows that the budget wrote


def test_it_prints_aligned_rows_and_a_sum(cli: Cli) -> None:
    """An assumed cost is marked."""
    cli.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_budget(cli.state, FakeClock(wall=1_700_000_000.0)) as budget:
        for key, usd, why in (
            ("extraction", 0.01, ""),
            ("synthesis", 0.5, ""),
            ("extraction", None, "timed out"),
        ):
            spend(budget, key, usd, why=why, project="/home/ada/\x1bapp")
    said = cli.run("spend", "--by", "purpose")
    assert said.code == 0 and said.out.splitlines() == [
        "PURPOSE       COST  CALLS  UNANSWERED",
        "synthesis    $0.50      1",
        "extraction  ~$0.27      2           1",
        "total       ~$0.77      3           1",
    ]
    assert "\x1b" not in cli.run("spend", "--by", "project").out
    assert [row["name"] for row in cli.run("spend", "--by", "purpose", "--json").json] == [
        "synthesis",
        "extraction",
    ]
    assert cli.run("spend", "--since", "0s").err == "no model call was made in the last 0s\n"


def test_without_calls_it_says_so(cli: Cli) -> None:
    """Exit code 0; in JSON an empty list. A wrong age is a usage error."""
    assert cli.run("spend").err == "no model call was made yet\n"
    assert cli.run("spend", "--json").json == []
    assert cli.run("spend", "--since", "\x1bsoon").code == 2
