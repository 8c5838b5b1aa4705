"""The profile's files as they are now, and which of its values were learned (SPEC P-03, P-06, P-10, P-17).

A profile is its leaves, as `JsonLeaves` names them: each value that is no object, and each element of a list on its own. A dot path
such as `work.languages` leads to the leaves at and below it.

A value is learned if it has an entry in profile-meta.json and is what tacitd wrote there last, which the store knows leaf by
leaf. Every other value is the person's, also one that tacitd had written earlier. Where the store does not know a value, such
as one of another machine, an entry that is newer than what tacitd wrote counts; of a list, only the elements that the changelog
names as learned do. So a value may stay too long, and never goes too early.
"""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.clock import doubt_clock, parse_utc, utc_millis
from tacitd.errors import FileBusyError
from tacitd.files import json_document
from tacitd.files.formats import JsonLeaves, write_json
from tacitd_handlers.profile import profile_confidence
from tacitd_handlers.profile.fields import (
    HEAD_FIELDS,
    Json,
    check_metadata,
    check_profile,
    fold_spelling,
    get_value,
)
from tacitd_handlers.shared.places import memory_dir, read_plain_bytes

if TYPE_CHECKING:
    from tacitd.contract import Leaf, Rows

PROFILE, META, CHANGELOG = "profile.json", "profile-meta.json", "changelog.jsonl"
LEAVES = JsonLeaves()


class ProfileState(Struct, frozen=True):
    directory: Path
    values: Mapping[Leaf, str]
    """The profile's leaves, with their values as JSON; those of the head if there is no file."""
    meta: Json
    learned: frozenset[Leaf]
    """The leaves of the profile that were learned; all others are the person's."""
    adopted: frozenset[Leaf]
    """Those of them that tacitd did not write here: the next change notes them."""
    on_disk: Mapping[str, Mapping[Leaf, str]]
    """By file name, the leaves that are in the file; none for one that does not exist."""

    def find_leaves(self, path: str | None) -> list[Leaf]:
        """The leaves at and below a path (None: all), without those of the head."""
        below = "" if path is None else f"{path}."
        return [one for one in self.values if f"{find_path(one)}.".startswith(below) and not is_head(one)]

    def list_learned(self, path: str) -> list[Any]:
        """The learned values at a path: the elements of a list, or the value; [] if there are none."""
        return [json.loads(self.values[leaf]) for leaf in self.find_leaves(path) if leaf in self.learned]

    def is_own(self, path: str) -> bool:
        """Whether nothing at a path was learned."""
        return self.learned.isdisjoint(self.find_leaves(path))

    def list_own(self, path: str) -> list[Any]:
        """The person's elements of a list that has learned elements too; [] for any other value."""
        if self.is_own(path):
            return []
        leaves = [leaf for leaf in self.find_leaves(path) if is_element(leaf)]
        return [json.loads(self.values[leaf]) for leaf in leaves if leaf not in self.learned]


def read_state(rows: Rows, env: Mapping[str, str] | None = None, now: float = 0.0) -> ProfileState:
    """Read the files; missing ones are new. Raises OSError, and NotUnderstoodError for one that is damaged or of another
    version."""
    env = os.environ if env is None else env
    directory = memory_dir(env)
    profile, meta = read_profile(directory), json_document.read_document(directory / META)
    if meta is not None:
        check_metadata(meta, directory / META)
    head = {"userId": user_id(env), "schemaVersion": 1, "lastUpdated": utc_millis(now)}
    values = list_leaves(head if profile is None else profile)
    on_disk = {PROFILE: values if profile is not None else {}, META: list_leaves(meta or {})}
    meta = profile_confidence.new_metadata(user_id(env), now) | (meta or {})
    written = _read_base(rows, directory / PROFILE)
    learned = frozenset(_find_learned(rows, directory, values, meta, written))
    return ProfileState(directory, values, meta, learned, learned - written.keys(), on_disk)


def read_profile(directory: Path) -> Json | None:
    """The profile alone; None if there is no file. Raises as `read_state`."""
    found = json_document.read_document(directory / PROFILE)
    return None if found is None else check_profile(found, directory / PROFILE)


def require_settled(rows: Rows, directory: Path) -> None:
    """Raises FileBusyError while a change of a file is planned and not written: what is read now is not what will be there."""
    for name in (PROFILE, META):
        if rows("SELECT 1 FROM plan WHERE path = ?", str(directory / name)):
            raise FileBusyError(f"a change of {name} is not finished", seconds=1.0)


def list_edited(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterable[Path]:
    return () if root is not None else (memory_dir(environ) / PROFILE,)


def user_id(env: Mapping[str, str]) -> str:
    """Return $USER, otherwise the user's name in the password database, otherwise the user's number (SPEC P-02)."""
    if env.get("USER"):
        return env["USER"]
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


# --- leaves and paths


def list_leaves(document: Json) -> dict[Leaf, str]:
    """A document's leaves, as the engine names them, with their values as JSON."""
    return dict(LEAVES.read_leaves(write_json(document).encode()))


def list_values(values: Mapping[Leaf, str]) -> dict[str, Any]:
    """The values of leaves by path, in their order and without the head; a list is one value."""
    found: dict[str, Any] = {}
    for leaf, value in values.items():
        if is_element(leaf):
            found.setdefault(find_path(leaf), []).append(json.loads(value))
        elif not is_head(leaf):
            found[find_path(leaf)] = json.loads(value)
    return found


@lru_cache(4096)
def find_path(leaf: Leaf) -> str:
    """The path of a leaf; of an element that of its list."""
    return ".".join(key for key in json.loads(leaf) if isinstance(key, str))


def is_element(leaf: Leaf) -> bool:
    return isinstance(json.loads(leaf)[-1], list)


def is_head(leaf: Leaf) -> bool:
    """Whether it describes the document and is no value."""
    return json.loads(leaf)[0] in HEAD_FIELDS


# --- what was learned


def _find_learned(
    rows: Rows, directory: Path, values: Mapping[Leaf, str], meta: Json, written: Mapping[Leaf, str]
) -> Iterator[Leaf]:
    ours = _read_ours(_read_base(rows, directory / META))
    entries = profile_confidence.read_confidences(meta)
    for leaf, value in values.items():
        entry = entries.get(find_path(leaf))
        if entry is None or is_head(leaf):
            continue
        if leaf in written:
            if json.loads(written[leaf]) == json.loads(value):
                yield leaf
        elif (ours is None or entry.last_seen > ours.get(entry.path, max(ours.values()))) and (
            not is_element(leaf)
            or _is_named(read_entries(directory / CHANGELOG), entry.path, json.loads(value))
        ):
            yield leaf


def _read_base(rows: Rows, path: Path) -> dict[Leaf, str]:
    return dict(rows("SELECT leaf, written FROM shared_leaf WHERE path = ?", str(path)))


def _read_ours(base: Mapping[Leaf, str]) -> dict[str, float] | None:
    """When each path was seen last, as tacitd wrote it, and when it wrote decay; None if it never wrote."""
    if not base:
        return None
    found = {json.loads(leaf)[0]: json.loads(value) for leaf, value in base.items()}
    seen = {path: one.last_seen for path, one in profile_confidence.read_confidences(found).items()}
    return seen | {"": parse_utc(found.get("lastDecay")) or 0.0}


def _is_named(log: Iterable[Json], path: str, element: Any) -> bool:
    """Whether the changelog's last entry about an element of a list says that it was learned."""
    is_learned = False
    for entry in log:
        given, gone = get_value(entry.get("changes"), path), entry.get("removed")
        if isinstance(given, list) and is_same(element, given) and entry.get("action") != "remove":
            is_learned = entry.get("source") != COMMAND
        if isinstance(gone, list) and {path, f"{path}.{element}"} & set(map(str, gone)):
            is_learned = False
    return is_learned


def is_same(element: Any, values: Iterable[Any]) -> bool:
    """Whether one of the values is this one, but for case and spaces (SPEC P-07)."""
    return fold_spelling(str(element)) in [fold_spelling(str(one)) for one in values]


# --- the clock


def find_clock_doubt(rows: Rows, state: ProfileState, now: float) -> str:
    """Why nothing fades now: the clock is not believed; "" if it is."""
    return doubt_clock(now, _find_known_time(rows, state, now))


def choose_time(rows: Rows, state: ProfileState, now: float) -> float:
    """The time of a sighting: now, or the newest known time if the clock is not believed."""
    known = _find_known_time(rows, state, now)
    return known if known is not None and doubt_clock(now, known) else now


def _find_known_time(rows: Rows, state: ProfileState, now: float) -> float | None:
    # The newest record of a transcript; one from the future confirms no clock.
    limit = now + profile_confidence.DAY
    newest: float | None = rows("SELECT max(last) FROM session WHERE last <= ?", limit)[0][0]
    return profile_confidence.newest_moment(state.meta) if newest is None and state.on_disk[META] else newest


# --- changelog.jsonl (SPEC P-18 to P-21). Writers only append; the prune rewrites the whole file, and moves a line that is not a JSON object to
# a quarantine file. Entries are made by `changes`.

MAX_ENTRIES = 1000
MAX_AGE_DAYS = 90
QUARANTINE = "changelog.quarantine.jsonl"
COMMAND, AGENT, FINDING, SYSTEM = "mcp/tool", "mcp/hook", "minimal/hook", "system"
"""The sources of entries (SPEC P-19): a person's command, an agent, a finding, decay."""


def read_entries(path: Path, last: int = MAX_ENTRIES) -> list[Json]:
    """At most `last` of the newest entries, oldest first. Raises OSError."""
    lines = (read_plain_bytes(path) or b"").split(b"\n")
    return [entry for line in lines if (entry := _parse(line)) is not None][-last:]


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def prune_changelog(path: Path, now: float) -> None:
    """Bring the file within its limits: drop entries older than 90 days (exactly 90 stays), then keep the last 1,000 (P-20).

    Ages are compared as times, not as text (P-21). An entry without a readable timestamp counts as new. Raises OSError,
    FileRefusedError, FileBusyError.
    """
    from tacitd.files.append_file import append_missing  # not for a command that only reads, as below
    from tacitd.files.atomic import edit_file

    def change(data: bytes | None) -> bytes | None:
        lines = [line for line in (data or b"").split(b"\n") if line.strip()]
        oldest = now - MAX_AGE_DAYS * 86_400.0
        found = [(line, _parse(line)) for line in lines]
        bad = [line for line, entry in found if entry is None]
        kept = [line for line, one in found if one and (parse_utc(one.get("timestamp")) or now) >= oldest]
        if len(kept) == len(lines) and len(lines) <= MAX_ENTRIES:
            return None
        append_missing(path.with_name(QUARANTINE), [line.decode("utf-8", "backslashreplace") for line in bad])
        return b"".join(line + b"\n" for line in kept[-MAX_ENTRIES:])

    if path.exists():
        edit_file(path, change)


def purge_words(directory: Path, id: str, texts: Sequence[str]) -> list[Path]:
    """Blank these texts, and the values of the path `id`, in the changelog; return the files that changed.

    The values that profile.json has now stay: they are other values, or the person's. Raises OSError, FileRefusedError.
    """
    from tacitd.files.atomic import edit_file

    changed = list[Path]()
    for name in (CHANGELOG, QUARANTINE):
        path = directory / name

        def change(data: bytes | None) -> bytes | None:
            lines = (data or b"").split(b"\n")
            made = [_blank_line(line, id, texts) for line in lines]
            return b"\n".join(made) if made != lines else None

        if path.exists() and edit_file(path, change):
            changed.append(path)
    return changed


def _blank_line(line: bytes, id: str, texts: Sequence[str]) -> bytes:
    from tacitd.files.purge import BLANK, blank_value

    entry = _parse(line)
    if entry is None:
        return str(blank_value(line.decode("utf-8", "surrogateescape"), texts)).encode(
            "utf-8", "surrogateescape"
        )
    blanked: dict[str, Any] = blank_value(entry, texts)
    if (value := get_value(blanked.get("changes"), id)) is not None:
        above, _, key = id.rpartition(".")
        holder = get_value(blanked["changes"], above) if above else blanked["changes"]
        holder[key] = [BLANK] if isinstance(value, list) else BLANK
    made = json.dumps(blanked, ensure_ascii=False, separators=(",", ":")).encode()
    return line if blanked == entry else made
