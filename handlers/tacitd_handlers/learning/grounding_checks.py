"""Apply the check of wordings to raw facts and to the lines of Stage 2 (SPEC S-67). No disk, no model.

A line is compared with the facts that it was made of. One that says more than they do is not written: the facts themselves
become lines in its place. The check itself is in `shared/words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd_handlers.learning.headings import GROUPS, group_of
from tacitd_handlers.learning.raw_facts import RawLine
from tacitd_handlers.learning.refusals import RefusedText
from tacitd_handlers.learning.stage2.numbered_facts import FactSources, NumberedFact
from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.shared.answer_screening import strip_marks
from tacitd_handlers.shared.equality import find_equal, normalise_text
from tacitd_handlers.shared.line_cleaning import Unfit, clean_fact
from tacitd_handlers.shared.words import Sources, judge_text, word_line

_MERGED = 0.5
"""The share of an existing line's words that a new line must repeat to count as merged from it."""


class LineOrigins(Struct, frozen=True):
    """What the lines of one plan may be made from."""

    facts: tuple[NumberedFact, ...]
    """As the prompt numbers them."""
    words: tuple[str, ...]
    """The beginnings of the messages."""
    folders: tuple[str, ...]
    """Folders that the sessions worked in, relative to the project. A line may name its folder."""
    existing: Mapping[str, Sequence[str]]
    """The lines in each file, by path relative to the project."""

    def build_sources(self, facts: Sequence[NumberedFact] = (), replaced: Sequence[str] = ()) -> Sources:
        """Return what a text that was made of these facts (none: any of them) and existing lines is compared with."""
        known = facts or [fact for fact in self.facts if fact.is_new]
        at = next((fact.at for fact in known if fact.at is not None), None)
        return Sources((*(fact.text for fact in known), *replaced), self.folders, at)


def sift_raw(
    lines: Iterable[RawLine], ours: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str], list[RefusedText]]:
    """Return the facts of a raw file that are ours, those of other tools, and a refusal for each of these that can do damage.

    `ours`: the facts by batch, as they were judged when they were extracted. A fact under a batch's id that differs from
    them counts as another tool's: the file can be edited, so the id alone proves nothing.
    """
    typed: list[str] = []
    unverified: list[str] = []
    refused: list[RefusedText] = []
    judged = {id: {normalise_text(fact) for fact in facts} for id, facts in ours.items()}
    for line in lines:
        for fact in line.facts:
            if normalise_text(fact) in judged.get(line.batch, ()):
                typed.append(fact)
            elif (found := judge_text(fact)) is None:
                unverified.append(fact)
            else:
                refused.append(RefusedText("fact", fact, found.reason, found.waits))
    return typed, unverified, refused


def sift_lines(
    placed: Iterable[PlacedLine], origins: LineOrigins
) -> tuple[list[PlacedLine], list[RefusedText]]:
    """Return the lines to write, and a refusal for each text that no fact supports.

    A line that says more than its facts becomes these facts. A line whose heading is an order is kept under its group's heading,
    and the heading is refused.
    """
    kept: list[PlacedLine] = []
    refused: list[RefusedText] = []
    known = FactSources(origins.facts)
    existing = [line for lines in origins.existing.values() for line in lines]
    everything = origins.build_sources()
    for one in placed:
        facts = known.find_facts(one.line, one.item.sources)
        found = word_line(one.line, origins.build_sources(facts) if facts else everything)
        if found is not None:
            # The wider sources need a comparison with all existing lines.
            lines = _find_lines(one, existing)
            found = word_line(one.line, origins.build_sources(facts, lines)) if facts or lines else found
        if found is not None and not facts:
            refused.append(RefusedText("line", one.line, found.reason))
            continue
        own = [one] if found is None else list(_split_line(one, facts))
        if one.heading not in GROUPS and (bad := judge_text(one.heading)) is not None:
            refused.append(RefusedText("section", one.heading, bad.reason, bad.waits))
            own = [replace(each, heading=group_of(each.line)) for each in own]
        kept += own
    return kept, refused


def _split_line(one: PlacedLine, facts: Sequence[NumberedFact]) -> Iterable[PlacedLine]:
    """The facts of a line as lines in its place. What it replaces is replaced by the first of them."""
    for fact in facts:
        line = clean_fact(fact.text)
        if isinstance(line, Unfit):
            continue
        yield replace(one, line=line)
        one = replace(one, item=replace(one.item, replaces="", merges=()))


def _find_lines(one: PlacedLine, existing: Sequence[str]) -> list[str]:
    """The existing lines that REPLACES names, and those that this one merges."""
    names = [name for text in (one.item.replaces, *one.item.merges) if (name := strip_marks(text))]
    named = [line for name in names if (line := find_equal(name, existing)) is not None]
    words = set(normalise_text(one.line).split())
    return list(dict.fromkeys((*named, *(line for line in existing if _is_merged(line, words)))))


def _is_merged(line: str, words: set[str]) -> bool:
    line_words = set(normalise_text(line).split())
    return bool(line_words) and len(line_words & words) >= len(line_words) * _MERGED
