"""The profile's files as they are now, and which of its values were learned (SPEC P-03, P-06, P-17).

A value is learned if it has an entry in profile-meta.json and is what tacitd wrote there last, which the store knows leaf by
leaf. Every other value is the person's, also one that tacitd had written earlier. Where the store does not know a value, such
as one of another machine, an entry that is newer than what tacitd wrote counts; of a list, only the elements that the changelog
names as learned do. So a value may stay too long, and never goes too early.
"""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tacitd.clock import doubt_clock, parse_utc, utc_millis
from tacitd.errors import FileBusyError
from tacitd.files import json_document
from tacitd.files.formats import JsonLeaves, write_json
from tacitd_handlers.profile import changelog, dot_paths, profile_confidence
from tacitd_handlers.profile.document_check import ProfileMetadata, UserProfile, check_document
from tacitd_handlers.profile.dot_paths import Json, fold_spelling
from tacitd_handlers.shared.user_memory import memory_dir

if TYPE_CHECKING:
    from tacitd.contract import Leaf, Rows

PROFILE, META, CHANGELOG = "profile.json", "profile-meta.json", "changelog.jsonl"
LEAVES = JsonLeaves()
COMMAND, AGENT, FINDING, SYSTEM = "mcp/tool", "mcp/hook", "minimal/hook", "system"
"""The sources of the changelog (SPEC P-19): a person's command, an agent, a finding, decay."""
DAY = 86_400.0


class ProfileState(Struct, frozen=True):
    """The files as they are now."""

    directory: Path
    profile: Json
    meta: Json
    learned: frozenset[Leaf]
    """The leaves of the profile that were learned; all others are the person's."""
    adopted: frozenset[Leaf]
    """Those of them that tacitd did not write here: the next change notes them."""
    on_disk: Mapping[str, Mapping[Leaf, str]]
    """By file name, the leaves that are in the file; none for one that does not exist."""

    def list_learned(self, path: str) -> list[Any]:
        """The learned values at a path: the elements of a list, or the value; [] if there are none."""
        return [value for leaf, value in list_values(self.profile, path) if leaf in self.learned]

    def is_own(self, path: str) -> bool:
        """Whether nothing at a path was learned."""
        return not self.list_learned(path)

    def list_own(self, path: str) -> list[Any]:
        """The person's elements of a list that has learned elements too; [] for any other value."""
        own = [value for leaf, value in list_values(self.profile, path) if leaf not in self.learned]
        return (
            own if isinstance(dot_paths.get_value(self.profile, path), list) and not self.is_own(path) else []
        )


def read_state(rows: Rows, env: Mapping[str, str] | None = None, now: float = 0.0) -> ProfileState:
    """Read the files; missing ones are new. Raises OSError, and NotUnderstoodError for one that is damaged or of another
    version."""
    env = os.environ if env is None else env
    directory = memory_dir(env)
    found = read_checked(directory)
    profile = found[0] if found[0] is not None else _new_profile(env, now)
    meta = profile_confidence.new_metadata(user_id(env), now) | (found[1] or {})
    written = _read_base(rows, directory / PROFILE)
    learned = frozenset(_find_learned(rows, directory, profile, meta, written))
    on_disk = {
        name: list_leaves(one) if one is not None else {}
        for name, one in zip((PROFILE, META), found, strict=True)
    }
    return ProfileState(directory, profile, meta, learned, learned - written.keys(), on_disk)


def read_checked(directory: Path, *, patient: bool = True) -> tuple[Json | None, Json | None]:
    """The two documents; None for a file that does not exist. Raises as `read_state`."""
    profile = json_document.read_document(directory / PROFILE, patient=patient)
    meta = json_document.read_document(directory / META, patient=patient)
    if profile is not None:
        check_document(profile, UserProfile, directory / PROFILE)
    if meta is not None:
        check_document(meta, ProfileMetadata, directory / META)
    return profile, meta


def require_settled(rows: Rows, directory: Path) -> None:
    """Raises FileBusyError while a change of a file is planned and not written: what is read now is not what will be there."""
    for name in (PROFILE, META):
        if rows("SELECT 1 FROM plan WHERE path = ?", str(directory / name)):
            raise FileBusyError(f"a change of {name} is not finished", seconds=1.0)


def list_edited(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterable[Path]:
    """The file that people edit too."""
    return () if root is not None else (memory_dir(environ) / PROFILE,)


def list_leaves(document: Json) -> dict[Leaf, str]:
    """A document's leaves, as the engine names them, with their values as JSON."""
    return dict(LEAVES.read_leaves(json.dumps(document).encode()))


def list_values(document: Json, path: str) -> list[tuple[Leaf, Any]]:
    """The leaves at and below a path with their values; those of the document's head are left out."""
    place = dot_paths.find_target(document, path)
    if place is None:
        return []
    at: Any = document
    for key in place.keys:
        at = at[key]
    if isinstance(at, list) and place.element is not None:
        return [(write_json([*place.keys, [at[place.element]]]), at[place.element])]
    if isinstance(at, list) and at and all(not isinstance(one, dict | list) for one in at):
        return [(write_json([*place.keys, [one]]), one) for one in at]
    if isinstance(at, dict):
        below = dot_paths.list_leaves(at)
        return [pair for one in below for pair in list_values(document, f"{path}.{one}")]
    return [(write_json(list(place.keys)), at)]


def user_id(env: Mapping[str, str]) -> str:
    """Return $USER, otherwise the user's name in the password database, otherwise the user's number (SPEC P-02)."""
    if env.get("USER"):
        return env["USER"]
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _new_profile(env: Mapping[str, str], now: float) -> Json:
    return {"userId": user_id(env), "schemaVersion": 1, "lastUpdated": utc_millis(now)}


# --- what was learned


def _find_learned(
    rows: Rows, directory: Path, profile: Json, meta: Json, written: Mapping[Leaf, str]
) -> Iterable[Leaf]:
    ours = _read_ours(_read_base(rows, directory / META))
    entries = profile_confidence.read_confidences(meta)
    log: list[Json] | None = None
    for path, entry in entries.items():
        place = dot_paths.find_target(profile, path)
        for leaf, value in list_values(profile, path):
            if leaf in written:
                if json.loads(written[leaf]) == value:
                    yield leaf
            elif ours is None or entry.last_seen > ours.get(path, max(ours.values(), default=0.0)):
                if (place and place.element is not None) or not isinstance(json.loads(leaf)[-1], list):
                    yield leaf
                    continue
                log = changelog.read_entries(directory / CHANGELOG) if log is None else log
                if _is_named(log, path, value):
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
    by = ""
    for entry in log:
        changes, gone = entry.get("changes"), entry.get("removed")
        given = dot_paths.get_value(changes, path) if isinstance(changes, dict) else None
        if (
            isinstance(given, list)
            and any(_is_same(one, element) for one in given)
            and entry.get("action") != "remove"
        ):
            by = str(entry.get("source", ""))
        if isinstance(gone, list) and {path, f"{path}.{element}"} & set(map(str, gone)):
            by = ""
    return by not in ("", COMMAND)


def _is_same(one: Any, other: Any) -> bool:
    return one == other or fold_spelling(str(one)) == fold_spelling(str(other))


def find_clock_doubt(rows: Rows, state: ProfileState, now: float, *, by_person: bool = False) -> str:
    """Why nothing fades now: the clock is not believed; "" if it is. `by_person`: a person runs a command, so that nothing was touched
    for 400 days is no doubt."""
    known = _find_known_time(rows, state, now)
    return doubt_clock(now, None if by_person and known is not None and now > known else known)


def choose_time(rows: Rows, state: ProfileState, now: float) -> float:
    """The time of a sighting: now, or the newest known time if the clock is not believed."""
    known = _find_known_time(rows, state, now)
    return known if known is not None and doubt_clock(now, known) else now


def _find_known_time(rows: Rows, state: ProfileState, now: float) -> float | None:
    # The newest record of a transcript; one from the future confirms no clock.
    newest: float | None = rows("SELECT max(last) FROM session WHERE last <= ?", now + DAY)[0][0]
    return profile_confidence.newest_moment(state.meta) if newest is None and state.on_disk[META] else newest
