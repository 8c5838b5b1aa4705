"""The lines of the banner about what sessions load."""

from __future__ import annotations

from collections.abc import Iterator

from tacitd.contract import Tools
from tacitd_handlers.reach.rule_files import USER_RULES


def format_banner_lines(tools: Tools) -> Iterator[str]:
    """Yield the file that is written outside the projects, and how to turn it off; nothing if it is off."""
    if tools.settings["reach"].user_rules:
        path = tools.client_home / USER_RULES
        yield f"what is known of you, for every session: {path} (reach.user_rules = false turns it off)"
