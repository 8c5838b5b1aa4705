"""Carry out what a person decided about an item of learning: rows and files change in one transaction, and copies follow.

What is forgotten is a choice of the person's (`state/person_choices`), by the digest of what it says, so that a store that is made
anew knows it too: no fact that says it is kept in its project, and no line written; what was about the person, in no project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
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
    ASIDE_ID,
    FactRow,
    LineRow,
    digest_same,
    find_line,
    list_forgotten,
    list_listeners,
    make_line_id,
    mark_facts,
    mark_line,
    name_never,
    put_line,
    read_facts,
    read_line_facts,
    reword_line,
    tell_removed,
)
from tacitd_handlers.learning.line_queries import (
    ITEM_STATES,
    find_offers,
    find_place,
    group_facts,
    list_own_lines,
    make_fact_id,
    name_file,
)
from tacitd_handlers.reach import hiding
from tacitd_handlers.reach.copies import queue_copies


class _Item(Struct, frozen=True):
    """What is decided about: a line, the person's own line (stored, without a row), a fact, or an offer (proposed, of nothing)."""

    state: Literal["stored", "proposed", "forgotten"]
    text: str
    path: str
    heading: str
    line: LineRow | None = None
    facts: tuple[FactRow, ...] = ()
    sames: tuple[str, ...] = ()
    """What says the same, where its words are not stored."""


def decide_item(decision: Decision, tools: Tools) -> Done:
    """Carry out a decision; see `tacitd.handler.Decision`. Raises UsageError if no such item exists or the choice does not apply,
    FileRefusedError if its file cannot be changed, OSError."""
    deciding = _Deciding(decision, tools)
    item = deciding.find_item()
    match item.state, decision.choice:
        case _, "drop" if item.state != "forgotten":
            return deciding.drop(item)
        case "stored", "keep":
            return deciding.keep(item)
        case "stored", "edit":
            return deciding.edit(item)
        case "proposed", "keep" | "edit":
            return deciding.accept(item)
        case "forgotten", "restore":
            return deciding.restore(item)
        case "forgotten", _:
            raise UsageError("it is forgotten already", f"`tacitd forget --undo {decision.id}` lifts that")
        case _:
            raise UsageError("restore does not apply: it is not forgotten")


class _Deciding:
    def __init__(self, decision: Decision, tools: Tools) -> None:
        self._decision = decision
        self._tools = tools
        self._now = tools.clock.now()
        self._state_dir = state_dir(os.environ)
        self._listeners = list_listeners(tools)
        self._place = sources.person_place()
        if (root := decision.root) is not None:
            project = tools.find_project(str(root))
            if not isinstance(project, Project):
                raise UsageError(f"{root} is not a project any more")
            self._place = sources.make_place(find_place(tools.rows, root).number, project, tools)
        self._main_file = str(self._place.root / sources.find_root_file(self._place))

    def find_item(self) -> _Item:
        rows, id, number = self._tools.rows, self._decision.id, self._place.number
        line = find_line(rows, id)
        state = ITEM_STATES.get(line.state) if line is not None and line.project == number else None
        if line is not None and state is not None:
            return _Item(state, line.text, line.path, line.heading, line)
        facts = read_facts(rows, number, ("review", "refused", "aside", "forgotten"))
        for same, group in group_facts(facts).items():
            if make_fact_id(number, same) == id:
                if {one.same for one in facts if one.state == "aside"} == {same}:
                    self._tools.clear(f"{ASIDE_ID}:{self._place.name}")  # it was the last one
                state = "forgotten" if group[-1].state == "forgotten" else "proposed"
                return _Item(state, group[-1].text, self._main_file, GENERAL, None, tuple(group))
        for one in list_forgotten(rows, self._place.project_root):
            if (one.id, one.root) == (id, self._place.project_root):
                return _Item("forgotten", FORGOTTEN, self._main_file, GENERAL, sames=tuple(one.sames))
        for path, heading, text in list_own_lines(rows, find_place(rows, self._decision.root), os.environ):
            if make_line_id(path, text) == id:
                return _Item("stored", text, path, heading)
        for text, _ in find_offers(rows) if number is None else ():
            if make_line_id(self._main_file, text) == id:
                return _Item("proposed", text, self._main_file, GENERAL)
        raise TacitdError(f"there is no line {id} any more", "`tacitd learned` lists the lines")

    def drop(self, item: _Item) -> Done:
        """Forget it. The person's own line, and an offer, is a row then, so that it can be put back, and is not offered again."""
        line, is_own = item.line, item.state == "stored" and item.line is None
        is_line = line is not None or is_own
        sames = self._list_sames(line) if line is not None else [one.same for one in item.facts]

        def apply(tx: Tx) -> None:
            if line is not None:
                mark_line(tx, line.number, "forgotten")
            elif not item.facts:
                own = self._find_number(tx)
                number = put_line(tx, self._now, own, item.path, item.heading, item.text, state="forgotten")
                if is_own:
                    tx.execute("UPDATE learning_line SET by = 'person' WHERE number = ?", number)
            mark_facts(tx, [one.number for one in item.facts], "forgotten")
            self._never(tx, [digest_same(item.text)] if is_own else sames)
            if is_line:
                self._follow(tx, [line.text] if line is not None else [])

        files = [self._swap(item, None, "forget")] if item.state == "stored" else []
        where = "this project" if self._place.project is not None else "any project"
        said = f"removed, and never learned again in {where}" if is_line else "not proposed again"
        return self._done(apply, "forgotten" if is_line else "declined", said, item.path, files=files)

    def keep(self, item: _Item) -> Done:
        return self._done(lambda tx: _keep(tx, item.line, self._now), "kept", "it stays", item.path)

    def edit(self, item: _Item) -> Done:
        """Put the person's words in the place of a line, which is theirs then."""
        text, line = clean_text(self._decision.text), item.line

        def apply(tx: Tx) -> None:
            if line is not None:
                reword_line(tx, line.number, line.path, line.heading, text)
                _keep(tx, line, self._now)
            self._follow(tx, [line.text] if line is not None else [])

        files = [self._swap(item, text, "review edit")]
        return self._done(apply, "changed", "the line is yours now", item.path, files=files)

    def accept(self, item: _Item) -> Done:
        """Write a withheld line, a fact that waits or was refused, or an offer."""
        line, numbers = item.line, [one.number for one in item.facts]
        text = clean_text(self._decision.text) if self._decision.choice == "edit" else item.text
        what = "accept" if self._decision.choice == "keep" else "review edit"
        change = self._put(item.path, item.heading, text, what)

        def apply(tx: Tx) -> None:
            self._lift(tx, [digest_same(text)])
            number = put_line(tx, self._now, self._place.number, item.path, item.heading, text, facts=numbers)
            if line is not None and text != line.text:
                mark_line(tx, line.number, "replaced", number)
            mark_facts(tx, numbers, "written")
            tx.execute("UPDATE learning_line SET kept_at = ? WHERE number = ?", self._now, number)
            if text != item.text:
                tx.execute("UPDATE learning_line SET by = 'person' WHERE number = ?", number)
            self._follow(tx)

        said = "every session of every project loads it" if self._place.number is None else "it is a line now"
        return self._done(apply, "stored", said, item.path, make_line_id(item.path, text), [change])

    def restore(self, item: _Item) -> Done:
        """Do not forget it any more: a line is put back, a fact waits for the person, and an offer is open again."""
        line, is_gone = item.line, item.text == FORGOTTEN
        if line is not None and self._place.number is None and line.by == "tacitd":
            is_gone = is_gone or not read_line_facts(self._tools.rows, line.number)  # it was an offer
        sames = [*item.sames, *(one.same for one in item.facts)]
        sames += self._list_sames(line) if line is not None else []

        def apply(tx: Tx) -> None:
            self._lift(tx, sames)
            if line is not None:
                mark_line(tx, line.number, "gone" if is_gone else "present")
                self._follow(tx)
            elif not is_gone:
                numbers = [one.number for one in item.facts]
                mark_facts(tx, numbers, "review", "you forgot it, and took that back")

        is_put = line is not None and not is_gone
        files = [self._put(item.path, item.heading, item.text, "forget --undo")] if is_put else []
        said = "it is in its file again" if is_put else "it waits for you again"
        said = "it may be learned again" if is_gone else said
        return self._done(apply, "restored", said, item.path, files=files)

    # --- files and rows

    def _put(self, path: str, heading: str, text: str, what: str) -> FileChange:
        project = self._place.project
        if project is not None:
            if self._tools.write_mode(project) == "off":
                hint = f"`tacitd exclude --undo {project.root}`"
                raise FileRefusedError(f"{project.root} is excluded", hint)
            hiding.hide(project, [Path(path)], self._tools)

        def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
            return {} if text in now.values() else {bullet(heading, text): text}

        return self._change(path, decide, what)

    def _swap(self, item: _Item, text: str | None, what: str) -> FileChange:
        """Put a text in the place of an item's line, or take it out. The heading above a person's own line is theirs, and stays."""

        def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
            return {leaf: text for leaf, value in now.items() if value == item.text}

        return self._change(item.path, decide, what, theirs=item.line is None)

    def _change(self, path: str, decide: Decide, what: str, *, theirs: bool = False) -> FileChange:
        cause = Cause(f"{what} {self._decision.id} {self._now}", "person", what)
        format = Bullets(keeps_headings=True)
        if not theirs:
            format = sources.make_format(Path(path), self._place.root)
        return FileChange(Path(path), format, decide, cause, theirs=theirs)

    def _list_sames(self, line: LineRow) -> list[str]:
        """What says the same as a line, or as a fact that it was made of."""
        facts = read_line_facts(self._tools.rows, line.number)
        return list(dict.fromkeys([line.same, *(one.same for one in facts)]))

    def _never(self, tx: Tx, sames: Collection[str]) -> None:
        """Forget what says this: also facts of this place that wait."""
        for same in sames:
            choose(tx, self._state_dir, self._make_choice(same))
            tx.execute(
                "UPDATE learning_fact SET state = 'forgotten' WHERE project IS ? AND same = ? "
                "AND state IN ('waiting', 'review', 'left out', 'aside')",
                self._place.number,
                same,
            )

    def _lift(self, tx: Tx, sames: Collection[str]) -> None:
        for same in sames:
            withdraw(tx, self._state_dir, self._make_choice(same))

    def _make_choice(self, same: str) -> Choice:
        return Choice("text", name_never(same, self._place.project_root), "never", "", self._now)

    def _follow(self, tx: Tx, gone: Sequence[str] = ()) -> None:
        """Copies and the summary follow, and what other plugins made of the words of lines that are gone."""
        tell_removed(tx, self._listeners, self._place, gone, self._now)
        queue_copies(tx, replace(self._place, number=self._find_number(tx)), self._now)

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
        return Done(apply, tuple(files), notices=[Notice(did, said, where, item=id or self._decision.id)])


def clean_text(text: str) -> str:
    """The person's words for a line, without hidden characters. Raises UsageError if nothing is left."""
    cleaned = f"{sanitize_line(text).strip()} ".removeprefix("- ").strip()
    if not cleaned:
        raise UsageError("the text is empty", "give the words of the line")
    return cleaned


def _keep(tx: Tx, line: LineRow | None, now: float) -> None:
    if line is not None:
        tx.execute("UPDATE learning_line SET kept_at = ? WHERE number = ?", now, line.number)
