"""`tmp/learning-raw.jsonl` (SPEC S-02): the facts that wait, as rows show them to people and other programs, and an input.

    {"ts": "2025-12-17T01:50:00Z", "facts": ["Prefers X over Y"], "session": "…", "prompts": ["…"]}

`ts` and `facts` are seed 003's format. A line that another program of this person appends becomes facts, if the file is ours: a
repository can contain one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import utc_seconds
from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Rows, Tools, Tx
from tacitd.files import git
from tacitd.files.formats import Lines
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.learned_rows import (
    NewFact,
    insert_fact,
    make_id,
    queue_message,
    read_facts,
    read_forgotten,
)
from tacitd_handlers.learning.sources import Place, find_place
from tacitd_handlers.reach.hiding import hide, hide_from_package, is_listed
from tacitd_handlers.shared.fact_text import tidy_fact
from tacitd_handlers.shared.model_text import FACT_LIMIT
from tacitd_handlers.shared.problems import report_problem
from tacitd_handlers.shared.words import judge_text

RAW, SUMMARY = "tmp/learning-raw.jsonl", "tmp/known-facts-summary.md"
"""What learning makes in the `tmp/` of a project; the summary is made by `known`."""
LINES = Lines()
_TYPED = """
SELECT f.session, p.id, min(f.said_at), json_group_array(f.text)
FROM (SELECT * FROM learning_fact WHERE project IS ? AND state = 'waiting' ORDER BY number) f JOIN prompt p ON p.number = f.prompt
GROUP BY f.session, f.prompt ORDER BY min(f.number)
"""
"""The facts that wait, by the message that says them."""
_CORRECTED = "corrected:"


def raw_path(root: Path) -> Path:
    return root / RAW


def list_paths(rows: Rows, environ: Mapping[str, str], root: Path | None) -> list[Path]:
    """The raw file of a project; the person has none. What has its name and is no file was not made by tacitd."""
    return [] if root is None or raw_path(root).is_symlink() else [raw_path(root)]


def hide_files(place: Place, paths: Sequence[Path], tools: Tools) -> None:
    """Keep files that are about to be made out of git, and say so while that is not possible."""
    if place.project is None or not paths:
        return
    why = hide(place.project, paths, tools)
    what = f"{why}: nothing is written there, so git shows the files that tacitd creates in {place.root}"
    hint = "`git status` there lists them; add them to your own .gitignore"
    report_problem(tools, f"learning.exclude:{place.name}", what if why else "", hint)


def update_raw(place: Place, tools: Tools) -> list[FileChange]:
    """The change that brings the raw file of a project in step with the facts that wait; without any, the file goes.

    Raises FileBusyError, FileRefusedError, OSError.
    """
    path, facts = raw_path(place.root), read_facts(tools.rows, place.number)
    if place.project is None or (not facts and not path.exists()) or _report_foreign(place, tools):
        return []
    wanted = dict.fromkeys(_encode_facts(tools.rows, place.number))
    # Lines of other programs stay until their facts are written.
    waiting = {fact.text for fact in facts if fact.prompt is None}
    now = tools.look(path, LINES).now
    keeps = {leaf for leaf in now if (entry := _parse_line(leaf)) and waiting.intersection(entry.facts)}
    hide_files(place, [path], tools)
    hide_from_package(place.root, place.root, "tmp")
    if not path.parent.is_dir():
        path.parent.mkdir(exist_ok=True)

    def decide(there: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        gone = [
            leaf for leaf in there if leaf not in wanted and leaf not in edits.added and leaf not in keeps
        ]
        return {**dict.fromkeys(gone), **{leaf: leaf for leaf in wanted}}

    key = make_id(*now, "", *wanted)
    cause = Cause(f"raw {tools.clock.now()} {key}", "tacitd", "facts that wait")
    return [FileChange(path, LINES, decide, cause, unlisted=frozenset((*now, *wanted)))]


def take_appended(path: Path, edits: Edits, tools: Tools) -> Done:
    place, now = find_place(path, tools), tools.clock.now()
    if place is None or not edits.added or _report_foreign(place, tools):
        return Done()
    entries = {line: entry for line in edits.added if (entry := _parse_line(line)) is not None}
    facts = [_make_fact(place, text, one, now, tools) for one in entries.values() for text in one.facts]
    unread = len(edits.added) - len(entries)
    what = f"{unread} lines of {path} are not facts" if unread else ""
    report_problem(tools, f"learning.raw:{place.name}", what, "they stay there; correct or remove them")

    def apply(tx: Tx) -> None:
        for fact in facts:
            insert_fact(tx, fact)
        queue_message(tx, "orphans", place, now)

    def adopt(there: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        return {leaf: leaf for leaf in entries if leaf in there}

    cause = Cause(f"raw lines {now}", "file", "lines of another program")
    change = FileChange(path, LINES, adopt, cause, adopts=True, unlisted=frozenset(entries))
    return Done(apply, [change] if entries else [])


class _RawEntry(Struct, frozen=True):
    at: float | None
    facts: tuple[str, ...]
    session: str


def _make_fact(place: Place, text: str, entry: _RawEntry, now: float, tools: Tools) -> NewFact:
    """A fact of another program. What can do damage waits for the person, because nobody typed it."""
    corrected = text[: len(_CORRECTED)].casefold() == _CORRECTED
    plain = text[len(_CORRECTED) :].strip() if corrected else text
    plain = plain[:1].upper() + plain[1:] if corrected else plain
    judged, at = judge_text(plain), now if entry.at is None else entry.at
    new = NewFact(place.number, entry.session, None, place.number, at, plain, "", corrected)
    if read_forgotten(tools.rows, place)(plain):
        return replace(new, state="forgotten")
    if len(plain) > FACT_LIMIT:
        return replace(new, state="review", reason=f"it is longer than {FACT_LIMIT} characters")
    if judged is not None:
        return replace(new, state="review" if judged.waits else "refused", reason=judged.reason)
    return new


def _report_foreign(place: Place, tools: Tools) -> bool:
    """Whether the raw file is not ours: it came with the project, and is neither read nor written. `status` says so."""
    path = raw_path(place.root)
    is_git = place.project is not None and place.project.git
    if not os.path.lexists(path):
        why = ""
    elif place.project is None or path.is_symlink() or not path.is_file():
        why = "is not an ordinary file"
    elif is_git and git.read_index_mode(place.root, path) != "":
        why = "came with the project, git tracks it"
    else:
        known = tools.rows("SELECT 1 FROM shared_file WHERE path = ? AND changes > 0", str(path))
        is_ours = known or (is_git and is_listed(place.project, path))
        why = "" if is_ours else "came with the project, or is of another program"
    what = f"{path} {why}: it is neither read nor written" if why else ""
    report_problem(tools, f"learning.raw-foreign:{place.name}", what, "remove it; tacitd makes its own then")
    return bool(why)


# --- the lines


def _encode_facts(rows: Rows, project: int | None) -> Iterator[str]:
    for session, prompt, at, texts in rows(_TYPED, project):
        record = {"ts": utc_seconds(at), "facts": json.loads(texts), "session": session, "prompts": [prompt]}
        yield json.dumps(record, ensure_ascii=False)


def _parse_line(line: str) -> _RawEntry | None:
    """The facts of a line, without those that look like a secret; None if it is none."""
    try:
        record = json.loads(line.strip(" \t\r\0\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("facts"), list):
        return None
    # The whole value is checked too: a secret that `tidy_fact` cuts would no longer match its pattern.
    texts = [one for one in record["facts"] if isinstance(one, str) and not has_secret(sanitize_line(one))]
    facts = (tidy_fact(one) for one in texts)
    kept = tuple(one for one in facts if any(char.isalnum() for char in one) and not has_secret(one))
    session, at = record.get("session"), None
    with suppress(TypeError, ValueError, OverflowError):
        at = datetime.fromisoformat(record.get("ts") or "").timestamp()
    return _RawEntry(at, kept, session if isinstance(session, str) else "")
