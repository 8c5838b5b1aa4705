"""The loop: what it reads, what it reads again, and what it takes as read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support_engine import Scene, Scripted, gathered, ids, with_words
from tacitd.contract import Done, Later, Outcome, Rejected
from tacitd.errors import FileRefusedError
from tacitd.sources import lines
from tacitd.work import reader as reader_module
from tacitd.work.old_prompts import request_scan

# the past


def test_a_torn_line_at_the_first_start_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """Issue "Reading": a position only stands just after a newline."""
    scene = Scene(tmp_path)
    scene.kill()
    scene.forget_store()
    whole = json.dumps(scene.typed("s", "new")).encode() + b"\n"
    scene.type("s", "old")
    with scene.path("s").open("ab") as out:
        out.write(whole[:50])
    scene.start(Scripted())
    scene.settle()
    with scene.path("s").open("ab") as out:
        out.write(whole[50:])
    scene.settle()
    assert scene.handler.words == [["new"]]


def test_what_is_typed_while_the_first_start_waits_for_the_store_is_read(tmp_path: Path) -> None:
    """The first start is when the process began: older words in the same transcript are not paid for, and no other is read."""
    scene = Scene(tmp_path)
    scene.kill()
    scene.forget_store()
    scene.type("quiet", "old")
    scene.type("open", "old too")
    scene.clock.advance(1000)
    since = scene.clock.wall
    scene.clock.advance(500)
    scene.type("open", "typed meanwhile")
    scene.type("new", "in a new session")
    scene.clock.advance(500)
    scene.start(Scripted(), since=since)
    scene.settle()
    assert sorted(scene.handler.words) == [["in a new session"], ["typed meanwhile"]]
    scene.restart()
    scene.type("quiet", "later")
    scene.settle()
    assert scene.handler.words == [["later"]]


def test_old_records_in_a_new_file_are_not_paid_for(tmp_path: Path) -> None:
    """Issue "Reading": forks and restored homes bring the past back."""
    scene = Scene(tmp_path)
    scene.settle(1000)
    scene.append("new", scene.typed("new", "old", age=5000), scene.said("new", "Done!", age=4990))
    scene.type("new", "young")
    scene.settle()
    assert scene.handler.words == [["young"]]


def test_scan_offers_the_past_once(tmp_path: Path) -> None:
    """Issue "Reading": `tacitd scan` goes back as far as it was asked, and a second time changes nothing."""
    scene = Scene(tmp_path)
    scene.settle(1000)
    scene.type("s", "very old", age=9000)
    scene.type("s", "old", age=5000)
    scene.type("s", "young " * 100)
    scene.settle()
    handled = "SELECT text FROM prompt_text WHERE handled IS NOT NULL ORDER BY prompt"
    kept = ("young " * 100)[:200]
    assert (kept,) in scene.app.store.rows(handled)
    floor = scene.clock.wall - 6000
    for _ in range(2):
        assert scene.scan([scene.path("s"), Path("/etc/passwd")], floor) == 1, "nothing but transcripts"
        assert scene.sync().done()
    assert ids(scene) == ["u2", "u3"] and scene.handler.words == [[("young " * 100).strip()], ["old"]]
    assert (kept,) in scene.app.store.rows(handled), "what was handled keeps no more of its words"
    scene.restart()
    scene.settle()
    assert scene.handler.words == [] and ids(scene) == ["u2", "u3"]


def test_a_sync_waits_for_the_prompts_that_a_request_to_scan_takes(tmp_path: Path) -> None:
    """DESIGN "Control": `sync` returns when the tasks of every byte are done; a request to scan is a task that takes more of them."""
    scene = Scene(tmp_path)
    scene.settle(1000)
    scene.type("s", "old", age=5000)
    scene.settle()
    with scene.app.store.write() as tx:
        paths = [str(scene.path("s")), "/etc/passwd"]
        request_scan(tx, paths, scene.clock.wall - 6000, [str(scene.root)], scene.clock.now())
    waiter = scene.sync()
    assert not waiter.done() and scene.handler.words == []
    scene.settle(0)
    assert waiter.done() and scene.handler.words == [["old"]]


def test_a_session_whose_transcript_is_gone_is_forgotten_and_known_again(tmp_path: Path) -> None:
    """The client removes transcripts after 30 days; a backup may bring one back after the store forgot the session."""
    scene = Scene(tmp_path)
    for session in ("gone", "kept"):
        scene.type(session, f"use {session}")
    scene.settle(1000)
    scene.settle(8 * 3600)
    known = "SELECT s.id, t.path FROM transcript t LEFT JOIN session s ON s.id = t.session ORDER BY t.path"
    assert len(scene.app.store.rows(known)) == 2
    data = scene.path("gone").read_bytes()
    scene.path("gone").unlink()
    scene.settle(80 * 86_400)
    assert len(scene.app.store.rows(known)) == 2
    scene.settle(11 * 86_400)
    assert scene.app.store.rows(known) == [("kept", str(scene.path("kept")))]
    assert scene.app.store.rows("SELECT count(*) FROM session") == [(1,)]
    scene.path("gone").write_bytes(data)
    scene.type("gone", "use pnpm")
    scene.settle(1000)
    # The two sessions are due together, in any order.
    assert sorted(scene.handler.words) == [["use gone"], ["use kept"], ["use pnpm"]]


def test_nothing_is_forgotten_while_the_clock_is_far_ahead(tmp_path: Path) -> None:
    """DESIGN "Work": one start in another decade removes nothing. What a person types then shows that the time is right."""
    scene = Scene(tmp_path)
    scene.type("s", "use pnpm")
    scene.settle(1000)
    counted = "SELECT (SELECT count(*) FROM activity), (SELECT count(*) FROM prompt_text)"
    before = scene.app.store.rows(counted)
    assert before[0][0] > 0 and before[0][1] == 1
    scene.kill()
    scene.clock.advance(10 * 365 * 86_400)
    scene.start(Scripted())
    scene.settle(7200)
    assert scene.app.store.rows(counted) == before
    scene.type("t", "use tabs")
    scene.settle(7200)
    assert scene.app.store.rows("SELECT text FROM prompt_text") == [("use tabs",)]


def test_sessions_of_a_root_that_is_away_are_not_forgotten(tmp_path: Path) -> None:
    """RELIABILITY row 8: a home that is mounted later is no reason to read all of it again."""
    scene = Scene(tmp_path)
    scene.type("s", "use pnpm")
    scene.settle(1000)
    scene.settle(8 * 3600)
    scene.kill()
    top = scene.folder.parent
    top.rename(tmp_path / "away")
    scene.clock.advance(100 * 86_400)
    scene.start(Scripted())
    scene.settle(3600)
    (tmp_path / "away").rename(top)
    scene.settle(3600)
    assert scene.app.store.rows("SELECT id FROM session") == [("s",)] and scene.handler.tasks == []


def test_a_scan_for_another_plugin_gives_it_the_directory_too(tmp_path: Path) -> None:
    """After 90 days it is forgotten with the text where a prompt was typed; a plugin that is new then gets both, once it is asked for."""
    scene = Scene(tmp_path)
    scene.type("s", "use pnpm")
    scene.settle(1000)
    scene.settle(91 * 86_400)
    scene.settle(3600)
    assert scene.app.store.rows(
        "SELECT text, cwd, transcript FROM prompt LEFT JOIN prompt_text ON prompt = number"
    ) == [(None, None, None)]
    scene.restart(Scripted(), Scripted())
    scene.scan([scene.path("s")], 0.0)
    assert scene.sync().done()
    (task,) = scene.handlers[1].list_tasks("prompts")
    assert [(one.text, one.cwd) for one in task.prompts] == [("use pnpm", str(scene.root))]


def test_an_old_session_that_is_read_in_slices_begins_and_ends_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A synthesis for each megabyte of a long session would cost a hundred times what was said."""
    monkeypatch.setattr(reader_module, "SLICE", 600)
    scene = Scene(tmp_path, gathered(), held=False)
    scene.settle(10)
    scene.type("s", *(f"words {i}" for i in range(40)))
    old = scene.clock.wall
    os.utime(scene.path("s"), (old, old))
    scene.kill()
    scene.clock.advance(5000)
    scene.start(gathered())
    scene.settle()
    kinds = [task.kind for task in scene.handler.tasks if task.kind != "prompts"]
    assert kinds == ["session-started", "session-ended"] and len(ids(scene)) == 40


# the file


@pytest.mark.parametrize("how", ["shrunk", "rewritten", "replaced", "while down"])
def test_another_file_is_read_again_and_nothing_is_done_twice(tmp_path: Path, how: str) -> None:
    """DESIGN "Sources": a mismatch or a shrunken file means: read again from 0."""
    scene = Scene(tmp_path)
    records = scene.type("s", "one", "two", "three")
    scene.settle()
    if how == "while down":
        scene.kill()
    kept = records[:1] if how == "shrunk" else [*records, scene.typed("s", "x" * 500)]
    new = [scene.typed("s", "new"), *kept]
    if how in ("replaced", "while down"):
        scene.path("s").unlink()
    scene.path("s").write_bytes(b"")
    scene.append("s", *new)
    if how == "while down":
        scene.start(Scripted())
    scene.settle()
    scene.settle()
    assert sorted(ids(scene)) == sorted(
        ["u1", "u2", "u3", *(one["uuid"] for one in new if one not in records)]
    )
    assert scene.sync().done()


@pytest.mark.parametrize("answer", ["done", "later", "rejected"])
def test_a_file_that_vanishes_while_a_plugin_works_on_it(tmp_path: Path, answer: str) -> None:
    """CLAUDE_CODE section 0 fact 5: what was paid for is kept; the engine goes on."""
    answers: dict[str, Outcome] = {"later": Later("no"), "rejected": Rejected("never")}
    scene = Scene(
        tmp_path,
        with_words(lambda task: answers.get(answer, Done())),
        held=True,
    )
    scene.type("s", "one")
    scene.settle()
    scene.work()
    scene.settle(0)
    scene.path("s").unlink()
    scene.settle()
    scene.work()
    scene.pool.held = False
    scene.settle()
    assert scene.engine.fault is None and scene.sync().done()
    assert ids(scene) == (["u1"] if answer == "done" else [])
    assert [kept["text"] for kept in scene.rescued()] == (["one"] if answer == "rejected" else [])
    assert scene.parked() == (["no"] if answer == "later" else [])


def test_an_unreadable_file_at_the_first_start_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Bad input": the daemon starts; what is in it is older than the first start, and not paid for."""
    scene = Scene(tmp_path)
    scene.kill()
    scene.forget_store()
    scene.type("s", "old", age=3000)
    scene.type("t", "old too", age=3000)
    real = lines.open_transcript

    def opens(path: str) -> int:
        if path.endswith("/s.jsonl"):
            raise FileRefusedError(f"{path} cannot be opened")
        return real(path)

    with monkeypatch.context() as shut:
        shut.setattr("tacitd.sources.lines.open_transcript", opens)
        scene.start(Scripted())
    scene.settle()
    scene.type("s", "new")
    scene.settle()
    assert scene.handler.words == [["new"]]


def test_words_said_where_nothing_answers_hold_up_no_prompt_of_another_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY 20b: on a mount that stalls. Of the project in which they were said nothing is known, so they are no context."""
    scene = Scene(tmp_path)
    hung, real = scene.project("hung"), scene.engine.lookup.find_project
    scene.append("s", scene.said("s", "Shall I?", hung))
    scene.settle()
    monkeypatch.setattr(
        scene.engine.lookup, "find_project", lambda cwd: None if cwd == str(hung) else real(cwd)
    )
    scene.append("s", scene.typed("s", "use pnpm"))
    scene.settle()
    assert scene.handler.words == [["use pnpm"]]
    assert scene.app.store.rows("SELECT context FROM prompt_text") == [("",)]
