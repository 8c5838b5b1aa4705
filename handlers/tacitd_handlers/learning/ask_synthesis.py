"""One call of a synthesis: the prompt with the parts of other plugins, and what its answer contains (SPEC S-20, S-36, S-67)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from tacitd.handler import Later, Rejected, Tools
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.numbered import Numbered, NumberedFact, number_lines
from tacitd_handlers.learning.prompt_templates import SYNTHESIS_PROMPT, synthesis_prompt
from tacitd_handlers.learning.proposals import Proposal, parse_proposals
from tacitd_handlers.learning.refusals import RefusedText
from tacitd_handlers.learning.stage1.run import handle_no_answer
from tacitd_handlers.learning.synthesis_input import SynthesisInput
from tacitd_handlers.shared.answer_screening import Unusable
from tacitd_handlers.shared.prompt_extensions import (
    extend_prompt,
    ground_findings,
    list_additions,
    load_extensions,
    split_answer,
)
from tacitd_handlers.shared.words import Sources

PROMPT_LIMIT = 60_000
"""Bytes of the prompt. Existing lines that do not fit are left out; what is proposed is compared with them nevertheless."""


class PaidAnswer(Struct, frozen=True):
    """An answer that was paid for, with its numbers resolved."""

    facts: frozenset[str]
    """The new facts that the call was about."""
    proposals: tuple[Proposal, ...] = ()
    found: Mapping[str, Any] = {}
    """Findings of prompt extensions, by the name of the plugin that gets them."""
    usd: float = 0.0
    """Cost of the call in US dollars."""


class NoUse(Struct, frozen=True):
    """The facts of a call whose answer cannot be used."""

    reason: str
    facts: frozenset[str]


class LostTwice(Struct, frozen=True):
    """Facts whose call was started twice without a stored answer."""

    reason: str
    parts: frozenset[str]
    """Ids of the facts, as made by `PendingFacts.map_fact_ids`."""


def ask_for_lines(
    inputs: SynthesisInput, facts: Mapping[int, NumberedFact], key: str, tools: Tools
) -> PaidAnswer | NoUse | LostTwice | Later | Rejected:
    """Make one call of the smart tier about some of the facts. `key` identifies the call."""
    root = str(inputs.project.root)
    extensions = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    numbered, prompt = _number_input(inputs, facts, tools)
    additions = list_additions(extensions, root)
    prompt = redact_secrets(extend_prompt(prompt, extensions, root))[0]
    parts = tuple(inputs.pending.map_fact_ids(one for fact in facts.values() for one in fact.spellings))
    request = ModelRequest(prompt, "smart", key, parts=parts, purpose="synthesis", project=root)
    answer = tools.model.ask(request)
    if isinstance(answer, NoAnswer):
        no = handle_no_answer(answer)
        if isinstance(no, Later) and no.blame == "work":
            return NoUse(no.reason, numbered.new_texts)
        if isinstance(no, Rejected) and answer.repeated:
            return LostTwice(no.reason, frozenset(answer.repeated))
        return no
    split = split_answer(answer.text, extensions)
    proposals = parse_proposals(
        split.answer, numbered, [line for text in additions for line in text.splitlines()]
    )
    if isinstance(proposals, Unusable):
        return NoUse(f"the model's answer cannot be used: {proposals.reason}", numbered.new_texts)
    return PaidAnswer(numbered.new_texts, proposals.lines, split.found, answer.usd)


def ground_answers(
    answers: Collection[PaidAnswer], inputs: SynthesisInput, tools: Tools
) -> tuple[dict[str, list[Any]], list[RefusedText]]:
    """Return the parts of the answers' findings that the facts support, by plugin, and a refusal for each other part."""
    extensions = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    new = [fact for fact in inputs.facts if fact.is_new]
    at = next((fact.at for fact in new if fact.at is not None), None)
    sources = Sources(tuple(fact.text for fact in new), inputs.pending.folders, at)
    kept: dict[str, list[Any]] = {}
    refused: list[RefusedText] = []
    for one in answers:
        found, parts = ground_findings(one.found, extensions, sources)
        for name, what in found.items():
            kept.setdefault(name, []).append(what)
        refused += [RefusedText(part.kind, part.text, part.reason, part.waits) for part in parts]
    return kept, refused


def _number_input(
    inputs: SynthesisInput, facts: Mapping[int, NumberedFact], tools: Tools
) -> tuple[Numbered, str]:
    """Return what the numbers mean, and the prompt without the parts of extensions. Both have as many lines as there is room for."""
    files = tuple(inputs.files.shared)
    crowded = inputs.files.count_crowded(tools.settings["learning"])
    plain = Numbered(facts, {}, files)
    extensions = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    empty = synthesis_prompt(files, (), plain.show_facts(), crowded)
    used = len(extend_prompt(empty, extensions, str(inputs.project.root)).encode(errors="replace"))
    lines = number_lines(
        inputs.files.list_lines(), PROMPT_LIMIT - used - sum(len(file) + 2 for file in files)
    )
    numbered = Numbered(facts, lines, files)
    return numbered, synthesis_prompt(files, numbered.show_lines(), numbered.show_facts(), crowded)
