"""The state that tacitd keeps beside a profile: what it wrote, the change in progress, the handled findings. Pure.

It has four uses:
- A person's edit is distinguished from what was written last (SPEC P-17); the rule belongs to `ownership`.
- A change that a crash interrupted is finished.
- A finding that is delivered twice counts once (P-30).
- What this machine wrote last is told from another machine's change, of which other files may not have arrived yet.

Where this state is stored, and when, belongs to `store`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.text.converter import Converter
from tacitd_handlers.profile.dot_paths import Json
from tacitd_handlers.profile.ownership import LearnedValue

IDS = 500
"""The number of handled findings whose ids are kept."""


class ProfileMemory(Struct, frozen=True):
    """The state. Every change makes a new one."""

    ids: tuple[str, ...] = ()
    """Ids of handled findings, the newest last."""
    learned: Mapping[str, LearnedValue] = field(default_factory=dict)
    """For each learned path what was written last."""
    written: str = ""
    """`lastUpdated` of the profile after the last write: ISO 8601; "" if it is not known."""
    awaited: str = ""
    """What `arrivals.find_unexplained` returned at the last change; "" if nothing is waited for."""
    intent: Mapping[str, Any] | None = None
    """The change in progress, see `intents`; None if none was interrupted."""


def as_data(beside: ProfileMemory) -> Json:
    """Return the state as a JSON object."""
    data: Json = msgspec.to_builtins(beside)
    return data


_MEMORY = Converter(ProfileMemory)


def from_data(data: Mapping[str, Any]) -> ProfileMemory:
    """Return the state from its JSON object; an empty state if the object is not one."""
    try:
        found: ProfileMemory = _MEMORY.convert(data)
        if "learned" in data:
            return found
        # Earlier versions kept the digests of several whole values. Any of them counts until the next write.
        seen, values = data["seen"], data["values"]
        learned = {
            path: LearnedValue(tuple(known), False, "", seen.get(path, "")) for path, known in values.items()
        }
        return replace(found, learned=learned)
    except (msgspec.ValidationError, KeyError, TypeError, AttributeError):
        return ProfileMemory()
