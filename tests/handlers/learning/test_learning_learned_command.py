"""`tacitd learned` and `tacitd why`: ids, searching, all projects, what waits, and what the calls cost."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from support_calls import open_budget, spend
from support_cli import Cli
from support_decisions import decide, find
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.clock import SystemClock
from tacitd.store import Store
from tacitd.work.daemon_note import DaemonNote, NoteWriter
from tacitd_handlers.lessons.lesson_actions import add_lesson, mark_wrong
from tacitd_handlers.lessons.lesson_log import LessonLog
from tacitd_handlers.lessons.pattern import parse_pattern


@pytest.fixture
def cli(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cli:
    """The program with the bench's state directory and the machine's time."""
    box = tmp_path / "cli"
    box.mkdir()
    made = Cli(box, monkeypatch, capsys)
    made.set(TACITD_STATE_DIR=str(bench.state))
    bench.clock.jump(SystemClock().now() - bench.clock.now())
    return made


def learn_two(bench: Bench) -> None:
    """Two lines, one of them in a folder called `src`."""
    (bench.root / "src").mkdir()
    both = lines(PNPM) + "\n\n" + lines(SHORT, file="src/AGENTS.md")
    bench.answer((SYNTHESIS, both), (EXTRACTION, f"{PNPM}\n{SHORT}"))
    bench.learn("pnpm, never npm; short answers")


def test_words_are_searched_in_the_lines(bench: Bench, cli: Cli) -> None:
    """All words, without case; an argument that is or looks like a directory is one. Nothing found ends with 1."""
    learn_two(bench)

    def found(*arguments: str) -> list[str]:
        said = cli.run("learned", *arguments, "--json", cwd=bench.root)
        return [one["line"] for one in said.json]

    assert found() == [PNPM, SHORT] and found("src") == [PNPM, SHORT] and found(".", "NPM", "use") == [PNPM]
    assert found("short") == [SHORT] and found("src", "short") == [SHORT] and found("npm", "short") == []
    nothing = cli.run("learned", "npm", "short", cwd=bench.root)
    assert (nothing.code, nothing.out) == (1, "") and "no learned line contains npm short" in nothing.err
    longer_than_a_name = cli.run("learned", "日本語" * 30, cwd=bench.root)
    assert longer_than_a_name.code == 1 and "no learned line contains" in longer_than_a_name.err
    assert cli.run("learned", "./short", cwd=bench.root).code == 2
    assert cli.run("learned", "--all", ".", cwd=bench.root).code == 2
    assert cli.run("learned", "--refused", "--withheld", cwd=bench.root).code == 2


def test_all_projects_with_their_roots(bench: Bench, cli: Cli) -> None:
    """Each line has the id that it has in its project."""
    learn_two(bench)
    there = bench.new_project("other")
    bench.answer((SYNTHESIS, lines("Use bun")), (EXTRACTION, "Use bun"))
    bench.type("use bun", session="s7", project=there)
    bench.end("s7", there)
    rows = cli.run("learned", "--all", "--json", cwd=bench.box).json
    assert {(row["root"], row["line"]) for row in rows} == {
        (str(bench.root), PNPM),
        (str(bench.root), SHORT),
        (str(there.root), "Use bun"),
    }
    mine = cli.run("learned", "--json", cwd=bench.root).json
    assert [row["id"] for row in mine] == [row["id"] for row in rows if row["root"] == str(bench.root)]
    assert f"{there.root}/LEARNED.md · Coding" in cli.run("learned", "--all", cwd=bench.box).out
    assert len({row["id"] for row in rows}) == 3


def test_lessons_and_values_are_listed_too(bench: Bench, cli: Cli) -> None:
    """Behind the lines, searched with the same words; what the person stated is not learned; forgotten ones with `--forgotten`."""
    bench.learn()
    drafted = LessonLog.from_environ(os.environ, SystemClock())
    add_lesson(
        drafted, parse_pattern("WHEN testing -> DO run pnpm test -> BECAUSE npm differs"), "global", "ai"
    )
    add_lesson(drafted, parse_pattern("WHEN mine -> DO this -> BECAUSE I say so"), "global", "user")
    rows = cli.run("learned", "--json", cwd=bench.root).json
    assert [(one["kind"], one["id"]) for one in rows[1:]] == [("lesson", "001")] and rows[0]["kind"] == "line"
    said = cli.run("learned", cwd=bench.root)
    assert "lessons, in all projects\n  001  WHEN testing" in said.out and "WHEN mine" not in said.out
    assert [one["id"] for one in cli.run("learned", "TESTING", "--json", cwd=bench.root).json] == ["001"]
    assert cli.run("learned", "testing", cwd=bench.root).code == 0
    mark_wrong(drafted, "001", "too narrow")
    assert len(cli.run("learned", "--json", cwd=bench.root).json) == 1
    (gone,) = cli.run("learned", "--forgotten", "--json", cwd=bench.root).json
    assert (gone["id"], gone["line"]) == ("001", "WHEN testing -> DO run pnpm test -> BECAUSE npm differs")


def test_a_line_is_stale_after_a_hundred_days(bench: Bench, cli: Cli) -> None:
    """SPEC S-54: it is shown with the date at which it was last said."""
    bench.clock.jump(-101 * 86_400.0)
    bench.learn()
    assert ", stale)" in cli.run("learned", bench.root).out
    assert [one["stale"] for one in cli.run("learned", bench.root, "--json").json] == [True]


def test_what_is_forgotten_is_listed(bench: Bench, cli: Cli) -> None:
    """With the id that lifts it."""
    bench.learn()
    item = find(bench, PNPM)
    decide(bench, item, "drop")
    said = cli.run("learned", bench.root, "--forgotten")
    assert said.out == f"ID        FILE        LINE\n{item.id}  LEARNED.md  {PNPM}\n"
    assert "forget --undo ID" in said.err
    assert "nothing is withheld here" in cli.run("learned", bench.root, "--withheld").err


def tell_waits(bench: Bench, *rows: dict[str, str]) -> None:
    """The daemon told last that these facts wait."""
    now, named = bench.clock.now(), [{"project": str(bench.root), "what": "1 fact"} | row for row in rows]
    note = DaemonNote("1", 1, now, now, "/", 1, payers=["learning"], parts={"learning": {"waits": named}})
    with closing(Store.open(bench.state, bench.clock)) as store:
        with store.write() as tx:
            tx.execute("INSERT OR IGNORE INTO project(root, first_seen) VALUES(?, 1)", str(bench.root))
            tx.execute("INSERT OR REPLACE INTO setting VALUES('session.idle', '1800.0')")
            tx.execute(
                "INSERT OR IGNORE INTO session(id, source, transcript, project, started, last) "
                "SELECT 's1', 'claude-code', '', number, ?, ? FROM project WHERE root = ?",
                now,
                now - 900,
                str(bench.root),
            )
        NoteWriter(store).write(note, [])


def test_facts_that_wait_are_said_with_their_time(bench: Bench, cli: Cli) -> None:
    """Local time, when the project's session is idle; without that it is the end of the session; an excluded project says so."""
    bench.type("use pnpm, not npm")
    tell_waits(bench)
    said = cli.run("learned", bench.root)
    assert "1 fact waits, written when its session ends; `tacitd sync --write` does it now" in said.err
    tell_waits(bench, {"until": "its session ends", "job": "synthesize"})
    at = datetime.fromtimestamp(bench.clock.now() + 900).strftime("%H:%M")
    assert f"1 fact waits, written about {at}; `tacitd sync --write`" in cli.run("learned", bench.root).err
    (row,) = cli.run("why", "pnpm", "--json", cwd=bench.root).json
    assert row["what"] == PNPM and row["where"].startswith(f"waits, written about {at}")
    tell_waits(bench, {"until": "`tacitd exclude --undo /x`", "job": ""})
    assert "not written before `tacitd exclude --undo /x`" in cli.run("learned", bench.root).err


def test_before_the_first_line_it_is_said_when_lines_come(bench: Bench, cli: Cli) -> None:
    """The time at which a session of the project with waiting prompts ends; without one, what the end of a session is."""
    end = "lines come when a session ends: two minutes after its client has ended, or after `session.idle` without work"
    assert cli.run("learned", bench.root).err == f"nothing was learned here yet; {end}\n"
    tell_waits(bench, {"until": "its session ends", "job": "synthesize"})
    at = datetime.fromtimestamp(bench.clock.now() + 900).strftime("%H:%M")
    assert cli.run("learned", bench.root).err == (
        f"nothing was learned here yet; lines come about {at}; `tacitd sync --write` does it now\n"
    )
    assert "lines come" not in cli.run("learned", bench.root, "npm").err
    learn_two(bench)
    assert "lines come" not in cli.run("learned", bench.root).err


def test_why_takes_ids_of_any_project_and_names_the_calls(bench: Bench, cli: Cli) -> None:
    """The extraction that the prompt was in, and the synthesis that wrote the line, by their keys."""
    bench.learn()
    (row,) = cli.run("learned", bench.root, "--json").json
    done = next(
        each for each in bench.history.list_transactions(bench.root) if each.key.startswith("synthesis:")
    )
    with open_budget(bench.state, bench.clock) as budget:
        for key in (f"extraction:{row['prompts'][0]}", done.key, "extraction:another"):
            spend(budget, key, 0.01, model="m-1")
    (found,) = cli.run("why", row["id"][:5], "--json", cwd=bench.box).json
    assert (found["id"], found["root"], found["what"]) == (row["id"], str(bench.root), PNPM)
    assert [(call["purpose"], call["usd"], call["model"]) for call in found["calls"]] == [
        ("extraction", 0.01, "m-1"),
        ("synthesis", 0.01, "m-1"),
    ]
    said = cli.run("why", row["id"], cwd=bench.box)
    assert "synthesis by m-1 cost $0.01 (100 tokens in, 10 out)" in said.out and "ago): use pnpm" in said.out
    assert cli.run("why", "0" * 8, cwd=bench.root).code == 1


def test_why_explains_a_refused_text_by_its_id(bench: Bench, cli: Cli) -> None:
    """Its reason and the words are kept in view."""
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, f"{PNPM}\nUse version 6.6.6"))
    bench.learn()
    (row,) = cli.run("learned", bench.root, "--refused", "--json").json
    (found,) = cli.run("why", row["id"], "--json", cwd=bench.root).json
    assert found["what"] == "Use version 6.6.6" and "nobody mentioned 6.6.6" in found["where"]
    assert found["words"] == ["use pnpm, not npm"] and found["at"].endswith("Z")
