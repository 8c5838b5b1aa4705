"""What changed in the person's rules file: the data of a commit, and the hook `changes` for `tacitd history`. Pure but for
the log that the hook reads.

    {"kind": "rules", "file": "/home/me/.claude/rules/tacitd.md", "added": ["Use pnpm"], "removed": []}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.state.paths import state_dir
from tacitd.text.hashes import sha256
from tacitd.work.commit_rows import read_all_commits
from tacitd_handlers.reach.rule_files import USER_RULES
from tacitd_handlers.reach.rules_text import RuleLine

KIND = "rules"
UNDO = f"delete the line in {USER_RULES} of Claude Code's directory: it is withdrawn where it came from, too"


def describe_rules_change(file: str, before: Sequence[RuleLine], after: Sequence[RuleLine]) -> dict[str, Any]:
    """The data of a commit; {} if the lines are the same. The order of lines does not count."""
    old, new = ([one.text.removeprefix("- ") for one in lines] for lines in (before, after))
    added, removed = [one for one in new if one not in old], [one for one in old if one not in new]
    return {"kind": KIND, "file": file, "added": added, "removed": removed} if added or removed else {}


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The changes in the form of `tacitd.files.change_view.describe_transaction`, oldest first. Raises OSError."""
    for commit in read_all_commits(state_dir(environ) / "handlers" / "reach"):
        data = commit.data
        if data.get("kind") != KIND:
            continue
        stamp = utc_seconds(commit.at)
        text = json.dumps([commit.at, data], sort_keys=True)
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:6]
        yield {
            "id": f"{stamp[:19].replace('-', '').replace(':', '')}-{digest}",
            "at": stamp,
            "root": "",
            "state": "done",
            "by": "reach",
            "what": "for every session",
            "undoes": "",
            "undone_by": "",
            "sessions": [],
            "prompts": [],
            "facts": [],
            "lines": list(_list_lines(data)),
            "files": [],
            "undo": UNDO,
        }


def _list_lines(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for sign in ("removed", "added"):
        found = data.get(sign)
        for text in found if isinstance(found, list) else ():
            line = {"file": str(data.get("file", USER_RULES)), "heading": "", "added": "", "removed": ""}
            yield line | {sign: str(text)}
