"""Everything about a project that decides its mirrors, read at one moment: sources, mirrors, tacitd's own lines.

Nothing is written here except into the record that the caller saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.operations import AppendBlock, Operation, PutLine, SwapLine
from tacitd.files.transaction import History
from tacitd_handlers.learning.folders import AGENTS, RULES
from tacitd_handlers.learning.mirrors.line_sources import (
    find_brought,
    has_new_lines,
    hash_line,
    list_hashes,
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
from tacitd_handlers.learning.mirrors.mirror_text import has_lines, is_shown, render_mirror
from tacitd_handlers.learning.mirrors.mirror_units import MirrorUnit, SourceText, UnitKind, parse_source
from tacitd_handlers.learning.mirrors.own_lines import OwnLines, find_own_lines
from tacitd_handlers.learning.project_files import read_shared, title_for


class ParseOnce:
    """Parses each text once: a look at a large source asks about its parts several times."""

    def __init__(self) -> None:
        self._parsed: dict[bytes | None, SourceText] = {}

    def __call__(self, data: bytes | None) -> SourceText:
        """The parts of a file with these bytes; None: no file."""
        if data not in self._parsed:
            self._parsed[data] = parse_source(data)
        return self._parsed[data]


class MirrorSurvey(Struct):
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
    needless: Callable[[MirrorTarget], bool]
    """Whether the client loads the source of a mirror by itself, so that the mirror would show its lines twice."""
    why_shown: Callable[[MirrorTarget], str]
    """Why git would show a mirror in spite of the exclude file; "" if it would not."""
    parse: ParseOnce
    shared: bool
    """Whether the sources are shared through git."""
    _texts: dict[tuple[bytes, str], str] = field(default_factory=dict)

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
        if data is None or (target.folder and self.needless(target)):
            return None
        text = self._render(target, data)
        if has_lines(text) or (not target.folder and (make_empty or target.path in self.record.written)):
            return text
        return None

    def _render(self, target: MirrorTarget, data: bytes) -> str:
        """The text, which is the same in each work tree with the same source."""
        key = (data, target.folder)
        if key not in self._texts:
            self._texts[key] = render_mirror(
                self.parse(data),
                lambda words: self.may_show(target, words),
                source=target.name,
                title=title_for(target.name),
                matter=front_matter(target.folder) if target.folder and target.name != RULES else (),
                own_heading=lambda words: self.may_show_heading(target, words),
            )
        return self._texts[key]

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
                seen.lines |= dict.fromkeys(list_hashes(parse_source(text.encode("utf-8", "replace"))), True)
                self._texts.clear()

    @property
    def main(self) -> MirrorTarget:
        """The mirror of LEARNED.md in the main work tree."""
        return next(target for target in self.targets if not target.folder)

    def list_withheld(self, target: MirrorTarget) -> list[MirrorUnit]:
        """The parts of a source that are not shown, because they came with the project."""
        wholes: dict[str, bool] = {}
        return [
            unit
            for unit in self.parse(self.sources.get(target.source)).units
            if unit.kind in (UnitKind.BULLET, UnitKind.TEXT)
            and not is_shown(unit, lambda words: self.may_show(target, words), wholes)
        ]


def survey_project(
    project: Project,
    record: MirrorRecord,
    history: History,
    operations: Sequence[Operation] = (),
    *,
    trusted: bool,
    shared: bool,
    known_before: bool,
    needless: Callable[[MirrorTarget], bool] = lambda target: False,
    why_shown: Callable[[MirrorTarget], str] = lambda target: "",
) -> MirrorSurvey:
    """Look at a project, and note new lines of its sources in the record.

    `operations`: what is about to be carried out on the sources. `shared`: the sources are shared through git, so each
    linked work tree mirrors its own. `known_before`: tacitd wrote in the project before mirrors existed, so what git does
    not track there is from here. `needless`, `why_shown`: as in `MirrorSurvey`. Raises OSError.
    """
    trees, parse = list_trees(project), ParseOnce()
    own = find_own_lines(history, project, operations)
    targets = list_targets(trees, own.folders, own_sources=shared)
    if RULES in own.lines and not shared:
        folder = RULES.removesuffix(f"/{AGENTS}")
        targets += [MirrorTarget(tree / RULES, tree, project.root / RULES, folder) for tree in trees[1:]]
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
            data = sources[target.source]
            _note_source(project, home, target, data, parse(data), record, known_before=known_before)
    leftovers = list_leftovers(record.written, targets, trees)
    found = {
        target.path: inspect_mirror(target.path, target.tree, record.texts_of(target.path))
        for target in targets
    }
    return MirrorSurvey(
        project,
        trees,
        own,
        targets,
        leftovers,
        sources,
        found,
        record,
        trusted,
        problems,
        needless,
        why_shown,
        parse,
        shared,
    )


def _note_source(
    project: Project,
    home: Path,
    target: MirrorTarget,
    data: bytes | None,
    parts: SourceText,
    record: MirrorRecord,
    *,
    known_before: bool,
) -> None:
    """Note which lines of a LEARNED.md are new since the last look, and where they come from."""
    before = record.sources.get(str(target.source))
    head = git.read_head(home) if project.git else ""
    if data is None or (before is not None and not has_new_lines(before, parts)):
        seen = note_lines(before, SourceText(), frozenset(), head)
    elif before is None:
        brought = find_brought(project, home, target.source, data, parts, head) if known_before else None
        seen = note_lines(None, parts, list_hashes(parts) if brought is None else brought, head)
    else:
        brought = find_brought(project, home, target.source, data, parts, before.head)
        seen = note_lines(before, parts, brought, head if brought is not None else before.head)
    record.sources[str(target.source)] = seen
