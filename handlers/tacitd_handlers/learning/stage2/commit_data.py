"""What a synthesis records beside its lines: the transaction's cause, messages to other plugins, cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacitd_handlers.learning.stage2.paid_answers import SynthesisAnswer
from tacitd_handlers.learning.stage2.pending_facts import PendingFacts
from tacitd_handlers.learning.stage2.synthesis_input import SynthesisInput
from tacitd_handlers.learning.state import LearningState


def build_cause(pending: PendingFacts) -> dict[str, Any]:
    """The transaction's cause: the origin of the lines, and the batches and files by which recovery recognises it."""
    sessions = dict.fromkeys(line.session for line in pending.lines if line.session)
    prompts = dict.fromkeys(prompt for line in pending.lines for prompt in line.prompts)
    files = [path.name for path in pending.claimed]
    of: dict[str, Any] = {
        "batches": pending.batches,
        "files": files,
        "whole": dict(pending.whole_line_sizes),
    }
    words = {"sessions": list(sessions), "prompts": list(prompts), "facts": list(pending.facts)}
    return {"by": "learning", "what": "synthesis"} | of | words


def build_messages(inputs: SynthesisInput, answered: SynthesisAnswer, lines: Sequence[str]) -> dict[str, Any]:
    """The commit's messages to other plugins: findings with their origin. They are delivered after the commit.

    `lines`: those that were written.
    """
    if not answered.found:
        return {}
    cause = build_cause(inputs.pending)
    origin = {
        "sessions": cause["sessions"],
        "prompts": cause["prompts"],
        "facts": list(inputs.facts),
        "corrected": [fact.text for fact in inputs.numbered if fact.is_new and fact.corrections],
        "words": list(inputs.origins.words),
        "lines": list(lines),
    }
    return {"tell": {name: {"found": what, **origin} for name, what in answered.found.items()}}


def describe_cost(inputs: SynthesisInput, answered: SynthesisAnswer, state: LearningState) -> dict[str, Any]:
    """The number of prompts behind a synthesis, and the cost of all calls that led to it in US dollars."""
    waiting = state.waiting.get(inputs.project.root, {})
    facts = sum(waiting[id].usd for id in inputs.pending.batches if id in waiting)
    return {"from": len(build_cause(inputs.pending)["prompts"]), "usd": round(facts + answered.usd, 6)}
