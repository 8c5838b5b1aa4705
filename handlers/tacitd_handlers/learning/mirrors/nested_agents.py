"""Which mirrors of modules are not needed, because the clients that are used load the AGENTS.md of a folder by themselves.

Such a client would show the lines twice: once from AGENTS.md and once from the mirror. It does not load AGENTS.md where
there is a CLAUDE.md, and an older client does not load it anywhere; then only the mirror brings the lines.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tacitd.events import Project
from tacitd.handler import Tools
from tacitd.sources.base import ClientUse
from tacitd.sources.registry import CONTEXT_FILES, make_source
from tacitd_handlers.learning.mirrors.mirror_files import MirrorTarget
from tacitd_handlers.shared.client_rules import NESTED_AGENTS_SINCE, parse_version

RECENT = 30 * 86_400.0
"""Seconds: clients that were used within this time count."""
AGAIN = 600.0
"""Seconds for which what the transcripts say is remembered, unless a session starts."""


class NestedAgents:
    """Knows which clients the transcripts name. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: Sequence[ClientUse] = ()
        self._looked_at = float("-inf")

    def forget(self) -> None:
        """Look again next time: a session has started, perhaps with another client."""
        with self._lock:
            self._looked_at = float("-inf")

    def loads_them(self, project: Project, tools: Tools) -> bool:
        """Whether all clients that were used in a project lately load the AGENTS.md of a folder. False if none is known."""
        if tools.client_home is None:
            return False
        with self._lock:
            if tools.clock.monotonic() - self._looked_at >= AGAIN:
                self._uses = make_source(tools.client_home).list_clients(tools.clock.now() - RECENT)
                self._looked_at = tools.clock.monotonic()
            uses = self._uses
        return all_load_agents(use.version for use in uses if _is_in(project, use, tools))


def all_load_agents(versions: Iterable[str]) -> bool:
    """Whether each of these versions, of which there is at least one, loads the AGENTS.md of a folder."""
    parsed = [parse_version(version) for version in versions]
    return bool(parsed) and all(one is not None and one >= NESTED_AGENTS_SINCE for one in parsed)


def loads_source(target: MirrorTarget, client_home: Path | None) -> bool:
    """Whether such a client loads the source of a module's mirror: it is in the mirror's own work tree, without a CLAUDE.md
    in the module or above it. The person's own CLAUDE.md, in the client's directory, does not matter.
    """
    if not target.folder or target.source != target.tree / target.name:
        return False
    return not any(path.is_file() for path in _list_instructions(target, client_home))


def _list_instructions(target: MirrorTarget, client_home: Path | None) -> Iterator[Path]:
    place = target.source.parent
    for folder in (place, *place.parents):
        for name in (*CONTEXT_FILES.instructions, *CONTEXT_FILES.others):
            path = folder / name
            if client_home is None or path.parent != client_home:
                yield path


def _is_in(project: Project, use: ClientUse, tools: Tools) -> bool:
    place = tools.project_of(use.cwd) if use.cwd else None
    return isinstance(place, Project) and place.root == project.root
