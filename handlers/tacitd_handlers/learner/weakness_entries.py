"""The entries of Known Weaknesses while sessions and commands change them: whose gap an entry is, and which list it is in. Pure.

An entry belongs to a gap if its label is the gap's tag, the tag in another spelling, or a label that a person gave it
(SPEC L-11); any other entry is a person's and is never changed. Twenty are active and ten resolved (SPEC L-09): a gap
that finds no room waits, and nothing is promoted to make room without proof (SPEC L-27).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tacitd.errors import UsageError
from tacitd.handler import Notice
from tacitd_handlers.learner.learner_paths import PROFILE
from tacitd_handlers.learner.learner_state import LearnerState, TagRecord
from tacitd_handlers.learner.ledger_replay import Replay
from tacitd_handlers.learner.profile_text import PlacedEntry, name_entry
from tacitd_handlers.learner.vocabulary import LONG, SHORT, format_command, make_slug, tag_of
from tacitd_handlers.learner.weakness_rules import (
    MAX_ACTIVE,
    MAX_RESOLVED,
    Weakness,
    is_long_term,
    longest_untested,
    most_resolved,
)
from tacitd_handlers.learner.weakness_text import format_entry, update_entry

if TYPE_CHECKING:
    from tacitd.contract import Leaf


def match_entries(
    entries: Sequence[PlacedEntry], tags: Iterable[str], aliases: Mapping[str, str]
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
    free = list(entries)
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
    order = {placed.leaf: at for at, placed in enumerate(entries)}
    return dict(sorted(found.items(), key=lambda item: order[item[1].leaf]))


class EntryBook:
    """The entries of one profile while sessions are applied to them."""

    def __init__(self, placed: Sequence[PlacedEntry], state: LearnerState, tags: Collection[str]) -> None:
        self._state = state
        self.tags = dict.fromkeys(tags)
        self.placed = match_entries(placed, tags, state.aliases)
        self.entries: dict[str, Weakness] = {
            tag: one.entry.as_weakness(tag) for tag, one in self.placed.items()
        }
        ours = {one.leaf for one in self.placed.values()}
        self.others = [one for one in placed if one.leaf not in ours]
        """The entries that are no gap's."""
        self.active = [tag for tag, one in self.placed.items() if not one.resolved]
        self.resolved = [tag for tag, one in self.placed.items() if one.resolved]
        self.notices: list[Notice] = []
        self._moved: dict[Leaf, str | None] = {}
        self._known = {one.leaf for one in placed}
        self._waited = set(state.waiting)

    @property
    def is_full(self) -> bool:
        """Whether twenty entries or more are active."""
        return len(self.active) + sum(not one.resolved for one in self.others) >= MAX_ACTIVE

    def is_being_edited(self, tag: str) -> bool:
        """Whether the entry of a tag has no status: a person is in the middle of writing it."""
        return tag in self.placed and self.placed[tag].entry.status is None

    # --- sessions

    def put(self, changes: Mapping[str, Weakness], replayed: Replay) -> None:
        """Take over what a session changed, and apply the caps."""
        returned = {
            tag: weakness
            for tag, weakness in changes.items()
            if not self._state.find_tag(tag).removed and not self.is_being_edited(tag)
            if self._put_one(tag, weakness)
        }
        for tag in self._state.waiting:
            course = replayed.tags.get(tag)
            if course is None or course.status == LONG:
                self._state.set_waiting(tag, waits=False)
            if course is not None and course.status == LONG:
                self._resolve(tag, course)
        self._drop_surplus()
        while self._state.waiting and (not self.is_full or self._make_room(replayed)):
            if not self.is_full:
                tag = self._state.waiting[0]
                self._state.set_waiting(tag, waits=False)
                self.entries[tag] = returned.get(tag, replayed.tags[tag])
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
        fresh = [tag for tag in self._state.waiting if tag not in self._waited]
        self.notices += [Notice("waits", tag, PROFILE) for tag in fresh]

    def list_changes(self) -> dict[Leaf, str | None]:
        """The leaves that change. Entries that are right already are not among them."""
        changes = {
            one.leaf: None for tag, one in self.placed.items() if tag not in self.entries
        } | self._moved
        for is_resolved, tags in ((False, self.active), (True, self.resolved)):
            for tag in tags:
                current, record = self.placed.get(tag), self._state.find_tag(tag)
                if current is None:
                    label = record.label or tag
                    lines = format_entry(label, record.description or tag, self.entries[tag])
                    changes[self._name_new(label, resolved=is_resolved)] = "\n".join(lines)
                    continue
                before = [*current.lines]
                after = before if self.is_being_edited(tag) else update_entry(before, self.entries[tag])
                if current.resolved is not is_resolved:
                    changes[current.leaf] = None
                    changes[self._name_new(current.entry.label, resolved=is_resolved)] = "\n".join(after)
                elif after != before:
                    changes[current.leaf] = "\n".join(after)
        return changes

    def _name_new(self, label: str, *, resolved: bool) -> Leaf:
        """A leaf for an entry that is added: a person may have one of this label there."""
        numbers = (name_entry(label, resolved=resolved, number=number) for number in range(1, 1000))
        return next(leaf for leaf in numbers if leaf not in self._known)

    # --- what a person decides (SPEC L-11, L-27, L-30); each raises UsageError if the name fits nothing

    def forget(self, name: str) -> str:
        """Remove the entry of a gap, and never write it again; return its tag."""
        tag = self._find_tag(name)
        if tag in self.entries:
            self._take_out(tag)
        self._state.set_waiting(tag, waits=False)
        self._state.find_tag(tag).removed = True
        return tag

    def bring_back(self, name: str, replayed: Replay) -> str:
        """Restore a removed weakness from the ledger, if there is room, and return its tag."""
        tag = self._find_tag(name)
        if not self._state.find_tag(tag).removed:
            removed = ", ".join(sorted(self._state.removed)) or "none"
            raise UsageError(f"{tag} was not removed", f"removed: {removed}")
        self._state.find_tag(tag).removed = False
        if tag in replayed.tags:
            self._state.set_waiting(tag, waits=True)
        return tag

    def archive(self, name: str) -> str:
        """Move the active entry with this tag or label to Resolved, and return its label.

        Rule 6 of seed 000 forbids a promotion without proof, so the status stays. Entries that wait get its room.
        """
        for tag in (name, tag_of(name)):
            if tag in self.active and tag in self.placed:
                break
        else:
            own = [self.placed[one] for one in self.active if one in self.placed]
            active = [*own, *(one for one in self.others if not one.resolved)]
            chosen = _find_entry(active, name, "is not an active weakness")
            tag = next((one for one, placed in self.placed.items() if placed is chosen), "")
            if not tag:
                label = chosen.entry.label
                moved = "\n".join(chosen.lines)
                self._moved = {chosen.leaf: None, self._name_new(label, resolved=True): moved}
                self.others[self.others.index(chosen)] = replace(chosen, resolved=True)
                return label
        self.active.remove(tag)
        self.resolved.append(tag)
        return self.placed[tag].entry.label

    def join(self, name: str, gap: str) -> tuple[str, str]:
        """Make the entry with this label the entry of a gap, and return both.

        An entry of the gap's own is removed, and its stamps and counts go into the other one, which keeps its text. Raises
        UsageError also if the gap has another label already.
        """
        tag = self._find_tag(gap)
        chosen = _find_entry([*self.placed.values(), *self.others], name)
        own = self.placed.get(tag)
        if own is not None and own.entry.label not in (chosen.entry.label, tag):
            raise UsageError(
                f"{tag} has an entry already: {own.entry.label}",
                f"`{format_command('alias --remove', own.entry.label)}` makes it an entry of its own",
            )
        for one, placed in [*self.placed.items()]:
            if placed is chosen:
                self._let_go(one)
        course = chosen.entry.as_weakness(tag)
        if tag in self.entries:
            course = self.entries[tag]
            self._take_out(tag)
            self._moved |= {own.leaf: None} if own is not None and own is not chosen else {}
        for record in self._state.tags.values():
            record.label = "" if record.label == chosen.entry.label else record.label
        record = self._state.find_tag(tag)
        record.label, record.removed, record.description = chosen.entry.label, False, chosen.entry.description
        self._state.set_waiting(tag, waits=False)
        self.others = [one for one in self.others if one is not chosen]
        self.placed[tag], self.entries[tag] = chosen, course
        (self.resolved if chosen.resolved else self.active).append(tag)
        return chosen.entry.label, tag

    def separate(self, name: str) -> tuple[str, str]:
        """Make the entry with this label one of its own, and return the label and the gap that it was.

        Raises UsageError also if it is not the entry of a gap by an alias.
        """
        chosen = _find_entry([*self.placed.values(), *self.others], name)
        label = chosen.entry.label
        tag = next((tag for tag, given in self._state.aliases.items() if given == label), "")
        if not tag or make_slug(label) == make_slug(tag):
            raise UsageError(
                f"{label!r} is no alias of a gap", "`tacitd learner review` names the gap of each label"
            )
        self._let_go(tag)
        self._state.tags[tag] = TagRecord()
        return label, tag

    def _let_go(self, tag: str) -> None:
        """The entry of a tag is no gap's any more."""
        self._take_out(tag)
        self.others.append(self.placed.pop(tag))

    def _find_tag(self, name: str) -> str:
        """The gap with this tag or label. Raises UsageError."""
        by_label = {label: tag for tag, label in self._state.aliases.items()}
        for tag in (name, by_label.get(name, ""), tag_of(name)):
            if tag in self.tags:
                return tag
        same = [tag for tag in self.tags if make_slug(name) in _list_slugs(tag)]
        if len(same) == 1:
            return same[0]
        known = ", ".join(sorted(self.tags)[:8]) or "none yet"
        raise UsageError(f"{name!r} is not a known gap", f"known gaps: {known}")

    # --- lists

    def _put_one(self, tag: str, weakness: Weakness) -> bool:
        """Take over one change. True for an entry of Resolved that is to be active again, and waits for room."""
        if weakness.status == LONG:
            if tag not in self.resolved:
                self._resolve(tag, weakness)
        elif tag in self.resolved and (not weakness.clean or self.entries[tag].status == LONG):
            self._take_out(tag)  # a person may have archived it: then only a failure brings it back
            self._state.set_waiting(tag, waits=True)
            return True
        elif tag not in self.active and tag not in self.resolved:
            if tag not in self._state.waiting:
                self._state.set_waiting(tag, waits=True)
            return False
        self.entries[tag] = weakness
        return False

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
        """Drop the entries of a full Resolved that were tested longest ago (SPEC L-28). The ledger keeps them."""
        able = [self.entries[tag] for tag in self.resolved if not self.is_being_edited(tag)]
        others = sum(one.resolved for one in self.others)
        while able and len(self.resolved) + others > MAX_RESOLVED:
            oldest = longest_untested(able)
            able.remove(oldest)
            self._take_out(oldest.tag)
            self.notices.append(Notice("dropped", oldest.tag, PROFILE))

    def _make_room(self, replayed: Replay) -> bool:
        """Promote the most resolved active entry whose four weeks are proved (SPEC L-27). False if there is none."""
        able = [self.entries[tag] for tag in self.active if self.entries[tag].status == SHORT]
        for weakness in most_resolved(able):
            if is_long_term(weakness, replayed.has_row):
                self._resolve(weakness.tag, replace(weakness, status=LONG))
                self._drop_surplus()
                return True
        return False


def _find_entry(
    entries: Sequence[PlacedEntry], name: str, what: str = "is no label in Known Weaknesses"
) -> PlacedEntry:
    """The entry with this label, otherwise the only one that is spelled so. Raises UsageError."""
    same = [placed for placed in entries if placed.entry.label == name]
    alike = [placed for placed in entries if make_slug(name) in _list_slugs(placed.entry.label)]
    if same or len(alike) == 1:
        return (same or alike)[0]
    known = "; ".join(placed.entry.label for placed in entries[:8]) or "none yet"
    raise UsageError(f"{name!r} {what}", f"the labels are: {known}")


def _list_slugs(label: str) -> Iterable[str]:
    """The spellings of a label that a person may type: all of it, or what follows the kind of gap."""
    return {make_slug(label), make_slug(label.rpartition(":")[2])} - {""}
