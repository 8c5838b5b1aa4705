"""What a transcript says of learning: whether its session used the teaching skill, and what it reported. Pure.

A session counts as a teaching session once its person typed the skill's name as a command, or its assistant called it
(the tool `Skill`), or any tool on one of the learner's two files, as the skill does when it reads the profile or writes
the ledger. Before that nothing is taken from it, whatever it looks like: no verdict is ever made up (SPEC X-10).

What counts is a fenced block of JSON with the fields of `tacitd learner record`; a block with other fields is somebody's
example, and a block with a verdict that is none is refused and said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Any

from tacitd.events import Record, ToolUse
from tacitd_handlers.learner.asked import FIELDS, REQUIRED

_FENCED = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?:json\b[^\n]*)?\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S | re.I
)
_SKILL_FIELDS = ("skill", "command", "name")


def uses_skill(record: Record, skills: Collection[str], files: Collection[str]) -> bool:
    """Whether the teaching skill was called here, or a tool on the learner's files. `files`: their names."""
    return _last_name(record.command) in skills or any(
        _calls(tool, skills) or _touches(tool, files) for tool in record.tools
    )


def _calls(tool: ToolUse, skills: Collection[str]) -> bool:
    if tool.name != "Skill":
        return False
    given = _object(tool.input.decode("utf-8", "replace"))
    names = [given.get(field) for field in _SKILL_FIELDS]
    return any(isinstance(name, str) and _last_name(name) in skills for name in names)


def _last_name(name: str) -> str:
    """`plugin:skill` and `/skill` are `skill`."""
    return re.split(r"[:/]", name.strip("/"))[-1]


def _touches(tool: ToolUse, files: Collection[str]) -> bool:
    return any(name.encode() in tool.input for name in files)


def reports(text: str) -> Iterator[dict[str, Any]]:
    """The reports in an assistant's words: objects with the fields of a record, and no others."""
    for found in _FENCED.finditer(text):
        given = _object(found["body"])
        if set(REQUIRED) <= set(given) <= FIELDS:
            yield given


def report_id(record: Record, given: dict[str, Any]) -> str:
    """What tells this report from every other. A fork copies records under new names, but keeps their time."""
    said = json.dumps(given, sort_keys=True, ensure_ascii=False)
    return sha256(f"{record.time}\0{said}".encode(errors="replace")).hexdigest()[:24]


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
