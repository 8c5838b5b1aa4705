"""Where rule files are, and what versions of Claude Code load: rules at start, rules for paths. Pure; observed with ten versions.

The client loads each `.claude/rules/**/*.md` at start, or, if its front matter has `paths:`, when a matching file is
read. The pattern is in list form, quoted, and begins with a slash: without it, a pattern of one folder matches at any
depth. Between two observed versions that differ, the later one is the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tacitd.sources.registry import CONTEXT_FILES
from tacitd.text.hashes import sha256
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
    return ".".join(map(str, version))


def loads_rules(version: Version) -> bool:
    return version >= RULES_SINCE


def when_paths_load(version: Version, *, headless: bool) -> When:
    """When the main session loads a rule that is limited to paths. `headless`: `claude -p`."""
    if version < RULES_SINCE:
        return "never"
    if version < PATHS_SINCE:
        return "start"
    return "never" if headless and version < ATTACHED_SINCE else "read"


LEARNED, AGENTS = "LEARNED.md", "AGENTS.md"
PROJECT_RULE = f"{CONTEXT_FILES.rules}/tacitd-learned.md"
"""The copy of LEARNED.md, relative to a work tree."""
MODULE_RULES = f"{CONTEXT_FILES.rules}/tacitd"
"""The directory of the modules' copies, relative to a work tree."""
TEAM_RULE = f"{MODULE_RULES}/AGENTS.md"
"""The source of a project whose LEARNED.md git tracks: the client loads it where it is. Linked work trees have copies of it."""
RULE_PATTERNS = (f"/{PROJECT_RULE}", f"/{MODULE_RULES}/")
"""The patterns that keep the rule files out of git."""
SEE_ALSO = "See also: [LEARNED.md](LEARNED.md) for dynamically learned preferences."
"""The line of an AGENTS.md by which other agents find LEARNED.md."""
USER_RULES = Path("rules/tacitd.md")
"""The file of what is known of the person, relative to Claude Code's directory."""
NAME_LIMIT = 120
"""Maximum length of the name of a module's copy in bytes, without digits and ending."""
# `{a,b}` would be expanded, and a comma splits even an item of a list. `?` matches any one character.
_PATTERN = str.maketrans(dict.fromkeys("{},*\\", "?") | {"[": "\\\\[", "]": "\\\\]", '"': '\\"'})


def name_module_rules(folders: Iterable[str]) -> dict[str, str]:
    """Return the copy of each module folder, both relative to a work tree.

    The name is the folder's with `-` for `/`. Names that are equal without case get six digits of a hash of the folder,
    and so does a name that had to be changed otherwise.
    """
    names = {folder: _plain_name(folder) for folder in folders}
    counted = Counter((*(name.casefold() for name in names.values()), "agents"))  # AGENTS.md is the team rule
    for folder, name in names.items():
        if counted[name.casefold()] > 1 or name != folder.replace("/", "-"):
            names[folder] = f"{name}-{sha256(folder.encode()).hexdigest()[:6]}"
    return {folder: f"{MODULE_RULES}/{name}.md" for folder, name in names.items()}


def scope_pattern(folder: str) -> str:
    """The pattern of a module's files, as it is between double quotes in YAML: `/pkg/cart/**`."""
    return f"/{folder.translate(_PATTERN)}/**"


def front_matter(folder: str) -> list[str]:
    """The lines by which the client loads a rule only for the files of a folder."""
    return ["---", "paths:", f'  - "{scope_pattern(folder)}"', "---", ""]


def _plain_name(folder: str) -> str:
    # A name with a leading dot is hidden, and may be left out by a client that lists the directory.
    name = folder.replace("/", "-").lstrip(".") or "module"
    return name.encode()[:NAME_LIMIT].decode("utf-8", "ignore")
