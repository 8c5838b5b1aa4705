"""The store: ten concurrent writers, an invalid index, a crash before every system call, many lessons."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from support_lessons import Lessons
from tacitd_handlers.lessons.lesson_origins import Origin
from tacitd_handlers.lessons.pattern import Pattern

WRITER = """
import sys
from pathlib import Path
from tacitd_handlers.lessons import lesson_actions
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.lesson_log import LessonLog
store = LessonLog(Path(sys.argv[1]))
for n in range(int(sys.argv[3])):
    lesson_actions.add_lesson(store, Pattern(f"case {sys.argv[2]}-{n}", "do", "x", "y"), "global", "ai")
"""


def pattern(when: str) -> Pattern:
    return Pattern(when, "do", "read first", "know it")


@pytest.mark.parametrize("writers, each", [(4, 12)])
def test_writers_at_once_give_distinct_ids_without_gaps(tmp_path: Path, writers: int, each: int) -> None:
    """SPEC E-22, E-23: no id twice, no gap, no torn line."""
    directory = tmp_path / "lessons"
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(directory), str(n), str(each)])
        for n in range(writers)
    ]
    assert [process.wait(60) for process in running] == [0] * writers
    records = [json.loads(line) for line in (directory / "lessons.jsonl").read_bytes().splitlines()]
    assert [r["id"] for r in records] == [f"{n:03d}" for n in range(1, writers * each + 1)]
    assert len({r["when"] for r in records}) == writers * each
    assert len(json.loads((directory / "index.json").read_bytes())["global"]) == writers * each


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


def test_two_lessons_directories_have_their_own_origins(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Where it writes": one store, and origins by the directory of lessons; a link is its target."""
    (lessons.home / ".claude").mkdir()
    (lessons.home / "link").symlink_to(".claude")
    lessons.note("1", Origin("s1"))
    for name, session in (("link", "s1"), ("other", "")):
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(lessons.home / name))
        assert lessons.origin(1).session == session


def test_an_index_that_cannot_be_written_stops_nothing(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPEC E-20, RELIABILITY row 3: the log wins, and nobody is told that what it has is not done."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as faults:
        faults.setattr("tacitd.files.atomic.replace_file", full)
        lessons.out("add", "WHEN one more -> DO b -> BECAUSE c")
    assert "one more" in lessons.out("load")
