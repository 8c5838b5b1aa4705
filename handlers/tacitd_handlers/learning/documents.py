"""What is known already in a project: the documents it stands in, and the summary for the fast tier."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacitd_handlers.learning.statements import known_lines
from tacitd_handlers.learning.store import ProjectPaths, text_of
from tacitd_handlers.learning.summary import SummarySource


@dataclass(frozen=True, slots=True)
class DirectiveGroup:
    """Directives that the model is asked about together: those of all projects, or the project's own."""

    own: bool
    texts: tuple[tuple[str, str], ...]
    """Names and texts; none of them is empty."""

    @property
    def fingerprint(self) -> str:
        """Of the contents alone, so that what many projects say alike is paid for once (SPEC S-43)."""
        return hashlib.sha256("\0".join(text for _, text in self.texts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class KnownDocuments:
    """The texts that hold in a project, by name."""

    parts: tuple[DirectiveGroup, ...]
    """A person's directives: those of all projects, then the project's AGENTS.md; without what is empty."""
    learned: str
    summary: str

    @property
    def directives(self) -> tuple[tuple[str, str], ...]:
        """Names and texts of all of them."""
        return tuple(named for part in self.parts for named in part.texts)

    @property
    def fingerprints(self) -> frozenset[str]:
        """The model is asked again only where one of them is new (SPEC S-43)."""
        return frozenset(part.fingerprint for part in self.parts)

    def list_known_lines(self) -> tuple[str, ...]:
        """Every line that a fact may repeat (SPEC S-06)."""
        return known_lines(*(text for _, text in self.directives), self.learned, self.summary)

    def build_sources(self, distilled: Mapping[str, str]) -> list[SummarySource]:
        """What the summary is made of: learned lines first, they are the newest. `distilled`: what the model made of a
        part, by its fingerprint; the documents' own lines stand in where it made nothing."""
        documents: list[tuple[str, str]] = []
        for part in self.parts:
            made = distilled.get(part.fingerprint)
            documents += [("directives", made)] if made else part.texts
        return [
            SummarySource(name, text, rank)
            for rank, (name, text) in enumerate([("LEARNED.md", self.learned), *documents])
        ]


def read_documents(
    files: ProjectPaths, directives: Sequence[Path], *, summary: bool = True
) -> KnownDocuments:
    """Read all of them as they are now; what is missing is empty, and the summary where it is not wanted.

    A document of the project that is a link out of it is empty too."""
    names = [path.name for path in directives]
    texts = [
        (path.name if names.count(path.name) == 1 and path.name != "AGENTS.md" else str(path), text_of(path))
        for path in directives
    ]
    present = tuple((name, text) for name, text in texts if text.strip())
    mine = text_of(files.agents_file, files.root)
    own = (("AGENTS.md", mine),) if mine.strip() else ()
    parts = tuple(part for part in (DirectiveGroup(False, present), DirectiveGroup(True, own)) if part.texts)
    known_facts = text_of(files.summary_file, files.root) if summary else ""
    return KnownDocuments(parts, text_of(files.learned_file, files.root), known_facts)
