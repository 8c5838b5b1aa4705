"""The input of one synthesis: which facts are asked about, and what the files that may take them contain.

Nothing here asks the model or writes a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacitd.events import Project
from tacitd.handler import Degradation, Tools
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.grounding_checks import LineOrigins, sift_raw
from tacitd_handlers.learning.project_files import SharedFile, open_folders, read_all
from tacitd_handlers.learning.refusals import RefusedText
from tacitd_handlers.learning.stage2.pending_facts import PendingFacts
from tacitd_handlers.learning.stage2.place import LEARNED
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.shared.equality import find_equal

EXISTING_LIMIT = 60_000
"""Characters of what stands in one file already that go to the model. What is beyond is compared all the same."""
EXISTING_BYTES = 240_000
"""Of all files together, LEARNED.md first: a prompt that is too long is no fault of the facts in it."""


@dataclass(frozen=True, slots=True)
class SynthesisInput:
    """What lies ready for one synthesis: the facts, and the files that they may end up in."""

    project: Project
    material: PendingFacts
    facts: tuple[str, ...]
    """Those that no document says already."""
    again: tuple[str, ...]
    """Lines of LEARNED.md that other facts repeated."""
    shared: Mapping[str, SharedFile]
    closed: Mapping[str, str]
    origins: LineOrigins
    """What lines are judged by."""


def build_input(
    project: Project, material: PendingFacts, bootstrap: Bootstrap, state: LearningState, tools: Tools
) -> tuple[SynthesisInput, list[RefusedText]]:
    """Read what the facts may end up in, and leave out what is said already and what of other tools is dangerous.

    Raises FileRefusedError.
    """
    shared, closed = read_all(project, open_folders(project, material.folders))
    _report_closed(project, closed, tools)
    documents = bootstrap.load_documents(project, tools)
    waiting = {**state.judged.get(project.root, {}), **state.waiting.get(project.root, {})}
    worded, unworded, unsaid = sift_raw(material.lines, {id: made.facts for id, made in waiting.items()})
    lines, more = shared[LEARNED].all_statements, documents.list_known_lines()
    again = {fact: line for fact in (*worded, *unworded) if (line := find_equal(fact, lines)) is not None}
    wanted = {*worded, *unworded} - again.keys()
    facts = tuple(f for f in material.facts if f in wanted and find_equal(f, more) is None)
    words = tuple(word for id in material.batches if id in waiting for word in waiting[id].words)
    existing = {name: one.all_statements for name, one in shared.items()}
    origins = LineOrigins(tuple(worded), tuple(unworded), words, material.folders, existing)
    return SynthesisInput(
        project, material, facts, tuple(dict.fromkeys(again.values())), shared, closed, origins
    ), unsaid


def _report_closed(project: Project, closed: Mapping[str, str], tools: Tools) -> None:
    id = f"learning.folder:{project.root}"
    if not closed:
        tools.clear(id)
        return
    what = "; ".join(closed.values())
    tools.degrade(
        Degradation(id, what, f"what is meant for it goes into {project.root / LEARNED} until then")
    )


def render_existing(inputs: SynthesisInput) -> dict[str, str]:
    """What stands in the files, by name, as far as there is room for it."""
    made: dict[str, str] = {}
    left = EXISTING_BYTES
    for name, one in inputs.shared.items():
        data = redact_secrets(one.text)[0][:EXISTING_LIMIT].encode("utf-8", "replace")[:left]
        left -= len(data)
        made[name] = data.decode("utf-8", "ignore")
    return made


def list_blanked_lines(shared: SharedFile) -> list[str]:
    """The file's lines with a secret as the model saw them: it may say them again, and they are not new."""
    return [text for line in shared.all_statements if (text := redact_secrets(line)[0]) != line]
