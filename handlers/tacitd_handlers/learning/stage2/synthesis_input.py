"""The input of one synthesis: the facts to ask about, the files that they may be written to, and where its lines belong.

Nothing here asks the model or writes a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tacitd.events import Project
from tacitd.handler import Degradation, Tools
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.grounding_checks import LineOrigins, sift_raw
from tacitd_handlers.learning.person_decisions import read_forgotten
from tacitd_handlers.learning.project_files import SharedFile, open_folders, read_all, view_project
from tacitd_handlers.learning.refusals import RefusedText
from tacitd_handlers.learning.removals import find_written_lines
from tacitd_handlers.learning.stage2.numbered_facts import NumberedFact, number_facts
from tacitd_handlers.learning.stage2.parse import SynthesisPlan
from tacitd_handlers.learning.stage2.pending_facts import PendingFacts
from tacitd_handlers.learning.stage2.place import PlacedLine, RefusedItem, place_item
from tacitd_handlers.learning.stage2.project_view import AGENTS, LEARNED, ROOT_FILES
from tacitd_handlers.learning.state import Extracted, LearningState
from tacitd_handlers.shared.fact_index import FactIndex

EXISTING_LIMIT = 60_000
"""Characters of one file that the prompt contains. Lines beyond that are still compared with new lines."""
EXISTING_BYTES = 240_000
"""Bytes of all files together that the prompt contains, LEARNED.md first. Without a limit, large files would make the
prompt too long and the facts would be rejected for it."""


class SynthesisInput(Struct, frozen=True):
    """The facts of one synthesis and the files that they may be written to."""

    project: Project
    pending: PendingFacts
    facts: tuple[str, ...]
    """The facts that no document contains, and lines of ours that were corrected again."""
    numbered: tuple[NumberedFact, ...]
    """These facts as the prompt numbers them, from 1 on, and after them those that were left out before."""
    again: tuple[str, ...]
    """Lines of ours that the other facts repeat."""
    corrected_again: tuple[str, ...]
    """Those of them that were corrections."""
    reword: frozenset[str]
    """Lines of ours that are to be reworded as a rule."""
    shared: Mapping[str, SharedFile]
    """The files by path relative to the project: LEARNED.md, and each `{folder}/AGENTS.md`."""
    closed: Mapping[str, str]
    """Folders whose AGENTS.md cannot be edited now, with the reason."""
    origins: LineOrigins
    """What proposed lines are grounded in (SPEC S-67)."""
    local: bool
    """Whether the project is not shared through git, so that what git tracks is not written."""


def build_input(
    project: Project, pending: PendingFacts, bootstrap: Bootstrap, state: LearningState, tools: Tools
) -> tuple[SynthesisInput, list[RefusedText]]:
    """Read the files, and leave out facts that documents contain and dangerous facts of other tools.

    Returns the input, and a refusal for each dangerous fact. Raises FileRefusedError if LEARNED.md cannot be edited.
    """
    ours = find_written_lines(tools.history, project)
    local = tools.write_mode(project) == "local"
    touched = open_folders(project, pending.folders, local=local)
    others = open_folders(project, folders_of(ours), local=local)
    shared, closed = read_all(project, [*touched, *others], local=local)
    _report_closed(project, {folder: why for folder, why in closed.items() if folder in touched}, tools)
    documents = bootstrap.load_documents(project, tools)
    waiting = {**state.judged.get(project.root, {}), **state.waiting.get(project.root, {})}
    typed, unverified, refused = sift_raw(pending.lines, {id: made.facts for id, made in waiting.items()})
    known = FactIndex(_list_known_lines(shared, ours))
    more = FactIndex((*shared[LEARNED].all_statements, *documents.list_known_lines()))
    judged = {*typed, *unverified}
    marks = [(fact, mark) for line in pending.lines for fact, mark in line.marked_facts if fact in judged]
    again = {fact: line for fact in judged if (line := known.find_equal(fact)) is not None}
    reword = {again[fact] for fact, mark in marks if mark.again and fact in again}
    wanted = {fact for fact, line in again.items() if line in reword}
    wanted |= {fact for fact in judged - again.keys() if more.find_equal(fact) is None}
    forgotten = read_forgotten(tools.home, project.root)
    wanted = {fact for fact in wanted if not forgotten.covers(fact)}
    facts = tuple(fact for fact in pending.facts if fact in wanted)
    repeats = [(again[fact], mark) for fact, mark in marks if fact in again and not mark.again]
    batches = [waiting[id] for id in pending.batches if id in waiting]
    words = tuple(word for made in batches for word in made.words)
    existing = {name: one.all_statements for name, one in shared.items()}
    left_out = [
        one for one in state.left_out.get(project.root, {}).values() if not forgotten.covers(one.text)
    ]
    numbered = number_facts(pending.lines, wanted, _read_times(waiting.values()), left_out)
    origins = LineOrigins(numbered, words, pending.folders, existing)
    made = SynthesisInput(
        project,
        pending,
        facts,
        numbered,
        tuple(line for line, _ in repeats),
        tuple(dict.fromkeys(line for line, mark in repeats if mark.corrected)),
        frozenset(reword),
        shared,
        closed,
        origins,
        local,
    )
    return made, refused


def _list_known_lines(
    shared: Mapping[str, SharedFile], ours: Mapping[str, Mapping[str, float]]
) -> tuple[str, ...]:
    """The lines that a fact can repeat: all statements of LEARNED.md, and our lines in the other files."""
    lines = [line for name, one in shared.items() for line in one.lines if line in ours.get(name, ())]
    return tuple(dict.fromkeys((*lines, *shared[LEARNED].all_statements)))


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


def render_existing(inputs: SynthesisInput) -> dict[str, str]:
    """Return the texts of the files by name, with secrets blanked, cut at EXISTING_LIMIT and EXISTING_BYTES."""
    made: dict[str, str] = {}
    left = EXISTING_BYTES
    for name, one in inputs.shared.items():
        data = redact_secrets(one.text)[0][:EXISTING_LIMIT].encode("utf-8", "replace")[:left]
        left -= len(data)
        made[name] = data.decode("utf-8", "ignore")
    return made


def list_blanked_lines(shared: SharedFile) -> list[str]:
    """The file's lines with a secret, as the model saw them. If the model repeats one, it is not a new line."""
    return [text for line in shared.all_statements if (text := redact_secrets(line)[0]) != line]


def place_items(inputs: SynthesisInput, plan: SynthesisPlan) -> tuple[list[PlacedLine], list[RefusedItem]]:
    """Place each item. A folder whose AGENTS.md cannot be edited counts as missing.

    The answer can name folders whose files were not read yet. The items are therefore placed twice: the first pass finds
    those folders, the second knows which of their files cannot be edited.
    """
    seen = view_project(inputs.project, inputs.closed, local=inputs.local)
    first = [place_item(item, seen) for item in plan.items]
    folders = folders_of(p.path for p in first if isinstance(p, PlacedLine))
    _, closed = read_all(inputs.project, folders, local=inputs.local)
    seen = view_project(inputs.project, {**inputs.closed, **closed}, local=inputs.local)
    judged = [place_item(item, seen) for item in plan.items]
    return [p for p in judged if isinstance(p, PlacedLine)], [p for p in judged if isinstance(p, RefusedItem)]


def folders_of(names: Iterable[str]) -> list[str]:
    """Return the module folders of these shared files, in order; ROOT_FILES have none."""
    return [name.removesuffix(f"/{AGENTS}") for name in dict.fromkeys(names) if name not in ROOT_FILES]
