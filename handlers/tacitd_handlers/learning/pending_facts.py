"""The facts that one synthesis handles, claimed so that no other program appends to them meanwhile (SPEC S-22).

This module separates facts that wait from facts whose lines a transaction has already written. A crash can happen
between any two steps of a synthesis; afterwards the transaction history decides. `run` asks the model and writes lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tacitd.events import Project
from tacitd.files.transaction import History
from tacitd_handlers.learning.raw_facts import RawLine, parse_raw_file
from tacitd_handlers.learning.raw_ownership import RawOwnership
from tacitd_handlers.learning.state import Extracted, LearningState
from tacitd_handlers.learning.store import (
    RAW,
    ProjectPaths,
    append_raw,
    claim_raw_file,
    encode_batch,
    facts_in,
)

_BATCH = "batch:"
CAUSE_DATA = "data"
"""The key of a transaction's cause that has what the commit of its lines says: a crash may come between the two."""


class PendingFacts(Struct, frozen=True):
    """Facts that wait, and the facts that were settled before a crash."""

    id: str
    lines: tuple[RawLine, ...]
    origins: tuple[Path, ...]
    """For each line, the claimed file that contains it; for a batch in no file, a path that does not exist."""
    claimed: tuple[Path, ...]
    read_sizes: Mapping[Path, int] = field(default_factory=dict)
    """For each claimed file, its size in bytes when it was read."""
    whole_line_sizes: Mapping[str, int] = field(default_factory=dict)
    """For each claimed file by name, the byte offset after its last newline. If the file grows, it is read from there."""
    bad_lines: tuple[bytes, ...] = ()
    """Lines in the claimed files that do not parse as facts, without their newline (SPEC S-21)."""
    settled: tuple[str, ...] = ()
    """Ids of batches whose lines were written before a crash."""
    settled_lines: int = 0
    """Number of lines that were written before a crash."""
    settled_data: Mapping[str, Any] = field(default_factory=dict)
    """What the commit of those lines has to say, which the crash prevented: `CAUSE_DATA` of their transactions."""
    unfiled: tuple[Extracted, ...] = ()
    """Batches that are in no file, because the raw file is not ours."""
    counted_by: tuple[str, ...] = ()
    """For each line, the name under which its calls are counted: its batch, or its claimed file."""

    @property
    def facts(self) -> tuple[str, ...]:
        """All facts in order, repetitions included."""
        return tuple(fact for line in self.lines for fact in line.facts)

    @property
    def folders(self) -> tuple[str, ...]:
        """The first 30 folders that the lines name, relative to the project. They are not checked."""
        return tuple(dict.fromkeys(folder for line in self.lines for folder in line.folders))[:30]

    def map_fact_ids(self, facts: Iterable[str]) -> dict[str, Path]:
        """Return ids of these facts for `ModelRequest.parts`, each with the claimed file of its fact.

        A fact has the same id in each call about it. In a batch of ours it is made from the batch's id, because git's
        answer on whether the claimed file is ours can change. Otherwise it is made from the name of the claimed file,
        which stays the same until the file is done or put aside. A retry by the user renames the file, so its facts get
        new ids.
        """
        wanted = set(facts)
        return {
            part: path
            for line, path, name in zip(self.lines, self.origins, self.counted_by, strict=True)
            for part in _fact_ids((fact for fact in line.facts if fact in wanted), name)
        }

    def group_facts(self) -> dict[str, str]:
        """For each fact, the name under which its calls are counted: facts of one name are put aside together."""
        pairs = zip(self.lines, self.counted_by, strict=True)
        return {fact: name for line, name in reversed(list(pairs)) for fact in line.facts}

    def at_fault(self, lost: Collection[str]) -> tuple[frozenset[Path], tuple[str, ...]]:
        """Given ids from `map_fact_ids`, return the files to put aside for them and the batches to put aside alone.

        If a file has other facts besides those of the lost batches, it stays and the batches are put aside alone, because
        a batch can be left out of a file by its id. A line of another tool has no id, so its whole file is put aside.
        """
        guilty: dict[Path, dict[str, bool]] = {}
        for line, path, name in zip(self.lines, self.origins, self.counted_by, strict=True):
            is_lost = any(part in lost for part in _fact_ids(line.facts, name))
            names = guilty.setdefault(path, {})
            names[name] = names.get(name, False) or is_lost
        whole = {path for path, names in guilty.items() if all(names.values()) or names.get(path.name)}
        rest = (names for path, names in guilty.items() if path not in whole)
        alone = [name.removeprefix(_BATCH) for names in rest for name, is_lost in names.items() if is_lost]
        return frozenset(whole), tuple(dict.fromkeys(alone))

    def unfiled_in(self, files: Sequence[Path]) -> tuple[Extracted, ...]:
        """The batches in no file whose paths in `origins` are among `files`."""
        names = {path.name for path in files}
        return tuple(made for made in self.unfiled if f"batch-{made.id}" in names)

    def batches_in(self, files: Sequence[Path]) -> list[str]:
        """Ids of our batches whose lines have one of these files as origin."""
        pairs = zip(self.lines, self.origins, strict=True)
        return [line.batch for line, path in pairs if line.batch and path in files]

    @property
    def batches(self) -> list[str]:
        """Ids of our batches; lines of other tools have none."""
        return [line.batch for line in self.lines if line.batch]


class _WrittenFacts(Struct):
    """The facts whose lines transactions of this project wrote."""

    batches: set[str] = field(default_factory=set)
    files: dict[str, int | None] = field(default_factory=dict)
    """For each claimed file by name, the byte offset up to which it was handled; None: all of it."""
    lines: dict[str, int] = field(default_factory=dict)
    """Number of written lines by the first batch or file of their transaction."""
    data: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the commit of these lines says, by the same."""

    def written_upto(self, name: str, size: int) -> int:
        """The byte offset up to which lines were written from this file. `size` is its size now."""
        upto = self.files.get(name, 0)
        return size if upto is None else upto


def claim_facts(
    project: Project,
    files: ProjectPaths,
    state: LearningState,
    history: History,
    ownership: RawOwnership,
    now: float,
) -> PendingFacts:
    """Claim the facts that wait in the project and return them. Raises OSError and FileRefusedError.

    Our own facts are in the handler's log too. They come from there if the raw file may not be used. `now` is in seconds
    since 1970, UTC.
    """
    written = _read_history(history, project)
    waiting = state.waiting.get(project.root, {})
    settled = [id for id in waiting if id in written.batches]
    fresh = [made for id, made in waiting.items() if id not in written.batches]
    append_raw(files, fresh, ownership.inspect_files(files))
    # The files are inspected again, because a checkout may have begun during the append.
    if taken := claim_raw_file(files, now, ownership.inspect_files(files)):
        ownership.note_taken(files, RAW, taken)
    claimed = tuple(ownership.inspect_files(files).claimed)
    lines: dict[str, tuple[RawLine, Path]] = {}
    bad: list[bytes] = []
    read: dict[Path, int] = {}
    whole: dict[str, int] = {}
    put_aside = state.unreadable_batches.get(project.root, set())
    handled_batches, handled_upto = (
        written.batches | state.synthesised.keys(),
        state.synthesised_upto.get(project.root, {}),
    )
    for path in claimed:
        data = facts_in(path)
        read[path], whole[path.name] = len(data), data.rfind(b"\n") + 1
        begin = handled_upto.get(path.name, 0)
        done = max(begin, written.written_upto(path.name, len(data)))
        # Bad lines are collected from `begin`, not from `done`: after a crash those before `done` may not be in
        # quarantine yet.
        bad += parse_raw_file(data[begin:]).bad_lines
        for at, line in enumerate(parse_raw_file(data[done:]).lines):
            # A batch can be in two files after a crash; the first line counts. A batch that was put aside counts only
            # in the file that was written for that.
            if line.batch not in handled_batches and (line.aside or line.batch not in put_aside):
                lines.setdefault(line.batch or f"{path.name}:{at}", (line, path))
    unfiled = tuple(made for made in fresh if made.id not in lines and made.id not in state.synthesised)
    for made in unfiled:
        for line in parse_raw_file(encode_batch(made)).lines:
            lines[made.id] = (line, _stand_in_path(files, made))
    known = {*settled, *(name for name in whole if name not in handled_upto)}
    count = sum(number for name, number in written.lines.items() if name in known)
    said = dict[str, Any]()
    for first, one in written.data.items():
        said = merge_data(said, one) if first in known else said
    found, origins = tuple(line for line, _ in lines.values()), tuple(path for _, path in lines.values())
    counted_by = tuple(
        f"{_BATCH}{line.batch}" if line.batch in waiting else path.name for line, path in lines.values()
    )
    return PendingFacts(
        _work_id(claimed, found),
        found,
        origins,
        claimed,
        read,
        whole,
        tuple(bad),
        tuple(settled),
        count,
        said,
        unfiled,
        counted_by,
    )


def merge_data(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The data of two commits as that of one: lists are joined, numbers added, objects merged; of two texts the other's counts."""
    merged = {**one, **other}
    for key in one.keys() & other.keys():
        match one[key], other[key]:
            case dict() as old, dict() as new:
                merged[key] = merge_data(old, new)
            case list() as old, list() as new:
                merged[key] = [*old, *new]
            case int() | float() as old, int() | float() as new:
                merged[key] = old + new
    return merged


def _fact_ids(facts: Iterable[str], name: str) -> list[str]:
    """The ids of these facts, given the name under which their calls are counted."""
    return [f"{name}:{hashlib.sha256(fact.encode(errors='replace')).hexdigest()[:16]}" for fact in facts]


def _stand_in_path(files: ProjectPaths, batch: Extracted) -> Path:
    """A path that represents a batch that is in no claimed file. It is the same in each call."""
    return files.tmp_dir / f"batch-{batch.id}"


def done_batches(history: History, root: Path) -> set[str]:
    """Ids of batches whose lines a transaction wrote, including those whose commit a crash prevented."""
    return _read_history(history, Project(root, False)).batches


def _read_history(history: History, project: Project) -> _WrittenFacts:
    found = _WrittenFacts()
    for entry in history.list_transactions(project.root):
        if entry.state != "done":
            continue
        batches = [str(id) for id in entry.cause.get("batches", ())]
        names = [str(name) for name in entry.cause.get("files", ())]
        whole = entry.cause.get("whole")
        found.batches.update(batches)
        found.files.update({name: whole.get(name) if isinstance(whole, dict) else None for name in names})
        for first in (*batches, *names)[:1]:
            found.data[first] = dict(entry.cause.get(CAUSE_DATA, {}))
            found.lines[first] = sum(effect.did in ("put", "swapped") for effect in entry.effects)
    return found


def _work_id(claimed: Sequence[Path], lines: Iterable[RawLine]) -> str:
    """The id of the work: 16 hexadecimal digits. It is the same for a retry and after a crash, with the same lines."""
    digest = hashlib.sha256()
    for path in claimed:
        digest.update(path.name.encode(errors="replace") + b"\0")
    for line in lines:
        digest.update(f"{line.ts}\0{line.batch}\0{line.facts}\n".encode(errors="replace"))
    return digest.hexdigest()[:16]
