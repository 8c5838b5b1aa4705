"""Values that an agent sets, through MCP or with a command in a session. Nobody typed them.

They are merged as a finding is: they decay, never replace a person's value, and are in the changelog as `mcp/hook`. What fails the
checks waits in a log beside the handler's state until the person accepts it; then it is theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from tacitd.clock import parse_utc, utc_seconds
from tacitd.errors import TacitdError, UsageError
from tacitd.files.log import BLANK
from tacitd.handler import StoredItem
from tacitd.text.hashes import sha256
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile import changelog, dot_paths
from tacitd_handlers.profile.fields import FIELDS, LABELS
from tacitd_handlers.profile.merge import PartialProfile
from tacitd_handlers.profile.ownership import AGENT
from tacitd_handlers.profile.profile_changes import ProfilePlan
from tacitd_handlers.profile.profile_reader import PROFILE, ProfileReader
from tacitd_handlers.profile.render import format_value
from tacitd_handlers.profile.store import ProfileStore
from tacitd_handlers.shared.agent_checks import find_agent_fault


def store_agent_value(
    store: ProfileStore, path: str, value: str | Sequence[str], session: str
) -> ProfilePlan | str:
    """Merge an agent's value; return the plan, or why it waits for the person.

    Raises TacitdError if it has what looks like a secret, OSError, LogDamagedError, and as `ProfileStore` does.
    """
    given = [sanitize_line(one) for one in ([value] if isinstance(value, str) else value)]
    is_list = FIELDS.get(path) == "list" or not isinstance(value, str)
    if has_secret(f"{path}: {' '.join(given)}"):
        raise TacitdError("the value has what looks like a secret", "leave it out")
    # An order can be in the keys of a path too.
    named = path.replace(".", " ").replace("_", " ").replace("-", " ")
    texts = [*given, *(f"{named}: {one}" for one in given)]
    fault = next((why for one in texts if (why := find_agent_fault(one))), "")
    if not fault:
        said = PartialProfile({path: given if is_list else given[0]})
        return store.learn_finding(said, session, "", AGENT) or ProfilePlan((), {}, None)
    made = given if is_list else given[0]
    id = sha256(f"{path}\0{made}".encode(errors="replace")).hexdigest()[:8]
    record = {"at": store.clock.now(), "id": id, "path": path, "value": made, "reason": fault}
    store.waiting_log.append_and_close(record)
    return fault


def read_waiting(store: ProfileReader) -> dict[str, dict[str, Any]]:
    """The records of the values that wait, by id. Raises OSError."""
    found: dict[str, dict[str, Any]] = {}
    with closing(store.waiting_log) as log:
        for record in log.read():
            id, value = str(record.get("id", "")), record.get("value", "")
            found.pop(id, None)
            if "path" in record and BLANK not in ([value] if isinstance(value, str) else value):
                found[id] = dict(record)
    return found


def list_waiting(store: ProfileReader) -> Iterator[StoredItem]:
    """An item for each value that waits. Raises OSError."""
    for id, one in read_waiting(store).items():
        text = f"{LABELS.get(one['path'], one['path'])}: {format_value(one['value'])}"
        why = f"an agent wants to set it, and it waits for you: {one.get('reason', '')}"
        yield StoredItem(id, "profile value", text, PROFILE, None, "proposed", review=why)


def decide_waiting(store: ProfileStore, one: Mapping[str, Any], text: str, *, accept: bool) -> str:
    """Make a waiting value the person's, with the words `text` if there are any, or drop it; return what was done."""
    path, value = str(one["path"]), one["value"]
    if accept:
        try:
            for each in [text or value] if isinstance(value, str) else [text] if text else value:
                if isinstance(value, str):
                    store.set_value(path, each)
                else:
                    store.add_element(path, str(each))
        except ValueError as error:
            raise UsageError(f"{path} cannot be set: {error}", "tacitd profile show --json") from None
    store.waiting_log.append_and_close({"at": store.clock.now(), "id": one["id"]})
    return f"{path} is set, and yours" if accept else f"{path} is not set"


def explain_values(store: ProfileReader, asked: str) -> Iterator[dict[str, Any]]:
    """The values whose path or text contains `asked`, and who set them last. Raises OSError, NotUnderstoodError."""
    profile, wanted = store.read_profile(), asked.strip().casefold()
    owned = store.judge_documents(profile, store.read_metadata())
    entries = changelog.read_entries(store.log.path)
    for path, value in dot_paths.list_leaves(profile).items():
        text = f"{LABELS.get(path, path)}: {format_value(value)}"
        if len(wanted) < 3 or (wanted != path.casefold() and wanted not in text.casefold()):
            continue
        last = next((e for e in reversed(entries) if dot_paths.get_value(e.get("changes") or {}, path)), {})
        by_agent = path not in owned.paths and last.get("source") == AGENT
        who = "an agent set it: you did not type it" if by_agent else "learned"
        at, session = parse_utc(last.get("timestamp")), last.get("session_id")
        yield {
            "id": path,
            "what": text,
            "where": f"{PROFILE}, {'yours' if path in owned.paths else who}",
            "at": utc_seconds(at) if at is not None else "",
            "sessions": [session] if session else [],
            "words": [],
        }
