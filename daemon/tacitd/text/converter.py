"""Conversion of JSON values to structs, whose types are built when a module is imported.

msgspec builds a type when it is first used, and crashes if several threads do that at once.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Converter:
    """Converts to one type. Made at import, before there are threads."""

    def __init__(self, kind: Any) -> None:
        msgspec.json.Decoder(kind)  # builds the type
        self._kind = kind

    def convert(self, value: Any) -> Any:
        """Return the value as the type. Raises msgspec.ValidationError."""
        return msgspec.convert(value, self._kind)


def describe_mismatch(error: msgspec.ValidationError) -> str:
    """What the value has instead, the place first: `tasks[0].id: Expected `str`, got `int``."""
    what, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    return f"{place}: {what}" if place else what
