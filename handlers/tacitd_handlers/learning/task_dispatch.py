"""Which task of learning does what. Its state is rows and files; nothing is kept in memory.

| task | what is done |
|---|---|
| prompts | facts of what was typed (`extract`) |
| session-ended | lines of the facts that wait (`synthesize`), then those about the person |
| session-started | sources, copies and the summary are compared: they may have changed while no daemon ran |
| message | work that learning queued itself, see `_do_message` |
| job | `recover`, `tidy`, and what a command asks for: `init`, `synthesize` |
| command | a person's command that changes files (`run_command`) |
| purge | files in `tmp/` without the purged words |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Outcome, Task, Tools, Tx
from tacitd.errors import FileBusyError, FileRefusedError, TacitdError, UsageError
from tacitd.events import Project
from tacitd.files.purge import blank_in_place
from tacitd.handler import Degradation, Notice
from tacitd.work.prompt_rows import doubt_now
from tacitd_handlers.learning.edits import withdraw_line
from tacitd_handlers.learning.extract import extract_facts
from tacitd_handlers.learning.known import init_project, load_known, update_summary
from tacitd_handlers.learning.learned_rows import (
    ASIDE_ID,
    find_line,
    queue_message,
    read_facts,
    relocate_line,
)
from tacitd_handlers.learning.raw_file import RAW, SUMMARY, update_raw
from tacitd_handlers.learning.sources import (
    Place,
    find_leaf,
    find_place,
    find_root_file,
    is_tracked_source,
    list_paths,
    make_format,
    make_place,
    open_folders,
    person_place,
    person_root,
    why_no_temporary,
)
from tacitd_handlers.learning.synthesize import synthesize
from tacitd_handlers.reach import hiding
from tacitd_handlers.reach.client_rules import AGENTS, LEARNED
from tacitd_handlers.reach.copies import queue_copies
from tacitd_handlers.reach.hiding import hide
from tacitd_handlers.reach.project_rules import write_copies
from tacitd_handlers.shared.places import leads_out

DAY = 86_400.0
FACTS_KEPT = 90 * DAY
"""Seconds for which a fact of which no line was made is kept."""
REVIEW_KEPT = 30 * DAY
"""Seconds for which a fact waits in `review`."""
FOLDERS_KEPT = 30 * DAY
AN_END = 600.0
"""Seconds after which the end of a session has done its work."""


def run(task: Task, tools: Tools) -> Outcome:
    """Do a task. Raises OSError and TacitdError."""
    project = task.project
    place = (
        make_place(task.project_number, project, tools) if isinstance(project, Project) else person_place()
    )
    match task.kind, _name_work(task):
        case "prompts", _:
            return extract_facts(task, tools)
        case ("session-started", _) | ("message", "copies"):
            return _follow_sources(task, place, tools)
        case ("session-ended", _) | ("job", "synthesize") if place.project is None:
            return Done()
        case ("session-ended", _) | ("job" | "message", "synthesize"):
            outcome = synthesize(place, tools)
            # What was said about the person becomes lines of their own file next.
            if isinstance(outcome, Done) and read_facts(tools.rows, None):
                return _and_queue(outcome, person_place(), "synthesize", tools=tools)
            return outcome
        case "job", "recover":
            return _do_everywhere("orphans", tools)
        case "job", "retry":
            return _take_back(tools)
        case "job", "tidy":
            return Done(lambda tx: forget_old(tx, tools.clock.now()))
        case ("job" | "command", "init"):
            return init_project(task, tools)
        case "command", "follow":
            return write_copies(task, tools)
        case "message", "temporary":
            return _update_temporary(place, tools)
        case "message", "summary":
            return update_summary(task, tools)
        case "message", "orphans":
            return _find_orphans(place, tools)
        case "message", "withdraw":
            return withdraw_line(task, tools)
        case "command", "move":
            return move_line(task, tools)
        case "command", "reveal" | "hide" as do:
            return _follow_choice(task, tools, do)
        case "purge", _:
            return purge_words(task, tools)
        case "command", do:
            raise UsageError(f"learning has no command {do!r}")
        case _:
            return Done()


def _name_work(task: Task) -> str:
    if task.kind == "message":
        return task.key.partition(":")[2].partition(" ")[0]
    return str(task.data.get("do") or task.data.get("job") or task.key.partition(" ")[0])


# --- files in tmp/


def _follow_sources(task: Task, place: Place, tools: Tools) -> Done:
    """Bring what is made of a project's sources and facts up to date: the copies, the summary and the raw file."""
    copies, temporary = write_copies(task, tools), _update_temporary(place, tools)
    return replace(copies, files=(*copies.files, *temporary.files))


def _update_temporary(place: Place, tools: Tools) -> Done:
    if place.project is None or tools.write_mode(place.project) == "off" or not place.root.is_dir():
        return Done()
    has_rows = tools.rows(
        "SELECT 1 FROM learning_line WHERE project IS ?1 UNION SELECT 1 FROM learning_fact WHERE project IS ?1",
        place.number,
    )
    if not has_rows and not (place.root / SUMMARY).exists():
        return Done()  # nothing was learned there
    id = f"learning.raw-unwritable:{place.name}"
    try:
        load_known(place.project, tools)
        if why := why_no_temporary(place.root):
            raise FileRefusedError(why)
        files = update_raw(place, tools)
    except FileBusyError:
        raise
    except (OSError, TacitdError) as error:
        why = error.what if isinstance(error, TacitdError) else error.strerror or str(error)
        what = f"the files in {place.root / 'tmp'} cannot be written: {why}"
        tools.degrade(Degradation(id, what, "the facts are kept and are written once it can be"))
        return Done()
    tools.clear(id)
    return Done(files=files)


# --- what a crash or a lost end left (SPEC S-52)


def _find_orphans(place: Place, tools: Tools) -> Done:
    if not read_facts(tools.rows, place.number):
        return Done()
    if place.project is not None:
        is_live = not place.root.is_dir() or tools.has_live_session(place.project)
    else:
        is_live = bool(
            tools.rows(
                "SELECT 1 FROM learning_fact f JOIN session s ON s.id = f.session WHERE f.project IS NULL "
                "AND f.state = 'waiting' AND (s.ended IS NULL OR s.ended > ?) LIMIT 1",
                tools.clock.now() - AN_END,
            )
        )
    return Done() if is_live else _and_queue(Done(), place, "synthesize", tools=tools)


def _take_back(tools: Tools) -> Done:
    """`tacitd rescue retry --all`: facts that were put aside wait again."""
    done = _do_everywhere("synthesize", tools)
    for place in _list_places(tools):
        tools.clear(f"{ASIDE_ID}:{place.name}")

    def apply(tx: Tx) -> None:
        tx.execute("UPDATE learning_fact SET state = 'waiting', tries = 0, reason = '' WHERE state = 'aside'")
        done.apply(tx)

    return Done(apply)


def _do_everywhere(what: str, tools: Tools) -> Done:
    """Queue work for each place with facts that wait or were put aside."""
    done = Done()
    for place in _list_places(tools):
        done = _and_queue(done, place, what, tools=tools)
    return done


def _list_places(tools: Tools) -> list[Place]:
    found = tools.rows(
        "SELECT number, root, common FROM (SELECT DISTINCT project FROM learning_fact WHERE state IN ('waiting', 'aside')) "
        "LEFT JOIN project ON number = project"
    )
    return [
        person_place() if root is None else make_place(number, Project(Path(root), bool(common)), tools)
        for number, root, common in found
    ]


def forget_old(tx: Tx, now: float) -> None:
    """Delete what is not needed any more: facts without a line, and the folders of sessions that ended long ago. Nothing while the
    clock is not believed."""
    if doubt_now(tx.rows, now):
        return
    tx.execute(
        "DELETE FROM learning_fact WHERE line IS NULL AND said_at < ? AND state IN ('known', 'left out', 'refused', 'forgotten') "
        "AND NOT EXISTS(SELECT 1 FROM learning_line_fact l WHERE l.fact = number)",
        now - FACTS_KEPT,
    )
    tx.execute(
        "UPDATE learning_fact SET state = 'refused', reason = reason || ' (nobody decided about it for 30 days)' "
        "WHERE state = 'review' AND said_at < ?",
        now - REVIEW_KEPT,
    )
    tx.execute(
        "DELETE FROM learning_folder WHERE session IN (SELECT id FROM session WHERE last < ?) "
        "OR session NOT IN (SELECT id FROM session)",
        now - FOLDERS_KEPT,
    )


def _and_queue(done: Done, place: Place, *what: str, tools: Tools) -> Done:
    def apply(tx: Tx) -> None:
        done.apply(tx)
        for one in what:
            queue_message(tx, one, place, tools.clock.now())

    return replace(done, apply=apply)


def _follow_choice(task: Task, tools: Tools, do: str) -> Done:
    """Let git show the project's files, or hide those that it does not track; the copies follow. The notices name files that stay."""
    project = task.project
    assert isinstance(project, Project)
    found = list_paths(tools.rows, {}, project.root)
    # Not those in the client's directory.
    paths = [path for path in found if ".claude" not in path.relative_to(project.root).parts]
    stays = list[Path]()
    if do == "reveal":
        hiding.reveal(project, paths)
    elif project.git:
        stays = [path for path in paths if path.exists() and is_tracked_source(project, path)]
        patterns = [hiding.pattern_of(one.relative_to(project.root)) for one in paths if one not in stays]
        if why := hiding.list_patterns(project, patterns):
            raise FileRefusedError(f"what tacitd makes in {project.root} cannot be hidden: {why}")
    done = write_copies(task, tools)
    return replace(done, notices=[*done.notices, *(Notice("kept", str(path)) for path in stays)])


def move_line(task: Task, tools: Tools) -> Done:
    line, now = find_line(tools.rows, str(task.data["id"])), tools.clock.now()
    if line is None or line.state != "present":
        raise TacitdError(f"no learned line has the id {task.data['id']}", "`tacitd learned` shows the ids")
    root, path = _find_target(task, tools)
    if str(path) == line.path:
        raise UsageError(f"the line is in {path} already")
    if isinstance(task.project, Project) and (why := hide(task.project, [path], tools)):
        raise UsageError(f"{path} is not written, because git would show it: {why}")

    def take(there: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
        leaf = find_leaf(there, line.heading, line.text)
        return {leaf: None} if leaf in there else {}

    def put(there: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
        return {find_leaf(there, line.heading, line.text): line.text}

    def apply(tx: Tx) -> None:
        relocate_line(tx, line, task.project_number, str(path))
        if isinstance(task.project, Project):
            queue_copies(tx, Place(task.project_number, task.project.root, task.project), now)
        for before, common in tx.rows("SELECT root, common FROM project WHERE number = ?", line.project):
            source = Project(Path(before), git=common is not None)
            queue_copies(tx, Place(line.project, source.root, source), now)

    cause = Cause(f"move {line.id} {now}", "person", f"tacitd move {line.id}", joins=True)
    source = Path(line.path)
    of = find_place(source, tools)
    changes = (
        FileChange(source, make_format(source, of.root if of is not None else source.parent), take, cause),
        FileChange(path, make_format(path, root), put, cause, theirs=line.by == "person"),
    )
    return Done(apply, changes, notices=(Notice("moved", line.text, str(path)),))


def _find_target(task: Task, tools: Tools) -> tuple[Path, Path]:
    if not isinstance(task.project, Project):
        if task.data.get("directory"):
            raise UsageError(f"{task.data['directory']} is not a project")
        return person_root(os.environ), person_root(os.environ) / LEARNED
    project, directory = task.project, Path(str(task.data["directory"]))
    mode = tools.write_mode(project)
    if mode == "off":
        raise UsageError(f"{project.root} is excluded", f"`tacitd exclude --undo {project.root}`")
    place = Place(task.project_number, project.root, project, is_local=mode == "local")
    if not directory.is_relative_to(project.root) or directory == project.root:
        return project.root, project.root / find_root_file(place)
    folder = directory.relative_to(project.root).as_posix()
    if not open_folders(place, [folder]):
        raise UsageError(f"{directory} cannot have an AGENTS.md of tacitd's", f"`--here {project.root}`")
    return project.root, directory / AGENTS


# --- purge


def purge_words(task: Task, tools: Tools) -> Done:
    """Blank forgotten words in what tacitd makes in the `tmp/` of projects. A file that git tracks is the person's. Raises OSError."""
    texts = [str(text) for text in task.data.get("texts", ())]
    changed = list[Path]()
    for (root,) in tools.rows("SELECT root FROM project"):
        project = tools.find_project(root)
        if not isinstance(project, Project):
            continue
        for path in (project.root / RAW, project.root / SUMMARY):
            is_ours = (
                path.is_file() and not leads_out(path, project.root) and not is_tracked_source(project, path)
            )
            if is_ours and blank_in_place(path, texts):
                changed.append(path)
    return Done(notices=[Notice("purged", str(path)) for path in changed])
