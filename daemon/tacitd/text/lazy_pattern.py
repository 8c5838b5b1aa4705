"""Patterns that are compiled at their first use.

Compiling all patterns of tacitd takes a fifth of the CPU time of a start, and a command needs few of them. For a module
with one small pattern `re.compile` is enough.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """Stands for a compiled pattern: each attribute comes from it, and is kept so that the next use costs nothing."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle look for methods that a pattern has not
            raise AttributeError(name)
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value


def compile_lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what has the methods and attributes of `re.compile(pattern, flags)`, which is called at the first use.

    It cannot be given to functions of `re` in place of a pattern. Its first use raises re.error if the pattern is wrong.
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
