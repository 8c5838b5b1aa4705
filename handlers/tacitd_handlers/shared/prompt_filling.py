"""Fill the placeholders of a prompt, and fence the data in it. Pure.

Filling does not use `str.format`: typed text may contain braces, and a filled value must not be searched for placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tacitd.errors import TacitdError

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class PromptError(TacitdError):
    """A value has no placeholder."""


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Return the template with the placeholders of the values replaced, in a single pass; other braces stay. Raises PromptError."""
    if spare := sorted(values.keys() - _PLACEHOLDER.findall(text)):
        raise PromptError(f"the prompt cannot be filled: values without a placeholder {spare}")
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def fence_text(data: str) -> str:
    """Return the text between two lines of backticks, more than the longest run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", data)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{data}\n{bar}"
