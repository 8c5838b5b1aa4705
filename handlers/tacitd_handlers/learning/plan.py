"""Decide what becomes of proposed lines: what is written, what it replaces, and what waits (SPEC S-24, S-26, S-28, S-67). Pure.

A number in a proposal is void if what it named is not there any more: the files are read again after the model's call. A line that
says more than its facts, or something else, becomes these facts. If a plan is carried out and made again, the second one writes
nothing (SPEC S-29).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from tacitd_handlers.learning.folders import GENERAL, GROUPS, ROOT_FILES
from tacitd_handlers.learning.numbered import ExistingLine, NumberedFact
from tacitd_handlers.learning.proposals import Proposal
from tacitd_handlers.shared.fact_index import FactIndex
from tacitd_handlers.shared.line_cleaning import Unfit, clean_fact
from tacitd_handlers.shared.rule_names import LEARNED
from tacitd_handlers.shared.words import Refused, Sources, find_loss, share_subject, word_line

LINES_LIMIT = 20
"""Default maximum number of lines that one synthesis writes."""
REPLACED_LIMIT = 2
"""How many lines one fact replaces at most."""


class FileNow(Struct, frozen=True):
    """A file as it is when the lines are written."""

    statements: tuple[str, ...] = ()
    """All that is said in it, its bullets first."""
    headings: tuple[str, ...] = ()
    ours: frozenset[str] = frozenset()
    """The lines in it that tacitd wrote, as they were written. Only these are replaced."""


class Situation(Struct, frozen=True):
    """All that a plan depends on beside the proposals. Mappings are by path relative to the project."""

    files: Mapping[str, FileNow]
    """The files that a line may be put into."""
    facts: Collection[NumberedFact]
    removed: Mapping[str, AbstractSet[str]] = {}
    """Lines of ours that the person removed."""
    reword: AbstractSet[str] = frozenset()
    """Lines whose words may change although they say the same."""
    is_forgotten: Callable[[str], bool] = lambda text: False
    """Whether the person said that a text is never to be learned again."""
    documents: Mapping[str, Sequence[str]] = {}
    """Statements of the person's documents that apply in the whole project."""
    folders: tuple[str, ...] = ()
    """Folders that the sessions worked in. A line may name its folder."""
    root_file: str = LEARNED
    """The file for lines of the whole project, one of ROOT_FILES."""


class RefusedText(Struct, frozen=True):
    """A text of a model that is not stored."""

    text: str
    reason: str
    facts: tuple[NumberedFact, ...] = ()
    """What it was made of."""
    waits: bool = False
    """True: a person decides about it. False: it is refused."""


class NewLine(Struct, frozen=True):
    """A line to write."""

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
    dropped: int = 0
    """Number of proposals that the files have already, or that were forgotten."""
    withheld: tuple[NewLine, ...] = ()
    """Lines that the person removed, and that were said again."""
    conflicts: tuple[tuple[str, ExistingLine], ...] = ()
    """Written lines with a line that stays beside them and that a person decides about."""
    refused: tuple[RefusedText, ...] = ()
    void: tuple[NumberedFact, ...] = ()
    """Facts of proposals with a void number, or beyond the limit. They wait for the next synthesis."""
    used: tuple[NumberedFact, ...] = ()
    """Facts that a proposal names."""


def plan_lines(proposals: Sequence[Proposal], now: Situation, limit: int = LINES_LIMIT) -> Plan:
    """Return what becomes of the proposals. `limit`: the maximum number of lines."""
    valid: list[Proposal] = []
    void: list[NumberedFact] = []
    known_facts = {fact.text for fact in now.facts}
    for one in proposals:
        facts = tuple(fact for fact in one.facts if fact.text in known_facts)
        if (one.facts and not facts) or not all(_is_there(line, now) for line in one.replaces):
            void += facts
        else:
            valid.append(replace(one, facts=facts))
    used = {fact.text: fact for one in valid for fact in one.facts}
    drafts, refused = _word_all(valid, now)
    state = _Planner(now, drafts)
    for draft in drafts:
        state.add(draft, limit)
    beyond = {fact.text for fact in state.beyond}
    written = {fact.text for fact in used.values() if fact.text not in beyond}
    written |= {fact.text for line in state.lines for fact in line.facts}
    return Plan(
        tuple(state.lines),
        tuple(dict.fromkeys(state.known)),
        state.dropped,
        tuple(state.withheld),
        tuple(dict.fromkeys(state.conflicts)),
        tuple(refused),
        tuple({fact.text: fact for fact in (*void, *state.beyond) if fact.text not in written}.values()),
        tuple(used.values()),
    )


def choose_heading(section: str, headings: Collection[str]) -> str:
    """The heading for a line: the group that the answer's SECTION names, or a heading of the file. A model makes no other one."""
    title = section.strip("#*_`\"' ").rstrip(":").casefold()
    return next((one for one in (*GROUPS, *headings) if one.casefold() == title), GENERAL)


def _is_there(line: ExistingLine, now: Situation) -> bool:
    """Whether a line is what it was when the model was asked."""
    file = now.files.get(line.path, FileNow())
    return line.text in (file.ours if line.is_ours else file.statements)


def _word_all(proposals: Iterable[Proposal], now: Situation) -> tuple[list[NewLine], list[RefusedText]]:
    """The proposals as lines that say no more than their facts, in their places."""
    drafts: list[NewLine] = []
    refused: list[RefusedText] = []
    given = list(proposals)
    divided: dict[str, list[str]] = {}
    for one in given:
        for fact in one.facts:
            divided.setdefault(fact.text, []).append(one.text)
    for one in given:
        path = one.file if one.file in now.files and one.file not in ROOT_FILES else now.root_file
        heading = choose_heading(one.section, now.files.get(path, FileNow()).headings)
        text = clean_fact(one.text)
        reason = text.reason if isinstance(text, Unfit) else ""
        if not isinstance(text, Unfit):
            found = _check_words(text, one, divided, now)
            if found is None:
                ours = tuple(line for line in one.replaces if line.is_ours)
                theirs = tuple(line for line in one.replaces if not line.is_ours)
                drafts.append(NewLine(path, heading, text, one.facts, ours, theirs))
                continue
            reason = found.reason
        if not one.facts:
            refused.append(RefusedText(one.text, reason))
            continue
        # The facts may say less than the lines that it merges, so these stay, and a person decides about them.
        beside = one.replaces
        for fact in one.facts:
            text = clean_fact(fact.text)
            if isinstance(text, Unfit):
                refused.append(RefusedText(fact.text, text.reason, (fact,)))
                continue
            drafts.append(NewLine(path, heading, text, (fact,), (), beside))
            beside = ()
    return drafts, refused


def _check_words(
    text: str, one: Proposal, divided: Mapping[str, Sequence[str]], now: Situation
) -> Refused | None:
    """Why a text is not what its facts say; None if it is. `divided`: by fact, all lines that are made of it.

    A line that it replaces may lend it words, and no negation. Of several facts a later one may set a number of an earlier one aside.
    """
    facts, olds = (
        tuple(fact.text for fact in one.facts),
        tuple(line.text for line in one.replaces if line.is_ours),
    )
    if not facts:
        return word_line(text, Sources(olds, now.folders))
    at = next((fact.at for fact in one.facts if fact.at is not None), None)
    found = word_line(text, Sources(facts, (*now.folders, *olds), at))
    if found is not None or len(facts) != 1:
        return found
    return find_loss(text, facts[0], at, divided[facts[0]])


class _Planner:
    """The lines of the files while a plan is made, with the lines so far written."""

    def __init__(self, now: Situation, drafts: Sequence[NewLine]) -> None:
        self.lines: list[NewLine] = []
        self.known: list[tuple[str, NumberedFact]] = []
        self.withheld: list[NewLine] = []
        self.conflicts: list[tuple[str, ExistingLine]] = []
        self.beyond: list[NumberedFact] = []
        self.dropped = 0
        self._now = now
        self._said = {path: FactIndex(file.statements) for path, file in now.files.items()}
        # If a plan has both a line and its contrary, replacing repeated lines would swap the two on every run.
        texts = FactIndex(draft.text for draft in drafts)
        self._replaceable = {
            path: {line for line in file.ours if line in now.reword or texts.find_equal(line) is None}
            for path, file in now.files.items()
        }
        self._contraries = {path: FactIndex(sorted(lines)) for path, lines in self._replaceable.items()}
        self._removed: dict[str, FactIndex] = {}
        self._theirs = _index_theirs(now)

    def add(self, draft: NewLine, limit: int) -> None:
        """Write a line, or note why it is not. The order of the checks matters: a line that is in the file already is known, even if
        the person removed it once."""
        if self._now.is_forgotten(draft.text):
            self.dropped += 1
            return
        known = self._find_known(draft)
        if known is not None:
            self.dropped += 1
            # A model may copy existing lines into its answer, which counts nothing (SPEC S-54): a fact must say the line.
            says = [
                fact
                for fact in draft.facts
                if fact.is_new and word_line(known, Sources((fact.text,))) is None
            ]
            self.known += [(known, fact) for fact in says]
            return
        if self._find_removed(draft) is not None:
            self.withheld.append(draft)
            return
        if len(self.lines) >= limit:
            self.beyond += draft.facts
            return
        replaces, kept = self._choose_replaced(draft)
        beside = dict.fromkeys((*kept, *draft.beside, *self._find_contrary(draft)))
        self.conflicts += [(draft.text, line) for line in beside]
        for line in replaces:
            self._replaceable[line.path].discard(line.text)
            self._contraries[line.path].replace(line.text, None)
            self._said[line.path].replace(line.text, None)
        self._said.setdefault(draft.path, FactIndex()).add(draft.text)
        self.lines.append(replace(draft, replaces=replaces, beside=tuple(beside)))

    def _find_known(self, draft: NewLine) -> str | None:
        """The first line that says it and applies in the file's folder; a line of ours that it rewords does not count."""
        texts = {line.text for line in draft.replaces if line.text != draft.text}
        reworded = texts & self._now.reword
        for path in dict.fromkeys((draft.path, *ROOT_FILES)):
            for without in sorted(reworded) or (None,):
                line = self._said[path].find_equal(draft.text, without) if path in self._said else None
                if line is not None:
                    return line
        return None

    def _find_removed(self, draft: NewLine) -> str | None:
        """The removed line that says it. One that was removed from any file is not put into LEARNED.md, and one that was removed from
        LEARNED.md is not put into a folder's file."""
        if draft.path not in self._removed:
            removed = self._now.removed
            apart = (removed.get(draft.path, ()), removed.get(LEARNED, ()))
            sources = removed.values() if draft.path == LEARNED else apart
            self._removed[draft.path] = FactIndex(sorted({line for lines in sources for line in lines}))
        return self._removed[draft.path].find_equal(draft.text)

    def _choose_replaced(self, draft: NewLine) -> tuple[tuple[ExistingLine, ...], list[ExistingLine]]:
        """The lines of ours that a line replaces, and those that it names and that a person decides about.

        A replaced line shares a subject with the line or its facts. A folder's line never replaces one of the whole project.
        """
        sayings = (draft.text, *(fact.text for fact in draft.facts))
        open_ones = [line for line in draft.replaces if line.text in self._replaceable.get(line.path, ())]
        general = [line for line in open_ones if line.path in ROOT_FILES and draft.path not in ROOT_FILES]
        fit = [
            line
            for line in open_ones
            if line not in general and any(share_subject(text, line.text) for text in sayings)
        ]
        taken = fit[: REPLACED_LIMIT * max(1, len(draft.facts))]
        kept = [line for line in open_ones if line not in taken and line not in general]
        if not draft.replaces and (contrary := self._find_reversal(draft)) is not None:
            taken = [contrary]
        return tuple(taken), kept

    def _find_reversal(self, draft: NewLine) -> ExistingLine | None:
        """A line of ours in the same file that is its contrary."""
        index = self._contraries.get(draft.path)
        line = index.find_reversal(draft.text) if index is not None else None
        return ExistingLine(draft.path, draft.heading, line, is_ours=True) if line is not None else None

    def _find_contrary(self, draft: NewLine) -> Iterator[ExistingLine]:
        """Lines of the person's that are its contrary."""
        for path, index in self._theirs.items():
            applies = path in (draft.path, *ROOT_FILES) or path in self._now.documents
            if applies and (line := index.find_reversal(draft.text)) is not None:
                yield ExistingLine(path, "", line, is_ours=False)


def _index_theirs(now: Situation) -> dict[str, FactIndex]:
    """The lines of the person's, by file."""
    theirs = {
        path: [line for line in file.statements if line not in file.ours] for path, file in now.files.items()
    }
    # A document can be a link to LEARNED.md, or import it.
    ours = FactIndex(line for file in now.files.values() for line in file.ours)
    for path, lines in now.documents.items():
        theirs.setdefault(path, [line for line in lines if ours.find_equal(line) is None])
    return {path: FactIndex(lines) for path, lines in theirs.items()}
