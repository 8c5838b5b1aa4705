"""The first call: extract facts from the prompts of a session (SPEC S-01 to S-08).

A task of the kind `prompts` has those that are due. The model lists what it heard, with the words that each fact rests on; each line
is checked, and what is left are rows of learning_fact, inserted in the transaction that ends the task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from tacitd.contract import Done, Later, Outcome, Part, Rejected, StoredPrompt, Task, Tools, Tx
from tacitd.events import CONTEXT_LIMIT, Project
from tacitd.handler import Degradation, Notice
from tacitd.model.port import Answer, ModelRequest, NoAnswer, Why
from tacitd.text.redact import has_secret, redact_secrets
from tacitd.text.sanitize import sanitize_text
from tacitd.text.wording import count_noun, format_dollars
from tacitd.work.messages import send_message
from tacitd_handlers.learning.answers import Heard, parse_heard
from tacitd_handlers.learning.folders import list_folders
from tacitd_handlers.learning.known import Known, load_known
from tacitd_handlers.learning.learned_rows import (
    FactState,
    LineRow,
    NewFact,
    count_said,
    digest_same,
    insert_fact,
    queue_message,
    read_forgotten,
    read_lines,
)
from tacitd_handlers.learning.prompt_templates import (
    PromptExtension,
    PromptMessage,
    extend_prompt,
    extraction_prompt,
    ground_findings,
    number_known,
    split_answer,
)
from tacitd_handlers.learning.settings import ExtractionSettings
from tacitd_handlers.learning.sources import Place, make_place, why_not_writable
from tacitd_handlers.shared.equality import index_texts, make_key
from tacitd_handlers.shared.model_text import FACT_LIMIT, Unusable, drop_quotes, shorten_middle
from tacitd_handlers.shared.polarity import reverses
from tacitd_handlers.shared.words import Refused, Sources, find_quote, has_risk, word_fact

EXTRACTION_PROMPT = "learning:extraction"
ANSWERS = "learning.answers"
"""Id of the degradation while answers cannot be used."""
NO_LINE = "no line"
"""`Notice.did` of a synthesis that handled facts and wrote no line, and of an extraction without a fact."""
SECRET_FACT, FORGOTTEN_FACT = "it looks like a secret", "you said that it is never learned again"
UNREADABLE, UNSUPPORTED = "it could not be read", "its words do not say the known line"
_COMMAND = re.compile(r"\s*/[\w:-]+\s*")
_BESIDE_TOOLS = frozenset({"reject-words", "answers", "steer"})


def extract_facts(task: Task, tools: Tools) -> Outcome:
    """Do a task of the kind `prompts`. Raises OSError and TacitdError."""
    # A shell command and a slash command without words contain no preference.
    typed = (one for one in task.prompts if one.kind != "bash" and one.text.strip())
    prompts = [one for one in typed if not _COMMAND.fullmatch(one.text)]
    project = task.project
    if not prompts or not isinstance(project, Project) or tools.write_mode(project) == "off":
        return Done()
    place = make_place(task.project_number, project, tools)
    if refusal := why_not_writable(place):
        return Later(*refusal)
    settings: ExtractionSettings = tools.settings["extraction"]
    known = load_known(project, tools)
    found = _Hearing(
        place,
        task.session,
        prompts,
        [_build_message(one, settings.max_bytes) for one in prompts],
        list_folders(tools.rows, [task.session], project.root),
        known,
        index_texts(known.statements),
        read_lines(tools.rows, place.number),
    )
    extensions = tools.list_prompt_parts(EXTRACTION_PROMPT)
    answer, numbered = _ask(found, extensions, tools)
    if isinstance(answer, NoAnswer):
        return _handle_no_answer(answer, prompts)
    part, text = split_answer(answer.text, extensions)
    heard = parse_heard(text)
    if isinstance(heard, Unusable):
        why = f"the model's answer cannot be used: {heard.reason}"
        hint = "the model is asked again with fewer prompts at a time; `tacitd rescue` lists prompts that are given up"
        tools.degrade(Degradation(ANSWERS, why, hint))
        return Later(why, "the model is asked again", blame="work")
    tools.clear(ANSWERS)
    for line in heard:
        if why := found.check(line, numbered, tools) if line is not None else UNREADABLE:
            found.left_out[why] += 1
    sources = Sources(
        tuple(drop_quotes(message.text) for message in found.messages if not message.beside_tool),
        tuple(message.text if message.beside_tool else message.context for message in found.messages),
        prompts[0].typed,
    )
    findings, ungrounded = ground_findings(part, extensions, sources)
    notices = list(_describe(found, ungrounded, answer))
    return Done(lambda tx: _store(tx, task, found, findings, tools.clock.now()), notices=notices)


def _ask(
    found: _Hearing, extensions: Sequence[PromptExtension], tools: Tools
) -> tuple[Answer | NoAnswer, tuple[str, ...]]:
    root = str(found.place.root)
    shown, known = number_known(found.known.summary)
    prompt = extend_prompt(extraction_prompt(shown, found.messages), extensions, root)
    parts = [Part("prompt", at, str(one.number), one.text) for at, one in enumerate(found.prompts, 1)]
    # An answer that is used again after a crash names known lines by these numbers.
    parts.append(Part("work", 0, "known", shown))
    request = ModelRequest(prompt, "fast", purpose="extraction", project=root)
    return tools.ask(request, parts), known


def _handle_no_answer(no: NoAnswer, prompts: Sequence[StoredPrompt]) -> Later | Rejected:
    """What becomes of prompts that the model did not answer.

    Of a call that was begun twice without a stored answer, a third one could be paid for in vain too: its prompts are rejected; if others
    are among them, each goes alone first.
    """
    if no.why is Why.REPEATED:
        what = f"the daemon was killed twice during this call, or before its answer was stored: {no.detail}"
        if {str(one.number) for one in prompts} <= set(no.repeated):
            return Rejected(what)
        return Later(what, "they are tried one by one", blame="work")
    return Later(no.reason, no.hint, no.retry_at, "work" if no.blames_the_prompt else "world")


# --- the check


@dataclass(slots=True)
class _Hearing:
    """The prompts of one call, what is known where they were typed, and what the answer's lines are."""

    place: Place
    session: str
    prompts: Sequence[StoredPrompt]
    messages: Sequence[PromptMessage]
    folders: Sequence[str]
    known: Known
    documented: Mapping[str, str]
    """What documents say, by `make_key`."""
    lines: Sequence[LineRow]
    """The lines of tacitd in the project."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Numbers of texts that are not stored, by reason."""
    facts: list[NewFact] = field(default_factory=list)
    reworded: set[int] = field(default_factory=set)
    """Lines that are to be made rules."""

    def check(self, heard: Heard, known: Sequence[str], tools: Tools) -> str:
        """Note what a line of the answer is: a new fact, or a known line that was said again. Returns why it is not stored, or ""."""
        if heard.known > len(known):
            return UNSUPPORTED
        text = known[heard.known - 1] if heard.known else heard.fact
        if has_secret(text):
            return SECRET_FACT
        if read_forgotten(tools.rows, self.place)(text):
            return FORGOTTEN_FACT
        # The message that has the quoted words: the one that the answer names, otherwise any.
        order = sorted(range(len(self.messages)), key=lambda at: at != heard.message - 1)
        at = next((at for at in order if find_quote(heard.words, self.messages[at].text)), None)
        message = self.messages[at] if at is not None else PromptMessage("")
        sentence = find_quote(heard.words, message.text) or ""
        if (documented := self.documented.get(make_key(text))) is not None:
            is_said = at is not None and self._repeat(documented, heard, at, sentence)
            return UNSUPPORTED if heard.known and not is_said else ""
        if at is None:
            self._add(None, text, "", heard, "refused", "its words are not in the messages")
            return ""
        if len(text) > FACT_LIMIT:
            self._add(at, text, "", heard, "review", f"it is longer than {FACT_LIMIT} characters")
            return ""
        context, typed = (message.context, *self.folders), self.prompts[at].typed
        worded = word_fact(text, heard.words, message.text, context, typed, message.beside_tool)
        if isinstance(worded, Refused):
            self._add(at, text, sentence, heard, "review" if worded.waits else "refused", worded.reason)
        elif worded.by == "person" and not self.place.is_local:
            why = "your own words would stand in a file that others read"
            self._add(at, text, worded.words, heard, "review", why)
        else:
            self._add(at, worded.text, worded.words, heard, "waiting")
        return ""

    def _repeat(self, text: str, heard: Heard, at: int, sentence: str) -> bool:
        """Note a fact that a document contains; return whether its words say it. A line of tacitd counts as said again, once for each
        message.

        A line that is corrected for the second time is a fact too, so that the synthesis makes a rule of it (SPEC S-36).
        """
        same = digest_same(text)
        line = next((one for one in self.lines if one.same == same), None)
        if reverses(text, sentence):
            return False
        if line is not None:
            wants = heard.corrected and line.by == "tacitd" and not line.reworded and line.corrections >= 1
            if wants:
                self.reworded.add(line.number)
            self._add(at, line.text, sentence, heard, "waiting" if wants else "known", line=line.number)
        return True

    def _add(
        self,
        at: int | None,
        text: str,
        words: str,
        heard: Heard,
        state: FactState,
        reason: str = "",
        line: int | None = None,
    ) -> None:
        """Add a fact; one that the same message says already only gets its marks."""
        place, prompt = self.place.number, self.prompts[at or 0]
        is_persons = heard.is_about_person and line is None and not has_risk(f"{text} {words}")
        number = prompt.number if at is not None else None
        for n, one in enumerate(self.facts):
            if (one.prompt, digest_same(one.text), one.line) == (number, digest_same(text), line):
                self.facts[n] = replace(one, corrected=one.corrected or heard.corrected)
                return
        whose = None if is_persons else place
        said = (prompt.typed, text, words, heard.corrected, line, state, reason)
        self.facts.append(NewFact(whose, self.session, number, place, *said))


# --- the messages


def _build_message(prompt: StoredPrompt, limit: int) -> PromptMessage:
    """The message for a prompt, at most about `limit` characters of it, with secrets blanked (SPEC S-67).

    Hidden characters are removed first, because they can hide a secret. Of a long prompt what is quoted in it goes first, so that no
    quotation loses its marks. Secrets are blanked before the final cut, because a secret that is cut in two no longer matches its
    pattern. The first cut only bounds the work on a very long prompt.
    """
    typed = sanitize_text(prompt.text)
    typed = typed if len(typed) <= limit else drop_quotes(typed)
    text = redact_secrets(shorten_middle(typed, 4 * limit))[0]
    context = sanitize_text(prompt.context)
    if len(prompt.context) >= CONTEXT_LIMIT:
        # The first word of a context that was cut may be part of a secret.
        context = re.sub(r"\A[!-~]+", "…", context)
    return PromptMessage(
        shorten_middle(text, limit), redact_secrets(context)[0], prompt.kind in _BESIDE_TOOLS
    )


# --- the outcome


def _store(tx: Tx, task: Task, found: _Hearing, findings: Mapping[str, Any], now: float) -> None:
    for fact in found.facts:
        insert_fact(tx, fact)
    for line in dict.fromkeys(one.line for one in found.facts if one.line is not None):
        count_said(tx, line)
    tx.executemany(
        "UPDATE learning_line SET reworded = 1 WHERE number = ?", [(one,) for one in found.reworded]
    )
    for name, what in findings.items():
        key = f"{found.session} {found.prompts[0].number}"
        send_message(tx, "learning", name, key, task, what, now)
    if found.known.is_stale:
        queue_message(tx, "summary", found.place, now)
    if any(one.state == "waiting" and one.project is not None for one in found.facts):
        queue_message(tx, "temporary", found.place, now)


def _describe(found: _Hearing, ungrounded: int, answer: Answer) -> Iterator[Notice]:
    """The numbers of facts that were extracted and refused: their words are announced when they are stored."""
    name = found.place.root.name
    facts = sum(one.state == "waiting" and one.line is None for one in found.facts)
    text = f"{count_noun(facts, 'fact')} from {count_noun(len(found.prompts), 'prompt')}"
    yield Notice("extracted" if facts else NO_LINE, text, name, format_dollars(answer.usd))
    for why, number in found.left_out.items():
        yield Notice("refused", f"{count_noun(number, 'fact')}: {why}", name)
    if refused := ungrounded + sum(one.state in ("review", "refused") for one in found.facts):
        text = f"{count_noun(refused, 'proposal')} of the model, with something that nobody mentioned"
        yield Notice("refused", text, name, "`tacitd review`")
