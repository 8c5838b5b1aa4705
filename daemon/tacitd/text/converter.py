"""Conversion of JSON values to structs, whose types are built when a module is imported.

msgspec builds a type when it is first used, and crashes if several threads do that at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

DecodeCustom = Callable[[type, Any], Any]


class Converter:
    """Converts to one type. Made at import, before there are threads."""

    def __init__(self, kind: Any, decode_custom: DecodeCustom | None = None) -> None:
        """`decode_custom`: given a type that msgspec does not know, and a value, returns the object."""
        msgspec.json.Decoder(kind)  # builds the type
        self._kind = kind
        self._decode_custom = decode_custom

    def convert(self, value: Any) -> Any:
        """Return the value as the type. Raises msgspec.ValidationError."""
        return msgspec.convert(value, self._kind, dec_hook=self._decode_custom)


def describe_mismatch(error: msgspec.ValidationError) -> str:
    """What the value has instead, the place first: `tasks[0].id: Expected `str`, got `int``."""
    what, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    return f"{place}: {what}" if place else what
