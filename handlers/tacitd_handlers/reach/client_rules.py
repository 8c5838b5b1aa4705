"""Where rule files are, and how the client limits one to the files of a folder. Pure.

The client loads each `.claude/rules/**/*.md` at start, or, if its front matter has `paths:`, when a matching file is read. The pattern is
in list form, quoted, and begins with a slash: without it, a pattern of one folder matches at any depth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tacitd.sources.registry import RULES
from tacitd.text.hashes import sha256

LEARNED, AGENTS = "LEARNED.md", "AGENTS.md"
PROJECT_RULE = f"{RULES}/tacitd-learned.md"
"""The copy of LEARNED.md, relative to a work tree."""
MODULE_RULES = f"{RULES}/tacitd"
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
    names = dict[str, str]()
    for folder in folders:
        # A name with a leading dot is hidden, and may be left out by a client that lists the directory.
        name = folder.replace("/", "-").lstrip(".") or "module"
        names[folder] = name.encode()[:NAME_LIMIT].decode("utf-8", "ignore")
    counted = Counter((*(name.casefold() for name in names.values()), "agents"))  # AGENTS.md is the team rule
    for folder, name in names.items():
        if counted[name.casefold()] > 1 or name != folder.replace("/", "-"):
            names[folder] = f"{name}-{sha256(folder.encode()).hexdigest()[:6]}"
    return {folder: f"{MODULE_RULES}/{name}.md" for folder, name in names.items()}


def front_matter(folder: str) -> list[str]:
    """The lines by which the client loads a rule only for the files of a folder: `/pkg/cart/**`, between double quotes of YAML."""
    return ["---", "paths:", f'  - "/{folder.translate(_PATTERN)}/**"', "---", ""]
