"""The entries of Known Weaknesses while sessions and commands change them: whose gap an entry is, and which list it is in. Pure.

An entry belongs to a gap if its label is the gap's tag, the tag in another spelling, or a label that a person gave it
(SPEC L-11); any other entry is a person's and is never changed. Twenty are active and ten resolved (SPEC L-09): a gap
that finds no room waits, and nothing is promoted to make room without proof (SPEC L-27).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tacitd.errors import TacitdError, UsageError
from tacitd.handler import Notice
from tacitd_handlers.learner.entry_texts import WeaknessEntry, format_entry, update_entry
from tacitd_handlers.learner.learner_state import PROFILE, LearnerState, TagRecord
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


class EntryBook:
    """The entries of one profile while sessions are applied to them, by the tags of their gaps; those without one by their leaves."""

    def __init__(self, given: Sequence[WeaknessEntry], state: LearnerState, tags: Iterable[str]) -> None:
        self._given = given
        self._state = state
        self.tags = dict.fromkeys(tags)
        tag_of_leaf = {one.leaf: tag for tag, one in match_entries(given, self.tags, state.aliases).items()}
        self.placed = {tag_of_leaf.get(entry.leaf, entry.leaf): entry for entry in given}
        self.entries = {key: entry.as_weakness(key) for key, entry in self.placed.items()}
        self.active = [key for key, entry in self.placed.items() if not entry.resolved]
        self.resolved = [key for key, entry in self.placed.items() if entry.resolved]
        self.notices: list[Notice] = []

    def _is_being_edited(self, key: str) -> bool:
        """Whether an entry has no status: a person is in the middle of writing it, and it is left alone."""
        return key in self.placed and self.placed[key].status is None

    # --- sessions

    def put(self, changes: Mapping[str, Weakness], replayed: Replay) -> None:
        """Take over what a session changed, and apply the caps."""
        for tag, weakness in changes.items():
            if not self._state.find_tag(tag).removed and not self._is_being_edited(tag):
                self._put_one(tag, weakness)
        for tag in self._state.waiting:
            course = replayed.tags.get(tag)
            if course is None or course.status == LONG:
                self._state.set_waiting(tag, waits=False)
            if course is not None and course.status == LONG:
                self._resolve(tag, course)
        self._drop_surplus()
        for tag in self._state.waiting:
            if len(self.active) >= MAX_ACTIVE:
                self._make_room(replayed)
            if len(self.active) < MAX_ACTIVE:
                self._state.set_waiting(tag, waits=False)
                self.entries[tag] = replayed.tags[tag]
                self.active.append(tag)

    def correct(self, replayed: Replay) -> None:
        """Take the ledger's course for entries that miss a failure before their last test: the ledger wins (SPEC L-25)."""
        for tag, entry in self.entries.items():
            course = replayed.tags.get(tag)
            if course is not None and entry.failed < course.failed <= entry.tested:
                self.entries[tag] = replace(course, first=min(entry.first or course.first, course.first))

    def resolve_again(self) -> None:
        """Move the long-term resolved entries below the heading Resolved, which was lost."""
        moved = [key for key in self.active if self.entries[key].status == LONG]
        self.active = [key for key in self.active if key not in moved]
        self.resolved += moved

    def list_changes(self) -> dict[Leaf, str | None]:
        """The leaves that change. Entries that are right already are not among them."""
        kept = {self.placed[key].leaf for key in self.entries if key in self.placed}
        changes: dict[Leaf, str | None] = {one.leaf: None for one in self._given if one.leaf not in kept}
        taken = {one.leaf for one in self._given}
        for is_resolved, keys in ((False, self.active), (True, self.resolved)):
            for key in keys:
                current, weakness = self.placed.get(key), self.entries[key]
                if current is None:
                    record = self._state.find_tag(key)
                    label = record.label or key
                    text = format_entry(label, record.description or key, weakness)
                else:
                    label = current.label
                    is_same = self._is_being_edited(key) or weakness == current.as_weakness(key)
                    text = current.text if is_same else update_entry(current.text, weakness)
                if current is not None and current.resolved is is_resolved:
                    changes |= {current.leaf: text} if text != current.text else {}
                    continue
                changes |= {current.leaf: None} if current is not None else {}
                # A person may have one of this label there.
                names = (name_entry(label, resolved=is_resolved, number=number) for number in range(1, 1000))
                changes[next(leaf for leaf in names if leaf not in taken)] = text
        return changes

    # --- what a person decides (SPEC L-11, L-27, L-30); each raises TacitdError if the name fits nothing

    def forget(self, name: str) -> list[str]:
        """Remove the entry of a gap, and never write it again; return its tag."""
        tag = self._find_tag(name)
        if tag in self.entries:
            self._take_out(tag)
        self._state.set_waiting(tag, waits=False)
        self._state.find_tag(tag).removed = True
        return [tag]

    def bring_back(self, name: str) -> list[str]:
        """Restore a removed weakness from the ledger, if there is room, and return its tag."""
        tag = self._find_tag(name)
        if not self._state.find_tag(tag).removed:
            removed = ", ".join(sorted(self._state.removed)) or "none"
            raise UsageError(f"{tag} was not removed", f"removed: {removed}")
        self._state.find_tag(tag).removed = False
        self._state.set_waiting(tag, waits=True)
        return [tag]

    def archive(self, name: str) -> list[str]:
        """Move the active entry with this tag or label to Resolved, and return its label.

        Rule 6 of seed 000 forbids a promotion without proof, so the status stays. Entries that wait get its room.
        """
        labels = {key: self.placed[key].label for key in self.active if key in self.placed}
        key = _find_name(name, labels, "an active weakness")
        self.active.remove(key)
        self.resolved.append(key)
        return [labels[key]]

    def join(self, name: str, gap: str) -> list[str]:
        """Make the entry with this label the entry of a gap, and return both. It keeps its text, and gets the gap's stamps and counts.

        The gap's own entry goes; one with a label that a person gave is theirs again.
        """
        labels = {key: one.label for key, one in self.placed.items()}
        tag, key = self._find_tag(gap), _find_name(name, labels, "a label in Known Weaknesses")
        if key != tag:
            course, own = self.entries.get(tag), self.placed.get(tag)
            if own is not None and own.label != tag:
                self._rename(tag, own.leaf)
            elif own is not None:
                self._take_out(tag)
            self._rename(key, tag)
            self.entries[tag] = course or self.entries[tag]
        entry = self.placed[tag]
        for record in self._state.tags.values():
            record.label = "" if record.label == entry.label else record.label
        self._state.tags.pop(tag, None)
        self._state.tags[tag] = TagRecord(entry.label, description=entry.description)
        return [entry.label, tag]

    def _rename(self, key: str, new: str) -> None:
        self.placed[new] = self.placed.pop(key)
        self.entries[new] = replace(self.entries.pop(key), tag=new)
        for keys in (self.active, self.resolved):
            keys[:] = [new if one == key else one for one in keys]

    def _find_tag(self, name: str) -> str:
        return _find_name(name, dict.fromkeys(self.tags, "") | self._state.aliases, "a known gap")

    # --- lists

    def _put_one(self, tag: str, weakness: Weakness) -> None:
        is_full = len(self.active) >= MAX_ACTIVE
        if weakness.status == LONG:
            if tag not in self.resolved:
                self._resolve(tag, weakness)
        elif tag in self.resolved and (not weakness.clean or self.entries[tag].status == LONG):
            if is_full:
                self._take_out(tag)
                self._state.set_waiting(tag, waits=True)
                return
            self.resolved.remove(tag)  # a person may have archived it: then only a failure brings it back
            self.active.append(tag)
        elif tag not in self.entries:
            if tag not in self._state.waiting:
                self._state.set_waiting(tag, waits=True)
            return
        self.entries[tag] = weakness

    def _resolve(self, tag: str, weakness: Weakness) -> None:
        if tag in self.active:
            self.active.remove(tag)
        self.entries[tag] = weakness
        self.resolved.append(tag)
        self.notices.append(Notice("promoted", tag, PROFILE))

    def _take_out(self, tag: str) -> None:
        del self.entries[tag]
        (self.active if tag in self.active else self.resolved).remove(tag)

    def _drop_surplus(self) -> None:
        """Drop the gaps of a full Resolved that were tested longest ago (SPEC L-28). The ledger keeps them."""
        able = [tag for tag in self.resolved if tag in self.tags and not self._is_being_edited(tag)]
        able.sort(key=lambda tag: (self.entries[tag].tested, self.entries[tag].first, tag))
        for tag in able[: max(0, len(self.resolved) - MAX_RESOLVED)]:
            self._take_out(tag)
            self.notices.append(Notice("dropped", tag, PROFILE))

    def _make_room(self, replayed: Replay) -> None:
        """Promote the most resolved active entry whose four weeks are proved (SPEC L-27), if there is one."""
        able = (self.entries[tag] for tag in self.active if tag in self.tags)
        for weakness in most_resolved(one for one in able if one.status == SHORT):
            if is_long_term(weakness, replayed.stamps):
                self._resolve(weakness.tag, replace(weakness, status=LONG))
                self._drop_surplus()
                return


def _find_name(name: str, labels: Mapping[str, str], what: str) -> str:
    """The key that is this name or has this label, otherwise the only one that is spelled so. Raises TacitdError."""
    spelled = {key: _list_slugs(key) | _list_slugs(label) for key, label in labels.items()}
    for same in (
        [key for key, label in labels.items() if name in (key, label)],
        [key for key, slugs in spelled.items() if make_slug(name) in slugs],
    ):
        if len(same) == 1:
            return same[0]
    known = "; ".join([label or key for key, label in labels.items()][:8]) or "none yet"
    raise TacitdError(f"{name!r} is not {what}", f"known: {known}")


def _list_slugs(label: str) -> set[str]:
    """The spellings of a label that a person may type: all of it, or what follows the kind of gap."""
    return {make_slug(label), make_slug(label.rpartition(":")[2])} - {""}
