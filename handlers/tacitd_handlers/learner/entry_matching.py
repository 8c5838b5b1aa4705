"""The entries of Known Weaknesses by their tags: by alias, by the tag itself, by its words (SPEC L-11). Pure.

A label that is none of these is matched by evidence in `alias_learning.py`, which then remembers it as an alias.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from tacitd_handlers.learner.formats.profile_md import LearnerProfile, PlacedEntry
from tacitd_handlers.learner.rules.vocabulary import make_slug, tag_of


class MatchedEntries(Struct, frozen=True):
    """The profile's weaknesses by tag, and those without a tag."""

    by_tag: Mapping[str, PlacedEntry]
    """In the order of the profile."""
    others: Sequence[PlacedEntry]

    def find_others(self, tag: str) -> list[PlacedEntry]:
        """The further entries whose label is this tag: the tag has another entry."""
        return [placed for placed in self.others if tag_of(placed.entry.label) == tag]


def match_entries(
    profile: LearnerProfile,
    tags: Collection[str],
    aliases: Mapping[str, str],
    separate: Collection[tuple[str, str]] = (),
) -> MatchedEntries:
    """Match the entries of a profile to tags (SPEC L-11).

    An entry belongs to a tag if its label is the tag's alias, is the tag, or has the tag's slug, in this order. A second
    entry of the same tag counts as one without a tag. `separate` are pairs of label and tag that a person declared
    different.
    """
    found: dict[int, str] = {}
    free = dict.fromkeys(range(len(profile.weaknesses)))
    for names in _names_of(tags, aliases):
        taken = set(found.values())
        for at in list(free):
            label = profile.weaknesses[at].entry.label
            tag = names(label)
            if tag is not None and tag not in taken and (label, tag) not in separate:
                found[at] = tag
                taken.add(tag)
                del free[at]
    return MatchedEntries(
        {found[at]: placed for at, placed in enumerate(profile.weaknesses) if at in found},
        [profile.weaknesses[at] for at in free],
    )


def _names_of(tags: Collection[str], aliases: Mapping[str, str]) -> Iterable[Callable[[str], str | None]]:
    """The ways in which a label can name a tag, the surest first."""
    by_label = {label: tag for tag, label in aliases.items()}
    by_slug: dict[str, str] = {}
    for each in tags:
        by_slug.setdefault(make_slug(each), each)

    def by_words(label: str) -> str | None:
        return by_slug.get(make_slug(label)) if make_slug(label) else None

    def by_form(label: str) -> str | None:
        return tag_of(label) if tag_of(label) in tags else None

    return by_label.get, by_form, by_words
