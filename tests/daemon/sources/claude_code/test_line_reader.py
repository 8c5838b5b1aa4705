"""The reader of lines: whatever the spelling of a line and the cut into blocks, the same words are found."""

from __future__ import annotations

import json
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_transcripts import (
    REJECTION,
    SOURCE,
    called,
    list_prompts,
    queue,
    raw,
    read,
    spoken,
    typed,
    write,
)
from tacitd.events import Prompt, Record, ToolAnswer
from tacitd.sources.claude_code.record_reader import ClaudeAssembler
from tacitd.sources.claude_code.records import (
    Block,
    LineMessage,
    TranscriptLine,
    decode_line,
    never_matters,
    read_blocks,
)
from tacitd.sources.source import OwnCalls
from tacitd.sources.transcript import Tail

OWN = OwnCalls(cwd="/state/claude", sentinel="tacitd asks:")
REJECTED = f"{REJECTION} To tell you how to proceed, the user said:\nuse pnpm"
FOREIGN = f"{REJECTION} The user provided the following reason for the rejection: use uv"
_NUMBERS = count()


def result(content: Any, more: tuple[dict[str, Any], ...] = (), **fields: Any) -> bytes:
    """A tool's result, and further blocks in the same record."""
    error, call = fields.pop("error", False), fields.pop("call", "t")
    block = {"tool_use_id": call, "type": "tool_result", "content": content, "is_error": error}
    return raw(
        type="user", uuid=f"r{next(_NUMBERS)}", message={"role": "user", "content": [block, *more]}, **fields
    )


SESSION = [
    typed("first", "u1"),
    spoken("Shall I?"),
    spoken("", {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}),
    result("ok", toolUseResult={"stdout": "ok"}),
    result("not found", error=True),
    result(REJECTED, error=True),
    result([{"type": "text", "text": FOREIGN}], error=True),
    called("AskUserQuestion", "q"),
    result("x", toolUseResult={"answers": {"Colour?": "blue"}}, call="q"),
    result("x", ({"type": "text", "text": "and keep it small"},)),
    typed("a sub-agent's", "u2", isSidechain=True),
    queue("enqueue", "meanwhile"),
    queue("remove", "meanwhile"),
    raw(type="system", subtype="turn_duration"),
    typed("last", "u3"),
]


def respell(line: bytes, style: str) -> bytes:
    """The same record as another writer of JSON would spell it."""
    record = json.loads(line)
    if style == "spaced":
        return json.dumps(record).encode() + b"\n"
    if style == "wide":
        return b" " + json.dumps(record, separators=(" ,\t", "  :  ")).encode() + b" \r\n"
    if style == "sorted":
        return json.dumps(record, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    if style == "reversed":
        return json.dumps(_reversed(record), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    # Every letter of every value that is not a key's: the hardest spelling that is still JSON.
    return json.dumps(_marked(record)).replace("\\ue000", "\\u00").encode() + b"\n"


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(one) for one in value] if isinstance(value, list) else value


def _marked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _marked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_marked(one) for one in value]
    return "".join(f"\ue000{ord(c):02x}" for c in value) if isinstance(value, str) else value


def prompts(path: Path) -> list[Prompt]:
    return list(list_prompts(read(path), 0))


@pytest.mark.parametrize("style", ["spaced", "wide", "sorted", "reversed", "escaped"])
def test_the_spelling_of_a_line_makes_no_difference(tmp_path: Path, style: str) -> None:
    """S-05: the same words are found with other spacing, another order of keys and escaped letters."""
    compact, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(compact, *SESSION)
    write(other, *(respell(line, style) for line in SESSION))
    found = prompts(compact)
    assert prompts(other) == found
    assert [prompt.text for prompt in found] == [
        "first", "use pnpm", "use uv", "blue", "and keep it small", "meanwhile", "last",
    ]  # fmt: skip


def read_block(data: bytes, cuts: list[int] | None = None) -> tuple[tuple[Record, ...], dict[str, int]]:
    """Read complete lines in one block, or in several."""
    reader = ClaudeAssembler(Path("x.jsonl"), OWN)
    edges = [0, *sorted(cuts or []), len(data)]
    for first, last in pairwise(edges):
        reader.read_lines(first, data[first:last], last - first)
    return reader.list_records(0, len(data)), dict(reader.counts)


def test_repeated_requests_are_not_decoded_and_name_no_time() -> None:
    """CLAUDE_CODE section 14.2: the client's own copies change nothing, whether they are decoded or skipped."""
    request = b'{"type":"api-request","sessionId":"other","timestamp":"2030-01-01T00:00:00Z","a":{"b":1}}\n'
    spaced = request.replace(b'":"', b'": "')
    reader = ClaudeAssembler(Path("x.jsonl"), OWN)
    data = typed("one", "u1") + request + spaced + request + typed("two", "u2", timestamp=None)
    reader.read_lines(0, data, len(data))
    assert (reader.session, reader.stamp) == ("s1", "2026-11-20T10:00:00.000Z")
    assert [r.uuid for r in reader.list_records(0, len(data))] == ["u1", "u2"]


@examples(50)
@given(st.lists(st.integers(0, len(SESSION)), max_size=4), st.permutations(range(len(SESSION))))
def test_the_cut_into_blocks_makes_no_difference(cuts: list[int], order: list[int]) -> None:
    """DESIGN "Sources": the records do not depend on where the bytes were cut."""
    lines = [SESSION[at] for at in order]
    offsets = [sum(map(len, lines[:cut])) for cut in cuts]
    data = b"".join(lines)
    assert read_block(data, offsets) == read_block(data)


def test_the_context_of_a_prompt_reaches_back_over_blocks(tmp_path: Path) -> None:
    """S-05: the assistant's text before a prompt, over any number of tool calls and slices."""
    path = tmp_path / "a.jsonl"
    call = spoken("", {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]})
    write(path, spoken("Which one?"), *[call] * 50, typed("this one", "u1"))
    tail = Tail(path, 0, SOURCE)
    while tail.read_next_slice(700).more:
        pass
    assert [(p.text, p.context) for p in list_prompts(tail, 0)] == [("this one", "Which one?")]


def test_a_context_names_another_directory_than_the_prompts(tmp_path: Path) -> None:
    """A person may have excluded one of the two. Words of two directories are not mixed."""
    for number, (places, context, place) in enumerate(
        (
            (("/a", "/a", "/a"), "Said first.\nSaid then.", ""),
            (("/a", "/a", "/b"), "Said first.\nSaid then.", "/a"),
            (("/a", "/b", "/b"), "Said then.", ""),
            (("/a", "/b", "/a"), "Said then.", "/b"),
        )
    ):
        path = tmp_path / f"{number}.jsonl"
        first, second, last = places
        said = (spoken("Said first.", cwd=first), spoken("Said then.", cwd=second))
        write(path, *said, typed("go on", f"u{number}", cwd=last))
        tail = Tail(path, 0, SOURCE)
        tail.read_next_slice()
        (prompt,) = list_prompts(tail, 0)
        assert (prompt.cwd, prompt.context, prompt.context_cwd) == (last, context, place)


def test_what_the_client_wrote_in_the_assistants_name_is_nobodys(tmp_path: Path) -> None:
    """An API error is no text of the assistant, no context of a prompt, and no answer that counts."""
    path = tmp_path / "a.jsonl"
    error = spoken("API Error: 500", {"model": "<synthetic>"}, isApiErrorMessage=True)
    write(path, spoken("Shall I?"), error)
    assert read(path).assembler.recognition.answers == 1
    write(path, typed("yes", "u1"))
    tail = read(path)
    assert [record.text for record in tail.list_records(0)] == ["Shall I?", ""]
    assert [prompt.context for prompt in list_prompts(tail, 0)] == ["Shall I?"]


@pytest.mark.parametrize("damage", [b"\\ud83d", b"\xff"])
def test_a_damaged_character_costs_the_assistant_no_text(tmp_path: Path, damage: bytes) -> None:
    """CLAUDE_CODE section 13: bytes that are not UTF-8, half an emoji."""
    path = tmp_path / "a.jsonl"
    write(path, spoken("Shall HERE I?").replace(b"HERE", damage), typed("yes", "u1"))
    tail = read(path)
    assert [(one.text, one.prompts != ()) for one in tail.list_records(0)] == [
        ("Shall \ufffd I?", False),
        ("", True),
    ]
    assert [prompt.context for prompt in list_prompts(tail, 0)] == ["Shall \ufffd I?"]


# --- The answers to calls of the client's own tools, in the records of a transcript (SPEC P-22).


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
    write(path, typed("go", "u"), called("TaskCreate", subject="x"))
    start = path.stat().st_size
    write(path, answered("t", content=content, **fields))
    assert list_answers(path) == [answer] and list_answers(path, start) == [answer]


def test_of_other_tools_there_are_no_answers(tmp_path: Path) -> None:
    """A record of each output of each command would be most of a transcript. Of several answers on a line nobody knows which of them
    the result is of."""
    path = tmp_path / "s1.jsonl"
    calls = [called(name, id) for name, id in (("Edit", "a"), ("Bash", "b"), ("Agent", "c"))]
    write(path, typed("go", "u"), *calls, answered("b"), answered("unknown"), answered("a", "b", "c"))
    assert list_answers(path) == [ToolAnswer("a", False, "ok"), ToolAnswer("c", False, "ok")]


def test_an_answer_whose_result_is_not_utf8(tmp_path: Path) -> None:
    """RELIABILITY 9: what cannot be read of it is left out, and nothing else."""
    path = tmp_path / "s1.jsonl"
    line = (
        answered("t").replace(b'{"id":"7"}', b'{"id":"caf\xe9"}').replace(b'{"id": "7"}', b'{"id":"caf\xe9"}')
    )
    write(path, typed("go", "u"), called("TaskCreate", subject="x"), line)
    assert b"caf\xe9" in line
    assert list_answers(path) == [ToolAnswer("t", False, "ok", {"task": None, "success": False})]


# --- Decoding the fields of a line; malformed shapes never raise.


def line(**fields: Any) -> TranscriptLine:
    made = decode_line(json.dumps(fields).encode())
    assert made is not None
    return made


def test_odd_blocks_are_left_out() -> None:
    """CLAUDE_CODE section 13: a list with odd blocks; the text in it is kept."""
    made = line(
        type="user", timestamp=5, message={"content": ["bare", 1, {"type": "text", "text": "words"}, []]}
    )
    assert isinstance(made.message, LineMessage)
    assert made.message.content == [Block(type="text", text="bare"), Block(type="text", text="words")]


def test_tool_inputs_are_cut_loose_and_bounded() -> None:
    """events.ToolUse: at most 256 KB of input."""
    big = {"type": "tool_use", "id": "2", "name": "Write", "input": {"content": "x" * 300_000}}
    small = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "ls"}}
    made = line(type="assistant", message={"content": [small, big]})
    assert isinstance(made.message, LineMessage)
    _, (one, two) = read_blocks(made.message)
    assert (one.name, json.loads(one.input), two.input) == ("Bash", {"command": "ls"}, b"{}")


def test_lines_that_never_matter() -> None:
    """CLAUDE_CODE section 14.2, and fact 7: not if another record follows a truncated one."""
    user = b'{"type":"user","sessionId":"s","gitBranch":"HEAD"}\n'
    for whole in (
        b'{"type":"api-request-blob","message":{"a":{}}}\n',
        b'{"type":"api-request","requestDigest":"' + b"0" * 64 + b'"}\n',
        b'{"type":"file-history-snapshot","snapshot":{},"isSnapshotUpdate":false}\n',
    ):
        assert never_matters(whole)
        assert not never_matters(whole[:-9] + user)


_NAMES = (
    "type uuid sessionId message content text is_error toolUseResult answers attachment prompt origin kind cwd "
    "isMeta timestamp input name id isSidechain userType"
)
FIELDS = st.sampled_from(_NAMES.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(FIELDS | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@examples(150)
@given(st.dictionaries(FIELDS, JSON, max_size=8))
def test_no_shape_raises(fields: dict[str, Any]) -> None:
    """RELIABILITY row 9, CLAUDE_CODE section 13: any JSON in any field; the rest is still read."""
    made = decode_line(json.dumps({**fields, "gitBranch": "main"}).encode())
    assert made is not None and made.git_branch == "main"
