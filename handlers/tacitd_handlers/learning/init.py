"""`tacitd init`: create a LEARNED.md without lines, because the user asked for it (SPEC S-42)."""

from __future__ import annotations

from tacitd.events import Project
from tacitd.files.operations import MakeFile, Operation
from tacitd.handler import Tools
from tacitd_handlers.learning import visibility
from tacitd_handlers.learning.store import LEARNED, TITLE


def init_project(project: Project, tools: Tools) -> None:
    """If LEARNED.md is missing, create it with its title, the pointer to it, and the local git excludes.

    Raises OSError and TacitdError.
    """
    learned = project.root / LEARNED
    if learned.exists():
        return
    pointers = visibility.build_pointer(project, tools.history)
    hidden: list[Operation] = []
    if tools.write_mode(project) == "local":
        hidden = visibility.build_excludes(
            project, visibility.list_created_patterns(project, [learned, *(p.path for p in pointers)])
        )
    operations = [*hidden, MakeFile(learned, f"# {TITLE}\n"), *pointers]
    cause, key = {"by": "person", "what": "init"}, f"init:{project.root}:{tools.clock.now()}"
    tools.history.run_transaction(
        project.root, operations, cause, key, also=visibility.list_writable_dirs(project)
    )
