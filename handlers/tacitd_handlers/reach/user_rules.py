"""The person's rules file: `rules/tacitd.md` in Claude Code's directory, which every session loads.

    <!-- Written by tacitd from … -->

    # The person you work with

    ## Preferences

    - Languages: Python, Rust

Its lines are what the plugins know of the person (the part `person-rules`). It is rewritten once a day at most, because each
change costs every running session a note and its prompt cache; a line that does not hold any more, and what the person stated,
is followed at once. A line that the person deletes is withdrawn where it comes from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Rows, Task, Tools, Tx
from tacitd.errors import FileBusyError, FileRefusedError, TacitdError
from tacitd.files import git
from tacitd.files.atomic import read_snapshot
from tacitd.files.formats import Bullets, bullet, split_bullet
from tacitd.files.write_checks import refuse_foreign, refuse_unwritable
from tacitd.handler import Degradation, Footprint
from tacitd.logging_setup import logger
from tacitd.session_context.context_request import PersonRule, PersonRules
from tacitd.state.paths import config_dir, read_file, state_dir
from tacitd.text.import_words import quote_imports
from tacitd.text.markdown import can_be_bullet
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.reach.client_rules import USER_RULES
from tacitd_handlers.shared.problems import report_problem

LIMIT = 2048
"""Bytes of the generated text. A person's own lines in the file do not count."""
HEAD_START = "<!-- Written by tacitd from "
HEAD = f"{HEAD_START}your profile, your global lessons and ~/.agents/LEARNED.md. Delete a line to withdraw it; lines that you add stay. -->"
TITLE = "# The person you work with"


class RuleLine(Struct, frozen=True):
    """A rule as a line of the file."""

    plugin: str
    id: str
    text: str
    by_person: bool = False


Sections = Mapping[str, Sequence[RuleLine]]
"""The lines of each plugin by its title, the most important first."""


def make_lines(plugin: str, rules: Iterable[PersonRule]) -> list[RuleLine]:
    """Given a plugin's rules, return those that can be lines of the file.

    Left out: a rule that looks like a secret, contains a comment mark, which would hide other lines, is no bullet, as `~~~`, or
    repeats a line.
    """
    from tacitd.text.redact import has_secret  # many patterns: only the daemon needs them

    found: dict[str, RuleLine] = {}
    for rule in rules:
        text = quote_imports(sanitize_line(rule.text))
        is_line = text and "<!--" not in text and "-->" not in text and can_be_bullet(text)
        if is_line and not has_secret(text):
            found.setdefault(text, RuleLine(plugin, rule.id, text, rule.by_person))
    return list(found.values())


def choose_lines(sections: Sections, taken: Collection[str] = ()) -> dict[Leaf, RuleLine]:
    """Return what fits into `LIMIT` bytes: in turn the next line of each section, so that none displaces the others.

    A line that does not fit is left out. `taken`: lines that a person has written, which are not repeated.
    """
    chosen: dict[str, list[RuleLine]] = {title: [] for title in sections}
    left = LIMIT - len(f"{HEAD}\n\n{TITLE}\n")
    for depth in range(max(map(len, sections.values()), default=0)):
        for title, lines in sections.items():
            if depth >= len(lines) or (line := lines[depth]).text in taken:
                continue
            shown = f"- {line.text}\n" if chosen[title] else f"\n## {title}\n\n- {line.text}\n"
            cost = len(shown.encode("utf-8", "replace"))
            if cost <= left:
                chosen[title].append(line)
                left -= cost
    return {bullet(title, line.text): line for title, lines in chosen.items() for line in lines}


LIST = Bullets(TITLE.removeprefix("# "), first=HEAD)
PART = "person-rules"
BLOCKED, INCOMPLETE = "reach.blocked", "reach.incomplete"
DAY, HOUR = 86_400.0, 3600.0


class RulesMemory(Struct, frozen=True):
    """What was written, and when the file was compared last: see schema.sql."""

    rules: Mapping[Leaf, RuleLine]
    state: str = "none"
    left_out: int = 0
    written: float | None = None
    stamp: str = ""


def list_paths(rows: Rows, environ: Mapping[str, str], root: Path | None) -> list[Path]:
    return [config_dir(environ) / USER_RULES] if root is None else []


def read_memory(rows: Rows) -> RulesMemory:
    rules = {
        leaf: RuleLine(source, id, split_bullet(leaf)[1], bool(by_person))
        for leaf, source, id, by_person in rows("SELECT leaf, source, id, by_person FROM reach_rule")
    }
    found = rows("SELECT state, left_out, written, stamp FROM reach_file")
    return RulesMemory(rules, *found[0]) if found else RulesMemory(rules)


def run(task: Task, tools: Tools) -> Done:
    """Bring the file up to date, if anything changed. When a session has started, a file that is missing or incomplete is made again; for
    a purge, what was forgotten leaves it at once. Raises FileBusyError."""
    path, restore = tools.client_home / USER_RULES, task.kind == "session-started"
    if not tools.client_home.is_dir():  # Claude Code was never used with this directory
        return Done()
    sources, memory, settings = load_sources(tools), read_memory(tools.rows), tools.settings["reach"]
    now = tools.clock.now()
    files = [path, *(file for one in sources.values() for file in one.list_files())]
    # Also each hour: confidences decay, and what waits for the next day is due.
    stamp = repr([*map(_stat_file, files), settings.user_rules, settings.user_rules_in_git, now // HOUR])
    is_due = task.kind == "purge" or (restore and memory.state == "incomplete")
    if stamp == memory.stamp and not is_due:
        return Done()
    next_memory = replace(memory, stamp=stamp)
    try:
        if not settings.user_rules:
            if memory.rules:
                check_place(path)
            next_memory = replace(next_memory, rules={}, state="off")
        elif find_work_tree(path) is not None and not settings.user_rules_in_git:
            next_memory = replace(next_memory, state="git")
        else:
            check_place(path)
            next_memory = _follow(path, next_memory, sources, tools, restore=restore)
        tools.clear(BLOCKED)
    except FileBusyError:
        raise
    except (OSError, TacitdError) as error:
        what = error.what if isinstance(error, TacitdError) else str(error)
        what = what if str(path) in what else f"{path}: {what}"
        hint = error.hint if isinstance(error, TacitdError) else "make it writable by your user"
        tools.degrade(Degradation(BLOCKED, what, hint))
        next_memory = replace(memory, state="blocked", stamp="")
    if next_memory.rules is memory.rules or not (next_memory.rules or memory.rules):
        return Done(lambda tx: _store(tx, path, next_memory))
    return _write(path, memory.rules, replace(next_memory, written=now), now)


def _follow(
    path: Path, memory: RulesMemory, sources: Mapping[str, PersonRules], tools: Tools, *, restore: bool
) -> RulesMemory:
    """What is to be in the file. Its rules stay the same if nothing is written now; without a stamp it is compared again at the next run
    of the job."""
    try:
        text = read_file(path).decode()
    except FileNotFoundError:
        text = ""
    except UnicodeDecodeError:
        raise FileRefusedError("it is not UTF-8", "save it as UTF-8") from None
    if text.strip() and not memory.rules and HEAD_START not in text:
        raise FileRefusedError("it is not tacitd's", "rename it; tacitd then makes its own")
    view = tools.look(path, LIST)
    is_whole = bool(text.strip()) and view.doubt != "cut"
    if memory.rules and not is_whole and not restore:
        return replace(memory, state="incomplete")
    if view.doubt == "removed once" or view.edits.removed or view.edits.changed:
        return replace(memory, stamp="")  # the person's edits come first
    sections = _list_sections(sources, memory, tools)
    every = [line for lines in sections.values() for line in lines]
    memory = replace(memory, left_out=len(every) - len(choose_lines(sections)))
    wanted = choose_lines(sections, {value for leaf, value in view.now.items() if leaf not in memory.rules})
    state = "current" if wanted else "none"
    if wanted.keys() == memory.rules.keys() and (is_whole or not wanted):
        return replace(memory, state=state)
    if is_whole and memory.rules and 0.0 <= tools.clock.now() - (memory.written or 0.0) < DAY:
        holding = {(line.plugin, line.id) for line in every}
        is_withdrawn = any((line.plugin, line.id) not in holding for line in memory.rules.values())
        is_stated = any(line.by_person for leaf, line in wanted.items() if leaf not in memory.rules)
        if not is_withdrawn and not is_stated:
            return replace(memory, state="waits")
    return replace(memory, rules=wanted, state=state)


def _list_sections(sources: Mapping[str, PersonRules], memory: RulesMemory, tools: Tools) -> Sections:
    """The lines that hold now. Those of a plugin that cannot read its files may still hold: they stay as they were written."""
    sections, failed = dict[str, list[RuleLine]](), list[str]()
    for title, source in sources.items():
        try:
            lines = make_lines(title, source.list_rules())
        except Exception as error:  # noqa: BLE001  a third-party hook may raise anything
            failed.append(f"{title} of you cannot be read: {error}")
            lines = [one for one in memory.rules.values() if one.plugin == title]
        sections[sanitize_line(title)] = lines
    report_problem(tools, INCOMPLETE, "; ".join(failed), "`tacitd doctor` checks the files")
    return sections


def _write(path: Path, before: Collection[Leaf], memory: RulesMemory, now: float) -> Done:
    gone = [leaf for leaf in before if leaf not in memory.rules]

    def decide(now: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
        removed: dict[Leaf, str | None] = {leaf: None for leaf in gone if leaf in now}
        return removed | {leaf: line.text for leaf, line in memory.rules.items()}

    def apply(tx: Tx) -> None:
        tx.execute("DELETE FROM reach_rule")
        tx.executemany(
            "INSERT INTO reach_rule(leaf, source, id, by_person) VALUES(?, ?, ?, ?)",
            [(leaf, line.plugin, line.id, line.by_person) for leaf, line in memory.rules.items()],
        )
        _store(tx, path, memory)

    cause = Cause(f"user-rules {now:.3f}", "tacitd", "for every session")
    return Done(apply, (FileChange(path, LIST, decide, cause),))


def _store(tx: Tx, path: Path, memory: RulesMemory) -> None:
    tx.execute("DELETE FROM reach_file")
    tx.execute(
        "INSERT INTO reach_file(path, state, left_out, written, stamp) VALUES(?, ?, ?, ?, ?)",
        *(str(path), memory.state, memory.left_out, memory.written, memory.stamp),
    )


def take_edits(path: Path, edits: Edits, tools: Tools) -> Done:
    """Withdraw what the person deleted or reworded, where it comes from. A line that was only moved is the person's then."""
    memory, sources = read_memory(tools.rows), load_sources(tools)
    moved = {
        leaf for leaf, (new, _) in edits.changed.items() if split_bullet(new)[1] == split_bullet(leaf)[1]
    }
    gone = [leaf for leaf in (*edits.removed, *edits.changed) if leaf in memory.rules]
    withdrawn = list[Callable[[Tx], None]]()
    for leaf in gone:
        line = memory.rules[leaf]
        if leaf not in moved and line.plugin in sources:
            logger.info("a deleted line of {} is withdrawn: {} {}", path, line.plugin, line.id)
            later = sources[line.plugin].withdraw_rule(line.id)
            withdrawn += [later] if later is not None else []
    files = list[FileChange]()
    if gone and memory.rules.keys() <= set(gone):
        # What is left of a file without a line of anybody's is removed.
        cause = Cause(f"user-rules left {tools.clock.now():.3f}", "person", "the last line was deleted")
        files.append(FileChange(path, LIST, lambda now, edits: dict.fromkeys(gone), cause))

    def apply(tx: Tx) -> None:
        for withdraw in withdrawn:
            withdraw(tx)
        tx.executemany("DELETE FROM reach_rule WHERE leaf = ?", [(leaf,) for leaf in gone])
        tx.execute("UPDATE reach_file SET stamp = ''")

    return Done(apply, files)


def load_sources(tools: Tools) -> dict[str, PersonRules]:
    """What the plugins know of the person, by its title. One that fails is logged and left out."""
    found: dict[str, PersonRules] = {}
    parts: Sequence[Callable[..., PersonRules]] = tools.list_prompt_parts(PART)
    for make in parts:
        try:
            one = make(os.environ, tools.clock)
            found[one.title] = one
        except Exception as error:  # noqa: BLE001  a third-party hook may raise anything
            logger.warning("person rules are left out: {}: {}", make, error)
    return found


def _stat_file(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def check_place(path: Path) -> None:
    """Raise FileRefusedError if something else is in the file's place, or it cannot be written."""
    rules = path.parent
    if os.path.lexists(rules) and not rules.is_dir():
        raise FileRefusedError(f"{rules} is not a directory", "move it away")
    refuse_foreign(path)
    refuse_unwritable(path)


def find_work_tree(path: Path) -> Path | None:
    """The git work tree that the file is or would be in; None if it is in none."""
    existing = next(one for one in (path.parent, *path.parents) if one.is_dir())
    found = git.find_repository(Path(os.path.realpath(existing)))
    return found.here if found is not None else None


def find_footprint(environ: Mapping[str, str]) -> Footprint:
    """The rules file, for `uninstall`: removed if its whole text is tacitd's, otherwise kept and named."""
    from tacitd.cli.common import read_store

    path = config_dir(environ) / USER_RULES
    if path.is_symlink() or not path.is_file():
        return Footprint(places=[path.parent])
    sql, seen = "SELECT leaf FROM shared_leaf WHERE path = ?", read_snapshot(path)
    leaves = read_store(lambda rows: rows(sql, str(path)), state_dir(environ))
    if seen is not None and leaves and not LIST.splice(seen.data, {leaf: None for (leaf,) in leaves}):
        return Footprint(places=[path.parent], copies=[path])
    why = "it has lines that tacitd did not write, or is not tacitd's"
    return Footprint(edited_copies=[path], places=[path.parent], reasons={path: why})
