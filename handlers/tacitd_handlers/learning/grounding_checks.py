"""Apply the grounding rule to the facts and lines of the two stages (SPEC S-67). No disk, no model.

A fact is judged by the messages of its batch. A line is judged by the facts of its synthesis and by the lines that it
merges or replaces. A text that is not grounded becomes a refusal, which keeps the text. The rule itself is in
`shared/grounding.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd_handlers.learning.headings import GROUPS, group_of
from tacitd_handlers.learning.prompt_templates import PromptMessage
from tacitd_handlers.learning.raw_facts import RawLine
from tacitd_handlers.learning.refusals import RefusedText
from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.shared.answer_screening import strip_marks
from tacitd_handlers.shared.equality import find_equal, normalise_text
from tacitd_handlers.shared.grounding import (
    Grounded,
    GroundingSources,
    GroundingVerdict,
    Undecided,
    Ungrounded,
    explain_verdict,
    join_parts,
    judge_grounding,
    read_orders,
    read_sources,
    was_typed_verbatim,
)
from tacitd_handlers.shared.word_stems import content_stems, language_of, text_stems

_MERGED = 0.5
"""The share of an existing line's words that a new line must repeat to count as merged from it."""


class LineOrigins(Struct, frozen=True):
    """What the lines of one plan may be made from."""

    facts: tuple[str, ...]
    """Facts that are grounded in typed words."""
    unverified_facts: tuple[str, ...]
    """Facts of other tools, for which the typed words are not known."""
    words: tuple[str, ...]
    """The beginnings of the messages, without those that are recorded beside a tool's result."""
    folders: tuple[str, ...]
    """Folders that the sessions worked in, relative to the project. A line may name its folder."""
    existing: Mapping[str, Sequence[str]]
    """The lines in each file, by path relative to the project."""
    beside_tools: tuple[str, ...] = ()
    """The beginnings of those messages."""
    typed_at: Mapping[str, float] = field(default_factory=dict)
    """When a fact was typed, for dates that are relative to it: seconds since 1970, UTC."""

    def build_sources(self, replaced: Sequence[str] = (), merged: Sequence[str] = ()) -> GroundingSources:
        """Return what a line is judged by. `replaced` counts as typed words, `merged` only as known tokens."""
        return read_sources(
            [*self.facts, *self.words, *replaced],
            [*self.unverified_facts, *self.folders, *merged],
            [self.typed_at.get(fact) for fact in self.facts],
            self.beside_tools,
        )


def message_sources(messages: Sequence[PromptMessage], times: Sequence[float | None]) -> GroundingSources:
    """Return what the facts of a batch are judged by: its messages and their contexts.

    `times`: when each message was typed, in seconds since 1970, UTC; None if unknown.
    """
    timed = sorted(zip(messages, times, strict=True), key=lambda pair: pair[0].beside_tool)
    return read_sources(
        [one.text for one in messages if not one.beside_tool],
        [one.context for one in messages],
        [time for _, time in timed],
        [one.text for one in messages if one.beside_tool],
    )


def correct_messages(fact: str, named: Sequence[int], texts: Sequence[str]) -> Sequence[int]:
    """Return the messages that a fact is from, as indexes of `texts`, given those that the answer names.

    Trigger: the fact shares no word with the named ones, and others have all its words in a row. Why: the answer's number
    is wrong, and `why` would show messages that have nothing to do with the line. Outcome: the others.
    """
    words = content_stems(fact, language := language_of(fact))
    if not named or any(words & text_stems(texts[at], language) for at in named):
        return named
    wanted = join_parts(fact)
    return [at for at, text in enumerate(texts) if wanted in join_parts(text)] or named


def sift_facts(facts: Iterable[str], sources: GroundingSources) -> tuple[list[str], list[RefusedText]]:
    """Return the facts that are grounded, and a refusal for each of the others."""
    kept: list[str] = []
    refused: list[RefusedText] = []
    for fact in facts:
        match judge_grounding(fact, sources):
            case Grounded():
                kept.append(fact)
            case (Ungrounded() | Undecided()) as verdict:
                refused.append(make_refusal("fact", fact, verdict))
    return kept, refused


def sift_raw(
    lines: Iterable[RawLine], ours: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str], list[RefusedText]]:
    """Return the facts of a raw file that are ours, those of other tools, and a refusal for each dangerous one of these.

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
                continue
            # The fact is its own source: every token is known, only the rules for dangerous facts can refuse it.
            verdict = judge_grounding(fact, read_sources([], [fact]))
            if isinstance(verdict, Grounded):
                unverified.append(fact)
            else:
                refused.append(make_refusal("fact", fact, verdict))
    return typed, unverified, refused


def sift_lines(
    placed: Iterable[PlacedLine], origins: LineOrigins
) -> tuple[list[PlacedLine], list[RefusedText]]:
    """Return the lines that are grounded in the facts, and a refusal for each of the others.

    A line whose heading is not grounded is kept under its group's heading, and the heading is refused.
    """
    kept: list[PlacedLine] = []
    refused: list[RefusedText] = []
    sources = origins.build_sources()
    for one in placed:
        verdict = judge_grounding(one.line, sources)
        # Most lines are grounded in the facts alone. The wider sources need a comparison with all existing lines.
        if not isinstance(verdict, Grounded):
            verdict = judge_grounding(one.line, _wider_sources(one, origins))
        if not isinstance(verdict, Grounded):
            refused.append(make_refusal("line", one.line, verdict))
            continue
        heading = Grounded() if one.heading in GROUPS else judge_grounding(one.heading, sources)
        if isinstance(heading, Grounded):
            kept.append(one)
        else:
            refused.append(make_refusal("section", one.heading, heading))
            kept.append(replace(one, heading=group_of(one.line)))
    return kept, refused


def find_typed_facts(facts: Iterable[str], origins: LineOrigins) -> set[str]:
    """Return the facts whose words the user typed in one sentence, not negated and not in a question."""
    orders = read_orders(origins.words)
    return {fact for fact in facts if was_typed_verbatim(fact, orders)}


def make_refusal(kind: str, text: str, verdict: GroundingVerdict) -> RefusedText:
    """Return the refusal of a text that is not grounded. `kind` as in RefusedText. Raises ValueError for Grounded."""
    match verdict:
        case Ungrounded() | Undecided():
            return RefusedText(kind, text, explain_verdict(verdict), isinstance(verdict, Undecided))
        case Grounded():
            raise ValueError("a grounded text cannot be refused")


def _wider_sources(one: PlacedLine, origins: LineOrigins) -> GroundingSources:
    """The facts, the lines that REPLACES names, and the existing lines that this one merges."""
    lines = [line for lines in origins.existing.values() for line in lines]
    names = [name for text in (one.item.replaces, *one.item.merges) if (name := strip_marks(text))]
    replaced = [line for name in names if (line := find_equal(name, lines)) is not None]
    words = set(normalise_text(one.line).split())
    merged = [line for line in lines if _is_merged(line, words)]
    return origins.build_sources(replaced, merged)


def _is_merged(line: str, words: set[str]) -> bool:
    line_words = set(normalise_text(line).split())
    return bool(line_words) and len(line_words & words) >= len(line_words) * _MERGED
