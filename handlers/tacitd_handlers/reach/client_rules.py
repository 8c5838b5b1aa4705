"""What versions of Claude Code load: rules at start, rules for paths, excluded files. Pure; observed with ten versions.

Between two observed versions that differ, the later one is the limit.
"""

from __future__ import annotations

from typing import Literal

from tacitd.text.lazy_pattern import compile_lazily

Version = tuple[int, int, int]
RULES_SINCE: Version = (2, 0, 76)
"""The first version that was seen to load `.claude/rules`. 2.0.14 does not know them."""
PATHS_SINCE: Version = (2, 1, 20)
"""The first version that knows `paths:` in list form. Before that such a rule is loaded at start."""
ATTACHED_SINCE: Version = (2, 1, 110)
"""The first version that attaches rules for paths in the main session of `-p` too."""
LINKS_UNTIL: Version = (2, 1, 197)
"""The last version that loads rules through a `.claude` that is a link out of the project."""
NESTED_AGENTS_SINCE: Version = (2, 1, 328)
"""The first version that was seen to load AGENTS.md by itself, in projects without CLAUDE.md."""
_NUMBERS = compile_lazily(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?!\d)")

When = Literal["start", "read", "never"]


def parse_version(text: str) -> Version | None:
    """Given `2.1.328` or `2.1.328-beta`, return its numbers; None for anything else."""
    found = _NUMBERS.match(text) if text else None
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def format_version(version: Version) -> str:
    """The version as text."""
    return ".".join(map(str, version))


def loads_rules(version: Version) -> bool:
    """Whether the client loads rules at all."""
    return version >= RULES_SINCE


def when_paths_load(version: Version, *, headless: bool) -> When:
    """When the main session loads a rule that is limited to paths. `headless`: `claude -p`."""
    if version < RULES_SINCE:
        return "never"
    if version < PATHS_SINCE:
        return "start"
    return "never" if headless and version < ATTACHED_SINCE else "read"
