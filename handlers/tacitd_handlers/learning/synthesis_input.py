"""The input of one synthesis: the facts to ask about, and the files as they are. Nothing here asks the model or writes a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from tacitd.events import Project
from tacitd.handler import Degradation, Tools
from tacitd.text.markdown import lines_of
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.folders import AGENTS, LEARNED, ROOT_FILES, RULES
from tacitd_handlers.learning.numbered import ExistingLine, NumberedFact, number_facts
from tacitd_handlers.learning.pending_facts import PendingFacts
from tacitd_handlers.learning.person_decisions import read_forgotten
from tacitd_handlers.learning.plan import FileNow
from tacitd_handlers.learning.project_files import SharedFile, open_folders, read_all
from tacitd_handlers.learning.raw_facts import RawLine
from tacitd_handlers.learning.refusals import RefusedText
from tacitd_handlers.learning.removals import find_written_lines
from tacitd_handlers.learning.settings import LearningSettings
from tacitd_handlers.learning.state import Extracted, LearningState
from tacitd_handlers.shared.equality import normalise_text
from tacitd_handlers.shared.fact_index import FactIndex
from tacitd_handlers.shared.words import judge_text

_FOLDER = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*/?")
"""What may be a folder's name in a fact: "keep `src/auth` free of mocks"."""
FILES_LIMIT = 60
"""Maximum number of files that the model may choose from."""


class ProjectFiles(Struct, frozen=True):
    """The files that lines may be put into, LEARNED.md first."""

    shared: Mapping[str, SharedFile]
    """By path relative to the project."""
    ours: Mapping[str, frozenset[str]]
    """The lines in each of them that tacitd wrote, as they were written."""
    closed: Mapping[str, str]
    """Folders whose AGENTS.md cannot be edited now, with the reason."""

    def list_lines(self) -> list[ExistingLine]:
        """Their lines, each file in its order, and behind its bullets what else it says."""
        found: list[ExistingLine] = []
        for path, one in self.shared.items():
            ours = self.ours.get(path, frozenset())
            bullets = [
                ExistingLine(path, heading, text, text in ours) for heading, text in lines_of(one.data)
            ]
            listed = {line.text for line in bullets}
            rest = [
                ExistingLine(path, "", text, is_ours=False)
                for text in one.all_statements
                if text not in listed
            ]
            found += [*bullets, *rest]
        return found

    def count_crowded(self, settings: LearningSettings) -> dict[str, tuple[int, int]]:
        """Return (number, limit) of the learned lines of each file that has more than its limit."""
        limits = {
            path: settings.max_lines if path in ROOT_FILES else settings.max_module_lines
            for path in self.shared
        }
        counts = {path: len(self.ours.get(path, ())) for path in self.shared}
        return {path: (counts[path], limit) for path, limit in limits.items() if counts[path] > limit}

    def describe_now(self) -> dict[str, FileNow]:
        """What a plan needs of them."""
        return {
            path: FileNow(
                (*one.lines, *one.all_statements, *_list_blanked(one)),
                tuple(dict.fromkeys(heading for heading, _ in lines_of(one.data) if heading)),
                self.ours.get(path, frozenset()),
            )
            for path, one in self.shared.items()
        }


class SynthesisInput(Struct, frozen=True):
    """The facts of one synthesis and the files that they may be written to."""

    project: Project
    pending: PendingFacts
    facts: tuple[NumberedFact, ...]
    """The facts that no document contains, lines of ours that were corrected again, and behind them those that were left out
    before."""
    again: tuple[str, ...]
    """Lines of ours that the other facts repeat."""
    corrected_again: tuple[str, ...]
    """Those of them that were corrections."""
    reword: frozenset[str]
    """Lines of ours that are to be reworded as a rule."""
    files: ProjectFiles
    words: tuple[str, ...]
    """The beginnings of the messages."""


def build_input(
    project: Project, pending: PendingFacts, bootstrap: Bootstrap, state: LearningState, tools: Tools
) -> tuple[SynthesisInput, list[RefusedText]]:
    """Read the files, and leave out facts that documents contain and dangerous facts of other tools.

    Returns the input, and a refusal for each dangerous fact. Raises FileRefusedError if LEARNED.md cannot be edited.
    """
    files = read_files(project, [*pending.folders, *_list_named_folders(pending.facts)], tools)
    closed = {folder: why for folder, why in files.closed.items() if folder in pending.folders}
    _report_closed(project, closed, tools)
    documents = bootstrap.load_documents(project, tools)
    waiting = {**state.judged.get(project.root, {}), **state.waiting.get(project.root, {})}
    typed, refused = _sift_raw(pending.lines, {id: made.facts for id, made in waiting.items()})
    known = FactIndex(_list_known_lines(files))
    more = FactIndex((*files.shared[LEARNED].all_statements, *documents.list_known_lines()))
    judged = set(typed)
    marks = [(fact, mark) for line in pending.lines for fact, mark in line.marked_facts if fact in judged]
    again = {fact: line for fact in judged if (line := known.find_equal(fact)) is not None}
    reword = {again[fact] for fact, mark in marks if mark.again and fact in again}
    wanted = {fact for fact, line in again.items() if line in reword}
    wanted |= {fact for fact in judged - again.keys() if more.find_equal(fact) is None}
    forgotten = read_forgotten(tools.home, project.root)
    wanted = {fact for fact in wanted if not forgotten.covers(fact)}
    repeats = [(again[fact], mark) for fact, mark in marks if fact in again and not mark.again]
    batches = [waiting[id] for id in pending.batches if id in waiting]
    left_out = [
        one for one in state.left_out.get(project.root, {}).values() if not forgotten.covers(one.text)
    ]
    made = SynthesisInput(
        project,
        pending,
        number_facts(pending.lines, wanted, _read_times(waiting.values()), left_out),
        tuple(line for line, _ in repeats),
        tuple(dict.fromkeys(line for line, mark in repeats if mark.corrected)),
        frozenset(reword),
        files,
        tuple(word for made in batches for word in made.words),
    )
    return made, refused


def read_files(project: Project, folders: Iterable[str], tools: Tools) -> ProjectFiles:
    """Read LEARNED.md, the AGENTS.md of these folders and of those above them, and each file with a line of ours.

    Raises FileRefusedError if LEARNED.md cannot be edited.
    """
    local = tools.write_mode(project) == "local"
    written = find_written_lines(tools.history, project)
    above = [folder.rsplit("/", n)[0] for folder in folders for n in range(folder.count("/") + 1)]
    names = [name.removesuffix(f"/{AGENTS}") for name in written if name not in ROOT_FILES]
    wanted = open_folders(project, [*above, *names], local=local)[:FILES_LIMIT]
    shared, closed = read_all(project, wanted, local=local)
    ours = {name: frozenset(written.get(name, ())) & set(one.lines) for name, one in shared.items()}
    if RULES in shared:
        ours.pop(LEARNED, None)  # git tracks it now, so no line of it is replaced
    return ProjectFiles(shared, ours, closed)


def _sift_raw(
    lines: Iterable[RawLine], ours: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], list[RefusedText]]:
    """Return the facts of a raw file, and a refusal for each of other tools that can do damage.

    `ours`: the facts by batch, as they were judged when they were extracted. A fact under a batch's id that differs from
    them counts as another tool's: the file can be edited, so the id alone proves nothing.
    """
    kept: list[str] = []
    refused: list[RefusedText] = []
    judged = {id: {normalise_text(fact) for fact in facts} for id, facts in ours.items()}
    for line in lines:
        for fact in line.facts:
            is_ours = normalise_text(fact) in judged.get(line.batch, ())
            found = None if is_ours else judge_text(fact)
            if found is None:
                kept.append(fact)
            else:
                refused.append(RefusedText("fact", fact, found.reason, found.waits))
    return kept, refused


def _list_named_folders(facts: Iterable[str]) -> list[str]:
    """What in the facts may be a folder of the project. The disk decides."""
    return [found.rstrip("/.") for fact in facts for found in _FOLDER.findall(fact) if "/" in found]


def _list_known_lines(files: ProjectFiles) -> tuple[str, ...]:
    """The lines that a fact can repeat: all statements of LEARNED.md, and our lines in the other files."""
    lines = [
        line for name, one in files.shared.items() for line in one.lines if line in files.ours.get(name, ())
    ]
    return tuple(dict.fromkeys((*lines, *files.shared[LEARNED].all_statements)))


def _list_blanked(shared: SharedFile) -> list[str]:
    """The file's lines with a secret, as the model saw them. If the model repeats one, it is not a new line."""
    return [text for line in shared.all_statements if (text := redact_secrets(line)[0]) != line]


def _read_times(batches: Iterable[Extracted]) -> dict[str, float]:
    """When the prompts of these batches were typed, by id: seconds since 1970, UTC."""
    pairs = (pair for made in batches for pair in zip(made.prompts, made.times, strict=False))
    return {prompt: at for prompt, at in pairs if at is not None}


def _report_closed(project: Project, closed: Mapping[str, str], tools: Tools) -> None:
    id = f"learning.folder:{project.root}"
    if not closed:
        tools.clear(id)
        return
    what = "; ".join(closed.values())
    tools.degrade(
        Degradation(id, what, f"lines for it are written to {project.root / LEARNED} until it can be edited")
    )
