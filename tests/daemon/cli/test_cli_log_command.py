"""`tacitd log`: what the logs contain, and what the daemon has kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from support_calls import open_budget, spend
from support_changes import announce_made, store_change
from support_cli import Cli
from support_engine import Scene
from tacitd.clock import parse_utc
from tacitd.control.server import Server
from tacitd.errors import UsageError
from tacitd.handler import Notice
from tacitd.methods import build_methods
from tacitd.model.budget import EndedCall
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.activities import KEPT, Activities, Activity, describe_call


def _write_logs(state: Path, clock: FakeClock, project: Path) -> None:
    """A call, what a plugin made, and a change of a file, a minute apart; a call that failed."""
    state.mkdir(parents=True, exist_ok=True)
    state.chmod(0o700)
    with open_budget(state, clock) as budget:
        for why in ("", "timeout"):
            spend(budget, "extraction", 0.012, why=why, model="haiku", project=str(project))
            clock.advance(60)
    with closing(Store.open(state, clock)) as store:
        made = Notice("learned", "Use pnpm", "shop/LEARNED.md")
        announce_made(Activities(store, clock.now), store, "toy", made, clock.now())
    clock.advance(60)
    store_change(state, clock, project, "Use pnpm")


def test_without_a_daemon_it_shows_the_logs(cli: Cli, tmp_path: Path) -> None:
    """Exit code 0: nothing is wrong. `--json` is a list; `-n 0` is empty."""
    project = tmp_path / "shop"
    project.mkdir()
    _write_logs(cli.state, FakeClock(), project)
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
    rows = cli.run("log", "--json", "-n", "1").json
    assert [row["did"] for row in rows] == ["changed"] and rows[0]["line"].startswith(
        "changed: LEARNED.md +1"
    )
    assert cli.run("log", "--json", "-n", "0").json == []


def test_without_any_log_it_says_so(cli: Cli) -> None:
    """And makes no file."""
    said = cli.run("log")
    assert said.code == 0 and said.out == "" and said.err == "nothing happened yet\n"
    assert cli.run("log", "--since", "7d").err == "nothing happened in the last 7d\n"
    assert cli.run("log", "--since", "soon").code == 2
    assert not cli.state.exists()


def test_a_strangers_text_is_escaped(cli: Cli, tmp_path: Path) -> None:
    """A project's name may contain control characters."""
    project = tmp_path / "shop\x1b[31m\u202e"
    project.mkdir()
    _write_logs(cli.state, FakeClock(), project)
    said = cli.run("log")
    assert "\x1b" not in said.out and "\u202e" not in said.out and "shop" in said.out
    assert any("\x1b" in row["where"] for row in cli.run("log", "--json").json)


def test_with_a_daemon_it_shows_what_is_kept(cli: Cli, tmp_path: Path) -> None:
    """What the logs contain from before comes first; what the daemon announced is not doubled."""
    project = tmp_path / "shop"
    project.mkdir()
    _write_logs(cli.state, FakeClock(), project)
    scene = _start_after_the_logs(tmp_path)
    with _serve(cli, scene, tmp_path):
        scene.type("s", "words")
        scene.settle()
        rows = cli.run("log", "--json").json
        assert [row["did"] for row in rows] == ["asked", "asked", "learned", "changed", "read"]
        assert cli.run("log", "-n", "1").out.endswith("read: 1 prompt  (app)\n")


def test_what_the_daemon_loaded_at_its_start_hides_nothing_of_the_logs(cli: Cli, tmp_path: Path) -> None:
    """A daemon loads what was learned, and neither calls nor changes: those between two lines that it loaded are shown."""
    project = tmp_path / "shop"
    project.mkdir()
    _write_logs(cli.state, FakeClock(), project)
    first, *_, last = [parse_utc(row["at"]) or 0.0 for row in cli.run("log", "--json").json]
    scene = _start_after_the_logs(tmp_path)
    scene.app.activities.load(
        [Activity(first - 1.0, "extracted", "earlier"), Activity(last + 1.0, "learned", "later")]
    )
    with _serve(cli, scene, tmp_path):
        scene.type("s", "words")
        scene.settle()
        rows = cli.run("log", "--json").json
        assert [row["did"] for row in rows] == ["asked", "asked", "learned", "changed", "read"]


def test_what_the_daemon_has_not_kept_comes_from_the_logs(cli: Cli, tmp_path: Path) -> None:
    """After more activities than it keeps, those of the logs are shown up to the oldest one that is kept."""
    project = tmp_path / "shop"
    project.mkdir()
    scene = _start_after_the_logs(tmp_path)
    with _serve(cli, scene, tmp_path):
        late = FakeClock()
        late.advance(3700)
        _write_logs(cli.state, late, project)
        scene.clock.advance(7200)
        for number in range(KEPT + 1):
            scene.app.activities.add("read", str(number))
        rows = cli.run("log", "--json", "-n", str(KEPT + 2)).json
        assert [row["did"] for row in rows[:3]] == ["learned", "changed", "read"] and len(rows) == KEPT + 2


def test_it_follows_a_daemon_by_numbers(cli: Cli, tmp_path: Path) -> None:
    """`-f` asks for what is newer than the last number that it got; a daemon that counts from 1 again has a lower one."""
    scene = _start_after_the_logs(tmp_path)
    with _serve(cli, scene, tmp_path):
        ask = build_methods(scene.app)["log"]
        mark = ask({})["number"]
        for text in ("one", "two"):
            scene.app.activities.add("read", text)
        answer = ask({"after": mark})
        assert [row["text"] for row in answer["rows"]] == ["one", "two"] and answer["number"] == mark + 2
        assert (
            ask({"after": mark + 2}) == {**answer, "rows": []} and ask({"after": 999})["number"] == mark + 2
        )
        for wrong in (-1, "x"):
            with pytest.raises(UsageError):
                ask({"after": wrong})


def test_another_daemon_is_followed_from_its_start(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if its numbers are higher by then than the last that was printed."""
    first = {"rows": [], "since": 0.0, "number": 2, "started": 1.0}
    row = {"at": "2026-07-30T10:00:00.000Z", "did": "read", "line": "read: 1 prompt"}
    other = {"rows": [row], "since": 0.0, "number": 9, "started": 5.0}
    answers = iter([first, {**first, "rows": []}, {**other, "rows": []}, other, {**other, "rows": []}])
    asked: list[object] = []

    def call(socket: Path, method: str, params: object = None) -> object:
        asked.append(params)
        if (answer := next(answers, None)) is None:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr("tacitd.cli.log_command.call_daemon", call)
    monkeypatch.setattr("tacitd.cli.log_command.EVERY", 0.0)
    assert cli.run("log", "-f", "-n", "0").out.count("read: 1 prompt") == 1
    assert asked == [None, {"after": 2}, {"after": 2}, None, {"after": 9}, {"after": 9}]


def _start_after_the_logs(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path / "scene")
    scene.clock.advance(3600)
    scene.app.activities.load([])
    return scene


@contextmanager
def _serve(cli: Cli, scene: Scene, tmp_path: Path) -> Iterator[None]:
    server = Server(tmp_path / "d" / "s", build_methods(scene.app))
    server.open()
    try:
        cli.set(TACITD_SOCKET=str(server.path))
        yield
    finally:
        server.close()
        scene.app.close()


def test_the_texts() -> None:
    """An assumed cost is marked; a project without a name has none."""
    assert describe_call(EndedCall("synthesis", "", 0.001, True, "", "")) == ("synthesis", "", "~<$0.01")


def test_the_daemon_announces_calls_and_changes(tmp_path: Path) -> None:
    """Through the same functions as without it."""
    scene = Scene(tmp_path)
    spend(scene.app.budget, "extraction", 0.02, project=str(scene.root), model="haiku")
    change = {"file": "LEARNED.md", "added": "x", "removed": ""}
    scene.app.activities.follow_change({"id": "2026", "root": str(scene.root), "lines": [change]})
    lines = [json.loads(json.dumps(one.describe()))["line"] for one in scene.app.activities.list_since(0)]
    assert lines[0] == "asked: extraction  (app, $0.02, haiku)"
    assert lines[1:] == ["changed: LEARNED.md +1  (app, tacitd show 2026)"]
    scene.app.close()
