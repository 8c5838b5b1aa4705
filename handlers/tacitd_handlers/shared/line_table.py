"""Values by line, and which line says the same as a given one, however many there are. Pure."""

from __future__ import annotations

from collections import UserDict
from typing import TypeVar

from tacitd_handlers.shared.fact_index import FactIndex

V = TypeVar("V")


class LineTable(UserDict[str, V]):
    """A dictionary by line, in the order of insertion. Not thread-safe.

    The index of the words is made when it is first needed, and then follows each change: a log of thousands of lines and
    repetitions is folded by each command.
    """

    def __init__(self) -> None:
        super().__init__()
        self._index: FactIndex | None = None

    def __setitem__(self, line: str, value: V) -> None:
        if self._index is not None and line not in self.data:
            self._index.add(line)
        super().__setitem__(line, value)

    def __delitem__(self, line: str) -> None:
        super().__delitem__(line)
        if self._index is not None:
            self._index.replace(line, None)

    def drop_index(self) -> None:
        """Free the index of the words, half of what a table takes. The next question makes it again."""
        self._index = None

    def find_equal(self, line: str) -> str | None:
        """The line itself if it is here, otherwise the first one that says the same (`equality.find_equal`), or None."""
        if line in self.data:
            return line
        if not self.data:
            return None
        if self._index is None:
            self._index = FactIndex(self.data)
        return self._index.find_equal(line)
