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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.events import CONTEXT_LIMIT, NoProject, Project, Prompt, TranscriptGrew
from tacitd.handler import Done, Later, Outcome, Rejected, Tools
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.text.redact import has_secret, redact_secrets
from tacitd.text.sanitize import sanitize_text
from tacitd_handlers.learning import prompt_templates
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.documents import KnownDocuments
from tacitd_handlers.learning.fact_marks import NO_MARK, FactMark
from tacitd_handlers.learning.heard import Heard, parse_heard
from tacitd_handlers.learning.person_decisions import read_forgotten
from tacitd_handlers.learning.refusals import RefusalLog, RefusedText, keep_refusals
from tacitd_handlers.learning.settings import ExtractionSettings
from tacitd_handlers.learning.stage1.gather import (
    Gathered,
    gather_prompts,
    has_typed_text,
)
from tacitd_handlers.learning.state import FORGOTTEN_FACT, SECRET_FACT, UNREADABLE, UNSUPPORTED_REPETITION
from tacitd_handlers.learning.store import ProjectPaths, why_not_writable
from tacitd_handlers.shared.answer_screening import Unusable
from tacitd_handlers.shared.equality import find_equal, normalise_text
from tacitd_handlers.shared.prompt_extensions import (
    extend_prompt,
    ground_findings,
    list_additions,
    load_extensions,
    split_answer,
)
from tacitd_handlers.shared.quoted_text import drop_quotes, shorten_middle
from tacitd_handlers.shared.tidy import FACT_LIMIT
from tacitd_handlers.shared.unwanted_places import drop_unwanted_contexts
from tacitd_handlers.shared.words import Refused, Sources, find_quote, reverses, word_fact

EXTRACTION_PROMPT = "learning:extraction"
"""The prompt's name in `Plugin.prompt_extensions`."""
WantsRewording = Callable[[Path, str], bool]
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
    numbered, known = prompt_templates.number_known(documents.summary)
    prompt = prompt_templates.extraction_prompt(numbered, messages)
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
    parsed = parse_heard(split.answer, "\n".join(message.text for message in messages), additions)
    if isinstance(parsed, Unusable):
        return Later(
            f"the model's answer cannot be used: {parsed.reason}", "the model is asked again", blame="work"
        )
    beginnings = [shorten_middle(message.text, WORDS_LIMIT) for message in messages]
    data: dict[str, Any] = {"folders": list(folders), "usd": answer.usd, "words": beginnings}
    batch = _Batch(messages, gathered.prompts, folders, tools.write_mode(project) == "shared")
    found = _check_lines(
        parsed.lines, known, batch, documents, read_forgotten(tools.home, project.root).covers
    )
    found.left_out[UNREADABLE] = parsed.unreadable
    sources = Sources(
        tuple(drop_quotes(message.text) for message in messages if not message.beside_tool),
        tuple(message.text if message.beside_tool else message.context for message in messages),
        gathered.prompts[0].time,
    )
    findings, ungrounded = ground_findings(split.found, extensions, sources)
    refused = found.refused + [
        RefusedText(part.kind, part.text, part.reason, part.waits) for part in ungrounded
    ]
    if findings:
        data["tell"] = findings
    if refused:
        keep_refusals(refusals, refused, project.root, _batch_id(event, gathered), beginnings, tools)
        data["refused"] = len(refused)
    if any(found.left_out.values()):
        data["left_out"] = {why: number for why, number in found.left_out.items() if number}
    return _build_commit(event, project, gathered, found, wants_rewording, data)


@dataclass(frozen=True, slots=True)
class _Batch:
    """The messages of one call."""

    messages: Sequence[prompt_templates.PromptMessage]
    prompts: Sequence[Prompt]
    folders: Sequence[str]
    is_shared: bool
    """Whether others can read the project's files: a person's raw sentence waits first."""

    def find_words(self, heard: Heard) -> int | None:
        """The index of the message that has the quoted words: the one that the answer names, otherwise any."""
        named = heard.message - 1
        order = sorted(range(len(self.messages)), key=lambda at: at != named)
        return next((at for at in order if find_quote(heard.words, self.messages[at].text)), None)


@dataclass(slots=True)
class _CheckedLines:
    """What an answer's lines are after the check."""

    new: dict[str, FactMark] = field(default_factory=dict)
    """Facts that no document contains, with their marks."""
    again: list[tuple[str, FactMark]] = field(default_factory=list)
    """Learned lines that were said again, once for each message that says them."""
    dropped: int = 0
    """Number of facts that documents contain."""
    refused: list[RefusedText] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


def _check_lines(
    lines: Sequence[Heard],
    known: Sequence[str],
    batch: _Batch,
    documents: KnownDocuments,
    is_forgotten: Callable[[str], bool],
) -> _CheckedLines:
    """Divide an answer into facts, repetitions of learned lines and what is not stored. `known`: the numbered lines."""
    found = _CheckedLines(left_out={SECRET_FACT: 0, FORGOTTEN_FACT: 0, UNSUPPORTED_REPETITION: 0})
    documented, learned = documents.list_known_lines(), documents.list_learned_lines()
    by_form: dict[str, str] = {}
    for heard in lines:
        if heard.known > len(known):
            found.left_out[UNSUPPORTED_REPETITION] += 1
            continue
        text = known[heard.known - 1] if heard.known else heard.fact
        if has_secret(text):
            found.left_out[SECRET_FACT] += 1
            continue
        if len(text) > FACT_LIMIT:
            found.refused.append(
                RefusedText("fact", text, f"it is longer than {FACT_LIMIT} characters", waits=True)
            )
            continue
        if is_forgotten(text):
            found.left_out[FORGOTTEN_FACT] += 1
            continue
        at = batch.find_words(heard)
        prompts = (batch.prompts[at].id,) if at is not None else ()
        mark = FactMark(prompts, heard.corrected, is_about_person=heard.is_about_person)
        if find_equal(text, documented) is not None:
            _count_again(text, heard, at, mark, learned, batch, found)
            continue
        if at is None:
            found.refused.append(RefusedText("fact", text, "its words are not in the messages"))
            continue
        message, prompt = batch.messages[at], batch.prompts[at]
        context = (message.context, *batch.folders)
        worded = word_fact(text, heard.words, message.text, context, prompt.time, message.beside_tool)
        if not isinstance(worded, Refused) and worded.by == "person" and batch.is_shared:
            worded = Refused("your own words would stand in a file that others read", waits=True)
        if isinstance(worded, Refused):
            found.refused.append(RefusedText("fact", text, worded.reason, worded.waits))
            continue
        fact = by_form.setdefault(normalise_text(worded.text), worded.text)
        found.new[fact] = _merge(found.new.get(fact), mark)
    return found


def _count_again(
    text: str,
    heard: Heard,
    at: int | None,
    mark: FactMark,
    learned: Sequence[str],
    batch: _Batch,
    found: _CheckedLines,
) -> None:
    """Note a fact that a document contains. A learned line counts as said again if its words were typed, once for each message."""
    line = find_equal(text, learned)
    if line is None:
        found.dropped += 1
        return
    sentence = find_quote(heard.words, batch.messages[at].text) if at is not None else None
    if sentence is None or reverses(line, sentence):
        found.left_out[UNSUPPORTED_REPETITION] += 1
        return
    found.dropped += 1
    same = next(
        (n for n, (one, of) in enumerate(found.again) if (one, of.prompts) == (line, mark.prompts)), None
    )
    if same is None:
        found.again.append((line, mark))
    else:
        found.again[same] = (line, _merge(found.again[same][1], mark))


def _merge(before: FactMark | None, mark: FactMark) -> FactMark:
    """The mark of a fact that two lines of the answer have."""
    if before is None:
        return mark
    prompts = tuple(dict.fromkeys((*before.prompts, *mark.prompts)))
    about = before.is_about_person and mark.is_about_person
    return FactMark(prompts, before.corrected or mark.corrected, is_about_person=about)


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
    found: _CheckedLines,
    wants_rewording: WantsRewording,
    data: Mapping[str, Any],
) -> Done:
    """Build the commit: the facts that no document contains, and the learned lines that were said again.

    A line that is corrected for the second time is a fact too, so that the synthesis makes a rule of it (SPEC S-36).
    """
    corrected = {line: mark for line, mark in found.again if mark.corrected}
    rewordings = {line: mark for line, mark in corrected.items() if wants_rewording(project.root, line)}
    new = found.new | {line: replace(mark, again=True) for line, mark in rewordings.items()}
    ids = [p.id for p in gathered.prompts]
    made: dict[str, Any] = {
        "kind": "batch",
        "id": _batch_id(event, gathered),
        "project": str(project.root),
        "prompts": ids,
    }
    counts = {
        "seen": _count_seen(event, gathered),
        "asked": len(ids),
        "facts": len(new) - len(rewordings),
        "dropped": found.dropped,
    }
    if any(mark != NO_MARK for mark in new.values()):
        made["marks"] = [mark.to_record() for mark in new.values()]
    if corrected:
        made["corrected_again"] = list(corrected)
    made["times"] = [prompt.time for prompt in gathered.prompts]
    again = [line for line, _ in found.again]
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
