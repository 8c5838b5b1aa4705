"""Decide what becomes of proposed lines: what is written, what it replaces, and what waits (SPEC S-24, S-26, S-28, S-67). Pure.

A proposal is void if a line that it names is not there any more: the files are read again after the model's call. A line that says
more than its facts, or something else, becomes these facts. If a plan is carried out and made again, the second one writes nothing
(SPEC S-29).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from tacitd_handlers.learning.answers import ExistingLine, NumberedFact, Proposal
from tacitd_handlers.learning.folders import GENERAL, GROUPS, ROOT_FILES
from tacitd_handlers.reach.client_rules import LEARNED
from tacitd_handlers.shared.equality import index_texts, is_reversal, make_key
from tacitd_handlers.shared.fact_text import Unfit, clean_fact
from tacitd_handlers.shared.words import Refused, Sources, find_loss, share_subject, word_line

LINES_LIMIT = 20
REPLACED_LIMIT = 2
"""How many lines one fact replaces at most."""


class FileNow(Struct, frozen=True):
    statements: tuple[str, ...] = ()
    """All that is said in it, its bullets first."""
    headings: tuple[str, ...] = ()
    ours: frozenset[str] = frozenset()
    """The lines in it that tacitd wrote, as they were written. Only these are replaced."""


class Situation(Struct, frozen=True):
    """All that a plan depends on beside the proposals. Mappings are by path relative to the project."""

    files: Mapping[str, FileNow]
    removed: Mapping[str, AbstractSet[str]] = {}
    """Lines of ours that the person removed."""
    reword: AbstractSet[str] = frozenset()
    """Lines whose words may change although they say the same."""
    is_forgotten: Callable[[str], bool] = lambda text: False
    documents: Mapping[str, Sequence[str]] = {}
    """Statements of the person's documents that apply in the whole project."""
    folders: tuple[str, ...] = ()
    """Folders that the sessions worked in. A line may name its folder."""
    root_file: str = LEARNED
    """The file for lines of the whole project, one of ROOT_FILES."""


class NewLine(Struct, frozen=True):
    path: str
    heading: str
    text: str
    facts: tuple[NumberedFact, ...]
    replaces: tuple[ExistingLine, ...] = ()
    """Lines of ours whose place it takes."""
    beside: tuple[ExistingLine, ...] = ()
    """Lines that stay beside it and that a person decides about."""


class Plan(Struct, frozen=True):
    """What becomes of the proposals of one synthesis."""

    lines: tuple[NewLine, ...] = ()
    known: tuple[tuple[str, NumberedFact], ...] = ()
    """Lines that the files have already, with a new fact that says each."""
    withheld: tuple[NewLine, ...] = ()
    """Lines that the person removed, and that were said again."""
    refused: tuple[tuple[str, tuple[NumberedFact, ...]], ...] = ()
    """Texts of the model that are not stored: why, and the facts that they were made of."""
    void: tuple[NumberedFact, ...] = ()
    """Facts of void proposals, or beyond the limit. They wait for the next synthesis."""
    used: tuple[NumberedFact, ...] = ()


def plan_lines(proposals: Sequence[Proposal], now: Situation, limit: int = LINES_LIMIT) -> Plan:
    """Return what becomes of the proposals. `limit`: the maximum number of lines."""
    valid = [one for one in proposals if all(_is_there(line, now) for line in one.replaces)]
    void = [fact for one in proposals if one not in valid for fact in one.facts]
    drafts, refused = _word_all(valid, now)
    files = _Files(now, drafts)
    lines, withheld, beyond = list[NewLine](), list[NewLine](), list[NumberedFact]()
    known: dict[tuple[str, NumberedFact], None] = {}
    for draft in drafts:
        if now.is_forgotten(draft.text):
            continue
        # A line that is in the file already is known, even if the person removed it once.
        if (there := files.find_known(draft)) is not None:
            # A model may copy existing lines into its answer, which counts nothing (SPEC S-54): a fact must say the line.
            new = (fact for fact in draft.facts if fact.is_new)
            known |= {(there, fact): None for fact in new if word_line(there, Sources((fact.text,))) is None}
        elif files.is_removed(draft):
            withheld.append(draft)
        elif len(lines) >= limit:
            beyond += draft.facts
        else:
            lines.append(files.put(draft))
    used = dict.fromkeys(fact for one in valid for fact in one.facts)
    done = {fact for fact in used if fact not in beyond} | {fact for line in lines for fact in line.facts}
    waits = dict.fromkeys(fact for fact in (*void, *beyond) if fact not in done)
    return Plan(tuple(lines), tuple(known), tuple(withheld), tuple(refused), tuple(waits), tuple(used))


def _is_there(line: ExistingLine, now: Situation) -> bool:
    file = now.files.get(line.path, FileNow())
    return line.text in (file.ours if line.is_ours else file.statements)


def _word_all(
    proposals: Sequence[Proposal], now: Situation
) -> tuple[list[NewLine], list[tuple[str, tuple[NumberedFact, ...]]]]:
    drafts, refused = list[NewLine](), list[tuple[str, tuple[NumberedFact, ...]]]()
    divided: dict[NumberedFact, list[str]] = {}
    for one in proposals:
        for fact in one.facts:
            divided.setdefault(fact, []).append(one.text)
    for one in proposals:
        path = one.file if one.file in now.files and one.file not in ROOT_FILES else now.root_file
        # The group that the answer's SECTION names, or a heading of the file. A model makes no other one.
        section = one.section.strip("#*_`\"' ").rstrip(":").casefold()
        headings = (*GROUPS, *now.files.get(path, FileNow()).headings)
        heading = next((name for name in headings if name.casefold() == section), GENERAL)
        text = clean_fact(one.text)
        found = text if isinstance(text, Unfit) else _check_words(text, one, divided, now)
        if isinstance(text, str) and found is None:
            ours = tuple(line for line in one.replaces if line.is_ours)
            theirs = tuple(line for line in one.replaces if not line.is_ours)
            drafts.append(NewLine(path, heading, text, one.facts, ours, theirs))
            continue
        if not one.facts and found is not None:
            refused.append((found.reason, ()))
        # The facts may say less than the lines that it merges, so these stay, and a person decides about them.
        beside = one.replaces
        for fact in one.facts:
            text = clean_fact(fact.text)
            if isinstance(text, Unfit):
                refused.append((text.reason, (fact,)))
                continue
            drafts.append(NewLine(path, heading, text, (fact,), (), beside))
            beside = ()
    return drafts, refused


def _check_words(
    text: str, one: Proposal, divided: Mapping[NumberedFact, Sequence[str]], now: Situation
) -> Refused | None:
    """Why a text is not what its facts say; None if it is. `divided`: by fact, all lines that are made of it.

    A line that it replaces may lend it words, and no negation. Of several facts a later one may set a number of an earlier one aside.
    """
    facts = tuple(fact.text for fact in one.facts)
    olds = tuple(line.text for line in one.replaces if line.is_ours)
    if not facts:
        found = word_line(text, Sources(olds, now.folders))
        return found or next(filter(None, (find_loss(text, old) for old in olds)), None)
    at = next((fact.at for fact in one.facts if fact.at is not None), None)
    found = word_line(text, Sources(facts, (*now.folders, *olds), at))
    if found is not None or len(facts) != 1:
        return found
    return find_loss(text, facts[0], at, divided[one.facts[0]])


class _Files:
    """What the files say while a plan is made, with the lines so far written."""

    def __init__(self, now: Situation, drafts: Iterable[NewLine]) -> None:
        self._now = now
        self._said = {path: index_texts(file.statements) for path, file in now.files.items()}
        # If a plan has both a line and its contrary, replacing repeated lines would swap the two on every run.
        drafted = {make_key(draft.text) for draft in drafts}
        self._replaceable = {
            path: {line for line in file.ours if line in now.reword or make_key(line) not in drafted}
            for path, file in now.files.items()
        }
        self._removed = {path: set(map(make_key, lines)) for path, lines in now.removed.items()}
        ours = index_texts(line for file in now.files.values() for line in file.ours)
        self._theirs = {
            path: [line for line in file.statements if line not in file.ours]
            for path, file in now.files.items()
        }
        for path, lines in now.documents.items():
            # A document can be a link to LEARNED.md, or import it.
            self._theirs.setdefault(path, [line for line in lines if make_key(line) not in ours])

    def find_known(self, draft: NewLine) -> str | None:
        """The line that says it and applies in the file's folder; a line of ours that it rewords does not count."""
        reworded = {line.text for line in draft.replaces if line.text != draft.text} & self._now.reword
        for path in dict.fromkeys((draft.path, *ROOT_FILES)):
            line = self._said.get(path, {}).get(make_key(draft.text))
            if line is not None and line not in reworded:
                return line
        return None

    def is_removed(self, draft: NewLine) -> bool:
        """Whether the person removed it. What was removed from any file is not put into LEARNED.md, and what was removed from
        LEARNED.md is not put into a folder's file."""
        key, paths = make_key(draft.text), (draft.path, LEARNED)
        return any(
            key in keys for path, keys in self._removed.items() if path in paths or draft.path == LEARNED
        )

    def put(self, draft: NewLine) -> NewLine:
        """Put a line into its file; return it with what it replaces, and what stays beside it."""
        replaces, kept = self._choose_replaced(draft)
        beside = dict.fromkeys((*kept, *draft.beside, *self._find_contrary(draft)))
        for line in replaces:
            self._replaceable[line.path].discard(line.text)
            self._said[line.path].pop(make_key(line.text), None)
        self._said.setdefault(draft.path, {}).setdefault(make_key(draft.text), draft.text)
        return replace(draft, replaces=replaces, beside=tuple(beside))

    def _choose_replaced(self, draft: NewLine) -> tuple[tuple[ExistingLine, ...], list[ExistingLine]]:
        """The lines of ours that a line replaces, and those that it names and that a person decides about.

        A replaced line shares a subject with the line or its facts. A folder's line never replaces one of the whole project.
        """
        if not draft.replaces:
            mine = sorted(self._replaceable.get(draft.path, ()))
            contrary = next((line for line in mine if is_reversal(draft.text, line)), None)
            found = () if contrary is None else (ExistingLine(draft.path, draft.heading, contrary, True),)
            return found, []
        sayings = (draft.text, *(fact.text for fact in draft.facts))
        may = [
            line
            for line in draft.replaces
            if line.text in self._replaceable.get(line.path, ())
            and not (line.path in ROOT_FILES and draft.path not in ROOT_FILES)
        ]
        fit = [line for line in may if any(share_subject(text, line.text) for text in sayings)]
        taken = tuple(fit[: REPLACED_LIMIT * max(1, len(draft.facts))])
        return taken, [line for line in may if line not in taken]

    def _find_contrary(self, draft: NewLine) -> Iterator[ExistingLine]:
        for path, lines in self._theirs.items():
            if path in (draft.path, *ROOT_FILES) or path in self._now.documents:
                line = next((line for line in lines if is_reversal(draft.text, line)), None)
                if line is not None:
                    yield ExistingLine(path, "", line, is_ours=False)
