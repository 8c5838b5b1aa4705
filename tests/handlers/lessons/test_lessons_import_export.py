"""Export and import: new ids, people's marks take precedence on both sides, an invalid line stops everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_lessons import Lessons

P = "WHEN editing config -> DO read first -> BECAUSE know it"


def test_lessons_go_from_one_machine_to_another(
    lessons: Lessons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`export --all | import`: scope, source, dates, unknown keys and marks are kept; a second import adds nothing."""
    lessons.given("history")
    with lessons.log.open("a") as log:
        log.write(
            '{"id":"005","scope":"x","from":"user","status":"active","created":"2024-03-01","when":"a","action":"dont","do":"b","because":"c","team":"t"}\n'
        )
    file = tmp_path / "out.jsonl"
    file.write_text(lessons.out("export", "--all"))
    assert (
        len(lessons.out("export").splitlines()) == 2
        and len(lessons.out("export", "-s", "x").splitlines()) == 1
    )
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other"))
    lessons.out("add", P)
    assert lessons.json("import", str(file), "--dry-run")["added"] == ["002", "003", "004"]
    assert len(lessons.json("list", "--all")["lessons"]) == 1
    assert lessons.json("import", str(file))["added"] == ["002", "003", "004"]
    found = lessons.json("list", "--all")["lessons"]
    assert [(x["scope"], x["from"], x["status"], x["created"]) for x in found[1:]] == [
        ("global", "user", "active", "2024-02-10"), ("tmux", "ai", "deleted", "2024-02-10"), ("x", "user", "active", "2024-03-01"),
    ]  # fmt: skip
    assert found[2]["reason"] == "too specific" and found[3]["team"] == "t"
    again = lessons.json("import", str(file))
    assert (again["added"], again["known"]) == ([], ["002", "003", "004"])


def test_what_was_marked_wrong_here_stays_away(lessons: Lessons, tmp_path: Path) -> None:
    """SPEC E-32: an import does not override a person's mark; a person's own lesson does."""
    lessons.out("add", P)
    line = lessons.out("export")
    lessons.out("wrong", "1")
    file = tmp_path / "in.jsonl"
    file.write_text(line)
    assert lessons.json("import", str(file))["marked_wrong"] == ["001"]
    file.write_text(line.replace('"ai"', '"user"'))
    assert lessons.json("import", str(file))["added"] == ["002"]


def test_a_whole_log_can_be_imported(lessons: Lessons, tmp_path: Path) -> None:
    """A lessons.jsonl is imported with the records of one id folded."""
    (tmp_path / "log.jsonl").write_bytes(b"\xef\xbb\xbf" + lessons.given("history").log.read_bytes())
    lessons.log.unlink()
    assert lessons.json("import", str(tmp_path / "log.jsonl"))["added"] == ["001", "002"]
    assert [x["status"] for x in lessons.json("list", "--all")["lessons"]] == ["active", "deleted"]


@pytest.mark.parametrize(
    "line, why",
    [
        ("nonsense", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ('{"a":1}', "neither do nor dont"),
        ('{"when":"a","action":"do","do":"b","because":"c","scope":"two words"}', "not a scope"),
        ('{"when":"a","action":"do","do":5,"because":"c"}', "do is not a string"),
        ('{"when":"","action":"do","do":"b","because":"c"}', "WHEN is empty"),
        ('{"when":"a","action":"do","do":"b","because":"c","from":"them"}', "not known"),
        ('{"when":"a","action":"do","do":"b","because":"c","status":"odd"}', "not known"),
        ('{"when":"a","action":"do","do":"b","because":"c","created":"today"}', "YYYY-MM-DD"),
        ('{"when":"a","action":"do","do":"b","because":"c","created":"9999-99-99"}', "YYYY-MM-DD"),
        ('{"when":"a","action":"do","do":"b","because":"c","updated":"２０２４-01-01"}', "YYYY-MM-DD"),
        ('{"when":"a\\u001b","action":"do","do":"b","because":"c"}', "U+001B"),
    ],
)
def test_one_bad_line_and_nothing_is_added(lessons: Lessons, tmp_path: Path, line: str, why: str) -> None:
    """Bad input: exit 2, the line and the reason; nothing is written."""
    file = tmp_path / "in.jsonl"
    good = json.dumps({"when": "a", "action": "do", "do": "b", "because": "c"})
    file.write_text(f"{good}\n\n{line}\n")
    said = lessons.run("import", str(file))
    assert said.code == 2 and "line 3:" in said.err and why in said.err
    assert not lessons.directory.exists()


def test_many_lessons_are_imported_at_once(lessons: Lessons, tmp_path: Path) -> None:
    """Comparing uses a table, not pairs."""
    file = tmp_path / "in.jsonl"
    lines = (
        json.dumps({"when": f"case {n}", "action": "do", "do": "b", "because": "c"}) for n in range(3000)
    )
    file.write_text("\n".join(lines))
    assert len(lessons.json("import", str(file))["added"]) == 3000
    assert lessons.json("import", str(file))["added"] == []
