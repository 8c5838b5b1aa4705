"""The lines of `tmp/learning-raw.jsonl`, and nothing of the file itself (SPEC S-02, S-21).

    {"ts": "2025-12-17T01:50:00Z", "facts": ["Prefers X over Y"], "session": "…", "prompts": ["…"],
     "folders": ["src/auth"], "batch": "…"}

`ts` and `facts` are seed 003's; the rest says where they came from, so that a batch is recognised when it is
written again. Other tools append lines with `ts` and `facts` only: those are facts like ours.
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
    """UTC, `2025-12-17T01:50:00Z`; whatever stood there, for other tools' lines; "" where nothing did."""
    facts: tuple[str, ...]
    session: str = ""
    prompts: tuple[str, ...] = ()
    """Ids of the prompts that the facts were extracted from."""
    folders: tuple[str, ...] = ()
    batch: str = ""
    """"" for lines of other tools."""
    withheld: int = 0
    """How many of its facts looked like a secret, and are kept nowhere."""
    aside: bool = False
    """Whether it was written when its batch was put aside; other lines of that batch are older ones."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """A raw file, read."""

    lines: tuple[RawLine, ...] = ()
    bad_lines: list[bytes] = field(default_factory=list)
    """Lines that are no facts, without their newline: they go into quarantine."""

    @property
    def facts(self) -> tuple[str, ...]:
        """Every fact in order, repetitions included: how often a thing was said is counted from them."""
        return tuple(fact for line in self.lines for fact in line.facts)

    @property
    def batches(self) -> frozenset[str]:
        """The batches that are already in the file."""
        return frozenset(line.batch for line in self.lines if line.batch)

    @property
    def folders(self) -> tuple[str, ...]:
        """Every folder once, in order of appearance."""
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
    """Given a batch (`ts` in seconds since 1970, UTC), return its line, newline included."""
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
    """Given the file's bytes, return its lines and, apart, what is none. Raises nothing."""
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
    said = [value for value in record["facts"] if isinstance(value, str)]
    # Before it is shortened: a cut could halve a secret out of recognition.
    safe = [
        fact
        for value in said
        if not has_secret(sanitize_line(value)) and not has_secret(fact := tidy_fact(value))
    ]
    return RawLine(
        ts=_text(record.get("ts")),
        facts=tuple(fact for fact in safe if any(char.isalnum() for char in fact)),
        session=_text(record.get("session")),
        prompts=_texts(record.get("prompts")),
        folders=_texts(record.get("folders")),
        batch=_text(record.get("batch")),
        withheld=len(said) - len(safe),
        aside=record.get("aside") is True,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
