"""The teaching skill as a writer of the two files: the Update Protocol of seed 000, carried out with text edits.

It shares nothing with tacitd's code. It chooses the labels of weaknesses itself, as the skill does:

skill = TeachingSkill(desk.where.profile, desk.where.ledger)
skill.write_session("2026-02-19T14:30", "two-sum", gaps={"edge:off_by_one": "Right bound off by one"})
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

EMPTY_PROFILE = (
    "## About Me\n\nGoal: interviews.\n\n## Known Weaknesses\n\n### Resolved\n\n## Session History\n"
)
EMPTY_LEDGER = (
    "# Session Ledger\n\n"
    "| Timestamp | Session ID | Problem | Pattern | Mode | Verdict | Gaps | Review Due |\n"
    "|-----------|------------|---------|---------|------|---------|------|------------|\n"
)


@dataclass
class TeachingSkill:
    """The skill, with the paths of the two files."""

    profile: Path
    ledger: Path

    def write_session(
        self,
        stamp: str,
        problem: str = "two-sum",
        *,
        gaps: Mapping[str, str] | None = None,
        clean: Collection[str] = (),
        pattern: str = "hash_map",
        session: str = "",
        verdict: str = "borderline",
        review: str = "2026-12-24",
        labels: Mapping[str, str] | None = None,
        describe: Mapping[str, str] | None = None,
    ) -> None:
        """Write one session: the row, its entry, and the weaknesses.

        `gaps`: by tag, the label that the skill uses. `labels`: the same for the tags that get an entry, if not all do.
        `clean`: labels that were tested without showing. `describe`: by label, the description of a new entry.
        """
        gaps = gaps or {}
        tags = "; ".join(gaps) or "none"
        self.write_row(
            f"| {stamp} | {session or 's-' + stamp} | {problem} | {pattern} | recall | {verdict} | {tags} | {review} |"
        )
        text = self.profile.read_text() if self.profile.exists() else EMPTY_PROFILE
        entry = f"### {stamp} | {problem} | recall | {verdict}\nGaps: {tags}\nReview: {review}\n---\nWorked on it.\n"
        text = text.replace("## Session History\n", f"## Session History\n\n{entry}", 1)
        for label in (gaps if labels is None else labels).values():
            text = note_failure(text, label, stamp, (describe or {}).get(label, "does it on sorted arrays"))
        for label in clean:
            text = note_clean(text, label, stamp)
        self.profile.write_text(text)

    def write_row(self, row: str) -> None:
        """Append a row to the ledger."""
        before = self.ledger.read_text() if self.ledger.exists() else EMPTY_LEDGER
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        self.ledger.write_text(before + row + "\n")


def format_weakness(
    label: str, description: str, first: str, tested: str, failed: str, status: str = "new"
) -> str:
    """An entry without a clean streak, as the seed shows it."""
    return (
        f"- **{label}** — {description}.\n"
        f"  First observed: {first}. Last tested: {tested}. Last failed: {failed}.\n"
        f"  Last clean streak start: . Sessions since last failure: 0.\n"
        f"  Status: {status}\n"
    )


def find_weakness(text: str, label: str) -> re.Match[str] | None:
    """The entry with this label, by its fields."""
    return re.search(
        rf"- \*\*{re.escape(label)}\*\* — (?P<words>.*)\n"
        r"  First observed: (?P<first>.*?)\. Last tested: (?P<tested>.*?)\. Last failed: (?P<failed>.*?)\.\n"
        r"  Last clean streak start: (?P<streak>.*?)\. Sessions since last failure: (?P<clean>\d+)\.\n"
        r"  Status: (?P<status>.*)\n",
        text,
    )


def note_failure(text: str, label: str, stamp: str, description: str) -> str:
    """The profile after the gap was observed (again), as the protocol's step 3 says."""
    found = find_weakness(text, label)
    if found is None:
        entry = format_weakness(label, description, stamp, stamp, stamp)
        return text.replace("### Resolved\n", f"{entry}\n### Resolved\n", 1)
    status = found["status"] if found["failed"] == stamp else "recurring"
    entry = format_weakness(label, "", found["first"], stamp, stamp, status)
    return text.replace(found[0], entry.replace("— .", f"— {found['words']}", 1), 1)


def note_clean(text: str, label: str, stamp: str) -> str:
    """The profile after a session tested the gap without showing it."""
    found = find_weakness(text, label)
    if found is None or found["tested"] == stamp:
        return text
    clean = int(found["clean"]) + 1
    status = found["status"]
    if not status.startswith("resolved"):
        status = "resolved (short-term)" if clean >= 3 else status
        status = "improving" if clean == 2 and status == "recurring" else status
    entry = (
        f"- **{label}** — {found['words']}\n"
        f"  First observed: {found['first']}. Last tested: {stamp}. Last failed: {found['failed']}.\n"
        f"  Last clean streak start: {found['streak'] or stamp}. Sessions since last failure: {clean}.\n"
        f"  Status: {status}\n"
    )
    return text.replace(found[0], entry, 1)
