"""Values that an agent sets, through MCP or with a command in a session. Nobody typed them.

They are merged as a finding is: they decay, never replace a person's value, and are in the changelog as `mcp/hook`. What fails the
checks waits in a log beside the handler's state until the person accepts it; then it is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacitd.errors import TacitdError, UsageError
from tacitd.text.hashes import sha256
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.profile.fields import CUSTOM, FIELDS
from tacitd_handlers.profile.merge import PartialProfile
from tacitd_handlers.profile.ownership import AGENT
from tacitd_handlers.profile.profile_changes import ProfilePlan
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
    # An order can be in the keys of a path too: with its dots, which addresses and places of files have, or spaces for them.
    named = path.removeprefix(f"{CUSTOM}.").replace("_", " ")
    names = [named, path.removeprefix(f"{CUSTOM}."), named.replace(".", " ").replace("-", " ")]
    texts = [*given, " ".join(given), *(f"{name}: {one}" for name in names for one in given)]
    fault = next((why for one in texts if (why := find_agent_fault(one))), "")
    if not fault:
        said = PartialProfile({path: given if is_list else given[0]})
        return store.learn_finding(said, session, "", AGENT) or ProfilePlan((), {}, None)
    made = given if is_list else given[0]
    id = sha256(f"{path}\0{made}".encode(errors="replace")).hexdigest()[:8]
    record = {"at": store.clock.now(), "id": id, "path": path, "value": made, "reason": fault}
    store.waiting_log.append_and_close(record)
    return fault


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
