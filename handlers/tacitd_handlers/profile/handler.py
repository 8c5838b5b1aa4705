"""The profile's tasks: findings of learning's call, a person's commands, edits and decisions, decay, the changelog's limits, and
`.processed_turns`; and its values for `forget`, `accept`, `review` and `why`.

It never calls the model itself. What a change does belongs to `changes`; the engine writes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.contract import Cause, Done, Edits, Outcome, Rows, Task, Tools, Tx, nothing
from tacitd.errors import TacitdError, UsageError
from tacitd.files.atomic import edit_file
from tacitd.handler import Decision, Degradation, Notice
from tacitd.text.hashes import sha256
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import changes, profile_confidence, profile_files
from tacitd_handlers.profile.fields import CUSTOM, FIELDS
from tacitd_handlers.profile.profile_files import PROFILE, ProfileState
from tacitd_handlers.shared.places import memory_dir

CLOCK = "profile.clock"
TURNS = ".processed_turns"


def run(task: Task, tools: Tools) -> Outcome:
    directory = memory_dir(os.environ)
    match task.kind, task.data.get("job", ""):
        case "command", _:
            return _do_command(task, tools)
        case "message", _:
            return _learn(task, tools)
        case "job", "fade":
            return _fade(task, tools)
        case "job", "changelog":
            if not profile_files.find_clock_doubt(tools.rows, read_settled(tools), tools.clock.now()):
                profile_files.prune_changelog(directory / profile_files.CHANGELOG, tools.clock.now())
        case "purge", _:
            texts = [str(text) for text in task.data.get("texts", ())]
            changed = profile_files.purge_words(directory, task.key, texts)
            return Done(notices=[Notice("purged", str(path)) for path in changed])
        case _:
            pass
    publish_counts(tools.rows, directory)
    return Done()


def read_settled(tools: Tools) -> ProfileState:
    """The profile's files. Raises OSError, NotUnderstoodError, and FileBusyError while a change of them is not written."""
    profile_files.require_settled(tools.rows, memory_dir(os.environ))
    return profile_files.read_state(tools.rows, now=tools.clock.now())


def write_plan(
    state: ProfileState,
    plan: changes.ProfilePlan,
    cause: Cause,
    tools: Tools,
    notices: Sequence[Notice] = (),
    apply: Callable[[Tx], None] = nothing,
) -> Done:
    files, lines = changes.make_changes(state, plan, cause, tools.clock.now())
    return Done(apply, files, lines, notices=notices)


# --- findings, decay, edits


def _learn(task: Task, tools: Tools) -> Done:
    """Only the path is announced: the value is private, and others may read the log."""
    if "withdraw" in task.data:
        state, now = read_settled(tools), tools.clock.now()
        plan = changes.plan_removal(state, str(task.data["withdraw"]), None, now)
        return write_plan(state, plan, Cause(f"{task.key} {now}", "person", "deleted rule"), tools)
    from tacitd_handlers.profile.profile_finding import (
        parse_finding,  # commands that list values need none of its modules
    )

    said = parse_finding(task.data)
    if not said:
        return Done()
    state = read_settled(tools)
    at = profile_files.choose_time(tools.rows, state, tools.clock.now())
    plan = changes.plan_learning(state, said, task.session, at, profile_files.FINDING)
    put = {leaf: value for leaf, value in plan.put.items() if value is not None}
    notices = [
        Notice("learned", f"your {path}", PROFILE, item=path) for path in profile_files.list_values(put)
    ]
    return write_plan(state, plan, Cause(task.key, "prompt", session=task.session), tools, notices)


def _fade(task: Task, tools: Tools) -> Done:
    """Decay is checked every hour and written once a day, which is enough: it depends on the time that passed (P-16)."""
    state, now = read_settled(tools), tools.clock.now()
    doubt = profile_files.find_clock_doubt(tools.rows, state, now)
    if doubt:
        tools.degrade(Degradation(CLOCK, doubt, "set the clock; until then nothing fades or is pruned"))
        return Done()
    tools.clear(CLOCK)
    is_due = state.meta["preferences"] and profile_confidence.is_due(state.meta, now)
    plan = changes.plan_decay(state, now) if is_due else changes.plan_tidying(state)
    return write_plan(state, plan, Cause(f"fade {now}", "tacitd", "decay"), tools)


def take_edits(path: Path, edits: Edits, tools: Tools) -> Done:
    """What a person changed in profile.json is theirs: it loses its confidence."""
    state, cause = read_settled(tools), Cause(f"edits {tools.clock.now()}", "person", "edit")
    return write_plan(state, changes.plan_tidying(state), cause, tools)


# --- commands


def _do_command(task: Task, tools: Tools) -> Done:
    """Change the profile for a person or an agent; the notice says what was done. Raises UsageError, FileRefusedError, OSError."""
    data, state, now = task.data, read_settled(tools), tools.clock.now()
    path, value = str(data.get("path", "")), data.get("value")
    if data.get("agent"):
        return _set_for_agent(task, tools, state, path, value)
    did = {"set": "set", "add": "added", "remove": "removed", "clear": "cleared"}[data["do"]]
    cause = Cause(task.key, "person", f"profile {data['do']}")
    match data["do"]:
        case "set":
            plan = changes.plan_update(state, path, value, now)
        case "add":
            plan = changes.plan_additions(state, path, [str(value)], now)
            did = did if changes.is_changed(state, plan.put) else "yours"
        case _:
            plan = changes.plan_removal(state, path if data["do"] == "remove" else None, value, now)
    notice = Notice(did if plan.entry is not None else "unchanged", path or PROFILE, PROFILE)
    return write_plan(state, plan, cause, tools, [notice])


def _set_for_agent(task: Task, tools: Tools, state: ProfileState, path: str, value: Any) -> Done:
    """Merge an agent's value as a finding is merged: it fades, and never replaces the person's. What fails the checks waits for
    them."""
    now, session = tools.clock.now(), str(task.data.get("session", ""))
    is_list = FIELDS.get(path) == "list" or isinstance(value, list)
    given = [sanitize_line(str(one)) for one in (value if isinstance(value, list) else [value])]
    fault = _find_fault(path, given)
    if fault:
        made = json.dumps(given if is_list else given[0], ensure_ascii=False)
        id = sha256(f"{path}\0{made}".encode(errors="replace")).hexdigest()[:8]

        def store(tx: Tx) -> None:
            row = (id, path, made, fault, now)
            tx.execute("INSERT OR REPLACE INTO profile_waiting VALUES(?, ?, ?, ?, ?)", *row)

        return Done(store, notices=[Notice("waits", path, PROFILE, about=fault)])
    from tacitd_handlers.profile.profile_finding import Finding

    said = Finding({path: given if is_list else given[0]})
    plan = changes.plan_learning(
        state, said, session, profile_files.choose_time(tools.rows, state, now), profile_files.AGENT
    )
    kept = plan.entry is None and not state.list_learned(path) and not is_list
    notice = Notice("set" if plan.entry is not None else "kept" if kept else "unchanged", path, PROFILE)
    return write_plan(state, plan, Cause(task.key, "agent", "mcp", session), tools, [notice])


def _find_fault(path: str, given: Sequence[str]) -> str:
    """Why an agent's value waits for the person; "" if it does not. An order can be in the keys of a path too: with its dots,
    which addresses and places of files have, or with spaces for them."""
    from tacitd_handlers.shared.fact_text import find_agent_fault

    below = path.removeprefix(f"{CUSTOM}.")
    named = below.replace("_", " ")
    names = [named, below, named.replace(".", " ").replace("-", " ")]
    texts = [*given, " ".join(given), *(f"{name}: {one}" for name in names for one in given)]
    return next((why for one in texts if (why := find_agent_fault(one))), "")


# --- a decision about one of its values, see `profile_items`


def decide_about_value(decision: Decision, tools: Tools) -> Done:
    """Remove a value, or decide about one that waits. A removed value that the person states again is a preference again (SPEC
    P-10). Raises UsageError for another choice or an unknown path, OSError, FileRefusedError."""
    state, now, id = read_settled(tools), tools.clock.now(), decision.id
    cause = Cause(f"{decision.choice} {id} {now}", "person", decision.choice)
    waiting = tools.rows("SELECT path, value FROM profile_waiting WHERE id = ?", id)
    if waiting:
        ((path, value),) = waiting
        accept = decision.choice in ("keep", "edit")
        plan, value = changes.ProfilePlan(state.meta), json.loads(value)
        if accept and isinstance(value, str):
            plan = changes.plan_update(state, path, decision.text or value, now)
        elif accept:
            plan = changes.plan_additions(state, path, [decision.text] if decision.text else value, now)

        def end(tx: Tx) -> None:
            tx.execute("DELETE FROM profile_waiting WHERE id = ?", id)

        notice = Notice("set, and yours" if accept else "not set", path, PROFILE)
        return write_plan(state, plan, cause, tools, [notice], end)
    if decision.choice != "drop":
        hint = "`tacitd profile set` sets values"
        raise UsageError(f"{decision.choice} does not apply to a profile value", hint)
    plan = changes.plan_removal(state, id, None, now)
    if plan.entry is None:
        raise TacitdError(f"the profile has no {id}", "`tacitd profile show` lists the values")
    about = "said again, it is learned again. Without --purge, changelog.jsonl keeps it for 90 days"
    return write_plan(state, plan, cause, tools, [Notice("removed", f"{id}; {about}", PROFILE)])


# --- .processed_turns


def publish_counts(rows: Rows, directory: Path) -> None:
    """Write how many complete lines of each session's transcript were read, `id:count` (SPEC P-27 to P-31), for other programs. The
    order of the file stays, new sessions come last, and those without a transcript go. Raises OSError, FileRefusedError."""
    found = rows(
        "SELECT s.id, t.path, t.lines FROM session s JOIN transcript t ON t.path = s.transcript "
        "WHERE t.lines > 0 ORDER BY s.started, s.id"
    )
    counts = {id: lines for id, path, lines in found if Path(path).exists()}

    def change(data: bytes | None) -> bytes | None:
        known = [id for id in parse_counts((data or b"").decode("utf-8", "replace")) if id in counts]
        made = format_counts({id: counts[id] for id in [*known, *counts]}).encode()
        return made if made != data and (made or data is not None) else None

    edit_file(directory / TURNS, change, mode=0o600)


def parse_counts(text: str) -> dict[str, int]:
    """By session id. Lines are split at the last colon (SPEC P-27); malformed ones are left out."""
    parts = (line.rpartition(":") for line in text.splitlines())
    return {id: int(count) for id, _, count in parts if id and count.strip().isdecimal()}


def format_counts(counts: Mapping[str, int]) -> str:
    return "".join(f"{id}:{count}\n" for id, count in counts.items() if id and "\n" not in id)
