"""Every command and every output of the seed, byte for byte, with the corrections of SPEC E-13, E-14 and E-18."""

from __future__ import annotations

import json

from support_lessons import Lessons

LIST = """\
ID   SCOPE    FROM  PATTERN
001  global   user  WHEN multiple approaches -> DO pick minimal -> BECAUSE user preference
002  tmux     ai    WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions
003  browser  ai    WHEN navigation fails -> DO snapshot first -> BECAUSE see current state
"""
SHOW = """\
id: 002
scope: tmux
from: ai
status: active
created: 2024-02-10
pattern: "WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions"
parsed:
  when: "editing tmux.conf"
  action: do
  do: "read first"
  because: "avoid wrong assumptions"
"""
LOAD = """\
## Lessons (3 active)

### Global
- WHEN multiple approaches -> DO pick minimal -> BECAUSE user preference [firm]

### tmux
- WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions
- WHEN debugging tmux -> DO NOT kill server -> BECAUSE destroys user sessions
"""
CORRECTED = """\
## Lessons (1 active)

### tmux
- WHEN editing tmux.conf -> DO read first -> BECAUSE user corrected: was layering on wrong assumptions
"""
LIST_WRONG = """\
ID   SCOPE    FROM  PATTERN
005  browser  ai    WHEN page slow -> DO wait 5s -> BECAUSE avoid timeout
"""
LIST_CONFIG = """\
ID   SCOPE   FROM  PATTERN
002  config  ai    WHEN editing any config -> DO read first -> BECAUSE understand structure
007  config  ai    WHEN config syntax error -> DO show diff -> BECAUSE user needs to see what changed
"""


def test_add_in_every_form_of_the_seed(lessons: Lessons) -> None:
    """Seed "lesson add": full pattern, scope, structured flags, --dont, --firm. Nothing on stdout; the log's samples."""
    for arguments in (
        ["WHEN editing config files -> DO read first -> BECAUSE understand existing structure"],
        ["--scope=tmux", "WHEN editing -> DO read first -> BECAUSE avoid wrong assumptions"],
        ["-w", "editing config files", "-d", "read first", "-b", "it is not mine"],
        ["-w", "user is debugging", "--dont", "suggest refactors", "-b", "breaks focus"],
        ["--firm", "WHEN multiple approaches -> DO pick minimal -> BECAUSE user preference"],
    ):
        assert lessons.out("add", *arguments) == ""
    first, second, third, fourth, fifth = lessons.records()
    assert [r["id"] for r in (first, second, third, fourth, fifth)] == ["001", "002", "003", "004", "005"]
    assert (second["scope"], first["scope"]) == ("tmux", "global")
    assert (fourth["action"], fourth["do"]) == ("dont", "suggest refactors")
    assert (fifth["from"], fourth["from"]) == ("user", "ai")


def test_the_records_are_the_seeds(lessons: Lessons) -> None:
    """SPEC E-25, seed "Storage": key order, compact JSON, UTF-8 unescaped; the deletion as in the sample."""
    lessons.out("add", "--firm", "WHEN multiple approaches -> DO pick minimal -> BECAUSE Nutzer mögen’s")
    lessons.out("wrong", "1", "--reason", "too specific")
    added, deleted = lessons.log.read_text("utf-8").splitlines()
    today = json.loads(added)["created"]
    assert added == (
        f'{{"id":"001","scope":"global","from":"user","status":"active","created":"{today}",'
        '"when":"multiple approaches","action":"do","do":"pick minimal","because":"Nutzer mögen’s"}'
    )
    assert deleted == (
        f'{{"id":"001","scope":"global","from":"user","status":"deleted","updated":"{today}","reason":"too specific"}}'
    )


def test_list(lessons: Lessons) -> None:
    """SPEC E-13, seed "lesson list": the sample table."""
    lessons.given("list")
    assert lessons.out("list") == LIST
    header, one, two, three = LIST.splitlines()
    assert lessons.out("list", "--scope=tmux") == (
        "ID   SCOPE  FROM  PATTERN\n"
        "002  tmux   ai    WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions\n"
    )
    assert lessons.out("list", "--scope=global").splitlines()[1] == one.replace("global   ", "global  ")
    assert lessons.out("list", "--from=ai") == f"{header}\n{two}\n{three}\n"
    assert lessons.out("list", "--from=user").splitlines()[1:] == [one.replace("global   ", "global  ")]


def test_show(lessons: Lessons) -> None:
    """SPEC E-14, E-19, seed "lesson show": the sample, by `002` and by `2`."""
    lessons.given("list")
    assert lessons.out("show", "002") == SHOW == lessons.out("show", "2")


def test_wrong(lessons: Lessons) -> None:
    """SPEC E-15, seed "User marks lesson wrong": the seed's session, except for the column (E-13)."""
    lessons.given("wrong")
    assert lessons.out("list") == LIST_WRONG
    assert lessons.out("wrong", "005", "--reason", "too long, 2s is enough") == "Deleted lesson 005\n"
    correct = "WHEN page slow -> DO wait 2s -> BECAUSE 5s too long"
    assert lessons.out("add", "--scope=browser", "--firm", correct) == ""
    assert [r["id"] for r in lessons.records()] == ["005", "005", "006"]


def test_promote(lessons: Lessons) -> None:
    """SPEC E-16, seed "Promote to skill": two lessons into one skill; nothing is printed on stdout."""
    lessons.given("promote")
    skill = lessons.home / ".claude" / "skills" / "config-edit" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: config-edit\n---\n# Config\n\nMine.\n")
    assert lessons.out("list", "--scope=config") == LIST_CONFIG
    assert lessons.out("promote", "002", "--to=skill/config-edit") == ""
    assert lessons.out("promote", "007", "--to=skill/config-edit") == ""
    assert skill.read_text() == (
        "---\nname: config-edit\n---\n# Config\n\nMine.\n\n## Lessons\n"
        "- WHEN editing any config -> DO read first -> BECAUSE understand structure\n"
        "- WHEN config syntax error -> DO show diff -> BECAUSE user needs to see what changed\n"
    )
    assert (lessons.directory / "promoted" / "002.md").is_file()
    assert lessons.out("list") == "" and "status: promoted" in lessons.out("show", "7")


def test_promote_to_a_tool(lessons: Lessons) -> None:
    """SPEC E-16, seed "lesson promote": `--to=tool/tmux`."""
    lessons.given("list")
    tool = lessons.home / ".claude" / "tools" / "tmux.md"
    assert lessons.out("promote", "002", "--to=tool/tmux", "--create") == ""
    line = "- WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions"
    assert tool.read_text() == f"# tmux\n\n## Lessons\n{line}\n"


def test_search(lessons: Lessons) -> None:
    """SPEC E-17, seed "lesson search"."""
    lessons.given("list")
    assert [line.split()[0] for line in lessons.out("search", "TMUX").splitlines()[1:]] == ["002"]
    assert lessons.out("search", "config", "--scope=global") == ""
    assert [line.split()[0] for line in lessons.out("search", "first wrong").splitlines()[1:]] == ["002"]


def test_load(lessons: Lessons) -> None:
    """SPEC E-18, seed "Loading Lessons": the sample."""
    lessons.given("load")
    assert lessons.out("load", "--scope=tmux") == LOAD
    assert lessons.out("load", "--scope", "tmux") == LOAD == lessons.out("load", "-s", "tmux")
    only = "## Lessons (1 active)\n" + "".join(LOAD.splitlines(True)[1:4])
    assert lessons.out("load") == only == lessons.out("load", "--scope=research")
    assert lessons.out("load", "--scope=global") == only


def test_load_after_a_correction(lessons: Lessons) -> None:
    """SPEC E-18, seed "AI learns from correction": the main format is used instead of the workflow's shorter one."""
    assert lessons.given("correction").out("load", "--scope=tmux") == CORRECTED


def test_a_deleted_lesson_is_folded_not_replaced(lessons: Lessons) -> None:
    """SPEC E-21, seed "Storage": the sample log. Its deletion has no text, and the lesson can still be shown."""
    lessons.given("history")
    assert lessons.out("list").count("\n") == 2
    shown = lessons.out("show", "002")
    assert "status: deleted\ncreated: 2024-02-10\nupdated: 2024-02-11\n" in shown
    assert 'reason: "too specific"\n' in shown and 'do: "read first"' in shown
    assert [line.split()[3] for line in lessons.out("list", "--all").splitlines()] == [
        "STATUS",
        "active",
        "deleted",
    ]
