"""What a transcript contains for the learner: whether its session used the teaching skill, and what it reported.

Pure. A session counts as a teaching session once its person typed the skill's name as a command, its assistant called
the skill, or any tool used one of the learner's two files, as the skill does when it reads the
profile or writes the ledger. Nothing is taken from earlier records: verdicts are never invented (SPEC X-10).

A report is a fenced block of JSON with the fields of `tacitd learner record`. A block with other fields is ignored as
an example. A report with an invalid verdict is passed on, refused by `report_input.py`, and shown in `status`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Any

from tacitd.events import Record, ToolUse
from tacitd_handlers.learner.report_input import FIELDS, REQUIRED

_FENCED = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?:json\b[^\n]*)?\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S | re.I
)


def uses_skill(record: Record, skills: Collection[str], files: Collection[str]) -> bool:
    """Whether this record calls the teaching skill, or uses a tool on one of the learner's files.

    `files`: their names.
    """
    return _last_name(record.command) in skills or any(
        any(_last_name(name) in skills for name in tool.skills) or _touches(tool, files)
        for tool in record.tools
    )


def _last_name(name: str) -> str:
    """The last part of a name: `skill` for `plugin:skill` and `/skill`."""
    return re.split(r"[:/]", name.strip("/"))[-1]


def _touches(tool: ToolUse, files: Collection[str]) -> bool:
    return any(name.encode() in tool.input for name in files)


def find_reports(text: str) -> Iterator[dict[str, Any]]:
    """The reports in an assistant's text: objects with the required fields and no unknown ones."""
    for found in _FENCED.finditer(text):
        given = _object(found["body"])
        if set(REQUIRED) <= set(given) <= FIELDS:
            yield given


def report_id(record: Record, given: dict[str, Any]) -> str:
    """The identity of a report. A fork copies records under new ids, but keeps their time."""
    text = json.dumps(given, sort_keys=True, ensure_ascii=False)
    return sha256(f"{record.time}\0{text}".encode(errors="replace")).hexdigest()[:24]


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
