"""Stage 2: write a project's facts as lines of LEARNED.md and AGENTS.md, with the smart tier (SPEC S-20 to S-37).

The order makes it crash-safe: the raw file is claimed, the model is asked about a snapshot, the lines are written as one
transaction, the summary is regenerated, and only then is the claimed file deleted (SPEC S-22, S-31, S-32). After a crash
at any point the claimed file is still there. A transaction that was done is recognised by the batches and files that its
cause names.

This module makes the calls and writes. Parsing, placing and deciding are in the pure modules beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.errors import TacitdError
from tacitd.events import Due, Project
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.files.recent_records import read_recent
from tacitd.handler import Degradation, Done, Later, Outcome, Rejected, Tools
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.archive import ARCHIVE, find_unrecorded, plan_archive
from tacitd_handlers.learning.arrangement import build_arrangements, find_own_section
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.grounding_checks import sift_lines
from tacitd_handlers.learning.learned_notices import explain_no_line
from tacitd_handlers.learning.mirrors.mirror_sync import Mirrors
from tacitd_handlers.learning.person_decisions import read_forgotten
from tacitd_handlers.learning.project_files import read_all, read_documents_of_person
from tacitd_handlers.learning.raw_ownership import RawOwnership
from tacitd_handlers.learning.refusals import RefusalLog, RefusedText, keep_refusals
from tacitd_handlers.learning.removal_messages import add_removal_messages
from tacitd_handlers.learning.removals import check_removals, find_written_lines
from tacitd_handlers.learning.settings import SynthesisSettings
from tacitd_handlers.learning.stage2.ask_model import ask_for_lines, ground_answer
from tacitd_handlers.learning.stage2.commit_data import build_cause, build_messages, describe_cost
from tacitd_handlers.learning.stage2.inherited_origins import (
    NO_SIGHTING,
    inherit_origins,
)
from tacitd_handlers.learning.stage2.line_changes import build_operations, describe_changes, find_predecessors
from tacitd_handlers.learning.stage2.line_origins import (
    describe_origins,
    divide_facts,
    list_facts_of_lines,
)
from tacitd_handlers.learning.stage2.numbered_facts import (
    split_numbered,
)
from tacitd_handlers.learning.stage2.paid_answers import LostTwice, PaidAnswer, SynthesisAnswer
from tacitd_handlers.learning.stage2.parse import ProposedLine, SynthesisPlan
from tacitd_handlers.learning.stage2.pending_facts import PendingFacts, claim_facts
from tacitd_handlers.learning.stage2.place import RefusedItem
from tacitd_handlers.learning.stage2.plan import LINES_LIMIT, decide_operations
from tacitd_handlers.learning.stage2.project_view import LEARNED, RULES
from tacitd_handlers.learning.stage2.synthesis_input import (
    SynthesisInput,
    build_input,
    folders_of,
    list_blanked_lines,
    place_items,
)
from tacitd_handlers.learning.state import SECRET_FACT, LearningState
from tacitd_handlers.learning.store import (
    ProjectPaths,
    put_aside,
    put_lines_aside,
    release_claimed,
    why_not_writable,
)

SYNTHESIZE = "synthesize"  # the job's name
QUARANTINE_KEPT = 90 * 86400.0
"""Seconds for which a line that is not a fact is kept, if there are many."""


class Synthesizer:
    """Runs Stage 2. Keeps answers that were paid for and are not written yet, in memory.

    Calls for one project must not overlap (SPEC S-53); calls for different projects may.
    """

    def __init__(
        self,
        bootstrap: Bootstrap,
        ownership: RawOwnership,
        refusals: RefusalLog,
        mirrors: Mirrors,
        home: Path,
        disk: Disk | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._ownership = ownership
        self._quarantine = Log(home / "quarantine.jsonl", disk)
        self._refusals = refusals
        self._mirrors = mirrors
        self._paid: dict[Path, PaidAnswer] = {}
        """Paid answers by the project's root."""
        self._failures: Counter[Path] = Counter()
        """Number of unusable answers in a row, by the project's root."""

    def synthesize_project(self, project: Project, state: LearningState, tools: Tools) -> Outcome:
        """Write lines for all facts that wait in this project.

        Raises OSError and TacitdError; no facts are lost then, and the next call continues. Raises FileBusyError before
        the model is asked if an editor has LEARNED.md open.
        """
        files = ProjectPaths(project.root, tools.disk)
        if tools.write_mode(project) == "off":
            return Done()
        recover_pending(tools)
        if not state.waiting.get(project.root) and not self._ownership.inspect_files(files).waiting:
            return Done()
        if (why := why_not_writable(files)) is not None:
            return Later(why, "make it writable for tacitd, or run `tacitd exclude` for the project")
        tools.history.check_editable(project.root, files.learned_file)
        # Trigger: an answer was paid for and could not be written. Why: with more facts the call would have another key,
        # and the same facts would be paid for again. Outcome: newer facts wait until that answer is written.
        paid_before = self._paid.get(project.root)
        if paid_before is not None and not self._ownership.inspect_files(files).known:
            return Later("git cannot list its tracked files", f"run `git -C {project.root} status`")
        pending = claim_facts(
            project,
            files,
            state,
            tools.history,
            self._ownership,
            tools.clock.now(),
            only=paid_before.batches if paid_before is not None else None,
            among=paid_before.files if paid_before is not None else (),
        )
        outcome = self._synthesize_pending(project, pending, state, tools)
        if (
            paid_before is not None
            and not isinstance(outcome, Later)
            and self._has_more(project, files, state)
        ):
            tools.post(Due(SYNTHESIZE, project))
        return outcome

    def _has_more(self, project: Project, files: ProjectPaths, state: LearningState) -> bool:
        """Whether facts wait that the last synthesis did not cover."""
        return self._ownership.inspect_files(files).waiting or bool(state.waiting.get(project.root))

    def _synthesize_pending(
        self, project: Project, pending: PendingFacts, state: LearningState, tools: Tools
    ) -> Outcome:
        if not pending.facts:
            return self._finish(project, pending, {}, state, tools)
        inputs, refused = build_input(project, pending, self._bootstrap, state, tools)
        # Facts of other tools are not in the handler's log. A refused one must be in the log of refusals before its
        # claimed file is removed.
        if not keep_refusals(self._refusals, refused, project.root, pending.id, (), tools):
            what = f"{self._refusals.path} cannot be written: refused facts of another tool would be lost"
            return Later(what, "make it a regular file that tacitd can write, or move it away")
        answered = self._propose_plan(inputs, state, tools)
        if not isinstance(answered, SynthesisAnswer):
            return answered
        return self._write(inputs, answered, state, tools)

    def _propose_plan(
        self, inputs: SynthesisInput, state: LearningState, tools: Tools
    ) -> SynthesisAnswer | Outcome:
        """Ask the model about all facts, in one call or in several if there are very many.

        Each answer is kept as soon as it is there, so that a failure of a later call does not pay for it again.
        """
        items: dict[ProposedLine, None] = {}
        found: dict[str, list[Any]] = {}
        usd = 0.0
        root, paid = inputs.project.root, dict[str, SynthesisAnswer]()
        batches, files = (
            frozenset(made.id for made in inputs.pending.unfiled),
            frozenset(inputs.pending.claimed),
        )
        if (paid_before := self._paid.get(root)) is not None:
            paid.update(paid_before.answers)
            self._paid[root] = PaidAnswer(paid, batches, files)
        for number, facts in enumerate(split_numbered(inputs.numbered)):
            key = f"synthesis:{inputs.pending.id}" + (f":{number}" if number else "")
            if key not in paid:
                plan = ask_for_lines(inputs, facts, key, state, tools)
                if not isinstance(plan, SynthesisAnswer):
                    return self._handle_failure(inputs, plan, state, tools)
                paid[key] = plan
                self._paid[root] = PaidAnswer(paid, batches, files)
            usd += paid[key].usd
            items.update(dict.fromkeys(paid[key].plan.items))
            for name, what in paid[key].found.items():
                found.setdefault(name, []).extend(what)
        self._failures.pop(root, None)
        return SynthesisAnswer(SynthesisPlan(tuple(items)), found, usd)

    def _handle_failure(
        self,
        inputs: SynthesisInput,
        outcome: Later | Rejected | LostTwice,
        state: LearningState,
        tools: Tools,
    ) -> Outcome:
        """Retry later, or put the facts aside in files that `status` shows; facts are never lost (SPEC S-23).

        Trigger: `synthesis.tries` unusable answers in a row, or a rejection by the model's port. Why: the same facts would
        be paid for again without result. Outcome: the files of all facts are put aside. If calls were lost twice
        (LostTwice), only the batches or files of their facts are put aside, and a new synthesis handles the others.
        """
        settings: SynthesisSettings = tools.settings["synthesis"]
        root, given_up = (
            inputs.project.root,
            tuple(dict.fromkeys((*inputs.pending.claimed, *inputs.pending.origins))),
        )
        if isinstance(outcome, Later):
            self._failures[root] += outcome.blame == "work"
            if self._failures[root] < settings.tries:
                return outcome
        alone: tuple[str, ...] = ()
        if isinstance(outcome, LostTwice):
            whole, alone = inputs.pending.at_fault(outcome.parts)
            given_up = tuple(path for path in given_up if path in whole)
        self._failures.pop(root, None)
        self._paid.pop(root, None)
        files, pending = ProjectPaths(root, tools.disk), inputs.pending
        aside = [
            path.name for path in put_aside(files, [path for path in given_up if path in pending.claimed])
        ]
        waiting = state.waiting.get(root, {})
        if unfiled := (*pending.unfiled_in(given_up), *(waiting[id] for id in alone)):
            aside.append(put_lines_aside(files, pending.id, unfiled).name)
        data = {"kind": "aside", "project": str(root), "files": aside, "reason": outcome.reason}
        data["unfiled"] = [made.id for made in unfiled]
        data["batches"] = [*pending.batches_in(given_up), *alone, *pending.settled]
        where = ", ".join(str(ProjectPaths(root).tmp_dir / name) for name in aside)
        if isinstance(outcome, LostTwice):
            # Only when all is put aside: on a full disk each try would post another one, without a pause between them.
            tools.post(Due(SYNTHESIZE, inputs.project))
        return Rejected(f"{outcome.reason}; the facts are in {where}", data=data)

    def _write(
        self, inputs: SynthesisInput, answered: SynthesisAnswer, state: LearningState, tools: Tools
    ) -> Outcome:
        """Place, ground and decide the proposed lines, write them as one transaction, and finish."""
        project, pending = inputs.project, inputs.pending
        candidates, misplaced = place_items(inputs, answered.plan)
        self._note_misplaced(project, misplaced, tools)
        placed, refused = sift_lines(candidates, inputs.origins)
        answered, parts = ground_answer(answered, inputs.origins, tools)
        refused += [*map(_misplacement, misplaced), *parts]
        words = inputs.origins.words
        keep_refusals(self._refusals, refused, project.root, pending.id, words, tools)
        # The files are read again: they may have changed during the model's call.
        folders = folders_of([*inputs.shared, *(one.path for one in placed)])
        now, _ = read_all(project, folders, local=inputs.local)
        ours = {name: set(lines) for name, lines in find_written_lines(tools.history, project).items()}
        if RULES in now:
            ours.pop(LEARNED, None)  # git tracks it now, so no line of it is replaced
        decision = decide_operations(
            placed,
            {name: (*one.lines, *one.all_statements, *list_blanked_lines(one)) for name, one in now.items()},
            _removed_lines(project, state, tools),
            ours,
            limit=max(LINES_LIMIT, len(inputs.facts)),
            reword=inputs.reword,
            is_forgotten=read_forgotten(tools.home, project.root).covers,
            documents=read_documents_of_person(project),
            before={name: one.all_statements for name, one in inputs.shared.items()},
        )
        from_facts = describe_origins((one.source for one in decision.operations), inputs.numbered)
        predecessors = find_predecessors(decision, inputs.reword, project.root)
        from_facts = {line: dict(NO_SIGHTING) for line in predecessors} | from_facts
        operations = build_operations(
            project, decision, lambda path, line: find_own_section(project, path, line, tools.history)
        )
        written = 0
        if operations:
            operations += build_arrangements(
                project, operations, tools.history, state, from_facts, tools.clock.now()
            )
            facts = list_facts_of_lines((one.source for one in decision.operations), inputs.numbered)
            causes = {key: past.origin for key, past in tools.history.list_lines(project.root).items()}
            origins, made_of = inherit_origins(from_facts, facts, predecessors, causes)
            cause = build_cause(pending) | {"lines": origins, "made_of": made_of}
            key = f"synthesis:{pending.id}"
            done = self._mirrors.run_with_copies(project, operations, cause, key, tools)
            written = sum(effect.did in ("put", "swapped") for effect in done.effects)
            self._archive_surplus(inputs, [operation.path for operation in operations], state, tools)
        data: dict[str, Any] = {"lines": written, "dropped": len(decision.dropped)}
        data |= build_messages(inputs, answered, [operation.line for operation in decision.operations])
        learned = describe_changes(decision, inputs)
        data |= describe_cost(inputs, answered, state) | learned | {"origins": from_facts}
        data |= divide_facts(placed, inputs.numbered) | {"reworded": sorted(inputs.reword)}
        if not operations:
            data["no_line"] = explain_no_line(
                repeated=len(learned["again"]),
                withheld=len(decision.withheld),
                refused=len(refused) + (not inputs.facts and not inputs.again),
                asked=bool(inputs.facts),
            )
        return self._finish(project, pending, data, state, tools)

    def _archive_surplus(
        self, inputs: SynthesisInput, paths: Iterable[Path], state: LearningState, tools: Tools
    ) -> None:
        """Move lines of the files that were just written to the archive if there are too many, in one transaction.

        The new lines are written already, so a failure is only logged: the next synthesis tries again.
        """
        try:
            self._run_archive(inputs, paths, state, tools)
        except (OSError, TacitdError) as error:
            logger.info("no line of {} goes to the archive now: {}", inputs.project.root, error)

    def _run_archive(
        self, inputs: SynthesisInput, paths: Iterable[Path], state: LearningState, tools: Tools
    ) -> None:
        project = inputs.project
        names = {project.root / LEARNED, *(project.root / name for name in inputs.shared)}
        operations = plan_archive(
            project,
            [path for path in paths if path in names],
            state,
            tools.history,
            tools.settings["learning"],
            inputs.again,
            tools.clock.now(),
        )
        if not operations:
            return
        cause = {"by": "learning", "what": ARCHIVE}
        self._mirrors.run_with_copies(project, operations, cause, f"archive:{inputs.pending.id}", tools)

    def _note_misplaced(self, project: Project, misplaced: Sequence[RefusedItem], tools: Tools) -> None:
        id = f"learning.refused:{project.root}"
        if not misplaced:
            tools.clear(id)
            return
        what = (
            f"{len(misplaced)} proposals of the model were refused in {project.root}: {misplaced[0].reason}"
        )
        hint = f"they were not stored; `tacitd learned --refused {project.root}` shows them"
        tools.degrade(Degradation(id, what, hint))

    def _finish(
        self,
        project: Project,
        pending: PendingFacts,
        data: Mapping[str, Any],
        state: LearningState,
        tools: Tools,
    ) -> Outcome:
        """Finish a synthesis whose lines are durable (SPEC S-32).

        The order is: regenerate the summary, quarantine bad lines, delete the claimed files, return the commit.
        """
        if pending.claimed or pending.settled or data.get("lines"):
            self._bootstrap.refresh_summary(project, tools, ask=False)
        self._set_bad_aside(project, pending, tools)
        grown = release_claimed(ProjectPaths(project.root, tools.disk), pending.read_sizes)
        self._paid.pop(project.root, None)
        made: dict[str, Any] = {"kind": "synthesis", "project": str(project.root)}
        made["batches"] = [*pending.batches, *pending.settled]
        made |= {"lines": 0, **data}
        if grown:
            made["read"] = {path.name: pending.whole_line_sizes[path.name] for path in grown}
        if withheld := sum(line.withheld for line in pending.lines):
            made["left_out"] = {SECRET_FACT: withheld}
        made["lines"] += pending.settled_lines
        if not pending.lines and not pending.settled and not made["lines"] and not grown:
            return Done()
        if archived := find_unrecorded(project, state, tools.history):
            made["archived"] = archived
        made["look"] = check_removals(project, state, tools.history, tools.clock.now())
        return Done(data=add_removal_messages(made, tools))

    def _set_bad_aside(self, project: Project, pending: PendingFacts, tools: Tools) -> None:
        """Write lines that do not parse as facts to quarantine.jsonl (SPEC S-21)."""
        id = f"learning.raw:{project.root}"
        if not pending.bad_lines:
            if pending.claimed:
                tools.clear(id)
            return
        now = tools.clock.now()
        for bad in pending.bad_lines:
            line = redact_secrets(bad[:20_000].decode("utf-8", "replace"))[0][:2000]
            self._quarantine.append({"at": now, "project": str(project.root), "line": line})
        self._quarantine.flush()
        read_recent(self._quarantine, now, QUARANTINE_KEPT)
        what = f"{len(pending.bad_lines)} lines of {ProjectPaths(project.root).raw_file} are not facts"
        hint = f"they are kept in {self._quarantine.path}"
        tools.degrade(Degradation(id, what, hint))


def recover_pending(tools: Tools) -> None:
    """Finish transactions that were begun, so that their facts are not asked about again. Raises OSError."""
    if tools.history.pending:
        tools.history.recover(lambda root: tools.write_mode(Project(root, False)) != "off")


def _misplacement(one: RefusedItem) -> RefusedText:
    """The refusal of a line whose place was refused: its text is kept with the reason (SPEC S-24)."""
    where = "" if one.item.file == LEARNED else f" ({one.item.file[:200]})"
    return RefusedText("line", one.item.fact, f"{one.reason}{where}")


def _removed_lines(project: Project, state: LearningState, tools: Tools) -> dict[str, set[str]]:
    """Lines that the user removed, by file, including removals since the last check (SPEC S-28)."""
    tombstones = {name: set(lines) for name, lines in state.tombstones.get(project.root, {}).items()}
    seen = check_removals(project, state, tools.history, tools.clock.now())
    for name, lines in seen.get("removed", {}).items():
        tombstones.setdefault(name, set()).update(lines)
    for name, lines in seen.get("lifted", {}).items():
        tombstones.setdefault(name, set()).difference_update(lines)
    return tombstones
