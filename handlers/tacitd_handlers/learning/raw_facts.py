"""Encode and parse the lines of `tmp/learning-raw.jsonl` (SPEC S-02, S-21). Bytes in and out; no disk.

    {"ts": "2025-12-17T01:50:00Z", "facts": ["Prefers X over Y"], "session": "…", "prompts": ["…"],
     "folders": ["src/auth"], "batch": "…", "marks": [{"of": ["…"], "corrected": true}]}

`ts` and `facts` are seed 003's format. The other fields are the facts' origin, by which a batch is recognised when it is
written again; `marks`, one for each fact, is there if a fact has one (see `fact_marks`). Other tools append lines with
`ts` and `facts` only; those count as facts too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.clock import utc_seconds
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.fact_marks import NO_MARK, FactMark, read_marks, split_corrected
from tacitd_handlers.shared.tidy import tidy_fact


class RawLine(Struct, frozen=True):
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
    marks: tuple[FactMark, ...] = ()
    """The facts' marks, one for each; () if no fact has one."""

    @property
    def marked_facts(self) -> tuple[tuple[str, FactMark], ...]:
        """Each fact with its mark."""
        return tuple(zip(self.facts, self.marks or (NO_MARK,) * len(self.facts), strict=True))


class RawFile(Struct, frozen=True):
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


def make_raw_record(
    ts: float,
    facts: Sequence[str],
    session: str,
    prompts: Sequence[str],
    folders: Sequence[str],
    batch: str,
    *,
    aside: bool = False,
    marks: Sequence[FactMark] = (),
) -> dict[str, object]:
    """Return the record of a batch. `ts` is in seconds since 1970, UTC."""
    record: dict[str, object] = {
        "ts": utc_seconds(ts),
        "facts": list(facts),
        "session": session,
        "prompts": list(prompts),
        "folders": list(folders),
        "batch": batch,
    }
    if any(mark != NO_MARK for mark in marks):
        record["marks"] = [mark.to_record() for mark in marks]
    if aside:
        record["aside"] = True
    return record


def encode_raw_line(record: Mapping[str, object]) -> bytes:
    """Return the line of a record in UTF-8, newline included."""
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
    facts: list[str] = []
    marks: list[FactMark] = []
    withheld = 0
    for value, mark in zip(
        record["facts"], read_marks(record.get("marks"), len(record["facts"])), strict=True
    ):
        if not isinstance(value, str):
            continue
        fact, corrected = split_corrected(tidy_fact(value))
        # The whole value is checked too: a secret that `tidy_fact` cuts would no longer match its pattern.
        if has_secret(sanitize_line(value)) or has_secret(fact):
            withheld += 1
        elif any(char.isalnum() for char in fact):
            facts.append(fact)
            marks.append(replace(mark, corrected=mark.corrected or corrected))
    return RawLine(
        ts=_text(record.get("ts")),
        facts=tuple(facts),
        session=_text(record.get("session")),
        prompts=_texts(record.get("prompts")),
        folders=_texts(record.get("folders")),
        batch=_text(record.get("batch")),
        withheld=withheld,
        aside=record.get("aside") is True,
        marks=tuple(marks) if any(mark != NO_MARK for mark in marks) else (),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
