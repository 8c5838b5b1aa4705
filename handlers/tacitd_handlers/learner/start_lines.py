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
        f"[LABEL] {label} may be the gap {' or '.join(each)}; this was not guessed. Ask the learner. "
        f"If it is {each[0]}: `{format_command('alias', label, each[0])}`. "
        f"If it is {'none of them' if len(each) > 1 else 'not'}: `{format_command('alias --remove', label)}`."
        for label, each in tags.items()
    ]


def format_command(verb: str, *arguments: str) -> str:
    """A command of `tacitd learner`, quoted for a shell."""
    dashes = ["--"] if any(argument.startswith("-") for argument in arguments) else []
    return " ".join(["tacitd learner", verb, *dashes, *(quote(argument) for argument in arguments)])


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
    for text in format_questions(tuple(pair) for pair in shown.get("unclear", ())):
        yield f"! {text}"
    for text in shown.get("refused", ()):
        yield f"! refused a report of practice: {text}"
