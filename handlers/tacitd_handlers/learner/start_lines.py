"""The notices of a session start besides the profile, and the lines for `tacitd status`. Pure.

The wording of [REPAIRED], [SYNC] and [FIRST SESSION] is the seed's and must not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from tacitd.text.plurals import count_noun
from tacitd_handlers.learner.formats.profile_md import LearnerProfile
from tacitd_handlers.learner.rules.capacity import MAX_ACTIVE
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.resolution import most_resolved

FIRST = "[FIRST SESSION] About Me is empty. Populate from observations during the session and confirm at end."
NAMED = 20
"""Waiting tags that a notice names."""
HOW = "Command: tacitd learner archive TAG."
SUGGESTED = 3
"""Entries suggested for archiving."""


def format_repairs(names: Iterable[str]) -> list[str]:
    """The notices for restored sections (SPEC L-02)."""
    return [
        f"[REPAIRED] Restored missing section: {name}. Let the learner know if they didn't intend to remove it."
        for name in names
    ]


def format_synced(stamps: Iterable[str]) -> list[str]:
    """The notices for rows that the ledger lacked (SPEC L-38)."""
    return [f"[SYNC] Appended missing ledger row for {stamp} session (pattern=unknown)." for stamp in stamps]


def format_questions(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """The notices for entries that may be a gap's, by pairs of label and tag: one for each label (SPEC L-11)."""
    tags: dict[str, list[str]] = {}
    for label, tag in pairs:
        tags.setdefault(label, []).append(tag)
    return [
        f"[LABEL] {label} may be the gap {' or '.join(each)}; this was not guessed. Ask the learner. If so: "
        f"{format_alias(label, each[0] if len(each) == 1 else 'TAG')} (with --remove if not)."
        for label, each in tags.items()
    ]


def format_alias(label: str, tag: str) -> str:
    """The command that settles whether an entry is a gap's."""
    return f"tacitd learner alias {quote(label)} {tag}"


def format_waiting(waiting: Sequence[str], profile: LearnerProfile | None) -> list[str]:
    """The notice for tags that wait for room, with suggestions for archiving (SPEC L-27)."""
    if not waiting:
        return []
    more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
    text = f"[CAP] Known Weaknesses is full ({MAX_ACTIVE}). Waiting for room: {', '.join(waiting[:NAMED])}{more}."
    offered = (
        ", ".join(f"{w.tag} ({w.status})" for w in list_archivable(profile)) if profile is not None else ""
    )
    return [
        f"{text} To archive, if the learner agrees, most resolved first: {offered}. {HOW}"
        if offered
        else text
    ]


def list_archivable(profile: LearnerProfile) -> list[Weakness]:
    """The active entries to suggest, in order."""
    entries = [placed.entry for placed in profile.weaknesses if not placed.resolved]
    active = [entry.as_weakness(entry.label) for entry in entries if entry.status is not None]
    return most_resolved(active)[:SUGGESTED]


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
        yield f"! Known Weaknesses is full ({MAX_ACTIVE}); waiting for room: {', '.join(shown['waiting_for_room'])}; {HOW}"
    for text in format_questions(tuple(pair) for pair in shown.get("unclear", ())):
        yield f"! {text}"
    for text in shown.get("refused", ()):
        yield f"! refused a report of practice: {text}"
