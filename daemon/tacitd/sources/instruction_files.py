"""The part of a source's contract that a session's start needs, without what reads transcripts."""

from __future__ import annotations

from msgspec import Struct


class ContextFiles(Struct, frozen=True):
    """The files of a project that the client loads into a session. Paths are relative to the project's root."""

    instructions: tuple[str, ...] = ()
    """Files for instructions that a person writes, the preferred one first."""
    others: tuple[str, ...] = ()
    """Further files of this kind, which nothing is written to."""
    rules: str = ""
    """The directory of instruction files that are all loaded; "" if the client has none."""
