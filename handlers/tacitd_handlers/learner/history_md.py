"""One entry of Session History, as lines (SPEC L-32 to L-36). Lines in, fields out, and fields put back in place.

Only a line with the whole header starts an entry; whatever else stands below it is its observations. What is written
here is made so that no line of an observation can be taken for structure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.learner.ledger_md import Row
from tacitd_handlers.learner.words import STAMP, name_of, time_of

HEADER = re.compile(
    rf"###[ \t]+(?P<stamp>{STAMP})[ \t]*\|(?P<problem>.+)\|[ \t]*(?P<mode>[A-Za-z_-]+)[ \t]*"
    r"\|[ \t]*(?P<verdict>[A-Za-z_-]+)[ \t]*$",
    re.ASCII,
)
RECOVERED = "(recovered from ledger)"
NOTHING_SAID = "(no observations were given)"
LONGEST = 4000
"""Characters of observations that are written; the record keeps all of them."""
_STRUCTURE = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|$)|-{3,}[ \t]*$|`{3,}|~{3,}|<!--)")


@dataclass(frozen=True, slots=True)
class Session:
    """What an entry says. None: the line is missing."""

    stamp: str
    problem: str
    mode: str
    verdict: str
    gaps: str | None = None
    review: str | None = None
    ruled: bool = False
    """Whether `---` stands between the data and the observations."""
    observations: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What it shares with its ledger row."""
        return self.stamp, self.problem, self.mode

    @property
    def faults(self) -> tuple[str, ...]:
        """The lines that are missing."""
        said = {"Gaps": self.gaps, "Review": self.review, "---": self.ruled or None}
        return tuple(name for name, value in said.items() if value is None)


def is_header(line: str) -> bool:
    """Whether this line starts an entry."""
    found = HEADER.match(line)
    return found is not None and time_of(found["stamp"]) is not None


def parse_session(lines: Sequence[str]) -> Session | None:
    """Given an entry's lines without their newlines, return what it says; None where they are no entry."""
    found = HEADER.match(lines[0]) if lines else None
    if found is None or time_of(found["stamp"]) is None:
        return None
    rule = _rule(lines)
    data = lines[1 : rule if rule is not None else len(lines)]
    body = lines[rule + 1 :] if rule is not None else ()
    return Session(
        found["stamp"],
        name_of(found["problem"]),
        found["mode"].lower(),
        found["verdict"],
        _field(data, "Gaps"),
        _field(data, "Review"),
        rule is not None,
        "\n".join(body).strip(),
    )


def format_session(row: Row, observations: str) -> list[str]:
    """The entry of a ledger row (SPEC L-32, L-36)."""
    return [
        f"### {row.stamp} | {row.problem} | {row.mode} | {row.verdict}",
        f"Gaps: {row.gaps}",
        f"Review: {row.review}",
        "---",
        *safe(observations),
    ]


def corrected(lines: Sequence[str], row: Row) -> list[str]:
    """The entry with its ledger row's verdict, gaps and review (SPEC L-38); the observations stay as they are."""
    rule = _rule(lines)
    end = rule if rule is not None else _data_end(lines)
    data = [line for line in lines[1:end] if not line.startswith(("Gaps:", "Review:"))]
    head = format_session(row, "")[:4]
    same = parse_session(lines)
    if same is not None and same.verdict == row.verdict:
        head[0] = lines[0]
    rest = lines[rule + 1 :] if rule is not None else lines[end:]
    return [*head[:3], *data, head[3], *rest]


def agrees(session: Session, row: Row) -> bool:
    """Whether an entry says what its ledger row says, byte for byte (SPEC L-36)."""
    return (session.verdict, session.gaps, session.review) == (row.verdict, row.gaps, row.review)


def safe(observations: str) -> list[str]:
    """Observations as lines that cannot be taken for a header, a rule, code or a comment (SPEC L-34)."""
    text = sanitize_text(observations).strip()
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit(" ", 1)[0] + " …"
    lines = [line.rstrip() for line in (text or NOTHING_SAID).split("\n")]
    return ["\\" + line.lstrip() if _STRUCTURE.match(line) else line for line in lines]


def _rule(lines: Sequence[str]) -> int | None:
    """The line of the first `---`, where nothing but data stands before it."""
    for at, line in enumerate(lines[1:], start=1):
        if re.fullmatch(r"-{3,}[ \t]*", line):
            return at
        if line.strip() and not re.match(r"\w[\w ]*:", line):
            return None
    return None


def _data_end(lines: Sequence[str]) -> int:
    """In an entry without a rule: where `Gaps:` and `Review:` end."""
    end = 1
    while end < len(lines) and (lines[end].startswith(("Gaps:", "Review:"))):
        end += 1
    return end


def _field(lines: Sequence[str], name: str) -> str | None:
    found = next((line for line in lines if line.startswith(f"{name}:")), None)
    return found.removeprefix(f"{name}:").strip() if found is not None else None
