"""What a synthesis is about: the facts that wait, and the files as they are. Nothing here asks the model or writes a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from tacitd.contract import Tools
from tacitd.errors import FileRefusedError
from tacitd.model.budget import list_paid
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.answers import ExistingLine, NumberedFact, choose_facts, number_facts
from tacitd_handlers.learning.folders import ROOT_FILES, list_folders
from tacitd_handlers.learning.known import load_known
from tacitd_handlers.learning.learned_rows import (
    FactRow,
    FactState,
    read_facts,
    read_forgotten,
    read_lines,
)
from tacitd_handlers.learning.plan import FileNow, Situation
from tacitd_handlers.learning.settings import LearningSettings
from tacitd_handlers.learning.sources import (
    Place,
    SourceFile,
    find_root_file,
    known_lines,
    open_folders,
    read_source,
    read_text,
)
from tacitd_handlers.reach.client_rules import AGENTS, LEARNED
from tacitd_handlers.shared.equality import index_texts, make_key

_FOLDER = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*/?")
"""What may be a folder's name in a fact: "keep `src/auth` free of mocks"."""
FILES_LIMIT = 60
SourceFiles = Mapping[str, SourceFile]
"""The files that lines may be put into, LEARNED.md first, by path relative to the place."""
_LEFT_OUT: tuple[FactState, ...] = ("left out",)
LEFT_OUT_LIMIT = 50
"""Facts that were left out before and go with the new ones, the newest."""


def list_lines(files: SourceFiles) -> list[ExistingLine]:
    """Their lines, each file in its order, and behind its list items what else it says."""
    found: list[ExistingLine] = []
    for name, one in files.items():
        ours, listed = {row.text for row in one.ours}, {text for _, text in one.leaves}
        leaves = [*one.leaves, *(("", text) for text in one.statements if text not in listed)]
        found += [ExistingLine(name, heading, text, text in ours) for heading, text in leaves]
    return found


def count_crowded(
    files: SourceFiles, settings: LearningSettings, more: Mapping[str, int] | None = None
) -> dict[str, tuple[int, int]]:
    """Return (number, limit) of the learned lines of each file that has more than its limit. `more`: how many are about to come."""
    found = dict[str, tuple[int, int]]()
    for name, one in files.items():
        limit = settings.max_lines if name in ROOT_FILES else settings.max_module_lines
        count = len(one.ours) + (more or {}).get(name, 0)
        found |= {name: (count, limit)} if count > limit else {}
    return found


def _describe_now(one: SourceFile) -> FileNow:
    """What a plan needs of a file. A line with a secret is there as the model saw it too, so that it is not repeated."""
    blanked = (blank for text in one.statements if (blank := redact_secrets(text)[0]) != text)
    return FileNow((*one.statements, *blanked), one.headings, frozenset(row.text for row in one.ours))


class SynthesisInput(Struct, frozen=True):
    """The facts of one synthesis and the files that they may be written to."""

    place: Place
    rows: Mapping[int, FactRow]
    """The facts that wait and are decided on, by number."""
    facts: tuple[NumberedFact, ...]
    """Of one call: facts that no document contains, lines that were corrected again, and behind them those that were left out before."""
    is_partial: bool
    known: Mapping[int, int | None]
    """By fact that a document contains, the line of tacitd that says it."""
    forgotten: tuple[int, ...]
    """Facts that the person said are never to be learned."""
    reword: frozenset[str]
    """Lines that are to be reworded as a rule."""
    files: SourceFiles
    folders: tuple[str, ...]


def build_input(place: Place, tools: Tools) -> SynthesisInput:
    """Read the files, and leave out facts that documents contain.

    Raises FileBusyError, and FileRefusedError if the file for lines of the whole project cannot be edited.
    """
    rows = {fact.number: fact for fact in read_facts(tools.rows, place.number)}
    folders = list_folders(tools.rows, [one.session for one in rows.values()], place.root)
    # What in the facts may be a folder of the project. The disk decides.
    words = (word for one in rows.values() for word in _FOLDER.findall(one.text))
    named = [word.rstrip("/.") for word in words if "/" in word]
    files = read_files(place, [*folders, *named], tools)
    written = [row for one in files.values() for row in one.rows]
    ours, by_number = {row.same: row for row in written}, {row.number: row for row in written}
    documents = [text for name, one in files.items() if name in ROOT_FILES for text in one.statements]
    if place.project is not None:
        documents += load_known(place.project, tools).statements
    documented = index_texts(documents)
    covers = read_forgotten(tools.rows, place)
    wanted: list[FactRow] = []
    known, forgotten, reword = dict[int, int | None](), list[int](), set[str]()
    for fact in rows.values():
        if fact.line in by_number:
            reword.add(by_number[fact.line].text)
            wanted.append(fact)
        elif covers(fact.text):
            forgotten.append(fact.number)
        elif fact.same in ours:
            known[fact.number] = ours[fact.same].number
        elif make_key(fact.text) in documented:
            known[fact.number] = None
        else:
            wanted.append(replace(fact, line=None))
    left_out = [one for one in read_facts(tools.rows, place.number, _LEFT_OUT) if not covers(one.text)]
    numbered = number_facts(wanted, left_out[-LEFT_OUT_LIMIT:])
    facts = choose_facts(numbered)
    # Those of a call that was answered before a crash, if the first chosen one is among them: later ones belong to the next synthesis.
    paid = list_paid(tools.rows, "learning", "fact", str(facts[0].rows[0])) if facts else set[str]()
    if new := [fact for fact in numbered if fact.is_new and str(fact.rows[0]) in paid]:
        facts = (*new, *(fact for fact in numbered if not fact.is_new))
    later = {row for fact in numbered if fact.is_new and fact not in facts for row in fact.rows}
    rows = {number: row for number, row in rows.items() if number not in later}
    return SynthesisInput(
        place, rows, facts, bool(later), known, tuple(forgotten), frozenset(reword), files, tuple(folders)
    )


def read_files(place: Place, folders: Iterable[str], tools: Tools) -> SourceFiles:
    """Read LEARNED.md, the rule file if it has the project's lines, the AGENTS.md of these folders and of those above them, and each
    file with a line of ours.

    Raises FileBusyError, and FileRefusedError if the file for lines of the whole project cannot be edited.
    """
    above = [folder.rsplit("/", n)[0] for folder in folders for n in range(folder.count("/") + 1)]
    root, main = place.root, find_root_file(place)
    written = [row.path for row in read_lines(tools.rows, place.number)]
    names = [path.removeprefix(f"{root}/") for path in dict.fromkeys(written) if path.startswith(f"{root}/")]
    having = [name.removesuffix(f"/{AGENTS}") for name in names if name not in ROOT_FILES]
    found = dict[str, SourceFile]()
    for name in dict.fromkeys((LEARNED, main)):
        found[name] = read_source(root / name, root, tools, must_edit=name == main)
    if main != LEARNED:
        # Git tracks it now: no line of it is replaced.
        found[LEARNED] = SourceFile(found[LEARNED].path, found[LEARNED].data)
    for folder in open_folders(place, [*above, *having])[:FILES_LIMIT]:
        name = f"{folder}/{AGENTS}"
        # The lines of a folder whose file cannot be edited go to the file of the whole project.
        with suppress(FileRefusedError):
            found[name] = read_source(root / name, root, tools, must_edit=True)
    return found


def make_situation(inputs: SynthesisInput, files: SourceFiles, tools: Tools) -> Situation:
    """All that a plan depends on beside the proposals. `files`: as they are now."""
    place = inputs.place
    removed = {name: set(one.removed) for name, one in files.items() if one.removed}
    for row in read_lines(tools.rows, place.number, ("removed", "withheld")):
        removed.setdefault(row.path.removeprefix(f"{place.root}/"), set()).add(row.text)
    # The person's, for the whole project; tacitd has no lines in them.
    names = (AGENTS, "CLAUDE.md") if place.project is not None else ()
    documents = {name: known_lines(read_text(place.root / name, place.root)) for name in names}
    return Situation(
        {name: _describe_now(one) for name, one in files.items()},
        removed,
        inputs.reword,
        read_forgotten(tools.rows, place),
        {name: lines for name, lines in documents.items() if lines},
        inputs.folders,
        find_root_file(place),
    )
