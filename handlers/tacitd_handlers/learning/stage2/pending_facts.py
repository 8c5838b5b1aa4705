"""What one synthesis is made of: the facts that wait, claimed so that nobody else appends to them meanwhile.

Here belongs telling what waits from what a transaction has already made lines of; a crash may come between any two
steps, and afterwards the history knows best. Asking the model and writing lines are synthesize.py's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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

CALL_LIMIT = 48_000
"""Bytes of the longest answer that is asked for in one call, as far as it can be foreseen."""
ANSWER_OVERHEAD = 80
"""Bytes that an answer says beside each fact: FILE, SECTION and FACT, each in a line of its own."""

_BATCH = "batch:"


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """Facts that wait, and what became of those that wait no longer."""

    id: str
    lines: tuple[RawLine, ...]
    origins: tuple[Path, ...]
    """Of each line, the claimed file that has it; for a batch in no file, a name in its place."""
    claimed: tuple[Path, ...]
    read_sizes: Mapping[Path, int] = field(default_factory=dict)
    """Of each claimed file, how many bytes there were."""
    whole_line_sizes: Mapping[str, int] = field(default_factory=dict)
    """By its name, how many bytes of it are whole lines: should it grow, it is read from there."""
    bad_lines: tuple[bytes, ...] = ()
    """Lines in the claimed files that are no facts."""
    settled: tuple[str, ...] = ()
    """Batches of which lines were made before a crash."""
    settled_lines: int = 0
    """How many."""
    unfiled: tuple[Extracted, ...] = ()
    """Batches that lie in no file, because the raw file is not ours."""
    counted_by: tuple[str, ...] = ()
    """Of each line, what its calls are counted by: its batch, or its claimed file."""

    @property
    def facts(self) -> tuple[str, ...]:
        """All facts, in order."""
        return tuple(fact for line in self.lines for fact in line.facts)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that were worked in, as the lines say; not checked."""
        return tuple(dict.fromkeys(folder for line in self.lines for folder in line.folders))[:30]

    def map_fact_ids(self, facts: Iterable[str]) -> dict[str, Path]:
        """Ids of these facts for `Ask.parts`, each with the claimed file of the fact.

        A fact has the same id in each call about it. A batch of ours has its own id, because git can say of its file now
        and then that it is not ours. Otherwise the claimed file counts: it keeps its name until it is done or put aside,
        so facts that a person has tried again have other ids.
        """
        wanted = set(facts)
        return {
            part: path
            for line, path, name in zip(self.lines, self.origins, self.counted_by, strict=True)
            for part in _parts((fact for fact in line.facts if fact in wanted), name)
        }

    def at_fault(self, lost: Collection[str]) -> tuple[frozenset[Path], tuple[str, ...]]:
        """Given ids of `parts`, return the files to be put aside for them, and the batches of ours to be put aside alone.

        A file that has other facts beside those batches stays: only a batch can be left out of a file by its id. A line
        of another tool has none, so its file is put aside with all that is in it.
        """
        guilty: dict[Path, dict[str, bool]] = {}
        for line, path, name in zip(self.lines, self.origins, self.counted_by, strict=True):
            is_lost = any(part in lost for part in _parts(line.facts, name))
            names = guilty.setdefault(path, {})
            names[name] = names.get(name, False) or is_lost
        whole = {path for path, names in guilty.items() if all(names.values()) or names.get(path.name)}
        rest = (names for path, names in guilty.items() if path not in whole)
        alone = [name.removeprefix(_BATCH) for names in rest for name, is_lost in names.items() if is_lost]
        return frozenset(whole), tuple(dict.fromkeys(alone))

    def unfiled_in(self, files: Sequence[Path]) -> tuple[Extracted, ...]:
        """The batches in no file whose names are among these."""
        names = {path.name for path in files}
        return tuple(made for made in self.unfiled if f"batch-{made.id}" in names)

    def batches_in(self, files: Sequence[Path]) -> list[str]:
        """Ids of our batches whose lines are in these files."""
        pairs = zip(self.lines, self.origins, strict=True)
        return [line.batch for line, path in pairs if line.batch and path in files]

    @property
    def batches(self) -> list[str]:
        """Ids of the batches that are ours."""
        return [line.batch for line in self.lines if line.batch]


@dataclass(slots=True)
class _WrittenFacts:
    """What transactions of this project made lines of."""

    batches: set[str] = field(default_factory=set)
    files: dict[str, int | None] = field(default_factory=dict)
    """By name, up to which byte; None: all of it."""
    lines: dict[str, int] = field(default_factory=dict)
    """By the first batch or file of its transaction."""

    def written_upto(self, name: str, size: int) -> int:
        """Up to which byte lines were made of this file, which is so long now."""
        upto = self.files.get(name, 0)
        return size if upto is None else upto


def claim_facts(
    project: Project,
    files: ProjectPaths,
    state: LearningState,
    history: History,
    ownership: RawOwnership,
    now: float,
    *,
    only: Collection[str] | None = None,
    among: Collection[Path] = (),
) -> PendingFacts:
    """Claim what waits in the project and return it. Raises OSError and FileRefusedError.

    Our own facts are in the handler's log too, so they come from there where the raw file may not be used.
    `only`: claim nothing new, and take of the batches that are in no file only these, of the claimed files only those
    `among` these. For a project where an answer was paid for and is still to be written: it would not cover what joins.
    """
    written = _written(history, project)
    waiting = state.waiting.get(project.root, {})
    settled = [id for id in waiting if id in written.batches]
    fresh = [made for id, made in waiting.items() if id not in written.batches]
    if only is None:
        append_raw(files, fresh, ownership.inspect_files(files))
        # Looked at again: the append took its time, and a checkout may have begun meanwhile.
        if taken := claim_raw_file(files, now, ownership.inspect_files(files)):
            ownership.note_taken(files, RAW, taken)
    else:
        fresh = [made for made in fresh if made.id in only]
    claimed = tuple(p for p in ownership.inspect_files(files).claimed if only is None or p in among)
    lines: dict[str, tuple[RawLine, Path]] = {}
    bad: list[bytes] = []
    read: dict[Path, int] = {}
    whole: dict[str, int] = {}
    left = state.unreadable_batches.get(project.root, set())
    finished, stayed = written.batches | state.synthesised, state.synthesised_upto.get(project.root, {})
    for path in claimed:
        data = facts_in(path)
        read[path], whole[path.name] = len(data), data.rfind(b"\n") + 1
        begin = stayed.get(path.name, 0)
        done = max(begin, written.written_upto(path.name, len(data)))
        bad += parse_raw_file(
            data[begin:]
        ).bad_lines  # not from `done` on: a crash may have come before they were put aside
        for at, line in enumerate(parse_raw_file(data[done:]).lines):
            if line.batch not in finished and (line.aside or line.batch not in left):
                lines.setdefault(line.batch or f"{path.name}:{at}", (line, path))
    unfiled = tuple(made for made in fresh if made.id not in lines and made.id not in state.synthesised)
    for made in unfiled:
        for line in parse_raw_file(encode_batch(made)).lines:
            lines[made.id] = (line, _place_of(files, made))
    known = {*settled, *(name for name in whole if name not in stayed)}
    count = sum(number for name, number in written.lines.items() if name in known)
    found, origins = tuple(line for line, _ in lines.values()), tuple(path for _, path in lines.values())
    counted_by = tuple(
        f"{_BATCH}{line.batch}" if line.batch in waiting else path.name for line, path in lines.values()
    )
    return PendingFacts(
        _id(claimed, found),
        found,
        origins,
        claimed,
        read,
        whole,
        tuple(bad),
        tuple(settled),
        count,
        unfiled,
        counted_by,
    )


def _parts(facts: Iterable[str], name: str) -> list[str]:
    """The ids of these facts, given what their calls are counted by."""
    return [f"{name}:{hashlib.sha256(fact.encode(errors='replace')).hexdigest()[:16]}" for fact in facts]


def _place_of(files: ProjectPaths, batch: Extracted) -> Path:
    """What takes the place of a claimed file for a batch that is in none: a name that is the same in each call."""
    return files.tmp_dir / f"batch-{batch.id}"


def split_portions(facts: Sequence[str], limit: int = CALL_LIMIT) -> Iterator[list[str]]:
    """Given facts, yield them in order in portions whose answers have about `limit` bytes: each is one call."""
    portion: list[str] = []
    size = 0
    for fact in facts:
        more = len(fact.encode(errors="replace")) + ANSWER_OVERHEAD
        if portion and size + more > limit:
            yield portion
            portion, size = [], 0
        portion.append(fact)
        size += more
    if portion:
        yield portion


def done_batches(history: History, root: Path) -> set[str]:
    """Batches whose lines a transaction wrote, whether the handler's own record lived to see it or not."""
    return _written(history, Project(root, False)).batches


def _written(history: History, project: Project) -> _WrittenFacts:
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
            found.lines[first] = sum(effect.did in ("put", "swapped") for effect in entry.effects)
    return found


def _id(claimed: Sequence[Path], lines: Iterable[RawLine]) -> str:
    """The same files with the same lines are the same work: a retry, or the same work after a crash."""
    digest = hashlib.sha256()
    for path in claimed:
        digest.update(path.name.encode(errors="replace") + b"\0")
    for line in lines:
        digest.update(f"{line.ts}\0{line.batch}\0{line.facts}\n".encode(errors="replace"))
    return digest.hexdigest()[:16]
