"""What a plugin of the second contract knows of the person, as handlers of the first contract ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tacitd.clock import Clock
from tacitd.handler import load_hook
from tacitd.session_context.person_rules import PersonRule
from tacitd.store import Store
from tacitd.work.running_plugin import RunningPlugin
from tacitd.work.task_rows import NewTask, insert_task


class StoredRules:
    """See `PersonRules`."""

    def __init__(self, name: str, hook: Any, store: Store, environ: Mapping[str, str], clock: Clock) -> None:
        self._name, self._hook, self._store = name, hook, store
        self._environ, self._clock = environ, clock
        self.title: str = hook.TITLE

    def list_files(self) -> Sequence[Path]:
        """See `PersonRules`."""
        return list(self._hook.list_files(self._environ))

    def list_rules(self) -> Sequence[PersonRule]:
        """See `PersonRules`."""
        return list(self._hook.list_rules(self._store.rows, self._environ, self._clock.now()))

    def withdraw_rule(self, id: str) -> None:
        """See `PersonRules`: the plugin drops the item in a task of its own."""
        data = {"id": id, "choice": "drop", "root": "", "text": ""}
        with self._store.write() as tx:
            insert_task(tx, NewTask(self._name, "", "decision", id, None, "", data), self._clock.now())


def bind_rules(plugin: RunningPlugin, store: Store) -> Callable[[Mapping[str, str], Clock], StoredRules]:
    """The hook `Plugin.person_rules` of a plugin."""
    return partial(StoredRules, plugin.name, load_hook(plugin.spec.person_rules), store)
