"""Learning's state as JSON, for the snapshot that takes the place of older commits. No disk.

Every field of `LearningState` is in it, with paths as texts and sets as lists. A field that a snapshot does not have keeps
its default, so that a new field needs no migration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tacitd.errors import LogDamagedError
from tacitd.handler import Commit
from tacitd.text.converter import Converter
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.work.commit_rows import SNAPSHOT
from tacitd_handlers.learning.confidence import LineConfidence
from tacitd_handlers.learning.rule_life import RuleLife
from tacitd_handlers.learning.state import (
    Extracted,
    LearningState,
    LeftOutFact,
    LineSnapshot,
    SetAsideFacts,
    digest_normal,
)
from tacitd_handlers.shared.equality import FORM, forget_words
from tacitd_handlers.shared.line_table import LineTable

V = TypeVar("V")
_DIGEST = compile_lazily("[0-9a-f]{24}")


class _StoredState(msgspec.Struct):
    """The fields of `LearningState` as they are stored: by project, and then as each field says."""

    waiting: dict[str, dict[str, Extracted]] = {}
    synthesised: dict[str, None] = {}
    synthesised_upto: dict[str, dict[str, int]] = {}
    tombstones: dict[str, dict[str, set[str]]] = {}
    withheld: dict[str, dict[str, str]] = {}
    heads: dict[str, str] = {}
    snapshots: dict[str, dict[str, LineSnapshot]] = {}
    line_confidences: dict[str, dict[str, LineConfidence]] = {}
    rule_lives: dict[str, dict[str, RuleLife]] = {}
    asked_messages: dict[str, int] = {}
    first_written_at: dict[str, float] = {}
    judged: dict[str, dict[str, Extracted]] = {}
    unreadable_batches: dict[str, set[str]] = {}
    set_aside: list[SetAsideFacts] = []
    total: dict[str, int] = {}
    days: dict[str, dict[str, int]] = {}
    asked_since_fact: int = 0
    skipped: dict[str, int] = {}
    left_out: dict[str, dict[str, LeftOutFact]] = {}
    reworded: dict[str, set[str]] = {}
    conflicts: dict[str, dict[str, tuple[str, str]]] = {}
    normals: dict[str, str] = {}
    form: int = 0
    """`equality.FORM` of the normals."""


def encode_state(state: LearningState) -> dict[str, Any]:
    """Return the state as JSON."""
    made: dict[str, Any] = _to_json(state)
    lines = dict.fromkeys(line for table in state.line_confidences.values() for line in table)
    return made | {"normals": {line: state.find_normal(line) for line in lines}, "form": FORM}


def decode_state(data: Mapping[str, Any]) -> LearningState:
    """Return the state that `encode_state` was given. Raises ValueError if it is not one."""
    stored: _StoredState = _STORED.convert(_share_texts(dict(data), {}))
    state = LearningState(
        **{name: _by_path(getattr(stored, name)) for name in _BY_PROJECT},
        synthesised=stored.synthesised,
        asked_messages=Counter(_by_path(stored.asked_messages)),
        set_aside=stored.set_aside,
        total=Counter(stored.total),
        days={day: Counter(counts) for day, counts in stored.days.items()},
        asked_since_fact=stored.asked_since_fact,
        skipped=Counter(stored.skipped),
        normals=stored.normals if stored.form == FORM else {},
    )
    state.line_confidences = _make_tables(stored.line_confidences)
    state.left_out = {
        root: {_digest_key(key if stored.form == FORM else "", one.text): one for key, one in facts.items()}
        for root, facts in state.left_out.items()
    }
    return state


_BY_PROJECT = (
    "waiting",
    "synthesised_upto",
    "tombstones",
    "withheld",
    "heads",
    "snapshots",
    "rule_lives",
    "first_written_at",
    "judged",
    "unreadable_batches",
    "left_out",
    "reworded",
    "conflicts",
)
"""The fields that are dictionaries by project, and otherwise as they are stored."""


def _share_texts(value: Any, known: dict[str, str]) -> Any:
    """The same JSON with equal texts as one object: a line is in five of the fields, and a year has thousands of them."""
    match value:
        case str():
            return known.setdefault(value, value)
        case dict():
            return {known.setdefault(key, key): _share_texts(each, known) for key, each in value.items()}
        case list():
            return [_share_texts(each, known) for each in value]
        case _:
            return value


def _digest_key(key: str, text: str) -> str:
    """The key of a fact that was left out. Earlier snapshots have its words there."""
    return key if _DIGEST.fullmatch(key) else digest_normal(text)


def _by_path(stored: Mapping[str, V]) -> dict[Path, V]:
    return {Path(root): value for root, value in stored.items()}


def _make_tables(stored: Mapping[str, Mapping[str, V]]) -> dict[Path, LineTable[V]]:
    found: dict[Path, LineTable[V]] = {}
    for root, values in stored.items():
        table = found[Path(root)] = LineTable[V]()
        table.update(values)
    return found


def _read_path(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(kind)


_STORED = Converter(_StoredState, _read_path)


def _to_json(value: Any) -> Any:
    match value:
        case Path():
            return str(value)
        case Mapping():
            return {str(key): _to_json(each) for key, each in value.items()}
        case AbstractSet():
            return sorted(value)
        case list() | tuple():
            return [_to_json(each) for each in value]
        case msgspec.Struct():
            return {name: _to_json(getattr(value, name)) for name in value.__struct_fields__}
        case _:
            return value


def fold_commits(
    commits: Iterable[Commit], on_unread: Callable[[Commit, Exception], None] = lambda commit, error: None
) -> LearningState:
    """Return what the commits amount to, of which the first may be a snapshot. `on_unread` gets those that cannot be read.

    Raises LogDamagedError if the snapshot cannot be read: without it nothing would be known.
    """
    state = LearningState()
    for commit in commits:
        if commit.event == SNAPSHOT:
            try:
                state = decode_state(commit.data)
            except ValueError as error:
                raise LogDamagedError(
                    f"learning's state cannot be read: {error}", "run the version that wrote it"
                ) from error
            continue
        try:
            state.fold_commit(commit)
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
        ) as error:  # a newer version's, or damaged
            on_unread(commit, error)
    for table in state.line_confidences.values():
        table.drop_index()
    forget_words()
    return state
