"""Every setting with its value, as a table that needs no pydantic once it is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tacitd.config.settings import Config
    from tacitd.handler import Degradation


class SettingRow(NamedTuple):
    """One setting."""

    key: str
    """`section.name`."""
    value: Any
    """A list where the model has a tuple."""
    about: str
    written: str
    """The value as TOML; durations as `30m`. `null` if it is not set."""


class SettingsTable(NamedTuple):
    """A configuration without errors."""

    rows: tuple[SettingRow, ...]
    removed: tuple[str, ...]
    """Messages about settings of earlier versions that were given."""
    failed: tuple[Degradation, ...] = ()
    """The plugins that could not be loaded, whose settings are not here."""

    def get_value(self, section: str, name: str) -> Any:
        """The value of a setting. Raises KeyError."""
        return {row.key: row.value for row in self.rows}[f"{section}.{name}"]


def make_settings_table(config: Config, failed: tuple[Degradation, ...] = ()) -> SettingsTable:
    """The table of a configuration."""
    from tacitd.config.settings import list_settings

    written = dict(_write_values(config))
    rows = (
        SettingRow(key, list(value) if isinstance(value, tuple) else value, about, written[key])
        for key, value, about in list_settings(config)
    )
    return SettingsTable(tuple(rows), tuple(one.what for one in config.removed), failed)


def _write_values(config: BaseModel, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every setting with its value as TOML. JSON serves as TOML here, except for null."""
    from pydantic import BaseModel

    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from _write_values(value, f"{prefix}{name}.")
        else:
            plain = config.model_dump(mode="json", include={name})[name]
            yield f"{prefix}{name}", json.dumps(plain, ensure_ascii=False)
