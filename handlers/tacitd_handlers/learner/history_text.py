"""The format of one entry of Session History (SPEC L-32 to L-36).

Lines in, fields out, and changed fields spliced back. Only a line that matches the whole header starts an entry; the
lines below it are its observations. Lines of an observation that look like structure are escaped on write. Which
entries exist is decided in `history_splices.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.learner.ledger_file import LedgerRow
from tacitd_handlers.learner.vocabulary import STAMP, name_of, time_of

HEADER = re.compile(
    rf"###[ \t]+(?P<stamp>{STAMP})[ \t]*\|(?P<problem>.+)\|[ \t]*(?P<mode>[A-Za-z_-]+)[ \t]*"
    r"\|[ \t]*(?P<verdict>[A-Za-z_-]+)[ \t]*$",
    re.ASCII,
)
RECOVERED = "(recovered from ledger)"
NOTHING_SAID = "(no observations were given)"
LONGEST = 4000
"""Characters of observations that are written to the profile. """
_STRUCTURE = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|$)|-{3,}[ \t]*$|`{3,}|~{3,}|<!--)")


HistoryKey = tuple[str, str, str]
"""Stamp, problem and mode: the fields that an entry shares with its ledger row."""


class HistoryEntry(Struct, frozen=True):
    """The fields of an entry. None: the line is missing."""

    stamp: str
    problem: str
    mode: str
    verdict: str
    gaps: str | None = None
    review: str | None = None
    ruled: bool = False
    """Whether a `---` line separates the fields from the observations."""
    observations: str = ""

    @property
    def key(self) -> HistoryKey:
        """The identity of its header."""
        return self.stamp, self.problem, self.mode


def is_header(line: str) -> bool:
    """Whether this line starts an entry."""
    found = HEADER.match(line)
    return found is not None and time_of(found["stamp"]) is not None


def parse_session(lines: Sequence[str]) -> HistoryEntry | None:
    """Given an entry's lines without newlines, return its fields. None if they are not an entry."""
    found = HEADER.match(lines[0]) if lines else None
    if found is None or time_of(found["stamp"]) is None:
        return None
    rule = _rule(lines)
    data = lines[1 : rule if rule is not None else len(lines)]
    body = lines[rule + 1 :] if rule is not None else ()
    return HistoryEntry(
        found["stamp"],
        name_of(found["problem"]),
        found["mode"].lower(),
        found["verdict"],
        _field(data, "Gaps"),
        _field(data, "Review"),
        rule is not None,
        "\n".join(body).strip(),
    )


def format_session(row: LedgerRow, observations: str) -> list[str]:
    """The lines of an entry for a ledger row (SPEC L-32, L-36)."""
    return [
        f"### {row.stamp} | {row.problem} | {row.mode} | {row.verdict}",
        f"Gaps: {row.gaps}",
        f"Review: {row.review}",
        "---",
        *escape_observations(observations),
    ]


def correct_entry(lines: Sequence[str], row: LedgerRow) -> list[str]:
    """The entry's lines with the verdict, gaps and review of its ledger row (SPEC L-38).

    The observations are unchanged.
    """
    rule = _rule(lines)
    end = rule if rule is not None else _data_end(lines)
    data = [line for line in lines[1:end] if not line.startswith(("Gaps:", "Review:"))]
    head = format_session(row, "")[:4]
    # A header that is right keeps its bytes, also where a person spaced it differently.
    same = parse_session(lines)
    if same is not None and same.verdict == row.verdict:
        head[0] = lines[0]
    rest = lines[rule + 1 :] if rule is not None else lines[end:]
    return [*head[:3], *data, head[3], *rest]


def matches_row(session: HistoryEntry, row: LedgerRow) -> bool:
    """Whether an entry's verdict, gaps and review equal its row's, byte for byte (SPEC L-36)."""
    return (session.verdict, session.gaps, session.review) == (row.verdict, row.gaps, row.review)


def escape_observations(observations: str) -> list[str]:
    """The observations as lines that cannot be taken for structure (SPEC L-34).

    They are sanitized and cut to `LONGEST`. Lines that look like a header, rule, fence or comment are escaped.
    """
    text = sanitize_text(observations).strip()
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit(" ", 1)[0] + " …"
    lines = [line.rstrip() for line in (text or NOTHING_SAID).split("\n")]
    return ["\\" + line.lstrip() if _STRUCTURE.match(line) else line for line in lines]


def _rule(lines: Sequence[str]) -> int | None:
    """The index of the first `---` line, if only `Name: value` lines precede it."""
    for at, line in enumerate(lines[1:], start=1):
        if re.fullmatch(r"-{3,}[ \t]*", line):
            return at
        if line.strip() and not re.match(r"\w[\w ]*:", line):
            return None
    return None


def _data_end(lines: Sequence[str]) -> int:
    """The index after `Gaps:` and `Review:` in an entry without a rule."""
    end = 1
    while end < len(lines) and (lines[end].startswith(("Gaps:", "Review:"))):
        end += 1
    return end


def _field(lines: Sequence[str], name: str) -> str | None:
    found = next((line for line in lines if line.startswith(f"{name}:")), None)
    return found.removeprefix(f"{name}:").strip() if found is not None else None
