"""Settings of earlier versions: they have no effect and are reported, so an old configuration still starts the daemon.

A section's model declares them: `removed_settings: ClassVar[Mapping[str, str]] = {"old_name": "what to do instead"}`.
All other unknown names are refused, because they are probably misspelt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from pydantic import BaseModel

DECLARATION = "removed_settings"
"""The attribute of a section's model: by name, a sentence without a full stop on what to do instead."""


class RemovedSetting(Struct, frozen=True):
    """A setting of an earlier version that is still in the file or in the environment."""

    key: str
    """`section.name`."""
    where: str
    """The path of the file, or the name of the variable."""
    advice: str

    @property
    def what(self) -> str:
        """The message for a person."""
        return f"{self.key} in {self.where} has no effect any more: {self.advice}"


def drop_removed(
    table: Mapping[str, Any],
    environ: Mapping[str, str],
    sections: Mapping[str, type[BaseModel]],
    *,
    file: str,
    prefix: str,
) -> tuple[dict[str, Any], dict[str, str], tuple[RemovedSetting, ...]]:
    """Return the file's table and the variables without removed settings, and these settings.

    `sections`: the models by section name. `file`: the path for messages. `prefix`: the variables' prefix.
    """
    kept, variables, found = dict(table), dict(environ), list[RemovedSetting]()
    for section, model in sections.items():
        for name, advice in getattr(model, DECLARATION, {}).items():
            key, part = f"{section}.{name}", kept.get(section)
            if isinstance(part, Mapping) and name in part:
                kept[section] = {each: value for each, value in part.items() if each != name}
                found.append(RemovedSetting(key, file, advice))
            variable = f"{prefix}{section}__{name}".upper()
            for given in [one for one in variables if one.upper() == variable]:
                del variables[given]
                found.append(RemovedSetting(key, given, advice))
    return kept, variables, tuple(found)
