"""The entries of Known Weaknesses as a book that sessions change: whose gap an entry is, and which list it is in. Pure.

An entry belongs to a gap if its label is the gap's tag, the tag in another spelling, or a label that a person gave it
(SPEC L-11); any other entry is a person's and is never changed. Twenty are active and ten resolved (SPEC L-09): a gap
that finds no room waits, and nothing is promoted to make room without proof (SPEC L-27).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tacitd_handlers.learner.learner_state import LearnerState
from tacitd_handlers.learner.ledger_replay import Replay
from tacitd_handlers.learner.profile_text import (
    LearnerProfile,
    PlacedEntry,
    Splice,
    insert_weaknesses,
)
from tacitd_handlers.learner.vocabulary import LONG, SHORT, make_slug, tag_of
from tacitd_handlers.learner.weakness_rules import (
    MAX_ACTIVE,
    MAX_RESOLVED,
    Weakness,
    is_long_term,
    longest_untested,
    most_resolved,
)
from tacitd_handlers.learner.weakness_text import format_entry, update_entry


class Move(Struct, frozen=True):
    """A change of list, for the log and the output of `record`."""

    tag: str
    what: Literal["waits", "promoted", "dropped"]


def match_entries(
    profile: LearnerProfile, tags: Iterable[str], aliases: Mapping[str, str]
) -> dict[str, PlacedEntry]:
    """The entries by the tags of their gaps: by label, by tag, by slug. A second entry of a tag has none.

    `aliases`: by tag, the label of its entry.
    """
    by_label = {label: tag for tag, label in aliases.items()}
    by_tag = {tag: tag for tag in tags}
    by_slug: dict[str, str] = {}
    for tag in by_tag:
        by_slug.setdefault(make_slug(tag) or tag, tag)
    found: dict[str, PlacedEntry] = {}
    free = list(profile.weaknesses)
    ways: tuple[tuple[dict[str, str], Callable[[str], str]], ...] = (
        (by_label, str),
        (by_tag, tag_of),
        (by_slug, make_slug),
    )
    for names, key_of in ways:
        for placed in [*free]:
            key = key_of(placed.entry.label)
            if key in names and names[key] not in found:
                found[names[key]] = placed
                free.remove(placed)
    order = {placed.span: at for at, placed in enumerate(profile.weaknesses)}
    return dict(sorted(found.items(), key=lambda item: order[item[1].span]))


class EntryBook:
    """The entries of one profile while sessions are applied to them."""

    def __init__(self, profile: LearnerProfile, state: LearnerState, tags: Collection[str]) -> None:
        self._profile = profile
        self._state = state
        self.placed = match_entries(profile, tags, state.aliases)
        self.entries: dict[str, Weakness] = {
            tag: placed.entry.as_weakness(tag) for tag, placed in self.placed.items()
        }
        spans = {placed.span for placed in self.placed.values()}
        others = [placed for placed in profile.weaknesses if placed.span not in spans]
        self._others_active = sum(not placed.resolved for placed in others)
        self._others_resolved = sum(placed.resolved for placed in others)
        self.active = [tag for tag, placed in self.placed.items() if not placed.resolved]
        self.resolved = [tag for tag, placed in self.placed.items() if placed.resolved]
        self.moves: list[Move] = []
        self._waited = set(state.waiting)

    @property
    def is_full(self) -> bool:
        """Whether twenty entries or more are active."""
        return len(self.active) + self._others_active >= MAX_ACTIVE

    def is_being_edited(self, tag: str) -> bool:
        """Whether the entry of a tag has no status: a person is in the middle of writing it."""
        return tag in self.placed and self.placed[tag].entry.status is None

    def put(self, changes: Mapping[str, Weakness], replayed: Replay) -> None:
        """Take over what a session changed, and apply the caps."""
        for tag, weakness in changes.items():
            if not self._state.find_tag(tag).removed and not self.is_being_edited(tag):
                self._put_one(tag, weakness, replayed.last)
        for tag in self._state.waiting:
            course = replayed.tags.get(tag)
            if course is None or course.status == LONG:
                self._state.set_waiting(tag, "")
            if course is not None and course.status == LONG:
                self._resolve(tag, course)
        self._drop_surplus()
        while self._state.waiting and (not self.is_full or self._make_room(replayed)):
            if not self.is_full:
                tag = self._state.waiting[0]
                self._state.set_waiting(tag, "")
                self.entries[tag] = replayed.tags[tag]
                self.active.append(tag)

    def correct(self, replayed: Replay) -> None:
        """Take the ledger's course for entries that miss a failure before their last test: the ledger wins (SPEC L-25)."""
        for tag, entry in self.entries.items():
            course = replayed.tags.get(tag)
            if course is not None and entry.failed < course.failed <= entry.tested:
                self.entries[tag] = replace(course, first=min(entry.first or course.first, course.first))

    def restore(self, weakness: Weakness) -> None:
        """Put an entry back that was lost with its section."""
        self.entries[weakness.tag] = weakness
        (self.resolved if weakness.status == LONG else self.active).append(weakness.tag)

    def finish(self) -> None:
        """Note the gaps that wait now and did not before."""
        self.moves += [Move(tag, "waits") for tag in self._state.waiting if tag not in self._waited]

    def take_out(self, tag: str) -> None:
        """Remove the entry of a tag."""
        del self.entries[tag]
        (self.active if tag in self.active else self.resolved).remove(tag)

    def make_splices(self) -> Iterable[Splice]:
        """The splices that bring the section in line. Lines that are right already are not touched."""
        for tag, placed in self.placed.items():
            if tag not in self.entries:
                yield Splice(placed.span)
        for is_resolved, tags in ((False, self.active), (True, self.resolved)):
            added: list[list[str]] = []
            for tag in tags:
                current, record = self.placed.get(tag), self._state.find_tag(tag)
                if current is None:
                    text = record.description or tag
                    added.append(format_entry(record.label or tag, text, self.entries[tag]))
                    continue
                before = self._profile.bare_lines(current.span)
                after = before if self.is_being_edited(tag) else update_entry(before, self.entries[tag])
                if current.resolved is not is_resolved:
                    yield Splice(current.span)
                    added.append(after)
                elif after != before:
                    yield Splice(current.span, tuple(after))
            if added:
                yield insert_weaknesses(self._profile, added, resolved=is_resolved)

    def _put_one(self, tag: str, weakness: Weakness, stamp: str) -> None:
        if weakness.status == LONG:
            if tag not in self.resolved:
                self._resolve(tag, weakness)
        elif tag in self.resolved and (not weakness.clean or self.entries[tag].status == LONG):
            self.take_out(tag)  # a person may have archived it: then only a failure brings it back
            self._state.set_waiting(tag, stamp)
            return
        elif tag not in self.active and tag not in self.resolved:
            if tag not in self._state.waiting:
                self._state.set_waiting(tag, stamp)
            return
        self.entries[tag] = weakness

    def _resolve(self, tag: str, weakness: Weakness) -> None:
        if tag in self.active:
            self.active.remove(tag)
        self.entries[tag] = weakness
        self.resolved.append(tag)
        self.moves.append(Move(tag, "promoted"))

    def _drop_surplus(self) -> None:
        """Drop the entries of a full `### Resolved` that were tested longest ago (SPEC L-28). The ledger keeps them."""
        able = [self.entries[tag] for tag in self.resolved if not self.is_being_edited(tag)]
        while able and len(self.resolved) + self._others_resolved > MAX_RESOLVED:
            oldest = longest_untested(able)
            able.remove(oldest)
            self.take_out(oldest.tag)
            self.moves.append(Move(oldest.tag, "dropped"))

    def _make_room(self, replayed: Replay) -> bool:
        """Promote the most resolved active entry whose four weeks are proved (SPEC L-27). False if there is none."""
        able = [self.entries[tag] for tag in self.active if self.entries[tag].status == SHORT]
        for weakness in most_resolved(able):
            if is_long_term(weakness, replayed.has_row):
                self._resolve(weakness.tag, replace(weakness, status=LONG))
                self._drop_surplus()
                return True
        return False
