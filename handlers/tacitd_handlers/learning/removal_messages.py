"""Tell the plugins that extend the synthesis which lines a person deleted, so that they withdraw what they made of the same
words (SPEC S-28).

The message is in the commit that records the removal: `{"tell": {"<plugin>": {"removed": [lines]}}}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacitd.handler import Tools
from tacitd_handlers.learning.prompt_templates import SYNTHESIS_PROMPT
from tacitd_handlers.shared.prompt_extensions import load_extensions


def add_removal_messages(data: Mapping[str, Any], tools: Tools) -> dict[str, Any]:
    """Given the data of a commit with the result of a check, return it with the messages."""
    look = data.get("look", data)
    removed = [line for lines in look.get("removed", {}).values() for line in lines]
    made = dict(data)
    if removed:
        messages = dict(made.get("tell", {}))
        for extension in load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ())):
            messages[extension.name] = {**messages.get(extension.name, {}), "removed": removed}
        made["tell"] = messages
    return made
