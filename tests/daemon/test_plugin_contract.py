"""A plugin that is somebody else's, with every hook (`tests/reminders`), in the real engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from reminders import hooks, make_plugin
from tacitd.handler import load_hook
from tacitd.plugin import PluginSpec
from tacitd.plugins import load_settings
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.plugin_view import give_advice
from tacitd.testing import FakeClock, HandlerBench, ScriptedModel, World

MINUTE = 60.0
MILK = [("milk", "Buy milk"), ("six", "1\n2\n3\n4\n5\n6")]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The hooks that commands call find the bench's state by the environment."""
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    monkeypatch.delenv("TACITD_STATE_DIR", raising=False)
    yield
    hooks.FAULT.clear()


def begin(tmp: Path, model: ScriptedModel | None = None, spec: PluginSpec | None = None) -> HandlerBench:
    return HandlerBench(tmp, spec or make_plugin(), model=model or ScriptedModel(MILK), clock=FakeClock())


def read(bench: HandlerBench) -> list[str]:
    path = bench.project / hooks.NAME
    text = path.read_text() if path.exists() else ""
    return [line[2:] for line in text.splitlines() if line.startswith("- ")]


def edit(bench: HandlerBench, text: str) -> None:
    (bench.project / hooks.NAME).write_text(text)
    for _ in range(4):
        bench.settle(MINUTE)


def events(bench: HandlerBench, kind: str) -> list[str]:
    return [about for (about,) in bench.rows("SELECT about FROM reminders_event WHERE kind = ?", kind)]


def test_events_and_jobs_come(tmp_path: Path) -> None:
    """DESIGN "Plugins": the start and the end of a session, a compaction and timed jobs are tasks."""
    with begin(tmp_path) as bench:
        bench.type("hello")
        bench.settle()
        bench.settle(31 * MINUTE)
        bench.settle(MINUTE)
        assert events(bench, "session-started") == ["session"]
        assert events(bench, "session-ended") == ["session"]
        assert events(bench, "job")[0] == "tidy"
        before = len(events(bench, "job"))
        bench.run_job("count")
        assert len(events(bench, "job")) == before + 1
        for _ in range(3):
            bench.settle(3600.0)
        ((runs,),) = bench.rows("SELECT runs FROM job WHERE name = 'count'")
        assert runs >= 3


def test_a_person_s_edits_are_reported_once(tmp_path: Path) -> None:
    """DESIGN "Files that people edit too": a removed line is not written again; each edit reaches `on_edits` once, over a restart."""
    with begin(tmp_path) as bench:
        bench.type("remember the milk")
        bench.settle(MINUTE)
        text = (bench.project / hooks.NAME).read_text()
        edit(bench, text + "- Call mum\n")
        assert events(bench, "edits") == ["+1 -0"]
        edit(bench, text.replace("- Buy milk\n", "") + "- Call mum\n")
        assert events(bench, "edits") == ["+1 -0", "+0 -1"]
        bench.restart(kill=True)
        bench.settle(5 * MINUTE)
        edit(bench, (bench.project / hooks.NAME).read_text() + "\n")
        assert events(bench, "edits") == ["+1 -0", "+0 -1"]
        bench.type("the milk again", session="s2")
        bench.settle(2 * MINUTE)
        assert read(bench) == ["Call mum"]


def test_a_plugin_hears_of_each_change_if_it_asks(tmp_path: Path) -> None:
    """`SharedFileKind.always`: also of one that edits none of its leaves, of a person's own line that goes, and of a file that is gone."""
    spec = make_plugin()
    with begin(tmp_path, spec=replace(spec, files=(replace(spec.files[0], always=True),))) as bench:
        bench.type("remember the milk")
        bench.settle(MINUTE)
        text = (bench.project / hooks.NAME).read_text()
        edit(bench, text)
        begun = len(events(bench, "edits"))
        edit(bench, f"{text}- Call mum\n")
        edit(bench, f"{text}\n\nA sentence.\n")
        (bench.project / hooks.NAME).unlink()
        bench.settle(2 * MINUTE)
        assert events(bench, "edits")[begun:] == ["+1 -0", "+0 -0", "+0 -0"]


def test_an_answer_that_was_paid_for_is_not_asked_for_again(tmp_path: Path) -> None:
    """DESIGN "The way of a prompt": a crash before the commit repeats the task, not its call; one whose answer was lost twice is not
    paid a third time."""
    model = ScriptedModel(MILK)
    with begin(tmp_path, model) as bench:
        bench.type("remember the milk")
        bench.settle()
        with bench._app.store.write() as tx:  # the daemon was killed after the answer
            ((number,),) = tx.rows("SELECT number FROM prompt")
            tx.execute(
                "INSERT INTO call(plugin, purpose, tier, session, begun, day, outcome, answer) "
                "VALUES('reminders', 'reminders', 'fast', 'x', 0, '2020-01-01', 'answered', 'Buy oat milk')"
            )
            from tacitd.model.call_caps import digest_part

            tx.execute(
                "INSERT INTO call_part VALUES(1, 'prompt', 1, (SELECT number FROM prompt), ?)",
                digest_part("remember the milk"),
            )
        bench.settle(MINUTE)
        assert model.prompts == [] and read(bench) == ["Buy oat milk"] and number == 1


def test_what_commands_read(tmp_path: Path) -> None:
    """DESIGN "Plugins": session text, advice, why, report, MCP tools, footprint and settings of a plugin are used like those of
    a handler."""
    with begin(tmp_path) as bench:
        assert bench.context() == "" and list(bench.explain("milk")) == []
        bench.type("remember the milk")
        bench.settle(MINUTE)
        assert bench.context() == "## Reminders\n- Buy milk"
        (match,) = bench.explain("milk")
        assert match["what"] == "Buy milk" and match["words"] == ["remember the milk"]
        (section,) = bench.report()
        assert section.parts[0].rows == (("Buy milk", "open"),)  # type: ignore[union-attr]
        view = bench.plugin
        call = ContextRequest(bench.project, occasion="failure", error="no such reminder")
        ((key, line),) = give_advice(view, call)
        assert line == "You have 1 reminders" and len(key) == 12
        assert give_advice(view, replace(call, error="other")) == []
        assert load_hook(view.mcp).tools[0].name == "add_reminder"
        assert load_hook(view.footprint)({"HOME": "/h"}).own == [Path("/h/.reminders")]
        assert list(load_settings(view)) == ["reminders"]


def test_problems_are_rows(tmp_path: Path) -> None:
    """DESIGN "Control": degradations are state, and outlive a restart."""
    with begin(tmp_path) as bench:
        bench.type("six of them")
        bench.settle(MINUTE)
        assert "more reminders than anybody reads" in bench.degraded
        bench.restart()
        assert "more reminders than anybody reads" in bench.degraded
        bench.run_job("tidy")
        assert "more reminders than anybody reads" not in bench.degraded


def test_a_plugin_with_newer_tables_is_off_and_loses_nothing(tmp_path: Path) -> None:
    """DESIGN "The store": a plugin whose tables are newer than known is off and named; its records wait for it."""
    with begin(tmp_path) as bench:
        bench.settle()
    two = replace(make_plugin(), schema=("reminders:schema.sql", "reminders:schema.sql"))
    with pytest.raises(RuntimeError, match=r"cannot be made|already exists"):
        begin(tmp_path, spec=two)
    with begin(tmp_path) as bench, bench._app.store.write() as tx:
        tx.execute("UPDATE schema_version SET version = 9 WHERE owner = 'reminders'")
    with pytest.raises(RuntimeError, match="its tables are from a newer version"):
        begin(tmp_path)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    package = tmp_path / "site"
    info = package / "reminders-1.dist-info"
    info.mkdir(parents=True)
    info.joinpath("entry_points.txt").write_text("[tacitd.handlers]\nreminders = reminders:make_plugin\n")
    with World(tmp_path, MILK, packages=[package]) as made:
        yield made


def test_an_undo_that_waits_for_an_editor_is_passed_on_when_it_is_written(world: World) -> None:
    """S-33: several lines that are gone at once are in doubt, unless a person took them back by name, however late that is written."""
    world.type("s1", "remember six").leave("s1")
    (first,) = [one for one in world.run("history", "--json").json if one["by"] == "reminders"]
    mark = world.project / ".REMINDERS.md.swp"
    mark.write_bytes(b"b0VIM 9.1")
    os.utime(mark, (world.clock.now(), world.clock.now()))
    waits = world.run("undo", first["id"])
    assert waits.code == 75 and "is open in an editor" in waits.err
    assert len(world.bullets("REMINDERS.md")) == 6
    mark.unlink()
    for _ in range(3):
        world.wait(MINUTE)
    assert world.bullets("REMINDERS.md") == []
    world.type("s2", "six again").leave("s2")
    assert world.bullets("REMINDERS.md") == []


def test_every_undo_of_a_pause_is_passed_on_after_it(world: World) -> None:
    """S-33: the second replaces the task of the first, which still waits, and not what it is about."""
    world.type("s1", "remember the milk").leave("s1")
    world.type("s2", "remember six").leave("s2")
    milk, six = sorted(
        (one for one in world.run("history", "--json").json if one["by"] == "reminders"),
        key=lambda one: len(one["lines"]),
    )
    world.run("pause")
    assert [world.run("undo", one["id"]).code for one in (six, milk)] == [0, 0]
    assert world.bullets("REMINDERS.md") == []
    world.run("resume")
    for _ in range(3):
        world.wait(MINUTE)
    world.type("s3", "six again").leave("s3")
    assert world.bullets("REMINDERS.md") == []
