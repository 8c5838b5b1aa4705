"""Patterns that are compiled at their first use.

Compiling all patterns of tacitd takes a fifth of the CPU time of a start, and a command needs few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Stands for a compiled pattern: each attribute comes from it, and is kept so that the next use costs nothing."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._make: Callable[[], Any] = pattern if callable(pattern) else lambda: pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle look for methods that a pattern has not
            raise AttributeError(name)
        value = getattr(re.compile(self._make(), self._flags), name)
        setattr(self, name, value)
        return value


def compile_lazily(pattern: AnyStr | Callable[[], AnyStr], flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what has the methods and attributes of `re.compile(pattern, flags)`, which is called at the first use.

    `pattern`: the text, or a function that makes it. What is returned cannot be given to functions of `re` in place of a
    pattern. Its first use raises re.error if the pattern is wrong.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
