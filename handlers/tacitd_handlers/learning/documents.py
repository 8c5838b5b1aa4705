"""What is known in a project: the documents that contain it, and the summary for the fast tier (SPEC S-06, S-40).

Documents are read here; the summary is built in `summary` and kept up to date in `bootstrap`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tacitd_handlers.learning.statements import known_lines
from tacitd_handlers.learning.store import ProjectPaths, text_of
from tacitd_handlers.learning.summary import SummarySource


class DirectiveGroup(Struct, frozen=True):
    """Directives that the model is asked about in one call: those of all projects, or the project's own."""

    own: bool
    """True for the project's own AGENTS.md, False for the directives of all projects."""
    texts: tuple[tuple[str, str], ...]
    """Names and texts, none of them empty."""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the contents alone, so that equal texts in several projects are paid for once (S-43)."""
        return hashlib.sha256("\0".join(text for _, text in self.texts).encode()).hexdigest()[:32]


class KnownDocuments(Struct, frozen=True):
    """The texts that apply in a project."""

    parts: tuple[DirectiveGroup, ...]
    """The user's directives: those of all projects, then the project's AGENTS.md. Empty ones are left out."""
    learned: str
    """Text of LEARNED.md, "" if there is none."""
    summary: str
    """Text of the known-facts summary, "" if there is none."""
    modules: tuple[tuple[str, str], ...] = ()
    """Names and texts of the folders' AGENTS.md in which tacitd has lines."""

    @property
    def directives(self) -> tuple[tuple[str, str], ...]:
        """Names and texts of all directives."""
        return tuple(named for part in self.parts for named in part.texts)

    @property
    def fingerprints(self) -> frozenset[str]:
        """The fingerprints of all groups. The model is asked only about a group with a new one (SPEC S-43)."""
        return frozenset(part.fingerprint for part in self.parts)

    def list_known_lines(self) -> tuple[str, ...]:
        """All statements and sentences of the documents, with which facts are compared (SPEC S-06)."""
        modules = (text for _, text in self.modules)
        return known_lines(*(text for _, text in self.directives), self.learned, *modules, self.summary)

    def list_learned_lines(self) -> tuple[str, ...]:
        """The statements of LEARNED.md and of the folders' AGENTS.md: what a person can say again."""
        return known_lines(self.learned, *(text for _, text in self.modules))

    def build_sources(
        self, distilled: Mapping[str, str], folders: Collection[str] = ()
    ) -> list[SummarySource]:
        """Return the sources of the summary: touched folders' files, LEARNED.md, directives, then the other folders' files.

        `distilled`: the model's answers by fingerprint. A group without an answer is used with its own text. `folders`: the
        folders that the session works in, relative to the project.
        """
        documents: list[tuple[str, str]] = []
        for part in self.parts:
            made = distilled.get(part.fingerprint)
            documents += [("directives", made)] if made else part.texts
        touched = [one for one in self.modules if one[0].rpartition("/")[0] in folders]
        others = [one for one in self.modules if one not in touched]
        named = [*touched, ("LEARNED.md", self.learned), *documents, *others]
        return [SummarySource(name, text, rank) for rank, (name, text) in enumerate(named)]


def read_documents(
    files: ProjectPaths,
    directives: Sequence[Path],
    *,
    summary: bool = True,
    modules: Sequence[str] = (),
) -> KnownDocuments:
    """Read the documents as they are now. Raises nothing: a missing or unreadable one is "".

    `summary`: whether to read the summary's file. `modules`: folders' AGENTS.md to read, relative to the project. A document of the project is "" too if it is a link that leads out of
    the project.
    """
    names = [path.name for path in directives]
    texts = [
        (path.name if names.count(path.name) == 1 and path.name != "AGENTS.md" else str(path), text_of(path))
        for path in directives
    ]
    present = tuple((name, text) for name, text in texts if text.strip())
    agents_text = text_of(files.agents_file, files.root)
    own_texts = (("AGENTS.md", agents_text),) if agents_text.strip() else ()
    parts = tuple(
        part for part in (DirectiveGroup(False, present), DirectiveGroup(True, own_texts)) if part.texts
    )
    known_facts = text_of(files.summary_file, files.root) if summary else ""
    texts_of_modules = ((name, text_of(files.root / name, files.root)) for name in modules)
    found = tuple((name, text) for name, text in texts_of_modules if text.strip())
    return KnownDocuments(parts, text_of(files.learned_file, files.root), known_facts, found)
