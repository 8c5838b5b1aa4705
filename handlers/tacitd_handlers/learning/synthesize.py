"""Write a project's facts as lines of LEARNED.md and AGENTS.md, with the smart tier (SPEC S-20 to S-37).

The facts are claimed (`pending_facts`), the files are read (`synthesis_input`), the model is asked (`ask_synthesis`), the files are
read again and the lines are decided on (`plan`), and written as one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.events import Due, Project
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.files.operations import Operation, PutLine, SwapLine, TakeLine
from tacitd.files.recent_records import read_recent
from tacitd.handler import Degradation, Done, Later, Outcome, Rejected, Tools
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.ask_synthesis import (
    LostTwice,
    NoUse,
    PaidAnswer,
    ask_for_lines,
    ground_answers,
)
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.folders import RULES
from tacitd_handlers.learning.headings import groups_after
from tacitd_handlers.learning.inherited_origins import NO_SIGHTING, inherit_origins
from tacitd_handlers.learning.learned_notices import explain_no_line
from tacitd_handlers.learning.mirrors.mirror_sync import Mirrors
from tacitd_handlers.learning.numbered import NumberedFact, split_facts
from tacitd_handlers.learning.pending_facts import CAUSE_DATA, PendingFacts, claim_facts, merge_data
from tacitd_handlers.learning.person_decisions import read_forgotten
from tacitd_handlers.learning.plan import LINES_LIMIT, NewLine, Plan, Situation, plan_lines
from tacitd_handlers.learning.project_files import find_own_section, read_documents_of_person, title_for
from tacitd_handlers.learning.raw_ownership import RawOwnership
from tacitd_handlers.learning.refusals import RefusalLog, keep_refusals
from tacitd_handlers.learning.removal_messages import add_removal_messages
from tacitd_handlers.learning.removals import check_removals
from tacitd_handlers.learning.settings import LearningSettings
from tacitd_handlers.learning.state import SECRET_FACT, LearningState
from tacitd_handlers.learning.store import (
    ProjectPaths,
    put_aside,
    put_lines_aside,
    release_claimed,
    why_not_writable,
)
from tacitd_handlers.learning.synthesis_input import SynthesisInput, build_input, read_files

SYNTHESIZE = "synthesize"  # the job's name
QUARANTINE_KEPT = 90 * 86400.0
"""Seconds for which a line that is not a fact is kept, if there are many."""


class Synthesizer:
    """Writes lines. Keeps answers that were paid for and are not written yet, in memory.

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
        self._paid: dict[Path, list[PaidAnswer]] = {}
        """Paid answers by the project's root."""
        self._useless: dict[Path, set[str]] = {}
        """By the project's root, the facts of calls whose answer could not be used. They are asked about once more, in halves."""

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
        # Facts of a paid answer may be in a claimed file that cannot be trusted for now. Without them the answer would be dropped.
        if self._paid.get(project.root) and not self._ownership.inspect_files(files).known:
            return Later("git cannot list its tracked files", f"run `git -C {project.root} status`")
        pending = claim_facts(project, files, state, tools.history, self._ownership, tools.clock.now())
        if not pending.facts:
            return self._finish(project, pending, pending.settled_data, state, tools)
        inputs, refused = build_input(project, pending, self._bootstrap, state, tools)
        # Facts of other tools are not in the handler's log. A refused one must be in the log of refusals before its
        # claimed file is removed.
        if not keep_refusals(self._refusals, refused, project.root, pending.id, (), tools):
            what = f"{self._refusals.path} cannot be written: refused facts of another tool would be lost"
            return Later(what, "make it a regular file that tacitd can write, or move it away")
        failed = self._ask_model(inputs, state, tools)
        return failed if failed is not None else self._write(inputs, state, tools)

    def _ask_model(self, inputs: SynthesisInput, state: LearningState, tools: Tools) -> Outcome | None:
        """Ask the model about all facts that no paid answer covers, in one call or in several if there are very many.

        Returns None once all are covered. Each answer is kept as soon as it is there, so that a failure of another call does
        not pay for it again. A fact is in two calls at most: in the second one with half of the others. If that answer cannot
        be used either, the facts are put aside.
        """
        root = inputs.project.root
        new = {fact.text for fact in inputs.facts if fact.is_new}
        paid = self._paid[root] = [one for one in self._paid.get(root, ()) if one.facts <= new]
        covered = {text for one in paid for text in one.facts}
        useless = self._useless.setdefault(root, set())
        reason, lost = "", set[str]()
        for number, portion in enumerate(
            _list_portions([f for f in inputs.facts if f.text not in covered], useless, inputs.pending)
        ):
            # `why` finds the first call by the key of the transaction that it led to.
            key = f"synthesis:{inputs.pending.id}" + (f":{number}" if number else "")
            match ask_for_lines(inputs, portion, key, tools):
                case PaidAnswer() as answer:
                    paid.append(answer)
                    useless -= answer.facts
                case NoUse() as answer if answer.facts <= useless:
                    reason = answer.reason
                    spellings = (one for fact in portion.values() for one in fact.spellings)
                    lost |= set(inputs.pending.map_fact_ids(spellings))
                case NoUse() as answer:
                    useless |= answer.facts
                    return self._ask_again(answer.reason, tools)
                case LostTwice() as answer:
                    reason = answer.reason
                    lost |= answer.parts
                case Rejected(reason=why):
                    return self._put_aside(inputs, why, None, state, tools)
                case Later() as later:
                    return later
        if lost:
            return self._put_aside(inputs, reason, lost, state, tools)
        self._useless.pop(root, None)
        tools.clear("learning.answers")
        return None

    def _ask_again(self, reason: str, tools: Tools) -> Later:
        hint = (
            "the model is asked once more, in halves; facts whose second answer cannot be used are put aside"
        )
        tools.degrade(Degradation("learning.answers", reason, hint))
        return Later(reason, "the model is asked again", blame="work")

    def _put_aside(
        self,
        inputs: SynthesisInput,
        reason: str,
        lost: set[str] | None,
        state: LearningState,
        tools: Tools,
    ) -> Rejected:
        """Put facts aside in files that `status` shows; facts are never lost (SPEC S-23).

        `lost`: ids of facts as `PendingFacts.map_fact_ids` makes them; None: all. Only the batches or files of these facts are put
        aside, and a new synthesis handles the others.
        """
        root, pending = inputs.project.root, inputs.pending
        alone: tuple[str, ...] = ()
        given_up = tuple(dict.fromkeys((*pending.claimed, *pending.origins)))
        if lost is not None:
            whole, alone = pending.at_fault(lost)
            given_up = tuple(path for path in given_up if path in whole)
        self._useless.pop(root, None)
        files = ProjectPaths(root, tools.disk)
        aside = [
            path.name for path in put_aside(files, [path for path in given_up if path in pending.claimed])
        ]
        waiting = state.waiting.get(root, {})
        if unfiled := (*pending.unfiled_in(given_up), *(waiting[id] for id in alone)):
            aside.append(put_lines_aside(files, pending.id, unfiled).name)
        data = {"kind": "aside", "project": str(root), "files": aside, "reason": reason}
        data["unfiled"] = [made.id for made in unfiled]
        data["batches"] = [*pending.batches_in(given_up), *alone, *pending.settled]
        where = ", ".join(str(ProjectPaths(root).tmp_dir / name) for name in aside)
        if lost is not None:
            # Only when all is put aside: on a full disk each try would post another one, without a pause between them.
            tools.post(Due(SYNTHESIZE, inputs.project))
        return Rejected(f"{reason}; the facts are in {where}", data=data)

    def _write(self, inputs: SynthesisInput, state: LearningState, tools: Tools) -> Outcome:
        """Decide on the proposed lines, write them as one transaction, and finish."""
        project, pending = inputs.project, inputs.pending
        answers = self._paid.get(project.root, [])
        found, refused = ground_answers(answers, inputs, tools)
        plan = self._plan(inputs, [one for answer in answers for one in answer.proposals], state, tools)
        refused += plan.refused
        keep_refusals(self._refusals, refused, project.root, pending.id, inputs.words, tools)
        origins = {line.text: _describe_origin(line.facts) for line in plan.lines if line.facts}
        predecessors = _find_predecessors(plan, inputs.reword, project.root)
        origins = {text: dict(NO_SIGHTING) for text in predecessors} | origins
        operations = list(_build_operations(plan.lines, project, tools))
        data: dict[str, Any] = {"dropped": plan.dropped}
        if found:
            data |= {"tell": _build_messages(found, inputs, plan)}
        data |= _describe_plan(plan, inputs) | {"origins": origins}
        waiting = state.waiting.get(project.root, {})
        usd = sum(waiting[id].usd for id in pending.batches if id in waiting) + sum(
            one.usd for one in answers
        )
        data |= {"from": len(_build_cause(pending)["prompts"]), "usd": round(usd, 6)}
        written = 0
        if operations:
            facts = {line.text: [fact.text for fact in line.facts] for line in plan.lines if line.facts}
            causes = {key: past.origin for key, past in tools.history.list_lines(project.root).items()}
            all_origins, made_of = inherit_origins(origins, facts, predecessors, causes)
            cause = _build_cause(pending) | {"lines": all_origins, "made_of": made_of, CAUSE_DATA: data}
            done = self._mirrors.run_with_copies(project, operations, cause, f"synthesis:{pending.id}", tools)
            written = sum(effect.did in ("put", "swapped") for effect in done.effects)
        self._report_crowded(project, inputs, tools)
        data |= {"lines": written}
        if not operations:
            data["no_line"] = explain_no_line(
                repeated=len(data["again"]),
                withheld=len(plan.withheld),
                refused=len(refused) + (not inputs.facts and not inputs.again),
                asked=bool(inputs.facts),
            )
        if plan.void:
            tools.post(Due(SYNTHESIZE, project))
        return self._finish(project, pending, merge_data(pending.settled_data, data), state, tools)

    def _plan(
        self, inputs: SynthesisInput, proposals: Sequence[Any], state: LearningState, tools: Tools
    ) -> Plan:
        """Read the files again, because they may have changed during the model's call, and decide on the lines."""
        project = inputs.project
        files = read_files(project, [*inputs.pending.folders, *_list_folders(inputs)], tools)
        situation = Situation(
            files.describe_now(),
            inputs.facts,
            _removed_lines(project, state, tools),
            inputs.reword,
            read_forgotten(tools.home, project.root).covers,
            read_documents_of_person(project),
            inputs.pending.folders,
            next(name for name in (RULES, *files.shared) if name in files.shared),
        )
        return plan_lines(proposals, situation, max(LINES_LIMIT, len(inputs.facts)))

    def _report_crowded(self, project: Project, inputs: SynthesisInput, tools: Tools) -> None:
        """Say which files have more learned lines than they may have. The model is asked to merge some (SPEC S-54)."""
        id = f"learning.lines:{project.root}"
        settings: LearningSettings = tools.settings["learning"]
        crowded = read_files(project, _list_folders(inputs), tools).count_crowded(settings)
        if not crowded:
            tools.clear(id)
            return
        what = "; ".join(
            f"{project.root / name} has {count} learned lines, more than {limit}"
            for name, (count, limit) in crowded.items()
        )
        tools.degrade(
            Degradation(
                id, what, "the model is asked to merge lines; `tacitd review` offers those not said for long"
            )
        )

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


def _list_portions(
    facts: Sequence[NumberedFact], useless: set[str], pending: PendingFacts
) -> Iterator[dict[int, NumberedFact]]:
    """The facts by number, in portions of one call each. Those whose answer could not be used come in two halves, and a batch is
    not divided: its facts are put aside together."""
    yield from split_facts([fact for fact in facts if fact.text not in useless])
    again = [fact for fact in facts if fact.text in useless]
    names = pending.group_facts()
    groups = list(dict.fromkeys(names.get(fact.spellings[0], "") for fact in again))
    first = set(groups[: (len(groups) + 1) // 2])
    old = [fact for fact in facts if not fact.is_new]
    for is_first in (True, False):
        half = [fact for fact in again if (names.get(fact.spellings[0], "") in first) == is_first]
        yield from split_facts([*half, *old])


def _list_folders(inputs: SynthesisInput) -> list[str]:
    """The folders of the files that the model could choose from."""
    return [name.rpartition("/")[0] for name in inputs.files.shared if "/" in name and name != RULES]


def _build_operations(lines: Iterable[NewLine], project: Project, tools: Tools) -> Iterator[Operation]:
    """The changes of files that write these lines."""
    for line in lines:
        path, title = project.root / line.path, title_for(line.path)
        inside = next((old for old in line.replaces if old.path == line.path), None)
        if inside is not None:
            yield SwapLine(path, inside.text, line.text, line.heading, title)
        else:
            yield PutLine(path, line.heading, line.text, title, "\n".join(groups_after(line.heading)))
        for old in line.replaces:
            if old is not inside:
                place = project.root / old.path
                yield TakeLine(place, old.text, find_own_section(project, place, old.text, tools.history))


def _find_predecessors(plan: Plan, reword: frozenset[str], root: Path) -> dict[str, list[tuple[Path, str]]]:
    """By written line, the places and texts of the lines whose meaning it takes over: one that it rewords, and those that it merges."""
    return {
        line.text: [(root / old.path, old.text) for old in line.replaces]
        for line in plan.lines
        if len(line.replaces) > 1 or any(old.text in reword for old in line.replaces)
    }


def _describe_origin(facts: Sequence[NumberedFact]) -> dict[str, Any]:
    """The origin of a line that is made of these facts: `{"prompts": ["u3"], "sessions": ["s1"], "said": 2, "corrections": 1}`.

    A repetition of an existing line was counted when it was extracted.
    """
    return {
        "prompts": list(dict.fromkeys(id for one in facts for id in one.prompts or one.prompts_of_batch)),
        "sessions": list(dict.fromkeys(id for one in facts for id in one.sessions)),
        "said": sum(one.said for one in facts if not one.again),
        "corrections": sum(one.corrections for one in facts if not one.again),
    }


def _build_cause(pending: PendingFacts) -> dict[str, Any]:
    """The transaction's cause: the origin of the lines, and the batches and files by which recovery recognises it."""
    return {
        "by": "learning",
        "what": "synthesis",
        "batches": pending.batches,
        "files": [path.name for path in pending.claimed],
        "whole": dict(pending.whole_line_sizes),
        "sessions": list(dict.fromkeys(line.session for line in pending.lines if line.session)),
        "prompts": list(dict.fromkeys(prompt for line in pending.lines for prompt in line.prompts)),
        "facts": list(pending.facts),
    }


def _build_messages(
    found: Mapping[str, Sequence[Any]], inputs: SynthesisInput, plan: Plan
) -> dict[str, dict[str, Any]]:
    """The commit's messages to other plugins: findings with their origin. They are delivered after the commit."""
    cause = _build_cause(inputs.pending)
    new = [fact for fact in inputs.facts if fact.is_new]
    origin = {
        "sessions": cause["sessions"],
        "prompts": cause["prompts"],
        "facts": [fact.text for fact in new],
        "corrected": [fact.text for fact in new if fact.corrections],
        "words": list(inputs.words),
        "lines": [line.text for line in plan.lines],
    }
    return {name: {"found": list(what), **origin} for name, what in found.items()}


def _describe_plan(plan: Plan, inputs: SynthesisInput) -> dict[str, Any]:
    """The commit's data about lines and facts; see `state`."""
    merged = {
        old.text: line.text
        for line in plan.lines
        for old in line.replaces
        if old != next((one for one in line.replaces if one.path == line.path), line.replaces[0])
    }
    named = {fact.text for fact in (*plan.used, *plan.void)}
    unnamed = [fact for fact in inputs.facts if fact.is_new and not fact.again and fact.text not in named]
    return {
        "put": [line.text for line in plan.lines],
        "files": {line.text: line.path for line in plan.lines},
        "swapped": {
            line.text: old.text for line in plan.lines for old in line.replaces if old.text not in merged
        },
        "merged": merged,
        "again": list(dict.fromkeys((*inputs.again, *plan.known))),
        "corrected_again": list(inputs.corrected_again),
        "sessions": list(dict.fromkeys(line.session for line in inputs.pending.lines if line.session)),
        "withheld": dict(plan.withheld),
        "conflicts": {text: [line.path, line.text] for text, line in reversed(plan.conflicts)},
        "reworded": sorted(inputs.reword),
        "used": [fact.text for fact in plan.used],
        "left_out_facts": [
            {
                "fact": fact.text,
                "said": fact.said,
                "corrections": fact.corrections,
                "sessions": list(fact.sessions),
                "prompts": list(fact.prompts or fact.prompts_of_batch),
            }
            for fact in unnamed
        ],
        "waits": list(_list_void(plan.void, inputs.pending)),
    }


def _list_void(void: Iterable[NumberedFact], pending: PendingFacts) -> Iterator[dict[str, Any]]:
    """The facts that wait for the next synthesis, as batches with their marks; see `state`."""
    texts = {spelling for fact in void for spelling in fact.spellings}
    for line in pending.lines:
        pairs = [(fact, mark) for fact, mark in line.marked_facts if fact in texts]
        if pairs:
            yield {
                "id": f"{line.batch or pending.id}+",
                "session": line.session,
                "prompts": list(line.prompts),
                "new": [fact for fact, _ in pairs],
                "marks": [mark.to_record() for _, mark in pairs],
                "folders": list(line.folders),
            }


def recover_pending(tools: Tools) -> None:
    """Finish transactions that were begun, so that their facts are not asked about again. Raises OSError."""
    if tools.history.pending:
        tools.history.recover(lambda root: tools.write_mode(Project(root, False)) != "off")


def _removed_lines(project: Project, state: LearningState, tools: Tools) -> dict[str, set[str]]:
    """Lines that the user removed, by file, including removals since the last check (SPEC S-28)."""
    tombstones = {name: set(lines) for name, lines in state.tombstones.get(project.root, {}).items()}
    seen = check_removals(project, state, tools.history, tools.clock.now())
    for name, lines in seen.get("removed", {}).items():
        tombstones.setdefault(name, set()).update(lines)
    for name, lines in seen.get("lifted", {}).items():
        tombstones.setdefault(name, set()).difference_update(lines)
    return tombstones
