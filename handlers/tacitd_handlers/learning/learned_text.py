"""What sessions get of learned lines beside the rule files: learning's part of a session's text, and the tools of the MCP server.

The client loads the lines of LEARNED.md, and of the AGENTS.md files from the root to the directory, by itself as a rule (SPEC S-37), and
then nothing is printed. Otherwise, those lines are printed that are tacitd's, and the others of a project that the person trusts: text
that came with a repository is a stranger's. It runs at each session's start, so this module imports little.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tacitd.files.git import INDEX_LOCK, find_project_root, find_repository, read_index_mode
from tacitd.mcp.agent_tools import AgentInterface, AgentResource, AgentTool, ToolParameter
from tacitd.session_context.context_request import ContextRequest, cut_text
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.learning.learned_rows import find_trust
from tacitd_handlers.reach.rule_text import strip_block
from tacitd_handlers.shared.places import leads_out, read_text

LIMIT = 200_000
"""Bytes that are read of a file."""
_ITEM = compile_lazily(r" {0,3}[-*+] ")
_OURS = """
SELECT l.text FROM learning_line l JOIN project p ON p.number = l.project WHERE p.root = ? AND l.state = 'present' AND l.path = ?
"""


def make_text(request: ContextRequest) -> str:
    """Return the lines that the client does not load, by file; "" if there are none. For a sub-agent, prohibitions only."""
    if request.occasion == "failure":
        return ""
    parts = [
        "\n".join([f"## What was learned here ({path})", *lines, ""])
        for path, lines in _list_missing(request)
    ]
    return cut_text("\n".join(parts), request.budget)


def _list_missing(request: ContextRequest) -> Iterator[tuple[Path, list[str]]]:
    """The list items of each file that the client does not load, as far as they are from here."""
    for path, text in read_context_files(request.cwd):
        items = [line.strip() for line in text.splitlines() if _ITEM.match(line)]
        wanted = [one for one in items if not request.is_loaded(one)]
        if request.occasion == "agent":
            from tacitd_handlers.shared.polarity import forbids  # not for a session of a person

            wanted = [one for one in wanted if forbids(one)]
        if wanted and path not in request.withheld and (own := _select_own(request, path, wanted)):
            yield path, own


def _select_own(request: ContextRequest, path: Path, items: list[str]) -> list[str]:
    """Those of a file's list items that tacitd wrote; all of them if the person trusts the project, or if it is not known who wrote
    the file and git did not bring it."""
    root = str(find_project_root(request.cwd))
    trust, tree = find_trust(request.rows, root), find_repository(path.parent)
    # In a checkout, files are there before the index names them.
    is_tracked = tree is not None and (
        (tree.git_dir / INDEX_LOCK).exists() or read_index_mode(tree.here, path) != ""
    )
    if trust == "yes" or (not trust and not is_tracked):
        return items
    ours = {text for (text,) in request.rows(_OURS, root, str(path))}
    return [one for one in items if one[2:].strip() in ours]


def read_context_files(cwd: Path) -> Iterator[tuple[Path, str]]:
    """Yield path and text of the project's LEARNED.md, then of each AGENTS.md from the root down to the directory.

    In a linked worktree LEARNED.md is the main worktree's. An AGENTS.md is the linked worktree's own if it has one,
    otherwise the main worktree's.
    """
    here = Path(os.path.realpath(cwd))
    root = find_project_root(here)
    for name in ("LEARNED.md", ".claude/rules/tacitd/AGENTS.md"):
        yield from _text(root / name, root)
    found = find_repository(next((p for p in (here, *here.parents) if p.is_dir()), here))
    tree = found.here if found is not None else root
    folders = here.relative_to(tree).parts if here.is_relative_to(tree) else ()
    for depth in range(len(folders) + 1):
        below = Path(*folders[:depth])
        own = list(_text(tree / below / "AGENTS.md", tree, root))
        yield from own or (_text(root / below / "AGENTS.md", root) if tree != root else ())


def _text(path: Path, *roots: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file's path and text if its real path is in one of `roots`, and it is readable and not empty."""
    if all(leads_out(path, root) for root in roots):
        return
    if (text := strip_block(read_text(path, LIMIT))).strip():
        yield path, text


LEARNING = AgentInterface(
    tools=(
        AgentTool(
            "list_learned",
            "The rules that were learned in a project from what the person typed, each with its file, when it was said, "
            "how often, and whether it is broken again or stale. A session loads most of them by itself; `explain_line` tells why one exists.",
            ("learned", "--json"),
            (ToolParameter("project", "A directory in the project; leave it out for the session's own."),),
        ),
        AgentTool(
            "search_learned",
            "Find learned rules in all of the person's projects by words, each with its file. Use it when they ask what they "
            "said elsewhere, or how they do something in other projects.",
            ("learned", "--all", "--json"),
            (ToolParameter("words", "All of them must occur; case does not matter.", required=True),),
            is_rare=True,
        ),
    ),
    resources=(
        AgentResource(
            "learned",
            "LEARNED.md",
            "The learned lines of this project, and the AGENTS.md files on the way to this directory.",
            read=f"{__name__}:read_learned",
        ),
    ),
)


def read_learned(cwd: Path, budget: int) -> str:
    """The text of LEARNED.md, and of the AGENTS.md files from the root to the directory, at most `budget` characters."""
    parts = [f"=== {path} ===\n{text.rstrip()}\n" for path, text in read_context_files(cwd)]
    return "\n".join(parts)[:budget]
