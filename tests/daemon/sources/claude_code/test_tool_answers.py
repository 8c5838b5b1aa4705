"""The answers to calls of the client's own tools, in the records of a transcript (SPEC P-22)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_transcripts import called, raw, read, typed, write
from tacitd.events import ToolAnswer


def answered(*ids: str, content: Any = "ok", **fields: Any) -> bytes:
    """A line with the answers to these calls."""
    blocks = [{"type": "tool_result", "tool_use_id": id, "content": content} | fields for id in ids]
    return raw(type="user", uuid="r", message={"role": "user", "content": blocks}, toolUseResult=RESULT)


RESULT = {"task": {"id": "7"}, "success": False, "oldString": "x" * 1000}
DATA = {"task": {"id": "7"}, "success": False}


def list_answers(path: Path, start: int = 0) -> list[ToolAnswer]:
    return [answer for record in read(path, start).list_records(start) for answer in record.answers]


@pytest.mark.parametrize(
    ("content", "fields", "answer"),
    [
        ("ok", {}, ToolAnswer("t", False, "ok", DATA)),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], {},
         ToolAnswer("t", False, "a\nb", DATA)),
        ("no", {"is_error": True}, ToolAnswer("t", True, "no", DATA)),
        ("<tool_use_error>no</tool_use_error>", {}, ToolAnswer("t", True, "<tool_use_error>no</tool_use_error>", DATA)),
        ("x" * 9000, {}, ToolAnswer("t", False, "x" * 4096, DATA)),
    ],
)  # fmt: skip
def test_an_answer_has_its_call_and_what_the_client_recorded(
    tmp_path: Path, content: Any, fields: dict[str, Any], answer: ToolAnswer
) -> None:
    """Whether it was refused, its text, and of the result what the task tools have."""
    path = tmp_path / "s1.jsonl"
    write(path, typed("go", "u"), called("TaskCreate", subject="x"), answered("t", content=content, **fields))
    assert list_answers(path) == [answer]


def test_other_tools_have_no_answers(tmp_path: Path) -> None:
    """A record of each output of each command would be most of a transcript."""
    path = tmp_path / "s1.jsonl"
    write(path, typed("go", "u"), called("Bash", command="ls"), answered("t"), answered("unknown"))
    assert list_answers(path) == []


def test_several_answers_on_one_line(tmp_path: Path) -> None:
    """Then nobody knows which of them the result is of."""
    path = tmp_path / "s1.jsonl"
    calls = [called(name, id) for name, id in (("Edit", "a"), ("Bash", "b"), ("Agent", "c"))]
    write(path, typed("go", "u"), *calls, answered("a", "b", "c"))
    assert list_answers(path) == [ToolAnswer("a", False, "ok"), ToolAnswer("c", False, "ok")]


def test_an_answer_that_is_read_after_a_restart(tmp_path: Path) -> None:
    """Its call lies before the position from which is read."""
    path = tmp_path / "s1.jsonl"
    write(path, typed("go", "u"), called("TodoWrite", todos=[]))
    start = path.stat().st_size
    write(path, answered("t"))
    assert list_answers(path, start) == [ToolAnswer("t", False, "ok", DATA)]


def test_words_beside_an_answer_are_in_the_same_record(tmp_path: Path) -> None:
    """A person rejected an edit and typed why."""
    path = tmp_path / "s1.jsonl"
    words = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse tabs"
    write(path, typed("go", "u"), called("Edit"), answered("t", content=words, is_error=True))
    record = read(path).list_records(0)[-1]
    assert [one.text for one in record.prompts] == ["use tabs"] and record.answers[0].error
