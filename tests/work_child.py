"""A process with the new core and one plugin, for `kill -9`: `python work_child.py HOME STATE`."""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path

from tacitd.clock import SystemClock
from tacitd.contract import Batch, Done, Outcome, Task, Tools, Tx
from tacitd.engine import Engine, WorkPlan
from tacitd.plugin import GatherRule
from tacitd.sources.follow import Follower
from tacitd.sources.projects import ProjectFinder
from tacitd.sources.registry import make_source
from tacitd.sources.sessions import Sessions
from tacitd.sources.watch import SilentWatcher
from tacitd.store import Store
from tacitd.work.lookup import ProjectLookup
from tacitd.work.reader import Observer, Reader
from tacitd.work.task_runner import Runnable, TaskRunner

QUIET, IDLE = 0.1, 1.5


def observe(batch: Batch, tx: Tx) -> None:
    """Count the records of each transcript: none may be folded twice or left out."""
    tx.execute(
        "CREATE TABLE IF NOT EXISTS toy_record(path TEXT, start INTEGER, PRIMARY KEY(path, start)) WITHOUT ROWID"
    )
    for record in batch.records:
        tx.execute("INSERT INTO toy_record VALUES(?, ?)", str(batch.transcript), record.start)


def run(task: Task, tools: Tools) -> Outcome:
    """Store a fact for each prompt, after a call that takes a moment."""
    del tools
    threading.Event().wait(random.random() * 0.05)  # the call
    facts = [(one.text, task.session, task.number) for one in task.prompts]

    def apply(tx: Tx) -> None:
        tx.execute(
            "CREATE TABLE IF NOT EXISTS toy_fact(number INTEGER PRIMARY KEY, text TEXT, session TEXT, task INTEGER)"
        )
        tx.executemany("INSERT INTO toy_fact(text, session, task) VALUES(?, ?, ?)", facts)

    return Done(apply)


def main() -> None:
    """Run until the process is killed."""
    home, state = Path(sys.argv[1]), Path(sys.argv[2])
    clock, wake = SystemClock(), threading.Event()
    store = Store.open(state, clock)
    client_home = home / ".claude"
    source = make_source(client_home)
    finder = ProjectFinder(home, private=[state, client_home])
    lookup = ProjectLookup(finder.find_project, clock)
    observers = [Observer("toy", observe, True, True)]
    reader = Reader(store, source, lookup, observers, clock)
    rule = GatherRule(quiet=QUIET, prompts=5)
    runner = TaskRunner(
        store,
        {"toy": Runnable(run, lambda task: None, rule)},
        clock,
        on_done=wake.set,
    )
    loop = Engine(
        store,
        Follower(source, clock, SilentWatcher, wake.set),
        reader,
        Sessions(clock, IDLE, tuple, lambda pid: False),
        runner,
        lookup,
        source,
        WorkPlan({"toy": rule}, {}, ["toy"]),
        clock,
        wake,
    )
    loop.start()
    print("ready", flush=True)  # noqa: T201
    while True:
        loop.run_pass(full=True)
        wake.wait(0.01)
        wake.clear()


if __name__ == "__main__":
    main()
