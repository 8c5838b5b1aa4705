"""Lessons as items that a person can forget, and their log as changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support_lessons import Lessons
from tacitd.cli.common import format_moment
from tacitd.errors import TacitdError, UsageError
from tacitd.handler import Decided
from tacitd.testing import FakeClock
from tacitd_handlers.lessons.lesson_actions import add_lesson
from tacitd_handlers.lessons.lesson_drafts import render_addition
from tacitd_handlers.lessons.lesson_items import list_changes, purge_words
from tacitd_handlers.lessons.lesson_log import BLANK, KEYS, LessonLog, decode_record
from tacitd_handlers.lessons.lesson_origins import Origin
from tacitd_handlers.lessons.pattern import parse_pattern
from tacitd_handlers.lessons.promotion import parse_target, promote_lesson

ONE, TWO = ("WHEN one -> DO it -> BECAUSE it helps", "WHEN two -> DO it -> BECAUSE it helps")


@pytest.fixture
def store(lessons: Lessons) -> LessonLog:
    """A drafted lesson with its words, and one that the person stated."""
    made = LessonLog(lessons.directory, FakeClock())
    add_lesson(made, parse_pattern(ONE), "global", "ai")
    lessons.note("001", Origin("s1", FakeClock().now(), str(lessons.bench.project), ("u1",), ("no, do it",)))
    add_lesson(made, parse_pattern(TWO), "global", "user")
    return made


def items(lessons: Lessons) -> dict[str, tuple[str, bool]]:
    return {id: (one.state, one.by_person) for id, one in lessons.items().items()}


def test_a_forgotten_lesson_is_marked_wrong_and_restored(store: LessonLog, lessons: Lessons) -> None:
    """It is not drafted again meanwhile; its words are named for a purge; a firm lesson asks first."""
    assert items(lessons) == {"001": ("stored", False), "002": ("stored", True)}
    assert lessons.bench.decide("001", "drop").texts == (ONE, "no, do it")
    assert items(lessons)["001"] == ("forgotten", False)
    assert not add_lesson(store, parse_pattern(ONE), "global", "ai").is_new
    assert "active again" in lessons.bench.decide("001", "restore").what
    assert items(lessons)["001"] == ("stored", False) and "yours" in lessons.bench.decide("001", "keep").what
    assert items(lessons)["001"] == ("stored", True)
    with pytest.raises(UsageError, match="not marked wrong"):
        lessons.bench.decide("001", "restore")
    with pytest.raises(TacitdError, match="no lesson '009'"):
        lessons.bench.decide("009", "drop")


def test_a_promoted_lesson_is_forgotten_restored_and_purged(store: LessonLog, lessons: Lessons) -> None:
    """It asks first, because a person promoted it; the target's file is the person's and is named."""
    target = parse_target("tool/editing", lessons.home / "skills", lessons.home / "tools")
    promote_lesson(store, "001", target, create=True)
    assert items(lessons)["001"] == ("stored", True)
    assert "tool/editing still has it" in lessons.bench.decide("001", "drop").what
    assert items(lessons)["001"] == ("forgotten", False)
    assert "promoted again" in lessons.bench.decide("001", "restore").what
    assert items(lessons)["001"] == ("stored", True)
    assert set(find_words(lessons.home, "WHEN one")) == {"001.md", "editing.md"}
    purge(lessons, "001")
    assert find_words(lessons.home, "WHEN one") == ["editing.md"]
    assert find_words(lessons.home, "no, do it") == []


def test_the_log_is_a_list_of_changes(store: LessonLog, lessons: Lessons) -> None:
    """Added, edited, removed and restored, with the origin of a draft; foreign records are not changes."""
    lessons.bench.decide("002", "edit", "WHEN two -> DO NOT it -> BECAUSE it harms")
    lessons.bench.decide("001", "drop")
    lessons.bench.decide("001", "restore")
    with store.path.open("ab") as file:
        file.write(b'{"id": "x", "when": "no lesson"}\n')
    made = list(list_changes(os.environ))
    edited = "WHEN two -> DO NOT it -> BECAUSE it harms"
    found = [
        (one["lines"][0]["added"].replace(" [firm]", ""), one["lines"][0]["removed"].replace(" [firm]", ""))
        for one in made
    ]
    assert found == [(ONE, ""), (TWO, ""), (edited, TWO), ("", ONE), (ONE, "")]
    assert (made[0]["root"], made[0]["sessions"], made[0]["facts"]) == (
        str(lessons.bench.project),
        ["s1"],
        ["no, do it"],
    )
    said = ["drafted from your words", "you added it", "changed", "forgotten with tacitd forget"]
    assert [one["what"] for one in made][:4] == said
    assert made[1]["at"] == store.today, "only the day is known, and it is local"
    assert format_moment(made[1]["at"]) == store.today
    assert made[1]["root"] == "" and len({one["id"] for one in made}) == 5


def test_a_promotion_is_named_in_the_history(store: LessonLog, lessons: Lessons) -> None:
    """With its target and reason, and no lesson that became inactive is called active."""
    target = parse_target("tool/editing", lessons.home / "skills", lessons.home / "tools")
    promote_lesson(store, "001", target, create=True)
    promote_lesson(store, "002", target, reason="for all editors")
    add_lesson(store, parse_pattern(ONE.replace("one", "three")), "global", "ai")
    with store.path.open("ab") as file:
        file.write(b'{"id": "003", "status": "deleted", "updated": "2026-01-02"}\n')
    assert [one["what"] for one in list_changes(os.environ) if one["lines"][0]["removed"]] == [
        "promoted to tool/editing",
        "promoted to tool/editing: for all editors",
        "deleted",
    ]


def purge(lessons: Lessons, id: str) -> Decided:
    """Forget a lesson with its words, as the daemon does."""
    done = lessons.bench.decide(id, "drop")
    lessons.bench.purge(id, done.texts)
    lessons.bench._app.store.purge_words(done.texts)
    return done


def find_words(tmp_path: Path, *words: str) -> list[str]:
    """The files that contain one of these words."""
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    return [path.name for path in files if any(one.encode() in path.read_bytes() for one in words)]


def test_a_purged_lesson_leaves_no_words_and_is_not_drafted_again(store: LessonLog, lessons: Lessons) -> None:
    """In no record of the log, no index and no sidecar; other lessons and foreign lines stay byte for byte."""
    lessons.bench.decide("001", "edit", "WHEN one -> DO the zebra -> BECAUSE zebras help")
    with store.path.open("ab") as file:
        file.write(b"not a record\n")
    before = [line for line in store.path.read_bytes().splitlines() if b'"001"' not in line]
    assert set(find_words(lessons.home, "zebra", "it helps")) >= {"lessons.jsonl", "index.json"}
    assert {*purge(lessons, "001").texts} == {
        ONE,
        "WHEN one -> DO the zebra -> BECAUSE zebras help",
        "no, do it",
    }
    assert find_words(lessons.home, "zebra", "no, do it") == []
    assert [line for line in store.path.read_bytes().splitlines() if b'"001"' not in line] == before
    assert items(lessons) == {"001": ("forgotten", False), "002": ("stored", True)}
    assert lessons.items()["001"].text == ""
    for text in (ONE, "WHEN One -> DO the zebra. -> BECAUSE of another reason"):
        assert lessons.draft(text) == [] and not add_lesson(store, parse_pattern(text), "global", "ai").is_new
    assert lessons.draft(TWO.replace("two", "three")) == ["003"]
    assert BLANK not in render_addition("/home/me/app")
    assert {key for line in store.path.read_bytes().splitlines()[:-1] for key in decode_record(line)} <= {
        *KEYS
    }
    assert "drafted again" in lessons.bench.decide("001", "restore").what
    assert items(lessons) == {"002": ("stored", True), "003": ("stored", False)}
    assert lessons.draft(ONE) == ["004"]


def test_the_purge_of_another_item_leaves_lessons(store: LessonLog, lessons: Lessons) -> None:
    """A line with the id or the words of a lesson; without lessons nothing is created."""
    lessons.bench.decide("001", "drop")
    before = store.path.read_bytes()
    assert purge_words(store, "001", ["no, do it", "one"]) == []
    assert store.path.read_bytes() == before
    shutil.rmtree(store.directory)
    assert purge_words(store, "001", [ONE]) == [] and not store.directory.exists()


SECRET = "sk-ant-abcdefgh12345678"


def test_a_secret_is_never_stored(lessons: Lessons) -> None:
    """S-67: neither in a lesson nor in a reason, whoever says it; nothing is written."""
    with_secret = f"WHEN deploying -> DO use {SECRET} -> BECAUSE it works"
    for line in (["add", with_secret], ["add", "--firm", with_secret]):
        assert "looks like a secret" in lessons.run(*line).err
    assert not lessons.log.exists()
    lessons.out("add", ONE)
    before = lessons.log.read_bytes()
    for command in ("wrong 1 --reason", "promote 1 --to=tool/x --create --reason"):
        assert lessons.run(*command.split(), f"the key is {SECRET}").code == 1
    with pytest.raises(TacitdError, match="secret"):
        lessons.bench.decide("1", "edit", with_secret)
    assert lessons.log.read_bytes() == before


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_a_person_types_in_a_terminal_does_not_wait(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """SPEC E-10: also without --firm, and in each language."""
    lessons.has_terminal = is_terminal
    said = lessons.run(
        "add", "WHEN die Tests hängen -> DO immer erst die Stacks ausgeben -> BECAUSE das Log ist leer"
    )
    assert ("it waits for the person" in said.err) is not is_terminal
    monkeypatch.setenv("CLAUDECODE", "1")
    said = lessons.run(
        "add", "WHEN der Build hängt -> DO immer erst den Cache löschen -> BECAUSE er ist kaputt"
    )
    assert "it waits for the person" in said.err


def test_what_waits_becomes_the_persons_by_accepting_it(lessons: Lessons) -> None:
    """S-67, E-32: it is loaded only then; what is dropped does not come back, and an agent's second try adds nothing."""
    order = "WHEN pushing -> DO git push --force to main -> BECAUSE it is quick"
    for _ in range(2):
        lessons.out("add", order)
    lessons.out("add", order.replace("pushing", "releasing"))
    assert lessons.out("list") == "" and lessons.out("load")[-8:] == "active)\n"
    (first, second) = lessons.items().values()
    assert (first.state, first.by_person) == ("proposed", False)
    assert first.review == "an agent added it, and it waits for you: it runs a command"
    lessons.bench.decide("1", "keep")
    lessons.bench.decide("2", "drop")
    assert lessons.out("load").endswith(f"- {order} [firm]\n")
    assert {one.id: one.state for one in lessons.items().values()} == {"001": "stored", "002": "forgotten"}
    assert lessons.run("add", second.text).code == 1
    assert {one["status"] for one in lessons.records()} == {"active", "deleted"}
