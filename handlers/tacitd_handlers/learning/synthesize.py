"""The second call: write the facts of a place as lines of its files, with the smart tier (SPEC S-20 to S-37).

The files are read (`synthesis_input`), the model is asked, the files are read again and the lines are decided on (`plan`). The changes of
rows and of files are one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from loguru import logger
from msgspec import Struct

from tacitd.contract import Cause, Done, Edits, FileChange, Later, Leaf, Outcome, Part, Tools, Tx
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files.formats import bullet
from tacitd.handler import Degradation, Notice
from tacitd.model.port import ModelRequest, NoAnswer, Why
from tacitd.text.redact import redact_secrets
from tacitd.text.wording import count_noun, format_dollars
from tacitd_handlers.learning.answers import (
    Numbered,
    NumberedFact,
    Proposal,
    number_lines,
    parse_proposals,
)
from tacitd_handlers.learning.extract import ANSWERS, NO_LINE
from tacitd_handlers.learning.learned_rows import (
    ASIDE,
    ASIDE_ID,
    FactState,
    LineRow,
    add_facts,
    count_said,
    digest_same,
    inherit_facts,
    list_listeners,
    make_id,
    mark_facts,
    mark_line,
    put_line,
    queue_message,
    read_facts,
    read_lines,
    tell_plugin,
    tell_removed,
)
from tacitd_handlers.learning.plan import Plan, plan_lines
from tacitd_handlers.learning.prompt_templates import (
    SYNTHESIS_PROMPT,
    PromptExtension,
    extend_prompt,
    ground_findings,
    split_answer,
    synthesis_prompt,
)
from tacitd_handlers.learning.raw_file import hide_files
from tacitd_handlers.learning.sources import Place, find_leaf, make_format, why_not_writable
from tacitd_handlers.learning.synthesis_input import (
    SourceFiles,
    SynthesisInput,
    build_input,
    count_crowded,
    list_lines,
    make_situation,
    read_files,
)
from tacitd_handlers.reach.copies import queue_copies
from tacitd_handlers.reach.hiding import is_published
from tacitd_handlers.shared.model_text import Unusable
from tacitd_handlers.shared.polarity import strip_answer
from tacitd_handlers.shared.problems import report_problem
from tacitd_handlers.shared.words import Sources

PROMPT_LIMIT = 60_000
"""Bytes of the prompt. Existing lines that do not fit are left out; what is proposed is compared with them nevertheless."""
WORDS_LIMIT = 200
"""Characters of each message that go with a finding, for `tacitd why`."""
ONCE_MORE = "the model is asked once more, in halves; facts whose second answer cannot be used are put aside"
_ANY_LINE = "SELECT 1 FROM learning_line WHERE project = ? LIMIT 1"


class _PaidAnswer(Struct, frozen=True):
    """An answer, with its numbers resolved. It is empty where there was nothing to ask."""

    proposals: tuple[Proposal, ...] = ()
    found: Mapping[str, Any] = {}
    """Findings of prompt extensions, by the name of the plugin that gets them."""
    usd: float = 0.0
    useless: str = ""
    """Why there is no answer that can be used."""
    lost: frozenset[int] = frozenset()
    """Rows of the facts whose calls were begun twice and lost. They are not paid for again."""


def synthesize(place: Place, tools: Tools) -> Outcome:
    """Write lines for facts that wait in a place, those of one call; others go on waiting and have one of their own.

    Raises OSError and TacitdError; the facts go on waiting then.
    """
    if place.project is not None and tools.write_mode(place.project) == "off":
        return Done()
    if not read_facts(tools.rows, place.number):
        return Done()
    if refusal := why_not_writable(place):
        return Later(*refusal)
    id = f"learning.file:{place.name}"
    try:
        inputs = build_input(place, tools)
        answer = _ask(inputs, tools) if inputs.facts else _PaidAnswer()
        outcome = answer if isinstance(answer, Later) else _write(inputs, answer, tools)
    except FileBusyError:
        raise
    except FileRefusedError as error:
        tools.degrade(Degradation(id, error.what, error.hint))
        return Later(error.what, error.hint)
    tools.clear(id)
    return outcome


# --- the call


def _ask(inputs: SynthesisInput, tools: Tools) -> _PaidAnswer | Later:
    root, files = str(inputs.place.root), tuple(inputs.files)
    extensions = list_extensions(inputs.facts, tools)
    facts = dict(enumerate(inputs.facts, 1))
    crowded = count_crowded(inputs.files, tools.settings["learning"])

    def write(numbered: Numbered) -> str:
        prompt = synthesis_prompt(files, numbered.show_lines(), numbered.show_facts(), crowded)
        return redact_secrets(extend_prompt(prompt, extensions, root))[0]

    # As many existing lines as there is room for.
    plain = write(Numbered(facts, {}, files)).encode(errors="replace")
    room = PROMPT_LIMIT - len(plain) - sum(len(file) + 2 for file in files)
    numbered = Numbered(facts, number_lines(list_lines(inputs.files), room), files)
    parts = [Part("fact", n, str(fact.rows[0]), fact.text) for n, fact in facts.items() if fact.is_new]
    # An answer that is used again after a crash names lines by these numbers.
    parts.append(Part("work", 0, "lines", "\n".join((*numbered.show_facts(), *numbered.show_lines()))))
    request = ModelRequest(write(numbered), "smart", purpose="synthesis", project=root)
    answer = tools.ask(request, parts)
    if isinstance(answer, NoAnswer):
        if answer.why is Why.REPEATED:
            return _PaidAnswer(useless=answer.reason, lost=frozenset(map(int, answer.repeated)))
        if not answer.blames_the_prompt:
            return Later(answer.reason, answer.hint, answer.retry_at)
        why = answer.reason
    else:
        found, text = split_answer(answer.text, extensions)
        proposals = parse_proposals(text, numbered)
        if not isinstance(proposals, Unusable):
            tools.clear(ANSWERS)
            return _PaidAnswer(proposals, found, answer.usd)
        why = f"the model's answer cannot be used: {proposals.reason}"
    tools.degrade(Degradation(ANSWERS, why, ONCE_MORE))
    return _PaidAnswer(useless=why)


def list_extensions(facts: Iterable[NumberedFact], tools: Tools) -> list[PromptExtension]:
    """The parts of other plugins that are asked for with these facts: some only if a correction was made again (SPEC E-30)."""
    is_again = any(fact.line is not None for fact in facts)
    found: Sequence[PromptExtension] = tools.list_prompt_parts(SYNTHESIS_PROMPT)
    return [one for one in found if is_again or not getattr(one, "only_corrected_again", False)]


# --- the outcome


def _write(inputs: SynthesisInput, answer: _PaidAnswer, tools: Tools) -> Outcome:
    """Decide on the proposed lines, and return the changes of files and rows."""
    place, new = inputs.place, [fact for fact in inputs.facts if fact.is_new]
    # What other plugins asked for: the reason for a correction that was made again is in the person's words, and not in the line.
    again = [row for fact in new if fact.line is not None for row in fact.rows]
    texts = [*(fact.text for fact in new), *(strip_answer(inputs.rows[row].words) for row in again)]
    at = next((fact.at for fact in new if fact.at is not None), None)
    sources = Sources(tuple(filter(None, texts)), inputs.folders, at)
    found, ungrounded = ground_findings(answer.found, list_extensions(new, tools), sources)
    # The files may have changed during the call.
    chosen = [name.rpartition("/")[0] for name in inputs.files if "/" in name]
    files = read_files(place, [*inputs.folders, *chosen], tools) if answer.proposals else inputs.files
    plan = plan_lines(answer.proposals, make_situation(inputs, files, tools))
    by_text = {(name, row.text): row for name, one in files.items() for row in one.ours}
    prompts = sorted({prompt for fact in new for prompt in fact.prompts})
    sessions = [one.session for one in inputs.rows.values() if one.session]
    key = f"synthesis {make_id(*map(str, sorted(inputs.rows)), *(line.text for line in plan.lines))}"
    session = sessions[-1] if sessions else ""
    cause = Cause(key, "prompt" if prompts else "file", "synthesis", session, prompts)
    changes = list(_make_changes(plan, by_text, place, cause))
    hide_files(place, [change.path for change in changes], tools)
    _report_crowded(inputs, files, plan, tools)
    # Facts that are not asked about again: of lost calls, or of a second answer that cannot be used.
    given_up = [f for f in new if answer.lost.intersection(f.rows) or (f.tries and not answer.lost)]
    aside = [row for fact in given_up for row in fact.rows] if answer.useless else []
    _report_aside(place, [answer.useless] * len(aside), tools)
    notices = list(_describe(plan, inputs, answer.usd, ungrounded))
    listeners = list_listeners(tools)
    now = tools.clock.now()
    if changes and place.project is not None and not tools.rows(_ANY_LINE, place.number):
        logger.info("tacitd writes in {} from now on; `tacitd exclude` stops that", place.root)

    def apply(tx: Tx) -> None:
        _store_lines(tx, plan, by_text, files, place, now)
        _store_facts(tx, inputs, plan, is_answered=not answer.useless)
        mark_facts(tx, aside, "aside", answer.useless)
        if answer.useless and not answer.lost:
            # One more call, in two halves.
            once = [fact for fact in new if not fact.tries]
            tries = [(1 if 2 * n < len(once) else 2, row) for n, fact in enumerate(once) for row in fact.rows]
            tx.executemany("UPDATE learning_fact SET tries = ? WHERE number = ?", tries)
        gone = [old.text for line in plan.lines for old in line.replaces]
        tell_removed(tx, listeners, place, gone, now)
        _tell_findings(tx, found, inputs, [line.text for line in plan.lines], now)
        queue_copies(tx, place, now)
        if plan.void or inputs.is_partial or (answer.useless and len(aside) < len(_list_new(new))):
            queue_message(tx, "synthesize", place, now)

    return Done(apply, tuple(changes), notices=notices)


def _make_changes(
    plan: Plan, by_text: Mapping[tuple[str, str], LineRow], place: Place, cause: Cause
) -> Iterator[FileChange]:
    """The changes of the files: a line takes the place of one that it replaces in its own file; the others go."""
    wanted: dict[str, list[tuple[str, str, str | None]]] = {}
    for line in plan.lines:
        inside = next((old for old in line.replaces if old.path == line.path), None)
        wanted.setdefault(line.path, []).append((inside.text if inside else "", line.heading, line.text))
        for old in line.replaces:
            if old is not inside:
                row = by_text.get((old.path, old.text))
                wanted.setdefault(old.path, []).append((old.text, row.heading if row else "", None))
    for name, changes in wanted.items():
        path = place.root / name
        yield FileChange(path, make_format(path, place.root), decide_lines(changes), cause)


def decide_lines(
    wanted: Sequence[tuple[str, str, str | None]],
) -> Callable[[Mapping[Leaf, str], Edits], Mapping[Leaf, str | None]]:
    """The change of a file that puts, rewords and takes lines, each (text that is there or "", heading, new text or None).

    A line that a person wrote or changed meanwhile stays, and the new one is put beside it.
    """

    def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        changes: dict[Leaf, str | None] = {}
        for old, heading, text in wanted:
            leaf = find_leaf(now, heading, old) if old else ""
            if leaf in now and leaf not in edits.added:
                changes[leaf] = text
            elif text is not None and not any(value == text for value in now.values()):
                changes[bullet(heading, text)] = text
        return changes

    return decide


def _store_lines(
    tx: Tx,
    plan: Plan,
    by_text: Mapping[tuple[str, str], LineRow],
    files: SourceFiles,
    place: Place,
    now: float,
) -> None:
    """Insert the lines, and mark those that they replace."""
    missing = [row for one in files.values() for row in one.missing]
    removed = {text for one in files.values() for text in one.removed}
    for row in missing:
        if row.text not in removed:
            mark_line(tx, row.number, "gone")
    for line in plan.lines:
        olds = [by_text[old.path, old.text] for old in line.replaces if (old.path, old.text) in by_text]
        path = str(place.root / line.path)
        heading = next((old.heading for old in olds if old.path == path), line.heading)
        contrary = line.beside[0].text if line.beside else ""
        facts = _list_new(line.facts)
        number = put_line(tx, now, place.number, path, heading, line.text, facts=facts, contrary=contrary)
        reworded = {fact.line for fact in line.facts}
        takes_over = len(olds) > 1 or any(old.number in reworded for old in olds)
        for old in olds:
            if old.number != number:
                mark_line(tx, old.number, "replaced", number)
                if takes_over:
                    inherit_facts(tx, old.number, number)
        if takes_over:
            tx.execute("UPDATE learning_line SET reworded = 1 WHERE number = ?", number)
    # A removal that was seen once is in doubt until the next look; said again, the line waits for the person either way.
    gone = [
        *read_lines(tx.rows, place.number, ("removed", "withheld")),
        *(row for row in missing if row.text in removed),
    ]
    for line in plan.withheld:
        same = digest_same(line.text)
        for row in [row for row in gone if row.same == same][:1]:
            mark_line(tx, row.number, "withheld")
            add_facts(tx, row.number, _list_new(line.facts))


def _list_new(facts: Iterable[NumberedFact]) -> list[int]:
    """The rows of the facts that were said since the last synthesis."""
    return [row for fact in facts if fact.is_new for row in fact.rows]


def _store_facts(tx: Tx, inputs: SynthesisInput, plan: Plan, *, is_answered: bool) -> None:
    """Say what became of each fact. Those of lines are written; void ones go on waiting."""
    known = dict(inputs.known)
    by_text = {row.text: row.number for one in inputs.files.values() for row in one.rows}
    for text, fact in plan.known:
        known |= dict.fromkeys(fact.rows, by_text.get(text))
    for number, line in known.items():
        _settle(tx, number, "known")
        tx.execute("UPDATE learning_fact SET line = coalesce(?, line) WHERE number = ?", line, number)
    for line in dict.fromkeys(known.values()):
        if line is not None:
            count_said(tx, line)
    mark_facts(tx, inputs.forgotten, "forgotten")
    for reason, facts in plan.refused:
        mark_facts(tx, [row for fact in facts for row in fact.rows], "refused", reason)
    if not is_answered:
        return
    waits = {row for fact in plan.void for row in fact.rows}
    named = {row for fact in plan.used for row in fact.rows}
    for fact in inputs.facts:
        for number in fact.rows if fact.is_new else ():
            # One of a known line that was made no rule is counted there; one that a proposal names is known, or refused.
            if number not in waits:
                _settle(tx, number, "known" if fact.line is not None or number in named else "left out")


def _settle(tx: Tx, fact: int, state: FactState) -> None:
    """A fact that waited is in this state, unless it is in a line by now."""
    tx.execute("UPDATE learning_fact SET state = ? WHERE number = ? AND state = 'waiting'", state, fact)


def _tell_findings(
    tx: Tx, found: Mapping[str, Any], inputs: SynthesisInput, lines: Sequence[str], now: float
) -> None:
    """Pass findings on with their origin. `corrected`: the facts that correct something again; `lines`: what was written."""
    new = [fact for fact in inputs.facts if fact.is_new]
    rows = [inputs.rows[number] for fact in new for number in fact.rows]
    again = [fact.text for fact in new if fact.line is not None]
    prompts = list(dict.fromkeys(row.prompt for row in rows if row.prompt is not None))
    typed = [
        one
        for number in prompts
        for one in tx.rows(
            "SELECT id, text FROM prompt LEFT JOIN prompt_text ON prompt = number WHERE number = ?", number
        )
    ]
    sessions = list(dict.fromkeys(row.session for row in rows if row.session))
    for name, what in found.items():
        data = {
            "found": [what],
            "sessions": sessions,
            "prompts": [id for id, _ in typed],
            "facts": [fact.text for fact in new],
            "corrected": again,
            "words": [text[:WORDS_LIMIT] for _, text in typed if text],
            "lines": list(dict.fromkeys((*lines, *again))),
        }
        tell_plugin(tx, name, inputs.place, f"found {make_id(*map(str, inputs.rows))}", data, sessions, now)


# --- what a person is told


def _describe(plan: Plan, inputs: SynthesisInput, usd: float, ungrounded: int) -> Iterator[Notice]:
    """A notice for each line that is written, or withheld because the person removed it; otherwise why there is none."""
    place = inputs.place
    root = str(place.root) if place.project is not None else ""
    for line in plan.lines:
        prompts = len({prompt for fact in line.facts for prompt in fact.prompts})
        about = [f"from {count_noun(prompts, 'prompt')}"] if prompts else []
        about.append(format_dollars(usd / len(plan.lines)))
        path = place.root / line.path
        if place.project is not None and not path.exists() and is_published(path, place.root):
            about.append(f"`npm publish` would include {line.path}: list it in .npmignore")
        yield Notice("learned", line.text, f"{place.root.name}/{line.path}", ", ".join(about), root=root)
    for line in plan.withheld:
        what = f"you removed it before, and said it again (`tacitd review` asks about it): {line.text}"
        yield Notice(NO_LINE, what, str(place.root))
    if plan.lines or plan.withheld:
        return
    reasons = ["it is written there already"] if inputs.known or plan.known else []
    if plan.refused or ungrounded:
        reasons.append("what was proposed was refused (`tacitd review` shows it)")
    if not reasons:
        reasons.append(
            "the model made no line of it" if inputs.facts else "another document contains it already"
        )
    yield Notice(NO_LINE, "; ".join(reasons), str(place.root))


def _report_aside(place: Place, reasons: list[str], tools: Tools) -> None:
    reasons = [*reasons, *(one.reason for one in read_facts(tools.rows, place.number, ASIDE))]
    what = f"{count_noun(len(reasons), 'fact')} of {place.name} made no line: {reasons[0]}" if reasons else ""
    hint = "`tacitd review` lists them, `tacitd rescue retry --all` tries them again"
    report_problem(tools, f"{ASIDE_ID}:{place.name}", what, hint)


def _report_crowded(inputs: SynthesisInput, files: SourceFiles, plan: Plan, tools: Tools) -> None:
    """Say which files have more learned lines than they may have. The model is asked to merge some (SPEC S-54)."""
    more = Counter(line.path for line in plan.lines)
    more.subtract(old.path for line in plan.lines for old in line.replaces)
    place, crowded = inputs.place, count_crowded(files, tools.settings["learning"], more)
    what = "; ".join(
        f"{place.root / name} has {count} learned lines, more than {limit}"
        for name, (count, limit) in crowded.items()
    )
    hint = "the model is asked to merge lines; `tacitd review` offers those not said for long"
    report_problem(tools, f"learning.lines:{place.name}", what, hint)
