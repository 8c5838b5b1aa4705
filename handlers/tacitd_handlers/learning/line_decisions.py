"""Carry out what a person decided about an item of learning: rows and files change in one transaction, and copies follow.

What is forgotten is a choice of the person's (`state/person_choices`), by the digest of what it says, so that a store that is made
anew knows it too: no fact that says it is kept, and no line written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from tacitd.contract import Cause, Decide, Done, Edits, FileChange, Leaf, Tools, Tx
from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd.events import Project
from tacitd.files.formats import Bullets, bullet
from tacitd.handler import Decision, Notice
from tacitd.state.paths import state_dir
from tacitd.state.person_choices import Choice, choose, withdraw
from tacitd.state.store_tables import FORGOTTEN
from tacitd.text.sanitize import sanitize_line
from tacitd.work.project_rows import store_project
from tacitd_handlers.learning import sources
from tacitd_handlers.learning.folders import GENERAL
from tacitd_handlers.learning.learned_rows import (
    ASIDE,
    ASIDE_ID,
    FactRow,
    LineRow,
    digest_same,
    find_line,
    list_listeners,
    make_line_id,
    mark_facts,
    mark_line,
    put_line,
    queue_message,
    read_facts,
    read_line_facts,
    reword_line,
    tell_removed,
)
from tacitd_handlers.learning.line_queries import (
    find_offers,
    find_place,
    group_facts,
    list_own_lines,
    make_fact_id,
    name_file,
)
from tacitd_handlers.reach import hiding
from tacitd_handlers.reach.copies import queue_copies

NEVER = "removed, and never learned again"


def decide_item(decision: Decision, tools: Tools) -> Done:
    """Carry out a decision; see `tacitd.handler.Decision`. Raises UsageError if no such item exists or the choice does not apply,
    FileRefusedError if its file cannot be changed, OSError."""
    return _Decided(decision, tools).carry_out()


class _Decided:
    """One decision, with its place."""

    def __init__(self, decision: Decision, tools: Tools) -> None:
        self._decision = decision
        self._tools = tools
        self._place = _find_source_place(decision.root, tools)
        self._now = tools.clock.now()
        self._state_dir = state_dir(os.environ)
        self._listeners = list_listeners(tools)

    def carry_out(self) -> Done:
        rows, id = self._tools.rows, self._decision.id
        line = find_line(rows, id)
        if line is not None and line.project == self._place.number:
            match line.state:
                case "present":
                    return self._decide_line(line)
                case "withheld":
                    return self._decide_proposal(line.text, line.path, line.heading, (), line)
                case "forgotten":
                    return self._restore(line)
                case _:
                    pass
        facts = read_facts(rows, self._place.number, ("review", "refused", "aside", "forgotten"))
        for same, group in group_facts(facts).items():
            if make_fact_id(self._place.number, same) == id:
                if group[-1].state == "forgotten":
                    return self._restore_facts(group)
                if {one.same for one in read_facts(rows, self._place.number, ASIDE)} == {same}:
                    self._tools.clear(f"{ASIDE_ID}:{self._place.name}")  # it was the last one
                path = str(self._find_main_file())
                return self._decide_proposal(group[-1].text, path, GENERAL, group, None)
        for path, heading, text in list_own_lines(rows, find_place(rows, self._decision.root), os.environ):
            if make_line_id(path, text) == id:
                return self._decide_own(path, heading, text)
        if self._place.number is None:
            path = str(self._find_main_file())
            for text, _ in find_offers(rows):
                if make_line_id(path, text) == id:
                    return self._decide_proposal(text, path, GENERAL, (), None)
        raise TacitdError(f"there is no line {id} any more", "`tacitd learned` lists the lines")

    # --- lines in their files

    def _decide_line(self, line: LineRow) -> Done:
        match self._decision.choice:
            case "drop":
                return self._drop(line, self._change(line.path, _taking(line.text), "forget"))
            case "keep":
                return self._done(
                    lambda tx: _keep(tx, line.number, self._now), "kept", "it stays", line.path, line.id
                )
            case "edit":
                text = clean_text(self._decision.text)
                change = self._change(line.path, _swapping(line.text, text), "review edit")

                def apply(tx: Tx) -> None:
                    reword_line(tx, line.number, line.path, line.heading, text)
                    _keep(tx, line.number, self._now)
                    self._follow(tx, [line.text])

                return self._done(apply, "changed", "the line is yours now", line.path, files=[change])
            case choice:
                raise UsageError(f"{choice} does not apply: the line is stored already")

    def _decide_own(self, path: str, heading: str, text: str) -> Done:
        """A line that the person wrote themselves. Forgotten, it is a row, so that it can be put back."""
        match self._decision.choice:
            case "drop":

                def forget(tx: Tx) -> None:
                    own = self._find_number(tx)
                    number = put_line(tx, self._now, own, path, heading, text, state="forgotten")
                    tx.execute("UPDATE learning_line SET by = 'person' WHERE number = ?", number)
                    self._never(tx, [digest_same(text)])
                    self._follow(tx)

                change = self._change(path, _taking(text), "forget", theirs=True)
                return self._done(forget, "forgotten", NEVER, path, self._decision.id, [change])
            case "keep":
                return self._done(lambda tx: None, "kept", "it stays", path)
            case "edit":
                change = self._change(
                    path, _swapping(text, clean_text(self._decision.text)), "review edit", theirs=True
                )
                return self._done(self._follow, "changed", "as you said", path, files=[change])
            case choice:
                raise UsageError(f"{choice} does not apply: the line is stored already")

    def _drop(self, line: LineRow, change: FileChange | None) -> Done:
        sames = self._list_sames(line)

        def apply(tx: Tx) -> None:
            mark_line(tx, line.number, "forgotten")
            self._never(tx, sames)
            self._follow(tx, [line.text])

        files = [change] if change is not None else []
        return self._done(apply, "forgotten", NEVER, line.path, line.id, files)

    def _restore(self, line: LineRow) -> Done:
        """Do not forget a line any more, and put it back; an offer that was declined is open again."""
        choice = self._decision.choice
        if choice != "restore":
            raise UsageError("it is forgotten already", f"`tacitd forget --undo {line.id}` lifts that")
        sames, is_purged = self._list_sames(line), line.text == FORGOTTEN
        was_offer = self._place.number is None and not read_line_facts(self._tools.rows, line.number)
        is_gone = is_purged or (was_offer and line.by == "tacitd")
        files = [] if is_gone else [self._put(line.path, line.heading, line.text, "forget --undo")]

        def apply(tx: Tx) -> None:
            self._lift(tx, sames)
            mark_line(tx, line.number, "gone" if is_gone else "present")
            self._follow(tx)

        said = "it may be learned again" if is_gone else "it is in its file again"
        return self._done(apply, "restored", said, line.path, line.id, files)

    # --- what is only proposed

    def _decide_proposal(
        self, text: str, path: str, heading: str, facts: Collection[FactRow], line: LineRow | None
    ) -> Done:
        """A withheld line, a fact that waits or was refused, or an offer."""
        numbers = [one.number for one in facts]
        if self._decision.choice == "restore":
            raise UsageError("restore does not apply: it is not forgotten")
        if self._decision.choice == "drop":
            if line is not None:
                return self._drop(line, None)

            def forget(tx: Tx) -> None:
                if numbers:
                    mark_facts(tx, numbers, "forgotten")
                    self._never(tx, [one.same for one in facts])
                else:  # an offer: the lines in the projects stay
                    put_line(tx, self._now, None, path, heading, text, state="forgotten")

            said = (
                "it is never proposed again"
                if numbers
                else "not offered again; the lines in the projects stay"
            )
            return self._done(forget, "declined", said, path, self._decision.id)
        stored = clean_text(self._decision.text) if self._decision.choice == "edit" else text
        what = "accept" if self._decision.choice == "keep" else "review edit"
        change = self._put(path, heading, stored, what)

        def apply(tx: Tx) -> None:
            self._lift(tx, [digest_same(stored)])
            number = put_line(tx, self._now, self._place.number, path, heading, stored, facts=numbers)
            if line is not None and stored != line.text:
                mark_line(tx, line.number, "replaced", number)
            _keep(tx, number, self._now)
            mark_facts(tx, numbers, "written")
            if stored != text:
                tx.execute("UPDATE learning_line SET by = 'person' WHERE number = ?", number)
            self._follow(tx)

        said = "every session of every project loads it" if self._place.number is None else "it is a line now"
        return self._done(apply, "stored", said, path, make_line_id(path, stored), [change])

    def _restore_facts(self, facts: Collection[FactRow]) -> Done:
        if self._decision.choice != "restore":
            raise UsageError(
                "it is forgotten already", f"`tacitd forget --undo {self._decision.id}` lifts that"
            )
        is_purged = all(one.text == FORGOTTEN for one in facts)

        def apply(tx: Tx) -> None:
            self._lift(tx, [one.same for one in facts])
            if not is_purged:
                mark_facts(tx, [one.number for one in facts], "review", "you forgot it, and took that back")

        said = "it may be learned again" if is_purged else "it waits for you again"
        return self._done(apply, "restored", said, str(self._find_main_file()))

    # --- files and rows

    def _find_main_file(self) -> Path:
        return self._place.root / sources.find_root_file(self._place)

    def _put(self, path: str, heading: str, text: str, what: str) -> FileChange:
        """Write a line. Raises FileRefusedError in a project that is excluded."""
        project = self._place.project
        if project is not None:
            if self._tools.write_mode(project) == "off":
                raise FileRefusedError(
                    f"{project.root} is excluded", f"`tacitd exclude --undo {project.root}`"
                )
            hiding.hide(project, [Path(path)], self._tools)

        def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
            return {} if text in now.values() else {bullet(heading, text): text}

        return self._change(path, decide, what)

    def _change(self, path: str, decide: Decide, what: str, *, theirs: bool = False) -> FileChange:
        """`theirs`: the line is the person's own, and so is the heading above it, which stays."""
        cause = Cause(f"{what} {self._decision.id} {self._now}", "person", what)
        format = (
            sources.make_format(Path(path), self._place.root) if not theirs else Bullets(keeps_headings=True)
        )
        return FileChange(Path(path), format, decide, cause, theirs=theirs)

    def _list_sames(self, line: LineRow) -> list[str]:
        """What says the same as a line, or as a fact that it was made of."""
        facts = read_line_facts(self._tools.rows, line.number)
        return list(dict.fromkeys([line.same, *(one.same for one in facts)]))

    def _never(self, tx: Tx, sames: Collection[str]) -> None:
        """Forget what says this: also facts of this place that wait."""
        for same in sames:
            choose(tx, self._state_dir, Choice("text", same, "never", "", self._now))
            tx.execute(
                "UPDATE learning_fact SET state = 'forgotten' WHERE project IS ? AND same = ? "
                "AND state IN ('waiting', 'review', 'left out', 'aside')",
                self._place.number,
                same,
            )

    def _lift(self, tx: Tx, sames: Collection[str]) -> None:
        for same in sames:
            withdraw(tx, self._state_dir, Choice("text", same, "never", "", self._now))

    def _follow(self, tx: Tx, gone: Sequence[str] = ()) -> None:
        """Copies and the summary follow, and what other plugins made of the words of lines that are gone."""
        tell_removed(tx, self._listeners, self._place, gone, self._now)
        project, number = self._place.project, self._find_number(tx)
        if project is not None:
            queue_copies(tx, project, number, self._now)
            queue_message(tx, "temporary", replace(self._place, number=number), self._now)

    def _find_number(self, tx: Tx) -> int | None:
        """The project's row, which is made if nothing was read of it yet."""
        project = self._place.project
        return store_project(tx, project, self._now) if project is not None else None

    def _done(
        self,
        apply: Callable[[Tx], None],
        did: str,
        said: str,
        path: str,
        id: str = "",
        files: Collection[FileChange] = (),
    ) -> Done:
        root = self._place.root if self._place.project is not None else None
        where = f"{root.name}/{name_file(path, root)}" if root is not None else name_file(path, None)
        return Done(apply, tuple(files), notices=[Notice(did, said, where, item=id)])


def _find_source_place(root: Path | None, tools: Tools) -> sources.Place:
    """The place of an item. Raises UsageError if its project is none any more."""
    if root is None:
        return sources.Place(None, sources.person_root(os.environ), None)
    project = tools.find_project(str(root))
    if not isinstance(project, Project):
        raise UsageError(f"{root} is not a project any more")
    number = find_place(tools.rows, root).number
    return sources.Place(number, root, project, tools.write_mode(project) != "shared")


def clean_text(text: str) -> str:
    """The person's words for a line, without hidden characters. Raises UsageError if nothing is left."""
    cleaned = f"{sanitize_line(text).strip()} ".removeprefix("- ").strip()
    if not cleaned:
        raise UsageError("the text is empty", "give the words of the line")
    return cleaned


def _keep(tx: Tx, line: int, now: float) -> None:
    tx.execute("UPDATE learning_line SET kept_at = ? WHERE number = ?", now, line)


def _taking(text: str) -> Decide:
    return lambda now, edits: {leaf: None for leaf, value in now.items() if value == text}


def _swapping(old: str, new: str) -> Decide:
    return lambda now, edits: {leaf: new for leaf, value in now.items() if value == old}
