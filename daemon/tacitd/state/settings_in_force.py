"""The configuration in force, as rows that commands read: they need no file of settings, and no module that checks it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from tacitd.contract import Row, Tx

_OURS = "key LIKE '%.%' AND key NOT LIKE '% %'"
"""The rows of `setting` that are settings: other keys have a space, or no dot."""
T = TypeVar("T")


class CapsInForce(Struct, frozen=True):
    """The caps on calls of the model: `tacitd.model.call_caps.Caps`."""

    calls_per_minute: int
    calls_per_day: int
    usd_per_day: float
    usd_per_month: float


class SettingsInForce:
    """The settings with which the daemon runs, or ran last."""

    def __init__(self, rows: Callable[..., list[Row]]) -> None:
        self._values: dict[str, str] = dict(rows(f"SELECT key, value FROM setting WHERE {_OURS}"))

    def get(self, section: str, name: str, default: T) -> T:
        """The value of a setting, durations in seconds; `default` if no daemon has stored one."""
        found = self._values.get(f"{section}.{name}")
        value: T = default if found is None else json.loads(found)
        return value

    @property
    def caps(self) -> CapsInForce:
        given: dict[str, Any] = {name: self.get("budget", name, 0) for name in CapsInForce.__struct_fields__}
        return CapsInForce(**given)


def replace_settings(tx: Tx, settings: Iterable[tuple[str, Any, str]]) -> None:
    """Store the settings, given as `list_settings` yields them, in place of the earlier ones."""
    tx.execute(f"DELETE FROM setting WHERE {_OURS}")
    rows = [(key, json.dumps(value, default=str)) for key, value, _ in settings]
    tx.executemany("INSERT OR REPLACE INTO setting VALUES(?, ?)", rows)
