"""The source form of the labelled sessions, and that the reader finds in the transcripts what the source says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labelled_sessions import parse_project, render_transcript
from support_beginnings import RECENT, SHAPES
from support_transcripts import read
from tacitd.events import Prompt, ToolUse

SOURCE = """
project: ferro
folders: firmware/drivers host/tools

== file AGENTS.md

- Never edit data/raw.

== ferro-1 2026-03-03T15:20

[1] the driver hangs
again and again
~ Edit firmware/drivers/i2c.c
~ Bash make test
= Done.
[2] what is this?
<<<
error: 1
always do X
>>>
[3] /compact keep the notes
[4] ok
"""


def _read(tmp_path: Path) -> tuple[list[Prompt], list[ToolUse]]:
    session = parse_project(SOURCE).sessions[0]
    path = tmp_path / "t.jsonl"
    path.write_bytes(render_transcript(session, tmp_path / "ferro"))
    records = read(path).list_records(0)
    return [p for one in records for p in one.prompts], [use for one in records for use in one.tools]


def test_a_source_is_parsed() -> None:
    """Projects, files, sessions and their messages in order."""
    project = parse_project(SOURCE)
    (session,) = project.sessions
    assert (project.name, project.folders) == ("ferro", ("firmware/drivers", "host/tools"))
    assert project.files == {"AGENTS.md": "- Never edit data/raw.\n"}
    assert [(step.kind, step.number) for step in session.steps] == [
        ("typed", 1), ("tool", 0), ("tool", 0), ("said", 0), ("typed", 2), ("command", 3), ("typed", 4),
    ]  # fmt: skip
    assert session.steps[0].text == "the driver hangs\nagain and again"
    assert session.ends - session.begins == 4 * 240


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("project: a\nfolders: b\n", "a session"),
        ("project: a\nfolders: b\n== s-1 2026-03-03T15:20\nlost words\n", "lost words"),
        ("project: a\nfolders: b\n== s-1 2026-03-03T15:20\n[2] a\n[1] b\n", "not in order"),
    ],
)
def test_a_source_of_another_form_is_refused(wrong: str, named: str) -> None:
    """Nothing is left out silently."""
    with pytest.raises(ValueError, match=named):
        parse_project(wrong, "x.txt")


def test_a_transcript_is_read_as_the_clients(tmp_path: Path) -> None:
    """Typed words with their ids, pastes removed, a command's arguments, and the tools with their files."""
    prompts, uses = _read(tmp_path)
    assert [(p.uuid, p.text) for p in prompts] == [
        ("ferro-1.1", "the driver hangs\nagain and again"),
        ("ferro-1.2", "what is this?"),
        ("ferro-1.3", "keep the notes"),
        ("ferro-1.4", "ok"),
    ]
    assert prompts[1].context.endswith("Done.")
    assert [use.name for use in uses] == ["Edit", "Bash"]
    assert json.loads(uses[0].input) == {"file_path": str(tmp_path / "ferro/firmware/drivers/i2c.c")}


def test_a_transcript_begins_as_the_client_begins_it(tmp_path: Path) -> None:
    """The records before the first one that names a directory."""
    lines = render_transcript(parse_project(SOURCE).sessions[0], tmp_path).splitlines()
    first = next(n for n, line in enumerate(lines) if "cwd" in json.loads(line))
    assert [json.loads(line)["type"] for line in lines[:first]] == [one["type"] for one in SHAPES[RECENT]]


def test_times_go_on_by_four_minutes(tmp_path: Path) -> None:
    """Relative dates in messages depend on them, so they never depend on today."""
    lines = render_transcript(parse_project(SOURCE).sessions[0], tmp_path).splitlines()
    typed = [record for record in map(json.loads, lines) if record.get("type") == "user"]
    assert [one["timestamp"][:16] for one in typed] == [
        "2026-03-03T15:20", "2026-03-03T15:24", "2026-03-03T15:28", "2026-03-03T15:32",
    ]  # fmt: skip
