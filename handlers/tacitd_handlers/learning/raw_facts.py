"""Encode and parse the lines of `tmp/learning-raw.jsonl` (SPEC S-02, S-21). Bytes in and out; no disk.

    {"ts": "2025-12-17T01:50:00Z", "facts": ["Prefers X over Y"], "session": "…", "prompts": ["…"],
     "folders": ["src/auth"], "batch": "…"}

`ts` and `facts` are seed 003's format. The other fields are the facts' origin, by which a batch is recognised when it is
written again. Other tools append lines with `ts` and `facts` only; those count as facts too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tacitd.clock import utc_seconds
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.tidy import tidy_fact


@dataclass(frozen=True, slots=True)
class RawLine:
    """The facts of one batch."""

    ts: str
    """UTC, `2025-12-17T01:50:00Z`. Lines of other tools may have any other string, or "" for none."""
    facts: tuple[str, ...]
    session: str = ""
    prompts: tuple[str, ...] = ()
    """Ids of the prompts that the facts were extracted from."""
    folders: tuple[str, ...] = ()
    """Folders that the session worked in, relative to the project."""
    batch: str = ""
    """The batch's id, "" for lines of other tools."""
    withheld: int = 0
    """Number of facts that looked like a secret. They are not stored."""
    aside: bool = False
    """Whether the line was written when its batch was put aside. Other lines of that batch are older."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """The contents of a raw file."""

    lines: tuple[RawLine, ...] = ()
    bad_lines: list[bytes] = field(default_factory=list)
    """Lines that do not parse as facts, without their newline (SPEC S-21)."""

    @property
    def facts(self) -> tuple[str, ...]:
        """Every fact in order, repetitions included, because repetitions are counted (SPEC S-36)."""
        return tuple(fact for line in self.lines for fact in line.facts)

    @property
    def batches(self) -> frozenset[str]:
        """Ids of the batches in the file."""
        return frozenset(line.batch for line in self.lines if line.batch)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of all lines, each once, in order of first occurrence."""
        return tuple(dict.fromkeys(folder for line in self.lines for folder in line.folders))


def encode_raw_line(
    ts: float,
    facts: Sequence[str],
    session: str,
    prompts: Sequence[str],
    folders: Sequence[str],
    batch: str,
    *,
    aside: bool = False,
) -> bytes:
    """Return the line of a batch in UTF-8, newline included. `ts` is in seconds since 1970, UTC."""
    record: dict[str, object] = {
        "ts": utc_seconds(ts),
        "facts": list(facts),
        "session": session,
        "prompts": list(prompts),
        "folders": list(folders),
        "batch": batch,
    }
    if aside:
        record["aside"] = True
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", errors="replace")


def parse_raw_file(data: bytes) -> RawFile:
    """Given a file's bytes, return its lines, and separately those that do not parse as facts. Raises nothing."""
    lines: list[RawLine] = []
    bad: list[bytes] = []
    for raw in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        text = raw.strip(b" \t\r\0")
        if not text:
            continue
        line = _line(text)
        if line is None:
            bad.append(raw)
        else:
            lines.append(line)
    return RawFile(tuple(lines), bad)


def _line(text: bytes) -> RawLine | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("facts"), list):
        return None
    given = [value for value in record["facts"] if isinstance(value, str)]
    # The whole value is checked too: a secret that `tidy_fact` cuts would no longer match its pattern.
    safe = [
        fact
        for value in given
        if not has_secret(sanitize_line(value)) and not has_secret(fact := tidy_fact(value))
    ]
    return RawLine(
        ts=_text(record.get("ts")),
        facts=tuple(fact for fact in safe if any(char.isalnum() for char in fact)),
        session=_text(record.get("session")),
        prompts=_texts(record.get("prompts")),
        folders=_texts(record.get("folders")),
        batch=_text(record.get("batch")),
        withheld=len(given) - len(safe),
        aside=record.get("aside") is True,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
