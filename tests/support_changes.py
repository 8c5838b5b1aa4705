"""Changes of files in a store without a daemon, as a task's commit has them, and what plugins made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tacitd.clock import Clock
from tacitd.contract import Done, FileChange, Task
from tacitd.events import NoProject, Project
from tacitd.files.row_history import note_change
from tacitd.files.shared_files import SharedFiles
from tacitd.handler import Notice
from tacitd.store import Store
from tacitd.work.activities import insert_activities
from tacitd.work.project_rows import store_project


def store_change(
    state: Path,
    clock: Clock,
    root: Path,
    *lines: str,
    removed: Sequence[str] = (),
    file: str = "LEARNED.md",
    what: str = "",
    prompts: int = 0,
    plugin: str = "learning",
) -> str:
    """Store a change of a project's file that is done, and return its id."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(Store.open(state, clock)) as store, store.write() as tx:
        project = store_project(tx, Project(root, git=False), clock.now())
        ((number,),) = tx.rows("SELECT coalesce(max(number), 0) + 1 FROM change")
        id = f"2026{number:04}T-{number:06x}"
        tx.execute(
            "INSERT INTO change(number, id, key, at, plugin, project, by, cause, session, state) "
            "VALUES(?, ?, ?, ?, ?, ?, 'prompt', ?, 's1', 'done')",
            number,
            id,
            id,
            clock.now(),
            plugin,
            project,
            what,
        )
        for place, (taken, put) in enumerate(
            [*((None, line) for line in lines), *((line, None) for line in removed)]
        ):
            leaf = f"Coding\n{put or taken}"
            tx.execute(
                "INSERT INTO change_line(change, number, path, leaf, heading, taken, put) VALUES(?, ?, ?, ?, 'Coding', ?, ?)",
                number,
                place,
                str(root / file),
                leaf,
                taken,
                put,
            )
        for n in range(prompts):
            tx.execute(
                "INSERT INTO prompt(id, digest, source, session, kind, typed, ingested) "
                "VALUES(?, x'', 'claude', 's1', 'typed', 0, 0)",
                f"{id} {n}",
            )
            tx.execute(
                "INSERT INTO prompt_text(prompt, text, context, transcript, cwd) SELECT max(number), 'words', '', '/t', '/' FROM prompt"
            )
            tx.execute("INSERT INTO change_prompt SELECT ?, max(number) FROM prompt", number)
        note_change(tx, number, clock.now())
    return id


def change_now(files: SharedFiles, store: Store, change: FileChange, project: int | None = None) -> None:
    """Change a file as a task does: decide, plan, swap. Raises what each of them raises, and what kept the file from being written."""
    task = Task(0, "command", "", NoProject("", "none"), project)
    done = Done(files=(change,))
    files.read("toy", task, done)
    with store.write() as tx:
        files.plan(tx, "toy", task, done)
    files.swap("toy", task)
    files.settle(change.path)


def store_made(store: Store, plugin: str, notice: Notice, at: float) -> None:
    """What a plugin made, as its commit stores it."""
    with store.write() as tx:
        insert_activities(tx, at, plugin, [notice])
