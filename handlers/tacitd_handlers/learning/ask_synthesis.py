"""One call of a synthesis: the prompt with the parts of other plugins, and what its answer contains (SPEC S-20, S-36, S-67)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tacitd.contract import Later, Part, Tools
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.numbered import Numbered, NumberedFact, number_lines, split_facts
from tacitd_handlers.learning.prompt_templates import SYNTHESIS_PROMPT, synthesis_prompt
from tacitd_handlers.learning.proposals import Proposal, parse_proposals
from tacitd_handlers.learning.synthesis_input import SynthesisInput
from tacitd_handlers.shared.answer_screening import Unusable
from tacitd_handlers.shared.prompt_extensions import (
    PromptExtension,
    RefusedPart,
    extend_prompt,
    ground_findings,
    list_additions,
    split_answer,
)
from tacitd_handlers.shared.words import Sources, strip_answer

PROMPT_LIMIT = 60_000
"""Bytes of the prompt. Existing lines that do not fit are left out; what is proposed is compared with them nevertheless."""


class PaidAnswer(Struct, frozen=True):
    """An answer, with its numbers resolved."""

    proposals: tuple[Proposal, ...]
    found: Mapping[str, Any]
    """Findings of prompt extensions, by the name of the plugin that gets them."""
    usd: float
    """Cost of the call in US dollars."""


class NoUse(Struct, frozen=True):
    """Why there is no answer about some facts that can be used."""

    reason: str
    facts: tuple[NumberedFact, ...]
    lost: frozenset[int] = frozenset()
    """Rows of the facts whose calls were begun twice and lost. They are not paid for again."""


def list_portions(facts: Sequence[NumberedFact]) -> Iterator[dict[int, NumberedFact]]:
    """Yield the facts by number, in portions of one call each. Those whose answer could not be used come in two halves."""
    numbers = dict(enumerate(facts, 1))
    old = {number: fact for number, fact in numbers.items() if not fact.is_new}
    fresh = {number: fact for number, fact in numbers.items() if fact.is_new and not fact.tries}
    again = {number: fact for number, fact in numbers.items() if fact.is_new and fact.tries}
    yield from split_facts(fresh, old)
    keys = list(again)
    half = (len(keys) + 1) // 2
    for some in (keys[:half], keys[half:]):
        yield from split_facts({number: again[number] for number in some}, old)


def ask_for_lines(
    inputs: SynthesisInput, facts: Mapping[int, NumberedFact], tools: Tools
) -> PaidAnswer | NoUse | Later:
    """Make one call of the smart tier about some of the facts."""
    root = str(inputs.place.root)
    extensions = list_extensions(facts.values(), tools)
    numbered, prompt = _number_input(inputs, facts, extensions, tools)
    additions = list_additions(extensions, root)
    prompt = redact_secrets(extend_prompt(prompt, extensions, root))[0]
    new = {number: fact for number, fact in facts.items() if fact.is_new}
    parts = [Part("fact", number, str(fact.rows[0]), fact.text) for number, fact in new.items()]
    # An answer that is used again after a crash names lines by these numbers.
    parts.append(Part("work", 0, "lines", "\n".join((*numbered.show_facts(), *numbered.show_lines()))))
    answer = tools.ask(ModelRequest(prompt, "smart", purpose="synthesis", project=root), parts)
    if isinstance(answer, NoAnswer):
        if answer.why is Why.REPEATED:
            return NoUse(answer.reason, tuple(new.values()), frozenset(map(int, answer.repeated)))
        if answer.blames_the_prompt:
            return NoUse(answer.reason, tuple(new.values()))
        return Later(answer.reason, answer.hint, answer.retry_at)
    split = split_answer(answer.text, extensions)
    lines = [line for text in additions for line in text.splitlines()]
    proposals = parse_proposals(split.answer, numbered, lines)
    if isinstance(proposals, Unusable):
        return NoUse(f"the model's answer cannot be used: {proposals.reason}", tuple(new.values()))
    return PaidAnswer(proposals.lines, split.found, answer.usd)


def list_extensions(facts: Collection[NumberedFact], tools: Tools) -> list[PromptExtension]:
    """The parts of other plugins that are asked for with these facts: some only if a correction was made again (SPEC E-30)."""
    is_again = any(fact.line is not None for fact in facts)
    found: Sequence[PromptExtension] = tools.list_prompt_parts(SYNTHESIS_PROMPT)
    return [one for one in found if is_again or not getattr(one, "only_corrected_again", False)]


def ground_answers(
    answers: Collection[PaidAnswer], inputs: SynthesisInput, tools: Tools
) -> tuple[dict[str, list[Any]], list[RefusedPart]]:
    """Return the parts of the answers' findings that the facts support, by plugin, and a refusal for each other part."""
    new = [fact for fact in inputs.facts if fact.is_new]
    texts = [fact.text for fact in new]
    # The reason for a correction that was made again is in the person's words, and not in the line.
    texts += [
        strip_answer(inputs.rows[row].words) for fact in new if fact.line is not None for row in fact.rows
    ]
    at = next((fact.at for fact in new if fact.at is not None), None)
    sources = Sources(tuple(text for text in texts if text), inputs.folders, at)
    kept: dict[str, list[Any]] = {}
    refused: list[RefusedPart] = []
    for one in answers:
        found, parts = ground_findings(one.found, list_extensions(new, tools), sources)
        for name, what in found.items():
            kept.setdefault(name, []).append(what)
        refused += parts
    return kept, refused


def _number_input(
    inputs: SynthesisInput,
    facts: Mapping[int, NumberedFact],
    extensions: Sequence[PromptExtension],
    tools: Tools,
) -> tuple[Numbered, str]:
    """Return what the numbers mean, and the prompt without the parts of extensions. Both have as many lines as there is room for."""
    files = tuple(inputs.files.files)
    crowded = inputs.files.count_crowded(tools.settings["learning"])
    plain = Numbered(facts, {}, files)
    empty = synthesis_prompt(files, (), plain.show_facts(), crowded)
    used = len(extend_prompt(empty, extensions, str(inputs.place.root)).encode(errors="replace"))
    room = PROMPT_LIMIT - used - sum(len(file) + 2 for file in files)
    numbered = Numbered(facts, number_lines(inputs.files.list_lines(), room), files)
    return numbered, synthesis_prompt(files, numbered.show_lines(), numbered.show_facts(), crowded)
