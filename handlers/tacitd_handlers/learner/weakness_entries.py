"""The entries of Known Weaknesses while sessions and commands change them: whose gap an entry is, and which list it is in. Pure.

An entry belongs to a gap if its label is the gap's tag, the tag in another spelling, or a label that a person gave it
(SPEC L-11); any other entry is a person's and is never changed. Twenty are active and ten resolved (SPEC L-09): a gap
that finds no room waits, and nothing is promoted to make room without proof (SPEC L-27).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tacitd.errors import TacitdError, UsageError
from tacitd_handlers.learner.entry_texts import WeaknessEntry, format_entry, update_entry
from tacitd_handlers.learner.learner_state import LearnerState, TagRecord
from tacitd_handlers.learner.ledger_file import LONG, SHORT, make_slug, tag_of
from tacitd_handlers.learner.profile_text import name_entry
from tacitd_handlers.learner.weakness_rules import (
    MAX_ACTIVE,
    MAX_RESOLVED,
    Replay,
    Weakness,
    is_long_term,
    most_resolved,
)

if TYPE_CHECKING:
    from tacitd.contract import Leaf


def match_entries(
    entries: Sequence[WeaknessEntry], tags: Iterable[str], aliases: Mapping[str, str]
) -> dict[str, WeaknessEntry]:
    """The entries by the tags of their gaps: by label, by tag, by slug. A second entry of a tag has none.

    `aliases`: by tag, the label of its entry.
    """
    by_label, by_tag = {label: tag for tag, label in aliases.items()}, {tag: tag for tag in tags}
    by_slug = {make_slug(tag) or tag: tag for tag in reversed(by_tag)}
    ways: tuple[tuple[dict[str, str], Callable[[str], str]], ...]
    ways = (by_label, str), (by_tag, tag_of), (by_slug, make_slug)
    found: dict[str, WeaknessEntry] = {}
    for names, key_of in ways:
        for entry in entries:
            tag = names.get(key_of(entry.label))
            if tag is not None and tag not in found and entry not in found.values():
                found[tag] = entry
    return found


class Slot(Struct):
    """An entry as it will be: its fields, and whether it is below Resolved."""

    weakness: Weakness
    is_resolved: bool = False
    entry: WeaknessEntry | None = None
    """As it is in the profile; None for a new one."""

    @property
    def is_being_edited(self) -> bool:
        """Whether it has no status: a person is in the middle of writing it, and it is left alone."""
        return self.entry is not None and self.entry.status is None


class EntryBook:
    """The entries of one profile while sessions are applied to them, by the tags of their gaps; those without one by their leaves."""

    def __init__(self, given: Sequence[WeaknessEntry], state: LearnerState, tags: Iterable[str]) -> None:
        self._given = given
        self._state = state
        self.tags = dict.fromkeys(tags)
        tag_of_leaf = {one.leaf: tag for tag, one in match_entries(given, self.tags, state.aliases).items()}
        keys = {tag_of_leaf.get(one.leaf, one.leaf): one for one in given}
        self.slots = {key: Slot(one.as_weakness(key), one.resolved, one) for key, one in keys.items()}

    @property
    def entries(self) -> dict[str, Weakness]:
        return {key: slot.weakness for key, slot in self.slots.items()}

    # --- sessions

    def put(self, changes: Mapping[str, Weakness], replayed: Replay) -> None:
        returning: dict[str, Slot] = {}
        for tag, weakness in changes.items():
            if not self._state.find_tag(tag).removed:
                self._put_one(tag, weakness, returning)
        for tag in self._state.waiting:
            course = replayed.tags.get(tag)
            if course is None or course.status == LONG:
                self._state.set_waiting(tag, waits=False)
            if course is not None and course.status == LONG:
                self._resolve(tag, course)
        self._drop_surplus()
        for tag in self._state.waiting:
            if self._is_full():
                self._make_room(replayed)
            if not self._is_full():
                self._state.set_waiting(tag, waits=False)
                self.slots[tag] = returning.get(tag) or Slot(replayed.tags[tag])

    def correct(self, replayed: Replay) -> None:
        """Take the ledger's course for entries that miss a failure before their last test: the ledger wins (SPEC L-25)."""
        for tag, slot in self.slots.items():
            entry, course = slot.weakness, replayed.tags.get(tag)
            if course is not None and entry.failed < course.failed <= entry.tested:
                slot.weakness = replace(course, first=min(entry.first or course.first, course.first))

    def list_changes(self) -> dict[Leaf, str | None]:
        """The leaves that change. Entries that are right already are not among them."""
        taken = {one.leaf for one in self._given}
        kept = {slot.entry.leaf for slot in self.slots.values() if slot.entry is not None}
        changes: dict[Leaf, str | None] = dict.fromkeys(taken - kept)
        for key, slot in self.slots.items():
            entry = slot.entry
            if entry is None:
                record = self._state.find_tag(key)
                label = record.label or key
                text = format_entry(label, record.description or key, slot.weakness)
            else:
                is_same = slot.is_being_edited or slot.weakness == entry.as_weakness(key)
                label, text = entry.label, entry.text if is_same else update_entry(entry.text, slot.weakness)
                if entry.resolved is slot.is_resolved:
                    changes |= {entry.leaf: text} if text != entry.text else {}
                    continue
                changes[entry.leaf] = None
            # A person may have one of this label there.
            names = (name_entry(label, resolved=slot.is_resolved, number=number) for number in count(1))
            changes[next(leaf for leaf in names if leaf not in taken)] = text
        return changes

    # --- what a person decides (SPEC L-11, L-27, L-30)

    def decide(
        self, do: Literal["forget", "restore", "archive", "join"], name: str, gap: str = ""
    ) -> list[str]:
        """Do it, and return the names of what was changed. Raises TacitdError if a name fits nothing.

        forget: the entry of a gap is removed, and never written again. restore: it is made from the ledger, if there is room.
        """
        if do == "archive":
            return self.archive(name)
        if do == "join":
            return self.join(name, gap)
        tag = self._find_tag(name)
        if do == "restore" and tag not in self._state.removed:
            removed = ", ".join(sorted(self._state.removed)) or "none"
            raise UsageError(f"{tag} was not removed", f"removed: {removed}")
        self._state.set_waiting(tag, waits=do == "restore")
        self._state.find_tag(tag).removed = do == "forget"
        if do == "forget":
            self.slots.pop(tag, None)
        return [tag]

    def archive(self, name: str) -> list[str]:
        """Move the active entry with this tag or label to Resolved, and return its label.

        Rule 6 of seed 000 forbids a promotion without proof, so the status stays. Entries that wait get its room.
        """
        labels = {
            key: one.entry.label for key, one in self.slots.items() if one.entry and not one.is_resolved
        }
        key = _find_name(name, labels, "an active weakness", labels.values())
        self.slots[key].is_resolved = True
        return [labels[key]]

    def join(self, name: str, gap: str) -> list[str]:
        """Make the entry with this label the entry of a gap, and return both. It keeps its text, and gets the gap's stamps and counts.

        The gap's own entry goes; one with a label that a person gave is theirs again.
        """
        labels = {key: one.entry.label for key, one in self.slots.items() if one.entry is not None}
        tag = self._find_tag(gap)
        key = _find_name(name, labels, "a label in Known Weaknesses", labels.values())
        label = labels[key]
        if key != tag:
            own, slot = self.slots.pop(tag, None), self.slots.pop(key)
            if own is not None and own.entry is not None and own.entry.label != tag:
                self.slots[own.entry.leaf] = own
            course = own.weakness if own is not None else slot.weakness
            self.slots[tag] = Slot(replace(course, tag=tag), slot.is_resolved, slot.entry)
        for record in self._state.tags.values():
            record.label = "" if record.label == label else record.label
        self._state.tags.pop(tag, None)
        entry = self.slots[tag].entry
        self._state.tags[tag] = TagRecord(label, description=entry.description if entry is not None else "")
        return [label, tag]

    def _find_tag(self, name: str) -> str:
        labels = {tag: tag for tag in self.tags} | self._state.aliases
        return _find_name(name, labels, "a known gap", sorted(self.tags))

    # --- lists

    def _is_full(self, more: int = 0) -> bool:
        return sum(not slot.is_resolved for slot in self.slots.values()) + more >= MAX_ACTIVE

    def _put_one(self, tag: str, weakness: Weakness, returning: dict[str, Slot]) -> None:
        slot = self.slots.get(tag)
        if slot is not None and slot.is_being_edited:
            return
        if weakness.status == LONG:
            self._resolve(tag, weakness)
        elif slot is None:
            if tag not in self._state.waiting:
                self._state.set_waiting(tag, waits=True)
        elif slot.is_resolved and (not weakness.clean or slot.weakness.status == LONG):
            # A person may have archived it: then only a failure brings it back, behind those that wait already.
            if self._is_full(len(self._state.waiting)):
                returning[tag] = self.slots.pop(tag)  # as it is, if it gets room at once
                self._state.set_waiting(tag, waits=True)
            slot.weakness, slot.is_resolved = weakness, False
        else:
            slot.weakness = weakness

    def _resolve(self, tag: str, weakness: Weakness) -> None:
        slot = self.slots.setdefault(tag, Slot(weakness))
        slot.weakness, slot.is_resolved = weakness, True

    def _drop_surplus(self) -> None:
        """Drop the gaps of a full Resolved that were tested longest ago (SPEC L-28). The ledger keeps them."""
        resolved = {tag: slot.weakness for tag, slot in self.slots.items() if slot.is_resolved}
        able = [tag for tag in resolved if tag in self.tags and not self.slots[tag].is_being_edited]
        able.sort(key=lambda tag: (resolved[tag].tested, resolved[tag].first, tag))
        for tag in able[: max(0, len(resolved) - MAX_RESOLVED)]:
            del self.slots[tag]

    def _make_room(self, replayed: Replay) -> None:
        """Promote the most resolved active entry whose four weeks are proved (SPEC L-27), if there is one."""
        active = [one.weakness for tag, one in self.slots.items() if tag in self.tags and not one.is_resolved]
        proved = [one for one in active if one.status == SHORT and is_long_term(one, replayed.stamps)]
        for weakness in most_resolved(proved)[:1]:
            self._resolve(weakness.tag, replace(weakness, status=LONG))
            self._drop_surplus()


def _find_name(name: str, labels: Mapping[str, str], what: str, known: Iterable[str]) -> str:
    """The only key that is this name or has this label, otherwise the only one that is spelled so. Raises TacitdError."""
    slug = make_slug(name)
    for same in (
        [key for key, label in labels.items() if name in (key, label)],
        [key for key, label in labels.items() if slug and slug in (make_slug(key), make_slug(label))],
    ):
        if len(same) == 1:
            return same[0]
    shown = "; ".join([*dict.fromkeys(known)][:8]) or "none yet"
    raise TacitdError(f"{name!r} is not {what}", f"known: {shown}")
