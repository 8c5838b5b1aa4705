"""Stage 1: extract facts from gathered prompts with one call of the fast tier (SPEC S-01 to S-08).

The decision has four steps: does an event contain text, is the project writable, what did the model answer, which of
its facts are new. The engine decides when an event is offered (`settings.choose_gather`). No project file is written here, except for the summary that a first call
needs (SPEC S-04). The facts are returned to the engine, which commits them together with the position; the raw file is
written from the commit afterwards.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.events import CONTEXT_LIMIT, NoProject, Project, Prompt, TranscriptGrew
from tacitd.handler import Done, Later, Outcome, Rejected, Tools
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.learning import prompt_templates
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.documents import KnownDocuments
from tacitd_handlers.learning.fact_marks import NO_MARK, FactMark
from tacitd_handlers.learning.grounding_checks import correct_messages, message_sources, sift_facts
from tacitd_handlers.learning.line_language import name_language
from tacitd_handlers.learning.person_decisions import read_forgotten
from tacitd_handlers.learning.refusals import RefusalLog, RefusedText, keep_refusals
from tacitd_handlers.learning.repetition_checks import RepetitionVerdict, judge_repetition
from tacitd_handlers.learning.settings import ExtractionSettings
from tacitd_handlers.learning.stage1.assents import has_nothing_to_learn
from tacitd_handlers.learning.stage1.gather import (
    Gathered,
    gather_prompts,
    has_typed_text,
)
from tacitd_handlers.learning.stage1.parse import AnswerMark, parse_facts
from tacitd_handlers.learning.state import COMMENTARY, FORGOTTEN_FACT, SECRET_FACT, UNSUPPORTED_REPETITION
from tacitd_handlers.learning.statements import list_bullets
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
from tacitd_handlers.shared.quoted_text import shorten_middle
from tacitd_handlers.shared.unwanted_places import drop_unwanted_contexts

EXTRACTION_PROMPT = "learning:extraction"
"""The prompt's name in `Plugin.prompt_extensions`."""
ONLY_ASSENTS = "they only agree, or are commands"
"""Why prompts are skipped that could be put to the model."""
WantsRewording = Callable[[Path, str, str], bool]
"""`LearningState.wants_rewording`."""
_BESIDE_TOOLS = frozenset({"reject-words", "answers", "steer"})
"""The kinds of prompts that are recorded beside a tool's result."""
WORDS_LIMIT = 200
"""Characters of each prompt that are stored, with secrets blanked, so that `tacitd why` can show the origin of a line."""


def extract_facts(
    event: TranscriptGrew,
    folders: Sequence[str],
    bootstrap: Bootstrap,
    refusals: RefusalLog,
    wants_rewording: WantsRewording,
    tools: Tools,
) -> Outcome:
    """Handle growth of a transcript.

    `folders` are the folders that the session worked in, relative to the project (SPEC S-30).
    `wants_rewording`: see `LearningState.wants_rewording`. Raises OSError and TacitdError; the engine then offers the batch again.
    """
    settings: ExtractionSettings = tools.settings["extraction"]
    event = replace(event, records=drop_unwanted_contexts(event.records, tools))
    prompts = [p for record in event.records for p in record.prompts]
    if not any(has_typed_text(p) for p in prompts):
        # Growth without a prompt commits nothing; prompts that are skipped are counted, so status shows them.
        return _skip(len(prompts), "nothing in it can be a preference") if prompts else Done()
    project = _find_project(event.project, len(prompts), tools)
    if not isinstance(project, Project):
        return project
    gathered = gather_prompts(event.records, event.end, settings.max_prompts, settings.max_bytes)
    if has_nothing_to_learn(gathered.prompts):
        return Done(
            gathered.upto, {"kind": "skipped", "seen": _count_seen(event, gathered), "why": ONLY_ASSENTS}
        )
    if (why := why_not_writable(ProjectPaths(project.root))) is not None:
        return Later(why, "make it writable for tacitd, or run `tacitd exclude` for the project")
    return _ask_model(event, project, gathered, folders, bootstrap, refusals, wants_rewording, tools)


def _skip(seen: int, why: str) -> Done:
    return Done(data={"kind": "skipped", "seen": seen, "why": why})


def _find_project(project: Project | NoProject, seen: int, tools: Tools) -> Project | Done | Later:
    """Return the project to learn for, or the outcome of prompts that belong to none.

    Trigger: the session's directory does not exist now, or cannot be examined. Why: it may be there again. Outcome: the prompts
    wait for it; all other prompts without a project are skipped at once.
    """
    if isinstance(project, NoProject):
        if project.gone:
            hint = "restore the directory; otherwise `tacitd rescue` lists the prompts after a day"
            return Later(f"{project.cwd}: {project.reason}", hint)
        return _skip(seen, project.reason)
    if tools.write_mode(project) == "off":
        return _skip(seen, f"{project.root} is excluded")
    return project


def _ask_model(
    event: TranscriptGrew,
    project: Project,
    gathered: Gathered,
    folders: Sequence[str],
    bootstrap: Bootstrap,
    refusals: RefusalLog,
    wants_rewording: WantsRewording,
    tools: Tools,
) -> Outcome:
    documents = bootstrap.ensure_summary(project, tools)
    settings: ExtractionSettings = tools.settings["extraction"]
    messages = [_build_message(p, settings.max_bytes) for p in gathered.prompts]
    extensions = load_extensions(tools.prompt_extensions.get(EXTRACTION_PROMPT, ()))
    language = name_language(list_bullets(documents.learned))
    prompt = prompt_templates.extraction_prompt(documents.summary, messages, language)
    prompt = redact_secrets(extend_prompt(prompt, extensions, str(project.root)))[0]
    key = f"extraction:{gathered.prompts[0].id}"
    parts = tuple(prompt.id for prompt in gathered.prompts)
    answer = tools.model.ask(
        ModelRequest(prompt, "fast", key, parts=parts, purpose="extraction", project=str(project.root))
    )
    if isinstance(answer, NoAnswer):
        return handle_no_answer(answer, _end_of_last(event, answer.repeated) or gathered.upto)
    split = split_answer(answer.text, extensions)
    additions = [line for text in list_additions(extensions, str(project.root)) for line in text.splitlines()]
    given = "\n".join(message.text for message in messages)
    # A fact that a document contains needs no grounding: it is not stored, it only raises counts (SPEC S-54).
    documented = documents.list_known_lines()
    parsed = parse_facts(split.answer, given, additions, documented)
    if isinstance(parsed, Unusable):
        return Later(
            f"the model's answer cannot be used: {parsed.reason}", "the model is asked again", blame="work"
        )
    beginnings = [shorten_middle(message.text, WORDS_LIMIT) for message in messages]
    data: dict[str, Any] = {"folders": list(folders), "usd": answer.usd, "words": beginnings}
    if any(message.beside_tool for message in messages):
        data["beside_tools"] = [at for at, message in enumerate(messages) if message.beside_tool]
    sources = message_sources(messages, [prompt.time for prompt in gathered.prompts])
    forgotten = read_forgotten(tools.home, project.root)
    wanted = [fact for fact in parsed.facts if not forgotten.covers(fact)]
    known = [fact for fact in wanted if find_equal(fact, documented) is not None]
    learned = documents.list_learned_lines()
    verdicts = {
        fact: judge_repetition(line, parsed.find_mark(fact).messages, messages)
        for fact in known
        if (line := find_equal(fact, learned)) is not None
    }
    unsupported = [fact for fact, verdict in verdicts.items() if verdict is RepetitionVerdict.UNSUPPORTED]
    unproven = [fact for fact, verdict in verdicts.items() if verdict is RepetitionVerdict.UNPROVEN]
    known = [fact for fact in known if fact not in unsupported]
    fresh, refused = sift_facts([fact for fact in wanted if fact not in (*known, *unsupported)], sources)
    found, ungrounded = ground_findings(split.found, extensions, sources)
    refused += [RefusedText(part.kind, part.text, part.reason, part.waits) for part in ungrounded]
    if found:
        data["tell"] = found
    if refused:
        keep_refusals(refusals, refused, project.root, _batch_id(event, gathered), beginnings, tools)
        data["refused"] = len(refused)
    left_out = {
        SECRET_FACT: parsed.withheld,
        COMMENTARY: parsed.commentary,
        FORGOTTEN_FACT: len(parsed.facts) - len(wanted),
        UNSUPPORTED_REPETITION: len(unsupported),
    }
    if any(left_out.values()):
        data["left_out"] = {why: number for why, number in left_out.items() if number}
    texts = [message.text for message in messages]
    marks = {fact: _make_mark(fact, parsed.find_mark(fact), parts, texts) for fact in parsed.facts}
    facts = [*known, *fresh]
    return _build_commit(event, project, gathered, facts, unproven, marks, documents, wants_rewording, data)


def _make_mark(fact: str, mark: AnswerMark, prompts: Sequence[str], texts: Sequence[str]) -> FactMark:
    """The mark of a fact. `prompts`: the ids of the batch's prompts, `texts`: their texts.

    Numbers of other messages are ignored. A correction in none of the messages is not one.
    """
    numbers = [number - 1 for number in mark.messages if 1 <= number <= len(prompts)]
    named = tuple(prompts[at] for at in correct_messages(fact, numbers, texts))
    return FactMark(named, mark.corrected and bool(numbers or not mark.messages))


def _end_of_last(event: TranscriptGrew, ids: Sequence[str]) -> int | None:
    """The end of the last record with one of these prompts. Later prompts were not part of the lost calls."""
    ends = [record.end for record in event.records if any(p.id in ids for p in record.prompts)]
    return max(ends, default=None)


def _build_message(prompt: Prompt, limit: int) -> prompt_templates.PromptMessage:
    """Build the message for a prompt, at most about `limit` characters of it, with secrets blanked (SPEC S-67).

    The order matters. Hidden characters are removed first, because they can hide a secret. Secrets are blanked before
    the final cut, because a secret that is cut in two no longer matches its pattern. The first cut, at four times the
    limit, only bounds the work on a very long prompt.
    """
    text = redact_secrets(shorten_middle(sanitize_text(prompt.text), 4 * limit))[0]
    return prompt_templates.PromptMessage(
        shorten_middle(text, limit),
        redact_secrets(_drop_cut_word(prompt.context))[0],
        prompt.kind in _BESIDE_TOOLS,
    )


def _drop_cut_word(context: str) -> str:
    """Drop the first word of a context that was cut to its last CONTEXT characters: it may be part of a secret."""
    text = sanitize_text(context)
    return re.sub(r"\A[!-~]+", "…", text) if len(context) >= CONTEXT_LIMIT else text


def _build_commit(
    event: TranscriptGrew,
    project: Project,
    gathered: Gathered,
    facts: Sequence[str],
    unproven: Sequence[str],
    marks: Mapping[str, FactMark],
    documents: KnownDocuments,
    wants_rewording: WantsRewording,
    data: Mapping[str, Any],
) -> Done:
    """Build the commit: the facts that no document contains, and the learned lines that the others repeat.

    A line that is corrected for the second time is a fact too, so that the synthesis makes a rule of it (SPEC S-36).
    `unproven`: the repetitions that count once in a session.
    """
    lines, learned = documents.list_known_lines(), documents.list_learned_lines()
    new = {fact: marks[fact] for fact in facts if find_equal(fact, lines) is None}
    said = [(fact, line) for fact in facts if (line := find_equal(fact, learned)) is not None]
    again = [line for _, line in said]
    once = [line for fact, line in said if fact in unproven]
    corrected = {line: marks[fact] for fact, line in said if marks[fact].corrected}
    rewordings = {
        line: mark
        for line, mark in corrected.items()
        if wants_rewording(project.root, line, event.session if line in once else "")
    }
    new |= {line: replace(mark, again=True) for line, mark in rewordings.items()}
    ids = [p.id for p in gathered.prompts]
    made: dict[str, Any] = {
        "kind": "batch",
        "id": _batch_id(event, gathered),
        "project": str(project.root),
        "prompts": ids,
    }
    dropped = len(facts) - len(new) + len(rewordings)
    counts = {
        "seen": _count_seen(event, gathered),
        "asked": len(ids),
        "facts": len(new) - len(rewordings),
        "dropped": dropped,
    }
    if any(mark != NO_MARK for mark in new.values()):
        made["marks"] = [mark.to_record() for mark in new.values()]
    if corrected:
        made["corrected_again"] = list(corrected)
    if once:
        made["again_once"] = once
    made["times"] = [prompt.time for prompt in gathered.prompts]
    return Done(gathered.upto, {**made, "new": list(new), "again": again, **data, **counts})


def _count_seen(event: TranscriptGrew, gathered: Gathered) -> int:
    """The number of prompts in the records up to the end of the batch, those that are not sent included."""
    return sum(len(record.prompts) for record in event.records if record.end <= gathered.upto)


def _batch_id(event: TranscriptGrew, gathered: Gathered) -> str:
    """The id of a call's facts, equal for the same prompts of the same session: 16 hexadecimal digits."""
    ids = [prompt.id for prompt in gathered.prompts]
    return hashlib.sha256("\0".join([event.session, *ids]).encode(errors="replace")).hexdigest()[:16]


def handle_no_answer(no: NoAnswer, upto: int | None = None) -> Later | Rejected:
    """Return the outcome of work that the model did not answer.

    Trigger: the same call was started twice without a stored answer. Why: a third call could be paid for in vain too.
    Outcome: the work is rejected up to byte offset `upto` (None: all of it). Any other failure is retried later.
    """
    if no.why is Why.REPEATED:
        return Rejected(
            f"the daemon was killed twice during this call, or before its answer was stored: {no.detail}",
            upto,
        )
    what = f"{no.why}: {no.detail}" if no.detail else str(no.why)
    return Later(what, no.hint, no.retry_at, "work" if no.blames_the_prompt else "world")
