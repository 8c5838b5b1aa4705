"""The notices of a session start besides the profile, and the lines for `tacitd status`.

The wording of [REPAIRED], [SYNC], [FIRST SESSION] and of the retests is the seed's and must not change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.clock import local_minutes
from tacitd.errors import FileRefusedError
from tacitd.text.wording import count_noun
from tacitd_handlers.learner.ledger_file import LedgerRow
from tacitd_handlers.learner.profile_text import LearnerProfile, parse_profile
from tacitd_handlers.learner.vocabulary import format_command
from tacitd_handlers.learner.weakness_rules import MAX_ACTIVE, Weakness, most_resolved, retest_due

if TYPE_CHECKING:
    from tacitd.contract import Rows

FIRST = "[FIRST SESSION] About Me is empty. Populate from observations during the session and confirm at end."
REFUSED = 10
"""Refused reports that `status` shows, the newest."""
NAMED = 20
"""Waiting tags that a notice names."""
SUGGESTED = 3
"""Entries suggested for archiving."""


class Retest(Struct, frozen=True):
    """A short-term resolved weakness that was not tested for 14 days or more (SPEC L-50)."""

    label: str
    tested: str
    days: int


def format_repairs(names: Sequence[str]) -> list[str]:
    """The notices for restored headings (SPEC L-02)."""
    return [
        f"[REPAIRED] Restored missing section: {name}. Let the learner know if they didn't intend to remove it."
        for name in names
    ]


def format_synced(rows: Sequence[LedgerRow]) -> list[str]:
    """The notices for rows that the ledger lacked (SPEC L-38)."""
    return [f"[SYNC] Appended missing ledger row for {row.stamp} session (pattern=unknown)." for row in rows]


def format_waiting(waiting: Sequence[str], profile: LearnerProfile | None) -> list[str]:
    """The notice for tags that wait for room, with suggestions for archiving (SPEC L-27)."""
    if not waiting:
        return []
    more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
    text = f"[CAP] Known Weaknesses is full ({MAX_ACTIVE}). Waiting for room: {', '.join(waiting[:NAMED])}{more}."
    offered = list_archivable(profile) if profile is not None else []
    if not offered:
        return [text]
    named = ", ".join(f"{w.tag} ({w.status})" for w in offered)
    how = format_command("archive", offered[0].tag)
    return [f"{text} To archive, if the learner agrees, most resolved first: {named}. Command: `{how}`."]


def list_archivable(profile: LearnerProfile) -> list[Weakness]:
    """The active entries to suggest, in order."""
    entries = [placed.entry for placed in profile.weaknesses if not placed.resolved]
    active = [entry.as_weakness(entry.label) for entry in entries if entry.status is not None]
    return most_resolved(active)[:SUGGESTED]


def find_retests(profile: LearnerProfile, now: str) -> list[Retest]:
    """The retests that are due, in the order of the profile. `now`: the local time, as a stamp."""
    found = []
    for placed in profile.weaknesses:
        label, status, tested = placed.entry.label, placed.entry.status or "", placed.entry.tested or ""
        days = retest_due(status, tested, now)
        if days is not None:
            found.append(Retest(label, tested, days))
    return found


def format_retests(found: Sequence[Retest]) -> str:
    """The block of the session start; "" if there are no retests."""
    if not found:
        return ""
    lines = [f"- {one.label} (last tested {one.tested}, {one.days // 7} weeks ago)\n" for one in found]
    return f"=== RETEST SUGGESTIONS ===\n{''.join(lines)}=== END RETEST SUGGESTIONS ===\n"


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """What the two files contain, the retests and the tags that wait for room (SPEC L-50), and reports that were refused."""
    from tacitd_handlers.learner.learner_paths import load_paths, read_file
    from tacitd_handlers.learner.learner_state import read_waiting

    refused = [
        text
        for (text,) in rows(
            "SELECT refused FROM learner_found WHERE refused <> '' ORDER BY number DESC LIMIT ?", REFUSED
        )
    ][::-1]
    ((count,),) = rows("SELECT coalesce(max(rows), 0) FROM learner_ledger")
    try:
        data = read_file(load_paths(os.environ).profile)
        profile = parse_profile(data) if data is not None else None
    except (OSError, FileRefusedError):  # the task that compares the files reports it
        profile = None
    if not count and profile is None and not refused:
        return {}
    entries = profile.weaknesses if profile is not None else ()
    resolved = sum(placed.resolved for placed in entries)
    shown = {
        "rows": count,
        "active": len(entries) - resolved,
        "resolved": resolved,
        "waiting_for_room": read_waiting(rows),
        "retests": [one.label for one in find_retests(profile, local_minutes(now))]
        if profile is not None
        else [],
        "archivable": [one.tag for one in list_archivable(profile)] if profile is not None else [],
        "refused": refused,
    }
    return shown | {"lines": list(format_status_lines(shown))}


def format_status_lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """The learner's lines of `tacitd status`. A line that starts with `!` needs action."""
    if shown.get("rows") or shown.get("active") or shown.get("resolved"):
        active = shown["active"]
        counts = (
            f"{active} active {'weakness' if active == 1 else 'weaknesses'}, {shown['resolved']} resolved"
        )
        yield f"{count_noun(shown['rows'], 'review')} in the ledger, {counts}"
    if shown.get("retests"):
        yield f"retests due: {', '.join(shown['retests'])}"
    if shown.get("waiting_for_room"):
        text = f"Known Weaknesses is full ({MAX_ACTIVE}); waiting for room: {', '.join(shown['waiting_for_room'])}"
        first = shown.get("archivable", ())[:1]
        how = f"; `{format_command('archive', *first)}` archives the most resolved one" if first else ""
        yield f"! {text}{how}"
    for text in shown.get("refused", ()):
        yield f"! refused a report of practice: {text}"
