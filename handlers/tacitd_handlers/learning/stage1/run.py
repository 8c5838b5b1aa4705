"""Stage 1: prompts that were gathered become facts, with one call of the fast tier (SPEC S-01 to S-08).

A decision in five steps, each a small function: is there anything to say, is it time, may we write here, what did
the model say, what of it is new. Nothing is written here: the facts go back to the engine with the position, in one
record, and the raw file is written from it afterwards.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tacitd.events import CONTEXT_LIMIT, NoProject, Project, Prompt, TranscriptGrew
from tacitd.handler import Done, Later, Outcome, Rejected, Tools, Wait
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.learning import prompt_templates
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.documents import KnownDocuments
from tacitd_handlers.learning.grounding_checks import message_sources, sift_facts
from tacitd_handlers.learning.refusals import RefusalLog, RefusedText, keep_refusals
from tacitd_handlers.learning.settings import ExtractionSettings
from tacitd_handlers.learning.stage1.gather import (
    Gathered,
    gather_prompts,
    has_typed_text,
    quiet_for,
    shorten_middle,
)
from tacitd_handlers.learning.stage1.parse import parse_facts
from tacitd_handlers.learning.state import SECRET_FACT, TOO_MANY_FACTS
from tacitd_handlers.learning.statements import known_lines
from tacitd_handlers.learning.store import ProjectPaths, why_not_writable
from tacitd_handlers.shared.answer_screening import Unusable
from tacitd_handlers.shared.equality import find_equal
from tacitd_handlers.shared.prompt_extensions import (
    extend_prompt,
    ground_findings,
    list_additions,
    load_extensions,
    split_answer,
)

EXTRACTION_PROMPT = "learning:extraction"
"""The prompt's name in `Plugin.prompt_extensions`."""
WORDS_LIMIT = 200
"""Characters of each prompt that are kept, secrets blanked, so that it can be said from which words a line came."""


def extract_facts(
    event: TranscriptGrew, folders: Sequence[str], bootstrap: Bootstrap, refusals: RefusalLog, tools: Tools
) -> Outcome:
    """Answer growth of a transcript. Raises OSError and TacitdError; the batch is then offered again."""
    settings: ExtractionSettings = tools.settings["extraction"]
    prompts = [p for record in event.records for p in record.prompts]
    if not any(has_typed_text(p) for p in prompts):
        return _skipped(len(prompts), "nothing in it can be a preference") if prompts else Done()
    place = _place(event.project, len(prompts), tools)
    if not isinstance(place, Project):
        return place
    gathered = gather_prompts(event.records, event.end, settings.max_prompts, settings.max_bytes)
    quiet = quiet_for(gathered.prompts, tools.clock.now())
    if not (gathered.full or event.due) and quiet < settings.settle:
        return Wait(settings.settle - quiet)
    if (why := why_not_writable(ProjectPaths(place.root))) is not None:
        return Later(why, "give tacitd the right to write there, or `tacitd exclude` the project")
    return _ask(event, place, gathered, folders, bootstrap, refusals, tools)


def _skipped(seen: int, why: str) -> Done:
    return Done(data={"kind": "skipped", "seen": seen, "why": why})


def _place(project: Project | NoProject, seen: int, tools: Tools) -> Project | Done | Later:
    """The project to learn for, or what becomes of words that belong to none."""
    if isinstance(project, NoProject):
        if project.gone:
            hint = "bring the directory back, or let go of the words: `tacitd rescue` lists them after a day"
            return Later(f"{project.cwd} is not there any more", hint)
        return _skipped(seen, project.reason)
    if tools.write_mode(project) == "off":
        return _skipped(seen, f"{project.root} is excluded")
    return project


def _ask(
    event: TranscriptGrew,
    project: Project,
    gathered: Gathered,
    folders: Sequence[str],
    bootstrap: Bootstrap,
    refusals: RefusalLog,
    tools: Tools,
) -> Outcome:
    documents = bootstrap.ensure_summary(project, tools)
    settings: ExtractionSettings = tools.settings["extraction"]
    messages = [_message(p, settings.max_bytes) for p in gathered.prompts]
    aboard = load_extensions(tools.prompt_extensions.get(EXTRACTION_PROMPT, ()))
    prompt = prompt_templates.extraction_prompt(documents.summary, messages)
    prompt = redact_secrets(extend_prompt(prompt, aboard, str(project.root)))[0]
    key = f"extraction:{gathered.prompts[0].id}"
    parts = tuple(prompt.id for prompt in gathered.prompts)
    answer = tools.model.ask(ModelRequest(prompt, "fast", key, parts=parts, purpose="extraction"))
    if isinstance(answer, NoAnswer):
        return handle_no_answer(answer, _end_of_last(event, answer.repeated) or gathered.upto)
    said = split_answer(answer.text, aboard)
    besides = [line for text in list_additions(aboard, str(project.root)) for line in text.splitlines()]
    parsed = parse_facts(said.answer, "\n".join(message.text for message in messages), besides)
    if isinstance(parsed, Unusable):
        return Later(f"the model's answer cannot be used: {parsed.reason}", "it is asked again", blame="work")
    words = [shorten_middle(message.text, WORDS_LIMIT) for message in messages]
    data: dict[str, Any] = {"folders": list(folders), "usd": answer.usd, "words": words}
    sources = message_sources(messages, [prompt.time for prompt in gathered.prompts])
    told = documents.list_known_lines()
    said_before = [fact for fact in parsed.facts if find_equal(fact, told) is not None]
    fresh, refused = sift_facts([fact for fact in parsed.facts if fact not in said_before], sources)
    found, unsaid = ground_findings(said.found, aboard, sources)
    refused += [RefusedText(part.kind, part.text, part.reason, part.waits) for part in unsaid]
    if found:
        data["tell"] = found
    if refused:
        keep_refusals(refusals, refused, project.root, _batch(event, gathered), words, tools)
        data["refused"] = len(refused)
    left_out = {SECRET_FACT: parsed.withheld, TOO_MANY_FACTS: parsed.over_limit}
    if any(left_out.values()):
        data["left_out"] = {why: number for why, number in left_out.items() if number}
    return _facts(event, project, gathered, [*said_before, *fresh], documents, data)


def _end_of_last(event: TranscriptGrew, ids: Sequence[str]) -> int | None:
    """The end of the last record that holds one of these prompts: what was typed after it was not begun twice."""
    ends = [record.end for record in event.records if any(p.id in ids for p in record.prompts)]
    return max(ends, default=None)


def _message(prompt: Prompt, limit: int) -> prompt_templates.PromptMessage:
    """Secrets are blanked before anything leaves the machine, and before a cut could halve one out of recognition.

    Hidden characters are removed before that: they hide a secret, and the text shrinks without them.
    """
    text = redact_secrets(shorten_middle(sanitize_text(prompt.text), 4 * limit))[0]
    return prompt_templates.PromptMessage(
        shorten_middle(text, limit), redact_secrets(_drop_cut_word(prompt.context))[0]
    )


def _drop_cut_word(context: str) -> str:
    """What the assistant said was cut to its end, and may begin in the middle of a secret: that word is left out."""
    text = sanitize_text(context)
    return re.sub(r"\A[!-~]+", "…", text) if len(context) >= CONTEXT_LIMIT else text


def _facts(
    event: TranscriptGrew,
    project: Project,
    gathered: Gathered,
    facts: Sequence[str],
    documents: KnownDocuments,
    data: Mapping[str, Any],
) -> Done:
    """What is kept of the facts: those that no document says, and which learned lines the others repeated."""
    lines, learned = documents.list_known_lines(), known_lines(documents.learned)
    new = [fact for fact in facts if find_equal(fact, lines) is None]
    again = [line for fact in facts if (line := find_equal(fact, learned)) is not None]
    ids = [p.id for p in gathered.prompts]
    seen = sum(len(r.prompts) for r in event.records if r.end <= gathered.upto)
    made = {"kind": "batch", "id": _batch(event, gathered), "project": str(project.root), "prompts": ids}
    counts = {"seen": seen, "asked": len(ids), "facts": len(new), "dropped": len(facts) - len(new)}
    return Done(gathered.upto, {**made, "new": new, "again": again, **data, **counts})


def _batch(event: TranscriptGrew, gathered: Gathered) -> str:
    """The id of a call's facts: the same prompts of the same session have the same."""
    ids = [prompt.id for prompt in gathered.prompts]
    return hashlib.sha256("\0".join([event.session, *ids]).encode(errors="replace")).hexdigest()[:16]


def handle_no_answer(no: NoAnswer, upto: int | None = None) -> Later | Rejected:
    """What becomes of work that the model did not answer."""
    if no.why is Why.REPEATED:
        return Rejected(
            f"the daemon was killed twice during this call, or before its answer was kept: {no.detail}", upto
        )
    what = f"{no.why}: {no.detail}" if no.detail else str(no.why)
    return Later(what, no.hint, no.retry_at, "work" if no.blames_the_prompt else "world")
