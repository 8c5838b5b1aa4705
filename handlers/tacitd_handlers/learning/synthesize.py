"""The second call: write the facts of a place as lines of its files, with the smart tier (SPEC S-20 to S-37).

The files are read (`synthesis_input`), the model is asked (`ask_synthesis`), the files are read again and the lines are decided on
(`plan`). The changes of rows and of files are one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from loguru import logger
from msgspec import Struct

from tacitd.contract import Cause, Done, Edits, FileChange, Later, Leaf, Outcome, Tools, Tx
from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files.formats import bullet
from tacitd.handler import Degradation, Notice
from tacitd.text.wording import count_noun
from tacitd_handlers.learning.ask_synthesis import (
    NoUse,
    PaidAnswer,
    ask_for_lines,
    ground_answers,
    list_portions,
)
from tacitd_handlers.learning.extract import ANSWERS
from tacitd_handlers.learning.learned_notices import describe_lines, describe_withheld, explain_no_line
from tacitd_handlers.learning.learned_rows import (
    FactState,
    LineRow,
    NewLineRow,
    add_facts,
    count_said,
    digest_same,
    inherit_facts,
    make_id,
    mark_facts,
    mark_line,
    put_line,
    queue_message,
    read_lines,
)
from tacitd_handlers.learning.numbered import NumberedFact
from tacitd_handlers.learning.plan import Plan, plan_lines
from tacitd_handlers.learning.plugin_messages import list_listeners, tell_findings, tell_removed
from tacitd_handlers.learning.raw_file import hide_files
from tacitd_handlers.learning.sources import Place, find_leaf, make_format, why_not_writable
from tacitd_handlers.learning.synthesis_input import (
    SourceFiles,
    SynthesisInput,
    build_input,
    make_situation,
    read_files,
)

ASIDE = "learning.aside"
"""Id of the degradation while facts of a place are put aside."""
_ANY_LINE = "SELECT 1 FROM learning_line WHERE project = ? LIMIT 1"
ONCE_MORE = "the model is asked once more, in halves; facts whose second answer cannot be used are put aside"


class _Asked(Struct, frozen=True):
    """What became of the calls of one synthesis."""

    answers: tuple[PaidAnswer, ...] = ()
    useless: tuple[NoUse, ...] = ()


def synthesize(place: Place, tools: Tools) -> Outcome:
    """Write lines for all facts that wait in a place. Raises OSError and TacitdError; the facts go on waiting then."""
    if place.project is not None and tools.write_mode(place.project) == "off":
        return Done()
    waits = tools.rows(
        "SELECT 1 FROM learning_fact WHERE project IS ? AND state = 'waiting' LIMIT 1", place.number
    )
    if not waits:
        return Done()
    if why := why_not_writable(place):
        return Later(why, "make it writable for tacitd, or run `tacitd exclude` for the project")
    id = f"learning.file:{place.name}"
    try:
        inputs = build_input(place, tools)
        asked = _ask_all(inputs, tools)
        outcome = asked if isinstance(asked, Later) else _write(inputs, asked, tools)
    except FileBusyError:
        raise
    except FileRefusedError as error:
        tools.degrade(Degradation(id, error.what, error.hint))
        return Later(error.what, error.hint)
    tools.clear(id)
    return outcome


def _ask_all(inputs: SynthesisInput, tools: Tools) -> _Asked | Later:
    """Ask the model about all facts, in one call or in several if there are very many.

    If a later call has to wait, so do the answers of the others: they are stored, and are not paid for again.
    """
    answers, useless = list[PaidAnswer](), list[NoUse]()
    for portion in list_portions(inputs.facts):
        match ask_for_lines(inputs, portion, tools):
            case PaidAnswer() as answer:
                answers.append(answer)
            case NoUse() as answer:
                useless.append(answer)
            case Later() as later:
                return later
    if any(not one.lost for one in useless):
        tools.degrade(Degradation(ANSWERS, useless[0].reason, ONCE_MORE))
    elif answers:
        tools.clear(ANSWERS)
    return _Asked(tuple(answers), tuple(useless))


def _write(inputs: SynthesisInput, asked: _Asked, tools: Tools) -> Outcome:
    """Decide on the proposed lines, and return the changes of files and rows."""
    place = inputs.place
    found, ungrounded = ground_answers(asked.answers, inputs, tools)
    proposals = [one for answer in asked.answers for one in answer.proposals]
    # The files may have changed during the call.
    chosen = [name.rpartition("/")[0] for name in inputs.files.files if "/" in name]
    files = read_files(place, [*inputs.folders, *chosen], tools) if proposals else inputs.files
    plan = plan_lines(proposals, make_situation(inputs, files, tools))
    by_text = {(name, row.text): row for name, one in files.files.items() for row in one.ours}
    rows = sorted(inputs.rows)
    usd = sum(one.usd for one in asked.answers)
    prompts = sorted({prompt for fact in inputs.facts if fact.is_new for prompt in fact.prompts})
    sessions = [one.session for one in inputs.rows.values() if one.session]
    key = f"synthesis {make_id(*map(str, rows), *(line.text for line in plan.lines))}"
    cause = Cause(
        key, "prompt" if prompts else "file", "synthesis", sessions[-1] if sessions else "", prompts
    )
    changes = list(_make_changes(plan, by_text, place, cause))
    hide_files(place, [change.path for change in changes], tools)
    _report_crowded(inputs, files, plan, tools)
    _report_aside(inputs, asked, tools)
    notices = [*describe_lines(plan.lines, place, usd), *describe_withheld(plan.withheld, place)]
    if not notices:
        refused = len(plan.refused) + len(ungrounded)
        why = explain_no_line(
            repeated=bool(inputs.known or plan.known),
            withheld=False,
            refused=bool(refused),
            asked=bool(inputs.facts),
        )
        notices = [Notice("no line", why, str(place.root))]
    listeners = list_listeners(tools)
    now = tools.clock.now()
    if changes and place.project is not None and not tools.rows(_ANY_LINE, place.number):
        logger.info("tacitd writes in {} from now on; `tacitd exclude` stops that", place.root)

    def apply(tx: Tx) -> None:
        lines = _store_lines(tx, plan, by_text, files, place, now)
        _store_facts(tx, inputs, plan, asked)
        gone = [old.text for line in plan.lines for old in line.replaces]
        tell_removed(tx, listeners, place, gone, now)
        tell_findings(tx, found, inputs, lines, now)
        for what in ("copies", "temporary"):
            queue_message(tx, what, place, now)
        if plan.void or any(fact.rows for one in asked.useless for fact in one.facts if not fact.tries):
            queue_message(tx, "synthesize", place, now)

    return Done(apply, tuple(changes), notices=notices)


# --- files


def _make_changes(
    plan: Plan, by_text: Mapping[tuple[str, str], LineRow], place: Place, cause: Cause
) -> Iterable[FileChange]:
    """The changes of the files: a line takes the place of one that it replaces in its own file; the others go."""
    wanted: dict[str, list[tuple[str, str, str | None]]] = {}
    for line in plan.lines:
        inside = next((old for old in line.replaces if old.path == line.path), None)
        wanted.setdefault(line.path, []).append((inside.text if inside else "", line.heading, line.text))
        for old in line.replaces:
            if old is not inside:
                heading = by_text[old.path, old.text].heading if (old.path, old.text) in by_text else ""
                wanted.setdefault(old.path, []).append((old.text, heading, None))
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


# --- rows


def _store_lines(
    tx: Tx,
    plan: Plan,
    by_text: Mapping[tuple[str, str], LineRow],
    files: SourceFiles,
    place: Place,
    now: float,
) -> list[str]:
    """Insert the lines, and mark those that they replace; return the texts of the lines that were written."""
    for row in (row for one in files.files.values() for row in one.missing if row.text not in one.removed):
        mark_line(tx, row.number, "gone")
    for line in plan.lines:
        olds = [by_text[old.path, old.text] for old in line.replaces if (old.path, old.text) in by_text]
        inside = next((old for old in olds if old.path == str(place.root / line.path)), None)
        facts = [row for fact in line.facts if fact.is_new for row in fact.rows]
        heading = inside.heading if inside is not None else line.heading
        contrary = line.beside[0].text if line.beside else ""
        path = str(place.root / line.path)
        number = put_line(
            tx, NewLineRow(place.number, path, heading, line.text, facts, contrary=contrary), now
        )
        reworded = {fact.line for fact in line.facts}
        takes_over = len(olds) > 1 or any(old.number in reworded for old in olds)
        for old in olds:
            if old.number == number:
                continue
            mark_line(tx, old.number, "replaced", number)
            if takes_over:
                inherit_facts(tx, old.number, number)
        if takes_over:
            tx.execute("UPDATE learning_line SET reworded = 1 WHERE number = ?", number)
    # A removal that was seen once is in doubt until the next look; said again, the line waits for the person either way.
    doubted = [row for one in files.files.values() for row in one.missing if row.text in one.removed]
    for line in plan.withheld:
        same = digest_same(line.text)
        removed = [row for row in (*_read_removed(tx, place), *doubted) if row.same == same]
        for row in removed[:1]:
            mark_line(tx, row.number, "withheld")
            add_facts(tx, row.number, [row for fact in line.facts if fact.is_new for row in fact.rows])
    return [line.text for line in plan.lines]


def _read_removed(tx: Tx, place: Place) -> list[LineRow]:
    return read_lines(tx.rows, place.number, ("removed", "withheld"))


def _store_facts(tx: Tx, inputs: SynthesisInput, plan: Plan, asked: _Asked) -> None:
    """Say what became of each fact. Those of lines are written; void ones go on waiting."""
    known = dict(inputs.known)
    by_text = {row.text: row.number for row in inputs.files.rows}
    for text, fact in plan.known:
        known |= dict.fromkeys(fact.rows, by_text.get(text))
    for number, line in known.items():
        _settle(tx, number, "known")
        tx.execute("UPDATE learning_fact SET line = coalesce(?, line) WHERE number = ?", line, number)
    for line in dict.fromkeys(known.values()):
        if line is not None:
            count_said(tx, line)
    mark_facts(tx, inputs.forgotten, "forgotten")
    for one in plan.refused:
        rows = [row for fact in one.facts for row in fact.rows]
        mark_facts(tx, rows, "review" if one.waits else "refused", one.reason)
    waits = {row for fact in plan.void for row in fact.rows}
    for answer in asked.useless:
        for fact in answer.facts:
            waits.update(fact.rows)
            if _is_given_up(fact, answer):
                mark_facts(tx, fact.rows, "aside", answer.reason)
            elif not answer.lost:
                tried = [(row,) for row in fact.rows]
                tx.executemany("UPDATE learning_fact SET tries = tries + 1 WHERE number = ?", tried)
    named = {row for fact in plan.used for row in fact.rows}
    for fact in inputs.facts:
        for number in fact.rows if fact.is_new else ():
            # One of a known line that was made no rule is counted there; one that a proposal names is known, or refused.
            if number not in waits:
                _settle(tx, number, "known" if fact.line is not None or number in named else "left out")


def _settle(tx: Tx, fact: int, state: FactState) -> None:
    """A fact that waited is in this state, unless it is in a line by now."""
    tx.execute("UPDATE learning_fact SET state = ? WHERE number = ? AND state = 'waiting'", state, fact)


def _is_given_up(fact: NumberedFact, answer: NoUse) -> bool:
    """Whether a fact without an answer is not asked about again."""
    return bool(answer.lost.intersection(fact.rows)) or (fact.tries > 0 and not answer.lost)


def _report_aside(inputs: SynthesisInput, asked: _Asked, tools: Tools) -> None:
    """Say how many facts are put aside, and why (SPEC S-23)."""
    place = inputs.place
    new = [
        (row, answer.reason)
        for answer in asked.useless
        for fact in answer.facts
        if _is_given_up(fact, answer)
        for row in fact.rows
    ]
    old = tools.rows(
        "SELECT number, reason FROM learning_fact WHERE project IS ? AND state = 'aside'", place.number
    )
    if not new and not old:
        tools.clear(f"{ASIDE}:{place.name}")
        return
    reason = (new or old)[0][1]
    what = f"{count_noun(len(new) + len(old), 'fact')} of {place.name} made no line: {reason}"
    tools.degrade(Degradation(f"{ASIDE}:{place.name}", what, "`tacitd rescue retry --all` tries them again"))


def _report_crowded(inputs: SynthesisInput, files: SourceFiles, plan: Plan, tools: Tools) -> None:
    """Say which files have more learned lines than they may have. The model is asked to merge some (SPEC S-54)."""
    more = Counter(line.path for line in plan.lines)
    more.subtract(old.path for line in plan.lines for old in line.replaces)
    place, crowded = inputs.place, files.count_crowded(tools.settings["learning"], more)
    id = f"learning.lines:{place.name}"
    if not crowded:
        tools.clear(id)
        return
    what = "; ".join(
        f"{place.root / name} has {count} learned lines, more than {limit}"
        for name, (count, limit) in crowded.items()
    )
    hint = "the model is asked to merge lines; `tacitd review` offers those not said for long"
    tools.degrade(Degradation(id, what, hint))
