"""What `tacitd status` says of reach. It only reads rows, so nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tacitd.clock import utc_seconds
from tacitd.text.wording import count_noun
from tacitd_handlers.reach.client_rules import USER_RULES

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tools

_NOTES = {
    "waits": "; newer lines follow within a day",
    "incomplete": "; the file is missing or incomplete, and is made again at the next session",
    "blocked": "; the file cannot be written",
}


def report_status(rows: Rows, now: float) -> Mapping[str, Any]:
    """`file`; `state`: `current`, `waits` (for the next day), `incomplete` (made again at the next session), `none` (nothing to write),
    `off`, `git` (nothing is written) or `blocked`; `rules`, `left_out` (more than fit); `written` (ISO 8601)."""
    found = rows("SELECT path, state, left_out, written FROM reach_file")
    path, state, left_out, written = found[0] if found else (None, "none", 0, None)
    ((rules,),) = rows("SELECT count(*) FROM reach_rule")
    at = utc_seconds(written) if written else None
    part = {"file": path, "state": state, "rules": rules, "left_out": left_out, "written": at}
    return part | {"lines": list(format_status_lines(part))}


def format_status_lines(part: Mapping[str, Any]) -> Iterator[str]:
    """Given the part of the status, yield one line; none if there is nothing to say."""
    state = part.get("state")
    if state == "off":
        yield "the person's rules file is off (reach.user_rules)"
    elif state == "git":
        yield f"{part['file']} is in a git work tree and is not written (`tacitd doctor`)"
    elif part.get("rules"):
        left = part.get("left_out", 0)
        more = f", {left} more {'does' if left == 1 else 'do'} not fit" if left else ""
        yield f"{count_noun(part['rules'], 'line')} about you in {part['file']}{more}{_NOTES.get(str(state), '')}"


def format_banner_lines(tools: Tools) -> Iterator[str]:
    """Yield the file that is written outside the projects, and how to turn it off; nothing if it is off."""
    if tools.settings["reach"].user_rules:
        path = tools.client_home / USER_RULES
        yield f"what is known of you, for every session: {path} (reach.user_rules = false turns it off)"
