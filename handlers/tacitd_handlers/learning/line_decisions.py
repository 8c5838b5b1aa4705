"""Carry out what a person decided about a line: the hook `decide` of the learning plugin.

A decision is recorded before files change, so a crash between the two leaves a line that can be forgotten again. The files
change in one transaction with their copies in `.claude/rules/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd.events import Due, Project
from tacitd.files import git
from tacitd.files.log import BLANK
from tacitd.files.operations import Operation, PutLine, SwapLine, TakeLine
from tacitd.handler import Decided, Decision, StoredItem, Tools
from tacitd.work.commit_rows import read_all_commits
from tacitd_handlers.learning.fact_marks import read_marks
from tacitd_handlers.learning.folders import LEARNED
from tacitd_handlers.learning.handler import MIRROR, LearningHandler
from tacitd_handlers.learning.headings import group_of
from tacitd_handlers.learning.inherited_origins import REVIEW_EDIT, find_origin
from tacitd_handlers.learning.inventory import Inventory, LearnedLine
from tacitd_handlers.learning.line_items import find_refusals, list_project
from tacitd_handlers.learning.offer_items import decide_offer
from tacitd_handlers.learning.person_decisions import (
    StoredDecision,
    append_decision,
    clean_text,
    list_dropped,
    make_drop,
    read_decisions,
)
from tacitd_handlers.learning.project_files import find_own_section, find_root_file, title_for
from tacitd_handlers.learning.refusals import shorten_message
from tacitd_handlers.shared.equality import same_fact

LINE_KINDS = ("line", "withheld line", "refused fact", "refused line")
"""The kinds of items that can become a line."""


def decide_line(handler: LearningHandler, tools: Tools, decision: Decision) -> Decided:
    """Carry out a decision; see `tacitd.handler.Decision`.

    Raises UsageError if no such item exists or the choice does not apply, FileRefusedError and FileBusyError if its file
    cannot be changed now, OSError.
    """
    if decision.root is None:
        return decide_offer(tools, decision)
    root = decision.root
    inventory = Inventory(tools.home.parent.parent, tools.clock, tools.history)
    found = [one for one in list_project(inventory, root) if one.id == decision.id]
    if not found:
        raise UsageError(f"there is no line {decision.id} any more", "`tacitd learned` lists the lines")
    # A person may have written a forgotten line by hand: then two items have this id.
    item = next(
        (one for one in found if (one.state == "forgotten") == (decision.choice == "restore")), found[0]
    )
    work = _LineDecision(handler, tools, inventory, root, item)
    match decision.choice, item.state:
        case "drop", "forgotten":
            return Decided("it is forgotten already", work.list_texts())
        case "drop", _:
            return work.drop()
        case "restore", "forgotten":
            return work.restore()
        case "keep", "stored":
            work.record("keep")
            return Decided("it stays")
        case "keep", "proposed":
            return work.store(item.text, "accept")
        case "edit", "stored":
            return work.reword(clean_text(decision.text))
        case "edit", "proposed":
            return work.store(clean_text(decision.text), REVIEW_EDIT)
        case choice, state:
            raise UsageError(f"{choice} does not apply: the line is {state}")


class _LineDecision:
    """One decision about one item of one project."""

    def __init__(
        self, handler: LearningHandler, tools: Tools, inventory: Inventory, root: Path, item: StoredItem
    ) -> None:
        self._handler = handler
        self._tools = tools
        self._inventory = inventory
        self._project = Project(root, git.git_dir(root) is not None)
        self._item = item
        self._place = item.where.partition(" · ")[0]
        self._heading = item.where.partition(" · ")[2]

    @property
    def _path(self) -> Path:
        return self._project.root / self._place

    def drop(self) -> Decided:
        """Forget it: record the decision first, then remove the line."""
        line = self._find_line()
        facts = line.facts if line is not None else ()
        texts = self.list_texts()
        made = make_drop(
            self._tools.clock.now(), self._project.root, self._item.id, self._place, self._item.text, facts
        )
        append_decision(self._tools.home, made, self._tools.disk)
        what = "never learned again"
        if self._item.state == "stored":
            try:
                section = find_own_section(self._project, self._path, self._item.text, self._tools.history)
                done = self._run([TakeLine(self._path, self._item.text, section)], "forget")
            except TacitdError:
                self.record("restore")  # the file was not changed, so nothing is forgotten
                raise
            append_decision(self._tools.home, replace(made, done=done), self._tools.disk)
            what = f"removed from {self._name_file()}, and {what}"
        return Decided(what, texts)

    def restore(self) -> Decided:
        """Do not forget it any more, and put the line back where it was."""
        dropped = list_dropped(read_decisions(self._tools.home, self._project.root)).get(self._item.id)
        self.record("restore")
        what = "it may be learned again"
        if dropped is None or not dropped.done or not self._item.text:
            return Decided(what)
        try:
            self._tools.history.undo_transaction(dropped.done)
        except (FileRefusedError, UsageError) as error:
            return Decided(f"{what}; it was not put back: {error.what}")
        self._follow_up()
        return Decided(f"put back into {self._name_file()}")

    def store(self, text: str, what: str) -> Decided:
        """Write a proposed text as a line. Raises UsageError for what cannot be a line."""
        if self._item.kind not in LINE_KINDS:
            raise UsageError(
                f"a {self._item.kind} cannot become a line", _OTHER_COMMANDS.get(self._item.kind, "")
            )
        if self._tools.write_mode(self._project) == "off":
            raise FileRefusedError(
                f"{self._project.root} is excluded", f"`tacitd exclude --undo {self._project.root}`"
            )
        heading = group_of(text)
        path = self._path
        if self._place == LEARNED:
            local = self._tools.write_mode(self._project) == "local"
            path = self._project.root / find_root_file(self._project, local=local)
        operation = PutLine(path, heading, text, title_for(self._place or LEARNED))
        self._run([operation], what, self._find_origin())
        self.record("keep" if what == "accept" else "edit")
        return Decided(f"stored in {self._name_file()}")

    def reword(self, text: str) -> Decided:
        """Replace a line by the person's words."""
        title = title_for(self._place) if self._place in (LEARNED,) or "/" in self._place else ""
        self._run([SwapLine(self._path, self._item.text, text, self._heading, title)], REVIEW_EDIT)
        self.record("edit")
        return Decided(f"changed in {self._name_file()}; the line is yours now")

    def record(self, choice: str) -> None:
        """Append the decision to the log."""
        made = StoredDecision(
            self._tools.clock.now(), str(self._project.root), self._item.id, choice, self._place
        )
        append_decision(self._tools.home, made, self._tools.disk)

    def list_texts(self) -> tuple[str, ...]:
        """Every text in which the item's words may be stored: itself, its facts, and the person's words."""
        line = self._find_line()
        facts = set(line.facts) if line is not None else set()
        prompts = set(line.prompts) if line is not None else set()
        dropped = list_dropped(read_decisions(self._tools.home, self._project.root)).get(self._item.id)
        if dropped is not None:
            facts |= set(dropped.facts)
        refused = find_refusals(self._inventory, self._project.root, self._item.id)
        words = {*self._item.words, *(str(each) for one in refused for each in one.get("words", ()))}
        for _, batch in self._read_batches():
            said = [str(one) for one in batch.get("words", ())]
            of = [str(one) for one in batch.get("prompts", ())]
            equal = [
                fact
                for fact in map(str, batch.get("new", ()))
                if fact in facts or same_fact(fact, self._item.text)
            ]
            facts |= set(equal)
            words |= {text for id, text in zip(of, said, strict=False) if id in prompts}
        return tuple(
            text for text in (self._item.text, *sorted(facts), *sorted(words)) if text and text != BLANK
        )

    def _read_batches(self) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """The session and the data of each commit of a batch."""
        for commit in read_all_commits(self._tools.home):
            if commit.data.get("kind") == "batch":
                yield commit.session, commit.data

    def _find_line(self) -> LearnedLine | None:
        lines = self._inventory.list_lines(self._project.root)
        return next((one for one in lines if one.id == self._item.id), None)

    def _find_origin(self) -> dict[str, list[str]]:
        """The prompts and sessions that a proposed text came from: those of the line that was removed, and the later ones."""
        past = self._tools.history.list_lines(self._project.root).get((self._path, self._item.text))
        known = find_origin(past.origin, self._item.text) if past is not None and past.put_at else {}
        prompts, sessions = (list(map(str, known.get(key, ()))) for key in ("prompts", "sessions"))
        for session, batch in self._read_batches():
            if batch.get("project") != str(self._project.root):
                continue
            found = self._find_prompts(batch)
            prompts += found
            sessions += [session] if found and session else []
        return {"prompts": list(dict.fromkeys(prompts)), "sessions": list(dict.fromkeys(sessions))}

    def _find_prompts(self, batch: Mapping[str, Any]) -> list[str]:
        """The prompts of a batch that say the item's text: those of an equal fact, or those that were refused with it."""
        ids, new = [str(id) for id in batch.get("prompts", ())], [str(fact) for fact in batch.get("new", ())]
        found = [
            id
            for fact, mark in zip(new, read_marks(batch.get("marks"), len(new)), strict=True)
            if same_fact(fact, self._item.text)
            for id in mark.prompts or ids
        ]
        said = zip(ids, (str(words) for words in batch.get("words", ())), strict=False)
        return found + [id for id, words in said if shorten_message(words) in self._item.words]

    def _run(self, operations: list[Operation], what: str, origin: Mapping[str, Any] | None = None) -> str:
        """Change the files as one transaction with the copies; return its id. `origin`: what `why` shows."""
        now = self._tools.clock.now()
        cause = {"by": "person", "what": what, **(origin or {})}
        key = f"{what}:{self._project.root}:{self._item.id}:{now}"
        done = self._handler.mirrors.run_with_copies(self._project, operations, cause, key, self._tools)
        self._follow_up()
        return done.id

    def _follow_up(self) -> None:
        """Check the lines again in the lane of the project, so that tombstones follow."""
        self._tools.post(Due(MIRROR, self._project))

    def _name_file(self) -> str:
        return f"{self._project.root.name}/{self._place}"


_OTHER_COMMANDS = {
    "refused profile": "set the value with `tacitd profile set`",
    "refused lesson": "add the lesson with `lesson add`",
    "refused section": "write the heading into the file by hand",
}
