"""What plugins know of the person, for the file of rules that every session loads. Types only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

__all__ = ["PersonRule", "PersonRules"]


from msgspec import Struct

if TYPE_CHECKING:
    from tacitd.contract import Tx


class PersonRule(Struct, frozen=True):
    """One thing that is known of the person and holds in every project: a line of the file that each session loads."""

    id: str
    """Stable while the line has the same subject. Unique within the plugin."""
    text: str
    """The line, without a list mark."""
    by_person: bool = False
    """Whether the person stated it or changed it by hand. The file follows such a change at once, others once a day."""


class PersonRules(Protocol):
    """What one plugin knows of the person. Made by the hook `person-rules` of `PluginSpec.prompt_parts`."""

    @property
    def title(self) -> str:
        """The heading of its lines."""
        ...

    def list_files(self) -> Sequence[Path]:
        """The files that the lines are made from. They are asked for again when one of these changes."""
        ...

    def list_rules(self) -> Sequence[PersonRule]:
        """The lines that hold now, the most important first: the file has room for 2 KB. Raises OSError, TacitdError."""
        ...

    def withdraw_rule(self, id: str) -> Callable[[Tx], None] | None:
        """The person deleted this line: take it back where it is stored, or return what does that in a transaction. One that is not there
        any more is ignored.

        Raises OSError, TacitdError; then it is called again later.
        """
        ...
