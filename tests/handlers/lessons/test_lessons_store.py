"""The store: ten concurrent writers, an invalid index, a crash before every system call, many lessons."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support_lessons import FIXTURES, Lessons
from tacitd.testing import FakeClock
from tacitd_handlers.lessons import lesson_index, lesson_operations, lesson_paths
from tacitd_handlers.lessons.lesson_fold import fold_lessons
from tacitd_handlers.lessons.lesson_operations import AddedLesson
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.store import LessonStore

WRITER = """
import sys
from pathlib import Path
from tacitd_handlers.lessons import lesson_operations
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.store import LessonStore
store = LessonStore(Path(sys.argv[1]), Path(sys.argv[1]) / "beside")
for n in range(int(sys.argv[3])):
    lesson_operations.add_lesson(store, Pattern(f"case {sys.argv[2]}-{n}", "do", "x", "y"), "global", "ai")
"""


def pattern(when: str) -> Pattern:
    return Pattern(when, "do", "read first", "know it")


@pytest.mark.parametrize("writers, each", [(4, 12)])
def test_writers_at_once_give_distinct_ids_without_gaps(tmp_path: Path, writers: int, each: int) -> None:
    """SPEC E-22, E-23: no id twice, no gap, no torn line. benchmarks/lessons.py runs it with 10 times 200."""
    directory = tmp_path / "lessons"
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(directory), str(n), str(each)])
        for n in range(writers)
    ]
    assert [process.wait(60) for process in running] == [0] * writers
    records = [json.loads(line) for line in (directory / "lessons.jsonl").read_bytes().splitlines()]
    assert [r["id"] for r in records] == [f"{n:03d}" for n in range(1, writers * each + 1)]
    assert len({r["when"] for r in records}) == writers * each
    found = lesson_index.read_index(str(directory / "lessons.jsonl"), str(directory / "index.json"))
    assert found is not None and len(found.rows_of_scope("global")) == writers * each


def test_the_index_is_json_and_says_what_the_log_says(lessons: Lessons) -> None:
    """SPEC E-20: derived; the log's stamp, a checksum, and the active lessons by scope."""
    lessons.given("load").store.load_index()
    found = json.loads((lessons.directory / "index.json").read_bytes())
    assert list(found["scopes"]) == ["browser", "global", "tmux"]
    assert [id for id, _ in found["scopes"]["tmux"]] == ["002", "004"]
    assert found["counts"]["active"] == 4 and found["log"][0] == lessons.log.stat().st_size


def lie(lessons: Lessons, how: str) -> None:
    path = lessons.directory / "index.json"
    text = path.read_text()
    lies = {
        "another word": text.replace("kill server", "burn server"),
        "another order": json.dumps(json.loads(text), indent=1),
        "cut": text[: len(text) // 2],
        "empty": "",
        "no text": "\0" * 100,
        "a stamp of nothing": text.replace(text[: text.index("\n")], '{"version":1,"log":[0,0,0,0],'),
    }
    if how == "gone":
        path.unlink()
    elif how == "a directory":
        path.unlink()
        path.mkdir()
    elif how == "a pipe":
        path.unlink()
        os.mkfifo(path)
    elif how == "older than the log":
        with lessons.log.open("a") as log:
            log.write('{"id":"002","scope":"tmux","from":"ai","status":"deleted"}\n')
    elif how == "of a log of the same size":
        lessons.log.write_text(lessons.log.read_text().replace("kill server", "stop server"))
    else:
        path.write_text(lies[how])


LIES = [
    "another word", "another order", "cut", "empty", "no text", "a stamp of nothing", "gone", "a directory", "a pipe",
    "older than the log", "of a log of the same size",
]  # fmt: skip


@pytest.mark.parametrize("how", LIES)
def test_an_index_that_lies_is_made_again(lessons: Lessons, how: str) -> None:
    """SPEC E-20: if it is missing, corrupt, stale or edited, the log wins at once, and the index is correct again
    afterwards.
    """
    lessons.given("load").store.load_index()
    lie(lessons, how)
    said = lessons.out("load", "--scope=tmux")
    assert said.count("- WHEN") == (2 if how == "older than the log" else 3)
    assert ("stop server" if "same size" in how else "kill server") in said and "burn" not in said
    if how not in ("a directory", "a pipe"):
        assert lesson_index.read_index(str(lessons.log), str(lessons.directory / "index.json")) is not None
    assert lessons.out("load", "--scope=tmux") == said


def test_what_can_be_no_lesson_is_counted() -> None:
    """Bad input: ids that were never added, invalid ids, numeric ids; the highest still counts."""
    sound = {"when": "a", "action": "do", "do": "b", "because": "c"}
    odd: list[dict[str, object]] = [
        {"id": "x"},
        {"id": True, **sound},
        {"id": "009", "status": "deleted"},
        {"id": "0"},
    ]
    found = fold_lessons([*odd, {"id": 2, **sound}, {"id": "002", "because": "d"}])
    assert (list(found.lessons), found.last, found.strays) == (["002"], 9, 4)
    assert found.lessons["002"].parts.because == "d"


def test_every_prefix_of_a_log_is_read(tmp_path: Path) -> None:
    """SPEC E-23: torn anywhere, a log loses at most its last record, and the next append repairs it."""
    whole = (FIXTURES / "history.jsonl").read_bytes()
    for cut in range(0, len(whole), 7):
        directory = tmp_path / str(cut)
        directory.mkdir()
        (directory / "lessons.jsonl").write_bytes(whole[:cut])
        store = LessonStore(directory, tmp_path / "beside", FakeClock())
        before = len(store.read_lessons().lessons)
        assert before in (whole[:cut].count(b'"created"'), whole[:cut].count(b'"created"') - 1)
        assert isinstance(lesson_operations.add_lesson(store, pattern("new"), "global", "ai"), AddedLesson)
        assert len(store.read_lessons().lessons) == before + 1


def test_an_id_in_a_damaged_line_is_not_given_again(lessons: Lessons) -> None:
    """SPEC E-22: never reused, also if the line with the highest id cannot be parsed now and is repaired later."""
    lessons.given("load")
    whole = lessons.log.read_text()
    last = max(int(record["id"]) for record in lessons.records())
    damaged = f'{{"id":"{last + 1:03d}","when":"a case of \\"id\\":\\"700\\"","action":"do","do":"b","because":"c"\n'
    lessons.log.write_text(whole + damaged)
    lessons.out("add", "WHEN one more -> DO b -> BECAUSE c")
    assert f'"id":"{last + 2:03d}"' in lessons.log.read_text().splitlines()[-1]
    lessons.log.write_text(lessons.log.read_text().replace('"because":"c"\n', '"because":"c"}\n', 1))
    assert 'when: "a case' in lessons.out("show", str(last + 1))
    assert 'when: "one more"' in lessons.out("show", str(last + 2))


def test_the_index_kept_in_step_is_the_one_from_the_log(tmp_path: Path) -> None:
    """SPEC E-20: the index after each change equals, byte for byte, one rebuilt from the log."""
    store = LessonStore(tmp_path / "l", tmp_path / "b", FakeClock())
    for n in range(5):
        lesson_operations.add_lesson(
            store, pattern(f"case {n}"), "tmux" if n % 2 else "global", "user" if n == 3 else "ai"
        )
    lesson_operations.mark_wrong(store, "2", "no")
    lesson_operations.edit_lesson(store, "3", pattern("another case"), "new", None)
    path = tmp_path / "l" / "index.json"
    kept = path.read_bytes()
    path.unlink()
    store.load_index()
    assert path.read_bytes() == kept


def test_a_record_written_by_someone_meanwhile_is_not_missed(tmp_path: Path) -> None:
    """SPEC E-20: another tool appends without our lock, between our read and our index."""
    store = LessonStore(tmp_path / "l", tmp_path / "b", FakeClock())
    lesson_operations.add_lesson(store, pattern("one"), "global", "ai")
    with store.begin_change() as change, (tmp_path / "l" / "lessons.jsonl").open("a") as other:
        other.write('{"id":"009","when":"a","action":"do","do":"b","because":"c"}\n')
        other.flush()
        lesson_operations.append_lesson(change, pattern("two"), "global", "ai", "2026-01-01")
    assert [id for id, _ in store.load_index().rows_of_scope("global")] == ["001", "002", "009"]


LESSONS = int(os.environ.get("TACITD_LESSONS", "10000"))
"""A full run has 100,000, so this one is reduced by a factor of 10."""


def test_a_hundred_thousand_lessons(tmp_path: Path) -> None:
    """Bad input: this many lessons are folded and loaded; the text stays within its lines."""
    from tacitd_handlers.lessons.load_output import LINES, render_lessons

    record = {
        "scope": "global",
        "from": "ai",
        "status": "active",
        "action": "do",
        "do": "b" * 80,
        "because": "c" * 80,
    }
    found = fold_lessons({**record, "id": f"{n:03d}", "when": f"case {n}"} for n in range(1, LESSONS + 1))
    assert (len(found.lessons), found.last) == (LESSONS, LESSONS)
    made = lesson_index.build_index(found, 0)
    text, ids = render_lessons({"global": made.rows_of_scope("global")}, LINES)
    assert text.count("\n") == LINES and ids[-1] == str(LESSONS)
    assert text.endswith("more are left out: lesson load --lines 0)\n")
    assert made.bind_to_log(tmp_path.stat()) is not None, (
        "it is kept: reading the log at each load takes seconds"
    )


def test_an_index_that_would_be_too_long_is_not_kept(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the limit the log is read instead, with the same result."""
    monkeypatch.setattr(lesson_index, "LIMIT", 1100)
    said = lessons.given("load").out("load", "--scope=tmux")
    assert said.count("- WHEN") == 3 and not (lessons.directory / "index.json").exists()


def test_places_are_those_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Where it writes": `lesson_paths` and `tacitd.state.paths` return the same paths."""
    from tacitd.state import paths

    for env in (
        {"HOME": "/h"},
        {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "TACITD_STATE_DIR": "~/s"},
        {"HOME": "/h", "XDG_STATE_HOME": "/x", "CLAUDE_CONFIG_DIR": "~/c/../d"},
        {"HOME": "h", "XDG_STATE_HOME": "x", "CLAUDE_CONFIG_DIR": ""},
    ):
        assert lesson_paths.lessons_dir(env) == str(paths.config_dir(env) / "lessons")
        assert (
            Path(lesson_paths.lessons_state_dir(env)).parent == paths.state_dir(env) / "handlers" / "lessons"
        )
    one, other = ({"HOME": "/h", "CLAUDE_CONFIG_DIR": each} for each in ("/a", "/b"))
    assert lesson_paths.lessons_state_dir(one) != lesson_paths.lessons_state_dir(other)
