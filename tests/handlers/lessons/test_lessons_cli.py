"""The program beyond the seed's samples: `--json` on each command, wrong use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support_lessons import Lessons
from support_rights import bound

P = "WHEN editing config -> DO read first -> BECAUSE know it"


@pytest.mark.parametrize(
    "arguments",
    [
        ["add"], ["add", "WHEN a -> DO b"], ["add", "no pattern"],
        ["add", "WHEN a -> DO b -> BECAUSE c\x1b"], ["add", "-w", "a", "-d", "b"],
        ["add", "-d", "b", "-b", "c"], ["add", "-w", "a", "-b", "c"],
        ["add", "-w", "a", "-d", "b", "--dont", "c", "-b", "d"], ["add", "-w", "a", "-d", "b", "-b", " "],
        ["add", "-w", "a", P], ["add", "-s", "two words", P], ["add", "-s", "", P],
        ["add", "-s", "../x", P], ["add", "-s", "x" * 65, P], ["add", "--nope", P], ["wrong"],
        ["show", "-1"], ["promote", "1"], ["promote", "1", "--to=config-edit"],
        ["promote", "1", "--to=skill/"], ["promote", "1", "--to=skill/a/b"],
        ["promote", "1", "--to=skill/../b"], ["promote", "1", "--to=skill/.."],
        ["promote", "1", "--to=/etc/passwd"], ["promote", "1", "--to=tool/a\nb"], ["search", " "],
        ["list", "--from=me"], ["load", "--lines=-1"], ["load", "--lines=x"], ["load", "--query=x"],
        ["load", "--scope"], ["load", "more"], ["nope"],
    ],
)  # fmt: skip
def test_wrong_use_ends_with_2_and_writes_nothing(lessons: Lessons, arguments: list[str]) -> None:
    """SPEC E-04: usage on stderr, exit 2, and nothing is written."""
    said = lessons.run(*arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Usage: lesson") and "Error: " in said.err
    assert list(lessons.home.iterdir()) == []


def test_a_broken_pattern_is_shown_with_a_caret(lessons: Lessons) -> None:
    """SPEC E-04: the caret marks the position of the error."""
    said = lessons.run("add", "WHEN editing -> read -> BECAUSE x")
    assert "  WHEN editing -> read -> BECAUSE x\n               ^\n" in said.err


@pytest.mark.parametrize("id", ["abc", "0", "²", "7" * 5000, "x" * 5000, "42"])
@pytest.mark.parametrize("command", ["wrong", "show", "promote --to=skill/x"])
def test_what_names_no_lesson_ends_with_1(lessons: Lessons, command: str, id: str) -> None:
    """One exit code for an id that is not there, whatever it looks like. It is not repeated whole."""
    said = lessons.run(*command.split(), id)
    assert said.code == 1 and "there is no lesson" in said.err and len(said.err) < 200
    assert list(lessons.home.iterdir()) == []


def front_matter(text: str) -> dict[str, str]:
    """The keys of a skill's front matter. The values are JSON strings, which every YAML parser reads as such."""
    begin, _, rest = text.partition("\n")
    matter, end, _ = rest.partition("\n---\n")
    assert begin == "---" and end
    lines = [line.partition(": ") for line in matter.splitlines()]
    return {key: json.loads(value) for key, _, value in lines}


@pytest.mark.parametrize("before", [None, "", "\n", "\ufeff"], ids=["none", "empty", "blank", "bom"])
def test_a_created_skill_has_the_front_matter_that_claude_code_reads(
    lessons: Lessons, before: str | None
) -> None:
    """SPEC E-16: without `description` the client cannot decide when to use a skill (`claude plugin validate`)."""
    lessons.given("list")
    skill = lessons.home / ".claude" / "skills" / "config-edit" / "SKILL.md"
    if before is not None:
        skill.parent.mkdir(parents=True)
        skill.write_text(before)
    lessons.out("promote", "2", "--to=skill/config-edit", "--create")
    text = skill.read_text()
    matter = front_matter(text)
    assert matter["name"] == "config-edit"
    assert "editing tmux.conf" in matter["description"]
    line = "- WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions"
    assert text.endswith(f"\n---\n\n# config-edit\n\n## Lessons\n{line}\n")
    lessons.out("promote", "1", "--to=skill/config-edit")
    assert skill.read_text().startswith(text) and skill.read_text().count("---\n") == 2


@pytest.mark.parametrize(
    "when",
    ["a: b # c", 'quoting "x" \\ y', "<script> runs", "x" * 3000, "é 日本 😀\x85\u2028", "- [a] {b} & *c"],
    ids=["yaml", "quotes", "tags", "long", "unicode", "marks"],
)
def test_whatever_a_lesson_says_its_front_matter_stays_readable(lessons: Lessons, when: str) -> None:
    """The client's limits: one line, at most 1,024 characters, no tags."""
    record = {"id": "001", "scope": "global", "from": "ai", "status": "active", "created": "2024-02-10"}
    lessons.directory.mkdir(parents=True, exist_ok=True)
    parts = {"when": when, "action": "do", "do": "b", "because": "c"}
    lessons.log.write_text(json.dumps(record | parts) + "\n")
    lessons.out("promote", "1", "--to=skill/007", "--create")
    matter = front_matter((lessons.home / ".claude" / "skills" / "007" / "SKILL.md").read_text())
    assert matter["name"] == "007"
    assert matter["description"].isprintable() and not set("<>") & set(matter["description"])
    assert 20 < len(matter["description"]) <= 1024


def test_promote_follows_the_configuration(lessons: Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC E-16: the directory of tools is configurable; a linked skill is changed at its target (SPEC X-09)."""
    lessons.given("load")
    monkeypatch.setenv("TACITD_LESSONS__TOOLS", "~/my tools")
    lessons.out("promote", "2", "--to=tool/tmux", "--create")
    assert (lessons.home / "my tools" / "tmux.md").is_file()
    real = lessons.home / "dotfiles" / "SKILL.md"
    real.parent.mkdir()
    real.write_text("# S\n")
    link = lessons.home / ".claude" / "skills" / "s" / "SKILL.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    lessons.out("promote", "1", "--to=skill/s")
    assert link.is_symlink() and "pick minimal" in real.read_text()


def test_only_an_active_lesson_is_promoted(lessons: Lessons) -> None:
    """SPEC E-15, E-16: not one that was marked wrong, and none twice into different files."""
    lessons.given("history")
    assert lessons.run("promote", "2", "--to=tool/x", "--create").code == 1
    lessons.out("promote", "1", "--to=tool/x", "--create")
    assert lessons.run("promote", "1", "--to=tool/y", "--create").code == 1
    assert lessons.run("wrong", "1").code == 1 and lessons.out("promote", "1", "--to=tool/x") == ""
    assert [path.name for path in (lessons.home / ".claude" / "tools").iterdir()] == ["x.md"]


def test_a_link_to_another_name_is_not_written_into(lessons: Lessons) -> None:
    """`~/.agents` may be a clone: a link in it leads to a file of the same name, or nothing is written."""
    lessons.given("list")
    log, hook = lessons.log, lessons.home / "pre-commit"
    log.rename(hook)
    log.symlink_to(hook)
    before = hook.read_bytes()
    said = lessons.run("add", "WHEN a -> DO b -> BECAUSE c")
    assert said.code == 1 and "is a link to" in said.err and hook.read_bytes() == before


def test_promote_refuses_a_file_it_cannot_splice(lessons: Lessons) -> None:
    """SPEC X-07: a file with conflict markers is refused; nothing is marked or changed."""
    lessons.given("list")
    tool = lessons.home / ".claude" / "tools" / "tmux.md"
    tool.parent.mkdir()
    tool.write_text("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    said = lessons.run("promote", "2", "--to=tool/tmux")
    assert said.code == 1 and str(tool) in said.err and len(lessons.records()) == 3


def test_json_on_each_command(lessons: Lessons) -> None:
    """`--json`: one document with a schema version; null means unknown."""
    lessons.given("load")
    assert [x["id"] for x in lessons.json("list")["lessons"]] == ["001", "002", "003", "004"]
    assert lessons.json("show", "4")["parsed"] == {
        "when": "debugging tmux", "action": "dont", "do": "kill server", "because": "destroys user sessions",
    }  # fmt: skip
    assert [x["id"] for x in lessons.json("search", "tmux")["lessons"]] == ["002", "004"]
    load = lessons.json("load", "--scope=tmux")
    assert load["active"] == 3 and load["lessons"][0] == {
        "id": "001", "scope": "global", "firm": True,
        "pattern": "WHEN multiple approaches -> DO pick minimal -> BECAUSE user preference",
    }  # fmt: skip
    assert lessons.json("wrong", "4", "--reason", "no")["reason"] == "no"
    assert lessons.json("add", P)["changed"] is True


def test_a_damaged_log_costs_only_its_damage(lessons: Lessons) -> None:
    """SPEC E-23, E-21: a torn line, records of ids that were never added, unknown keys, odd ids and types."""
    lessons.given("list")
    with lessons.log.open("ab") as file:
        for line in (
            b'{"id":"042","status":"deleted"}',
            b'{"id":"abc","scope":"x","when":"a","action":"do","do":"b","because":"c"}',
            b'{"id":7,"scope":"Num","from":"ai","status":"active","when":"a\\nb","action":"do","do":"b","because":"c","mine":[1]}',
            b'{"id":"008","when":5,"action":"do","do":"b","because":"c"}',
            b'{"id":"009","when":"a","action":"maybe","do":"b","because":"c"}',
            b'{"id":"99999999999999999999999","when":"a","action":"do","do":"b","because":"c"}',
            b"[1,2]", b"\xff\xfe", b"",
            b'{"id":"003","status":"active","team":"x"}',
            b'{"id":"004","scope":"torn',
        ):  # fmt: skip
            file.write(line + (b"" if line.endswith(b"torn") else b"\n"))
    said = lessons.run("list")
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == ["001", "002", "003", "007"]
    assert "8 lines" in said.err and "WHEN a b -> DO b" in said.out
    assert lessons.json("add", P)["id"] == "043"
    assert json.loads(lessons.log.read_bytes().splitlines()[-1])["id"] == "043"
    assert lessons.run("show", "42").code == 1
    assert "WHEN a b" in lessons.out("load", "--scope=NUM")


def test_ids_grow_past_999_and_are_never_given_again(lessons: Lessons) -> None:
    """SPEC E-22: the maximum over the log, including inactive lessons."""
    lessons.directory.mkdir(parents=True)
    lessons.log.write_text('{"id":"999","status":"deleted"}\n')
    assert lessons.json("add", P)["id"] == "1000"
    lessons.out("wrong", "1000")
    assert lessons.json("add", "--firm", P)["id"] == "1001"


def test_files_are_private(lessons: Lessons) -> None:
    """DESIGN "Where it writes": 0600 in 0700."""
    lessons.out("add", P)
    lessons.out("load")
    lessons.out("promote", "1", "--to=tool/x", "--create")
    ours = [*lessons.directory.rglob("*"), *(lessons.home / "state").rglob("*")]
    assert {oct(p.stat().st_mode & 0o777) for p in ours if p.is_file()} == {"0o600"}
    assert {oct(p.stat().st_mode & 0o777) for p in ours if p.is_dir()} == {"0o700"}


def test_a_directory_that_cannot_be_written(lessons: Lessons) -> None:
    """Loading continues if nothing can be stored; adding reports the error."""
    lessons.given("load")
    program = [*bound(), sys.executable, "-c", "from tacitd_handlers.lessons.cli import main; main()"]
    lessons.log.chmod(0o400)
    lessons.directory.chmod(0o500)
    try:
        loaded = subprocess.run([*program, "load"], capture_output=True, text=True, check=True)
        added = subprocess.run([*program, "add", P], capture_output=True, text=True, check=False)
    finally:
        lessons.directory.chmod(0o700)
    assert loaded.stdout.startswith("## Lessons (1 active)")
    assert added.returncode == 1 and str(lessons.directory) in added.stderr


def test_yaml_is_what_yaml_readers_read(lessons: Lessons, tmp_path: Path) -> None:
    """SPEC E-14: text is quoted properly."""
    lessons.out("add", "-s", "yes", r'WHEN "a": #b \ c -> DO x — y -> BECAUSE ünïcode')
    shown = lessons.out("show", "1")
    assert 'scope: "yes"\n' in shown and r'when: "\"a\": #b \\ c"' in shown and 'because: "ünïcode"' in shown
