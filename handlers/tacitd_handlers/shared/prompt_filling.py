"""Fill the placeholders of a prompt, and fence the data in it. Pure.

Filling does not use `str.format`: typed text may contain braces, and a filled value must not be searched for placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tacitd.errors import TacitdError

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class PromptError(TacitdError):
    """A prompt's placeholders and the values for them do not match."""


def fill_template(text: str, values: Mapping[str, str], literals: Iterable[str] = ()) -> str:
    """Return the template with every placeholder replaced, in a single pass. `literals` are braces to leave as they are.

    Raises PromptError if a placeholder has no value or a value has no placeholder.
    """
    wanted = set(PLACEHOLDER.findall(text)) - set(literals)
    if wanted != set(values):
        missing, spare = sorted(wanted - set(values)), sorted(set(values) - wanted)
        raise PromptError(
            f"the prompt cannot be filled: placeholders without a value {missing}, values without a placeholder {spare}"
        )
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def fence_text(data: str) -> str:
    """Return the text between two lines of backticks, more than the longest run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", data)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{data}\n{bar}"
