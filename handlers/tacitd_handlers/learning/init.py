"""`tacitd init`: create a LEARNED.md without lines, because the user asked for it (SPEC S-42)."""

from __future__ import annotations

from tacitd.events import Project
from tacitd.files.operations import MakeFile
from tacitd.handler import Tools
from tacitd_handlers.learning.mirrors.mirror_sync import Mirrors
from tacitd_handlers.learning.store import LEARNED, TITLE


def init_project(project: Project, tools: Tools, mirrors: Mirrors) -> None:
    """If LEARNED.md is missing, create it with its title, its mirror, and the local git excludes.

    The mirror has no lines yet. A running session follows a file that it has loaded, but does not see a new one, so the
    first line reaches the sessions that begin from now on. Raises OSError and TacitdError.
    """
    learned = project.root / LEARNED
    if learned.exists():
        return
    made = [MakeFile(learned, f"# {TITLE}\n")]
    cause, key = {"by": "person", "what": "init"}, f"init:{project.root}:{tools.clock.now()}"
    mirrors.run_with_copies(project, made, cause, key, tools, make_empty=True)
