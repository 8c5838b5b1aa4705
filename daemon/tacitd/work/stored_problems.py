"""What is wrong, as rows say it: problems that were stored, records that a plugin could not fold, files that wait to be written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.contract import Rows
from tacitd.errors import FileRefusedError, TacitdError
from tacitd.handler import Degradation
from tacitd.work.breaker import list_degradations as list_closed
from tacitd.work.daemon_note import OWNER

if TYPE_CHECKING:
    from tacitd.engine import Engine


UNFINISHED = 60.0
"""Seconds after which a change of a file that is planned and not written is a problem."""


def list_stored_problems(
    rows: Rows, plugins: Collection[str], now: float, *, of_daemon: bool = True
) -> list[Degradation]:
    """The problems. `plugins`: those that run, whose own count. `of_daemon`: also those that only the daemon knows, as it stored them."""
    owners = {"engine", *plugins, *([OWNER] if of_daemon else ())}
    found = [
        Degradation(id, what, hint)
        for owner, id, what, hint in rows("SELECT owner, id, what, hint FROM degradation ORDER BY since")
        if owner in owners
    ]
    return [*found, *_list_behind(rows), *_list_unfinished(rows, now), *list_closed(rows, now)]


def _list_behind(rows: Rows) -> Iterator[Degradation]:
    for plugin, count, reason in rows("SELECT plugin, count(*), max(reason) FROM behind GROUP BY plugin"):
        where = "a transcript" if count == 1 else f"{count} transcripts"
        what = f"the plugin {plugin} failed with records of {where}: {reason}"
        hint = "it gets them again; the log says more; everything else goes on"
        yield Degradation("handler.behind", what, hint)


def _list_unfinished(rows: Rows, now: float) -> Iterator[Degradation]:
    for path, root in rows(
        "SELECT DISTINCT p.path, r.root FROM plan p JOIN change c ON c.number = p.change "
        "LEFT JOIN shared_file f ON f.path = p.path LEFT JOIN project r ON r.number = f.project WHERE c.at < ?",
        now - UNFINISHED,
    ):
        from tacitd.files.write_checks import refuse_leading_away  # `status` seldom needs it

        what, hint = f"{path}: a change of it is decided and cannot be written", "tacitd tries again"
        try:
            if root is not None:
                refuse_leading_away(Path(path), Path(root))
        except FileRefusedError as error:
            what, hint = f"{what}: {error.what}", error.hint
        yield Degradation("files.unfinished", what, hint)


LISTED = 3
"""Unreadable transcripts that are listed one by one."""


def list_problems(engine: Engine, stuck: Sequence[str]) -> list[Degradation]:
    """What is wrong with following and reading."""
    found = [*engine.follower.list_degradations(), *engine.recognition.list_degradations()]
    refused = list(engine.reader.refused.items())
    found += [
        Degradation("transcript.unreadable", f"{path}: {why.what}", why.hint)
        for path, why in refused[:LISTED]
    ]
    if len(refused) > LISTED:
        what = f"{len(refused) - LISTED} more transcripts cannot be read"
        found.append(Degradation("transcript.unreadable", what, refused[LISTED][1].hint))
    if engine.fault is not None:
        found.append(engine.fault)
    if stuck:
        what = f"the file system of {', '.join(stuck[:3])} does not answer; what was typed there waits"
        found.append(Degradation("projects.stuck", what, "check the mount; everything else goes on"))
    return found


def find_refusal(engine: Engine) -> Degradation | None:
    """Why the store cannot be written, which is no row of it; None if it can."""
    problem = engine.problem or engine.runner.refused
    return Degradation("state.unwritable", problem.what, problem.hint) if problem is not None else None


def find_fault(error: BaseException) -> tuple[str, str]:
    """What a person is told about an error of the loop: what happened, and the hint."""
    if isinstance(error, TacitdError):
        return error.what, error.hint
    return f"a pass of the loop failed: {type(error).__name__}: {error}", "see the log"
