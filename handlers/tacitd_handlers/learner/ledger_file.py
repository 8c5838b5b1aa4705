"""The words of seed 000 (modes, verdicts, statuses, stamps, tags), and the ledger's format (SPEC L-04, L-33, L-54). Bytes in, rows out.

Reading tolerates white space, CRLF, `\\|` and rows out of order. A line that is not a row is skipped and reported, never
changed.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line

LEARNING, RECALL = "learning", "recall"
VERDICTS: Final = {
    LEARNING: (
        "solved_independently",
        "solved_with_minor_hints",
        "solved_with_significant_scaffolding",
        "did_not_reach_solution",
    ),
    RECALL: ("strong_pass", "pass", "borderline", "needs_work"),
}
"""By mode, best first (SPEC L-35)."""

NEW, RECURRING, IMPROVING = "new", "recurring", "improving"
SHORT, LONG = "resolved (short-term)", "resolved (long-term)"
STATUSES: Final = (NEW, RECURRING, IMPROVING, SHORT, LONG)
"""The only valid statuses (SPEC L-08)."""

MANUAL, HEALED, UNKNOWN = "manual", "sync-heal", "unknown"
"""Session ids that identify no session, and the pattern of a row without one."""
NO_GAPS, NO_DATE = "none", "—"

STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}"
_STAMP = compile_lazily(STAMP, re.ASCII)
_TAG = compile_lazily(r"[a-z0-9_.:-]+", re.ASCII)
_UNWRITTEN = frozenset({"", "—", "–", "-", "none", "n/a"})
"""Ways to write an empty field (SPEC L-12)."""


@lru_cache(maxsize=4096)
def time_of(stamp: str) -> datetime | None:
    """The local time of `YYYY-MM-DDTHH:MM`, without a zone; None for anything else (SPEC L-47)."""
    if not _STAMP.fullmatch(stamp):
        return None
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None


def name_of(text: str) -> str:
    """A problem, pattern or session id normalised for both files: one line without pipes (SPEC L-33)."""
    return sanitize_line(text.replace("\\|", "/").replace("|", "/"))


def tag_of(text: str) -> str:
    """A gap tag in lower case, `_` for white space, only `[a-z0-9_.:-]`; "" if nothing remains."""
    folded = "_".join(re.sub(r"\s*([:.])\s*", r"\1", text.strip().strip("`").lower()).split())
    return "".join(_TAG.findall(folded))


@lru_cache(maxsize=4096)
def tags_of(gaps: str) -> tuple[str, ...]:
    """The tags of a cell `Gaps` in their order, each once."""
    found = (tag_of(strip_placeholder(part)) for part in re.split(r"[;,]", gaps))
    return tuple(dict.fromkeys(tag for tag in found if tag))


def strip_placeholder(text: str) -> str:
    """A field's value; "" for `—`, `none` and other empty values (SPEC L-12)."""
    bare = text.strip()
    return "" if bare.lower() in _UNWRITTEN else bare


def names_a_session(session: str) -> bool:
    return session not in ("", MANUAL, HEALED, UNKNOWN)


def format_command(verb: str, *arguments: str) -> str:
    dashes = ["--"] if arguments[0].startswith("-") else []
    return " ".join(["tacitd learner", verb, *dashes, *map(quote, arguments)])


def make_slug(label: str) -> str:
    """A label normalised for matching: `Edge: empty input` and `edge:empty_input` are equal (SPEC L-11)."""
    return "_".join(re.findall(r"[a-z0-9]+", label.lower()))


# --- the table: append-only, of eight columns

HEADER = (
    b"# Session Ledger\n\n"
    b"| Timestamp | Session ID | Problem | Pattern | Mode | Verdict | Gaps | Review Due |\n"
    b"|-----------|------------|---------|---------|------|---------|------|------------|\n"
)
_UNESCAPED = compile_lazily(r"(?<!\\)\|")
_FRAME = compile_lazily(r"\ufeff?(?:# Session Ledger|\|\s*Timestamp\s*\|.*|[\s|:-]*)")
"""A blank line, or a line of the table's header."""

RowKey = tuple[str, str, str, str]
"""The identity of a row: session, stamp, problem and mode (SPEC L-23)."""


class LedgerRow(NamedTuple):
    """One problem in one session. `stamp` is local `YYYY-MM-DDTHH:MM`, `review` an ISO date or `—`."""

    stamp: str
    session: str
    problem: str
    pattern: str
    mode: str
    verdict: str
    gaps: str
    review: str

    @property
    def key(self) -> RowKey:
        return self.session, self.stamp, self.problem, self.mode

    @property
    def tags(self) -> tuple[str, ...]:
        return tags_of(self.gaps)


class LedgerTable(NamedTuple):
    rows: list[LedgerRow]
    bad: list[tuple[int, str]]
    """Lines that are not rows: their numbers, from 1 on, and their first 120 characters."""


def format_row(row: LedgerRow) -> str:
    return "| " + " | ".join(row) + " |"


def parse_ledger(data: bytes) -> LedgerTable:
    table = LedgerTable([], [])
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
        found = parse_line(line)
        if found is not None:
            table.rows.append(found)
        elif not _FRAME.fullmatch(line.strip()):
            table.bad.append((number, line[:120].strip()))
    return table


def parse_line(line: str) -> LedgerRow | None:
    """The row of one line; None if it is none: eight cells between pipes, of which a stamp and a problem are needed."""
    cells = [name_of(cell) for cell in _UNESCAPED.split(line.strip())]
    if len(cells) != 10 or cells[0] or cells[-1]:
        return None
    stamp, session, problem, pattern, mode, verdict, gaps, review = cells[1:-1]
    if time_of(stamp) is None or not problem:
        return None
    return LedgerRow(
        stamp, session or MANUAL, problem, pattern or UNKNOWN, mode.lower(), verdict, gaps, review
    )


def newline_of(data: bytes) -> bytes:
    """The newline of the last complete line: CRLF or LF."""
    at = data.rfind(b"\n")
    return b"\r\n" if at > 0 and data[at - 1 : at] == b"\r" else b"\n"


def make_ledger(path: Path) -> None:
    """Make a ledger without rows, unless there is one, and complete a torn header. Raises OSError, FileRefusedError."""
    from tacitd.files.append_file import hold_file  # not for those who only read

    with hold_file(path) as file:
        data = file.read()
        if lacks_header(data):
            file.append(HEADER[len(data) :], on_new_line=False)


def lacks_header(data: bytes) -> bool:
    return HEADER.startswith(data) and data != HEADER
