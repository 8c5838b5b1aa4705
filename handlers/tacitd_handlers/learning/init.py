"""`tacitd init`: create a LEARNED.md without lines, because the user asked for it (SPEC S-42)."""

from __future__ import annotations

from tacitd.events import Project
from tacitd.files.operations import MakeFile, Operation
from tacitd.handler import Tools
from tacitd_handlers.learning import visibility
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
    made: list[Operation] = [MakeFile(learned, f"# {TITLE}\n")]
    hidden: list[Operation] = []
    if tools.write_mode(project) == "local":
        hidden = visibility.build_excludes(project, visibility.list_created_patterns(project, [learned]))
    joined = mirrors.join(project, made, tools, make_empty=True)
    operations = [*hidden, *joined.before, *made, *joined.after]
    cause, key = {"by": "person", "what": "init"}, f"init:{project.root}:{tools.clock.now()}"
    also = [*visibility.list_writable_dirs(project), *joined.also]
    tools.history.run_transaction(project.root, operations, cause, key, also=also)
    mirrors.settle(project)
