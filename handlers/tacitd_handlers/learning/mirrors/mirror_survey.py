"""Everything about a project that decides its mirrors, read at one moment: sources, mirrors, tacitd's own lines.

Nothing is written here except into the record that the caller saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.operations import AppendBlock, Operation, PutLine, SwapLine
from tacitd.files.transaction import History
from tacitd_handlers.learning.mirrors.line_sources import (
    find_origin,
    has_new_lines,
    hash_line,
    note_lines,
)
from tacitd_handlers.learning.mirrors.mirror_files import (
    FoundMirror,
    MirrorTarget,
    inspect_mirror,
    list_leftovers,
    list_targets,
    list_trees,
)
from tacitd_handlers.learning.mirrors.mirror_names import front_matter
from tacitd_handlers.learning.mirrors.mirror_record import MirrorRecord
from tacitd_handlers.learning.mirrors.mirror_text import (
    UnitKind,
    has_lines,
    render_mirror,
    split_units,
)
from tacitd_handlers.learning.project_files import read_shared, title_for
from tacitd_handlers.learning.stage2.place import AGENTS, LEARNED


@dataclass(frozen=True, slots=True)
class OwnLines:
    """The lines and headings that tacitd wrote in a project, or moved for the person."""

    lines: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By file relative to the work tree: texts of bullets, with white space normalised."""
    headings: frozenset[str] = frozenset()

    @property
    def folders(self) -> list[str]:
        """The module folders with lines."""
        return [name.removesuffix(f"/{AGENTS}") for name in self.lines if name.endswith(f"/{AGENTS}")]


@dataclass(slots=True)
class MirrorSurvey:
    """One look at a project."""

    project: Project
    trees: list[Path]
    own: OwnLines
    targets: list[MirrorTarget]
    leftovers: list[Path]
    sources: dict[Path, bytes | None]
    """The bytes of each source that could be read; None: there is no file."""
    found: dict[Path, FoundMirror]
    record: MirrorRecord
    trusted: bool
    problems: list[str]

    def may_show(self, target: MirrorTarget, words: str) -> bool:
        """Whether a line of the source may be in this mirror."""
        words = " ".join(words.split())
        if words in self.own.lines.get(target.name, ()):
            return True
        return not target.folder and (self.trusted or self._is_from_here(words))

    def may_show_heading(self, target: MirrorTarget, words: str) -> bool:
        """The same for a heading."""
        if words in self.own.headings:
            return True
        return not target.folder and (self.trusted or self._is_from_here(words))

    def _is_from_here(self, words: str) -> bool:
        # In any of the work trees: git brings a line that was typed in one of them to the others.
        key = hash_line(words)
        return any(seen.lines.get(key) is True for seen in self.record.sources.values())

    def render_target(
        self, target: MirrorTarget, sources: Mapping[Path, bytes | None], *, make_empty: bool
    ) -> str | None:
        """The text that this mirror is to have, given the bytes of the sources; None if there is to be no mirror."""
        data = sources.get(target.source)
        if data is None:
            return None
        text = render_mirror(
            data,
            lambda words: self.may_show(target, words),
            source=target.name,
            title=title_for(target.name),
            matter=front_matter(target.folder) if target.folder else (),
            own_heading=lambda words: self.may_show_heading(target, words),
        )
        if has_lines(text) or (not target.folder and (make_empty or target.path in self.record.written)):
            return text
        return None

    def admit_lines(self, edits: Iterable[Operation]) -> None:
        """Note that the lines of these operations were written here, because the person wrote them into a mirror."""
        for operation in edits:
            match operation:
                case PutLine(path=path, line=line) | SwapLine(path=path, new=line):
                    text = f"- {line}"
                case AppendBlock(path=path, text=text):
                    pass
                case _:
                    continue
            if (seen := self.record.sources.get(str(path))) is not None:
                units = split_units(text.encode("utf-8", "replace"))
                seen.lines |= {
                    hash_line(unit.words): True for unit in units if unit.kind is not UnitKind.BLANK
                }

    def count_withheld(self) -> int:
        """The number of lines of LEARNED.md that are not shown, because they came with the project."""
        main = next(target for target in self.targets if not target.folder)
        units = split_units(self.sources.get(main.source))
        hidden = {UnitKind.BULLET, UnitKind.TEXT}
        return sum(
            unit.kind in hidden
            and not self.may_show(main, unit.words)
            and not (unit.whole and self.may_show(main, unit.whole))
            for unit in units
        )


def find_own_lines(history: History, project: Project, operations: Iterable[Operation] = ()) -> OwnLines:
    """Return tacitd's lines from the history, and those of operations that are about to be carried out. Raises OSError."""
    found: dict[str, set[str]] = {}

    def add(path: Path, line: str) -> None:
        if path.is_relative_to(project.root):
            name = path.relative_to(project.root).as_posix()
            if name == LEARNED or (name.endswith(f"/{AGENTS}") and name.isprintable()):
                found.setdefault(name, set()).add(" ".join(line.split()))

    for (path, line), past in history.list_lines(project.root).items():
        if past.put_at is not None and past.taken_at is None:
            add(path, line)
    headings: set[str] = set()
    done = (each for one in history.list_transactions(project.root) for each in one.operations)
    for operation in (*done, *operations):
        if isinstance(operation, PutLine | SwapLine):
            headings.add(operation.heading)
    for operation in operations:
        match operation:
            case PutLine(path=path, line=line) | SwapLine(path=path, new=line):
                add(path, line)
            case _:
                pass
    return OwnLines({name: frozenset(lines) for name, lines in found.items()}, frozenset(headings))


def survey_project(
    project: Project,
    record: MirrorRecord,
    history: History,
    operations: Sequence[Operation] = (),
    *,
    trusted: bool,
    shared: bool,
    known_before: bool,
) -> MirrorSurvey:
    """Look at a project, and note new lines of its sources in the record.

    `operations`: what is about to be carried out on the sources. `shared`: the sources are shared through git, so each
    linked work tree mirrors its own. `known_before`: tacitd wrote in the project before mirrors existed, so what git does
    not track there is from here. Raises OSError.
    """
    trees = list_trees(project)
    own = find_own_lines(history, project, operations)
    targets = list_targets(trees, own.folders, own_sources=shared)
    sources: dict[Path, bytes | None] = {}
    problems: list[str] = []
    for target in targets:
        if target.source in sources:
            continue
        home = target.tree if shared else project.root
        try:
            sources[target.source] = read_shared(target.source, home).data
        except FileRefusedError as error:
            problems.append(error.what)
            continue
        if not target.folder:
            _note_source(project, home, target, sources[target.source], record, known_before=known_before)
    leftovers = list_leftovers(record.written, targets, trees)
    found = {
        target.path: inspect_mirror(target.path, target.tree, record.texts_of(target.path))
        for target in targets
    }
    return MirrorSurvey(project, trees, own, targets, leftovers, sources, found, record, trusted, problems)


def _note_source(
    project: Project,
    home: Path,
    target: MirrorTarget,
    data: bytes | None,
    record: MirrorRecord,
    *,
    known_before: bool,
) -> None:
    """Note which lines of a LEARNED.md are new since the last look, and where they come from."""
    before = record.sources.get(str(target.source))
    head = git.read_head(home) if project.git else ""
    if data is None or (before is not None and not has_new_lines(before, data)):
        seen = note_lines(before, None, origin="here", head=head, first=False)
    elif before is None:
        first = known_before and find_origin(project, home, target.source, data, head) == "here"
        seen = note_lines(None, data, origin="here", head=head, first=first)
    else:
        origin = find_origin(project, home, target.source, data, before.head)
        seen = note_lines(before, data, origin=origin, head=head, first=False)
        if origin == "unknown":
            seen = replace(seen, head=before.head)
    record.sources[str(target.source)] = seen
