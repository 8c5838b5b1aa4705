"""One call of Stage 2: the prompt with the parts of other plugins, and what its answer contains (SPEC S-20, S-36, S-67)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tacitd.handler import Degradation, Later, Rejected, Tools
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning import prompt_templates
from tacitd_handlers.learning.archive import list_crowded
from tacitd_handlers.learning.grounding_checks import LineOrigins
from tacitd_handlers.learning.prompt_templates import SYNTHESIS_PROMPT
from tacitd_handlers.learning.refusals import RefusedText
from tacitd_handlers.learning.stage1.run import handle_no_answer
from tacitd_handlers.learning.stage2.numbered_facts import NumberedFact, list_repeated
from tacitd_handlers.learning.stage2.paid_answers import LostTwice, SynthesisAnswer
from tacitd_handlers.learning.stage2.parse import parse_plan
from tacitd_handlers.learning.stage2.synthesis_input import SynthesisInput, folders_of, render_existing
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.shared.answer_screening import Unusable
from tacitd_handlers.shared.prompt_extensions import (
    extend_prompt,
    ground_findings,
    list_additions,
    load_extensions,
    split_answer,
)


def ask_for_lines(
    inputs: SynthesisInput, facts: Mapping[int, NumberedFact], key: str, state: LearningState, tools: Tools
) -> SynthesisAnswer | Later | Rejected | LostTwice:
    """Make one call of the smart tier about some of the facts. `key` identifies the call."""
    folders = folders_of(inputs.shared)
    folders += [folder for folder in inputs.closed if folder not in folders]
    extensions = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    described = {number: fact.describe() for number, fact in facts.items() if fact.is_new}
    crowded = list_crowded(inputs.project, inputs.shared, tools.history, tools.settings["learning"])
    prompt = prompt_templates.synthesis_prompt(
        folders,
        render_existing(inputs),
        described,
        list_repeated(facts, state, inputs.project.root),
        crowded,
    )
    prompt = redact_secrets(extend_prompt(prompt, extensions, str(inputs.project.root)))[0]
    parts = inputs.pending.map_fact_ids(one for fact in facts.values() for one in fact.spellings)
    answer = tools.model.ask(
        ModelRequest(
            prompt, "smart", key, parts=tuple(parts), purpose="synthesis", project=str(inputs.project.root)
        )
    )
    if isinstance(answer, NoAnswer):
        no = handle_no_answer(answer)
        if isinstance(no, Rejected) and answer.repeated:
            return LostTwice(no.reason, frozenset(answer.repeated))
        return no
    split = split_answer(answer.text, extensions)
    given = [
        *(fact.text for fact in facts.values()),
        *(line for one in inputs.shared.values() for line in one.all_statements),
    ]
    additions = [
        line for text in list_additions(extensions, str(inputs.project.root)) for line in text.splitlines()
    ]
    plan = parse_plan(split.answer, given, additions)
    if isinstance(plan, Unusable):
        what = f"the model's answer cannot be used: {plan.reason}"
        tools.degrade(
            Degradation(
                "learning.answers",
                what,
                "the model is asked again; after `synthesis.tries` unusable answers the facts are put aside",
            )
        )
        return Later(what, "the model is asked again", blame="work")
    tools.clear("learning.answers")
    return SynthesisAnswer(plan, {name: [what] for name, what in split.found.items()}, answer.usd)


def ground_answer(
    answered: SynthesisAnswer, origins: LineOrigins, tools: Tools
) -> tuple[SynthesisAnswer, list[RefusedText]]:
    """Return the answer with the parts of its findings that the facts support, and a refusal for each other part."""
    extensions = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    sources = origins.build_sources()
    kept: dict[str, list[Any]] = {}
    refused: list[RefusedText] = []
    for name, findings in answered.found.items():
        for one in findings:
            found, parts = ground_findings({name: one}, extensions, sources)
            kept.setdefault(name, []).extend(found.values())
            refused += [RefusedText(part.kind, part.text, part.reason, part.waits) for part in parts]
    found = {name: what for name, what in kept.items() if what}
    return replace(answered, found=found), refused
